"""Sums of products and means: exact values, any order of summation, and inputs that allow no error."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity.model.dtypes import DTYPES, dtype
from parity.reference import Limits
from parity.reference.products import batched_matmul, matmul, mean, sum_of_products

FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
ALL = pytest.mark.parametrize("kind", FLOATS, ids=str)
by_kind = pytest.mark.parametrize
INF, NAN = np.inf, np.nan


def held_in(kind):
    return np.float64 if kind.name == "f64" else np.float32


def summed(left, right, kind, order, hold=None):
    """Simulate a device that adds rounded products in the given order."""
    hold = hold or held_in(kind)
    total = hold(0)
    for i in order:
        total = hold(total + hold(hold(left[i]) * hold(right[i])))
    return np.array(total).astype(kind.numpy)


def drawn(data, kind, most=24):
    count = data.draw(st.integers(1, most))
    values = st.floats(-100, 100) | st.sampled_from([0.0, 1.0, -1.0, 1e-6, 1 + 2.0**-7])
    return (np.array(data.draw(st.lists(values, min_size=count, max_size=count))).astype(kind.numpy) for _ in range(2))


def exactly(left, right):
    return sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left, right, strict=True)), Fraction(0))


@ALL
@given(data=st.data())
def test_sum_of_products_in_any_order_passes_and_centre_is_exact(kind, data):
    left, right = drawn(data, kind)
    expected = sum_of_products(left, right)
    order = data.draw(st.permutations(range(len(left))))
    passes(expected, summed(left, right, kind, order))
    bounds = expected.bounds(Limits("amd"))
    if kind.name == "f64" and bounds.above > 0:
        centre = Fraction(float(bounds.centre)) + Fraction(float(bounds.residual))
        # The smallest float64 is 2^-1074.
        assert (
            abs(centre - exactly(left, right)) <= abs(exactly(left, right)) * Fraction(2) ** -100 + Fraction(2) ** -1074
        )


@ALL
@given(data=st.data())
def test_sum_of_products_of_whole_numbers_allows_no_error(kind, data):
    count = data.draw(st.integers(1, 20))
    whole = st.lists(st.integers(-40, 40), min_size=count, max_size=count)
    left, right = (np.array(data.draw(whole)).astype(kind.numpy) for _ in range(2))
    expected = sum_of_products(left, right)
    exact = exactly(left, right)
    rounded = np.array(float(exact)).astype(kind.numpy)
    passes(expected, rounded)
    for wrong in (np.nextafter(rounded, rounded.dtype.type(INF)), np.nextafter(rounded, rounded.dtype.type(-INF))):
        fails(expected, wrong)


@ALL
def test_sum_of_one_product_is_rounded_to_nearest(kind):
    third = np.array([1 / 3, 0, 0]).astype(kind.numpy)
    factor = np.array([0.7, 0, 0]).astype(kind.numpy)
    expected = sum_of_products(third, factor)
    exact = (third.astype(np.longdouble) * factor).sum().astype(kind.numpy)
    passes(expected, exact)
    fails(expected, np.nextafter(exact, exact.dtype.type(1)))


def test_sum_of_one_small_f64_product_is_rounded_to_nearest():
    x, y = np.array([2.225073858507201e-308]), np.array([6.008563046753179])
    passes(sum_of_products(x, y), np.array(1.3369496562522877e-307))  # its error is almost half an ULP
    fails(sum_of_products(x, y), np.array(1.336949656252288e-307))


@by_kind("kind", FLOATS[:2], ids=str)
def test_sum_of_products_accumulated_in_half_type_fails(kind):
    rng = np.random.default_rng(3)
    left, right = rng.standard_normal((2, 40, 60)).astype(kind.numpy)
    expected = sum_of_products(left, right)
    rows = [summed(a, b, kind, range(60)) for a, b in zip(left, right, strict=True)]
    passes(expected, np.stack(rows))
    held = [summed(a, b, kind, range(60), kind.numpy.type) for a, b in zip(left, right, strict=True)]
    fails(expected, np.stack(held))


def test_sum_of_f64_products_in_f32_fails():
    left, right = np.random.default_rng(4).standard_normal((2, 7))
    fails(sum_of_products(left, right), summed(left, right, dtype("f64"), range(7), np.float32))


@by_kind("kind", FLOATS[1:], ids=str)
def test_sum_of_products_accepts_intermediate_overflow(kind):
    ones = np.ones(3, kind.numpy)
    expected = sum_of_products(np.array([kind.max, kind.max, -kind.max], kind.numpy), ones)
    for possible in (kind.max, INF):
        passes(expected, kind.numpy.type(possible).reshape(()))
    for wrong, how in ((-INF, "infinity"), (NAN, "nan"), (1.0, "value")):
        fails(expected, np.array(wrong, kind.numpy), how)
    twice = np.array([kind.max, kind.max, -kind.max, -kind.max], kind.numpy)
    passes(sum_of_products(twice, np.ones(4, kind.numpy)), np.array(NAN, kind.numpy))


@ALL
def test_sum_of_products_propagates_infinity_and_nan(kind):
    x = np.array([[INF, 1, 2], [INF, -INF, 1], [NAN, 1, 1], [INF, 0, 1], [-INF, 3, 4]], kind.numpy)
    y = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]], kind.numpy)
    expected = sum_of_products(x, y)
    right = np.array([INF, NAN, NAN, NAN, -INF], kind.numpy)
    passes(expected, right)
    for i, wrong in enumerate((kind.max, INF, 1.0, INF, INF)):
        got = right.copy()
        got[i] = wrong
        fails(expected, got, "nan" if np.isnan(right[i]) else "infinity")


@by_kind("kind", FLOATS[1:], ids=str)
def test_sum_of_subnormal_products_rounded_each_passes(kind):
    tiny = 2.0 ** (kind.emin - 1)
    x = np.array([tiny, tiny, tiny], kind.numpy)
    expected = sum_of_products(x, np.full(3, 0.3, kind.numpy))
    passes(expected, summed(x, np.full(3, 0.3, kind.numpy), kind, range(3)))
    fails(expected, np.array(0, kind.numpy))


@by_kind("name", ["u8", "u32"])
@given(data=st.data())
def test_integer_sum_of_products_wraps(name, data):
    kind = DTYPES[name]
    rows = data.draw(st.lists(st.tuples(*2 * [st.integers(0, kind.max)]), min_size=1, max_size=9))
    left, right = (np.array(side, kind.numpy) for side in zip(*rows, strict=True))
    assert sum_of_products(left, right).value == sum(a * b for a, b in rows) % (kind.max + 1)
    total = sum(a for a, _ in rows) % (kind.max + 1)
    average = int(np.float32(total) * np.float32(1 / len(rows)))
    assert mean(left).value == min(average, kind.max)


@ALL
@given(data=st.data())
def test_mean_in_any_order_passes(kind, data):
    x, _ = drawn(data, kind)
    total = summed(x, np.ones_like(x), held_in_dtype(kind), data.draw(st.permutations(range(len(x)))))
    passes(mean(x), np.array(total * held_in(kind)(np.float32(1 / len(x)))).astype(kind.numpy))


def held_in_dtype(kind):
    return kind if kind.itemsize > 2 else DTYPES["f32"]


def test_mean_of_f64_multiplies_by_f32_factor():
    x = np.array([1.0, 2.0, 4.0])
    expected = mean(x)
    passes(expected, np.array(7 * float(np.float32(1 / 3))))
    fails(expected, np.array(7 / 3))
    fails(expected, np.nextafter(np.array(7 * float(np.float32(1 / 3))), 3))


@ALL
def test_mean_with_wrong_count_fails(kind):
    x = np.random.default_rng(5).standard_normal((20, 9)).astype(kind.numpy)
    wrong = (x.astype(np.float64).sum(axis=1) / 10).astype(kind.numpy)
    fails(mean(x), wrong)


@ALL
def test_matmul_matches_numpy(kind):
    a, b = (np.arange(12).reshape(shape).astype(kind.numpy) for shape in ((3, 4), (4, 3)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    passes(matmul(a, b), exact.astype(kind.numpy))
    fails(matmul(a, b), exact.T.astype(kind.numpy))
    nothing = matmul(a[:, :0], b[:0])
    passes(nothing, np.zeros((3, 3), kind.numpy))


def test_batched_matmul_is_matmul_of_each_pair():
    a, b = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4), np.ones((2, 4, 5), np.float32)
    expected = batched_matmul(a, b)
    assert np.array_equal(expected.value, np.stack([matmul(*pair).value for pair in zip(a, b, strict=True)]))
