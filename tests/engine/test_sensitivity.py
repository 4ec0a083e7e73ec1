"""Checks that cannot fail."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from parity.engine.sensitivity import Sensitivity
from parity.reference import Expected
from parity.reference.expected import Bounds


@pytest.mark.parametrize(
    ("written", "updated", "cases", "fails"),
    [
        ({"sums": True, "locks": False}, {"locks"}, 20, False),
        ({"sums": True, "locks": False}, set(), 20, True),
        ({"locks": False}, {"locks"}, 20, True),
        ({"queue": False}, {"queue"}, 3, False),
        ({"sums": False}, set(), 3, True),
    ],
    ids=["unchanged lock", "output that nothing writes", "only output unchanged", "few cases", "output in few cases"],
)
def test_output_fails_as_unwritten_unless_a_kernel_may_leave_it_unchanged(written, updated, cases, fails):
    failure = Sensitivity(written=written, updated=updated, cases=cases).failure("op", may_be_vacuous=False)
    assert (failure is not None and failure.kind == "unwritten") == fails


@pytest.mark.parametrize(
    ("size", "updated", "cases", "fails"),
    [(66_051, set(), 20, True), (2_047, set(), 20, False), (66_051, {"out"}, 20, False), (66_051, set(), 3, False)],
    ids=["large case", "small case", "updated output", "few cases"],
)
def test_output_fails_if_only_large_cases_leave_elements_unwritten(size, updated, cases, fails):
    found = Sensitivity(gaps={"out": (size, "case")}, updated=updated, cases=cases).large_gap()
    assert (found is not None) == fails
    assert not found or (found[0], found[1].kind) == ("case", "unwritten")


@pytest.mark.parametrize(
    ("values", "room", "fails"),
    [((-np.inf,), 0.0, False), ((np.nan,), 0.0, True), ((1.0, -np.inf), 1e30, True), ((1.0, -np.inf), 0.1, False)],
    ids=["only infinite", "only NaN", "wide bound of numbers", "narrow bound of numbers"],
)
def test_infinite_results_show_a_check_only_without_numbers(values, room, fails):
    found, call = Sensitivity(), SimpleNamespace(references=dict)
    for value in values:
        array = np.array([value], np.float32)
        expected = Expected(array, lambda _, array=array: Bounds(array.astype(np.float64), room, room, room))
        found.add(SimpleNamespace(expected={"y": expected}), call, "amd")
    failure = found.failure("op", may_be_vacuous=False)
    assert (failure is not None and failure.kind == "vacuous") == fails
