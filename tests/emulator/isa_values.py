"""Values and functions of AMD's pseudo-code.

The type of a value is a kind (``U`` unsigned, ``I`` signed, ``F`` float, ``BF`` bfloat, ``B`` bits) and a width in
bits. Floats are computed with gmpy2 and rounded to the type once per operation.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2

EXACT = gmpy2.context(precision=400, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max())
#: Holds any sum of an f64 and a product of two, but overflows as an f64 does.
_WIDE = gmpy2.context(precision=4400, emin=gmpy2.get_emin_min(), emax=1024)
_CONTEXTS = {
    ("F", 16): gmpy2.context(precision=11, emin=-23, emax=16, subnormalize=True),
    ("BF", 16): gmpy2.context(precision=8, emin=-132, emax=128, subnormalize=True),
    ("F", 32): gmpy2.context(precision=24, emin=-148, emax=128, subnormalize=True),
    ("F", 64): gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True),
    ("F", 0): gmpy2.context(EXACT, precision=4400),
}
FORMATS = {("F", 16): (10, 15), ("F", 32): (23, 127), ("F", 64): (52, 1023), ("BF", 16): (7, 127)}


@dataclass(frozen=True, slots=True)
class Value:
    """The ``bits`` of a type; for ``F`` of width 0, which is exact, ``bits`` is the number."""

    kind: str
    width: int
    bits: Any

    @property
    def is_float(self) -> bool:
        return self.kind in ("F", "BF")

    @property
    def number(self) -> Any:
        """The value as a Python int or an mpfr."""
        if self.kind == "I":
            return self.bits - (1 << self.width) if self.bits >> (self.width - 1) else self.bits
        return _float_of(self) if self.is_float else self.bits

    def cut(self, low: int, width: int) -> Value:
        return Value("U", width, self.bits >> low & (1 << width) - 1)


@functools.lru_cache(1 << 16)
def _float_of(x: Value) -> Any:
    if x.width == 0:
        return x.bits
    if x.kind == "BF":
        return gmpy2.mpfr(struct.unpack("<f", struct.pack("<I", x.bits << 16))[0])
    code, word = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[x.width]
    with gmpy2.context(EXACT):
        return gmpy2.mpfr(struct.unpack(code, struct.pack(word, x.bits))[0])


class Memory:
    """Bytes by address: ``MEM`` of a program."""

    def __init__(self, content: bytes) -> None:
        self.content = bytearray(content)

    def read(self, address: int, width: int) -> int:
        return int.from_bytes(self.content[address : address + width // 8], "little")

    def write(self, address: int, width: int, bits: int) -> None:
        self.content[address : address + width // 8] = bits.to_bytes(width // 8, "little")


def integer(number: int, kind: str = "I", width: int = 32) -> Value:
    return Value(kind, width, number & (1 << width) - 1)


def rounded(number: Any, kind: str, width: int, truncate: bool = False) -> Value:
    """Return the float of a type nearest to an exact number (ties to even), or the quiet NaN of the type."""
    if width == 0:
        return Value(kind, 0, number)
    with gmpy2.context(_CONTEXTS[kind, width], round=gmpy2.RoundToZero if truncate else gmpy2.RoundToNearest):
        result = float(gmpy2.mpfr(number))
    return Value(kind, width, _encode(result, kind, width))


def _nan_of(x: Value, kind: str, width: int) -> Value:
    """Convert a NaN to another format with the same sign and upper payload bits, so that it stays signalling."""
    (old, _), (new, bias) = FORMATS[x.kind, x.width], FORMATS[kind, width]
    payload = x.bits & (1 << old) - 1
    payload = payload << new - old if new > old else payload >> old - new
    return Value(kind, width, x.bits >> x.width - 1 << width - 1 | (2 * bias + 1) << new | payload)


def _encode(x: float, kind: str, width: int) -> int:
    if x != x:
        fraction, bias = FORMATS[kind, width]
        return (2 * bias + 1) << fraction | 1 << (fraction - 1)
    if kind == "BF":
        return int.from_bytes(struct.pack("<f", x), "little") >> 16
    return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[width], x), "little")


def compute(function: Callable[..., Any], *operands: Value) -> Value:
    """Compute a float operation in the type of its operands, rounded once; exact operands take the other operand's
    type.
    """
    widest = max(operands, key=lambda v: v.width)
    if widest.width and not all(v.width for v in operands):
        with gmpy2.context(EXACT):
            return rounded(function(*(v.number for v in operands)), widest.kind, widest.width)
    with gmpy2.context(_CONTEXTS[widest.kind, widest.width]):
        result = function(*(v.number for v in operands))
        return Value(
            widest.kind, widest.width, result if not widest.width else _encode(float(result), widest.kind, widest.width)
        )


def cast(x: Value, kind: str, width: int) -> Value:
    """Cast a value: round floats, reinterpret bits of the same width."""
    to_float = kind in ("F", "BF")
    if x.is_float and to_float:
        if x.width == 0 or (x.kind, x.width) == (kind, width):
            return x
        return _nan_of(x, kind, width) if gmpy2.is_nan(x.number) else rounded(x.number, kind, width)
    if to_float:
        as_bits = x.kind == "B" and x.width <= 64  # 32'F(0xffc00000)
        return Value(kind, width, x.bits & (1 << width) - 1) if as_bits else rounded(x.number, kind, width)
    if x.is_float:
        raise TypeError(f"cast of a float to {width}'{kind}")
    return integer(x.number, kind, width)


def convert(x: Value, kind: str, width: int, truncate: bool = False) -> Value:
    """``X_to_Y``: round (or truncate) floats. To integers: truncate and saturate; NaN becomes 0."""
    if kind in ("F", "BF"):
        return rounded(x.number, kind, width, truncate) if x.is_float or kind == "F" else x
    if kind in ("SNORM", "UNORM"):
        low, high = (-32767, 32767) if kind == "SNORM" else (0, 65535)
        with gmpy2.context(EXACT):
            n = x.number
            scaled = 0 if gmpy2.is_nan(n) else int(gmpy2.rint(max(min(n, 1), low // high) * high))
        return integer(scaled, "I" if kind == "SNORM" else "U", 16)
    n = x.number
    top = (1 << width - (kind == "I")) - 1
    bottom = -1 - top if kind == "I" else 0
    if x.is_float:
        n = 0 if gmpy2.is_nan(n) else (top if n > 0 else bottom) if gmpy2.is_infinite(n) else int(gmpy2.rint_trunc(n))
    return integer(max(min(n, top), bottom), kind, width)


def exponent_bits(x: Value) -> int:
    fraction, bias = FORMATS[x.kind, x.width]
    return x.bits >> fraction & 2 * bias + 1


def is_subnormal(x: Value) -> Value:
    return integer(exponent_bits(x) == 0 and x.number != 0, "U", 1)


def _is_nan(x: Value, quiet: bool | None = None) -> Value:
    fraction, _ = FORMATS[x.kind, x.width]
    nan = bool(gmpy2.is_nan(x.number))
    return integer(nan and quiet in (None, bool(x.bits >> (fraction - 1) & 1)), "U", 1)


def _widened_nan(x: Value) -> Value:
    return Value(x.kind, x.width, x.bits | 1 << FORMATS[x.kind, x.width][0] - 1)


def _in(context: Any, function: Callable[..., Any], *numbers: Any) -> Any:
    with gmpy2.context(context):
        return function(*numbers)


def _floor(x: Value) -> Value:
    return compute(gmpy2.rint_floor, x)


def _mantissa(x: Value) -> Value:
    if x.number == 0:
        return x
    with gmpy2.context(EXACT):
        _, m = gmpy2.frexp(x.number)
    return rounded(m, x.kind, x.width)


def _normalised(x: Value) -> Value:
    """Return the biased exponent of a number as if it were normal; for zero, the exponent for which frexp gives 0."""
    _, bias = FORMATS[x.kind, x.width]
    return integer(bias - 1 if x.number == 0 else gmpy2.frexp(x.number)[0] + bias - 1)


def _signext_from_bit(x: Value, size: Value) -> Value:
    n = size.number
    if n == 0 or n >= x.width:
        return integer(0 if n == 0 else x.number, x.kind, x.width)
    field = x.bits & (1 << n) - 1
    return integer(field - (1 << n) if field >> (n - 1) else field, "I", x.width)


def power_of_two(n: int) -> Any:
    return gmpy2.exp2(max(min(n, 20000), -20000))  # farther than any float, but not zero


def _ldexp(x: Value, n: Value) -> Value:
    with gmpy2.context(EXACT):
        return rounded(gmpy2.mul(x.number, power_of_two(n.number)), x.kind, x.width)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "fma": lambda a, b, c: compute(gmpy2.fma, a, b, c),
    "fma_unrounded": lambda a, b, c: Value("F", 0, _in(_WIDE, gmpy2.fma, a.number, b.number, c.number)),
    "floor": _floor,
    "trunc": lambda x: compute(gmpy2.rint_trunc, x),
    "fract": lambda x: compute(lambda n: n - gmpy2.rint_floor(n), x),
    "sqrt": lambda x: compute(gmpy2.sqrt, x),
    "log2": lambda x: compute(gmpy2.log2, x),
    "pow": lambda x, y: compute(lambda a, b: gmpy2.exp2(b), x, y),
    "abs": lambda x: Value(x.kind, x.width, x.bits & ~(1 << x.width - 1)),
    "sign": lambda x: x.cut(x.width - 1, 1),
    "exponent": lambda x: integer(exponent_bits(x)),
    "exponent_of_normalised": _normalised,
    "mantissa": _mantissa,
    "ldexp": _ldexp,
    "isNAN": _is_nan,
    "isQuietNAN": lambda x: _is_nan(x, True),
    "isSignalNAN": lambda x: _is_nan(x, False),
    "isEven": lambda x: integer(x.number % 2 == 0, "U", 1),
    "cvtToQuietNAN": _widened_nan,
    "signext": lambda x: x,
    "signext_from_bit": _signext_from_bit,
    "CalcDsAddr": lambda address, *offsets: address,
    "CalcGlobalAddr": lambda address, *offsets: address,
    "s_ff1_i32_b32": lambda x: integer((x.bits & -x.bits).bit_length() - 1),
    "s_ff1_i32_b64": lambda x: integer((x.bits & -x.bits).bit_length() - 1),
}
CONSTANTS = {
    "INF": rounded(float("inf"), "F", 64),
    "NAN": rounded(float("nan"), "F", 64),
    "PI": rounded(gmpy2.const_pi(300), "F", 64),
    "ROUND_MODE": integer(0),
    "ROUND_NEAREST_EVEN": integer(0),
    "ROUND_TOWARD_ZERO": integer(3),
    "MAX_FLOAT_F32": Value("F", 32, 0x7F7FFFFF),
    "OVERFLOW_F32": Value("F", 32, 0x7F800000),
    "OVERFLOW_F64": Value("F", 64, 0x7FF0000000000000),
    "UNDERFLOW_F32": Value("F", 32, 0),
    "UNDERFLOW_F64": Value("F", 64, 0),
}
