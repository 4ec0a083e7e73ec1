"""Reference values of two-operand elementwise ops, of ``x * m + a``, and of selection.

Operands are arrays of one stored dtype that broadcast against each other; the condition of ``where`` has any integer
dtype. Integer results wrap modulo 2**bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.model.dtypes import Array, array_dtype
from parity.reference.expected import Expected
from parity.reference.rounding import fma, store, wide
from parity.reference.unary import operator, quotient


def _is_float(x: Array) -> bool:
    return array_dtype(x).is_float


def add(x: Array, y: Array) -> Expected:
    """``x + y``."""
    if _is_float(x):
        return operator(wide(x) + wide(y), array_dtype(x), sign_of_zero=False)
    return Expected(np.asarray(np.add(x, y)))


def sub(x: Array, y: Array) -> Expected:
    """``x - y``."""
    if _is_float(x):
        return operator(wide(x) - wide(y), array_dtype(x), sign_of_zero=False)
    return Expected(np.asarray(np.subtract(x, y)))


def mul(x: Array, y: Array) -> Expected:
    """``x * y``. The sign of zero matters unless both factors are zero."""
    if _is_float(x):
        return operator(wide(x) * wide(y), array_dtype(x), np.not_equal(x, 0) | np.not_equal(y, 0))
    return Expected(np.asarray(np.multiply(x, y)))


def div(x: Array, y: Array) -> Expected:
    """``x / y``. Integers truncate towards zero; x / 0 and MIN / -1 are unspecified (D9).

    Floats are correctly rounded; ``unary.recip`` explains why.
    """
    if _is_float(x):
        return quotient(wide(x) / wide(y), "div", array_dtype(x), np.not_equal(y, 0))
    x, y = np.broadcast_arrays(x, y)
    unspecified = y == 0
    if array_dtype(x).kind == "int":
        unspecified |= (x == array_dtype(x).min) & (y == -1)
    divisor = np.where(unspecified, y.dtype.type(1), y)
    whole = np.floor_divide(x, divisor)
    # floor and truncation differ by one where an inexact quotient is negative
    truncated = np.where((x % divisor != 0) & ((x < 0) != (divisor < 0)), whole + whole.dtype.type(1), whole)
    return Expected(np.asarray(truncated.astype(x.dtype)), unspecified=unspecified)


def maximum(x: Array, y: Array) -> Expected:
    """The larger operand. NaN propagates in f16 and bf16; other types ignore it. Zeros may have either sign (D7)."""
    return _extremum(x, y, np.greater)


def minimum(x: Array, y: Array) -> Expected:
    """The smaller operand. NaN propagates in f16 and bf16; other types ignore it. Zeros may have either sign (D7)."""
    return _extremum(x, y, np.less)


def _extremum(x: Array, y: Array, first: Any) -> Expected:
    chosen = np.where(first(x, y), x, y)
    if array_dtype(x).is_float:
        if array_dtype(x).name in ("f16", "bf16"):
            chosen = np.where(np.isnan(x), x, chosen)
        else:
            chosen = np.where(np.isnan(y), x, chosen)
    return Expected(np.asarray(chosen))


def _comparison(holds: Callable[[Array, Array], Any], text: str) -> Callable[[Array, Array], Expected]:
    def compared(x: Array, y: Array) -> Expected:
        return Expected(np.asarray(holds(x, y)).astype(np.uint8))

    compared.__doc__ = f"1 where x {text} y, else 0; u8. {holds is np.not_equal} for NaN."
    return compared


eq, ne = _comparison(np.equal, "=="), _comparison(np.not_equal, "!=")
lt, le = _comparison(np.less, "<"), _comparison(np.less_equal, "<=")
gt, ge = _comparison(np.greater, ">"), _comparison(np.greater_equal, ">=")


def affine(x: Array, mul: Any, add: Any) -> Expected:
    """``x * mul + add``. Floats round twice or, if contracted, once. Integers wrap.

    f8 rounds once: f32 holds products exactly, and sums wherever a second rounding could make a difference.
    """
    x = np.asarray(x)
    m, a = (np.asarray(v, x.dtype) for v in (mul, add))
    if not _is_float(x):
        return Expected(np.asarray(np.add(np.multiply(x, m), a)))
    dtype = array_dtype(x)
    if dtype.name == "f8_e4m3":
        return Expected(fma(x, m, a, dtype))
    product = operator(wide(x) * wide(m), dtype, sign_of_zero=False)
    separate = operator(wide(product.value) + wide(a), dtype, sign_of_zero=False)
    others = [*separate.alternatives]
    for other in product.alternatives:
        others.append(np.asarray(store(wide(other) + wide(a), dtype)))
    contracted = np.asarray(fma(x, m, a, dtype))
    if not np.array_equal(contracted, separate.value):
        others.append(contracted)
    return Expected(separate.value, alternatives=tuple(others))


def where(condition: Array, if_true: Array, if_false: Array) -> Expected:
    """``if_true`` where the condition is not 0, otherwise ``if_false``."""
    return Expected(np.where(np.not_equal(condition, 0), if_true, if_false), sign_of_zero=True)


def fill(value: Any, shape: tuple[int, ...]) -> Expected:
    """An array filled with ``value``, a NumPy scalar of the stored dtype."""
    return Expected(np.full(shape, value, np.asarray(value).dtype), sign_of_zero=True)
