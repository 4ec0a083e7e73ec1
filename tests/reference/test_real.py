"""f32 and f64 functions: correctly rounded results and documented errors pass; larger errors and defects fail."""

import math

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity import reference
from parity.errors import UsageError
from parity.model.dtypes import dtype
from parity.reference import Limits
from parity.reference.rounding import smallest, ulp

F32, F64 = dtype("f32"), dtype("f64")
PRECISE = gmpy2.context(precision=400)
PLAIN = ["exp", "log", "sin", "cos", "tanh", "erf", "normcdf"]
COMPOSED = ["gelu", "gelu_erf", "silu", "sigmoid"]
BOTH = pytest.mark.parametrize("kind", [F32, F64], ids=str)


def gelu_exact(x):
    m = PRECISE
    t = m.mul(m.sqrt(m.div(2, m.const_pi())), m.add(x, m.mul(gmpy2.mpq("0.044715"), m.pow(x, 3))))
    return m.mul(m.div(x, 2), m.add(1, m.tanh(t)))


def normcdf_exact(x):
    return PRECISE.div(PRECISE.erfc(PRECISE.div(PRECISE.minus(x), PRECISE.sqrt(2))), 2)


def sigmoid_exact(x):
    return PRECISE.div(1, PRECISE.add(1, PRECISE.exp(PRECISE.minus(x))))


EXACT = {
    "exp": PRECISE.exp,
    "log": PRECISE.log,
    "sin": PRECISE.sin,
    "cos": PRECISE.cos,
    "tanh": PRECISE.tanh,
    "erf": PRECISE.erf,
    "normcdf": normcdf_exact,
    "gelu": gelu_exact,
    "gelu_erf": lambda x: PRECISE.mul(x, normcdf_exact(x)),
    "silu": lambda x: PRECISE.mul(x, sigmoid_exact(x)),
    "sigmoid": sigmoid_exact,
}


def wide_gelu(x, cubic=0.044715, scale=0.7978845608028654, tanh=np.tanh, half=0.5):
    return x.dtype.type(half) * x * (1 + tanh(x.dtype.type(scale) * (x + x.dtype.type(cubic) * (x * x * x))))


def rounded(exact, kind):
    """Round to f32 or f64 in one step: MPFR rounds to 24 or 53 bits and handles subnormals."""
    context = gmpy2.ieee(8 * kind.itemsize)
    return kind.numpy.type(float(context.plus(exact)))


@BOTH
@pytest.mark.parametrize("name", PLAIN + COMPOSED)
@given(data=st.data())
def test_correctly_rounded_function_passes(name, kind, data):
    x = data.draw(st.floats(width=8 * kind.itemsize, allow_infinity=False, allow_nan=False) | st.floats(-20, 20))
    x = kind.numpy.type(x)
    if name == "log":
        x = abs(x)
    exact = EXACT[name](gmpy2.mpfr(float(x)))
    expected = getattr(reference, name)(np.array([x]))
    for vendor in ("amd", "cuda"):
        verdict = passes(expected, [rounded(exact, kind)] if kind is F64 else np.array([rounded(exact, kind)]), vendor)
        assert verdict.budget < (1 if name == "tanh" and abs(x) > 0.5 else 0.55)
        assert not verdict.beyond_observed


@BOTH
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("vendor", ["amd", "cuda"])
def test_function_error_above_documented_bound_fails(name, kind, vendor):
    x = np.linspace(0.07, 0.5 if name == "tanh" else 6.0, 200).astype(kind.numpy)  # tanh: tighter near 1
    expected = getattr(reference, name)(x)
    limit = reference.accuracy(name, str(kind), Limits(vendor))
    unit = ulp(expected.value, kind)
    aside = (expected.value.astype(float) * (1 + sign * 2.0**-18) for sign in (1, -1))
    inner = np.logical_and.reduce([ulp(near, kind) == unit for near in aside])  # away from powers of two
    for sign in (1, -1):
        within = expected.value + (inner * sign * math.floor(limit - 0.5) * unit).astype(kind.numpy)
        outside = expected.value + (sign * math.ceil(limit + 0.51) * unit).astype(kind.numpy)
        passes(expected, within, vendor)
        verdict = fails(expected, np.where(inner, outside, expected.value), vendor=vendor)
        assert verdict.wrong == inner.sum()


@pytest.mark.parametrize("name", PLAIN + COMPOSED)
def test_f64_function_value_is_exact_to_twice_the_precision(name):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.normal(0, 4, 60), rng.normal(0, 1e-8, 20), rng.normal(0, 200, 20), [1e22, 0.5]])
    if name == "log":
        x = np.abs(x)
    bounds = getattr(reference, name)(x).bounds(Limits("cuda"))
    for v, centre, residual in zip(x, bounds.centre, np.broadcast_to(bounds.residual, x.shape), strict=True):
        exact = EXACT[name](gmpy2.mpfr(float(v)))
        error = PRECISE.sub(PRECISE.sub(exact, float(centre)), float(residual))
        assert gmpy2.is_infinite(exact) or abs(error) <= abs(exact) * 2.0**-100 + smallest(F64)


@pytest.mark.parametrize("name", [*PLAIN, "gelu_erf", "silu", "sigmoid"])
def test_f32_function_value_is_exact_to_a_millionth_of_an_ulp(name):
    bits = np.random.default_rng(6).integers(0, 1 << 32, 1500, dtype=np.uint32)
    x = bits.view(np.float32)
    x = np.abs(x[np.isfinite(x)]) if name == "log" else x[np.isfinite(x)]
    bounds = getattr(reference, name)(x).bounds(Limits("cuda"))
    for v, centre in zip(x, bounds.centre, strict=True):
        exact = EXACT[name](gmpy2.mpfr(float(v)))
        if abs(exact) < 1e38:
            assert abs(PRECISE.sub(exact, float(centre))) <= 1e-6 * ulp(np.array(float(exact)), F32)


def near_one(x, kind, vendor):
    """Return most of the error bound of tanh near 1, without the final rounding, in ULP of values below 1."""
    return 0.95 * reference.accuracy("tanh_tail", str(kind), Limits(vendor)) * (1 - np.tanh(np.abs(x)))


def noisy(function, name, kind, vendor):
    """Return a device function with the documented error in alternating directions.

    Near 1, tanh has the error of its formula.
    """

    def device(x):
        exact = function(x.astype(np.float64))
        error = reference.accuracy(name, str(kind), Limits(vendor)) - 0.5
        if name == "tanh":
            error = np.minimum(error, np.where(np.abs(exact) < 0.5, np.inf, near_one(x.astype(float), kind, vendor)))
        signs = error * np.where(np.arange(x.size) % 2, 1, -1)
        known = ~np.isfinite(exact) | (x == 0)
        return np.where(known, exact, exact + signs * ulp(exact, kind)).astype(kind.numpy)

    return device


@pytest.mark.parametrize("vendor", ["amd", "cuda"])
def test_f32_composed_function_with_documented_errors_passes(vendor):
    x = np.concatenate([np.linspace(-120, 120, 40001), np.linspace(-6, 6, 40001), np.linspace(-1e-3, 1e-3, 1001)])
    x = x.astype(np.float32)
    exp, tanh = (noisy(getattr(np, name), name, F32, vendor) for name in ("exp", "tanh"))
    one = np.float32(1)
    passes(reference.gelu(x), wide_gelu(x, tanh=tanh), vendor)
    passes(reference.silu(x), x / (one + exp(-x)), vendor)
    passes(reference.sigmoid(x), one / (one + exp(-x)), vendor)
    for alpha in (np.float32(1), np.float32(1.7), np.float32(-0.3)):
        passes(reference.elu(x, alpha), np.where(x > 0, x, alpha * (exp(x) - one)), vendor)


@BOTH
@pytest.mark.parametrize("vendor", ["amd", "cuda"])
def test_tanh_near_one_with_two_ulp_error_fails(kind, vendor):
    x = np.array([2.0, 4.0, 6.0, 8.0, 30.0], kind.numpy)
    below = -np.finfo(kind.numpy).epsneg  # one ULP of values just below 1
    for signs in (1, -1):
        passes(reference.tanh(signs * x), signs * np.tanh(x), vendor)
        off = signs * (np.tanh(x) + kind.numpy.type(2 * below))
        assert fails(reference.tanh(signs * x), off, vendor=vendor).wrong == 5


@pytest.mark.parametrize("vendor", ["amd", "cuda"])
def test_gelu_of_large_negative_input_has_tight_bound(vendor):
    x = np.array([-5.5, -5.9, -7.0, -12.0], np.float32)
    bounds = reference.gelu(x).bounds(Limits(vendor))
    assert (np.maximum(bounds.above, bounds.below) < 0.6 * 2.0**-24 * np.abs(x)).all()
    passes(reference.gelu(x), wide_gelu(x), vendor)
    assert fails(reference.gelu(x), np.full(4, -1e-6, np.float32), vendor=vendor).wrong == 4
    assert fails(reference.gelu(x), np.full(4, 1e-6, np.float32), vendor=vendor).wrong == 4


def test_elu_with_two_roundings_passes():
    """For alpha other than 1, the errors of the two roundings add up to more than u|R|."""
    x = -np.linspace(2, 12, 200001).astype(np.float32)
    alpha = np.float32(1.7)
    got = alpha * (np.exp(x.astype(float)).astype(np.float32) - 1)
    exact = float(alpha) * np.expm1(x.astype(float))
    one_rounding = 2.0**-24 * np.abs(exact) + float(alpha) * ulp(np.exp(x.astype(float)), F32)
    assert (np.abs(got - exact) > one_rounding).any()
    passes(reference.elu(x, alpha), got)


def test_silu_accepts_zero_where_exp_overflows():
    x = np.array([-88.0, -89.0, -95.0, -103.0], np.float32)
    got = np.array([float(x[0]) / (1 + math.exp(88)), -0.0, -0.0, -0.0], np.float32)
    passes(reference.silu(x), got)
    fails(reference.silu(x[:1]), np.zeros(1, np.float32))


@pytest.mark.parametrize("vendor", ["amd", "cuda"])
def test_f64_composed_function_passes(vendor):
    x = np.concatenate([np.linspace(-40, 40, 301), np.linspace(-800, 720, 101)])
    one = np.float64(1)
    passes(reference.gelu(x), wide_gelu(x, tanh=lambda t: reference.tanh(t).value), vendor)
    passes(reference.gelu(x), wide_gelu(x), "host")  # NumPy's tanh is less accurate near 1
    passes(reference.silu(x), x / (one + np.exp(-x)), vendor)
    passes(reference.sigmoid(x), one / (one + np.exp(-x)), vendor)
    passes(reference.elu(x, np.float64(0.7)), np.where(x > 0, x, 0.7 * (np.exp(x) - one)), vendor)


DEFECTS = {
    "gelu with 0.0448": ("gelu", lambda x: wide_gelu(x, cubic=0.0448)),
    "gelu with 0.7979": ("gelu", lambda x: wide_gelu(x, scale=0.7979)),
    "gelu with a fast tanh": ("gelu", lambda x: wide_gelu(x, tanh=lambda t: np.tanh(t) * t.dtype.type(1 + 2.0**-11))),
    "gelu by erf": ("gelu", lambda x: reference.gelu_erf(x).value),
    "gelu_erf by tanh": ("gelu_erf", wide_gelu),
    "tanh.approx": ("tanh", lambda x: np.tanh(x) * x.dtype.type(1 + 2.0**-11)),
    "log base 2": ("log", np.log2),
    "sin for cos": ("cos", np.sin),
    "erfc for erf": ("erf", lambda x: 1 - reference.erf(x).value),
    "sigmoid by tanh without halving": ("sigmoid", lambda x: np.tanh(x / 2)),
    "silu of -x": ("silu", lambda x: x / (1 + np.exp(x))),
    "round half to even": ("round", np.rint),
    "results of half precision": ("exp", lambda x: np.exp(x).astype(np.float16).astype(x.dtype)),
}


@BOTH
@pytest.mark.parametrize("name", DEFECTS)
def test_function_with_defect_fails(name, kind):
    op, device = DEFECTS[name]
    x = np.linspace(0.25, 4.75, 37).astype(kind.numpy)
    fails(getattr(reference, op)(x), device(x))


def test_f64_function_computed_in_f32_fails():
    x = np.linspace(-4, 4, 31)
    for name in ("exp", "tanh", "gelu", "silu", "sigmoid"):
        narrow = getattr(reference, name)(x.astype(np.float32)).value.astype(np.float64)
        fails(getattr(reference, name)(x), narrow)


@BOTH
@given(x=st.floats(0, 40), y=st.floats(-8, 8))
@example(x=0.0, y=-2.5)
@example(x=1.0, y=7.5)
@example(x=3.0, y=0.0)
def test_correctly_rounded_powf_passes(kind, x, y):
    x, y = kind.numpy.type(x), kind.numpy.type(y)
    exact = PRECISE.pow(gmpy2.mpfr(float(x)), gmpy2.mpfr(float(y)))
    passes(reference.powf(np.array([x]), y), np.array([rounded(exact, kind)]), "cuda")


@BOTH
@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, -1.0, 3.0, 0.5, -2.5, math.inf, -math.inf, math.nan])
def test_powf_of_special_values_follows_c(kind, exponent):
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, math.inf, -math.inf, math.nan], kind.numpy)

    def c_pow(base):
        try:
            return float(kind.numpy.type(math.pow(base, exponent)))
        except ValueError:
            return math.nan if base else math.inf
        except OverflowError:
            return math.inf

    expected = reference.powf(x, kind.numpy.type(exponent)).value.astype(float)
    # math.pow raises for 0 to a negative power; C returns infinity, with the sign of the zero for odd integers
    np.testing.assert_array_equal(
        np.abs(expected) if exponent in (-1.0,) else expected,
        [abs(c_pow(b)) if exponent in (-1.0,) else c_pow(b) for b in x.tolist()],
    )
    exact = x == 1
    fails(
        reference.powf(x[exact], kind.numpy.type(exponent)), np.nextafter(x[exact], kind.numpy.type(2)), vendor="cuda"
    )


@BOTH
def test_exp_overflow_outside_error_bound_fails(kind):
    largest = kind.max
    edge = math.log(largest)
    x = np.array([edge * (1 - 2e-6 if kind is F32 else 1 - 2e-14)], kind.numpy)
    below = reference.exp(x)
    assert np.isfinite(below.value[0])
    fails(below, np.array([np.inf], kind.numpy), "infinity")
    beyond = reference.exp(np.array([edge * (1 + 1e-5)], kind.numpy))
    assert beyond.value[0] == np.inf
    fails(beyond, np.array([largest], kind.numpy), "infinity")
    near = np.nextafter(kind.numpy.type(edge), kind.numpy.type(0))
    while np.isfinite(reference.exp(np.array([near])).value[0]):
        near = np.nextafter(near, kind.numpy.type(np.inf))
    passes(reference.exp(np.array([near])), np.array([np.inf], kind.numpy))


@BOTH
def test_exp_with_flushed_subnormal_result_fails(kind):
    x = np.array([math.log(smallest(kind) * 1000)], kind.numpy)
    expected = reference.exp(x)
    assert 0 < expected.value[0] < 2.0**kind.emin
    passes(expected, expected.value)
    fails(expected, np.zeros(1, kind.numpy))


def test_f32_exp_with_flushed_result_is_divergence_d14():
    x = np.array([-103.5, -103.9, -1], np.float32)
    expected = reference.exp(x)
    got = expected.value.copy()
    got[:2] = 0
    assert passes(expected, got).divergences == ("D14",)
    assert passes(expected, expected.value).divergences == ()


def test_accuracy_of_unknown_function_raises():
    with pytest.raises(UsageError, match=r"no accuracy figure for gamma in f32 on amd; add a row to accuracy\.csv"):
        reference.accuracy("gamma", "f32", Limits("amd"))


def test_accuracy_of_narrow_types_uses_rows_of_f32():
    for kind in ("f16", "bf16", "f8_e4m3"):
        asked = []
        assert reference.accuracy("tanh", kind, Limits("amd", asked=asked)) == 5
        (row,) = asked
        assert (row.dtype, row.ulp_of, row.documented, row.observed) == (kind, "f32", 5, 1.5)
    assert reference.accuracy("div", "f16", Limits("amd", "observed")) == 0.51


def test_observed_accuracy_is_within_documented():
    for name in PLAIN:
        for kind in ("f32", "f64"):
            documented, observed = (
                reference.accuracy(name, kind, Limits("amd", level)) for level in ("documented", "observed")
            )
            assert 0.5 <= observed <= documented
