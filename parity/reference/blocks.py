"""Decodes blocks of quantized values (formats: ggml-common.h and ggml-quants.c of llama.cpp).

A block is an element of an array. The functions accept arrays of any shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parity.model.dtypes import Array, array_dtype
from parity.reference.rounding import wide


@dataclass(frozen=True, eq=False)
class Weights:
    """Decoded blocks of shape (...,): value l of group g is ``d steps[g] (q[g, l] - zero) + m mins[g]``.

    Attributes:
        q: stored quants, int32 (..., groups, size).
        d: scale of a block, float64 (...,).
        steps: factors of ``d`` by group, int32 (..., groups).
        m: scale of the minima, float64 (...,); 0 without minima, negative in formats that subtract them.
        mins: factors of ``m`` by group, int32 (..., groups).
        zero: the quant that stands for 0.
    """

    q: Array
    d: Array
    steps: Array
    m: Array
    mins: Array
    zero: int = 0

    @property
    def groups(self) -> int:
        """Number of groups in a block."""
        return int(self.q.shape[-2])

    @property
    def values(self) -> Array:
        """Exact values as float64 (..., groups, size). Infinite scales follow IEEE 754.

        Scales have 11 bits and are multiples of 2**-24 below 2**16. ``d steps q`` therefore has up to 23 bits, and a
        sum up to 52.
        """
        with np.errstate(invalid="ignore"):
            scale, minimum = self.d[..., None] * self.steps, self.m[..., None] * self.mins
            return np.asarray(scale[..., None] * (self.q - self.zero) + minimum[..., None])

    @property
    def rows(self) -> Array:
        """The exact values of blocks of shape (..., n), concatenated: float64 (..., n * values per block)."""
        found = self.values
        return found.reshape(*found.shape[:-3], -1)


def decode(blocks: Array) -> Weights:
    """Decode an array of blocks of any format."""
    return _FORMATS[array_dtype(blocks).name](blocks)


def _plain(blocks: Array, q: Array, zero: int = 0) -> Weights:
    """Decode a format with one group per block, and a minimum if it has a field for it."""
    d = wide(blocks["d"])
    ones = np.ones((*d.shape, 1), np.int32)
    if "m" in (blocks.dtype.names or ()):
        return Weights(q[..., None, :], d, ones, wide(blocks["m"]), ones, zero)
    return Weights(q[..., None, :], d, ones, np.zeros_like(d), np.zeros_like(ones), zero)


def _nibbles(blocks: Array) -> Array:
    """The low bits of 32 values: the low halves of all bytes, then the high halves."""
    qs = blocks["qs"].astype(np.int32)
    return np.concatenate([qs & 15, qs >> 4], axis=-1)


def _fifth_bits(blocks: Array) -> Array:
    return (blocks["qh"][..., None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.int32) << 4


def _q4(zero: int) -> Callable[[Array], Weights]:
    return lambda blocks: _plain(blocks, _nibbles(blocks), zero)


def _q5(zero: int) -> Callable[[Array], Weights]:
    return lambda blocks: _plain(blocks, _nibbles(blocks) | _fifth_bits(blocks), zero)


def _q8(blocks: Array) -> Weights:
    return _plain(blocks, blocks["qs"].astype(np.int32))


def _crumbs(crumbs: Array) -> Array:
    """Two-bit values, (..., 2, 4, 32): byte l of a half holds value l of each of its quarters."""
    halves = crumbs.astype(np.int32).reshape(*crumbs.shape[:-1], 2, 1, 32)
    return np.asarray(halves >> np.arange(0, 8, 2)[:, None] & 3)


def _grouped(q: Array, groups: int) -> Array:
    """Arrange the 256 values of each block in groups."""
    return q.reshape(*q.shape[:-3], groups, 256 // groups).astype(np.int32)


def _q2_k(blocks: Array) -> Weights:
    scales = blocks["scales"].astype(np.int32)
    q = _grouped(_crumbs(blocks["qs"]), 16)
    return Weights(q, wide(blocks["d"]), scales & 15, -wide(blocks["dmin"]), scales >> 4)


def _q3_k(blocks: Array) -> Weights:
    kept = (blocks["hmask"].astype(np.int32)[..., None, None, :] >> np.arange(8).reshape(2, 4, 1)) & 1
    packed = blocks["scales"].astype(np.int32)
    low = np.concatenate([packed[..., :8] & 15, packed[..., :8] >> 4], axis=-1)
    high = (packed[..., None, 8:] >> np.array([[0], [2], [4], [6]], np.int32) & 3).reshape(low.shape)
    d, steps = wide(blocks["d"]), (low | high << 4) - 32
    q = _grouped(_crumbs(blocks["qs"]) - 4 * (1 - kept), 16)
    return Weights(q, d, steps, np.zeros_like(d), np.zeros_like(steps))


def _six_bit_scales(blocks: Array) -> tuple[Array, Array]:
    """Steps and minima of eight groups, with six bits each. The bytes of the first four hold two bits of the last."""
    first, second, third = np.split(blocks["scales"].astype(np.int32), 3, axis=-1)
    steps = np.concatenate([first & 63, third & 15 | first >> 6 << 4], axis=-1)
    mins = np.concatenate([second & 63, third >> 4 | second >> 6 << 4], axis=-1)
    return steps, mins


def _paired_nibbles(blocks: Array) -> Array:
    """The low and then the high halves of each 32 bytes, (..., 4, 2, 32)."""
    qs = blocks["qs"].astype(np.int32)
    return np.asarray(qs.reshape(*qs.shape[:-1], 4, 1, 32) >> np.array([[0], [4]]) & 15)


def _q4_k(blocks: Array) -> Weights:
    steps, mins = _six_bit_scales(blocks)
    return Weights(_grouped(_paired_nibbles(blocks), 8), wide(blocks["d"]), steps, -wide(blocks["dmin"]), mins)


def _q5_k(blocks: Array) -> Weights:
    steps, mins = _six_bit_scales(blocks)
    high = blocks["qh"].astype(np.int32)[..., None, None, :] >> np.arange(8).reshape(4, 2, 1) & 1
    q = _grouped(_paired_nibbles(blocks) | high << 4, 8)
    return Weights(q, wide(blocks["d"]), steps, -wide(blocks["dmin"]), mins)


def _q6_k(blocks: Array) -> Weights:
    ql = blocks["ql"].astype(np.int32)
    low = ql.reshape(*ql.shape[:-1], 2, 1, 2, 32) >> np.array([0, 4])[:, None, None] & 15
    high = _crumbs(blocks["qh"])
    d, steps = wide(blocks["d"]), blocks["scales"].astype(np.int32)
    q = _grouped((low.reshape(high.shape) | high << 4) - 32, 16)
    return Weights(q, d, steps, np.zeros_like(d), np.zeros_like(steps))


_FORMATS: dict[str, Callable[[Array], Weights]] = {
    "q4_0": _q4(zero=8),
    "q4_1": _q4(zero=0),
    "q5_0": _q5(zero=16),
    "q5_1": _q5(zero=0),
    "q8_0": _q8,
    "q8_1": _q8,
    "q2_K": _q2_k,
    "q3_K": _q3_k,
    "q4_K": _q4_k,
    "q5_K": _q5_k,
    "q6_K": _q6_k,
    "q8_K": _q8,
}
