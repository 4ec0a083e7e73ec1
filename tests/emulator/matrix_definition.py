"""Compute matrix products from their definition, in exact integers, with the layouts of AMD's documents.

Only the rows of ``matrix.csv`` are shared with the emulator. The formulas of AMD's Matrix Instruction Calculator map
coordinates to register, bits and lane; the emulator maps in the other direction. Numbers are Python integers, multiples
of 2**-SCALE, which round only where the definition rounds.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import gmpy2
import ml_dtypes
import numpy as np

from parity.emulator.amdgpu.matrix import TYPE_BITS, MatrixInstruction

Array = np.ndarray[Any, Any]
SCALE = 400
"""Products of two bf16 numbers are multiples of 2**-266, products of two f32 numbers of 2**-298."""
SCALE_F64 = 2200

_ROUND = {
    "f64": gmpy2.context(precision=53, emax=1024, emin=-1073, subnormalize=True),
    "f32": gmpy2.context(precision=24, emax=128, emin=-148, subnormalize=True),
    "f16": gmpy2.context(precision=11, emax=16, emin=-23, subnormalize=True),
    "bf16": gmpy2.context(precision=8, emax=128, emin=-132, subnormalize=True),
}
_NUMPY = {"f64": np.float64, "f32": np.float32, "xf32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
_F8 = {
    ("fp8", True): ml_dtypes.float8_e4m3fnuz, ("bf8", True): ml_dtypes.float8_e5m2fnuz,
    ("fp8", False): ml_dtypes.float8_e4m3fn, ("bf8", False): ml_dtypes.float8_e5m2,
}  # fmt: skip


@dataclass(frozen=True)
class Modifiers:
    """The modifiers of an instruction: as printed, and as numbers; the bit of A is the lowest bit of a list."""

    text: str = ""
    cbsz: int = 0
    abid: int = 0
    blgp: int = 0
    neg_lo: int = 0
    neg_hi: int = 0
    high: int = 0
    clamp: bool = False


@dataclass
class Registers:
    """The 32-bit registers of a wavefront: (number, lane)."""

    a: Array
    b: Array
    c: Array
    index: Array | None = field(default=None)


# --- where elements are ----------------------------------------------------------------------------------------------


def place_of_input(row: MatrixInstruction, which: str, i: int, k: int, block: int) -> tuple[int, int, int]:
    """Return the register, first bit and lane of A[i][k] or B[k][i]; for a sparse A, of the k-th stored number."""
    bits, size = TYPE_BITS[getattr(row, which)], row.m if which == "a" else row.n
    compressed = row.sparse and which == "a"
    if row.target in ("gfx90a", "gfx942", "gfx950"):
        depth = row.k // 2 if compressed else row.k
        neighbours = depth // (64 // (size * row.blocks))
        element = k % neighbours
        return element * bits // 32, element * bits % 32, block * size + k // neighbours * size * row.blocks + i
    if row.target == "gfx1100":
        return k * bits // 32, k * bits % 32, i
    if compressed:
        four, second = k // 2 * 4, k % 2  # the first of the four elements that it may be
        if bits == 16:
            return 2 * (four // 16) + four // 4 % 2, 16 * second, 16 * (four // 8 % 2) + i
        if bits == 8:
            return four // 8 % 2, 16 * (four // 4 % 2) + 8 * second, 16 * (four // 16) + i
        if row.k == 32:
            return 0, 8 * (four // 4 % 4) + 4 * second, 16 * (four // 16) + i
        return four // 16 % 2, 8 * (four // 4 % 4) + 4 * second, 16 * (four // 32) + i
    at = bits * (k % (32 // bits))
    if row.sparse:
        if bits == 16:
            return 4 * (k // 16) + k // 2 % 4, at, 16 * (k // 8 % 2) + i
        if bits == 8:
            return k // 4 % 4, at, 16 * (k // 16) + i
        return k // 8 % (row.k // 16), at, 16 * (k // (row.k // 2)) + i
    if bits == 16:
        return 2 * (k // 8) + k // 2 % 2, at, 16 * (k // 4 % 2) + i
    if bits == 8:
        return k // 4 % 2, at, 16 * (k // 8) + i
    return k // 8 % (row.k // 16), at, 16 * (k // (row.k // 2)) + i


def place_of_index(row: MatrixInstruction, modifiers: Modifiers, i: int, k: int) -> tuple[int, int]:
    """Return the first bit and the lane of the index of the k-th stored number of a row."""
    _, _, lane = place_of_input(row, "a", i, k, 0)
    four, second = k // 2 * 4, k % 2
    if row.target in ("gfx942", "gfx950"):
        neighbours = row.k // 2 // (64 // row.m)
        sets = 0 if modifiers.cbsz else modifiers.abid * 2 * neighbours
        return sets + 2 * (k % neighbours), lane
    first = 8 * (four // 16) + 4 * (four // 4 % 2) if TYPE_BITS[row.a] == 16 else 4 * (four // 4 % (row.k // 8))
    return modifiers.abid * 16 + first + 2 * second, lane


def place_of_output(row: MatrixInstruction, modifiers: Modifiers, i: int, j: int, block: int) -> tuple[int, int, int]:
    """Return the register, first bit and lane of C[i][j] and D[i][j]."""
    if row.target == "gfx1100":
        return i // 2, 16 * modifiers.high if TYPE_BITS[row.d] == 16 else 0, 16 * (i % 2) + j
    if row.target == "gfx1201":
        lane = 16 * (i // 8) + j
        return (i % 8 // 2, 16 * (i % 2), lane) if TYPE_BITS[row.d] == 16 else (i % 8, 0, lane)
    if row.d == "f64":
        return (0, 0, 16 * i + 4 * block + j) if row.m == 4 else (2 * (i // 4), 0, 16 * (i % 4) + j)
    if row.m == 32:
        return 16 * block + 4 * (i // 8) + i % 4, 0, 32 * (i // 4 % 2) + j
    if row.m == 16:
        return 4 * block + i % 4, 0, 16 * (i // 4) + j
    return i, 0, 4 * block + j


def lane_of_b(lane: int, pattern: int) -> int:
    """Return the lane that is read instead of this lane (blgp; CDNA3 ISA, "VOP3P-MAI")."""
    return {
        0: lane, 1: lane & 31, 2: lane & 31 | 32, 3: (lane + 16) % 64,
        4: lane & 15, 5: lane & 15 | 16, 6: lane & 15 | 32, 7: lane & 15 | 48,
    }[pattern]  # fmt: skip


# --- matrices --------------------------------------------------------------------------------------------------------


def words(registers: Array, number: int, at: int, lane: int, bits: int) -> int:
    if bits == 64:
        return int(registers[number, lane]) | int(registers[number + 1, lane]) << 32
    return int(registers[number, lane]) >> at & ((1 << bits) - 1)


def value(word: int, kind: str, fnuz: bool) -> float | int:
    """Return the number that bits of a type represent; integers are unsigned."""
    if kind in ("fp8", "bf8"):
        return float(np.array([word], np.uint8).view(_F8[kind, fnuz])[0].astype(np.float64))
    if kind == "xf32":
        word &= ~0x1FFF
    bits = TYPE_BITS[kind]
    if kind in _NUMPY:
        with np.errstate(invalid="ignore"):
            return float(np.array([word], f"u{bits // 8}").view(_NUMPY[kind])[0].astype(np.float64))
    return word


def signed(word: int, bits: int) -> int:
    return word - (1 << bits) if word >> bits - 1 else word


def elements(
    row: MatrixInstruction, registers: Registers, modifiers: Modifiers, fnuz: bool, every: int = 1
) -> Iterator[tuple[int, int, int, float | int, list[tuple[float | int, float | int]]]]:
    """Yield block, row and column of each result, its C, and the factors of its products in the order of k."""

    @functools.cache
    def factor(which: str, i: int, k: int, block: int) -> float | int:
        kind = getattr(row, which)
        number, at, lane = place_of_input(row, which, i, k, block)
        if which == "b" and modifiers.blgp:
            lane = lane_of_b(lane, modifiers.blgp)
        word, bits = (
            words(getattr(registers, which), number * (2 if kind == "f64" else 1), at, lane, TYPE_BITS[kind]),
            TYPE_BITS[kind],
        )
        operand = "ab".index(which)
        if kind == "i8" or (kind[:2] == "iu" and modifiers.neg_lo >> operand & 1):
            return signed(word, bits)
        x = value(word, kind, fnuz)
        if kind[0] != "i":
            upper = bits == 16 and at == 16
            x = -x if (modifiers.neg_hi if upper else modifiers.neg_lo) >> operand & 1 else x
            if row.target == "gfx90a" and bits == 16 and abs(x) < (2.0**-14 if kind == "f16" else 2.0**-126):
                x = 0.0
        return x

    for block in range(row.blocks):
        source = block // 2**modifiers.cbsz * 2**modifiers.cbsz + modifiers.abid if not row.sparse else block
        for i in range(row.m):
            for j in range(row.n):
                if ((block * row.m + i) * row.n + j) % every:
                    continue
                number, at, lane = place_of_output(row, modifiers, i, j, block)
                word = words(registers.c, number, at, lane, TYPE_BITS[row.d])
                c = signed(word, 32) if row.d == "i32" else value(word, row.d, fnuz)
                if row.d != "i32":
                    c = abs(c) if modifiers.neg_hi >> 2 & 1 else c
                    c = -c if modifiers.neg_lo >> 2 & 1 else c
                    if row.target == "gfx90a" and TYPE_BITS[row.a] == 16 and abs(c) < 2.0**-126:
                        c = 0.0
                factors = []
                for k in range(row.k // 2 if row.sparse else row.k):
                    meets = k
                    if row.sparse:
                        assert registers.index is not None
                        first, lane = place_of_index(row, modifiers, i, k)
                        meets = k // 2 * 4 + (int(registers.index[0, lane]) >> first & 3)
                    factors.append((factor("a", i, k, source), factor("b", j, meets, block)))
                yield block, i, j, c, factors


# --- sums ------------------------------------------------------------------------------------------------------------


def exact(x: float, scale: int) -> int:
    numerator, denominator = x.as_integer_ratio()
    return (numerator << scale) // denominator


def rounded(x: int, scale: int, kind: str) -> float:
    with gmpy2.context(_ROUND[kind]):
        return float(gmpy2.mpfr(gmpy2.mpq(x, 1 << scale)))


def without_number(c: float, factors: list[tuple[float, float]]) -> float | None:
    """Return the sum if an operand is a NaN or an infinity, otherwise ``None``."""
    if all(map(math.isfinite, (c, *itertools.chain.from_iterable(factors)))):
        return None
    with np.errstate(all="ignore"):
        total = sum((np.float64(a) * np.float64(b) for a, b in factors), np.float64(c))
    return float(total)


def flushed(x: float, row: MatrixInstruction) -> float:
    return 0.0 if row.target == "gfx90a" and TYPE_BITS[row.a] == 16 and abs(x) < 2.0**-126 else x


def nearest(row: MatrixInstruction, c: float, factors: list[tuple[float, float]]) -> float:
    """Add each group of products and the sum so far exactly, and round once; in chains, a group is one product."""
    if (special := without_number(c, factors)) is not None:
        return special
    scale = SCALE_F64 if row.d == "f64" else SCALE
    half = scale // 2
    for start in range(0, len(factors), row.group):
        total = exact(c, scale)
        for a, b in factors[start : start + row.group]:
            total += exact(a, half) * exact(b, half)
        last = start + row.group >= len(factors)
        c = flushed(rounded(total, scale, row.d if last or row.d == "f64" else "f32"), row)
        if np.isinf(c):
            break
    return c


def integer(c: int, factors: list[tuple[int, int]], clamp: bool) -> int:
    total = c + sum(a * b for a, b in factors)
    return max(min(total, 2**31 - 1), -(2**31)) if clamp else signed(total & 0xFFFFFFFF, 32)


def measured(row: MatrixInstruction, c: float, factors: list[tuple[float, float]], fnuz: bool) -> float:
    """Return the sum that Xie et al. measured on CDNA 2 and CDNA 3 (arXiv 2511.10909)."""
    if row.sums in ("chain", "once"):
        return nearest(row, c, factors)
    if (special := without_number(c, factors)) is not None:
        return special
    groups = (factors[start : start + row.group] for start in range(0, len(factors), row.group))
    for group in groups:
        products = [exact(a, SCALE // 2) * exact(b, SCALE // 2) for a, b in group]
        if row.sums == "pairs":
            numbers = [flushed(rounded(x, SCALE, "f32"), row) for x in products]
            while len(numbers) > 1:
                pairs = zip(numbers[::2], numbers[1::2], strict=True)
                numbers = [flushed(float(np.float32(x) + np.float32(y)), row) for x, y in pairs]
            c = flushed(float(np.float32(c) + np.float32(numbers[0])), row)
        else:
            c = _aligned(row, c, group, products, fnuz)
    return c


def _aligned(
    row: MatrixInstruction, c: float, group: list[tuple[float, float]], products: list[int], fnuz: bool
) -> float:
    over = {x > 0 for x in products if abs(x) >= 1 << SCALE + 128}
    if over:
        return math.nan if len(over) == 2 else math.inf if over.pop() else -math.inf
    least = {"f16": -14, "fp8": -7 if fnuz else -6, "bf8": -15 if fnuz else -14}

    def exponent(x: float, kind: str) -> int:
        return max(math.frexp(x)[1] - 1, least.get(kind, -126)) if x else -126

    def cut(x: int, unit: int, down: bool = True) -> int:
        """Cut to a multiple of 2**unit: down or toward zero."""
        kept = abs(x) >> SCALE + unit << SCALE + unit
        if x >= 0:
            return kept
        return x >> SCALE + unit << SCALE + unit if down else -kept

    # A product with a zero does not count.
    exponents = [exponent(a, row.a) + exponent(b, row.b) if a and b else -300 for a, b in group]
    parts = [slice(0, None, 2), slice(1, None, 2)] if row.sums == "split" else [slice(None)]
    tops = [max(exponents[part]) for part in parts]
    sums = [sum(cut(x, top - 24, down=False) for x in products[part]) for part, top in zip(parts, tops, strict=True)]
    top = max(tops)
    total = sum(cut(x, top - 24) for x in sums) if len(sums) > 1 else sums[0]
    of_c = exponent(c, "f32")
    most = max(top, of_c)
    total = cut(total, most - 31)
    if row.sums == "aligned" or of_c >= most - 25:
        total += cut(exact(c, SCALE), most - 24)
    return rounded(total, SCALE, "f32")


def distance(row: MatrixInstruction, c: float, factors: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the exact value and the allowed distance of a result.

    Products are exact. Additions may have any order, and each rounds at most twice, in any direction, because terms
    may be aligned and truncated first.
    """
    scale = SCALE_F64 if row.d == "f64" else SCALE
    total, size = exact(c, scale), abs(exact(c, scale))
    for a, b in factors:
        product = exact(a, scale // 2) * exact(b, scale // 2)
        total, size = total + product, size + abs(product)
    digits = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}
    steps = 2.0 ** -(52 if row.d == "f64" else 23) * 2 * (len(factors) + 1)
    value = float(gmpy2.mpq(total, 1 << scale))
    smallest = 2.0**-126 if row.target == "gfx90a" else 2.0**-149
    whole = float(gmpy2.mpq(size, 1 << scale))
    return value, steps * whole + 2.0 ** -digits[row.d] * (abs(value) + steps * whole) + smallest * 2 * (
        len(factors) + 1
    )
