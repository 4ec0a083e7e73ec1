"""Products of matrices as matrix cores compute them: ``alpha * a b + beta * c + bias``.

Vendors do not document the order of additions in a matrix core, or its rounding (docs/matrix-cores.md). Products of
types with 16 bits or less are exact in f32. Let K be the number of products, S the sum of their absolute values, and u
the unit roundoff of the sum. Every addition may truncate (2 u), and so may the alignment of a product to the largest
product (u, where other hardware rounds). The sum is therefore within ``(2 (K + 1) + K) u S``. Scaling rounds at most
four times, whether contracted or not.

If all operands are integers and all sums fit the significand, nothing rounds or truncates, and the bound is 0.
"""

from __future__ import annotations

import gmpy2
import numpy as np

from parity.model.dtypes import DTYPES, Array, DType, array_dtype
from parity.reference.exact_context import exact_context
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.real import doubles
from parity.reference.rounding import SLACK, smallest, store, unit_roundoff, wide

_EXACT = exact_context(256)


def scaled_matmul(a: Array, b: Array, bias: Array | None, c: Array, alpha: float, beta: float, to: DType) -> Expected:
    """Batches of matrices: ``a`` (batch, m, k), ``b`` (batch, k, n), ``bias`` (n), ``c`` (batch, m, n).

    ``alpha``, ``beta``, ``bias`` and ``c`` have the type of the result, ``to``. Integers wrap. If ``beta`` is 0, the
    content of ``c`` does not matter.
    """
    if not to.is_float:
        return Expected(_integers(a, b, bias, alpha, beta, c, to))
    c = np.zeros_like(c) if beta == 0 else c
    left, right, added = wide(a), wide(b), wide(c) * beta
    offset = np.zeros(c.shape[-1]) if bias is None else wide(bias)
    size = np.abs(left) @ np.abs(right)
    parts = np.abs(alpha) * size + np.abs(added) + np.abs(offset)
    centre, residual = _exact(a, b, offset, alpha, beta, c)
    u, depth = unit_roundoff(to), a.shape[-1]
    error = u * (np.abs(alpha) * size * (3 * depth + 2) + 4 * parts) + smallest(to) * (depth + 4)
    integers = all(np.all(x == np.rint(x)) for x in (left, right, wide(c), offset, np.array([alpha, beta])))
    finite = np.isfinite(centre)
    fits = integers & (parts <= 2.0**to.precision) & (size <= 2.0**to.precision)
    # A single product that is stored unscaled; products of narrow types are exact.
    alone = ((left != 0).astype(float) @ (right != 0).astype(float) <= 1) & (alpha == 1) & (added == 0) & (offset == 0)
    single = alone & (array_dtype(a) is not to) & ((size == 0) | (size >= 2.0**to.emin))
    exact = (fits & (residual == 0)) | single | ~finite
    value = store(centre, to)
    error = np.where(exact, 0, error) * SLACK
    # MI200 treats subnormal halves as zeros (MIOpen, "MI200 MFMA Behavior Specifics"): D25.
    small = of_subnormals(left, right, array_dtype(a))
    lost = np.where(exact, 0, small * np.abs(alpha) * SLACK)

    def bounds(limits: Limits) -> Bounds:
        room = error + lost if limits.vendor == "amd" else error
        return Bounds(np.where(exact, wide(value), centre), np.where(exact, 0, residual), room, room)

    without = np.where(small > 0, value.dtype.type(0), value)
    return Expected(value, bounds, divergences={"D25": without} if (single & (small > 0)).any() else {})


def of_subnormals(left: Array, right: Array, kind: DType) -> Array:
    """Return the sums of absolute products that have a subnormal factor, for f16 and bf16."""
    if kind.name not in ("f16", "bf16"):
        return np.zeros((*left.shape[:-1], right.shape[-1]))
    tiny = 2.0**kind.emin
    rows, columns = (np.where(np.abs(x) < tiny, np.abs(x), 0) for x in (left, right))
    return np.asarray(rows @ np.abs(right) + np.abs(left) @ columns)


def _exact(a: Array, b: Array, offset: Array, alpha: float, beta: float, c: Array) -> tuple[Array, Array]:
    """Return the exact results as float64 plus a residual."""
    left, right = wide(a), wide(b)
    plain = alpha * (left @ right) + beta * wide(c) + offset
    if array_dtype(a) is not DTYPES["f64"]:
        # Products are exact in float64, whose u is 2**-29 times the u of f32, so sums count as exact.
        return plain, np.zeros(plain.shape)
    found = []
    for n, i, j in np.ndindex(plain.shape):
        terms = list(map(_EXACT.mul, left[n, i].tolist(), right[n, :, j].tolist()))
        scaled = [_EXACT.mul(_EXACT.fsum(terms), alpha), _EXACT.mul(float(c[n, i, j]), beta), float(offset[j])]
        found.append(_EXACT.fsum(scaled))
    finite = np.isfinite(plain)
    numbers = [x if ok else gmpy2.mpfr(0) for x, ok in zip(found, finite.ravel(), strict=True)]
    centre, residual = doubles(numbers, plain.shape)
    return np.where(finite, centre, plain), np.where(finite, residual, 0)


def _integers(a: Array, b: Array, bias: Array | None, alpha: float, beta: float, c: Array, to: DType) -> Array:
    total = (a.astype(np.int64) @ b.astype(np.int64)) * int(alpha)
    total = total + (int(beta) * c.astype(np.int64) if beta else 0) + (0 if bias is None else bias.astype(np.int64))
    return total.astype(to.numpy)
