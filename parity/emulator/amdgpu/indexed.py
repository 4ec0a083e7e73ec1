"""Moves of vector registers with computed numbers, as C++. Compilers use them for private arrays in registers.

From generation 10 on, two moves add M0 to the number of a register. Generation 9 has a mode for that, with instructions
that begin and end it. If the number is too large, a read uses v0 and a write has no effect. Semantics: RDNA3 ISA,
V_MOVRELS_B32 and "VGPR out of range"; CDNA2 ISA, S_SET_GPR_IDX_ON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from parity.emulator.amdgpu.isa import BRANCHES
from parity.emulator.amdgpu.operands import (
    read_scalar,
    read_vector,
    register_names,
    registers,
    reject_modifiers,
    write_vector,
)
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown

_SOURCE, _TARGET = "SRC0", "DST"
_MODES = {f"gpr_idx({mode})": mode for mode in (_SOURCE, _TARGET)}


def _move(w: Writer, item: Instruction, which: str) -> None:
    """Write a move that adds M0 to the number of the source or of the target."""
    reject_modifiers(item)
    target, source = item.operands
    (register,) = register_names(w, source if which == _SOURCE else target)
    first = w.constant(int(register.removeprefix("v")))
    number = f"(u32)({read_scalar(w, 'm0', 'u32')}{' & 0xff' if w.indexed else ''}) + (u32){first}"
    (beyond,) = registers(w, "v0")
    value = beyond if which == _SOURCE else read_vector(w, source, "u32")
    w.put(f"{{ V<u32> x = {value}; switch ({number}) {{")
    for i in range(w.vgprs):
        (each,) = registers(w, f"v{i}")
        statements: Iterator[str] = iter([f"x = {each};"]) if which == _SOURCE else write_vector(w, f"v{i}", "u32", "x")
        w.put(f"case {i}: {' '.join(statements)} break;")
    w.put("}", *(write_vector(w, target, "u32", "x") if which == _SOURCE else ()), "}")


def _begin(w: Writer, item: Instruction) -> None:
    index, mode = item.operands
    if mode not in _MODES:
        raise Unknown(f"mode {mode} of {item.mnemonic}")
    (m0,) = registers(w, "m0")
    w.put(f"{m0} = {read_scalar(w, index, 'u32')} & 0xff;")
    w.indexed = _MODES[mode]


def _end(w: Writer, item: Instruction) -> None:
    w.indexed = ""


def emit_in_index_mode(w: Writer, item: Instruction, name: str) -> bool:
    """Write an instruction that the mode of generation 9 affects; return False for other instructions.

    Raises:
        Unknown: compilers do not use the instruction in this mode.
    """
    if name == "v_mov_b32":
        _move(w, item, w.indexed)
        return True
    if name.startswith("v_") or name in BRANCHES:
        raise Unknown(f"instruction {item.mnemonic} while the numbers of registers are indexed")
    return False


INDEXED: dict[str, Callable[[Writer, Instruction], None]] = {
    "v_movrels_b32": lambda w, item: _move(w, item, _SOURCE),
    "v_movreld_b32": lambda w, item: _move(w, item, _TARGET),
    "s_set_gpr_idx_on": _begin,
    "s_set_gpr_idx_off": _end,
}
