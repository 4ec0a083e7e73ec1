"""Reductions: exact values, error bounds that devices reach but do not exceed, ties, NaN and overflow."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import DTYPES, dtype
from parity.model.launch import Grid
from parity.reference import Limits
from parity.reference.reduce import tree_depth

INF, NAN = math.inf, math.nan
FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
WIDE, HALVES = FLOATS[2:], FLOATS[:2]
ALL = pytest.mark.parametrize("kind", FLOATS, ids=str)


def threads(count):
    return Grid((1, 1, 1), (count, 1, 1))


def device_sum(x, count):
    """Simulate ``count`` threads: each adds every count-th element in x's type, then a halving tree adds the sums."""
    sums = np.zeros(count, x.dtype)
    for i, value in enumerate(x):
        sums[i % count] = sums[i % count] + value
    while count > 1:
        count //= 2
        sums = sums[:count] + sums[count : 2 * count]
    return sums[:1]


def normal(kind, *shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(kind.numpy)


@ALL
@pytest.mark.parametrize(("terms", "count"), [(1, 1), (5, 8), (33, 32), (300, 64), (1000, 1), (1025, 1024)])
def test_reduce_sum_by_strided_threads_and_tree_passes(kind, terms, count):
    for seed in range(4):
        x = normal(kind, terms, seed=seed)
        passes(reference.reduce_sum(x, 1, threads(count)), device_sum(x, count)[0])


@pytest.mark.parametrize("kind", WIDE, ids=str)
def test_reduce_sum_centre_matches_exact_sum(kind):
    x = np.concatenate([normal(kind, 50), normal(kind, 50, seed=1) * kind.numpy.type(1e-18)])
    exact = sum(map(Fraction, x.tolist()))
    bounds = reference.reduce_sum(x, 1, threads(128)).bounds(Limits("amd"))
    assert abs(Fraction(float(bounds.centre)) + Fraction(float(bounds.residual)) - exact) <= abs(exact) / 2**80 + (
        0 if kind.name == "f64" else Fraction(1, 2**46)
    )


def test_reduce_sum_bound_is_nearly_reached_by_one_sided_rounding():
    # 1, then numbers slightly below half an ULP of 1: a serial sum loses all of them
    x = np.full(4097, 2.0**-24 * (1 - 2.0**-20), np.float32)
    x[0] = 1
    assert device_sum(x, 1)[0] == 1
    assert passes(reference.reduce_sum(x, 1, threads(1)), np.float32(1)).budget > 0.99
    fails(reference.reduce_sum(x, 1, threads(1024)), np.float32(1))


DEPTHS = [(0, 1, 0), (1, 1024, 0), (2, 2, 1), (3, 4, 2), (3, 1024, 2), (9, 1, 8)]
DEPTHS += [(1024, 1024, 10), (1025, 1024, 11), (8192, 1024, 17)]


@pytest.mark.parametrize(("terms", "count", "depth"), DEPTHS)
def test_tree_depth_counts_strided_additions_and_tree(terms, count, depth):
    assert tree_depth(terms, count) == depth


@ALL
def test_reduce_sum_of_small_whole_numbers_allows_no_error(kind):
    terms = min(2**kind.precision, 2**12) // 4
    x = (np.arange(terms) % 9 - 4).astype(kind.numpy)
    expected = reference.reduce_sum(x, 1, threads(32))
    total = expected.value
    passes(expected, total)
    assert fails(expected, np.nextafter(total.astype(np.float64), 1e9).astype(kind.numpy) + kind.numpy.type(1))
    x[0] += kind.numpy.type(1)
    fails(reference.reduce_sum(x, 1, threads(32)), total)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=40), st.integers(-20, 20), st.permutations(range(40)))
def test_reduce_sum_of_multiples_of_power_of_two_allows_no_error(values, power, order):
    x = np.ldexp(np.array(values, np.float32), power)
    expected = reference.reduce_sum(x, 1, threads(8))
    serial = np.float32(0)
    for i in (i for i in order if i < len(x)):
        serial = np.float32(serial + x[i])
    assert not expected.bounds(Limits("amd")).above.any()
    passes(expected, serial)


def test_reduce_sum_of_two_distant_numbers_has_error_bound():
    x = np.array([1, 2.0**-24], np.float32)
    assert reference.reduce_sum(x, 1, threads(2)).bounds(Limits("amd")).above > 0


@pytest.mark.parametrize("name", ["u8", "u32", "i64"])
def test_reduce_sum_of_integers_wraps(name):
    kind = DTYPES[name]
    x = np.array([[kind.max, 7, 9], [1, 2, 3]], kind.numpy)
    with np.errstate(all="ignore"):
        assert reference.reduce_sum(x, 1, threads(4)).value.tolist() == [
            int(np.array([kind.max], kind.numpy)[0] + kind.numpy.type(16)),
            6,
        ]


@ALL
def test_reduce_sum_of_empty_rows_is_zero(kind):
    passes(reference.reduce_sum(np.zeros((2, 0), kind.numpy), 1, threads(1)), np.zeros(2, kind.numpy))


@ALL
def test_reduce_sum_propagates_infinity_and_nan(kind):
    x = np.array([[INF, 1], [INF, -INF], [NAN, 1], [-INF, -INF]], kind.numpy)
    expected = reference.reduce_sum(x, 1, threads(2))
    assert np.array_equal(expected.value.astype(float), [INF, NAN, NAN, -INF], equal_nan=True)
    passes(expected, expected.value)


@ALL
def test_reduce_sum_accepts_intermediate_overflow(kind):
    big = kind.numpy.type(kind.max)
    x = np.array([big, big, -big, -big, 1], kind.numpy)
    expected = reference.reduce_sum(x, 1, threads(1))
    for legal in (1, INF, -INF, NAN):
        passes(expected, np.array(legal, kind.numpy))
    same_sign = reference.reduce_sum(np.array([big, big], kind.numpy), 1, threads(1))
    passes(same_sign, np.array(INF, kind.numpy))
    fails(same_sign, np.array(-INF, kind.numpy), kind="infinity")
    fails(reference.reduce_sum(x[4:], 1, threads(1)), np.array(INF, kind.numpy), kind="infinity")


def test_sum_onto_adds_sums_over_masked_dims_to_output():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    out = np.arange(8, dtype=np.float32).reshape(2, 4)
    passes(reference.sum_onto(x, out, np.uint32(0b010)), out + x.sum(1))
    passes(reference.sum_onto(x, out[0, :3], np.uint32(0b101)), out[0, :3] + x.sum((0, 2)))
    passes(reference.sum_onto(x, x, np.uint32(0)), x + x)
    fails(reference.sum_onto(x, out, np.uint32(0b010)), x.sum(1))


@ALL
def test_reduce_max_and_min_propagate_nan_only_for_half_types(kind):
    x = np.array([[1, NAN, 3], [NAN, NAN, NAN], [-1, -INF, -0.0]], kind.numpy)
    kept = kind in HALVES
    largest, smallest = reference.reduce_max(x, 1), reference.reduce_min(x, 1)
    passes(largest, np.array([NAN if kept else 3, NAN if kept else -INF, 0], kind.numpy))
    passes(smallest, np.array([NAN if kept else 1, NAN if kept else INF, -INF], kind.numpy))
    fails(largest, np.array([3 if kept else NAN, NAN if kept else -INF, 0], kind.numpy), kind="nan")


def test_reduce_max_with_signalling_nan_accepts_three_results():
    """AMD's v_max3 of 9, a signalling NaN and 1 returns 1: the first two give NaN, which 1 replaces (D7)."""
    x = np.array([9, 0, 1], np.float32)
    x.view(np.uint32)[1] = 0x7F800001
    for right in (9, 1, NAN):
        passes(reference.reduce_max(x, 1), np.float32(right))
    fails(reference.reduce_max(x, 1), np.float32(2))
    x.view(np.uint32)[1] = 0x7FC00001  # a quiet NaN
    passes(reference.reduce_max(x, 1), np.float32(9))
    fails(reference.reduce_max(x, 1), np.float32(1))
    fails(reference.reduce_max(x, 1), np.float32(NAN), "nan")


def test_reduce_max_and_min_of_integers_over_several_dims():
    x = np.arange(24, dtype=np.int64).reshape(2, 3, 4) - 12
    passes(reference.reduce_max(x, 2), np.array([-1, 11]))
    passes(reference.reduce_min(x, 3), np.array(-12))


@pytest.mark.parametrize(
    ("values", "place"), [([0, 5, 5, 0], 2), ([1, NAN, 3, 9], 2), ([NAN, 5, 9], 0), ([1, 9, 9], 2)]
)
def test_argmax_and_argmin_match_listed_examples(values, place):
    x = np.array(values, np.float32)
    grid = threads(1 << (len(x) - 1).bit_length())
    assert reference.argmax(x, 1, grid).value == place
    assert reference.argmin(-x, 1, grid).value == place
    assert reference.argmax(x, 1, grid).value.dtype == np.uint32


@pytest.mark.parametrize(("terms", "count"), [(7, 8), (32, 32), (100, 64), (1000, 1024), (2049, 1024), (9, 1)])
def test_argmax_tie_selects_thread_with_smallest_bit_reversed_index(terms, count):
    rng = np.random.default_rng(terms)
    bits = count.bit_length() - 1
    for _ in range(20):
        x = rng.integers(0, 4, (3, terms)).astype(np.uint8)
        for function, best in ((reference.argmax, x.max(1)), (reference.argmin, x.min(1))):
            for row, extremum, found in zip(x, best, function(x, 1, threads(count)).value, strict=True):
                ties = np.flatnonzero(row == extremum).tolist()
                assert found == min(ties, key=lambda i: (int(f"{i % count:0{bits}b}"[::-1], 2) if bits else 0, i))


def test_argmax_with_wrong_tie_fails():
    fails(reference.argmax(np.array([0, 5, 5, 0], np.float32), 1, threads(4)), np.uint32(1))


@ALL
def test_prefix_sum_in_any_order_passes(kind):
    x = normal(kind, 100)
    expected = reference.prefix_sum(x)
    passes(expected, np.cumsum(x, dtype=x.dtype))
    passes(expected, np.array([device_sum(x[: i + 1], 8)[0] for i in range(100)]))
    fails(expected, np.cumsum(np.append(x[:1], x[:-1]), dtype=x.dtype))


def test_prefix_sum_of_integers_wraps():
    x = np.array([2**32 - 1, 2, 3], np.uint32)
    assert reference.prefix_sum(x).value.tolist() == [2**32 - 1, 1, 4]
