"""f16 and bf16: simulated devices that round every operator pass on every input; planted defects fail."""

import math

import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.compare.comparison import compare
from parity.model.dtypes import dtype
from parity.reference import Limits

HALVES = [dtype("f16"), dtype("bf16")]
BOTH = pytest.mark.parametrize("kind", HALVES, ids=str)

erf, erfc = (np.frompyfunc(f, 1, 1) for f in (math.erf, math.erfc))


def every(kind):
    return np.arange(1 << 16, dtype=np.uint16).view(kind.numpy)


def half_away(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


WIDE = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": lambda x: erf(x).astype(float),
    "normcdf": lambda x: 0.5 * erfc(-x / math.sqrt(2)).astype(float),
    "sqrt": np.sqrt,
    "recip": lambda x: 1 / x,
    "ceil": np.ceil,
    "floor": np.floor,
    "round": half_away,
}


def through_f32(function, x, ulps=0.0):
    """Simulate a device function: compute in float64, add an error in f32 ULP, round to f32 and to the half type."""
    exact = WIDE[function](x.astype(np.float64))
    noise = np.where(np.arange(x.size) % 2, ulps, -ulps).reshape(x.shape)
    spacing = np.spacing(np.abs(exact).astype(np.float32)).astype(float)
    noisy = np.where(np.isfinite(spacing) & (noise != 0), exact + noise * spacing, exact)
    return noisy.astype(np.float32).astype(x.dtype)


def gelu(x, cubic=0.044715, tanh="tanh"):
    t = x.dtype.type
    argument = t(math.sqrt(2 / math.pi)) * (x + t(cubic) * (x * x * x))
    return t(0.5) * x * (t(1) + through_f32(tanh, argument))


def gelu_contracted(x):
    t = x.dtype.type
    cube = (x * x * x).astype(np.float64)
    fused = reference.rounding.fma(np.broadcast_to(t(0.044715), x.shape), cube.astype(t), x, dtype_of(x))
    return t(0.5) * x * (t(1) + through_f32("tanh", t(math.sqrt(2 / math.pi)) * fused))


def dtype_of(x):
    return next(kind for kind in HALVES if kind.numpy == x.dtype)


def silu(x):
    return x / (x.dtype.type(1) + through_f32("exp", -x))


def sigmoid(x):
    return x.dtype.type(1) / (x.dtype.type(1) + through_f32("exp", -x))


def elu(x, alpha):
    return np.where(x > 0, x, alpha * (through_f32("exp", x) - x.dtype.type(1))).astype(x.dtype)


def gelu_erf(x):
    return x * through_f32("normcdf", x)


def relu(x):
    return np.where(np.isnan(x), x, np.where(x > 0, x, x.dtype.type(0))).astype(x.dtype)


@BOTH
@pytest.mark.parametrize("vendor", ["amd", "cuda"])
@pytest.mark.parametrize("name", WIDE)
def test_half_function_through_f32_passes_on_every_input(kind, name, vendor):
    x = every(kind)
    passes(getattr(reference, name)(x), through_f32(name, x), vendor)


@BOTH
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "erf", "normcdf"])
def test_half_function_with_documented_f32_error_passes(kind, name):
    x = every(kind)
    x = x[~(np.abs(x) > 0.5)] if name == "tanh" else x  # the error bound of tanh is tighter near 1
    documented = reference.accuracy(name, "f32", Limits("cuda"))
    passes(getattr(reference, name)(x), through_f32(name, x, ulps=documented - 0.5), "cuda")


@BOTH
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "erf", "normcdf"])
def test_half_function_with_adjacent_value_fails(kind, name):
    x = every(kind)
    right = through_f32(name, x)
    inner = np.isfinite(right) & (np.abs(right.astype(float)) > 1e-3) & (np.abs(right.astype(float)) < 1e3)
    wrong = right.copy()
    wrong.view(np.uint16)[inner] += 1
    verdict = fails(getattr(reference, name)(x), wrong)
    # both roundings pass only where the exact value lies next to a tie
    assert verdict.wrong > 0.98 * inner.sum()


@BOTH
@pytest.mark.parametrize("vendor", ["amd", "cuda"])
@pytest.mark.parametrize("device", [gelu, gelu_contracted, gelu_erf, silu, sigmoid, relu], ids=lambda f: f.__name__)
def test_half_composed_function_rounded_by_step_passes_on_every_input(kind, device, vendor):
    x = every(kind)
    name = device.__name__.removesuffix("_contracted")
    verdict = passes(getattr(reference, name)(x), device(x), vendor)
    assert not verdict.beyond_observed


@BOTH
@pytest.mark.parametrize("alpha", [1.0, 0.3, -2.5, 0.0])
def test_half_elu_rounded_by_step_passes_on_every_input(kind, alpha):
    x, a = every(kind), kind.numpy.type(alpha)
    passes(reference.elu(x, a), elu(x, a))


@BOTH
@pytest.mark.parametrize("exponent", [2.0, 0.5, -1.0, 3.3, 0.0, np.inf, -np.inf, np.nan])
def test_half_powf_through_f32_passes_on_every_input(kind, exponent):
    x, y = every(kind), kind.numpy.type(exponent)
    wide = x.astype(np.float32) * np.float32(1)  # quiet NaN: some C libraries return NaN for a signalling NaN to the 0
    powers = np.power(wide, np.full(x.shape, y, np.float32))
    passes(reference.powf(x, y), powers.astype(kind.numpy))


WRONG = {
    "gelu in f32, rounded once": (
        "gelu",
        lambda x: (lambda w: 0.5 * w * (1 + np.tanh(0.7978845608 * (w + 0.044715 * w**3))))(x.astype(float)),
    ),
    "gelu with 0.0448": ("gelu", lambda x: gelu(x, cubic=0.0448)),
    "gelu without the cubic term": ("gelu", lambda x: gelu(x, cubic=0.0)),
    "gelu for gelu_erf": ("gelu_erf", gelu),
    "gelu_erf for gelu": ("gelu", gelu_erf),
    "gelu_erf in f32, rounded once": (
        "gelu_erf",
        lambda x: x.astype(float) * WIDE["normcdf"](x.astype(float)),
    ),
    "silu in f32, rounded once": ("silu", lambda x: x.astype(float) / (1 + np.exp(-x.astype(float)))),
    "silu as x * sigmoid": ("silu", lambda x: x * sigmoid(x)),
    "sigmoid in f32, rounded once": ("sigmoid", lambda x: 1 / (1 + np.exp(-x.astype(float)))),
    "round half to even": ("round", lambda x: np.rint(x.astype(float))),
    "round by floor(x + 1/2)": ("round", lambda x: np.floor(x.astype(float) + 0.5)),
    "ceil for floor": ("floor", lambda x: np.ceil(x.astype(float))),
    "base-2 exponential": ("exp", lambda x: np.exp2(x.astype(float))),
    "truncated tanh": ("tanh", lambda x: np.tanh(x.astype(float)) * (1 - 2.0**-9)),
}


@BOTH
@pytest.mark.parametrize("name", WRONG)
def test_half_function_with_defect_fails(kind, name):
    op, device = WRONG[name]
    x = every(kind)
    finite = x[np.abs(x.astype(np.float32)) < 30]
    got = np.asarray(device(finite)).astype(kind.numpy)
    assert not compare(getattr(reference, op)(finite), got, vendor="amd").passed


def test_f16_approximate_tanh_fails():
    x = every(HALVES[0])
    approximate = (np.tanh(x.astype(float)) * (1 + 2.0**-11)).astype(np.float16)
    fails(reference.tanh(x), approximate)


@BOTH
def test_half_elu_in_f32_rounded_once_fails(kind):
    x, a = every(kind), kind.numpy.type(1)
    fails(reference.elu(x, a), np.where(x > 0, x, np.expm1(x.astype(float))).astype(kind.numpy))


def test_f16_values_specific_to_rounding_by_step_are_expected():
    f16 = np.float16
    assert reference.silu(np.array([-12], f16)).value.tobytes() == f16(-0.0).tobytes()
    fails(reference.silu(np.array([-12], f16)), np.array([-7.373e-05], f16))
    assert reference.elu(np.array([-1e-3], f16), f16(1)).value[0] == f16(-9.766e-4)
    fails(reference.elu(np.array([-1e-3], f16), f16(1)), np.array([-1e-3], f16))
    # the cube overflows above 40.3
    big = np.array([50, -50], f16)
    assert reference.gelu(big).value.tolist() == [50, 0]


@BOTH
def test_half_relu_that_loses_nan_fails(kind):
    x = every(kind)
    got = np.where(np.isnan(x), kind.numpy.type(0), relu(x)).astype(kind.numpy)
    fails(reference.relu(x), got, "nan")


def test_bf16_product_through_f32_passes():
    kind = HALVES[1].numpy
    x = np.array([2.0**-67], kind) * kind.type(1 + 2.0**-7)
    y = np.array([2.0**-67], kind) * kind.type(1 + 2.0**-7)
    expected = reference.mul(x, y)
    exact = x.astype(float) * y.astype(float)
    passes(expected, reference.rounding.store(exact, HALVES[1]))
    passes(expected, exact.astype(np.float32).astype(kind))


@BOTH
def test_half_bounds_contain_few_values(kind):
    """Contraction and the accuracy of functions account for every value that a hull contains."""
    x = every(kind)
    x = x[np.isfinite(x)]
    for name, most in (("exp", 2), ("tanh", 2), ("erf", 2), ("silu", 5), ("sigmoid", 5), ("gelu_erf", 7)):
        expected = getattr(reference, name)(x)
        bounds = expected.bounds(Limits("cuda"))
        low = (bounds.centre - bounds.below).astype(kind.numpy)
        high = (bounds.centre + bounds.above).astype(kind.numpy)
        values = np.abs(high.view(np.int16).astype(int) - low.view(np.int16).astype(int))
        numbers = np.isfinite(low) & np.isfinite(high) & (np.signbit(low) == np.signbit(high))
        assert values[numbers].max() < most, name
        assert (values[numbers] > 0).mean() < 0.02, name
