"""Accepted intervals: the ends are accepted, and values beyond them are not."""

from __future__ import annotations

import numpy as np
import pytest

from parity.compare.comparison import accepted_elements
from parity.compare.interval import accepted_interval
from parity.model.dtypes import NUMBERS
from parity.reference import Bounds, Expected

VALUES = np.array([1, -3.25, 0, 1e-7, 440, 60000, 1e38, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("name", ["f8_e4m3", "f16", "bf16", "f32", "f64"])
def test_interval_ends_are_accepted_and_neighbours_are_not(name):
    kind = NUMBERS[name]
    value = kind.convert(VALUES)
    centre = value.astype(np.float64)
    size = np.where(np.isfinite(centre), np.abs(centre), 0)
    expected = Expected(value, lambda _: Bounds(centre, 0.0, 0.1 * size + 0.01, 0.02 * size))
    lower, upper = accepted_interval(expected, "amd")
    finite = np.isfinite(centre)
    assert (lower.astype(float)[finite] <= centre[finite]).all() and (lower != value)[finite][0]
    for ends, furthest in ((lower, -np.inf), (upper, np.inf)):
        assert accepted_elements(expected, ends, "amd").all()
        beyond = np.nextafter(ends, kind.convert(furthest))
        moved = finite & np.isfinite(ends.astype(float)) & (beyond.astype(float) != ends.astype(float))
        assert moved.sum() > 3 and not accepted_elements(expected, beyond, "amd")[moved].any()
    for ends in (lower, upper):
        np.testing.assert_array_equal(ends[~finite].astype(float), centre[~finite])


def test_interval_without_bound_is_value():
    value = np.array([1.5, -0.0, np.nan], np.float32)
    for ends in accepted_interval(Expected(value), "cuda"):
        np.testing.assert_array_equal(ends, value)


@pytest.mark.parametrize("name", ["u8", "i8", "i32", "u64", "i64"])
def test_interval_of_integers_is_value(name):
    kind = NUMBERS[name]
    value = np.array([kind.min, 5, kind.max - 1, kind.max], kind.numpy)

    def accepts(got):
        return np.array([abs(int(a) - int(b)) <= 3 for a, b in zip(value, got, strict=True)])

    lower, upper = accepted_interval(Expected(value, accepts=accepts), "amd")
    assert lower.tolist() == [kind.min, 2, kind.max - 4, kind.max - 3]
    assert upper.tolist() == [kind.min + 3, 8, kind.max, kind.max]
