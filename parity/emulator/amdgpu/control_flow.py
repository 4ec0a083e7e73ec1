"""Branches, calls, barriers, traps, messages and hardware registers, as C++."""

from __future__ import annotations

import re
from collections.abc import Callable

from parity.emulator.amdgpu.kernarg import GRID_BARRIER
from parity.emulator.amdgpu.listing import ALLOCATE, RELEASE
from parity.emulator.amdgpu.operands import read_scalar, read_vector, write_scalar, write_vector
from parity.emulator.amdgpu.writer import Writer, sets_overflow_mode
from parity.emulator.instruction import Instruction, Unknown

END = "c->budget = left; return 0;"
"""C++ that ends a wavefront."""


def emit_branch(w: Writer, target: str, condition: str) -> None:
    """Write a branch; ``condition`` is C++, or empty for an unconditional branch."""
    if target not in w.position:
        raise Unknown(f"label {target}")
    jump = f"{_budget(w) if w.position[target] <= w.at else ''}{w.jump(w.label(target))};"
    w.put(f"if ({condition}) {{ {w.reached('taken')}{jump} }}{w.reached('not taken')}" if condition else jump)


def _budget(w: Writer) -> str:
    """C++ that ends the wavefront if the instruction budget is used up: at backward branches."""
    return f"if (left < 0 && exhausted(self, left, {w.here})) return 1; "


def _waiting(function: str) -> Callable[[Writer, Instruction], None]:
    """Return an emitter for a function of ``runtime/workgroups.cpp`` that switches to other wavefronts."""

    def emit(w: Writer, item: Instruction) -> None:
        w.put(f"c->budget = left; if ({function}(c, exec, {w.here})) return 1;", "left = c->budget;")

    return emit


def _grid_barrier(w: Writer, item: Instruction) -> None:
    access = f"READ_OUTSIDE, {w.constant(GRID_BARRIER)}, 8, NO_LANE, {w.here}"
    w.put(f"if (!c->resident) return report(c, {access});")
    _waiting("grid_barrier")(w, item)


def _getpc(w: Writer, item: Instruction) -> None:
    """Return 0: distances to symbols are offsets from it (``listing``)."""
    w.put(*write_scalar(w, item.operands[0], "u64", w.constant(0)))


def _call(w: Writer, item: Instruction) -> None:
    """Call a function, or code in this kernel. The return address is the index of the call."""
    w.put("{", f"const u64 to = {read_scalar(w, item.operands[1], 'u64')};")
    w.put(*write_scalar(w, item.operands[0], "u64", w.constant(w.at)))
    _put_jumps(w)


def _put_jumps(w: Writer) -> None:
    """Write jumps to each place whose address the variable ``to`` may be, and end its block."""
    w.put(*(f"if (to == {w.constant(w.position[name])}) {w.jump(w.label(name))};" for name in w.jumps))
    w.put(*(f"if (to == {w.symbol(name)}) {w.jump(w.label(name))};" for name in w.functions))
    w.put(f"return bad_call(c, {w.here}); }}")


def _jump(w: Writer, item: Instruction) -> None:
    """Return from a call, branch to a distant label, or call a function without returning here."""
    w.put(_budget(w), "{", f"const u64 to = {read_scalar(w, item.operands[0], 'u64')};")
    w.put(*(f"if (to == {w.constant(at)}) {w.jump(w.return_label(at))};" for at in w.returns))
    _put_jumps(w)


def _setreg(w: Writer, item: Instruction) -> None:
    if "FLAT_SCR" not in item.operands[0]:
        raise Unknown(f"hardware register {item.operands[0]}")


def _set_field(w: Writer, item: Instruction) -> None:
    """Set MODE.FP_DENORM of f32, by its bit position (before generation 10).

    MODE.FP16_OVFL holds for the whole code (``Writer.saturates``).
    """
    if sets_overflow_mode(item):
        return
    if item.operands[0].replace(" ", "") != "hwreg(HW_REG_MODE,4,2)":
        raise Unknown(f"hardware register {item.operands[0]}")
    _subnormals(w, item.operands[1])


def _subnormals(w: Writer, mode: str) -> None:
    """Set the mode of f32, the low two bits: 0 flushes subnormal inputs and results, 3 keeps them."""
    field = int(mode, 0) & 3
    if field not in (0, 3):
        raise Unknown(f"mode {mode} of subnormal numbers")
    w.put(f"keep_subnormals({'true' if field else 'false'});")


def _getreg(w: Writer, item: Instruction) -> None:
    """Read a clock, or the place where a wavefront runs: one compute unit executes all workgroups."""
    name, *field = re.findall(r"\w+", item.operands[1])[1:]
    first, size = map(int, field or (0, 32))
    if name in _CLOCKS:
        value = f"(u32)(ticks(c, left){_CLOCKS[name]})"
    elif name in ("HW_REG_HW_ID", "HW_REG_HW_ID1"):  # a wavefront slot of one of four SIMDs
        value = f"(wave / 4 | wave % 4 << {4 if w.target.generation == 9 else 8})"
    elif name in _ZERO:
        value = "0u"
    else:
        raise Unknown(f"hardware register {name}")
    w.put(
        *write_scalar(w, item.operands[0], "u32", f"({value} >> {w.constant(first)} & {w.constant((1 << size) - 1)})")
    )


def _ticks(w: Writer, item: Instruction) -> None:
    w.put(*write_scalar(w, item.operands[0], "u64", "ticks(c, left)"))


def _message(w: Writer, item: Instruction) -> None:
    message = item.operands[0].removeprefix("sendmsg(").removesuffix(")")
    if message == "MSG_INTERRUPT":
        w.put(f"if (interrupt(c, {w.here})) return 1;")
    elif message != "MSG_DEALLOC_VGPRS":  # a hint, just before the end
        raise Unknown(f"message sendmsg({message})")


def _answered(w: Writer, item: Instruction) -> None:
    message = item.operands[1].removeprefix("sendmsg(").removesuffix(")")
    if message == "MSG_RTN_GET_REALTIME":
        _ticks(w, item)
    elif message == "MSG_RTN_GET_DOORBELL":  # only after a trap, so it is never reached
        w.put(*write_scalar(w, item.operands[0], "u32", "0u"))
    else:
        raise Unknown(f"message sendmsg({message})")


def _allocate(w: Writer, item: Instruction) -> None:
    size = read_vector(w, item.operands[0], "u64")
    w.put("{", *write_vector(w, item.operands[0], "u64", f"allocate(c, exec, {size})"), "}")


def _release(w: Writer, item: Instruction) -> None:
    w.put(f"if (release(c, exec, {read_vector(w, item.operands[0], 'u64')}, {w.here})) return 1;")


def _trap(w: Writer, item: Instruction) -> None:
    w.put(f"c->budget = left; return trap(c, exec, {w.here});")


_CLOCKS = {"HW_REG_SHADER_CYCLES": "", "HW_REG_SHADER_CYCLES_LO": "", "HW_REG_SHADER_CYCLES_HI": " >> 32"}
_ZERO = ("HW_REG_HW_ID2", "HW_REG_XCC_ID", "HW_REG_WAVE_STATE_PRIV")

CONTROL_FLOW: dict[str, Callable[[Writer, Instruction], None]] = {
    "s_endpgm": lambda w, item: w.put(END),
    "s_barrier": _waiting("barrier"),
    "ds_gws_barrier": _grid_barrier,
    "s_sleep": _waiting("wave_sleep"),
    "s_getpc_b64": _getpc,
    "s_swappc_b64": _call,
    "s_setpc_b64": _jump,
    "s_setreg_b32": _setreg,
    "s_setreg_imm32_b32": _set_field,
    "s_denorm_mode": lambda w, item: _subnormals(w, item.operands[0]),
    "s_getreg_b32": _getreg,
    "s_memtime": _ticks,
    "s_memrealtime": _ticks,
    ALLOCATE: _allocate,
    RELEASE: _release,
    "s_sendmsg": _message,
    "s_sendmsg_rtn_b32": _answered,
    "s_sendmsg_rtn_b64": _answered,
    "s_trap": _trap,
    "s_sethalt": _trap,
}
