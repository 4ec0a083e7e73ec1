"""The table of inline PTX instructions and their C++ (``ptx_to_cpp.csv``).

A row has an instruction with named operands and their types (``bfe.u32 d:u32, a:u32, b:u32, c:u32``), and C++
statements that compute the outputs from the inputs. ``[a:u32@shared]`` is an address in shared memory, ``cc`` the carry
flag. A row with several ``types`` defines an instruction for each type, which replaces ``T``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.platform.files import read_table

TABLE = Path(__file__).with_name("ptx_to_cpp.csv")

TYPES = {
    "b16": "unsigned short", "u16": "unsigned short", "s16": "short", "b32": "unsigned", "u32": "unsigned",
    "s32": "int", "b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long", "f32": "float",
    "f64": "double", "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char",
    "pred": "bool",
}  # fmt: skip
"""The C++ type of each type of a row; an address (``[a:u32]``) is a pointer to its type."""

OPCODES = frozenset(row["opcode"] for row in read_table(Path(__file__).with_name("ptx_opcodes.csv")))
"""The instructions of PTX ISA 8.7."""

_NAMED = re.compile(r"\b(?P<name>[a-z]):(?P<type>\w+)(?:@(?P<space>\w+))?")
_CARRY = re.compile(r"\bcc\b(?P<written> =(?!=))?")


@dataclass(frozen=True)
class InstructionRule:
    """A row of the table for one type.

    Attributes:
        instruction: Matches the instruction.
        operands: Matches the operands without spaces; a group for each.
        types: The C++ type of each operand.
        addresses: The operands that are addresses, each with its memory space, empty for a generic address.
        outputs: The operands that the statements assign.
        statements: The C++ statements.
    """

    instruction: re.Pattern[str]
    operands: re.Pattern[str]
    types: Mapping[str, str]
    addresses: Mapping[str, str]
    outputs: frozenset[str]
    statements: str

    @property
    def carry(self) -> tuple[bool, ...]:
        """For each use of the carry flag, whether it is written."""
        return tuple(bool(match["written"]) for match in _CARRY.finditer(self.statements))


@functools.cache
def rules() -> tuple[InstructionRule, ...]:
    """Return the rules, one for each type of a row."""
    return tuple(
        _rule(row["ptx"], row["cpp"], name) for row in read_table(TABLE) for name in row["types"].split() or [""]
    )


def rules_for(instruction: str) -> Iterator[InstructionRule]:
    """Generate the rules for an instruction, which differ in their operands."""
    return (rule for rule in rules() if rule.instruction.fullmatch(instruction))


def _rule(ptx: str, cpp: str, name: str) -> InstructionRule:
    if name:
        ptx, cpp = re.sub(r"\bT\b", name, ptx), re.sub(r"\bT\b", TYPES[name], cpp)
    instruction, _, operands = ptx.partition(" ")
    types = {match["name"]: TYPES[match["type"]] for match in _NAMED.finditer(operands)}
    pattern = re.escape(operands.replace(" ", ""))
    addresses = {m["name"]: m["space"] or "" for m in _NAMED.finditer(operands) if f"[{m['name']}:" in operands}
    return InstructionRule(
        re.compile(instruction.replace(".", r"\.")),
        re.compile(_NAMED.sub(lambda m: rf"(?P<{m['name']}>[^,\[\]{{}}]+)", pattern)),
        types,
        addresses,
        frozenset(each for each in types if re.search(rf"\b{each} \|?=(?!=)", cpp)) - addresses.keys(),
        cpp,
    )
