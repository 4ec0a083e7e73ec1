"""Data streams: endless, random-access sequences of elements that are the same on every machine.

Element i of a stream is a pure function of (stream, dtype, tensor name, i). It uses only integer operations and exactly
rounded arithmetic, so that results do not depend on a library's random generator or ``exp``.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Collection, Mapping

import numpy as np

from parity.data.blocks import BLOCK_STREAMS
from parity.data.values import field, mix, special_values, stored
from parity.errors import UsageError, nearest
from parity.model.dtypes import Array, DType

_NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_RANGE = re.compile(rf"(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})")
_LISTED = re.compile(r"values((?:\.-?\d+)+)")
RUN = 64
"""Length of a run of equal elements in ``runs``."""
WIDTHS = (2, 4, 8, 11, 24, 53)
"""Significand widths for ``halfway``, whose elements lie between two numbers of such a width."""
Stream = Callable[[DType, Array, Array, Array], Array]


def elements(
    stream: str, dtype: DType, start: int, count: int, name: str = "", points: tuple[float, ...] = ()
) -> Array:
    """Return elements ``start`` to ``start + count - 1`` of a stream, with shape (count,).

    ``name`` is the tensor's name, so that tensors with the same window hold different data. ``points`` are values that
    matter for the op, which the streams ``points`` and ``near`` use.

    Raises:
        UsageError: no such stream exists.
    """
    known = streams_of(dtype)
    if not has_stream(dtype, stream):
        raise UsageError(unknown_stream(stream, dtype, known))
    index = np.arange(start, start + count, dtype=np.uint64)
    random = mix(index ^ np.uint64(zlib.crc32(f"{stream}/{name}".encode()) << 20))
    make = known[stream] if stream in known else _listed(stream) if _LISTED.fullmatch(stream) else _between(stream)
    return make(dtype, index, random, _points(dtype, points))


@np.errstate(invalid="ignore")
def quiet(x: Array, dtype: DType) -> Array:
    """Return the elements with signalling NaNs replaced by quiet NaNs; 8-bit types and blocks are unchanged."""
    if not dtype.is_float or dtype.itemsize == 1:
        return x
    bits = x.view(dtype.bits)
    return np.asarray(np.where(x != x, bits | dtype.bits.type(1 << (dtype.precision - 2)), bits).view(dtype.numpy))


def unknown_stream(stream: str, dtype: DType, known: Collection[str]) -> str:
    """Return the error message for a stream that a type does not have."""
    of = f" of {dtype}" if dtype.is_block else ""
    between = "" if dtype.is_block else ", LOW..HIGH for numbers in between, and values.A.B.C for A, B, C"
    return f"unknown data{of} {stream!r}; known: {' '.join(known)}{between}{nearest(stream, known)}"


def streams_of(dtype: DType) -> Mapping[str, Stream]:
    """Return the streams of a type, by name."""
    return BLOCK_STREAMS if dtype.is_block else STREAMS


def is_stream(name: str) -> bool:
    """Return whether a name is a stream of numbers, a range ``LOW..HIGH``, or a list ``values.A.B.C``."""
    return name in STREAMS or any(each.fullmatch(name) for each in (_RANGE, _LISTED))


def has_stream(dtype: DType, name: str) -> bool:
    """Return whether a type has a stream with that name."""
    return name in streams_of(dtype) or (not dtype.is_block and is_stream(name))


def _listed(name: str) -> Stream:
    """The whole numbers of a list, from the start of the tensor, repeatedly."""
    numbers = np.array([int(each) for each in name.split(".")[1:]])

    def listed(dtype: DType, index: Array, random: Array, points: Array) -> Array:
        return stored(np.resize(numbers, len(index)), dtype)

    return listed


def _between(name: str) -> Stream:
    """Uniform from LOW to HIGH, rounded to the type. Each end is one element in sixteen."""
    match = _RANGE.fullmatch(name)
    assert match
    low, high = float(match["low"]), float(match["high"])

    def between(dtype: DType, index: Array, random: Array, points: Array) -> Array:
        end, part = field(random, 60, 4), field(random, 4, 53)
        values: Array = low + (high - low) * (part.astype(np.float64) * 2.0**-53)
        if not dtype.is_float:
            values = int(low) + (part % np.uint64(max(1, int(high) - int(low) + 1))).astype(np.int64)
        return stored(np.where(end == 0, low, np.where(end == 1, high, values)), dtype)

    return between


def _sorted(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Ascending. Types with few values have many equal neighbours.

    The square root keeps early elements apart and never exceeds the range of an 8-bit type.
    """
    if dtype.is_float:
        return stored(np.sqrt(index.astype(np.float64) + field(random, 8, 53) * 2.0**-53) - 48.0, dtype)
    return stored(np.minimum(np.sqrt(index.astype(np.float64)).astype(np.int64), min(int(dtype.max), 2**31)), dtype)


def _normal(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Sum of four uniforms, scaled to standard deviation 3 for floats and about 50 for integers."""
    fields = np.sum([field(random, shift, 16).astype(np.int64) for shift in (0, 16, 32, 48)], axis=0) - 2 * 65535
    if dtype.is_float:
        return stored(fields.astype(np.float64) * (3.0 / 37837.0), dtype)
    small = fields // 757
    return stored(np.abs(small) if dtype.kind == "uint" else small, dtype)


def _unit(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Uniform in [-1, 1) for floats, 0 or 1 for integers (a mask)."""
    if dtype.is_float:
        return stored(field(random, 8, 53).astype(np.float64) * 2.0**-52 - 1.0, dtype)
    return stored(field(random, 20, 1), dtype)


def _small(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Whole numbers from -4 (unsigned types: 0) to 4. Sums are exact, which reveals a dropped term."""
    low = 0 if dtype.kind == "uint" else -4
    return stored((field(random, 16, 32) % np.uint64(5 - low)).astype(np.int64) + low, dtype)


def _bits(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Uniform over bit patterns, including all exponents, NaN payloads and infinities."""
    return random.astype(dtype.bits).view(dtype.numpy)


def _patterns(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """All bit patterns in order, repeatedly. 256 elements of an 8-bit type hold each pattern once."""
    return index.astype(dtype.bits).view(dtype.numpy)


def _special(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    table = special_values(dtype)
    return table[(index % np.uint64(len(table))).astype(np.int64)]


def _exact_points(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """The op's points in order, repeatedly. A tensor of len(points) elements holds each point once."""
    return points[(index % np.uint64(len(points))).astype(np.int64)]


def _near(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """A point of the op moved by up to two units in the last place."""
    base = points[(field(random, 0, 31) % np.uint64(len(points))).astype(np.int64)]
    if not dtype.is_float:
        with np.errstate(over="ignore"):
            moved: Array = base + (field(random, 33, 16) % np.uint64(5)).astype(dtype.numpy) - dtype.numpy.type(2)
            return moved
    shift = (field(random, 33, 16) % np.uint64(5)).astype(np.int64) - 2
    return (base.view(dtype.bits).astype(np.int64) + shift).astype(dtype.bits).view(dtype.numpy)


def _mixed(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """A mixture of ``normal``, special values, ``near`` and ``bits``."""
    choice = field(random, 58, 3)
    again = mix(random)
    special = special_values(dtype)
    result = _normal(dtype, index, again, points)
    rare = special[(field(again, 3, 31) % np.uint64(len(special))).astype(np.int64)]
    for number, values in ((5, rare), (6, _near(dtype, index, again, points)), (7, _bits(dtype, index, again, points))):
        result = np.where(choice == number, values, result)
    return result


def _runs(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Runs of one special value each, so that whole rows hold a single value."""
    return _special(dtype, index // np.uint64(RUN), random, points)


def _extreme(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Like ``runs``, with extreme values only: infinities, largest and smallest numbers, NaN and zeros."""
    if dtype.is_float:
        tiny = 2.0 ** (dtype.emin - dtype.precision + 1)
        positive = (np.inf, float(dtype.max), tiny, 0.0)
        ends = dtype.convert(np.array([*(-each for each in positive), np.nan, *positive], np.float64))
    else:
        ends = np.array([dtype.min, dtype.max, 0], dtype.numpy)
    return ends[((index // np.uint64(RUN)) % np.uint64(len(ends))).astype(np.int64)]


@np.errstate(over="ignore")
def _limits(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Half of the elements are limits of the type, 0 or 1, the rest powers of two, moved by at most one unit.

    Signs are random. Elements of two tensors are independent, so that each pair of limits occurs.
    """
    width, one = 8 * dtype.itemsize, dtype.bits.type(1)
    exponent, move = field(random, 8, 32), (field(random, 40, 8) % np.uint64(3)).astype(dtype.bits) - one
    if dtype.is_float:
        tiny = 2.0 ** (dtype.emin - dtype.precision + 1)
        ends = stored(np.array([0.0, 1.0, np.inf, float(dtype.max), tiny, np.nan, 2.0**dtype.emin]), dtype)
        powers = (exponent % np.uint64(1 << (width - dtype.precision))) << np.uint64(dtype.precision - 1)
    else:
        ends = np.array([dtype.min, dtype.max, 0, 1], dtype.numpy)
        powers = np.uint64(1) << exponent % np.uint64(width)
    limits = ends.view(dtype.bits)[(field(random, 48, 12) % np.uint64(len(ends))).astype(np.int64)]
    found = np.where(field(random, 62, 1) == 0, limits, powers.astype(dtype.bits) + move)
    negated = found ^ (one << dtype.bits.type(width - 1)) if dtype.is_float else ~found + one
    return np.where(field(random, 63, 1) == 0, found, negated).astype(dtype.bits).view(dtype.numpy)


def _lowest(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Only the lowest value: -Inf, or the smallest integer."""
    lowest = dtype.convert(np.array([-np.inf])) if dtype.is_float else np.array([dtype.min], dtype.numpy)
    return np.repeat(lowest, len(index))


def _halfway(dtype: DType, index: Array, random: Array, points: Array) -> Array:
    """Numbers halfway between two numbers of fewer bits, or next to such a number, where double rounding fails.

    A quarter of the floating-point elements are about half a unit in the last place of 1, so that sums are ties.
    """
    own = dtype.precision or 8 * dtype.itemsize - (dtype.kind == "int")
    widths = np.array([width for width in WIDTHS if width < own], np.uint64)
    width = widths[(field(random, 0, 16) % np.uint64(len(widths))).astype(np.int64)]
    one, left = np.uint64(1), np.uint64(own) - width
    leading = (one << (width - one)) + (field(random, 16, 32) & ((one << (width - one)) - one))
    nudge = (field(random, 48, 8) % np.uint64(3)).astype(np.int64) - 1
    significand = ((leading << left) + (one << (left - one)) + nudge.astype(np.uint64)).astype(np.uint64)
    if not dtype.is_float:
        whole: Array = significand >> field(random, 56, 2)
        return whole.astype(dtype.numpy)
    half_unit = field(random, 60, 2) == 0
    significand = np.where(half_unit, (one << np.uint64(own - 1)) + np.maximum(nudge, 0).astype(np.uint64), significand)
    exponent = np.where(half_unit, -own, field(random, 56, 2).astype(np.int64)) - (own - 1)
    sign = 1.0 - 2.0 * field(random, 58, 1).astype(np.float64)
    return stored(sign * np.ldexp(significand.astype(np.float64), exponent), dtype)


STREAMS: dict[str, Stream] = {
    "normal": _normal,
    "unit": _unit,
    "special": _special,
    "points": _exact_points,
    "near": _near,
    "mixed": _mixed,
    "bits": _bits,
    "patterns": _patterns,
    "small": _small,
    "sorted": _sorted,
    "probability": _between("0..1"),
    "runs": _runs,
    "halfway": _halfway,
    "extreme": _extreme,
    "limits": _limits,
    "lowest": _lowest,
}


@functools.cache
def _points(dtype: DType, points: tuple[float, ...]) -> Array:
    if dtype.is_block:
        return np.empty(0)
    if not points:
        return special_values(dtype)
    if dtype.is_float:
        return stored(np.array(points, np.float64), dtype)
    low, high = int(dtype.min), int(dtype.max)
    return np.array([min(max(int(p), low), high) for p in points if np.isfinite(p)] or [0], dtype.numpy)
