"""Verdicts: failure classes, error bounds, divergences, limits, unwritten and modified elements."""

import math

import ml_dtypes
import numpy as np
import pytest

from parity import reference
from parity.compare.comparison import MISTAKES, accepted_mistakes, check_unmodified, compare, has_numbers
from parity.compare.ulps import format_value, ulp_distance
from parity.compare.verdict import Status, general_class
from parity.errors import UsageError
from parity.model.dtypes import dtype
from parity.model.launch import poisoned
from parity.reference import Bounds, Expected, Limits

F32 = np.float32


def expected(*values, dtype=F32, **more):
    return Expected(np.array(values, dtype), **more)


def got(*values, dtype=F32):
    return np.array(values, dtype)


@np.errstate(all="ignore")
def bounded(*values, error=0.5):
    centre = np.array(values, float)
    return Expected(centre.astype(F32), lambda limits: Bounds(centre, 0.0, centre * 0 + error, centre * 0 + error))


def test_compare_equal_bits_passes():
    verdict = compare(expected(1, 2, np.nan), got(1, 2, np.nan), vendor="amd")
    assert (verdict.status, verdict.budget, verdict.total, verdict.wrong) == (Status.PASS, 0.0, 3, 0)


def test_compare_bias_needs_judged_element_that_differs():
    biased = bounded(1, 2)
    biased = Expected(biased.value, biased.bounds, unspecified=np.array([True, False]), bias=lambda got: "truncated")
    assert compare(biased, got(1.25, 2), vendor="amd").passed
    assert compare(biased, got(1, 2.25), vendor="amd").detail == "truncated"


def test_compare_failure_shows_first_wrong_element():
    verdict = compare(expected(1, 2, 3), got(1, 2.0000002, 3), vendor="amd")
    first = verdict.first
    assert (verdict.kind, verdict.wrong, verdict.total) == ("value", 1, 3)
    assert (first.coordinates, first.expected, first.got, first.ulps) == ((1,), "2.0", "2.0000002", 1.0)
    assert math.isinf(first.budgets)


def test_compare_with_accepts_ignores_value():
    even = expected(2, 4, dtype=np.int32, accepts=lambda values: values % 2 == 0)
    assert compare(even, got(8, 0, dtype=np.int32), vendor="amd").passed
    assert compare(even, got(8, 3, dtype=np.int32), vendor="amd").first.coordinates == (1,)


def test_compare_coordinates_are_logical():
    value = np.arange(12, dtype=F32).reshape(3, 4)
    wrong = value.copy()
    wrong[2, 1] = -1
    assert compare(Expected(value), wrong, vendor="amd").first.coordinates == (2, 1)


@pytest.mark.parametrize(
    ("value", "other", "kind"),
    [
        (1.0, math.nan, "nan"),
        (math.nan, 1.0, "nan"),
        (math.inf, 1.0, "infinity"),
        (1.0, -math.inf, "infinity"),
        (math.inf, -math.inf, "infinity"),
        (0.0, -0.0, "sign of zero"),
        (1.0, 1.5, "value"),
    ],
)
def test_compare_wrong_output_names_failure_class(value, other, kind):
    verdict = compare(expected(value, sign_of_zero=True), got(other), vendor="amd")
    assert verdict.kind == kind
    assert math.isinf(verdict.first.ulps) == (kind == "nan")


def test_compare_wrong_elements_have_one_class():
    value = expected(1.0, math.nan, math.inf, 1.0, math.inf, 0.0, 1.0, 2.0, sign_of_zero=True)
    verdict = compare(value, got(math.nan, 1.0, 1.0, math.inf, -math.inf, -0.0, 1.5, 2.0), vendor="amd")
    infinities = ("infinity for a number", "a number for infinity", "infinity of the other sign")
    assert verdict.kinds == ("nan for a number", "a number for nan", *infinities, "value", "sign of zero")
    assert [general_class(kind) for kind in verdict.kinds] == ["nan"] * 2 + ["infinity"] * 3 + ["value", "sign of zero"]
    assert verdict.kind == "nan"
    assert verdict.ulps == 2**22


@pytest.mark.parametrize(
    ("dtype", "right", "wrong", "distance"),
    [
        (F32, (1.0, 2.0, math.nan), (1.0000001, 2.0000005, 0.0), 2),
        (np.int64, (-(2**63), 0), (2**63 - 1, 5), 2**64),
        (np.uint8, (0, 9), (255, 3), 255),
    ],
)
def test_compare_failure_ulps_is_largest_distance(dtype, right, wrong, distance):
    assert compare(expected(*right, dtype=dtype), got(*wrong, dtype=dtype), vendor="amd").ulps == distance


def test_compare_nan_ignores_payload_and_sign():
    other = np.array([0xFFC00001], np.uint32).view(F32)
    assert compare(expected(math.nan), other, vendor="amd").passed


def test_compare_pass_reports_share_of_error_bound():
    assert compare(bounded(1, 2), got(1.25, 2), vendor="amd").budget == 0.5
    verdict = compare(bounded(1, 2), got(1.25, 3), vendor="amd")
    assert not verdict.passed
    assert verdict.budget == verdict.first.budgets == 2.0
    assert compare(bounded(1), got(1.5), vendor="amd").passed


def test_compare_pass_ulps_covers_elements_with_bound():
    verdict = compare(bounded(1, 2), got(1 + 3 * 2**-23, 2), vendor="amd")
    assert verdict.passed and verdict.ulps == 3
    assert compare(bounded(1), got(1), vendor="amd").ulps == 0
    loose = expected(1.0, 1.0, nan_allowed=np.array([True, False]))
    assert compare(loose, got(math.nan, 1), vendor="amd").ulps == 0


def test_compare_accepts_asymmetric_bounds():
    bounds = Bounds(np.array([1.0]), 0.0, np.array([0.0]), np.array([0.5]))
    one_sided = expected(1.0, bounds=lambda limits: bounds)
    assert compare(one_sided, got(1.5), vendor="amd").passed
    assert not compare(one_sided, got(0.99), vendor="amd").passed


def test_compare_allowed_nan_passes():
    loose = expected(1.0, 1.0, nan_allowed=np.array([True, False]))
    assert compare(loose, got(math.nan, 1), vendor="amd").passed
    assert compare(loose, got(1, math.nan), vendor="amd").kind == "nan"


def test_compare_nan_in_bound_fails():
    assert compare(bounded(1.0, error=math.inf), got(math.nan), vendor="amd").kind == "nan"


def test_compare_overflow_within_bound_passes():
    largest = float(np.finfo(F32).max)
    assert compare(bounded(largest, error=2.0**104), got(math.inf), vendor="amd").passed
    assert compare(bounded(largest, error=2.0**102), got(math.inf), vendor="amd").kind == "infinity"
    assert compare(bounded(largest, error=2.0**104), got(-math.inf), vendor="amd").kind == "infinity"
    assert compare(bounded(largest + 2.0**104, error=2.0**103.5), got(largest), vendor="amd").passed


def test_compare_accepts_alternatives_and_unspecified():
    either = expected(1, 2, alternatives=(np.array([1.5, 2], F32),))
    assert compare(either, got(1.5, 2), vendor="amd").passed
    assert not compare(either, got(1.25, 2), vendor="amd").passed
    anything = expected(1, 2, unspecified=np.array([True, False]))
    assert compare(anything, got(math.nan, 2), vendor="amd").passed
    assert compare(anything, got(1, 3), vendor="amd").wrong == 1


def test_compare_divergence_passes_and_is_named():
    value, other = np.array([1, 2, 3], np.uint8), np.array([1, 9, 3], np.uint8)
    diverging = Expected(value, divergences={"D5": other, "D6": np.array([1, 2, 7], np.uint8)})
    verdict = compare(diverging, other, vendor="amd")
    assert verdict.passed
    assert verdict.divergences == ("D5",)
    assert compare(diverging, value, vendor="amd").divergences == ()
    mixed = compare(diverging, np.array([0, 9, 3], np.uint8), vendor="amd")
    assert (mixed.passed, mixed.wrong, mixed.divergences) == (False, 1, ("D5",))


def test_compare_divergence_applies_to_whole_output():
    """An output that matches the other vendor in some elements does not follow its rule."""
    diverging = Expected(np.array([1, 2, 3], np.uint8), divergences={"D5": np.array([1, 8, 9], np.uint8)})
    for got, wrong in (([1, 8, 9], 0), ([1, 8, 3], 1), ([1, 2, 9], 1), ([7, 8, 9], 1)):
        verdict = compare(diverging, np.array(got, np.uint8), vendor="amd")
        assert verdict.wrong == wrong
        assert bool(verdict.divergences) == (got[1:] == [8, 9])


def test_compare_between_limits_is_beyond_observed():
    """erf on AMD: 16 ULP documented, at most 2 observed; CUDA documents 2.5."""
    x = np.array([0.1, 0.3], F32)
    exact = reference.erf(x)
    for steps, beyond_observed, divergences in ((1, False, ()), (3, True, ("D22",)), (12, True, ("D22",))):
        off = (exact.value.view(np.uint32) + steps).view(F32)
        verdict = compare(exact, off, vendor="amd")
        assert (verdict.passed, verdict.beyond_observed, verdict.divergences) == (True, beyond_observed, divergences)
    far = (exact.value.view(np.uint32) + 18).view(F32)
    assert not compare(exact, far, vendor="amd").passed
    assert not compare(exact, (exact.value.view(np.uint32) + 3).view(F32), vendor="cuda").passed


def test_compare_beyond_other_vendor_limit_is_divergence():
    """log on AMD: the observed 2.5 exceeds CUDA's 1.5."""
    exact = reference.log(np.array([10.0], F32))
    verdict = compare(exact, (exact.value.view(np.uint32) + 2).view(F32), vendor="amd")
    assert verdict.divergences == ("D22",)
    assert not verdict.beyond_observed


@pytest.mark.parametrize("name", ["u8", "u32", "i64", "f16", "bf16", "f32", "f64"])
def test_compare_poison_is_unwritten(name):
    kind = dtype(name)
    value = np.arange(20).astype(kind.numpy)
    lost = value.copy()
    lost[13:] = poisoned(kind, 7)
    verdict = compare(Expected(value), lost, vendor="amd")
    assert (verdict.kind, verdict.wrong, verdict.pattern) == ("unwritten", 7, "the tail from index 13")
    assert verdict.first.coordinates == (13,)


def test_compare_single_poison_value_is_not_unwritten():
    value = np.zeros(256, np.uint8)
    assert compare(Expected(value), np.arange(256).astype(np.uint8), vendor="amd").kind == "value"


def test_compare_right_value_like_poison_passes():
    value = np.array([165, 1], np.uint8)
    assert compare(Expected(value), value.copy(), vendor="amd").passed


def test_compare_empty_output_passes():
    for empty in (np.zeros((0,), F32), np.zeros((3, 0), F32)):
        assert compare(reference.gelu(empty), empty, vendor="amd").passed


def test_compare_accepts_scalars():
    verdict = compare(Expected(np.array(1, F32)), np.array(2, F32), vendor="amd")
    assert (verdict.first.coordinates, verdict.pattern) == ((), "the only element")


def test_compare_other_shape_or_dtype_is_refused():
    with pytest.raises(UsageError, match=r"float64 of shape \(2,\) with the expected float32 of shape \(1,\)"):
        compare(expected(1.0), np.zeros(2), vendor="amd")


def test_check_unmodified_reports_changes():
    before = np.array([1, np.nan, -0.0, 4], F32)
    assert check_unmodified("x", before, before.copy()) is None
    verdict = check_unmodified("x", before, np.array([1, np.nan, 0.0, 4], F32))
    assert (verdict.status, verdict.kind, verdict.wrong) == (Status.FAIL, "input modified", 1)
    assert (verdict.first.expected, verdict.first.got) == ("-0.0", "0.0")
    assert "x" in verdict.detail


def test_format_pair_equal_texts_shows_bits():
    verdict = check_unmodified("x", np.array([np.nan], F32), np.array([0x7FC00001], np.uint32).view(F32))
    assert (verdict.first.expected, verdict.first.got) == ("nan (0x7fc00000)", "nan (0x7fc00001)")


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_ulp_distance_counts_representable_values(name):
    kind = dtype(name).numpy
    one = np.ones(1, kind)
    bits = one.view(dtype(name).bits)
    assert ulp_distance(one[0], (bits + 5).view(kind)[0]) == 5
    assert ulp_distance(kind.type(0.0), kind.type(-0.0)) == 0
    tiny = (bits * 0 + 1).view(kind)[0]
    assert ulp_distance(tiny, -tiny) == 2
    assert ulp_distance(kind.type(dtype(name).max), kind.type(np.inf)) == 1
    assert ulp_distance(kind.type(np.nan), one[0]) == math.inf


def test_ulp_distance_of_integers_is_difference():
    assert ulp_distance(np.int64(-(2**63)), np.int64(2**63 - 1)) == float(2**64 - 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float64(0.1), "0.1"),
        (np.float16(0.1), "0.1"),
        (ml_dtypes.bfloat16(0.1), "0.1"),
        (ml_dtypes.bfloat16(1.0078125), "1.01"),
        (ml_dtypes.bfloat16(-math.inf), "-inf"),
        (np.uint8(165), "165"),
        (np.int64(-(2**63)), "-9223372036854775808"),
    ],
)
def test_format_value_is_shortest_round_trip(value, text):
    assert format_value(value) == text
    assert value.dtype.type(text) == value


def test_format_value_bf16_round_trips():
    values = np.arange(0, 0x7F80, 7, dtype=np.uint16).view(ml_dtypes.bfloat16)
    assert all(ml_dtypes.bfloat16(float(format_value(v))) == v for v in values)


def test_compare_vendor_selects_limits():
    seen = []
    spy = expected(1.0, bounds=lambda limits: seen.append(limits) or Bounds(got(1.0), 0.0, got(0.5), got(0.5)))
    compare(spy, got(1.25), vendor="cuda")
    assert seen == [Limits("cuda")]
    compare(spy, got(1.25), vendor="amd")
    assert seen[1:] == [Limits("amd"), Limits("amd", "observed"), Limits("cuda")]


def test_compare_allowed_requires_positive_bound():
    assert compare(bounded(1, 2), got(1, 2), vendor="amd").allowed
    assert not compare(bounded(1, 2, error=0.0), got(1, 2), vendor="amd").allowed
    assert not compare(expected(1, 2), got(1, 2), vendor="amd").allowed


EVERY = set(MISTAKES)


@pytest.mark.parametrize(
    ("judged", "accepted"),
    [
        (bounded(1, -2), set()),
        (bounded(1, -2, error=0.75), set()),
        (bounded(1, -2, error=1.0), {"half as large again"}),
        (bounded(1, -2, error=2.0), {"only zeros", "half as large again"}),
        (bounded(1, -2, error=1e30), EVERY - {"only NaN"}),
        (bounded(1, np.nan, np.inf, error=1e30), EVERY - {"only NaN"}),  # only numbers have error bounds
        (bounded(0, 0, error=1e-30), EVERY - {"only NaN"}),
        (expected(0, 0), set()),
        (expected(0, -np.inf), set()),
        (expected(-np.inf, -np.inf), set()),
        (expected(0, 1), set()),
        (expected(np.nan, np.nan), EVERY),
        (expected(1, 2, unspecified=True), EVERY),
        (expected(1, 2, nan_allowed=True), {"only NaN"}),
        (expected(1, 2, dtype=np.int32, accepts=lambda values: values < 9), {"only zeros", "the opposite sign"}),
        (expected(1, 2, dtype=np.int32, accepts=lambda values: values > 0), set()),
        (expected(0, 0, dtype=np.uint8), set()),
    ],
)
def test_accepted_mistakes_lists_wrong_outputs_that_pass(judged, accepted):
    assert accepted_mistakes(judged, "amd") == accepted


def test_signaling_nans_are_not_numbers_and_cause_no_warning(recwarn):
    value = np.full(8, 0x7F81, np.uint16).view(ml_dtypes.bfloat16)
    assert not has_numbers(value) and has_numbers(np.append(value, value.dtype.type(1)))
    assert not recwarn.list
