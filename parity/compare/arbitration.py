"""Decides which vendor is wrong by comparing both outputs of a case with each other and with the reference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from parity.compare.comparison import accepted_elements
from parity.compare.ulps import bit_patterns, ulp_distances
from parity.compare.verdict import Status, Verdict
from parity.model.divergences import sort_ids
from parity.model.dtypes import Array, array_dtype
from parity.reference.expected import Expected, Limits


class Conclusion(StrEnum):
    """The result of comparing CUDA's and AMD's outputs of one case."""

    SAME = "identical"
    RIGHT = "within bounds"
    RULES = "documented difference"
    REFERENCE = "reference is suspect"
    CUDA = "CUDA is wrong"
    AMD = "AMD is wrong"
    BOTH = "both are wrong"
    CLOSE = "as close as roundings allow"
    """For an op without a reference: AMD's output is acceptable given CUDA's, the baseline."""
    APART = "further apart than roundings allow"
    """For an op without a reference: AMD's output is not acceptable."""

    @property
    def agreement(self) -> bool:
        """True if both sides are right."""
        return self in (Conclusion.SAME, Conclusion.RIGHT, Conclusion.RULES, Conclusion.CLOSE)


@dataclass(frozen=True)
class SideResult:
    """The verdict on one vendor's side, and its output in logical shape (None if it wrote none)."""

    verdict: Verdict
    output: Array | None = None


@dataclass(frozen=True)
class Comparison:
    """A conclusion, and the distance between the two outputs.

    ``elements`` of ``total`` elements differ in their bits. Two NaN count as equal, and elements for which any value is
    right do not count. ``zeros`` of them differ only in the sign of zero. ``ulps`` is the largest distance, infinite
    for NaN against a number and 0 for integers. ``share`` is the largest distance relative to the sum of both error
    bounds, and 0 without error bounds. It is more meaningful than ULPs for results near 0 where larger numbers cancel.
    ``divergences`` are the ids (``parity.model.divergences``) of the rules that only one side follows.
    """

    conclusion: Conclusion
    elements: int = 0
    total: int = 0
    ulps: float = 0.0
    divergences: tuple[str, ...] = ()
    zeros: int = 0
    share: float = 0.0


_VALUE_FAILURES = ("value", "nan", "infinity", "sign of zero")
"""The failure classes of computed values, as opposed to missing or misplaced writes."""


@np.errstate(all="ignore")
def arbitrate(cuda: SideResult, amd: SideResult, expected: Expected | None = None) -> Comparison | None:
    """Compare two results. Return None if a side has no result. ``expected`` is the reference that judged both."""
    is_baseline = cuda.verdict.status is Status.BASELINE
    if not ((cuda.verdict.judged or is_baseline) and amd.verdict.judged):
        return None
    if (is_baseline or (cuda.verdict.passed and amd.verdict.passed)) and (cuda.output is None or amd.output is None):
        return None
    apart, distances = _apart(cuda.output, amd.output, expected)
    elements, ulps = int(apart.sum()), float(distances[apart].max(initial=0.0))
    divergences: tuple[str, ...] = ()
    share = 0.0
    match is_baseline, cuda.verdict.passed, amd.verdict.passed:
        case True, _, True:
            conclusion, share = Conclusion.CLOSE if elements else Conclusion.SAME, amd.verdict.budget
        case True, _, False:
            conclusion = Conclusion.APART
        case _, True, False:
            conclusion = Conclusion.AMD
        case _, False, True:
            conclusion = Conclusion.CUDA
        case _, False, False:
            conclusion = Conclusion.REFERENCE if _agree(cuda, amd, expected) else Conclusion.BOTH
        case _:
            ids = set(cuda.verdict.divergences) ^ set(amd.verdict.divergences)
            divergences = sort_ids(ids) if elements else ()
            conclusion = Conclusion.RULES if divergences else Conclusion.RIGHT if elements else Conclusion.SAME
    if conclusion is Conclusion.RIGHT:
        share = _share(cuda.output, amd.output, expected, apart)
    zeros = int((apart & (distances == 0)).sum()) if _is_float(cuda.output) else 0
    return Comparison(conclusion, elements, apart.size, ulps, divergences, zeros, share)


def _share(cuda: Array | None, amd: Array | None, expected: Expected | None, apart: Array) -> float:
    """The largest distance between differing elements, relative to the sum of both error bounds."""
    if cuda is None or amd is None or expected is None or expected.bounds is None:
        return 0.0
    allowed = expected.bounds(Limits("cuda")).room + expected.bounds(Limits("amd")).room
    shares = np.abs(cuda.astype(np.float64) - amd.astype(np.float64)) / allowed
    return float(shares[apart & np.isfinite(shares)].max(initial=0.0))


def _is_float(output: Array | None) -> bool:
    return output is not None and array_dtype(output).is_float


def _apart(cuda: Array | None, amd: Array | None, expected: Expected | None) -> tuple[Array, Array]:
    """Return a mask of the elements whose bits differ, and the distance of every element in ULPs."""
    if cuda is None or amd is None:
        return np.zeros(0, np.bool_), np.zeros(0)
    apart = np.asarray(bit_patterns(cuda) != bit_patterns(amd))
    if not apart.any():
        return apart, np.zeros(apart.shape)
    if not _is_float(cuda):
        distances = np.zeros(apart.shape)
    else:
        apart &= ~(np.isnan(cuda) & np.isnan(amd))
        distances = ulp_distances(cuda, amd)
    return (apart if expected is None else apart & ~np.asarray(expected.unspecified)), distances


def _agree(cuda: SideResult, amd: SideResult, expected: Expected | None) -> bool:
    """Return True if both sides are wrong but agree: for each wrong element, one expected value would accept both.

    That holds for equal values, and for values no further apart than the sum of both error bounds. The bounds are
    scaled with the values, because the reference that they belong to may be far off.
    """
    if expected is None or cuda.output is None or amd.output is None:
        return False
    if cuda.verdict.kind not in _VALUE_FAILURES or amd.verdict.kind not in _VALUE_FAILURES:
        return False
    wrong = ~(accepted_elements(expected, cuda.output, "cuda") & accepted_elements(expected, amd.output, "amd"))
    apart, _ = _apart(cuda.output, amd.output, expected)
    if expected.bounds is None:
        return not (apart & wrong).any()
    theirs, ours = (side.output.astype(np.float64) for side in (cuda, amd) if side.output is not None)
    bounds = expected.bounds(Limits("amd"))
    allowed = expected.bounds(Limits("cuda")).room + bounds.room
    growth = np.nan_to_num(np.abs(ours) / np.abs(bounds.centre), nan=1.0, posinf=1.0)
    close = np.abs(theirs - ours) <= allowed * np.maximum(growth, 1.0)
    return not (apart & wrong & ~close).any()
