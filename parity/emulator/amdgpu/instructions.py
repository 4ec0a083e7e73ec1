"""Dispatch an instruction to the module of its kind, which writes its C++."""

from __future__ import annotations

import functools

from parity.compilers.targets import Target
from parity.emulator.amdgpu.alu import emit_dual, emit_scalar, emit_uniform, emit_vector
from parity.emulator.amdgpu.control_flow import CONTROL_FLOW, emit_branch
from parity.emulator.amdgpu.cross_lane import CROSS_LANE
from parity.emulator.amdgpu.image_instructions import emit_image_instruction
from parity.emulator.amdgpu.indexed import INDEXED, emit_in_index_mode
from parity.emulator.amdgpu.isa import BRANCHES, IGNORED, KEEPS_HIGH, semantics
from parity.emulator.amdgpu.isa_names import canonical, names
from parity.emulator.amdgpu.listing import CACHED, parse_instruction
from parity.emulator.amdgpu.matrix import emit_matrix
from parity.emulator.amdgpu.memory_instructions import emit_memory_instruction
from parity.emulator.amdgpu.writer import Recorded, Writer
from parity.emulator.instruction import Instruction, MissingFeature, Unknown

_UNSUPPORTED = names("unsupported")
_PLACED = ("rel32@", "getpc")
"""Parts of operands whose value depends on the code object, or on the place of the instruction."""


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
    elif any(emit(w, item, name) for emit in (emit_memory_instruction, emit_image_instruction, emit_matrix)):
        return
    elif any(mark in item.text for mark in _PLACED):
        _emit_arithmetic(w, item)
    else:
        w.replay(_recorded(item.text, w.target, w.saturates))


@functools.lru_cache(maxsize=CACHED)
def _recorded(text: str, target: Target, saturates: bool) -> Recorded:
    """The C++ of an arithmetic instruction. Most occur many times in a module, and in each of its kernels."""
    w = Writer(target, (), {}, {}, saturates=saturates)
    _emit_arithmetic(w, parse_instruction(text, 0))
    return w.recorded()


def _emit_arithmetic(w: Writer, item: Instruction) -> None:
    name = canonical(item.mnemonic)
    w.keeps_high = name in KEEPS_HIGH
    if item.paired:
        emit_dual(w, item, item.paired)
    elif (known := semantics(name)) is None:
        raise Unknown(f"instruction {item.mnemonic}")
    elif known.scalar:
        emit_scalar(w, item, known)
    elif known.uniform:
        emit_uniform(w, item, known)
    else:
        emit_vector(w, item, known)
