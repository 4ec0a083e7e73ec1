"""Real functions and their error bounds: exact values in float64 (for f32 and narrower) and in MPFR (for f64).

``FUNCTIONS`` has one row per function. Bounds follow Higham's standard model for the stated recipe. ``u`` is the unit
roundoff of the type in which the device computes; ``accuracy(f)`` is the documented accuracy of a function in ULP.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np

from parity.model.dtypes import Array, DType
from parity.reference.exact_context import exact_context
from parity.reference.rounding import smallest, ulp_safe, unit_roundoff

_MP = exact_context(128)
_ROOT_HALF = math.sqrt(0.5)
_GELU_SCALE = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715
_MP_ROOT_HALF = _MP.sqrt(gmpy2.mpq(1, 2))
_MP_GELU_SCALE = _MP.sqrt(_MP.div(2, _MP.const_pi()))
_MP_GELU_CUBIC = gmpy2.mpq(44715, 1000000)

Budget = Callable[[Array, Any, Array, DType, Callable[[str], float]], Array]


@dataclass(frozen=True)
class MathFunction:
    """A real function of one variable, optionally with a parameter.

    Attributes:
        wide: ``wide(x, p)`` maps float64 to float64.
        mp: ``mp(x, p)`` maps Python floats to an MPFR number of 128 bits.
        budget: ``budget(x, p, r, dtype, accuracy)`` bounds the error of a device result in ``dtype``. ``r`` is the
            exact value, ``accuracy(function)`` the accuracy of a device function in ULP.
    """

    wide: Callable[[Array, Any], Array]
    mp: Callable[[float, Any], Any]
    budget: Budget


def multiprecision(function: MathFunction, x: Array, p: Any) -> tuple[Array, Array]:
    """Return the exact value as the nearest float64 plus a float64 residual.

    For a value beyond the range of float64, it is the largest float64 plus the excess.
    """
    compute = function.mp
    return doubles([compute(v, p) for v in x.ravel().tolist()], x.shape)


def doubles(exact: Sequence[Any], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Split MPFR numbers (or floats) into float64 plus float64, as ``multiprecision`` returns them."""
    centres = np.array(list(map(float, exact)), np.float64)
    for i in np.flatnonzero(np.isinf(centres)).tolist():
        if gmpy2.is_finite(exact[i]):
            centres[i] = math.copysign(sys.float_info.max, centres[i])
    subtracted = np.array(list(map(float, map(_MP.sub, exact, centres.tolist()))), np.float64)
    residuals = np.where(np.isfinite(centres), subtracted, 0.0)
    return centres.reshape(shape), residuals.reshape(shape)


def _map(scalar: Callable[[float], float]) -> Callable[[Array], Array]:
    def apply(x: Array) -> Array:
        return np.array([scalar(v) for v in x.ravel().tolist()], np.float64).reshape(x.shape)

    return apply


_erf, _erfc = _map(math.erf), _map(math.erfc)


def _normcdf(x: Array) -> Array:
    return 0.5 * _erfc(np.asarray(x * -_ROOT_HALF))


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _gelu_argument(x: Array) -> Array:
    return np.asarray(_GELU_SCALE * (x + _GELU_CUBIC * (x * x * x)))


def _gelu(x: Array) -> Array:
    # 1 + tanh(t) = 2 / (1 + exp(-2t)) is accurate for t < 0
    return np.asarray(x * _sigmoid(2 * _gelu_argument(x)))


def _silu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-x)))


def _elu(x: Array, alpha: float) -> Array:
    # exp(-0) - 1 is +0
    return np.where(x > 0, x, alpha * np.where(x == 0, 0.0, np.expm1(x)))


def _pow(x: Array, y: float) -> Array:
    # Use an array: NumPy turns a scalar power of 0.5 into a square root, which differs from pow for -0 and -Inf.
    # x**0 of a signalling NaN is NaN in some C libraries, so a multiplication makes it quiet first.
    quiet: Array = x * x.dtype.type(1)
    return np.power(quiet, np.full_like(x, y))


def _mp_sigmoid(x: Any) -> Any:
    return _MP.div(1, _MP.add(1, _MP.exp(_MP.minus(x))))


def _mp_gelu(x: float, _: Any) -> Any:
    cubic = _MP.mul(_MP_GELU_CUBIC, _MP.mul(x, _MP.mul(x, x)))
    return _MP.mul(x, _mp_sigmoid(_MP.mul(2, _MP.mul(_MP_GELU_SCALE, _MP.add(x, cubic)))))


def _mp_normcdf(x: float, _: Any = None) -> Any:
    return _MP.div(_MP.erfc(_MP.mul(_MP.minus(x), _MP_ROOT_HALF)), 2)


def _mp_elu(x: float, alpha: float) -> Any:
    return x if x > 0 else _MP.mul(alpha, _MP.expm1(x) if x else gmpy2.mpfr(0))


def _mp_log(x: float, _: Any) -> Any:
    return _MP.log(x) if x > 0 else gmpy2.mpfr("-inf" if x == 0 else "nan")


def _mp_pow(x: float, y: float) -> Any:
    # MPFR and C agree on all special cases (ISO C, annex F.10.4.4)
    return _MP.pow(gmpy2.mpfr(x), gmpy2.mpfr(y))


def _plain(function: str) -> Budget:
    def budget(x: Array, p: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
        return accuracy(function) * ulp_safe(r, dtype)

    return budget


def _power_budget(x: Array, y: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
    exact = (x == 1) | (y == 0)  # ISO C, annex F.10.4.4: returns 1
    return np.where(exact, 0.0, accuracy("pow") * ulp_safe(r, dtype))


def _tanh_budget(x: Array, p: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
    """The documented accuracy; near 1, half an ULP plus ``tanh_tail`` ULP per unit of the distance from 1."""
    missing = 2 / (np.exp(2 * np.abs(x)) + 1)
    near = unit_roundoff(dtype) * (0.5 + accuracy("tanh_tail") * missing)  # an ULP below 1 is u
    documented = accuracy("tanh") * ulp_safe(r, dtype)
    return np.asarray(np.where(np.abs(r) >= 0.5, np.fmin(near, documented), documented))


def _gelu_budget(x: Array, p: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
    """0.5 x (1 + tanh t): t has at most 7 roundings, including constants, none amplified by more than 1."""
    u = unit_roundoff(dtype)
    t = np.clip(_gelu_argument(x), -400, 400)  # beyond, tanh is +-1, and its derivative is below any u
    tanh = np.tanh(t)
    slope = 4 / (np.exp(t) + np.exp(-t)) ** 2
    inner = np.abs(t) * slope * (8 * u) + _tanh_budget(t, p, tanh, dtype, accuracy) + u * (1 + tanh)
    return np.asarray(0.5 * np.abs(x) * inner + 2 * u * np.abs(r) + smallest(dtype))


def _gelu_erf_budget(x: Array, p: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
    """``x * normcdf(x)``, whose relative accuracy also holds for x < 0."""
    factor = accuracy("normcdf") * ulp_safe(_normcdf(x), dtype)
    return np.abs(x) * factor + unit_roundoff(dtype) * np.abs(r) + smallest(dtype)


def _sigmoid_budget(x: Array, p: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
    """1 / (1 + exp(-x)) or x / (1 + exp(-x)). Where exp(-x) may overflow, the result may be 0."""
    u = unit_roundoff(dtype)
    relative = 2 * u * accuracy("exp") * _sigmoid(-x) + 2 * u
    overflow = -x > math.log(dtype.max) * (1 - 4 * u)
    return np.abs(r) * np.where(overflow, relative + 1, relative) + smallest(dtype)


def _elu_budget(x: Array, alpha: Any, r: Array, dtype: DType, accuracy: Callable[[str], float]) -> Array:
    """Alpha (exp(x) - 1): the error of exp is absolute for x near 0; subtraction and product round once each.

    exp(0) is 1 (ISO C, annex F.10.3.1).
    """
    u = unit_roundoff(dtype)
    roundings = u if abs(alpha) == 1 else 2 * u
    error = np.abs(alpha) * accuracy("exp") * ulp_safe(np.exp(x), dtype) + roundings * np.abs(r) + smallest(dtype)
    return np.where(x >= 0, 0.0, error)


FUNCTIONS: dict[str, MathFunction] = {
    "exp": MathFunction(lambda x, _: np.exp(x), lambda x, _: _MP.exp(x), _plain("exp")),
    "log": MathFunction(lambda x, _: np.log(x), _mp_log, _plain("log")),
    "sin": MathFunction(lambda x, _: np.sin(x), lambda x, _: _MP.sin(x), _plain("sin")),
    "cos": MathFunction(lambda x, _: np.cos(x), lambda x, _: _MP.cos(x), _plain("cos")),
    "tanh": MathFunction(lambda x, _: np.tanh(x), lambda x, _: _MP.tanh(x), _tanh_budget),
    "erf": MathFunction(lambda x, _: _erf(x), lambda x, _: _MP.erf(x), _plain("erf")),
    "normcdf": MathFunction(lambda x, _: _normcdf(x), _mp_normcdf, _plain("normcdf")),
    "pow": MathFunction(_pow, _mp_pow, _power_budget),
    "gelu": MathFunction(lambda x, _: _gelu(x), _mp_gelu, _gelu_budget),
    "gelu_erf": MathFunction(lambda x, _: x * _normcdf(x), lambda x, _: _MP.mul(x, _mp_normcdf(x)), _gelu_erf_budget),
    "silu": MathFunction(lambda x, _: _silu(x), lambda x, _: _MP.mul(x, _mp_sigmoid(x)), _sigmoid_budget),
    "sigmoid": MathFunction(lambda x, _: _sigmoid(x), lambda x, _: _mp_sigmoid(x), _sigmoid_budget),
    "elu": MathFunction(_elu, _mp_elu, _elu_budget),
}
