"""Checks that cannot fail."""

from __future__ import annotations

import pytest

from parity.engine.sensitivity import Sensitivity


@pytest.mark.parametrize(
    ("written", "updated", "fails"),
    [
        ({"sums": True, "locks": False}, {"locks"}, False),
        ({"sums": True, "locks": False}, set(), True),
        ({"locks": False}, {"locks"}, True),
    ],
    ids=["unchanged lock", "output that nothing writes", "only output unchanged"],
)
def test_output_fails_as_unwritten_unless_a_kernel_may_leave_it_unchanged(written, updated, fails):
    failure = Sensitivity(written=written, updated=updated).failure("op", may_be_vacuous=False)
    assert (failure is not None and failure.kind == "unwritten") == fails
