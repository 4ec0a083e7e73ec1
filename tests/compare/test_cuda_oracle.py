"""The CUDA oracle: the allowed distance from CUDA's results for an op without a reference."""

import ml_dtypes
import numpy as np
import pytest

from parity.compare import cuda_oracle
from parity.compare.comparison import compare
from parity.compare.cuda_oracle import RoundingRuns, expected_from_cuda, is_unstable, same_values
from parity.model.launch import Arithmetic
from parity.reference.accuracy import accuracy, furthest
from parity.reference.expected import Limits

MOVES, COMPARES, ROUNDS = Arithmetic
K = furthest("f32")


def judged(standard, got, arithmetic, mine=(), theirs=(), kind=np.float32, beside=(0, 1), **options):
    """Judge one element, given the runs of each side; the first run uses the code's own roundings.

    A second, correct element has the different runs ``beside``.
    """

    def runs(values):
        arrays = [np.array([value, beside[number > 0]], kind) for number, value in enumerate(values)]
        return RoundingRuns(arrays[0], arrays[1:]) if arrays else None

    oracle = np.array([standard, beside[0]], kind)
    expected = expected_from_cuda(oracle, arithmetic, runs(mine), theirs=lambda: runs(theirs), **options)
    return compare(expected, np.array([got, beside[0]], kind), vendor="amd")


def ulps(value, count):
    return np.float32(value) + np.float32(count) * np.spacing(np.float32(value))


def test_factor_matches_largest_documented_difference():
    both = accuracy("normcdf", "f32", Limits("cuda")) + accuracy("normcdf", "f32", Limits("amd"))
    assert both == K == 22.5
    assert {furthest(name) for name in ("f16", "bf16", "f64", "f8_e4m3")} == {K}


def test_moving_code_must_match_bits():
    assert judged(1.5, 1.5, MOVES).passed
    assert judged(np.nan, -np.nan, MOVES).passed
    assert judged(0.0, -0.0, MOVES).kind == "sign of zero"
    assert judged(1.5, ulps(1.5, 1), MOVES).kind == "value"


def test_comparing_code_must_match_values():
    assert judged(0.0, -0.0, COMPARES).passed  # the order of operands decides between equal zeros
    assert judged(1.5, ulps(1.5, 1), COMPARES).kind == "value"


def test_rounded_values_may_differ_by_factor():
    moved = [1.5, ulps(1.5, 1), 1.5, ulps(1.5, -1)]  # the runs differ by at most two ULP
    close = judged(ulps(1.5, 45), 1.5, ROUNDS, moved)
    assert close.passed and close.budget == 1.0 and close.allowed
    assert judged(ulps(1.5, 46), 1.5, ROUNDS, moved).kind == "value"
    assert judged(ulps(1.5, -46), 1.5, ROUNDS, moved).kind == "value"


def test_cancellation_allows_spread_of_runs():
    """1 + tanh(x) near -1: the runs are 2**-25 apart in a result of 2**-30."""
    assert judged(2.0**-24, 2.0**-30, ROUNDS, [2.0**-30, 2.0**-25]).passed
    assert not judged(2.0**-24, 2.0**-30, ROUNDS, [2.0**-30, 2.0**-29]).passed


def test_port_that_is_less_precise_than_cuda_fails():
    mine, theirs = [1.5, ulps(1.5, 7475)], [1.5, ulps(1.5, 1)]
    assert judged(ulps(1.5, 360), 1.5, ROUNDS, mine, theirs).passed
    lossy = judged(ulps(1.5, 361), 1.5, ROUNDS, mine, theirs)
    assert lossy.kind == "value"
    assert "an element by 7,475 ULP, and by 1 ULP in CUDA's code: AMD's side is less precise" in lossy.detail
    assert judged(ulps(1.5, 361), 1.5, ROUNDS, mine).passed  # CUDA's spread is unknown
    assert judged(ulps(1.5, 720), 1.5, ROUNDS, mine, [1.5, ulps(1.5, 2)]).passed
    assert judged(2.0**-149 * 720, 0.0, ROUNDS, [0.0, 2.0**-130], [0.0]).passed  # subnormal numbers may be flushed
    assert judged(ulps(1.5, 361), 1.5, ROUNDS, mine, [1.5, np.nan]).passed  # a rounding decides about NaN


def test_unmoved_element_is_less_precise_only_without_approximate_instructions():
    """In x - x * exp(1e-9), runs do not move CUDA's approximate exponential, which is 1."""
    mine, theirs = [1.5, ulps(1.5, 7475)], [1.5, 1.5]
    assert judged(ulps(1.5, 400), 1.5, ROUNDS, mine, theirs).passed
    assert "less precise" in judged(ulps(1.5, 400), 1.5, ROUNDS, mine, theirs, approximates=False).detail


@pytest.mark.parametrize(
    ("multiplies_matrices", "count", "right"), [(False, 1, False), (True, 8, True), (True, 9, False)]
)
def test_few_sums_of_matrix_instructions_may_move_further_than_cuda(multiplies_matrices, count, right):
    """Where large products cancel exactly in CUDA's order, its runs do not move the sum, but AMD's order rounds."""
    oracle = np.full(64, 1.5, np.float32)
    lossy = np.where(np.arange(64) < count, np.float32(ulps(1.5, 361)), oracle)
    mine = RoundingRuns(oracle, [np.full(64, ulps(1.5, 7475), np.float32)])
    theirs = RoundingRuns(oracle, [np.full(64, ulps(1.5, 1), np.float32)])
    expected = expected_from_cuda(oracle, ROUNDS, mine, theirs=lambda: theirs, multiplies_matrices=multiplies_matrices)
    assert compare(expected, lossy, vendor="amd").passed == right


def test_narrow_port_that_is_less_precise_than_cuda_fails():
    ulp = 2.0**-10
    mine, theirs = [1.5, 1.5 + 9 * ulp], [1.5, 1.5 + ulp]
    assert judged(1.5 + 2 * ulp, 1.5, ROUNDS, mine, theirs, np.float16).passed
    lossy = judged(1.5 + 3 * ulp, 1.5, ROUNDS, mine, theirs, np.float16)
    assert "an element by 9 ULP, and by 1 ULP in CUDA's code: AMD's side is less precise" in lossy.detail
    assert lossy.within_bound and not judged(1.5 + 300 * ulp, 1.5, ROUNDS, mine, theirs, np.float16).within_bound
    assert judged(1.5 + 3 * ulp, 1.5, ROUNDS, mine, [1.5, 1.5 + 2 * ulp], np.float16).passed


@pytest.mark.parametrize(("approximates", "distance", "right"), [(True, 22, True), (False, 1, True), (False, 2, False)])
def test_still_element_beside_a_moved_one_differs_by_an_ulp_without_approximations(approximates, distance, right):
    options = {"beside": (1, ulps(1, 1)), "approximates": approximates}
    assert judged(6.0, ulps(6, distance), ROUNDS, [6.0] * 9, **options).passed == right
    assert judged(6.0, ulps(6, 22), ROUNDS, [6.0, ulps(6, 1)], **options).passed


def test_values_independent_of_rounding_are_exact():
    assert judged(6.0, 6.0, ROUNDS, [6.0] * 9, beside=(3, 3)).passed
    assert judged(6.0, ulps(6, 1), ROUNDS, [6.0] * 9, beside=(3, 3)).kind == "value"
    assert judged(0.0, -0.0, ROUNDS, [0.0] * 9, beside=(3, 3)).passed


def test_underflow_to_zero_is_allowed():
    """exp(-103.3) is slightly above half of the smallest number; no rounding changes AMD's 0 (D14)."""
    still = {"beside": (3, 3)}
    assert judged(2.0**-149, 0.0, ROUNDS, [0.0] * 9, **still).passed
    assert judged(2.0**-149 * 23, 0.0, ROUNDS, [0.0] * 9, **still).kind == "value"
    assert judged(2.0**-149, 0.0, COMPARES, **still).kind == "value"


def test_flushed_subnormals_in_sums_are_allowed():
    for kind, flushed, right in ((np.float32, 0, False), (np.float32, 2.0**-126, True), (np.float64, 2.0**-126, False)):
        value = np.zeros(1, kind)
        expected = expected_from_cuda(value, ROUNDS, RoundingRuns(value, [value]), flushed)
        assert compare(expected, value + kind(2.0**-127), vendor="amd").passed == right


def test_f64_computed_in_f32_is_allowed():
    """All runs agree in one element, which is near the midpoint of two f32 numbers, and differ in another."""
    above = float(np.float32(1.5) + np.spacing(np.float32(1.5)))
    f64 = {"kind": np.float64, "beside": (1.0, float(1 + np.spacing(np.float32(1))))}
    assert judged(above, 1.5, ROUNDS, [1.5] * 9, **f64).passed
    assert judged(1.5 + 2.0**-40, 1.5, ROUNDS, [1.5] * 9, **f64).kind == "value"  # CUDA's result is not an f32 number
    fine = {"kind": np.float64, "beside": (1.0, 1 + 2.0**-52)}
    assert judged(above, 1.5, ROUNDS, [1.5] * 9, **fine).kind == "value"


def test_overflow_to_infinity_or_nan_is_not_judged():
    still = {"beside": (3, 3)}
    assert judged(-np.inf, np.nan, ROUNDS, [np.nan] * 9, **still).passed
    assert judged(np.nan, np.inf, ROUNDS, [np.inf] * 9, **still).passed
    assert not judged(-np.inf, np.nan, COMPARES, **still).passed
    assert not judged(-np.inf, np.inf, ROUNDS, [np.inf] * 9, **still).passed
    assert not judged(1.0, np.nan, ROUNDS, [np.nan] * 9, **still).passed


@pytest.mark.parametrize(
    ("runs", "unstable"),
    [
        ([50.0, -40.0, 900.0], True),
        ([50.0, -40.0, 5.0], False),  # cancellation: the inputs are as large as the change
        ([1e6, 1e6 + 150, 1e6 - 20], False),  # digits are left
    ],
)
def test_result_without_digits_is_unstable(runs, unstable):
    near, *moved = (np.array([1.0, each], np.float32) for each in runs)
    assert is_unstable(near, RoundingRuns(near, moved), 100.0) is unstable
    assert not is_unstable(near, RoundingRuns(near, moved), np.inf)


def test_spread_of_runs_is_computed_once(monkeypatch):
    one, computed = np.array([1.5, 2.0], np.float32), []
    monkeypatch.setattr(cuda_oracle, "_spread", lambda runs: (computed.append(len(runs)), np.ptp(runs, 0))[1])
    side = RoundingRuns(one, [one, ulps(one, 1)])
    assert not is_unstable(one, side, 100.0)
    assert compare(expected_from_cuda(one, ROUNDS, side), one, vendor="amd").passed
    assert computed.count(3) == 1


def test_infinity_is_not_nan_in_code_without_sums():
    still = {"beside": (3, 3), "is_ordered": True}
    assert judged(-np.inf, np.nan, ROUNDS, [np.nan] * 9, **still).kind == "nan"
    assert judged(np.nan, np.inf, ROUNDS, [np.inf] * 9, **still).kind == "nan"
    assert judged(np.nan, np.inf, ROUNDS, [np.inf, np.nan], **still).passed  # roundings produce both


def test_rounded_value_allows_at_least_one_ulp():
    """tanh(20) is 1 in all runs; CUDA may return the next smaller number."""
    assert judged(1 - 2.0**-24, 1.0, ROUNDS, [1.0] * 9).passed
    assert judged(2.0**-149, 0.0, ROUNDS, [0.0] * 9).passed
    assert judged(ulps(1.5, 22), 1.5, ROUNDS, [1.5] * 9).passed
    assert not judged(ulps(1.5, 23), 1.5, ROUNDS, [1.5] * 9).passed


def test_products_rounded_to_bf16_count_once():
    kind = ml_dtypes.bfloat16
    values = [np.array([value], kind) for value in (1.0, 1.0, 1.0078125)]
    nearest, moved, narrowed = values
    for apart, passes in ((2, True), (3, False)):
        expected = expected_from_cuda(
            np.array([1 + apart * 2.0**-7], kind), ROUNDS, RoundingRuns(nearest, [moved], [narrowed])
        )
        assert compare(expected, nearest, vendor="amd").passed is passes


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_last_rounding_of_narrow_type_is_not_scaled(kind):
    one = 2.0 ** (-1 - np.dtype(kind).type(ml_dtypes.finfo(kind).nmant).astype(float)) * 2
    assert judged(1 + one, 1.0, ROUNDS, [1.0, 1 + one], kind=kind).passed
    assert not judged(1 + 2 * one, 1.0, ROUNDS, [1.0, 1 + one], kind=kind).passed
    assert judged(1 + 3 * one, 1.0, ROUNDS, [1.0, 1 + 2 * one], kind=kind).passed


def test_integers_are_exact_unless_rounding_changes_them():
    assert judged(7, 7, ROUNDS, [7] * 9, kind=np.int32).passed
    assert judged(7, 8, ROUNDS, [7] * 9, kind=np.int32).kind == "value"
    assert judged(7, 8, ROUNDS, [7, 8], kind=np.int32).passed
    assert judged(7, 9, ROUNDS, [7, 8], kind=np.int32).kind == "value"
    assert judged(2**63, 2**63 + 1, ROUNDS, [2**63] * 2, kind=np.uint64).kind == "value"


def test_integers_may_change_with_the_roundings_of_cuda_alone():
    """The place of a minimum between two numbers that are almost equal."""
    assert judged(31, 7, ROUNDS, [7] * 9, [31, 7], kind=np.int32).passed
    assert judged(31, 7, ROUNDS, [7] * 9, [31] * 9, kind=np.int32).kind == "value"
    assert judged(31, 6, ROUNDS, [7] * 9, [31, 7], kind=np.int32).kind == "value"


@pytest.mark.parametrize(("wrong", "passes"), [(2, True), (3, False)])
def test_two_of_few_elements_may_change_with_the_roundings_of_cuda_alone(wrong, passes):
    oracle, got = np.full(4, 8, np.uint64), np.full(4, 8, np.uint64)
    got[:wrong] = 0
    theirs = RoundingRuns(oracle, [np.zeros(4, np.uint64)])
    expected = expected_from_cuda(oracle, ROUNDS, RoundingRuns(got, [got]), theirs=lambda: theirs)
    assert compare(expected, got, vendor="amd").passed is passes


def test_branch_that_roundings_of_cuda_alone_decide_is_allowed():
    assert judged(4.8, 0.0, ROUNDS, [0.0] * 9, [4.8, 0.0]).passed
    assert judged(4.8, 0.0, ROUNDS, [0.0] * 9, [4.8, np.nan]).passed
    assert judged(4.8, 0.0, ROUNDS, [0.0] * 9, [4.8] * 9).kind == "value"
    many = np.full(64, 4.8, np.float32)
    expected = expected_from_cuda(many, ROUNDS, RoundingRuns(many, [ulps(many, 1)]), theirs=pytest.fail)
    assert not compare(expected, many * 0, vendor="amd").passed  # a branch changes few elements


def test_branch_that_roundings_decide_is_not_a_less_precise_formula():
    assert judged(1.5, 12.5, ROUNDS, [12.5, 1.5], [1.5, ulps(1.5, 1)]).passed
    assert "less precise" in judged(1.5, 1.7, ROUNDS, [1.7, 1.6, 1.8], [1.5, ulps(1.5, 1)]).detail


def test_blocks_are_equal_unless_rounding_changes_them():
    kind = np.dtype([("d", "<f2"), ("qs", "i1", (32,))])
    one, two, three = np.zeros(2, kind), np.zeros(2, kind), np.zeros(2, kind)
    two["qs"][1, 5], three["qs"][0, 0] = 1, 1
    expected = expected_from_cuda(one, ROUNDS, RoundingRuns(one, [two]))
    assert compare(expected, two, vendor="amd").passed
    assert compare(expected, three, vendor="amd").first.coordinates == (0,)
    both = two.copy()
    both["qs"][1, 6] = 1  # another element of the block that rounding changes
    assert compare(expected, both, vendor="amd").first.coordinates == (1,)
    for block in (one, two):
        block["d"].view("<u2")[0] = 0x7E00 + len(block) * (block is two)  # NaN with different payloads
    assert compare(expected_from_cuda(one, COMPARES, None), one, vendor="amd").passed
    assert same_values(one[:1], two[:1])


@np.errstate(all="ignore")
def test_nan_and_infinities_must_match():
    inf, nan, largest = np.inf, np.nan, float(np.finfo(np.float32).max)
    assert judged(nan, nan, ROUNDS, [nan] * 9).passed
    assert judged(nan, 1.0, ROUNDS, [1.0] * 9).kind == "nan"
    assert judged(1.0, nan, ROUNDS, [nan] * 9).kind == "nan"
    assert judged(inf, inf, ROUNDS, [inf] * 9).passed
    assert judged(-inf, inf, ROUNDS, [inf] * 9).kind == "infinity"
    assert judged(nan, inf, ROUNDS, [inf, nan]).passed  # the runs give both
    below = np.nextafter(np.float32(largest), np.float32(0))
    assert judged(inf, largest, ROUNDS, [largest, below]).passed
    assert judged(-inf, largest, ROUNDS, [largest, below]).kind == "infinity"
    assert judged(inf, 1e30, ROUNDS, [1e30, 1.0000001e30]).kind == "infinity"


def test_same_values_compares_bits_except_nan():
    assert same_values(np.array([1, np.nan], np.float32), np.array([1, -np.nan], np.float32))
    assert not same_values(np.array([0.0]), np.array([-0.0]))
    assert same_values(np.array([3]), np.array([3])) and not same_values(np.array([3]), np.array([4]))


@pytest.mark.parametrize(("inputs", "biased"), [(24, True), (12, False)])
def test_differences_of_equal_inputs_count_once_for_the_direction(inputs, biased):
    """Each element is one ULP below CUDA's value, which the bound allows."""
    values = np.tile(np.arange(128, 128 + inputs), 4).astype(ml_dtypes.bfloat16)
    below = (values.view(np.uint16) - 1).astype(np.uint16).view(ml_dtypes.bfloat16)
    expected = expected_from_cuda(values, ROUNDS, RoundingRuns(values, [below]))
    assert compare(expected, below, vendor="amd").passed != biased


@pytest.mark.parametrize("shares", [True, False])
def test_elements_that_share_a_rounded_value_may_differ_in_one_direction(shares):
    """In the runs that round each lane at random, a shared value moves all elements together."""
    values = np.arange(128, 192).astype(ml_dtypes.bfloat16)
    bits = values.view(np.uint16)
    below, above = ((bits + np.uint16(2 * more) - np.uint16(1)).view(ml_dtypes.bfloat16) for more in (0, 1))
    mixed = np.where(np.arange(64) % 2, below, above)
    runs = [below, above, *[mixed] * 16, *[above if shares else mixed] * 6]
    expected = expected_from_cuda(values, ROUNDS, RoundingRuns(values, runs))
    assert compare(expected, below, vendor="amd").passed == shares
