"""Data streams of quantized blocks: what ``parity.data.streams`` promises, where an element is a whole block.

A block is made of random bytes, which a stream then changes: its fields of a floating-point type (``d``, ``m``, ``s``,
``dmin``) are scales, all others are bytes that mean quants, or scales of parts of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from parity.data.values import field, mix, special_values
from parity.model.dtypes import Array, DType, array_dtype

__all__ = ["BLOCK_STREAMS", "scale_fields"]


LOWEST = {"s": -2}
"""Binary exponents of the smallest scales in ``normal``: ``s`` of q8_1 is the sum of a block's values."""
LOWEST_STEP, BINADES = -9, 6
"""That of all others, which are steps between quants; and how many powers of two they spread over."""

WHOLE_STEPS = (1, 2, -1, -2)
"""``d`` in ``small``: never 0, so that no quant is without effect."""
WHOLE_TERMS = (0, 1, 2, -1, 3, -2, 1, -3)
"""All other scales in ``small``."""

SMALL: Mapping[str, Mapping[str, tuple[int | Sequence[int], int | Sequence[int]]]] = {
    "q8_0": {"qs": (7, 0xFC)},  # -4 to 3
    "q8_1": {"qs": (7, 0xFC)},
    "q8_K": {"qs": (7, 0xFC)},
    "q2_K": {"scales": (0x33, 0)},
    # Codes of 6 bits, less 32: the first eight scales are 32 to 35, the others 30 or 31.
    "q3_K": {"scales": ((*[0x13] * 8, *[0] * 4), (*[0xE0] * 8, *[0x5A] * 4))},
    "q4_K": {"scales": ((*[0x03] * 8, *[0x33] * 4), 0)},  # the high bits of the last four lie in the first eight bytes
    "q5_K": {"scales": ((*[0x03] * 8, *[0x33] * 4), 0)},
    "q6_K": {"scales": (3, 0xFE)},  # -2 to 1
}
"""Fields that are small in ``small``: which of their random bits stay, and what is added to every byte, modulo 256."""


def scale_fields(dtype: DType) -> tuple[str, ...]:
    """Names of the floating-point fields of a type of blocks, in their order in memory."""
    return tuple(name for name in dtype.numpy.names or () if dtype.numpy[name].kind == "f")


def _blocks(dtype: DType, content: Array) -> Array:
    """Rows of bytes as blocks, in memory of their own."""
    return np.ascontiguousarray(content, np.uint8).ravel().view(dtype.numpy)


def _bits(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Random bytes in every field, so that scales are NaN and infinities as well."""
    words = mix(random[:, None] + np.arange(-(-dtype.itemsize // 8), dtype=np.uint64))
    return _blocks(dtype, words.astype("<u8").view(np.uint8)[:, : dtype.itemsize])


def _normal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Scales like those of real models, of either sign and from 2**-9 up to 2**-3; all other bytes are random.

    ``s`` of q8_1 is from 2**-2 up to 2**4 and has nothing to do with the quants.
    """
    blocks = _bits(dtype, index, random, points)
    for name in scale_fields(dtype):
        kind = array_dtype(blocks[name])
        bits = blocks[name].view(kind.bits).astype(np.uint64)
        fraction = field(bits, 0, kind.precision - 1).astype(np.float64) * 2.0 ** (1 - kind.precision)
        exponent = LOWEST.get(name, LOWEST_STEP) + (field(bits, kind.precision - 1, 5) % np.uint64(BINADES)).astype(int)
        sign = 1.0 - 2.0 * field(bits, 8 * kind.itemsize - 1, 1).astype(np.float64)
        blocks[name] = np.ldexp(sign * (1 + fraction), exponent)
    return blocks


def _small(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Values that are small whole numbers: sums of thousands of products of them are exact, so a dropped one shows.

    Quants of up to 6 bits are random over all of their range.
    """
    blocks = _bits(dtype, index, random, points)
    for name in scale_fields(dtype):
        whole = np.array(WHOLE_STEPS if name == "d" else WHOLE_TERMS)
        blocks[name] = whole[blocks[name].view(array_dtype(blocks[name]).bits) % len(whole)]
    for name, (kept, added) in SMALL.get(dtype.name, {}).items():
        small = (blocks[name].view(np.uint8) & np.array(kept, np.uint8)) + np.array(added, np.uint8)
        blocks[name] = small.view(blocks[name].dtype)
    return blocks


def _special(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Every scale goes through the special values of its type, each in another order; all other bytes are random."""
    blocks = _bits(dtype, index, random, points)
    for number, name in enumerate(scale_fields(dtype)):
        table = special_values(array_dtype(blocks[name]))
        blocks[name] = table[(index * np.uint64(7**number) % np.uint64(len(table))).astype(np.int64)]
    return blocks


def _subnormal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Random bytes, with scales that are subnormal numbers or zeros of either sign."""
    blocks = _bits(dtype, index, random, points)
    for name in scale_fields(dtype):
        kind = array_dtype(blocks[name])
        exponent = kind.bits.type((1 << (8 * kind.itemsize - kind.precision)) - 1 << (kind.precision - 1))
        blocks[name] = (blocks[name].view(kind.bits) & ~exponent).view(kind.numpy)
    return blocks


def _patterns(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Every byte at every place of a block, in 256 consecutive blocks; the scales are 1, a second one is 2."""
    places = np.arange(dtype.itemsize, dtype=np.uint64)
    blocks = _blocks(dtype, field(index[:, None] + np.uint64(37) * places, 0, 8))
    for number, name in enumerate(scale_fields(dtype), 1):
        blocks[name] = number
    return blocks


def _equal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """One random byte in all places of a block but its scales, which are as in ``normal``."""
    blocks = _blocks(dtype, np.repeat(field(random, 20, 8), dtype.itemsize))
    usual = _normal(dtype, index, random, points)
    for name in scale_fields(dtype):
        blocks[name] = usual[name]
    return blocks


def _mixed(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Half of the blocks normal; the rest small, with special scales, of any bytes, or of equal bytes."""
    choice, again = field(random, 58, 3), mix(random)
    blocks = _normal(dtype, index, again, points)
    for number, make in ((4, _small), (5, _special), (6, _bits), (7, _equal)):
        chosen = choice == number
        blocks[chosen] = make(dtype, mix(again[chosen]), again[chosen], points)
    return blocks


BLOCK_STREAMS: dict[str, Callable[[DType, Array, Array, Array], Array]] = {
    "normal": _normal,
    "small": _small,
    "special": _special,
    "mixed": _mixed,
    "bits": _bits,
    "patterns": _patterns,
    "equal": _equal,
    "subnormal": _subnormal,
}
