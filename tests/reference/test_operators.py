"""Binary operators, affine, where and fill: exact values, wraparound, NaN rules, permitted contractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity import reference
from parity.compare.comparison import compare
from parity.model.dtypes import NUMBERS, dtype

INTEGERS = [dtype(name) for name in ("u8", "u32", "i16", "i32", "i64")]
FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
HALVES, WIDE = FLOATS[:2], FLOATS[2:]
by_kind = pytest.mark.parametrize


def array(kind, *values):
    return np.array(values, kind.numpy)


def wrapped(value: int, kind):
    bits = 8 * kind.itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind.kind == "int" and value >> (bits - 1) else value


@by_kind("kind", INTEGERS, ids=str)
@given(data=st.data())
def test_integer_operators_wrap(kind, data):
    x, y, a = (data.draw(st.integers(kind.min, kind.max)) for _ in range(3))
    left, right = array(kind, x), array(kind, y)
    assert reference.add(left, right).value[0] == wrapped(x + y, kind)
    assert reference.sub(left, right).value[0] == wrapped(x - y, kind)
    assert reference.mul(left, right).value[0] == wrapped(x * y, kind)
    assert reference.affine(left, right[0], array(kind, a)[0]).value[0] == wrapped(x * y + a, kind)
    assert reference.maximum(left, right).value[0] == max(x, y)
    assert reference.minimum(left, right).value[0] == min(x, y)
    assume(y != 0 and not (y == -1 and x == kind.min))
    quotient = abs(x) // abs(y)
    assert reference.div(left, right).value[0] == (quotient if (x < 0) == (y < 0) else -quotient)


@by_kind("kind", INTEGERS, ids=str)
def test_integer_division_by_zero_accepts_anything(kind):
    x, y = array(kind, 7, 0, kind.min, 9), array(kind, 0, 0, kind.max, 4)
    if kind.kind == "int":
        y[2] = -1
    expected = reference.div(x, y)
    got = expected.value.copy()
    got[:2] = 77
    passes(expected, got)
    got[2] = 5
    assert compare(expected, got, vendor="amd").passed is (kind.kind == "int")
    got[3] = 3
    fails(expected, got)


@by_kind("kind", FLOATS, ids=str)
@by_kind("name", ["add", "sub", "mul", "div"])
def test_float_operators_with_one_ulp_error_fail(name, kind):
    rng = np.random.default_rng(1)
    x, y = (rng.normal(0, 1, 2000).astype(kind.numpy) * kind.numpy.type(s) for s in (1, 1.5))
    operator = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    expected = getattr(reference, name)(x, y)
    assert expected.value.tobytes() == operator(x, y).tobytes()
    got = expected.value.copy()
    passes(expected, got)
    got[77] = np.nextafter(got[77], kind.numpy.type(9))
    verdict = compare(expected, got, vendor="cuda")
    assert verdict.wrong == 1
    assert verdict.first.ulps == 1
    assert verdict.pattern == "only element 77"


@by_kind("name", ["div", "recip", "sqrt"])
def test_f16_division_through_f32_passes(name):
    x = np.arange(0x3C00, 0x4000, dtype=np.uint16).view(np.float16)
    args = (x, np.full_like(x, 3)) if name == "div" else (x,)
    expected = getattr(reference, name)(*args)
    exact = {"div": x.astype(float) / 3, "recip": 1 / x.astype(float), "sqrt": np.sqrt(x.astype(float))}[name]
    slightly_off = (exact * (1 + 2.0**-23)).astype(np.float16)
    passes(expected, slightly_off)
    two_away = (expected.value.view(np.uint16) + 2).view(np.float16)
    assert fails(expected, two_away).wrong == len(x)
    one_away = (expected.value.view(np.uint16) + 1).view(np.float16)
    fails(expected, one_away)
    fails(expected, one_away, vendor="cuda")


def test_f16_recip_with_expected_value_uses_no_budget():
    """Include results near overflow, where the hull extends from the largest value to infinity."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    expected = reference.recip(x)
    got = expected.value.copy()
    got.view(np.uint16)[np.isnan(got)] = 0x7E01
    verdict = passes(expected, got)
    assert (verdict.budget, verdict.beyond_observed, verdict.divergences) == (0, False, ())


def test_f16_division_with_exact_quotient_allows_no_error():
    expected = reference.div(np.array([6, 1], np.float16), np.array([3, 4], np.float16))
    for wrong in (np.array([2.002, 0.25], np.float16), np.array([2, 0.2498], np.float16)):
        fails(expected, wrong)


@by_kind("kind", FLOATS, ids=str)
def test_float_operators_check_zeros_and_infinities(kind):
    zero = array(kind, 0.0, -0.0)
    assert reference.div(array(kind, 1, 1), zero).value.astype(float).tolist() == [np.inf, -np.inf]
    negative = reference.mul(array(kind, -2), array(kind, 0))
    passes(negative, array(kind, -0.0))
    fails(negative, array(kind, 0.0), "sign of zero")
    passes(reference.add(array(kind, 1), array(kind, -1)), array(kind, -0.0))
    fails(reference.div(array(kind, 1), array(kind, 0)), array(kind, -np.inf), "infinity")
    fails(reference.div(array(kind, 0), array(kind, 0)), array(kind, 0), "nan")


@by_kind("kind", FLOATS, ids=str)
def test_maximum_and_minimum_propagate_nan_only_for_half_types(kind):
    nan = np.nan
    x, y = array(kind, 1, nan, 2, nan, -0.0), array(kind, 3, 4, nan, nan, 0.0)
    kept = [nan, nan] if kind in HALVES else [4, 2]
    np.testing.assert_array_equal(reference.maximum(x, y).value.astype(float)[:4], [3, *kept, nan])
    np.testing.assert_array_equal(reference.minimum(x, y).value.astype(float)[:4], [1, *kept, nan])
    for zero in (0.0, -0.0):  # D7
        passes(reference.maximum(x, y), array(kind, 3, *kept, nan, zero))
    other = [4, 2] if kind in HALVES else [nan, nan]
    fails(reference.maximum(x, y), array(kind, 3, *other, nan, 0), "nan")


@by_kind("kind", FLOATS, ids=str)
def test_comparisons_of_floats_match_table(kind):
    x, y = array(kind, 1, 2, 2, np.nan, 0.0), array(kind, 2, 2, 1, 1, -0.0)
    table = {"eq": "01001", "ne": "10110", "lt": "10000", "le": "11001", "gt": "00100", "ge": "01101"}
    for name, bits in table.items():
        value = getattr(reference, name)(x, y).value
        assert value.dtype == np.uint8
        assert "".join(map(str, value)) == bits


def test_operators_broadcast_operands():
    x, y = np.ones((4, 1), np.float32), np.arange(3, dtype=np.float32)
    assert reference.add(x, y).value.shape == (4, 3)
    assert reference.where(np.array([[0], [2]], np.uint8), y, y[:1]).value.tolist() == [[0, 0, 0], [0, 1, 2]]


@by_kind("kind", FLOATS, ids=str)
def test_affine_accepts_fused_and_separate(kind):
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, 3000).astype(kind.numpy)
    m, a = kind.numpy.type(1.2345), kind.numpy.type(-0.777)
    expected = reference.affine(x, m, a)
    separate = (x * m).astype(kind.numpy) + a
    fused = np.array([nearest(Fraction(float(v)) * Fraction(float(m)) + Fraction(float(a)), kind) for v in x])
    assert (separate != fused).any()
    passes(expected, separate)
    passes(expected, fused)
    passes(expected, np.where(np.arange(3000) % 2, separate, fused))
    outside = np.maximum(separate, fused)
    fails(expected, np.nextafter(outside, kind.numpy.type(100)))


def test_affine_between_fused_and_separate_fails():
    """Under cancellation the two values lie far apart, so a tolerance would hide errors."""
    x, m = np.array([1 + 2.0**-12], np.float32), np.float32(1 + 2.0**-12)
    a = np.float32(-1)
    separate, fused = x * m + a, np.array([2.0**-11 + 2.0**-24], np.float32)
    assert separate != fused
    for right in (separate, fused):
        passes(reference.affine(x, m, a), right)
    between = np.nextafter(separate, fused)
    assert between != fused
    fails(reference.affine(x, m, a), between)


def nearest(exact: Fraction, kind):
    """Round a number between 2**-30 and 2**30 correctly."""
    if exact == 0:
        return kind.numpy.type(0)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, kind.emin) - kind.precision + 1)
    rounded = float(round(exact / quantum) * quantum)
    return kind.numpy.type(rounded)


@by_kind("kind", NUMBERS.values(), ids=str)
def test_where_and_fill_return_values_of_dtype(kind):
    x, y = array(kind, 1, 2, 3), array(kind, 4, 5, 6)
    assert reference.where(np.array([0, 7, 0], np.int64), x, y).value.astype(float).tolist() == [4, 2, 6]
    filled = reference.fill(kind.numpy.type(3), (2, 2)).value
    assert (filled.dtype, filled.astype(float).tolist()) == (kind.numpy, [[3, 3], [3, 3]])
