"""Dispatch an instruction to the module of its kind, which writes its C++."""

from __future__ import annotations

from parity.emulator.amdgpu.alu import emit_dual, emit_scalar, emit_uniform, emit_vector
from parity.emulator.amdgpu.control_flow import CONTROL_FLOW, emit_branch
from parity.emulator.amdgpu.cross_lane import CROSS_LANE
from parity.emulator.amdgpu.indexed import INDEXED, emit_in_index_mode
from parity.emulator.amdgpu.isa import BRANCHES, IGNORED, KEEPS_HIGH, semantics
from parity.emulator.amdgpu.isa_names import canonical, names
from parity.emulator.amdgpu.matrix import emit_matrix
from parity.emulator.amdgpu.memory_instructions import emit_memory_instruction
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, MissingFeature, Unknown

_UNSUPPORTED = names("unsupported")


def emit_instruction(w: Writer, item: Instruction) -> None:
    """Write the C++ of an instruction.

    Raises:
        Unknown: the tables lack the instruction, or one of its operands or modifiers.
    """
    name = canonical(item.mnemonic)
    if name in IGNORED:
        return
    w.keeps_high = name in KEEPS_HIGH
    if name in INDEXED:
        INDEXED[name](w, item)
    elif w.indexed and emit_in_index_mode(w, item, name):
        return
    elif name in CONTROL_FLOW:
        CONTROL_FLOW[name](w, item)
    elif name in BRANCHES:
        emit_branch(w, item.operands[0], BRANCHES[name])
    elif name in CROSS_LANE:
        CROSS_LANE[name](w, item)
    elif refused := next((what for begin, what in _UNSUPPORTED.items() if name.startswith(begin)), None):
        raise MissingFeature(refused)
    elif emit_memory_instruction(w, item, name) or emit_matrix(w, item, name):
        return
    elif item.paired:
        emit_dual(w, item, item.paired)
    elif (known := semantics(name)) is None:
        raise Unknown(f"instruction {item.mnemonic}")
    elif known.scalar:
        emit_scalar(w, item, known)
    elif known.uniform:
        emit_uniform(w, item, known)
    else:
        emit_vector(w, item, known)
