"""Unary functions of NaN, infinities and zeros; shapes and strides; the sign of zero."""

import math

import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.compare.comparison import compare
from parity.model.dtypes import NUMBERS, dtype
from parity.reference import Limits
from parity.reference.rounding import smallest

INF, NAN = math.inf, math.nan
FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
ALL = pytest.mark.parametrize("kind", FLOATS, ids=str)
UNARY = [
    "copy", "neg", "recip", "exp", "log", "sin", "cos", "tanh", "erf", "ceil", "floor", "round", "normcdf", "abs",
    "sqr", "sqrt", "gelu", "gelu_erf", "relu", "silu", "sign", "sigmoid",
]  # fmt: skip

#            x:  -Inf   -0.0  0.0  Inf   NaN
POINTS = {
    "exp":      (0.0,   1.0,  1.0, INF,  NAN),
    "log":      (NAN,   -INF, -INF, INF, NAN),
    "sin":      (NAN,   -0.0, 0.0, NAN,  NAN),
    "cos":      (NAN,   1.0,  1.0, NAN,  NAN),
    "tanh":     (-1.0,  -0.0, 0.0, 1.0,  NAN),
    "erf":      (-1.0,  -0.0, 0.0, 1.0,  NAN),
    "normcdf":  (0.0,   0.5,  0.5, 1.0,  NAN),
    "gelu":     (NAN,   -0.0, 0.0, INF,  NAN),
    "gelu_erf": (NAN,   -0.0, 0.0, INF,  NAN),
    "silu":     (NAN,   -0.0, 0.0, INF,  NAN),
    "sigmoid":  (0.0,   0.5,  0.5, 1.0,  NAN),
    "recip":    (-0.0,  -INF, INF, 0.0,  NAN),
    "sqrt":     (NAN,   -0.0, 0.0, INF,  NAN),
    "sqr":      (INF,   0.0,  0.0, INF,  NAN),
    "neg":      (INF,   0.0,  -0.0, -INF, NAN),
    "abs":      (INF,   0.0,  0.0, INF,  NAN),
    "sign":     (-1.0,  0.0,  0.0, 1.0,  0.0),
    "ceil":     (-INF,  -0.0, 0.0, INF,  NAN),
    "floor":    (-INF,  -0.0, 0.0, INF,  NAN),
    "round":    (-INF,  -0.0, 0.0, INF,  NAN),
    "copy":     (-INF,  -0.0, 0.0, INF,  NAN),
}  # fmt: skip


def array(kind, *values):
    return np.array(values, kind.numpy)


@ALL
@pytest.mark.parametrize("name", POINTS)
def test_unary_function_of_special_values_matches_table(name, kind):
    x = array(kind, -INF, -0.0, 0.0, INF, NAN)
    expected, points = getattr(reference, name)(x), array(kind, *POINTS[name])
    np.testing.assert_array_equal(expected.value.astype(float), points.astype(float))
    passes(expected, points)
    for i, point in enumerate(points):
        wrong = points.copy()
        wrong[i] = 7.0 if np.isnan(point) else NAN
        fails(expected, wrong, "nan")
        if np.isinf(point):
            for other in (-point, kind.numpy.type(kind.max)):
                wrong[i] = other
                fails(expected, wrong, "infinity")


@ALL
def test_relu_keeps_nan_only_in_half_types(kind):
    expected = reference.relu(array(kind, -INF, -1.0, -0.0, 0.0, 2.0, INF, NAN))
    nan = NAN if kind.itemsize == 2 else 0.0
    np.testing.assert_array_equal(expected.value.astype(float), [0, 0, 0, 0, 2, INF, nan])
    passes(expected, array(kind, -0.0, 0.0, -0.0, -0.0, 2.0, INF, nan))
    fails(expected, array(kind, 0, 0, 0, 0, 2, INF, 0.0 if nan else NAN), "nan")


@ALL
def test_elu_of_special_values_matches_table(kind):
    expected = reference.elu(array(kind, -INF, -0.0, 0.0, 3.0, INF, NAN), kind.numpy.type(0.5))
    np.testing.assert_array_equal(expected.value.astype(float), [-0.5, 0, 0, 3, INF, NAN])
    infinite = reference.elu(array(kind, -1.0, -(2.0**-kind.precision), 1.0), kind.numpy.type(INF))
    for near_zero in (NAN, -INF):
        passes(infinite, array(kind, -INF, near_zero, 1.0))
    fails(infinite, array(kind, NAN, NAN, 1.0), "nan")


@ALL
@pytest.mark.parametrize("alpha", [0.5, -2.0])
def test_elu_of_zero_has_sign_of_alpha(kind, alpha):
    expected = reference.elu(array(kind, -0.0, 0.0), kind.numpy.type(alpha))  # alpha * (exp(0) - 1) = alpha * +0
    passes(expected, array(kind, *2 * [math.copysign(0.0, alpha)]))
    fails(expected, array(kind, *2 * [math.copysign(0.0, -alpha)]), "sign of zero")
    fails(expected, array(kind, kind.numpy.type(math.copysign(smallest(kind), alpha)), 0.0 * alpha))


@ALL
def test_round_of_half_goes_away_from_zero(kind):
    x = array(kind, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49, -0.3, 100.0)
    value = reference.round(x).value.astype(float)
    assert value.tolist() == [1, -1, 2, 3, -3, 0, -0.0, 100]
    assert np.signbit(value[-2])


def test_round_just_below_one_half_is_zero():
    assert reference.round(np.array([0.49999997], np.float32)).value[0] == 0
    assert reference.round(np.array([0.49999999999999994])).value[0] == 0
    assert reference.round(np.array([4503599627370497.5])).value[0] == 4503599627370498


@ALL
@pytest.mark.parametrize(
    ("name", "x", "zero"),
    [
        ("neg", 0.0, -0.0),
        ("copy", -0.0, -0.0),
        ("ceil", -0.3, -0.0),
        ("recip", -INF, -0.0),
        ("sqrt", -0.0, -0.0),
    ],
)
def test_unary_function_with_wrong_sign_of_zero_fails(kind, name, x, zero):
    expected = getattr(reference, name)(array(kind, x))
    passes(expected, array(kind, zero))
    fails(expected, array(kind, 0.0), "sign of zero")


@ALL
@pytest.mark.parametrize("name", ["sin", "tanh", "silu", "gelu", "relu", "sign"])
def test_unary_function_accepts_either_sign_of_zero(kind, name):
    for zero in (0.0, -0.0):
        passes(getattr(reference, name)(array(kind, -0.0)), array(kind, zero))


@ALL
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
@pytest.mark.parametrize("name", UNARY)
def test_unary_function_keeps_shape_and_dtype(name, kind, shape):
    x = np.resize(np.linspace(-3, 3, 24), shape).astype(kind.numpy)
    expected = getattr(reference, name)(x)
    assert isinstance(expected.value, np.ndarray)
    assert (expected.value.shape, expected.value.dtype) == (shape, kind.numpy)
    if expected.bounds is not None:
        assert expected.bounds(Limits("amd")).centre.shape == shape
    assert passes(expected, expected.value.copy()).total == expected.value.size


@ALL
@pytest.mark.parametrize("name", UNARY)
def test_unary_function_of_strided_operand_equals_contiguous(name, kind):
    base = np.linspace(-3, 3, 24).astype(kind.numpy).reshape(4, 6)
    for view in (base.T, base[::2, ::-1], np.broadcast_to(base[1], (3, 6)), np.broadcast_to(base[0, 0], (2, 2))):
        strided, dense = (getattr(reference, name)(v).value for v in (view, view.copy()))
        assert strided.tobytes() == dense.tobytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", NUMBERS.values(), ids=str)
def test_references_raise_no_warnings(kind):
    extremes = [0, 1, kind.max, kind.min] + ([NAN, INF, -INF, -0.0, 1e-30] if kind.is_float else [])
    with np.errstate(all="warn"):
        with np.errstate(all="ignore"):
            x = np.array(extremes).astype(kind.numpy) if kind.is_float else np.array(extremes, kind.numpy)
        for name in ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"):
            getattr(reference, name)(x[:, None], x)
        reference.affine(x, x[2], x[1])
        for name in UNARY if kind.is_float else ("copy", "neg", "abs"):
            expected = getattr(reference, name)(x)
            compare(expected, x, vendor="amd")
        if kind.is_float:
            for parameter in x:
                reference.elu(x, parameter)
                reference.powf(x, parameter)
        for to in NUMBERS.values():
            reference.cast(x, to)
