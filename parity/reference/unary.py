"""Reference values of one-operand elementwise ops.

Arrays are in the stored dtype, of any rank and any strides; results have the logical shape of the operand. Scalar
parameters are NumPy scalars of the same dtype.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from parity.model.dtypes import Array, DType, array_dtype
from parity.reference.accuracy import accuracy
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.halves import HalfArithmetic, Recipe, hull_bounds, nominal, recipe_bounds, widened
from parity.reference.real import FUNCTIONS, multiprecision
from parity.reference.rounding import below_f32_normals, smallest, store, unit_roundoff, wide

_FLUSHES = -103.28  # AMD's exp gives 0 below (D14)


def exp(x: Array) -> Expected:
    """e**x. AMD's flush of the last subnormal results to 0 is divergence D14."""
    expected = _function("exp", x)
    if array_dtype(x).name != "f32" or not np.any(x < _FLUSHES):
        return expected
    flushed = np.where(x < _FLUSHES, expected.value.dtype.type(0), expected.value)
    return Expected(expected.value, expected.bounds, divergences={"D14": flushed})


def log(x: Array) -> Expected:
    """Natural logarithm: -Inf at 0, NaN below."""
    return _function("log", x)


def sin(x: Array) -> Expected:
    """Sine of radians, over the full range."""
    return _function("sin", x)


def cos(x: Array) -> Expected:
    """Cosine of radians, over the full range."""
    return _function("cos", x)


def tanh(x: Array) -> Expected:
    """Hyperbolic tangent. Error bounds: rows ``tanh`` and ``tanh_tail`` of ``accuracy.csv`` (see ``_function``)."""
    return _function("tanh", x)


def erf(x: Array) -> Expected:
    """Error function."""
    return _function("erf", x)


def normcdf(x: Array) -> Expected:
    """Cumulative distribution function of the standard normal distribution."""
    return _function("normcdf", x)


def powf(x: Array, exponent: Any) -> Expected:
    """x**exponent by the rules of C ``pow``; half types are computed in f32."""
    return _function("pow", x, exponent)


def gelu(x: Array) -> Expected:
    """0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))); half types round every operator and every constant.

    NaN at -Inf, where the recipe multiplies an infinity by 0.
    """
    return _function("gelu", x, recipe=_gelu)


def gelu_erf(x: Array) -> Expected:
    """``x normcdf(x)``; half types round normcdf, then the product. NaN at -Inf."""
    return _function("gelu_erf", x, recipe=_gelu_erf)


def silu(x: Array) -> Expected:
    """``x / (1 + exp(-x))``; half types round every operator. NaN at -Inf."""
    return _function("silu", x, recipe=_silu)


def sigmoid(x: Array) -> Expected:
    """1 / (1 + exp(-x)); half types round every operator."""
    return _function("sigmoid", x, recipe=_sigmoid)


def elu(x: Array, alpha: Any) -> Expected:
    """``x > 0 ? x : alpha (exp(x) - 1)``; half types round every operator."""
    expected = _function("elu", x, alpha, recipe=_elu)
    if np.isfinite(alpha):
        return expected
    # exp(x) may round to 1 for x near 0, and an infinite alpha times 0 is NaN
    risk = (x < 0) & (wide(x) > -4 * unit_roundoff(array_dtype(x)))
    value = np.where(risk, -expected.value.dtype.type(alpha), expected.value)
    return Expected(value, None, nan_allowed=risk)


def _gelu(m: HalfArithmetic, x: Any, _: Any) -> Any:
    cube = m.mul(m.mul(x, x), x)
    argument = m.mul(m.constant(math.sqrt(2 / math.pi)), m.muladd(m.constant(0.044715), cube, x))
    return m.mul(m.mul(m.constant(0.5), x), m.add(m.constant(1), m.call("tanh", argument)))


def _gelu_erf(m: HalfArithmetic, x: Any, _: Any) -> Any:
    return m.mul(x, m.call("normcdf", x))


def _silu(m: HalfArithmetic, x: Any, _: Any) -> Any:
    return m.div(x, _one_plus_exp_minus(m, x))


def _sigmoid(m: HalfArithmetic, x: Any, _: Any) -> Any:
    return m.div(m.constant(1), _one_plus_exp_minus(m, x))


def _one_plus_exp_minus(m: HalfArithmetic, x: Any) -> Any:
    return m.add(m.constant(1), m.call("exp", m.mul(m.constant(-1), x)))


def _elu(m: HalfArithmetic, x: Any, alpha: Any) -> Any:
    return m.if_positive(x, x, m.mul(m.constant(alpha), m.add(m.call("exp", x), m.constant(-1))))


def _function(name: str, x: Array, parameter: Any = None, recipe: Recipe | None = None) -> Expected:
    """Evaluate a row of ``real.FUNCTIONS``.

    f32 and f64 results are bounded by the row's ``budget``. Half types evaluate the recipe (default: one call, computed
    in f32) in ``halves.Hull``, and f8 always a single call.
    """
    x = np.asarray(x)
    dtype = array_dtype(x)
    p = None if parameter is None else np.float64(parameter)
    f = FUNCTIONS[name]
    signed = np.asarray(x == 0) if name == "elu" else False
    if dtype.name == "f64":
        centre, residual = multiprecision(f, x, None if p is None else float(p))
        value = np.where(residual == 0, centre, centre + residual)  # a sum would lose the sign of zero
        return Expected(value, partial(_budget, name, x, p, centre, residual, dtype), signed)
    if dtype.name == "f32":
        exact = np.asarray(f.wide(wide(x), p))
        return Expected(store(exact, dtype), partial(_budget, name, wide(x), p, exact, 0.0, dtype), signed)
    if recipe is None or dtype.name == "f8_e4m3":
        recipe = partial(_call, name)
    value = np.asarray(nominal(recipe, wide(x), p, dtype))
    return Expected(value, partial(recipe_bounds, recipe, wide(x), p, dtype, value), signed)


def _call(name: str, m: HalfArithmetic, x: Any, p: Any) -> Any:
    return m.call(name, x, p)


def _budget(name: str, x: Array, p: Any, exact: Array, residual: Array | float, dtype: DType, limits: Limits) -> Bounds:
    error = FUNCTIONS[name].budget(x, p, exact, dtype, partial(accuracy, dtype=dtype.name, limits=limits))
    error = np.where(np.isfinite(exact), error * (1 + 2.0**-20), 0)
    if dtype.name == "f64":
        # float64 cannot hold the residual of a subnormal value, nor half ULPs of its bound
        error = np.where((np.abs(exact) < 2.0 ** (dtype.emin + 1)) & (error > 0), error + smallest(dtype), error)
    return Bounds(exact, residual, error, error)


def copy(x: Array) -> Expected:
    """The input. All NaNs are equivalent."""
    return Expected(np.array(x), sign_of_zero=True)


def neg(x: Array) -> Expected:
    """-x; integers wrap."""
    return Expected(np.asarray(np.negative(x)), sign_of_zero=True)


def abs(x: Array) -> Expected:
    """|x|."""
    return Expected(np.asarray(np.abs(x)), sign_of_zero=True)


def recip(x: Array) -> Expected:
    """1 / x, correctly rounded; in f16, AMD documents slightly more than half an ULP.

    f32 and f64 must be correctly rounded, although v_rcp_f32 has an error of 1 ULP and v_rcp_f64 of 2^29: compilers
    refine both with FMA, and AMD documents the quotient as correctly rounded (``accuracy.csv``, div). Refinement fails
    for one operand, whose fraction is all ones, unless the instruction returns the nearest number there. AMD's GPUs do:
    it follows from RDNA3 ISA, V_RCP_F32, and AMD captured it for V_RCP_F64
    (``parity/emulator/amdgpu/approximate.csv``).
    """
    return quotient(1 / wide(x), "rcp", array_dtype(x), sign_of_zero=True)


def sqrt(x: Array) -> Expected:
    """Square root, correctly rounded; in f16, AMD documents slightly more than half an ULP."""
    return quotient(np.sqrt(wide(x)), "sqrt", array_dtype(x), sign_of_zero=True)


def quotient(exact: Array, function: str, dtype: DType, sign_of_zero: Array | bool) -> Expected:
    """Expect a quotient or root. Its float64 value ``exact`` is precise enough to be rounded again."""
    if dtype.name != "f16":
        return operator(exact, dtype, sign_of_zero)
    value = np.asarray(store(exact, dtype))
    exact = np.asarray(exact)
    return Expected(
        value, lambda limits: hull_bounds(wide(value), *widened(exact, function, dtype, limits)), sign_of_zero
    )


def operator(exact: Array, dtype: DType, sign_of_zero: Array | bool) -> Expected:
    """Expect the result of one operator. bf16 may be computed in f32, which rounds subnormal results twice."""
    value = np.asarray(store(exact, dtype))
    if dtype.name != "bf16" or not below_f32_normals(exact):
        return Expected(value, sign_of_zero=sign_of_zero)
    twice = np.asarray(store(np.asarray(exact).astype(np.float32).astype(np.float64), dtype))
    same = np.array_equal(value.view(np.uint16), twice.view(np.uint16))
    return Expected(value, sign_of_zero=sign_of_zero, alternatives=() if same else (twice,))


def sqr(x: Array) -> Expected:
    """``x * x``."""
    return operator(wide(x) ** 2, array_dtype(x), sign_of_zero=True)


def ceil(x: Array) -> Expected:
    """Smallest integer not below x."""
    return Expected(np.asarray(store(np.ceil(wide(x)), array_dtype(x))), sign_of_zero=True)


def floor(x: Array) -> Expected:
    """Largest integer not above x."""
    return Expected(np.asarray(store(np.floor(wide(x)), array_dtype(x))), sign_of_zero=True)


def round(x: Array) -> Expected:
    """Nearest integer, ties away from zero (C ``round``; NumPy's goes to even)."""
    w = wide(x)
    towards_zero = np.trunc(w)
    away = np.where(np.abs(w - towards_zero) >= 0.5, np.copysign(1, w), 0)
    return Expected(np.asarray(store(np.copysign(towards_zero + away, w), array_dtype(x))), sign_of_zero=True)


def relu(x: Array) -> Expected:
    """max(x, 0): NaN gives NaN in f16 and bf16, else 0. A zero may have either sign (D7)."""
    zero = x.dtype.type(0)
    keeps_nan = array_dtype(x).name in ("f16", "bf16")
    return Expected(np.asarray(np.where(x > 0, x, np.where(np.isnan(x), x, zero) if keeps_nan else zero)))


def sign(x: Array) -> Expected:
    """(x > 0) - (x < 0): 0 for zeros and for NaN."""
    return Expected(np.asarray(np.subtract(x > 0, x < 0, dtype=np.int8).astype(x.dtype)))
