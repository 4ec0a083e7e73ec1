"""Canonical mnemonics. Generations have different names for some instructions; the tables use the names of RDNA 3.

``isa_names.csv`` has names by kind, with their meaning:

* ``mnemonic``, ``element`` (of loads and stores), ``old atomic`` (of generations 9 and 10): other names, with the
  canonical name. Old atomics have a letter for the type in front, and _x2 for 64 bits.
* ``ignored``: waits and hints, which have no effect because instructions execute in order.
* ``branch``: its condition. ``compare``: the expression of ``v_cmp_{name}_{type}`` and ``v_cmpx_{name}_{type}``; float
  compares are ordered unless the name begins with n. ``scalar compare``: the operator of ``s_cmp_{name}_{type}`` and
  ``s_cmpk_{name}_{type}``, which write SCC.
* ``packed``: the instruction that ``v_pk_{name}`` applies to both halves of a register (16 bits) or pair (32 bits).
* ``keeps high``: 16-bit operations that keep the upper half of their register even on generation 9 (LLVM,
  GCNSubtarget).
* ``load``: the element in memory, and the registers it fills (``lo``, ``hi``: a half). ``store``: the element in
  memory, and by how many bits the register is shifted first.
* ``atomic``: the new content of memory, from ``old``, the data ``x`` and (compare-and-swap) ``cmp``. ``cache policy``:
  bits of memory instructions. Semantics: RDNA3 Instruction Set Architecture, chapters 10 to 12.
* ``unsupported``: prefixes of instructions for features that the emulator lacks. ``unsupported argument``: hidden
  arguments for such features.
* ``sums``: how a matrix instruction adds products (``matrix.csv``).
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from parity.platform.files import read_table


def names(kind: str) -> dict[str, str]:
    """Return the names of a kind with their meanings."""
    return {row["name"]: row["meaning"] for row in _rows() if row["kind"] == kind}


@functools.cache
def _rows() -> list[dict[str, str]]:
    return read_table(Path(__file__).with_suffix(".csv"))


RENAMED = names("mnemonic")
"""The canonical name of each other name, without encoding suffixes."""

_ENCODING = re.compile(r"(?:_e32|_e64)?(?:_dpp|_sdwa)?$")
_SAVEEXEC = re.compile(
    r"s_(and|or|xor|nand|nor|xnor|andn1|andn2|orn1|orn2|and_not0|and_not1|or_not0|or_not1)_saveexec_b(?:32|64)$"
)
_NOT = {"andn1": "and_not0", "andn2": "and_not1", "orn1": "or_not0", "orn2": "or_not1"}
_MEMORY = re.compile(r"(s|global|flat|scratch|buffer|ds)_(load|store|read|write)(2|2st64)?_(\w+)$")
_ATOMIC = re.compile(r"(global|flat|buffer)_atomic_([a-z_]+?)((?:_[uifb]\d+|_bf16|_f16)*)(_x2)?$")
_ELEMENTS, _OLD_ATOMICS = names("element"), names("old atomic")


@functools.cache
def canonical(mnemonic: str) -> str:
    """Return the name of an instruction in the tables, without its encoding suffix."""
    name = _ENCODING.sub("", mnemonic).replace("v_dual_", "v_")
    if name in RENAMED:
        return RENAMED[name]
    if match := _SAVEEXEC.match(name):
        return f"s_{_NOT.get(match[1], match[1])}_saveexec"
    if match := _MEMORY.match(name):
        space, verb, pair, kind = match.groups()
        verb = {"read": "load", "write": "store"}.get(verb, verb)
        between = {None: "", "2": "2addr_", "2st64": "2addr_stride64_"}[pair]
        return f"{space}_{verb}_{between}{_ELEMENTS.get(kind, kind)}"
    if match := _ATOMIC.match(name):
        space, operation, kind, wide = match.groups()
        if not kind and operation in _OLD_ATOMICS:
            operation, letter = _OLD_ATOMICS[operation].split()
            kind = f"_{letter}{64 if wide else 32}"
        return f"{space}_atomic_{operation}{kind}"
    return name
