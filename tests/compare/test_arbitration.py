"""Arbitration between the outputs of two vendors."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from parity.compare.arbitration import Conclusion, SideResult, arbitrate
from parity.compare.comparison import compare
from parity.compare.ulps import ulp_distance, ulp_distances
from parity.compare.verdict import Status, Verdict
from parity.reference import Bounds, Expected

F32 = np.float32
NAN_WITH_PAYLOAD = np.array([0x7FC12345], np.uint32).view(F32)[0]


def judged(expected, *values, vendor, dtype=F32):
    output = np.array(values, dtype)
    return SideResult(compare(expected, output, vendor=vendor), output)


def found(expected, cuda, amd, dtype=F32):
    """Compare two outputs after judging each by its vendor's rules."""
    sides = (judged(expected, *values, vendor=v, dtype=dtype) for values, v in ((cuda, "cuda"), (amd, "amd")))
    return arbitrate(*sides, expected)


def exact(*values, dtype=F32, **more):
    return Expected(np.array(values, dtype), **more)


def within(share, *values, amd=None):
    """Return an expected value whose error bound is a share of each value; ``amd`` is the share for AMD."""
    centre = np.array(values, float)

    def bounds(limits):
        allowed = np.abs(centre) * (amd if amd and limits.vendor == "amd" else share)
        return Bounds(centre, 0.0, allowed, allowed)

    return Expected(centre.astype(F32), bounds)


def test_arbitrate_equal_bits_is_same():
    comparison = found(exact(1, 2), [1, 2], [1, 2])
    assert (comparison.conclusion, comparison.elements, comparison.total, comparison.ulps) == (
        Conclusion.SAME,
        0,
        2,
        0.0,
    )


def test_arbitrate_different_nans_is_same():
    assert found(exact(np.nan, 1), [NAN_WITH_PAYLOAD, 1], [np.nan, 1]).conclusion is Conclusion.SAME


def test_arbitrate_right_values_counts_ulps():
    close = np.nextafter(F32(2), F32(3))
    comparison = found(within(0.1, 1, 2, 4), [1, 2, 4], [1, close, np.nextafter(F32(4), F32(0))])
    assert (comparison.conclusion, comparison.elements, comparison.ulps) == (Conclusion.RIGHT, 2, 1.0)


def test_arbitrate_near_zero_reports_share_of_bounds():
    near = Expected(F32([1e-12, 2]), lambda limits: Bounds(np.array([0.0, 2.0]), 0.0, *[np.array([1e-7, 1e-7])] * 2))
    comparison = found(near, [5e-8, 2], [-5e-8, 2])
    assert comparison.conclusion is Conclusion.RIGHT and comparison.ulps > 1e9
    assert comparison.share == pytest.approx(0.5)
    assert found(exact(0, 1), [0.0, 1], [-0.0, 1]).share == 0


def test_arbitrate_signed_zeros_differ_without_distance():
    comparison = found(exact(0, 1), [0.0, 1], [-0.0, 1])
    assert (comparison.conclusion, comparison.elements, comparison.ulps) == (Conclusion.RIGHT, 1, 0.0)
    assert comparison.zeros == 1
    assert found(within(0.1, 0, 2), [0.0, 2], [-0.0, np.nextafter(F32(2), F32(3))]).zeros == 1
    odd = exact(3, 5, dtype=np.int32, accepts=lambda values: values % 2 == 1)
    assert found(odd, [3, 5], [5, 3], np.int32).zeros == 0


def test_arbitrate_integers_judged_by_properties_may_differ():
    even = exact(2, 4, 6, dtype=np.int32, accepts=lambda values: values % 2 == 0)
    comparison = found(even, [2, 4, 6], [6, 4, 2], np.int32)
    assert (comparison.conclusion, comparison.elements, comparison.ulps) == (Conclusion.RIGHT, 2, 0.0)


def test_arbitrate_allowed_nan_against_number_is_right():
    comparison = found(exact(1, 2, nan_allowed=np.array([True, False])), [1, 2], [np.nan, 2])
    assert (comparison.conclusion, comparison.ulps) == (Conclusion.RIGHT, math.inf)


def test_arbitrate_ignores_unspecified_elements():
    assert found(exact(1, 2, unspecified=np.array([True, False])), [7, 2], [9, 2]).conclusion is Conclusion.SAME


def test_arbitrate_divergence_of_one_side_is_rules():
    saturated = exact(255, 7, dtype=np.uint8, divergences={"D5": np.array([0, 7], np.uint8)})
    comparison = found(saturated, [255, 7], [0, 7], np.uint8)
    assert (comparison.conclusion, comparison.divergences, comparison.elements) == (Conclusion.RULES, ("D5",), 1)


def test_arbitrate_divergence_of_both_sides_is_right():
    rules = exact(255, 7, dtype=np.uint8, divergences={"D5": np.array([0, 7], np.uint8)})
    assert found(rules, [0, 7], [0, 7], np.uint8).conclusion is Conclusion.SAME


def test_arbitrate_wider_vendor_limits_is_rules():
    comparison = found(within(0.01, 1, amd=0.5), [1], [1.3])
    assert (comparison.conclusion, comparison.divergences) == (Conclusion.RULES, ("D22",))


@pytest.mark.parametrize(
    ("cuda", "amd", "conclusion"), [([1, 2], [1, 3], Conclusion.AMD), ([5, 2], [1, 2], Conclusion.CUDA)]
)
def test_arbitrate_one_failing_side_is_wrong(cuda, amd, conclusion):
    comparison = found(exact(1, 2), cuda, amd)
    assert (comparison.conclusion, comparison.elements) == (conclusion, 1)


def test_arbitrate_equal_wrong_values_suspects_reference():
    comparison = found(exact(1, 2), [1, 7], [1, 7])
    assert (comparison.conclusion, comparison.elements) == (Conclusion.REFERENCE, 0)


def test_arbitrate_close_wrong_values_suspects_reference():
    # the reference and its error bound are wrong by a factor of a million
    comparison = found(within(1e-3, 1e-6), [1.0], [np.nextafter(F32(1), F32(2))])
    assert (comparison.conclusion, comparison.ulps) == (Conclusion.REFERENCE, 1.0)


def test_arbitrate_suspect_reference_allows_other_elements_to_differ():
    comparison = found(within(1e-3, 1.0, 5.0), [1.0, 7], [np.nextafter(F32(1), F32(2)), 7])
    assert comparison.conclusion is Conclusion.REFERENCE


@pytest.mark.parametrize("amd", [[1, 8], [8, 2], [1, np.nan]])
def test_arbitrate_different_wrong_values_is_both(amd):
    assert found(exact(1, 2), [1, 7], amd).conclusion is Conclusion.BOTH
    assert found(within(1e-3, 1, 2), [1, 7], amd).conclusion is Conclusion.BOTH


def test_arbitrate_close_indices_do_not_agree():
    assert found(exact(100, dtype=np.int64), [1], [2], np.int64).conclusion is Conclusion.BOTH


def test_arbitrate_failures_without_values_do_not_suspect_reference():
    unwritten = np.full(2, 0xA5A5A5A5, np.uint32).view(F32)
    sides = [SideResult(compare(exact(1, 2), unwritten, vendor=v), unwritten) for v in ("cuda", "amd")]
    assert {side.verdict.kind for side in sides} == {"unwritten"}
    assert arbitrate(*sides, exact(1, 2)).conclusion is Conclusion.BOTH


PASS, FAULT = Verdict(Status.PASS), Verdict(Status.FAIL, "out-of-bounds read")
NO_OUTPUT = [
    (PASS, FAULT, Conclusion.AMD),
    (Verdict(Status.CRASH, "crash"), PASS, Conclusion.CUDA),
    (Verdict(Status.TIMEOUT, "timeout"), FAULT, Conclusion.BOTH),
]


@pytest.mark.parametrize(("cuda", "amd", "conclusion"), NO_OUTPUT)
def test_arbitrate_fault_without_output_is_wrong(cuda, amd, conclusion):
    assert arbitrate(SideResult(cuda), SideResult(amd)).conclusion is conclusion


@pytest.mark.parametrize("status", [Status.ERROR, Status.UNSUPPORTED, Status.MISSING])
def test_arbitrate_without_result_returns_none(status):
    assert arbitrate(SideResult(Verdict(status)), SideResult(PASS)) is None
    assert arbitrate(SideResult(PASS), SideResult(Verdict(status))) is None
    assert arbitrate(SideResult(PASS), SideResult(PASS)) is None


@pytest.mark.parametrize("dtype", [F32, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_ulp_distances_match_scalar_distances(dtype):
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, np.iinfo(bits).max, 300, bits, endpoint=True).view(dtype) for _ in range(2))
    x[:4], y[:4] = [0.0, -0.0, 1.0, -1.0], [-0.0, 0.0, 1.0, 1.0]
    assert [*ulp_distances(x, y)] == [ulp_distance(a, b) for a, b in zip(x, y, strict=True)]
