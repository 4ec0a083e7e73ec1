"""What of a declaration cannot be right: values of another kind than a field takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.errors import UsageError


@pytest.fixture
def op(suite):
    return suite.op("unary.exp")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"types": "f32"}, "types is 'f32', not a list"),
        ({"types": ["f32", 3]}, r"types\[1\] is 3, not a text"),
        ({"inputs": ["x"]}, r"inputs is \['x'\], not a dict"),
        ({"inputs": {"x": None}}, "inputs: x is None, not a text"),
        ({"threads": [True]}, r"threads\[0\] is True, not a whole number"),
        ({"points": ["1"]}, r"points\[0\] is '1', not a number"),
        ({"in_place": 3}, "in_place is 3, not a text"),
        ({"reference": 3}, "reference is 3, not a function"),
        ({"data": {"x": "normal"}}, "data: x is 'normal', not a list"),
    ],
)
def test_a_value_of_another_kind_is_named_by_its_place(op, change, says):
    with pytest.raises(UsageError, match=f"op unary.exp: {says}"):
        replace(op, **change)
