"""The side that is wrong: the outputs of CUDA and AMD for one case, compared with each other and the reference."""

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

__all__ = ["Comparison", "Conclusion", "SideResult", "arbitrate"]


class Conclusion(StrEnum):
    """The result of comparing CUDA's and AMD's outputs of one case, from the best to the worst."""

    SAME = "same bits"
    RIGHT = "both right"
    RULES = "each by its own rule"
    REFERENCE = "reference is suspect"
    CUDA = "CUDA is wrong"
    AMD = "AMD is wrong"
    BOTH = "both are wrong"
    CLOSE = "as close as roundings allow"
    APART = "further apart than roundings allow"
    """The last two are of ops without a reference, of which CUDA's result is taken as right."""

    @property
    def agreement(self) -> bool:
        """True if both sides are right."""
        return self in (Conclusion.SAME, Conclusion.RIGHT, Conclusion.RULES, Conclusion.CLOSE)


@dataclass(frozen=True)
class SideResult:
    """The result of one side: the verdict on it, and its output in logical shape (None if it left none)."""

    verdict: Verdict
    output: Array | None = None


@dataclass(frozen=True)
class Comparison:
    """A conclusion, with how far apart the outputs are.

    ``elements`` of ``total`` have other bits (any two NaN are the same, and elements for which any value is right do
    not count), ``zeros`` of them only because one is -0 and the other +0; ``ulps`` is the largest distance among them,
    infinite for NaN against a number, 0 for integers. ``share`` is the largest distance in terms of what both budgets
    together allow, which says more than ULP where a result is near 0 because larger numbers cancel; 0 without budgets.
    ``divergences`` are the ids (``model.divergences``) of the rules that one side follows and the other does not.
    """

    conclusion: Conclusion
    elements: int = 0
    total: int = 0
    ulps: float = 0.0
    divergences: tuple[str, ...] = ()
    zeros: int = 0
    share: float = 0.0


# Failures of values that were computed: not of what was never written, and not of what was written elsewhere.
_VALUES = ("value", "nan", "infinity", "sign of zero")


@np.errstate(all="ignore")
def arbitrate(cuda: SideResult, amd: SideResult, expected: Expected | None = None) -> Comparison | None:
    """The comparison of two results, or None if one side has none. ``expected`` is the reference that judged both."""
    if cuda.verdict.status is Status.TAKEN:
        return _beside(cuda, amd)
    if not (cuda.verdict.judged and amd.verdict.judged):
        return None
    if cuda.verdict.passed and amd.verdict.passed and (cuda.output is None or amd.output is None):
        return None
    apart, distances = _apart(cuda.output, amd.output, expected)
    elements, ulps = int(apart.sum()), float(distances[apart].max(initial=0.0))
    divergences: tuple[str, ...] = ()
    match cuda.verdict.passed, amd.verdict.passed:
        case True, False:
            conclusion = Conclusion.AMD
        case False, True:
            conclusion = Conclusion.CUDA
        case False, False:
            conclusion = Conclusion.REFERENCE if _agree(cuda, amd, expected) else Conclusion.BOTH
        case _:
            ids = set(cuda.verdict.divergences) ^ set(amd.verdict.divergences)
            divergences = sort_ids(ids) if elements else ()
            conclusion = Conclusion.RULES if divergences else Conclusion.RIGHT if elements else Conclusion.SAME
    zeros = int((apart & (distances == 0)).sum()) if _is_float(cuda.output) else 0
    share = _share(cuda.output, amd.output, expected, apart) if conclusion is Conclusion.RIGHT else 0.0
    return Comparison(conclusion, elements, apart.size, ulps, divergences, zeros, share)


def _beside(cuda: SideResult, amd: SideResult) -> Comparison | None:
    """The comparison with a result of CUDA's that was taken as right."""
    if amd.output is None or cuda.output is None or not amd.verdict.judged:
        return None
    apart, distances = _apart(cuda.output, amd.output, None)
    elements, ulps = int(apart.sum()), float(distances[apart].max(initial=0.0))
    passed = Conclusion.CLOSE if elements else Conclusion.SAME
    zeros = int((apart & (distances == 0)).sum()) if _is_float(cuda.output) else 0
    share = amd.verdict.budget if amd.verdict.passed else 0.0
    return Comparison(
        passed if amd.verdict.passed else Conclusion.APART, elements, apart.size, ulps, zeros=zeros, share=share
    )


def _share(cuda: Array | None, amd: Array | None, expected: Expected | None, apart: Array) -> float:
    """The largest distance of elements that are apart, by what is allowed to both sides together."""
    if cuda is None or amd is None or expected is None or expected.bounds is None:
        return 0.0
    allowed = expected.bounds(Limits("cuda")).room + expected.bounds(Limits("amd")).room
    shares = np.abs(cuda.astype(np.float64) - amd.astype(np.float64)) / allowed
    return float(shares[apart & np.isfinite(shares)].max(initial=0.0))


def _is_float(output: Array | None) -> bool:
    return output is not None and array_dtype(output).is_float


def _apart(cuda: Array | None, amd: Array | None, expected: Expected | None) -> tuple[Array, Array]:
    """The elements that have other bits (bool), and the distance of every element in ULP."""
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
    """True if both sides, which are wrong, agree: wherever one of them is wrong, some value would let both be right.

    That is so for equal values, and for values no further apart than both budgets together. A budget is taken to grow
    with the value: the reference that it belongs to may be far off.
    """
    if expected is None or cuda.output is None or amd.output is None:
        return False
    if cuda.verdict.kind not in _VALUES or amd.verdict.kind not in _VALUES:
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
