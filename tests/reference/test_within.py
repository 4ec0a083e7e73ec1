"""``within``: expected values from an exact value and a number of units in the last place."""

from __future__ import annotations

import numpy as np
import pytest

from parity.compare.comparison import accepted_elements
from parity.errors import UsageError
from parity.model.dtypes import dtype
from parity.reference import within

MOST = 2**63 - 1


@pytest.mark.parametrize(
    ("units", "exact", "kind", "right", "wrong"),
    [
        (0, [3.0, -7.0], "i32", [[3, -7]], [[4, -7], [3, -8]]),
        (0.5, [2.5, -0.4], "i8", [[2, 0], [3, 0]], [[1, 0], [4, 0], [2, 1]]),
        (1, np.array([MOST, MOST - 4], np.int64), "i64", [[MOST - 1, MOST - 3]], [[MOST - 2, MOST - 4]]),
        (0, np.array([2**64 - 1], np.uint64), "u64", [[2**64 - 1]], [[2**64 - 2]]),
        (2, [0.0], "u8", [[0], [1], [2]], [[3], [255]]),
    ],
)
def test_units_of_integers_are_whole_numbers(units, exact, kind, right, wrong):
    expected = within(units, np.asarray(exact), dtype(kind))
    for accepted, values in ((True, right), (False, wrong)):
        for each in values:
            got = np.array(each, dtype(kind).numpy)
            assert accepted_elements(expected, got, "amd").all() == accepted, each


@pytest.mark.parametrize(
    ("exact", "kind"),
    [(2.0**31, "i32"), (-1.0, "u8"), (float("nan"), "i32"), (2.0**63, "i64"), (np.int64(3 << 32), "i32")],
)
def test_exact_value_outside_of_integer_type_raises(exact, kind):
    with pytest.raises(UsageError, match=f"is outside of the range of {kind}"):
        within(1, np.array([exact]), dtype(kind))
