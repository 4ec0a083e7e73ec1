"""Rounding to narrow types, ULPs and correctly rounded fma, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.model.dtypes import DType, dtype
from parity.reference import rounding

NARROW = [dtype(name) for name in ("f8_e4m3", "f16", "bf16", "f32")]
FLOATS = [*NARROW, dtype("f64")]


def nearest(exact: Fraction, to: DType) -> float:
    """Round to nearest even by integer arithmetic, with the exponent range of ``to``."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    quantum = Fraction(2) ** (max(exponent, to.emin) - to.precision + 1)
    rounded = round(size / quantum) * quantum
    beyond = to.max if to.saturates else np.inf
    result = float(rounded) if rounded <= Fraction(to.max) else beyond
    return -result if exact < 0 else result


doubles = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("to", NARROW, ids=str)
@given(x=doubles | st.floats(-1e-35, 1e-35) | st.floats(-70000, 70000))
def test_store_rounds_float64_once(to, x):
    assert float(rounding.store(np.array([x]), to)[0]) == nearest(Fraction(x), to)
    assert rounding.to_grid(np.array([x]), to)[0] == nearest(Fraction(x), to)


def test_store_bf16_does_not_round_through_f32():
    wide = np.array([1 + 2.0**-8 + 2.0**-40, 2.0**-134 + 2.0**-160, -(2.0**-134), np.inf, -np.inf, np.nan])
    got = rounding.store(wide, dtype("bf16")).astype(np.float64)
    np.testing.assert_array_equal(got, [1 + 2.0**-7, 2.0**-133, -0.0, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("to", NARROW, ids=str)
def test_to_grid_overflows_half_an_ulp_above_maximum(to):
    threshold = to.max + rounding.half_ulp_of_max(to)
    below = np.nextafter(threshold, 0)
    beyond = to.max if to.saturates else np.inf
    assert rounding.to_grid(np.array([below, threshold, -threshold]), to).tolist() == [to.max, beyond, -beyond]


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_ulp_of_special_and_regular_values(kind):
    one, eta = 2.0 ** (1 - kind.precision), rounding.smallest(kind)
    r = np.array([1.0, 1.5, -2.0, 0.0, eta, np.inf])
    assert rounding.ulp(r, kind).tolist() == [one, one, 2 * one, eta, eta, np.inf]
    assert rounding.ulp_safe(np.array([2 - one / 4]), kind)[0] == 2 * one


def elements(of: DType):
    width = 8 * of.itemsize
    if of.name in ("f8_e4m3", "bf16"):
        return st.integers(0, 2**width - 1).map(lambda b: np.array(b, of.bits).view(of.numpy)[()])
    return st.floats(width=width, allow_nan=False, allow_infinity=False).map(of.numpy.type)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@given(data=st.data())
def test_fma_rounds_once(kind, data):
    x, y, z = (data.draw(elements(kind).filter(np.isfinite)) for _ in range(3))
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    got = rounding.fma(*(np.array([v]) for v in (x, y, z)), kind)
    assert got.dtype == kind.numpy
    assert float(got[0]) == nearest(exact, kind)


def test_fma_breaks_tie_by_distant_bit():
    x = np.array([1 + 2.0**-23], np.float32)
    z = np.array([2.0**-24 * 2.0**-50], np.float32)
    y = np.array([1 + 2.0**-1], np.float32)
    exact = Fraction(float(x[0])) * Fraction(float(y[0])) + Fraction(float(z[0]))
    assert float(rounding.fma(x, y, z, dtype("f32"))[0]) == nearest(exact, dtype("f32"))
