"""Reference values of convolutions, pools, and im2col and col2im.

Images are (batch, channel, row, column) and signals (batch, channel, position), with any strides. ``shape`` is the
shape of the output, and is not checked against other sizes. Taps outside the input contribute nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.model.dtypes import Array, array_dtype
from parity.reference.binary import maximum
from parity.reference.expected import Expected
from parity.reference.products import mean, sum_of_products
from parity.reference.rounding import store, wide

Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Axis:
    """The input position of every tap at every output position, and whether it is inside: shape (out, taps)."""

    positions: Array
    inside: Array


def _direct(size: int, out: int, taps: int, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> _Axis:
    """Output o uses the input o * stride + k * dilation - padding."""
    at = np.arange(out)[:, None] * int(stride) + np.arange(taps) * int(dilation) - int(padding)
    inside = (at >= 0) & (at < size)
    return _Axis(np.where(inside, at, 0), inside)


def _transposed(size: int, out: int, taps: int, stride: Any = 1, padding: Any = 0, dilation: Any = 1) -> _Axis:
    """Output o uses the input i with i * stride + k * dilation - padding == o."""
    scaled = np.arange(out)[:, None] + int(padding) - np.arange(taps) * int(dilation)
    at = scaled // int(stride)
    inside = (scaled % int(stride) == 0) & (at >= 0) & (at < size)
    return _Axis(np.where(inside, at, 0), inside)


_ONE_ROW = _direct(1, 1, 1)


def _gathered(x: Array, rows: _Axis, columns: _Axis) -> tuple[Array, Array]:
    """Gather the inputs of every output element: (b, c, rows out, columns out, rows of taps, columns of taps).

    Inputs outside the image are 0. The second array, with the last four dims, is False there.
    """
    inside = rows.inside[:, None, :, None] & columns.inside[:, None, :]
    taken = x[:, :, rows.positions[:, None, :, None], columns.positions[:, None, :]]
    return np.where(inside, taken, x.dtype.type(0)), inside


def _products(x: Array, weight: Array, rows: _Axis, columns: _Axis) -> tuple[Array, Array]:
    """Return both factors of every term, with shapes (b, 1, rows out, columns out, terms) and (1, c_out, ...)."""
    seen, inside = _gathered(x, rows, columns)
    # An infinite weight outside the image has no effect.
    taps = np.where(inside, weight[:, :, None, None], weight.dtype.type(0))
    left, right = (np.moveaxis(each, 1, -1) for each in (seen, taps))
    flat = (*inside.shape[:2], -1)
    return left.reshape(len(x), 1, *flat), right.reshape(1, len(weight), *flat)


def conv2d(src: Array, weight: Array, stride: Any, padding: Any, dilation: Any, shape: Shape) -> Expected:
    """Cross-correlation: src (b, c_in, h, w), weight (c_out, c_in, kh, kw), output (b, c_out, h_out, w_out)."""
    axes = (_direct(src.shape[d], shape[d], weight.shape[d], stride, padding, dilation) for d in (2, 3))
    return sum_of_products(*_products(src, weight, *axes))


def conv1d(src: Array, weight: Array, stride: Any, padding: Any, dilation: Any, shape: Shape) -> Expected:
    """Cross-correlation: src (b, c_in, l), weight (c_out, c_in, k), output (b, c_out, l_out)."""
    axis = _direct(src.shape[2], shape[2], weight.shape[2], stride, padding, dilation)
    return sum_of_products(*(f[:, :, 0] for f in _products(src[:, :, None], weight[:, :, None], _ONE_ROW, axis)))


def conv_transpose2d(
    src: Array, weight: Array, stride: Any, padding: Any, out_padding: Any, dilation: Any, shape: Shape
) -> Expected:
    """The adjoint of ``conv2d``: src (b, c_in, h, w), weight (c_in, c_out, kh, kw), output (b, c_out, h_out, w_out).

    ``out_padding`` adds rows and columns to the output; ``shape`` includes them.
    """
    axes = (_transposed(src.shape[d], shape[d], weight.shape[d], stride, padding, dilation) for d in (2, 3))
    return sum_of_products(*_products(src, weight.swapaxes(0, 1), *axes))


def conv_transpose1d(
    src: Array, weight: Array, stride: Any, padding: Any, out_padding: Any, dilation: Any, shape: Shape
) -> Expected:
    """The adjoint of ``conv1d``: src (b, c_in, l), weight (c_in, c_out, k), output (b, c_out, l_out)."""
    axis = _transposed(src.shape[2], shape[2], weight.shape[2], stride, padding, dilation)
    taps = weight.swapaxes(0, 1)[:, :, None]
    return sum_of_products(*(f[:, :, 0] for f in _products(src[:, :, None], taps, _ONE_ROW, axis)))


def im2col(src: Array, h_k: Any, w_k: Any, stride: Any, padding: Any, dilation: Any, shape: Shape) -> Expected:
    """Copies the windows of a convolution: src (b, c, h, w), output (b, h_out, w_out, c, h_k, w_k), 0 outside."""
    rows = _direct(src.shape[2], shape[1], int(h_k), stride, padding, dilation)
    columns = _direct(src.shape[3], shape[2], int(w_k), stride, padding, dilation)
    return Expected(np.moveaxis(_gathered(src, rows, columns)[0], 1, 3), sign_of_zero=True)


def im2col1d(src: Array, l_k: Any, stride: Any, padding: Any, dilation: Any, shape: Shape) -> Expected:
    """Copies the windows of a convolution: src (b, c, l), output (b, l_out, c, l_k), 0 outside."""
    axis = _direct(src.shape[2], shape[1], int(l_k), stride, padding, dilation)
    seen = _gathered(src[:, :, None], _ONE_ROW, axis)[0][:, :, 0, :, 0]
    return Expected(np.moveaxis(seen, 1, 2), sign_of_zero=True)


def col2im1d(src: Array, stride: Any, shape: Shape) -> Expected:
    """Adds columns: src (b, l_in, c, k), output (b, c, l_out), where l * stride + k == o for output o.

    Sums are in the stored dtype, start from 0 and add in ascending k, which determines every rounding.
    """
    dtype, taps = array_dtype(src), src.shape[3]
    axis = _transposed(src.shape[1], shape[2], taps, stride)
    total = np.zeros(shape, src.dtype)
    for k in range(taps):
        seen = np.moveaxis(src[..., k][:, axis.positions[:, k]], 1, 2)
        added = store(wide(total) + wide(seen), dtype) if dtype.is_float else total + seen
        total = np.where(axis.inside[:, k], added, total)
    return Expected(total)


def _windows(src: Array, sizes: tuple[Any, Any], strides: tuple[Any, Any], shape: Shape) -> Array:
    """Return the windows of a pool, with their elements along the last axis."""
    axes = (_direct(src.shape[d], shape[d], int(k), s) for d, k, s in zip((2, 3), sizes, strides, strict=True))
    return _gathered(src, *axes)[0].reshape(*shape, -1)


def avg_pool2d(src: Array, w_k: Any, h_k: Any, w_stride: Any, h_stride: Any, shape: Shape) -> Expected:
    """Mean over windows without padding. ``w`` is axis 2 and ``h`` is axis 3 of src (b, c, axis 2, axis 3)."""
    return mean(_windows(src, (w_k, h_k), (w_stride, h_stride), shape))


def max_pool2d(src: Array, w_k: Any, h_k: Any, w_stride: Any, h_stride: Any, shape: Shape) -> Expected:
    """Maximum over windows, axes as in ``avg_pool2d``, NaN as in ``maximum``."""
    windows = _windows(src, (w_k, h_k), (w_stride, h_stride), shape)
    largest = windows[..., 0]
    for k in range(1, windows.shape[-1]):
        largest = maximum(largest, windows[..., k]).value
    return Expected(np.asarray(largest))
