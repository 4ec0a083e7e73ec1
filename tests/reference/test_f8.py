"""f8_e4m3: devices that compute in f32 and round once pass on all 256 values; other roundings fail."""

import math

import ml_dtypes
import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.compare.comparison import compare
from parity.compare.ulps import format_value, ulp_distance
from parity.model.dtypes import dtype
from parity.reference import Limits
from parity.reference.rounding import store

KIND = dtype("f8_e4m3")
F32 = np.float32
EVERY = np.arange(256, dtype=np.uint8).view(KIND.numpy)
X = EVERY.astype(F32)
PAIRS = np.broadcast_arrays(EVERY[:, None], EVERY)

erf, erfc = (np.frompyfunc(f, 1, 1) for f in (math.erf, math.erfc))


def f8(*values):
    """Convert to f8_e4m3 with saturation, which ml_dtypes does not do."""
    return np.clip(np.array(values, np.float64), -448, 448).astype(KIND.numpy)


def rounded(x):
    """Store f32 results as a device does, with saturation."""
    assert x.dtype == F32
    return np.clip(x, -448, 448).astype(KIND.numpy)


def normcdf(x):
    return (0.5 * erfc(-x.astype(float) / math.sqrt(2)).astype(float)).astype(F32)


def gelu(x):
    return F32(0.5) * x * (1 + np.tanh(F32(0.7978846) * (x + F32(0.044715) * x * x * x)))


DEVICE = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": lambda x: erf(x.astype(float)).astype(F32),
    "normcdf": normcdf,
    "sqrt": np.sqrt,
    "recip": lambda x: 1 / x,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + F32(0.5)), x),
    "neg": np.negative,
    "abs": np.abs,
    "sqr": lambda x: x * x,
    "relu": lambda x: np.where(x > 0, x, F32(0)),
    "sign": lambda x: np.where(np.isnan(x), F32(0), np.sign(x)),
    "gelu": gelu,
    "gelu_erf": lambda x: x * normcdf(x),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("vendor", ["amd", "cuda"])
@pytest.mark.parametrize("name", DEVICE)
def test_f8_function_computed_in_f32_passes_on_every_value(name, vendor):
    passes(getattr(reference, name)(EVERY), rounded(DEVICE[name](X)), vendor)


@pytest.mark.parametrize("name", DEVICE)
def test_f8_function_with_adjacent_value_fails(name):
    right = rounded(DEVICE[name](X))
    for i in np.flatnonzero(np.isfinite(right) & (np.abs(right) < 448) & (right != 0)):
        wrong = right.copy()
        wrong.view(np.uint8)[i] += 1
        assert not compare(getattr(reference, name)(EVERY), wrong, vendor="amd").passed


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "erf", "normcdf", "gelu", "silu", "sigmoid"])
def test_f8_bounds_allow_two_values_at_most_once(name):
    """Almost every interval is a point: f32 errors are at most 17 ULP, and 2^20 f32 values lie between two f8 ties."""
    bounds = getattr(reference, name)(EVERY).bounds(Limits("amd"))
    assert np.count_nonzero((bounds.below != 0) | (bounds.above != 0)) - np.isnan(bounds.centre).sum() <= 1


@pytest.mark.parametrize("parameter", EVERY[::5])
def test_f8_elu_and_powf_computed_in_f32_pass_on_every_value(parameter):
    p = F32(parameter)
    with np.errstate(all="ignore"):
        powers = np.power(X, np.full_like(X, p))
        if np.isfinite(p):
            passes(reference.elu(EVERY, parameter), rounded(np.where(X > 0, X, p * (np.exp(X) - 1)).astype(F32)))
    passes(reference.powf(EVERY, parameter), rounded(powers))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_f8_operators_are_exact_for_every_pair(name):
    operator = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    got = rounded(operator(X[:, None], X))
    expected = getattr(reference, name)(*PAIRS)
    passes(expected, got)
    assert expected.bounds is None and expected.alternatives == ()


@pytest.mark.parametrize(("name", "device"), [("maximum", np.fmax), ("minimum", np.fmin)])
def test_f8_maximum_and_minimum_ignore_nan(name, device):
    passes(getattr(reference, name)(*PAIRS), rounded(device(X[:, None], X)))
    propagated = (np.maximum if name == "maximum" else np.minimum)(X[:, None], X)
    fails(getattr(reference, name)(*PAIRS), rounded(propagated), "nan")


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_f8_comparisons_match_f32(name):
    wide = getattr(reference, name)(X[:, None], X)
    assert getattr(reference, name)(*PAIRS).value.tolist() == wide.value.tolist()


def test_f8_affine_accepts_fused_and_separate_with_one_rounding():
    for m, a in ((1.5, -1), (0.3, 0.002), (-448, 448), (2.0**-9, 2.0**-9), (1.125, 0)):
        m, a = f8(m, a)
        exact = X.astype(float) * float(m) + float(a)
        separate = X * F32(m) + F32(a)
        for got in (rounded(separate), rounded(exact.astype(F32)), store(exact, KIND)):
            passes(reference.affine(EVERY, m, a), got)
    product = rounded(X * F32(0.3125))
    fails(reference.affine(EVERY, *f8(0.3125, 1)), rounded(product.astype(F32) + 1))


WRONG = {
    "overflow gives NaN": ("exp", lambda x: np.exp(x).astype(KIND.numpy), "nan"),
    "truncated": ("sqrt", lambda x: f8(*(np.sqrt(x) * (1 - 2.0**-4))), "value"),
    "the maximum of FNUZ": ("sqr", lambda x: np.clip(x * x, -240, 240).astype(KIND.numpy), "value"),
    "subnormals flushed": ("neg", lambda x: rounded(np.where(np.abs(x) < 2.0**-6, F32(0), -x)), "value"),
    "gelu step by step": ("gelu", lambda x: steps(x), "value"),
}


def steps(x):
    narrow = lambda v: rounded(v).astype(F32)  # noqa: E731
    cube = narrow(narrow(x * x) * x)
    tanh = np.tanh(narrow(F32(0.8125) * narrow(x + narrow(F32(0.04296875) * cube))))
    return rounded(narrow(F32(0.5) * x) * narrow(1 + narrow(tanh)))


@pytest.mark.parametrize("name", WRONG)
def test_f8_function_with_defect_fails(name):
    op, device, kind = WRONG[name]
    fails(getattr(reference, op)(EVERY), device(X), kind)


def test_f8_cast_saturates_and_rounds_through_f32():
    def bits(x):
        return reference.cast(x, KIND).value.view(np.uint8).tolist()

    assert bits(np.array([464, 465, 1e300, math.inf, -math.inf, -500])) == [0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0xFE]
    assert bits(np.array([2**31 - 1, -(2**31), 17, 19], np.int32)) == [0x7E, 0xFE, 0x58, 0x5A]
    # 1.0625 is a tie; f32 cannot represent that the number is slightly larger
    above = np.array([1.0625 + 2.0**-40])
    assert bits(above) == [0x38]
    fails(reference.cast(above, KIND), f8(1.125))
    assert reference.cast(EVERY, dtype("i32")).value[[0x7E, 0xFE, 0x7F, 0x3C]].tolist() == [448, -448, 0, 1]
    assert reference.cast(EVERY, dtype("u8")).value[[0x7E, 0xFE, 0x7F, 0x3C]].tolist() == [448 & 255, 0, 0, 1]


@pytest.mark.parametrize("to", ["f16", "bf16", "f32", "f64"])
def test_cast_from_f8_read_as_fnuz_is_divergence_d19(to):
    expected = reference.cast(EVERY, dtype(to))
    passes(expected, EVERY.astype(dtype(to).numpy))
    fnuz = EVERY.view(ml_dtypes.float8_e4m3fnuz).astype(dtype(to).numpy)
    assert np.isnan(fnuz[0x80]) and fnuz[0x7F] == 240 and fnuz[0x38] == 0.5
    assert passes(expected, fnuz).divergences == ("D19",)
    fnuz[0x80] = 0
    assert not compare(expected, fnuz, vendor="amd").passed


def test_cast_to_f8_written_as_fnuz_is_divergence_d19():
    x = np.array([1, -0.0, math.nan, 200, 1000, 0.001], F32)
    expected = reference.cast(x, KIND)
    bits = np.array([0x40, 0, 0x80, 0x7C, 0x7F, 1], np.uint8)
    assert passes(expected, bits.view(KIND.numpy)).divergences == ("D19",)
    assert passes(expected, expected.value).divergences == ()
    # NaN instead of saturation is a different defect
    overflowed = expected.value.copy()
    overflowed[4] = math.nan
    fails(expected, overflowed, "nan")


def test_f8_values_print_exactly_and_ulp_distance_counts_steps():
    assert [format_value(v) for v in f8(448, 1.125, 2.0**-9, math.nan)] == ["448.0", "1.125", "0.001953125", "nan"]
    assert all(float(format_value(v)) == float(v) for v in EVERY if not np.isnan(v))
    one, minus = f8(1)[0], f8(-(2.0**-9))[0]
    assert ulp_distance(one, f8(1.25)[0]) == 2
    assert ulp_distance(minus, f8(2.0**-9)[0]) == 2
    assert ulp_distance(f8(0)[0], f8(-0.0)[0]) == 0
