"""Checks that cannot fail."""

from __future__ import annotations

import pytest

from parity.engine.sensitivity import Sensitivity


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
