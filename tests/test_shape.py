"""The shape of JSON data: what fits, and what the first misfit is called."""

from __future__ import annotations

import pytest

from parity.shape import misfit

SHAPE = {
    "name": str,
    "sizes": [int],
    "vendor": {"amd", "cuda"},
    "fault": (type(None), {"lost": bool}),
    "more": {str: int},
}
GOOD = {"name": "x", "sizes": [1, 2], "vendor": "amd", "fault": None, "more": {"a": 1}, "unknown": 1.5}


def test_what_fits():
    assert misfit(GOOD, SHAPE, "head") == ""
    assert misfit({**GOOD, "fault": {"lost": True}, "sizes": [], "more": {}}, SHAPE, "head") == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": 1}, "head: name is 1, not a text"),
        ({"sizes": 1}, "head: sizes is 1, not a list"),
        ({"sizes": [1, True]}, "head: sizes[1] is True, not a whole number"),
        ({"sizes": [1.0]}, "head: sizes[0] is 1.0, not a whole number"),
        ({"vendor": "intel"}, "head: vendor is 'intel', not amd or cuda"),
        ({"vendor": ["amd"]}, "head: vendor is a list, not amd or cuda"),
        ({"fault": {"lost": 1}}, "head: fault: lost is 1, not true or false"),
        ({"fault": {}}, "head: fault: lost is missing, not true or false"),
        ({"more": {"a": None}}, "head: more: a is None, not a whole number"),
    ],
)
def test_what_does_not(change, says):
    assert misfit({**GOOD, **change}, SHAPE, "head") == says
    assert misfit([], SHAPE, "head") == "head is a list, not an object"
