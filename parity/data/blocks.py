"""Data streams of quantized blocks. They have the properties of ``parity.data.streams``; an element is a whole block.

A block starts as random bytes, which the stream then changes. Floating-point fields (``d``, ``m``, ``s``, ``dmin``) are
scales. The other fields are quants, or scales of parts of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from parity.data.values import field, mix, special_values
from parity.model.dtypes import Array, DType, array_dtype

LOWEST = {"s": -2}
"""Binary exponents of the smallest scales in ``normal``: ``s`` of q8_1 is the sum of a block's values."""
LOWEST_STEP, BINADES = -9, 6
"""Binary exponent of other scales, which are steps between quants, and the number of binades that all scales span."""

WHOLE_STEPS = (1, 2, -1, -2)
"""Values of ``d`` in ``small``: never 0, so that every quant has an effect."""
WHOLE_TERMS = (0, 1, 2, -1, 3, -2, 1, -3)
"""Values of other scales in ``small``."""

SMALL: Mapping[str, Mapping[str, tuple[int | Sequence[int], int | Sequence[int]]]] = {
    "q8_0": {"qs": (7, 0xFC)},  # -4 to 3
    "q8_1": {"qs": (7, 0xFC)},
    "q8_K": {"qs": (7, 0xFC)},
    "q2_K": {"scales": (0x33, 0)},
    # Scales are codes of 6 bits minus 32: the first eight codes are 32 to 35, the rest 30 or 31.
    "q3_K": {"scales": ((*[0x13] * 8, *[0] * 4), (*[0xE0] * 8, *[0x5A] * 4))},
    "q4_K": {"scales": ((*[0x03] * 8, *[0x33] * 4), 0)},  # the high bits of the last four lie in the first eight bytes
    "q5_K": {"scales": ((*[0x03] * 8, *[0x33] * 4), 0)},
    "q6_K": {"scales": (3, 0xFE)},  # -2 to 1
}
"""Fields with small values in ``small``: a mask for their random bits, and an addend for every byte, modulo 256."""


def scale_fields(dtype: DType) -> tuple[str, ...]:
    """Return the names of the floating-point fields of a block, in memory order."""
    return tuple(name for name in dtype.numpy.names or () if dtype.numpy[name].kind == "f")


def _blocks(dtype: DType, content: Array) -> Array:
    """Copy rows of bytes to blocks."""
    return np.ascontiguousarray(content, np.uint8).ravel().view(dtype.numpy)


def _bits(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Random bytes in every field; scales include NaN and infinities."""
    words = mix(random[:, None] + np.arange(-(-dtype.itemsize // 8), dtype=np.uint64))
    return _blocks(dtype, words.astype("<u8").view(np.uint8)[:, : dtype.itemsize])


def _normal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Scales as in real models, of either sign, from 2**-9 up to 2**-3; other bytes are random.

    ``s`` of q8_1 is from 2**-2 up to 2**4 and independent of the quants.
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
    """Small whole values. Sums of thousands of products are exact, which reveals a dropped term.

    Quants of up to 6 bits are random over their full range.
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
    """Every scale cycles through the special values of its type, each in a different order; other bytes are random."""
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
    """Every byte value at every position, within 256 consecutive blocks. The first scale is 1, the second 2."""
    places = np.arange(dtype.itemsize, dtype=np.uint64)
    blocks = _blocks(dtype, field(index[:, None] + np.uint64(37) * places, 0, 8))
    for number, name in enumerate(scale_fields(dtype), 1):
        blocks[name] = number
    return blocks


def _equal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """One random byte at all positions of a block, except scales, which are as in ``normal``."""
    blocks = _blocks(dtype, np.repeat(field(random, 20, 8), dtype.itemsize))
    usual = _normal(dtype, index, random, points)
    for name in scale_fields(dtype):
        blocks[name] = usual[name]
    return blocks


def _mixed(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Half of the blocks are from ``normal``, the rest from ``small``, ``special``, ``bits`` and ``equal``."""
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
