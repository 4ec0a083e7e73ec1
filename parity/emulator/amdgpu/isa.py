"""The semantics of arithmetic instructions, from tables and patterns, and the instructions that have no effect.

The table ``isa.csv`` has a row for each instruction of RDNA: its unit, the types of its results and sources, and a C++
expression. ``a b c`` are the sources, and ``d`` is the old destination; a semicolon precedes a second result. Types:
``f16 f32 f64 i16 u16 i32 u32 i64 u64``, ``mask`` (one bit per lane in an SGPR, as wide as the wavefront), ``lane0`` (an
SGPR), ``mix`` (f32, or f16 if op_sel_hi is set). A row with ``types`` defines an instruction for each type, which
replaces ``T``; widths in bits replace ``N``. FNUZ is ``Target.fnuz``.

``scc`` in the expression of a scalar instruction is the carry in. The column ``scc`` has the new SCC: ``r`` is the
result, ``nz`` means ``r != 0`` and ``-`` means unchanged. A result ``exec`` goes to EXEC, and the old value of EXEC to
the destination (saveexec, printed with the width ``_b32`` or ``_b64``). ``uniform`` rows are scalar floating-point
instructions of generation 12 without a vector form.

Semantics: RDNA3 Instruction Set Architecture, chapter 16.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from parity.emulator.amdgpu.isa_names import canonical, names
from parity.platform.files import read_table


@dataclass(frozen=True, slots=True)
class Semantics:
    """The semantics of an operation.

    Attributes:
        results: the type of each result.
        sources: the types of the sources ``a b c``.
        expressions: C++ of each result.
        scalar: it is a scalar operation.
        scc: C++ of SCC afterwards; empty if SCC does not change.
        packed: it applies to both halves of a register (16-bit types) or to both registers of a pair (32-bit types).
        uniform: it is a vector operation on scalar registers.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    expressions: tuple[str, ...]
    scalar: bool = False
    scc: str = ""
    packed: bool = False
    uniform: bool = False


IGNORED, KEEPS_HIGH = frozenset(names("ignored")), frozenset(names("keeps high"))
BRANCHES, PACKED = names("branch"), names("packed")
COMPARES, SCALAR_COMPARES = names("compare"), names("scalar compare")

_COMPARE = re.compile(r"v_cmp(x?)_([a-z]+)_([fiu]\d+)$")
# Scalar floating point of generation 12 (also v_s_exp_f32): the vector operation on scalar registers.
_UNIFORM = re.compile(r"(?:v_s|s)_(cvt_\w+|\w+_f(?:16|32))$")
_UNIFORM_COMPARE = re.compile(r"s_cmp_([a-z]+)_(f16|f32)$")
_SCALAR_COMPARE = re.compile(r"s_cmp(k?)_([a-z]+)_([iu]\d+)$")


@functools.cache
def _table() -> dict[str, Semantics]:
    found = {}
    for row in read_table(Path(__file__).with_suffix(".csv")):
        for kind in row["types"].split() or [""]:
            letter = "N" if kind.isdecimal() else "T"
            one = {key: text.replace(letter, kind) if kind else text for key, text in row.items()}
            results, sources = tuple(one["results"].split()), tuple(one["sources"].split())
            expressions = tuple(each.strip() for each in one["expression"].split(";"))
            scc = {"-": "", "nz": "r != 0"}.get(one["scc"], one["scc"])
            scalar, uniform = row["unit"] == "scalar", row["unit"] == "uniform"
            found[one["name"]] = Semantics(results, sources, expressions, scalar, scc, uniform=uniform)
    return found


def table_entries() -> tuple[str, ...]:
    """Return the names of all rows. Compares are not rows, because they follow a pattern."""
    return (*_table(), *(f"v_pk_{name}" for name in PACKED))


@functools.cache
def semantics(mnemonic: str) -> Semantics | None:
    """Return the semantics of an ALU instruction by its mnemonic; ``None`` if it is not known."""
    name = canonical(mnemonic)
    if known := _table().get(name):
        return known
    if (match := _COMPARE.match(name)) and match[2] in COMPARES:
        second = "u32" if match[2] == "class" else match[3]
        return Semantics(("exec" if match[1] else "mask",), (match[3], second), (COMPARES[match[2]],))
    if (match := _SCALAR_COMPARE.match(name)) and match[2] in SCALAR_COMPARES:
        kind = match[3]
        second = ("k16" if kind[0] == "i" else "uk16") if match[1] else kind
        cast = f"({kind})" if match[1] else ""
        return Semantics(("scc",), (kind, second), (f"a {SCALAR_COMPARES[match[2]]} {cast}b",), scalar=True)
    if (match := _UNIFORM_COMPARE.match(name)) and match[1] in COMPARES:
        return Semantics(("scc",), (match[2], match[2]), (COMPARES[match[1]],), uniform=True)
    if (match := _UNIFORM.match(name)) and (vector := _table().get(canonical(f"v_{match[1]}"))):
        return replace(vector, uniform=True)
    if name.startswith("v_pk_") and (base := PACKED.get(name.removeprefix("v_pk_"))):
        plain = _table()[base]
        return Semantics(plain.results, plain.sources, plain.expressions, packed=True)
    return None
