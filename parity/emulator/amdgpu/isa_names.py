"""Canonical mnemonics. Generations have different names for some instructions; the tables use the names of RDNA 3.

``isa_names.csv`` has the other names of instructions, of the elements that loads and stores move, and of atomics.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from parity.platform.files import read_table


def _names(kind: str) -> dict[str, str]:
    rows = read_table(Path(__file__).with_suffix(".csv"))
    return {row["name"]: row["canonical"] for row in rows if row["kind"] == kind}


RENAMED = _names("mnemonic")
"""The canonical name of each other name, without encoding suffixes."""

_ENCODING = re.compile(r"(?:_e32|_e64)?(?:_dpp|_sdwa)?$")
_SAVEEXEC = re.compile(
    r"s_(and|or|xor|nand|nor|xnor|andn1|andn2|orn1|orn2|and_not0|and_not1|or_not0|or_not1)_saveexec_b(?:32|64)$"
)
_NOT = {"andn1": "and_not0", "andn2": "and_not1", "orn1": "or_not0", "orn2": "or_not1"}
_MEMORY = re.compile(r"(s|global|flat|scratch|buffer|ds)_(load|store|read|write)(2|2st64)?_(\w+)$")
_ATOMIC = re.compile(r"(global|flat|buffer)_atomic_([a-z_]+?)((?:_[uifb]\d+|_bf16|_f16)*)(_x2)?$")
_ELEMENTS = _names("element")
_OLD_ATOMICS = _names("atomic")
"""Atomics of generations 9 and 10 have a letter for the type in front, and _x2 for 64 bits."""


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
