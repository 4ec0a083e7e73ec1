"""Reference values of resized images: (batch, channel, row, column), with any strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from parity.model.dtypes import DTYPES, Array, array_dtype
from parity.reference.exact_context import exact_context
from parity.reference.expected import Bounds, Expected
from parity.reference.halves import hull_bounds
from parity.reference.real import doubles
from parity.reference.rounding import fma, smallest, store, to_grid, unit_roundoff, wide

_F32, _F64 = DTYPES["f32"], DTYPES["f64"]
_EXACT = exact_context(256)


def upsample_nearest2d(src: Array, w_out: Any, h_out: Any, w_scale: Any, h_scale: Any) -> Expected:
    """Copies the element at the truncated product of output position and scale, in f64, clamped to the image.

    ``w`` is axis 2 and ``h`` is axis 3: the output is (b, c, w_out, h_out).
    """
    rows, columns = (
        np.minimum(np.arange(int(out)) * float(scale), size - 1).astype(np.int64)
        for size, out, scale in zip(src.shape[2:], (w_out, h_out), (w_scale, h_scale), strict=True)
    )
    return Expected(np.array(src[:, :, rows[:, None], columns]), sign_of_zero=True)


def upsample_bilinear2d(
    src: Array,
    w_out: Any,
    h_out: Any,
    align_corners: Any,
    has_scale_h: Any,
    scale_h: Any,
    has_scale_w: Any,
    scale_w: Any,
) -> Expected:
    """Bilinear interpolation in f64 to (b, c, h_out, w_out); integers truncate.

    Resizing an axis from n to m positions places output o at o (n - 1) / (m - 1) if corners are aligned, otherwise at
    (o + 1/2) s - 1/2, where s is n / m or the inverse of the given scale factor. Positions are clamped to the axis. An
    infinite neighbour with weight 0 gives NaN.
    """
    dtype = array_dtype(src)
    rows = _axis(src.shape[2], int(h_out), align_corners, has_scale_h, scale_h)
    columns = _axis(src.shape[3], int(w_out), align_corners, has_scale_w, scale_w)
    permitted = [_Mix.of(src, y, x) for y, x in product(rows, columns)]
    values = [mix.value() for mix in permitted]
    nominal, error = values[0], np.maximum.reduce([mix.error() for mix in permitted])
    low, high = np.minimum.reduce(values), np.maximum.reduce(values)
    # A contracted coordinate may reduce the weight of an infinity to 0. A mean of the largest values may overflow.
    unsettled = ~np.isfinite(nominal) & np.all([np.isfinite(corner) for corner in permitted[0].corners], axis=0)
    for other in values[1:]:
        same = (other == nominal) | (np.isnan(other) & np.isnan(nominal))
        unsettled |= ~same & ~(np.isfinite(other) & np.isfinite(nominal))

    if dtype is _F64:
        centre, residual = permitted[0].exactly()
        # The distance of two results of the recipe has twice the error.
        distances = (nominal - low, high - nominal)
        below, above = (np.where(np.isfinite(nominal), d + np.where(d > 0, 3, 1) * error, 0) for d in distances)
        value, residual = np.where(np.isfinite(nominal), centre, nominal), np.where(below + above == 0, 0, residual)
        return Expected(value, lambda _: Bounds(value, residual, below, above), unspecified=unsettled)
    # The reference has the same error as the device.
    low, high = (np.where(np.isfinite(nominal), end, nominal) for end in (low - 2 * error, high + 2 * error))
    if not dtype.is_float:
        value, *others = (np.clip(np.trunc(v), 0, dtype.max).astype(dtype.numpy) for v in (nominal, low, high))
        return Expected(value, alternatives=tuple(o for o in others if not np.array_equal(o, value)))
    value = store(nominal, dtype)
    # A device may convert f64 to a half type through f32.
    ends = [to_grid(end, dtype) for v in (low, high) for end in (v, to_grid(v, _F32))]
    bounds = hull_bounds(wide(value), np.minimum.reduce(ends), np.maximum.reduce(ends))
    return Expected(value, lambda _: bounds, unspecified=unsettled)


@dataclass(frozen=True)
class _Between:
    """The two neighbours of each output position along an axis, and the fraction of the distance to ``high``."""

    low: Array
    high: Array
    weight: Array


def _axis(size: int, out: int, align_corners: Any, has_scale: Any, factor: Any) -> list[_Between]:
    """Return the nominal positions and, if they differ, positions with a contracted multiply-add."""
    o = np.arange(out, dtype=np.float64)
    if align_corners:
        coordinates = [o * (np.float64(size - 1) / np.float64(out - 1) if out > 1 else 0.0)]
    else:
        scale = 1.0 / np.float64(factor) if has_scale else np.float64(size) / np.float64(out)
        contracted = fma(np.full_like(o, scale), o + 0.5, np.full_like(o, -0.5), _F64)
        coordinates = [scale * (o + 0.5) - 0.5]
        if not np.array_equal(coordinates[0], contracted):
            coordinates.append(contracted)
    axes = []
    for coordinate in coordinates:
        inside = np.maximum(coordinate, 0)
        low = np.minimum(inside, size - 1).astype(np.int64)
        axes.append(_Between(low, np.minimum(low + 1, size - 1), np.minimum(inside - low, 1)))
    return axes


@dataclass(frozen=True)
class _Mix:
    """The four neighbours of every output element, by row, and the weights of the second row and column."""

    corners: tuple[Array, ...]
    y: Array
    x: Array

    @staticmethod
    def of(src: Array, rows: _Between, columns: _Between) -> _Mix:
        at = product((rows.low, rows.high), (columns.low, columns.high))
        corners = tuple(wide(src[:, :, y[:, None], x]) for y, x in at)
        return _Mix(corners, *np.broadcast_arrays(rows.weight[:, None], columns.weight, corners[0])[:2])

    def value(self) -> Array:
        """Evaluate the recipe in f64."""
        return _mixed(self.corners, self.y, self.x)

    def exactly(self) -> tuple[Array, Array]:
        """Evaluate the recipe exactly, as float64 plus float64."""
        mul, add, sub = _EXACT.mul, _EXACT.add, _EXACT.sub
        exact = []
        for a, b, c, d, y, x in zip(*(v.ravel().tolist() for v in (*self.corners, self.y, self.x)), strict=True):
            up, left = sub(1, y), sub(1, x)
            top, bottom = add(mul(a, left), mul(b, x)), add(mul(c, left), mul(d, x))
            exact.append(add(mul(top, up), mul(bottom, y)))
        return doubles(exact, self.y.shape)

    def error(self) -> Array:
        """Return the error bound of the recipe: six roundings per neighbour; none for copies and short operands."""
        sizes = [np.abs(v) for v in self.corners]
        roundings = 6 * _mixed([v * unit_roundoff(_F64) for v in sizes], self.y, self.x) + 6 * smallest(_F64)
        copied = np.isin(self.y, (0, 1)) & np.isin(self.x, (0, 1))
        short = (self.y * 1024 % 1 == 0) & (self.x * 1024 % 1 == 0)
        integers = np.all([(v == np.rint(v)) & (v < 2.0**32) for v in sizes], axis=0)
        return np.where(copied | (short & integers), 0, roundings)


def _mixed(corners: Sequence[Array], y: Array, x: Array) -> Array:
    a, b, c, d = corners
    return np.asarray((a * (1 - x) + b * x) * (1 - y) + (c * (1 - x) + d * x) * y)
