"""Reference values of ops on quantized blocks: decoded values, and products with vectors and matrices.

``model.dtypes`` has the formats. ``w`` are weights and ``y`` activations; both are rows of blocks. An element of kind
"block" is a whole block, so "nb blocks" is an axis of that length.

Kernels may add the f32 terms of a product in any order (see ``parity.reference.products``). Let h + r be the largest
number of roundings of a term, S the sum of the absolute terms, and u = 2**-24: the error is at most (h + r) u S. The
reference computes in float64, whose error of n 2**-53 S for n terms is far below the slack of 2**-20 (h + r) u S. If
all scales and activations are integers and S is at most 2**24, nothing rounds in any order, and the bound is zero.

A NaN among the operands makes a product NaN. An infinity makes it infinite or NaN, depending on the order in which a
kernel multiplies, because the infinity may meet a factor of 0 or an infinity of the other sign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from parity.model.dtypes import DTYPES, Array, DType, array_dtype
from parity.reference.blocks import Weights, decode
from parity.reference.expected import Bounds, Expected
from parity.reference.rounding import SLACK, smallest, store, to_grid, unit_roundoff, wide

_F16, _F32 = DTYPES["f16"], DTYPES["f32"]
_U = unit_roundoff(_F32)

WORD = 4
"""Bytes of a word. A dot-product instruction multiplies two words bytewise and adds the products."""

LANES = 32
"""Threads that share a row of a product with f32 activations; also the number of values in a block of activations."""

_EXTRA = 16
"""Most roundings of a term, in addition to the longest serial sum.

Up to four for its products (with the integer or activation, with two scales, and of the minimum), one for subtracting
the minimum, up to three for joining the parts of a block, and up to eight for the tree over at most 256 threads.
"""

_SUMS = {False: ("q4_0", "q4_1", "q5_0", "q5_1"), True: ("q4_0", "q4_1", "q5_1", "q4_K", "q5_K")}
"""Formats whose offset kernels multiply by the stored sum ``s`` of the activations, by whether the product is tiled.

For other formats they multiply it by ``d`` times the sum of the quants, or subtract it from each weight.
"""


def dequantize(x: Array, to: DType) -> Expected:
    """Values (..., n * values per block) of blocks (..., n), rounded to f32 and then to ``to``.

    The result is unique, also if a multiply-add is contracted: ``d steps q`` has at most 11 + 7 + 5 bits and ``m mins``
    11 + 6, so that only their sum rounds in f32. For q8_K, whose ``d`` has 24 bits, only ``d q`` rounds. An infinite
    scale may give NaN if a kernel subtracts ``zero d`` from ``d q``.
    """
    weights = decode(x)
    exact = weights.rows
    value = store(to_grid(exact, _F32), to)
    return Expected(value, nan_allowed=np.isinf(exact) if weights.zero else False)


def get_rows(table: Array, ids: Array) -> Expected:
    """Rows ``ids``, of shape (n,), of a table (rows, blocks), or (rows, length) of floats; in f32."""
    rows = table[ids.astype(np.int64)]
    if array_dtype(table).is_block:
        return dequantize(rows, _F32)
    return Expected(np.ascontiguousarray(rows.astype(np.float32)), sign_of_zero=True)


def matvec(w: Array, y: Array, shape: tuple[int, ...]) -> Expected:
    """Products of the first ``shape[0]`` rows of ``w``, (R, nb) blocks, with ``y``, (columns,) in f32.

    Each of 32 lanes adds ceil(columns / 32) terms, and five additions combine the lanes. A lane may have up to eight
    more terms if lanes share blocks unevenly; the bound for a tree over many threads, which is not used here, covers
    them.
    """
    weights, numbers = decode(w[: shape[0]]), wide(y)
    finite, of_blocks = _without_specials(weights), _finite(numbers).reshape(-1, *weights.q.shape[-2:])
    of_groups = finite.steps[..., None], finite.mins[..., None]
    factors = of_groups[0] * (finite.q - finite.zero), of_groups[1]
    scales = finite.d[..., None, None], finite.m[..., None, None]
    axes = (-3, -2, -1)
    products, minima = (scale * factor * of_blocks for scale, factor in zip(scales, factors, strict=True))
    exact = products.sum(axis=axes) + minima.sum(axis=axes)
    size = np.abs(products).sum(axis=axes) + np.abs(minima).sum(axis=axes)
    roundings = -(-len(y) // LANES) + 5 + _EXTRA
    # A kernel may multiply an activation by d first, which loses part of the smallest number, and then by integers.
    lost = smallest(_F32) * (1 + np.abs(factors[0]) + np.abs(factors[1])).sum(axis=axes)
    certain = (_whole(weights) & np.all(numbers == np.rint(numbers)) & (size <= 2.0**24)) | (size == 0)
    # A kernel may overflow before d, m and the scales of a group reduce a sum.
    terms = (np.abs(finite.q) + finite.zero) * np.abs(of_blocks), np.abs(of_blocks)
    reached = sum(
        (np.maximum(np.abs(scale), 1) * np.maximum(np.abs(group), 1) * term).sum(axis=axes)
        for scale, group, term in zip(scales, of_groups, terms, strict=True)
    )
    overflows = np.asarray(reached) * (1 + roundings * _U) > _F32.max
    nan, infinite = (_any(test, weights) | test(numbers).any() for test in (np.isnan, np.isinf))
    return _expected(exact, np.where(certain, 0, roundings * _U * size + lost), nan, infinite, overflows)


def matvec_q8_1(w: Array, y: Array, shape: tuple[int, ...]) -> Expected:
    """Products of shape (N, rows) of the first rows of ``w``, (R, nb) blocks, with ``y``, (N, nb8) blocks of q8_1.

    Blocks of ``y`` beyond the columns of ``w`` are padding.
    """
    return _product(w[: shape[1]], y, tiled=False).expected


def matmul_q8_1(w: Array, y: Array, shape: tuple[int, ...]) -> Expected:
    """``matvec_q8_1`` with the arithmetic of the tiled kernels.

    Tiled kernels subtract the zero point of q5_0 from each weight and multiply the minima of q4_K and q5_K by the
    stored sums.
    """
    return _product(w[: shape[1]], y, tiled=True).expected


def moe_q8_1(w: Array, y: Array, ids: Array) -> Expected:
    """Rows of selected experts times an input, (batch, topk, n), with the arithmetic of ``matvec_q8_1``.

    ``w`` (experts, n, nb) blocks; ``ids`` (batch, topk) selects the experts; ``y`` (batch, 1 or topk, nb8) blocks of
    q8_1, one input for all experts of a batch or one per expert.
    """
    batch, topk = ids.shape
    inputs = np.broadcast_to(y, (batch, topk, y.shape[-1])).reshape(batch * topk, 1, y.shape[-1])
    products = [_product(w[expert], row, tiled=False) for expert, row in zip(ids.ravel(), inputs, strict=True)]
    parts = zip(*((p.exact, p.error, p.nan, p.infinite) for p in products), strict=True)
    return _expected(*(np.stack(part).reshape(batch, topk, w.shape[1]) for part in parts))


@dataclass(frozen=True, eq=False)
class _Product:
    """Exact products (N, rows), their error bounds, and masks of products with a NaN or an infinity."""

    exact: Array
    error: Array
    nan: Array
    infinite: Array

    @property
    def expected(self) -> Expected:
        return _expected(self.exact, self.error, self.nan, self.infinite)


def _product(w: Array, y: Array, tiled: bool) -> _Product:
    """Rows of ``w`` times rows of ``y``: sums of ``d steps d8 sum(q a)`` and of offsets times sums of activations.

    Scales have 11 bits and are multiples of 2**-24 below 2**16. f32 can therefore neither overflow nor underflow, and
    every product is exact in float64. The longest sum adds blocks one by one, with nb32 - 1 additions.
    """
    dtype, weights = array_dtype(w), decode(w)
    by_sum = dtype.name in _SUMS[tiled]
    size, groups = weights.q.shape[-1], w.shape[-1] * weights.groups
    y = y[:, : w.shape[-1] * dtype.values // LANES]
    d8, s8 = wide(y["d"]), wide(y["s"]) if by_sum else np.zeros(y.shape)
    nan, infinite = (
        _any(test, weights) | np.asarray((test(d8) | test(s8)).any(axis=-1))[:, None] for test in (np.isnan, np.isinf)
    )
    whole = _whole(weights) & np.asarray(((d8 == np.rint(d8)) & (s8 == np.rint(s8))).all(axis=-1))[:, None]

    weights, d8, s8 = _without_specials(weights), _finite(d8), _finite(s8)
    q = weights.q if by_sum else weights.q - weights.zero
    scale = weights.d[..., None] * weights.steps
    offset = weights.m[..., None] * weights.mins - (weights.zero * scale if by_sum else 0)
    q, scale, offset = q.reshape(-1, groups, size), scale.reshape(-1, groups), offset.reshape(-1, groups)
    a = y["qs"].reshape(-1, groups, size).astype(np.int32)
    d8, s8 = (np.repeat(each, LANES // size, axis=-1) for each in (d8, s8))
    factor = d8[:, None] * scale
    exact = (factor * _dots(q, a)).sum(axis=-1)
    bound = (np.abs(factor) * sum(np.abs(_dots(*each)) for each in _words(q, a))).sum(axis=-1)
    sums, sizes = (s8, np.abs(s8))
    if not by_sum:
        words = (np.abs(each.sum(axis=-1)) for _, each in _words(q, a))
        sums, sizes = d8 * a.sum(axis=-1), np.abs(d8) * sum(words)
    exact += (offset * sums[:, None]).sum(axis=-1)
    bound += (np.abs(offset) * sizes[:, None]).sum(axis=-1)
    certain = whole & (bound <= 2.0**24)
    roundings = y.shape[-1] - 1 + _EXTRA
    return _Product(exact, np.where(certain, 0, roundings * _U * bound), nan, infinite)


def _words(q: Array, a: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the quants and activations of every word of four, which a kernel multiplies at once (size / 4 times).

    A dot product of four or more bytes (dp4a) is a whole number below 2**24 and does not round.
    """
    for first in range(0, q.shape[-1], WORD):
        yield q[..., first : first + WORD], a[..., first : first + WORD]


def _dots(q: Array, a: Array) -> Array:
    """Integer products of (rows, groups, size) with (N, groups, size), as float64 (N, rows, groups)."""
    found = np.matmul(a.transpose(1, 0, 2).astype(np.float64), q.transpose(1, 2, 0).astype(np.float64))
    return np.asarray(found.transpose(1, 2, 0))


def _any(test: Callable[[Array], Array], weights: Weights) -> Array:
    """Return a mask of the rows with a scale or minimum that passes a test."""
    return np.asarray((test(weights.d) | test(weights.m)).any(axis=-1))


def _whole(weights: Weights) -> Array:
    """Return a mask of the rows whose scales and minima are integers."""
    return np.asarray(((weights.d == np.rint(weights.d)) & (weights.m == np.rint(weights.m))).all(axis=-1))


def _without_specials(weights: Weights) -> Weights:
    return Weights(weights.q, _finite(weights.d), weights.steps, _finite(weights.m), weights.mins, weights.zero)


def _finite(x: Array) -> Array:
    """Replace infinities and NaN, which are handled separately, by zeros."""
    return np.where(np.isfinite(x), x, 0)


def _expected(exact: Array, error: Array, nan: Any, infinite: Any, overflows: Any = False) -> Expected:
    """Expect values within ``error`` of the exact f32 value; NaN or non-finite for products with NaN or infinity."""
    infinite = infinite & ~np.asarray(nan)
    exact = np.where(nan, np.nan, np.where(infinite, np.inf, exact))
    value = store(exact, _F32)
    centre, allowed = np.where(error == 0, wide(value), exact), error * SLACK
    open_ended = infinite | (overflows & ~np.asarray(nan))
    others = [np.where(open_ended, np.float32(v), value) for v in (np.inf, -np.inf)] if open_ended.any() else []
    bounds = Bounds(centre, 0.0, allowed, allowed)
    return Expected(value, lambda _: bounds, nan_allowed=open_ended, alternatives=tuple(others))


def quantize_q8_1(x: Array, shape: tuple[int, ...]) -> Expected:
    """Quantize the rows of ``x``, (rows, kx) in f32, to q8_1, padded with zeros to ``shape[1]`` blocks.

    ``d`` is the largest magnitude divided by 127 in f32. A code is the value divided by ``d``, rounded to nearest with
    halves away from zero. ``s`` is the sum of the unquantized values. ``d`` and ``s`` are then rounded to f16.
    """
    rows, blocks = shape
    v = np.zeros((rows, blocks * LANES), np.float32)
    v[:, : x.shape[1]] = x
    quantized = _Quantized(v.reshape(rows, blocks, LANES))
    return Expected(quantized.nominal, accepts=quantized.accepts)


@dataclass(frozen=True, eq=False)
class _Quantized:
    """The correct blocks of q8_1 for values ``v``, f32 (rows, blocks, 32).

    Codes are unspecified in two cases: if the largest magnitude is so small that d is 0 or subnormal, quotients exceed
    the range of a code; if it is infinite, infinity is divided by infinity.
    """

    v: Array

    @cached_property
    def d(self) -> Array:
        """The divisor in f32."""
        return np.asarray(np.abs(self.v).max(axis=-1) / np.float32(127))

    @cached_property
    def quotients(self) -> Array:
        """Magnitudes of ``v / d`` as float64, which preserves ties; 0 in a block of zeros."""
        d = wide(self.d)[..., None]
        return np.where((self.v == 0) & (np.abs(self.v).max(axis=-1) == 0)[..., None], 0, np.abs(wide(self.v)) / d)

    def codes(self, share: float) -> Array:
        """Return the codes of the quotients times ``share``, rounded to nearest, halves away from zero."""
        found = np.floor(self.quotients * share + 0.5)
        return np.asarray(np.copysign(np.where(found <= 127, found, 0), self.v).astype(np.int8))

    @cached_property
    def overflows(self) -> tuple[Array, Array]:
        """Masks of the blocks in which a partial sum may be +infinity or -infinity."""
        above, below = (np.maximum(sign * wide(self.v), 0).sum(axis=-1) for sign in (1, -1))
        return above * (1 + LANES * _U) > _F32.max, below * (1 + LANES * _U) > _F32.max

    @cached_property
    def sums(self) -> tuple[Array, Array, Array]:
        """The least, nominal and greatest stored sum, for any order of addition, with 31 roundings or none."""
        terms = wide(self.v)
        exact, size = terms.sum(axis=-1), np.abs(terms).sum(axis=-1)
        certain = (np.all(terms == np.rint(terms), axis=-1) & (size <= 2.0**24)) | ((terms != 0).sum(axis=-1) <= 1)
        error = np.where(certain | ~np.isfinite(exact), 0, (LANES - 1) * _U * size * SLACK)
        above, below = (each & np.isfinite(exact) for each in self.overflows)
        ends = np.where(below, -np.inf, exact - error), exact, np.where(above, np.inf, exact + error)
        least, middle, greatest = (store(to_grid(each, _F32), _F16) for each in ends)
        return least, middle, greatest

    @property
    def nominal(self) -> Array:
        blocks = np.zeros(self.v.shape[:-1], DTYPES["q8_1"].numpy)
        blocks["d"], blocks["s"], blocks["qs"] = store(self.d, _F16), self.sums[1], self.codes(1)
        return blocks

    def accepts(self, got: Array) -> Array:
        """Return a mask of the correct blocks. For a block with a NaN, only the sum is specified, and is NaN."""
        with np.errstate(all="ignore"):
            nan = np.isnan(self.v).any(axis=-1)
            least, nominal, greatest = self.sums
            above, below = self.overflows
            no_number = np.isnan(got["s"]) & (np.isnan(nominal) | (above & below))
            sums = ((least <= got["s"]) & (got["s"] <= greatest)) | no_number
            tie = self.quotients % 1 == 0.5
            low, high = (np.where(tie, self.codes(1), self.codes(1 + e)) for e in (-3 * _U, 3 * _U))
            codes = (got["qs"] == low) | (got["qs"] == high) | ~(self.quotients * (1 + 3 * _U) < 127.5)
            scales = got["d"] == store(self.d, _F16)
            return np.asarray(np.where(nan, np.isnan(got["s"]), sums & scales & codes.all(axis=-1)))
