"""One instruction as C++: what it computes comes from the tables of ``isa``, what is common to all is written here."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

from parity.emulator.amdgpu.cross_lane import CROSS_LANE
from parity.emulator.amdgpu.dpp import routing
from parity.emulator.amdgpu.indexed import INDEXED, in_mode
from parity.emulator.amdgpu.isa import BRANCHES, IGNORED, KEEPS_HIGH, Semantics, semantics
from parity.emulator.amdgpu.isa_names import canonical
from parity.emulator.amdgpu.matrix import emit_matrix
from parity.emulator.amdgpu.memory_instructions import emit_memory_instruction
from parity.emulator.amdgpu.operands import (
    check_count,
    chosen,
    modified,
    modifiers,
    named,
    refuse_modifiers,
    registers,
    scalar,
    scalar_type,
    vector,
    write,
    write_scalar,
)
from parity.emulator.amdgpu.sdwa import selection
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown, Unsupported

__all__ = ["END", "emit"]

_NAMES = "abc"
_LISTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
_EXEC = {32: "exec_lo", 64: "exec"}
END = "c->budget = left; return 0;"


def emit(w: Writer, item: Instruction) -> None:
    name = canonical(item.mnemonic)
    if name in IGNORED:
        return
    w.keeps_high = name in KEEPS_HIGH
    if name in INDEXED:
        INDEXED[name](w, item)
    elif w.indexed and in_mode(w, item, name):
        return
    elif name in _CONTROL:
        _CONTROL[name](w, item)
    elif name in BRANCHES:
        _branch(w, item.operands[0], BRANCHES[name])
    elif name in CROSS_LANE:
        CROSS_LANE[name](w, item)
    elif refused := next((what for begin, what in _REFUSED.items() if name.startswith(begin)), None):
        raise Unsupported(refused)
    elif emit_memory_instruction(w, item, name) or emit_matrix(w, item, name):
        return
    elif item.paired:
        _dual(w, item, item.paired)
    elif (known := semantics(name)) is None:
        raise Unknown(f"instruction {item.mnemonic}")
    elif known.scalar:
        _scalar_alu(w, item, known)
    elif known.uniform:
        _uniform_alu(w, item, known)
    else:
        w.put("{", *_vector_alu(w, item, known), "}")


# --- control flow ----------------------------------------------------------------------------------------------------


def _branch(w: Writer, target: str, condition: str) -> None:
    if target not in w.position:
        raise Unknown(f"label {target}")
    jump = f"{_budget(w) if w.position[target] <= w.at else ''}{w.jump(w.label(target))};"
    w.put(f"if ({condition}) {{ {w.reached('taken')}{jump} }}{w.reached('not taken')}" if condition else jump)


def _budget(w: Writer) -> str:
    return f"if (left < 0 && exhausted(self, left, {w.here})) return 1; "


def _barrier(w: Writer, item: Instruction) -> None:
    w.put(f"c->budget = left; if (barrier(c, exec, {w.here})) return 1;", "left = c->budget;")


def _getpc(w: Writer, item: Instruction) -> None:
    w.put(*write_scalar(w, item.operands[0], "u64", w.constant(0)))


def _call(w: Writer, item: Instruction) -> None:
    """A function is at the address that its symbol has; a place to return to is known by the number of the call."""
    w.put("{", f"const u64 callee = {scalar(w, item.operands[1], 'u64')};")
    w.put(*write_scalar(w, item.operands[0], "u64", w.constant(w.at)))
    w.put(*(f"if (callee == {w.symbol(name)}) {w.jump(w.label(name))};" for name in w.functions))
    w.put(f"return bad_call(c, {w.here}); }}")


def _jump(w: Writer, item: Instruction) -> None:
    """Back to a call, a branch to a label too far away for a branch instruction, or a call that never returns here."""
    w.put(_budget(w), "{", f"const u64 to = {scalar(w, item.operands[0], 'u64')};")
    w.put(*(f"if (to == {w.constant(at)}) {w.jump(w.return_label(at))};" for at in w.returns))
    w.put(*(f"if (to == {w.constant(w.position[name])}) {w.jump(w.label(name))};" for name in w.jumps))
    w.put(*(f"if (to == {w.symbol(name)}) {w.jump(w.label(name))};" for name in w.functions))
    w.put(f"return bad_call(c, {w.here}); }}")


def _setreg(w: Writer, item: Instruction) -> None:
    if "FLAT_SCR" not in item.operands[0]:
        raise Unknown(f"hardware register {item.operands[0]}")


def _set_field(w: Writer, item: Instruction) -> None:
    """MODE.FP_DENORM of f32, by the name of its place before generation 10."""
    if item.operands[0].replace(" ", "") != "hwreg(HW_REG_MODE,4,2)":
        raise Unknown(f"hardware register {item.operands[0]}")
    _subnormals(w, item.operands[1])


def _subnormals(w: Writer, mode: str) -> None:
    """The low two bits are about f32: 0 flushes what goes in and what comes out, 3 keeps both."""
    field = int(mode, 0) & 3
    if field not in (0, 3):
        raise Unknown(f"mode {mode} of subnormal numbers")
    w.put(f"keep_subnormals({'true' if field else 'false'});")


def _getreg(w: Writer, item: Instruction) -> None:
    """Clocks, and where a wavefront runs: everything runs in place 0."""
    name, *field = re.findall(r"\w+", item.operands[1])[1:]
    first, size = map(int, field or (0, 32))
    if name in _CLOCKS:
        value = f"(u32)(ticks(c, left){_CLOCKS[name]})"
    elif name in _PLACES:
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
    elif message != "MSG_DEALLOC_VGPRS":  # the end is near: a hint like those that are ignored
        raise Unknown(f"message sendmsg({message})")


def _answered(w: Writer, item: Instruction) -> None:
    message = item.operands[1].removeprefix("sendmsg(").removesuffix(")")
    if message == "MSG_RTN_GET_REALTIME":
        _ticks(w, item)
    elif message == "MSG_RTN_GET_DOORBELL":  # follows a trap, and is not reached
        w.put(*write_scalar(w, item.operands[0], "u32", "0u"))
    else:
        raise Unknown(f"message sendmsg({message})")


def _trap(w: Writer, item: Instruction) -> None:
    w.put(f"c->budget = left; return trap(c, exec, {w.here});")


#: What parity does not emulate, by how the instructions begin that nothing else needs.
_REFUSED = {
    "image_": "textures or surfaces",
    "buffer_load_format_": "textures or surfaces",
    "buffer_store_format_": "textures or surfaces",
    "ds_gws_": "synchronisation of a whole grid (cg::this_grid().sync())",
    "tbuffer_": "typed buffers",
    "s_sendmsghalt": "messages to the host",
}

_CLOCKS = {"HW_REG_SHADER_CYCLES": "", "HW_REG_SHADER_CYCLES_LO": "", "HW_REG_SHADER_CYCLES_HI": " >> 32"}
_PLACES = ("HW_REG_HW_ID", "HW_REG_HW_ID1", "HW_REG_HW_ID2", "HW_REG_XCC_ID", "HW_REG_WAVE_STATE_PRIV")

_CONTROL: dict[str, Callable[[Writer, Instruction], None]] = {
    "s_endpgm": lambda w, item: w.put(END),
    "s_barrier": _barrier,
    "s_getpc_b64": _getpc,
    "s_swappc_b64": _call,
    "s_setpc_b64": _jump,
    "s_setreg_b32": _setreg,
    "s_setreg_imm32_b32": _set_field,
    "s_denorm_mode": lambda w, item: _subnormals(w, item.operands[0]),
    "s_getreg_b32": _getreg,
    "s_memtime": _ticks,
    "s_memrealtime": _ticks,
    "s_sendmsg": _message,
    "s_sendmsg_rtn_b32": _answered,
    "s_sendmsg_rtn_b64": _answered,
    "s_trap": _trap,
    "s_sethalt": _trap,
}


# --- ALU -------------------------------------------------------------------------------------------------------------


def _scalar_alu(w: Writer, item: Instruction, known: Semantics) -> None:
    refuse_modifiers(item)
    (result,) = known.results
    operands = list(item.operands)
    target = "" if result == "scc" else operands.pop(0)
    check_count(operands, known)
    reads = [
        f"const {scalar_type(t)} {n} = {scalar(w, o, t)};"
        for n, o, t in zip(_NAMES, operands, known.sources, strict=False)
    ]
    (expression,) = known.expressions
    if re.search(r"\bd\b", expression):
        reads.append(f"const {result} d = {scalar(w, target, result)};")
    if result == "scc":
        w.put("{", *reads, f"scc = {expression};", "}")
        return
    kind = "mask" if result == "exec" else result
    w.put("{", *reads, f"const {scalar_type(kind)} r = {expression};")
    if known.scc:
        w.put(f"scc = {known.scc};")
    w.put(*write_scalar(w, target, kind, "exec" if result == "exec" else "r"))
    w.put("exec = r; }" if result == "exec" else "}")


def _uniform_alu(w: Writer, item: Instruction, known: Semantics) -> None:
    """A vector operation on scalar registers: every lane computes the same, and one of them is taken."""
    _, clamp, omod = modifiers(item, _LISTS)
    if clamp or omod:
        raise Unknown(f"modifier {clamp or omod} of {item.mnemonic}")
    (kind,), (expression,) = known.results, known.expressions
    operands = list(item.operands)
    target = "" if kind == "scc" else operands.pop(0)
    check_count(operands, known)
    w.put(
        "{", *(f"const auto {n} = {vector(w, o, t)};" for n, o, t in zip(_NAMES, operands, known.sources, strict=False))
    )
    if re.search(r"\bd\b", expression):
        w.put(f"const auto d = {vector(w, target, kind)};")
    if kind == "scc":
        w.put(f"scc = mask(bools({expression})) & 1; }}")
    else:
        bits = "u16" if kind.endswith("16") else "u32"
        w.put(*write_scalar(w, target, "u32", f"(u32)as<{bits}>((V<{kind}>)({expression}))[0]"), "}")


def _vector_alu(w: Writer, item: Instruction, known: Semantics, into: str = "") -> Iterator[str]:
    """The statements of one vector operation; ``into`` names a variable that takes the bits instead of the register."""
    lists, clamp, omod = modifiers(item, _LISTS)
    operands = list(item.operands)
    targets = []
    for result in known.results:
        implicit = result == "exec" and len(operands) == len(known.sources)
        targets.append(_EXEC[w.target.wavefront] if implicit else operands.pop(0))
    if len(operands) == len(known.sources) - 1 and known.sources[-1] == "mask":
        operands.append("vcc_lo")  # v_dual_cndmask_b32 does not print it
    if known.packed and len(operands) == 2 and known.sources == ("u32",):
        yield from _packed_move(w, operands, targets[0], lists)
        return
    check_count(operands, known)
    if known.packed:
        yield from _packed(w, operands, targets[0], known, lists, clamp)
        return
    route = routing(item, w.target.wavefront)
    part = selection(item)
    if route:
        yield f"const B valid = {route.valid(w)};"
        yield f"const Mask live = {route.live(w)};"
    if any("signs" in e for e in known.expressions):  # neg_lo says which factors of an integer product are signed
        yield f"constexpr u32 signs = {sum(bit << i for i, bit in enumerate(lists.pop('neg_lo', [])))};"
    if any("FNUZ" in e for e in known.expressions):
        yield f"constexpr bool FNUZ = {int(w.target.fnuz)};"
    for name in () if "mix" in known.sources else ("op_sel_hi", "neg_lo", "neg_hi"):
        if name in lists:
            raise Unknown(f"modifier {name} of {item.mnemonic}")
    for i, (name, operand, kind) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
        half = chosen(lists, "op_sel", i, 0)
        if kind == "mix":
            half = half if chosen(lists, "op_sel_hi", i, 0) else -1
        elif half and not kind.endswith("16"):
            raise Unknown(f"op_sel of an operand of type {kind} of {item.mnemonic}")
        value = vector(w, operand, kind, half, functools.partial(part.source, i) if part and kind != "mask" else None)
        yield f"const auto {name} = {route.source(value) if route and i == 0 else value};"
    if route:
        yield "{ const Mask exec = live;"  # for what follows
    high = chosen(lists, "op_sel", len(operands), 0)
    for target, kind, expression in zip(targets, known.results, known.expressions, strict=True):
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {vector(w, target, kind, high)};"
        expression = modified(expression, kind, clamp, omod)
        if into:
            yield f"{into} = as<u32>({expression});"
        elif part and kind not in ("mask", "exec") and not kind.endswith("64"):
            bits = (
                f"to<u32>(as<u16>((V<{kind}>)({expression})))"
                if "16" in kind
                else f"as<u32>((V<{kind}>)({expression}))"
            )
            yield from part.write(registers(w, target)[0], bits)
        else:
            yield from write(w, target, kind, expression, high)
            if kind == "exec" and not target.startswith("exec"):  # generation 9 writes both
                yield f"exec = {scalar(w, target, 'mask')};"
    if route:
        yield "}"


def _dual(w: Writer, first: Instruction, second: Instruction) -> None:
    """Both halves of a pair read their sources before either writes."""
    w.put("{", "V<u32> x0, x1;")
    for i, half in enumerate((first, second)):
        if (known := semantics(half.mnemonic)) is None:
            raise Unknown(f"instruction {half.mnemonic}")
        w.put("{", *_vector_alu(w, half, known, f"x{i}"), "}")
    for i, half in enumerate((first, second)):
        w.put(*write(w, half.operands[0], "u32", f"x{i}"))
    w.put("}")


def _packed(
    w: Writer, operands: list[str], target: str, known: Semantics, lists: dict[str, list[int]], clamp: str
) -> Iterator[str]:
    """Both halves of a register, or both registers of a pair; each source says which of its halves goes where."""
    kind = known.results[0]
    expression = modified(known.expressions[0], kind, clamp, "")
    if kind[0] != "f" and ("neg_lo" in lists or "neg_hi" in lists):
        raise Unknown(f"sign modifier on operands of type {kind}")
    wide = kind.endswith("32")
    bits = "u32" if wide else "u16"
    yield f"V<{bits}> half[2];"
    for h, (select, negate, default) in enumerate((("op_sel", "neg_lo", 0), ("op_sel_hi", "neg_hi", 1))):
        yield "{"
        for i, (name, operand, source) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
            which = chosen(lists, select, i, default)
            value = vector(w, _word_of(w, operand, which) if wide else operand, source, 0 if wide else which)
            yield f"const auto {name} = {f'neg({value})' if chosen(lists, negate, i, 0) else value};"
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {vector(w, target, kind, h)};"
        yield f"half[{h}] = as<{bits}>((V<{kind}>)({expression})); }}"
    if wide:
        yield from write(w, target, "u64", "join(half[0], half[1])")
    else:
        yield from write(w, target, "u32", "to<u32>(half[0]) | to<u32>(half[1]) << 16")


def _packed_move(w: Writer, operands: list[str], target: str, lists: dict[str, list[int]]) -> Iterator[str]:
    """The lower result comes from the first source, the upper one from the second."""
    words = [vector(w, _word_of(w, o, chosen(lists, "op_sel", i, 0)), "u32") for i, o in enumerate(operands)]
    yield from write(w, target, "u64", f"join({words[0]}, {words[1]})")


def _word_of(w: Writer, operand: str, which: int) -> str:
    """One register of a pair; a constant has no upper word of its own, but 0 is 0 in both."""
    if operand[:1] in "sva" and "[" in operand:
        return named(w, operand)[which]
    if operand in ("vcc", "exec"):
        return f"{operand}_{'hi' if which else 'lo'}"
    if which and operand != "0":
        raise Unknown(f"upper word of {operand}")
    return operand
