"""Reads the table of PTX instructions that compute, ``instruction_table.csv``, and ``names.csv``.

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

_NAMES = read_table(Path(__file__).with_name("names.csv"))


def _names(kind: str) -> dict[str, str]:
    return {row["name"]: row["meaning"] for row in _NAMES if row["kind"] == kind}


_SETS = _names("type set")

COMPARES, FLOAT_COMPARES = _names("compare"), _names("float compare")
"""Comparisons: C++ of a condition for integers, and C++ of a mask for floats, in which ``ne`` is false for a NaN."""

TESTS = _names("test")
"""The masks of ``testp``, as C++ of the float ``x``. Zero counts as normal, as measured."""

ATOMICS = _names("atomic")
"""The value that an atomic operation stores, as C++ of the old value ``was``, ``given`` and ``compared``."""

REFUSED = _names("refused")
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
