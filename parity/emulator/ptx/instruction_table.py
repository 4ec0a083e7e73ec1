"""Reads the table of PTX instructions that compute, ``instruction_table.csv``.

* ``types``: the types that the instruction exists for, or names of sets of types. ``T`` is the type of an instruction,
  ``W`` the type of twice its width.
* ``modifiers``: ``rnd`` (rn, rz, rm, rp; f16 and bf16 only have rn), ``ftz``, ``sat``, ``relu``.
* ``result``, ``sources``: the types of the result and of the sources.
* ``expression``: C++ for the sources ``a b c``, which are vectors with one lane per thread. ``$`` is the rounding mode
  (``RN RZ RM RP``). ``$!`` adds ``true`` if the instruction has ``.ftz``: the exact result, not only the rounded one,
  then decides whether a product is flushed.

Operations on f16x2 and bf16x2 apply to both halves. Source: PTX ISA, "Instruction Set".
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from parity.platform.files import read_rows, read_table

_SETS = {
    "i16": "u16 s16",
    "i32": "u32 s32",
    "i64": "u64 s64",
    "int": "u16 s16 u32 s32 u64 s64",
    "b": "b16 b32 b64",
    "f": "f32 f64",
    "half": "f16 f16x2 bf16 bf16x2",
}

COMPARES = {
    "eq": "a == b", "ne": "a != b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b",
    "lo": "a < b", "ls": "a <= b", "hi": "a > b", "hs": "a >= b",
}  # fmt: skip
"""Comparisons. On floats they are false for a NaN; comparisons.py handles ``ne``."""

UNORDERED = {"ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
"""Float comparisons that are true for a NaN (besides ``equ`` and ``neu``): each is the negation of the named one."""


ATOMICS = {row["name"]: row["result"] for row in read_table(Path(__file__).with_name("atomics.csv"))}
"""The value that an atomic operation stores, as C++ of the old value ``was``, ``given`` and ``compared``."""

REFUSED = {row["name"]: row["feature"] for row in read_table(Path(__file__).with_name("refused.csv"))}
"""The unsupported feature that an instruction, or a function that is called, belongs to."""


@dataclass(frozen=True, slots=True)
class PtxInstructionRow:
    """The semantics of one instruction. ``sources`` and ``result`` are types, possibly ``T`` or ``W``."""

    name: str
    types: tuple[str, ...]
    modifiers: frozenset[str]
    result: str
    sources: tuple[str, ...]
    expression: str


@functools.cache
def _rows() -> dict[tuple[str, str], PtxInstructionRow]:
    rows: dict[tuple[str, str], PtxInstructionRow] = {}
    for row in read_rows(Path(__file__).with_suffix(".csv"), PtxInstructionRow):
        for type_ in (each for word in row.types for each in _SETS.get(word, word).split()):
            rows.setdefault((row.name, type_), row)
    return rows


def instruction_row(name: str, type_: str) -> PtxInstructionRow | None:
    """Look up an instruction by its name, without generic modifiers, and its type; None if it is not in the table."""
    return _rows().get((name, type_))
