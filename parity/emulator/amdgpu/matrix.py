"""Matrix instructions as C++: D = A * B + C on matrices that the wavefront holds in its registers.

``matrix.csv`` has a row for each instruction, with its targets. A is m x k, B is k x n; ``blocks`` independent products
are computed at once, and the wavefront holds ``copies`` of A and of B. Products are added in groups of ``group`` along
k, in the way that ``sums`` names (``SUMS``). ``broadcast`` lists the operands that can select blocks of A (cbsz, abid)
or lanes of B (blgp). ``flush``: subnormal numbers are treated as 0 (divergence D25). ``runtime/matrix_elements.h``
assigns elements to lanes for each generation. Sources: AMD's CDNA2, CDNA3, RDNA3 and RDNA4 Instruction Set
Architecture, AMD's Matrix Instruction Calculator; docs/matrix-cores.md lists the source of each fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from parity.compilers.targets import gpu_of, target
from parity.emulator.amdgpu.isa_names import names
from parity.emulator.amdgpu.operands import is_vector, read_vector, registers
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown
from parity.platform.files import read_rows

SUMS = names("sums")
"""How an instruction adds products; ``once`` is our assumption if that is not known."""

TYPE_BITS = {
    "f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "f8f6f4": 8, "i8": 8, "iu8": 8,
    "fp6": 6, "bf6": 6, "fp4": 4, "iu4": 4, "i32": 32,
}  # fmt: skip
"""The width of an element in bits; a modifier of the instruction states whether ``iu`` integers are signed."""


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """A row of ``matrix.csv``, with types by the names of ``TYPE_BITS``."""

    target: str
    instruction: str
    m: int
    n: int
    k: int
    blocks: int
    copies: int
    a: str
    b: str
    d: str
    group: int
    sums: str
    broadcast: str
    flush: str

    @property
    def sparse(self) -> bool:
        """True if A stores two of every four elements of a row, and a register of indices names them."""
        return "smfmac" in self.instruction or "swmmac" in self.instruction

    @property
    def scaled(self) -> bool:
        """True if A and B are multiplied by powers of two, which two more operands hold."""
        return "scale" in self.instruction

    @property
    def replicated(self) -> bool:
        """True if both halves of the wavefront hold A and B; a 16-bit D is then in one half of each register."""
        return self.copies == 2

    def count(self, operand: str) -> int:
        """Return the number of registers of an operand: ``a``, ``b``, ``d`` (also for C) or ``index``."""
        lanes = target(self.target).wavefront
        if operand == "index":
            return 1
        if operand == "d":
            bits = max(TYPE_BITS[self.d], 32) if self.replicated else TYPE_BITS[self.d]
            return self.m * self.n * self.blocks * bits // (32 * lanes)
        depth = self.k // 2 if self.sparse and operand == "a" else self.k
        rows = self.m if operand == "a" else self.n
        return max(1, rows * depth * self.blocks * TYPE_BITS[getattr(self, operand)] * self.copies // (32 * lanes))


@cache
def matrix_instructions(name: str) -> Mapping[str, MatrixInstruction]:
    """Return the matrix instructions of a target by mnemonic; its name may have a version of HIP."""
    rows = read_rows(Path(__file__).with_suffix(".csv"), MatrixInstruction)
    gpu = gpu_of(name)
    return {row.instruction: replace(row, target=gpu) for row in rows if gpu in row.target.split()}


_WITH_BLOCKS = re.compile(r"(v_mfma_\w+x\d+)_(?:\d+b_)?([a-z]+\d+)")


@cache
def matrix_mnemonics(name: str) -> Mapping[str, MatrixInstruction]:
    """Return the matrix instructions of a target by all mnemonics that assemblers accept, including gfx90a's style."""
    found = dict(matrix_instructions(name))
    for row in matrix_instructions(name).values():
        if match := _WITH_BLOCKS.fullmatch(row.instruction):
            older = match[1] + match[2]
            found |= dict.fromkeys([older, f"{older}_1k"] if row.a == "bf16" else [older], row)
    return found


MATRIX = re.compile(r"\bv_\w*(?:mfma|wmma|mmac)\w*")
"""Matches the names of matrix instructions."""


def flushes_subnormals(code: str, name: str) -> bool:
    """True if code for a target has matrix instructions that treat subnormal numbers as 0."""
    known = matrix_mnemonics(name)
    return any(row.flush for found in set(MATRIX.findall(code)) if (row := known.get(found)))


def emit_matrix(w: Writer, item: Instruction, name: str) -> bool:
    """Write a matrix instruction; return False for other instructions. All lanes take part, regardless of EXEC."""
    known = matrix_mnemonics(w.target.name).get(name)
    if known is None:
        return False
    scales: dict[str, int] = {}
    if known.scaled:
        scales, item = _without_scales(item)
    destination, *sources = item.operands
    if scales:
        *sources, scale_a, scale_b = sources
    if known.a == "f8f6f4":
        known, item = _with_types(known, item)
    if len(sources) != 3:
        raise Unknown(f"number of source operands, {len(sources)} instead of 3")
    fields = _modified(known, item)
    function = f"multiply_{known.d if known.d[1:] in ('32', '64') else 'f32'}"
    a, b, last = sources
    # The sum of a sparse product is in the destination, and the last operand has the indices.
    c = destination if known.sparse else last
    result = _of(w, known, destination, "d")
    if any(not register_of for register_of in result):
        raise Unknown(f"result {destination!r}")
    w.put("{", f"const V<u32> a[] = {{{', '.join(_of(w, known, a, 'a'))}}};")
    w.put(f"const V<u32> b[] = {{{', '.join(_of(w, known, b, 'b'))}}};")
    w.put(f"const V<u32> c[] = {{{', '.join(_of(w, known, c, 'd'))}}};")
    if known.sparse:
        w.put(f"const V<u32> index[] = {{{', '.join(_of(w, known, last, 'index'))}}};")
    if scales:
        pair = [*_of(w, known, scale_a, "index"), *_of(w, known, scale_b, "index")]
        w.put(f"const V<u32> index[] = {{{', '.join(pair)}}};")
    # A 16-bit result leaves the other half of its register unchanged.
    kept = ", ".join(result) if known.replicated and TYPE_BITS[known.d] == 16 else ""
    w.put(f"V<u32> d[{len(result)}] = {{{kept}}};")
    w.put(f"static constexpr Product p = {{{', '.join(_fields(w, known, {**fields, **scales}))}}};")
    w.put(f"{function}(p, a, b, c, {'index' if known.sparse or scales else 'nullptr'}, d);")
    w.put(*(f"{register} = d[{i}];" for i, register in enumerate(result)), "}")
    return True


_NARROW = ("fp8", "bf8", "fp6", "bf6", "fp4")


def _without_scales(item: Instruction) -> tuple[dict[str, int], Instruction]:
    """Return the fields of ``struct Product`` about scales, and the instruction without their modifiers.

    ``op_sel`` and ``op_sel_hi`` are the low and the high bit of the number of a byte. The default of high bits is 1.
    """
    bits = {"op_sel": [0, 0], "op_sel_hi": [1, 1]}
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        if name in bits:
            bits[name] = [*map(int, value.strip("[]").split(","))][:2]
    (low_a, low_b), (high_a, high_b) = bits.values()
    rest = tuple(each for each in item.modifiers if each.partition(":")[0] not in bits)
    return {"scaled": 1, "scale_a": low_a + 2 * high_a, "scale_b": low_b + 2 * high_b}, replace(item, modifiers=rest)


def _with_types(known: MatrixInstruction, item: Instruction) -> tuple[MatrixInstruction, Instruction]:
    """Return an instruction with the types of A and B that the modifiers ``cbsz`` and ``blgp`` name."""
    types = {"cbsz": 0, "blgp": 0}
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        if name not in types or int(value) >= len(_NARROW):
            raise Unknown(f"modifier {modifier} of {item.mnemonic}")
        types[name] = int(value)
    return replace(known, a=_NARROW[types["cbsz"]], b=_NARROW[types["blgp"]]), replace(item, modifiers=())


def _of(w: Writer, known: MatrixInstruction, operand: str, which: str) -> list[str]:
    """C++ of the registers of an operand; a constant applies to all elements of C."""
    count = known.count(which)
    if is_vector(operand):
        found = list(registers(w, operand))
        if len(found) != count:
            raise Unknown(f"operand {operand!r} of {len(found)} registers instead of {count}")
        return found
    if which != "d":
        raise Unknown(f"operand {operand!r}, which is not a vector register")
    if known.d == "f64":
        wide = read_vector(w, operand, "u64" if operand == "0" else "f64")
        return [f"lo32(as<u64>({wide}))", f"hi32(as<u64>({wide}))"] * (count // 2)
    kind = known.d if known.d in ("f32", "i32") else "f16" if known.d == "f16" else ""
    if not kind and operand != "0":
        raise Unknown(f"operand {operand!r} of type {known.d}")
    if kind in ("f32", "i32", ""):
        return [f"as<u32>({read_vector(w, operand, kind or 'i32')})"] * count
    half = f"to<u32>(as<u16>({read_vector(w, operand, 'f16')}))"
    return [f"({half} * 0x10001u)"] * count


_LISTS = ("neg", "neg_lo", "neg_hi", "op_sel")


def _modified(known: MatrixInstruction, item: Instruction) -> dict[str, int]:
    """The fields of ``struct Product`` that modifiers set. A list becomes a number; its first element is bit 0."""
    found = dict.fromkeys(("cbsz", "abid", "blgp", "neg_lo", "neg_hi", "op_sel", "clamp"), 0)
    selectable, half = known.broadcast.split(), known.replicated and TYPE_BITS[known.d] == 16
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        bits = sum(int(bit) << i for i, bit in enumerate(value.strip("[]").split(","))) if name in _LISTS else 0
        if name == "neg" and known.d == "f64":
            found["neg_lo"] = bits
        elif name == "op_sel" and half and bits in (0, 4):
            found["op_sel"] = bits >> 2
        elif name in ("neg_lo", "neg_hi") and "wmma" in item.mnemonic:
            found[name] = bits
        elif name == "clamp" and known.d == "i32" and known.a[:2] == "iu":
            found["clamp"] = 1
        elif name == "index_key" and known.sparse:
            found["abid"] = int(value)
        elif name in ("cbsz", "abid") and (known.sparse or "a" in selectable):
            found[name] = int(value)
        elif name == "blgp" and "b" in selectable:
            found["blgp"] = int(value)
        else:
            raise Unknown(f"modifier {modifier} of {item.mnemonic}")
    if not known.sparse and (found["abid"] >= 1 << found["cbsz"] or 1 << found["cbsz"] > known.blocks):
        raise Unknown(f"modifiers cbsz:{found['cbsz']} abid:{found['abid']} of an instruction of {known.blocks} blocks")
    return found


def _fields(w: Writer, known: MatrixInstruction, modifiers: Mapping[str, int]) -> Iterator[str]:
    """Initializers of ``struct Product`` (runtime/matrix.h)."""
    layout = {9: "CDNA", 11: "RDNA3", 12: "RDNA4"}[w.target.generation]
    yield from (f".layout = {layout}", f".sums = SUM_{known.sums.upper()}")
    for name in ("m", "n", "k", "blocks", "group"):
        yield f".{name} = {getattr(known, name)}"
    for name in ("a", "b", "d"):
        yield f".{name} = TYPE_{getattr(known, name).upper()}"
    yield f".sparse = {int(known.sparse)}"
    yield f".fnuz = {int(w.target.fnuz)}"
    # "MI200 matrix fused multiply-add (MFMA) behavior specifics", documentation of MIOpen
    yield f".flush = {int(known.flush == 'yes')}"
    yield from (f".{name} = {value}" for name, value in modifiers.items())
