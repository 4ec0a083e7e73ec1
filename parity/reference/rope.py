"""Reference values of rotary position embedding: pairs (x, y) of a vector become (x c - y s, x s + y c).

Cosines c and sines s have the shape (time, d / 2) or (batch, time, d / 2). A device may contract one of the two
products with the sum, so that only the second product is rounded separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from parity.model.dtypes import Array, array_dtype
from parity.reference.binary import add, mul
from parity.reference.expected import Expected
from parity.reference.rounding import fma


def rope(x: Array, cos: Array, sin: Array) -> Expected:
    """``x`` (batch, head, time, d), pairs (j, j + d / 2)."""
    half = x.shape[-1] // 2
    return _turned(x[..., :half], x[..., half:], _with_head_dim(cos), _with_head_dim(sin), _concatenated)


def rope_thd(x: Array, cos: Array, sin: Array) -> Expected:
    """``x`` (batch, time, head, d), pairs (j, j + d / 2)."""
    half = x.shape[-1] // 2
    return _turned(x[..., :half], x[..., half:], cos[..., None, :], sin[..., None, :], _concatenated)


def rope_interleaved(x: Array, cos: Array, sin: Array) -> Expected:
    """``x`` (batch, head, time, d), pairs (2 j, 2 j + 1)."""
    return _turned(x[..., 0::2], x[..., 1::2], _with_head_dim(cos), _with_head_dim(sin), _interleaved)


def _with_head_dim(angles: Array) -> Array:
    """Insert a dim for the heads between batch and time."""
    return angles if angles.ndim == 2 else angles[:, None]


def _concatenated(first: Array, second: Array) -> Array:
    return np.concatenate([first, second], axis=-1)


def _interleaved(first: Array, second: Array) -> Array:
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])


def _turned(x: Array, y: Array, c: Array, s: Array, join: Callable[[Array, Array], Array]) -> Expected:
    c, s = (np.broadcast_to(a, x.shape) for a in (c, s))
    value, *others = (join(*pair) for pair in zip(_sums(x, c, -y, s), _sums(x, s, y, c), strict=True))
    return Expected(value, alternatives=tuple(o for o in others if not np.array_equal(o, value)))


def _sums(a: Array, b: Array, c: Array, d: Array) -> Iterator[Array]:
    """Yield the correct results of a b + c d: with every step rounded, and with a product contracted with the sum.

    A step in bf16 has two results if a subnormal result may be computed in f32.
    """
    dtype = array_dtype(a)
    first, second = mul(a, b), mul(c, d)
    for p in _pair(first):
        for q in _pair(second):
            yield from _pair(add(p, q))
    for q in _pair(second):
        yield fma(a, b, q, dtype)
    for p in _pair(first):
        yield fma(c, d, p, dtype)


def _pair(step: Expected) -> tuple[Array, Array]:
    return step.value, step.alternatives[0] if step.alternatives else step.value
