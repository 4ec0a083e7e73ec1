"""Vector and scalar arithmetic as C++, from the expressions in the tables of ``isa``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from parity.emulator.amdgpu.dpp import dpp_routing
from parity.emulator.amdgpu.isa import Semantics, semantics
from parity.emulator.amdgpu.operands import (
    check_operand_count,
    list_element,
    parse_modifiers,
    read_scalar,
    read_vector,
    register_names,
    registers,
    reject_modifiers,
    scalar_type,
    with_output_modifiers,
    write_scalar,
    write_vector,
)
from parity.emulator.amdgpu.sdwa import sdwa_selection
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown

_NAMES = "abc"
_LISTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi", "bitop3")
_EXEC = {32: "exec_lo", 64: "exec"}


def emit_scalar(w: Writer, item: Instruction, known: Semantics) -> None:
    """Write a scalar operation."""
    reject_modifiers(item)
    (result,) = known.results
    operands = list(item.operands)
    target = "" if result == "scc" else operands.pop(0)
    check_operand_count(operands, known)
    sources = zip(_NAMES, operands, known.sources, strict=False)
    reads = [f"const {scalar_type(t)} {n} = {read_scalar(w, o, t)};" for n, o, t in sources]
    (expression,) = known.expressions
    if re.search(r"\bd\b", expression):
        reads.append(f"const {result} d = {read_scalar(w, target, result)};")
    if result == "scc":
        w.put("{", *reads, f"scc = {expression};", "}")
        return
    kind = "mask" if result == "exec" else result
    w.put("{", *reads, f"const {scalar_type(kind)} r = {expression};")
    if known.scc:
        w.put(f"scc = {known.scc};")
    w.put(*write_scalar(w, target, kind, "exec" if result == "exec" else "r"))
    w.put("exec = r; }" if result == "exec" else "}")


def emit_uniform(w: Writer, item: Instruction, known: Semantics) -> None:
    """Write a vector operation on scalar registers: all lanes compute the same result, and lane 0 gives it."""
    _, clamp, omod = parse_modifiers(item, _LISTS)
    if clamp or omod:
        raise Unknown(f"modifier {clamp or omod} of {item.mnemonic}")
    (kind,), (expression,) = known.results, known.expressions
    operands = list(item.operands)
    target = "" if kind == "scc" else operands.pop(0)
    check_operand_count(operands, known)
    sources = zip(_NAMES, operands, known.sources, strict=False)
    w.put("{", *(f"const auto {n} = {read_vector(w, o, t)};" for n, o, t in sources))
    if re.search(r"\bd\b", expression):
        w.put(f"const auto d = {read_vector(w, target, kind)};")
    if kind == "scc":
        w.put(f"scc = mask(bools({expression})) & 1; }}")
    else:
        bits = "u16" if kind.endswith("16") else "u32"
        w.put(*write_scalar(w, target, "u32", f"(u32)as<{bits}>((V<{kind}>)({expression}))[0]"), "}")


def emit_vector(w: Writer, item: Instruction, known: Semantics) -> None:
    """Write a vector operation."""
    w.put("{", *_vector_statements(w, item, known), "}")


def _vector_statements(w: Writer, item: Instruction, known: Semantics, into: str = "") -> Iterator[str]:
    """The statements of a vector operation; ``into`` names a variable for the result instead of the register."""
    lists, clamp, omod = parse_modifiers(item, _LISTS)
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
    check_operand_count(operands, known)
    if known.packed:
        yield from _packed(w, operands, targets[0], known, lists, clamp)
        return
    route = dpp_routing(item, w.target.wavefront)
    part = sdwa_selection(item)
    if route:
        yield f"const B valid = {route.valid(w)};"
        yield f"const Mask live = {route.live(w)};"
    if any("signs" in e for e in known.expressions):  # neg_lo marks the signed factors of an integer product
        yield f"constexpr u32 signs = {sum(bit << i for i, bit in enumerate(lists.pop('neg_lo', [])))};"
    if any("TABLE" in e for e in known.expressions):
        yield f"constexpr u32 TABLE = {list_element(lists, 'bitop3', 0, 0)};"
    if any("FNUZ" in e for e in known.expressions):
        yield f"constexpr bool FNUZ = {int(w.target.fnuz)}, SATURATES = {int(w.saturates)};"
    for name in () if "mix" in known.sources else ("op_sel_hi", "neg_lo", "neg_hi"):
        if name in lists:
            raise Unknown(f"modifier {name} of {item.mnemonic}")
    for i, (name, operand, kind) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
        half = list_element(lists, "op_sel", i, 0)
        if kind == "mix":
            half = half if list_element(lists, "op_sel_hi", i, 0) else -1
        elif half and not kind.endswith("16"):
            raise Unknown(f"op_sel of an operand of type {kind} of {item.mnemonic}")
        select = functools.partial(part.source, i) if part and kind != "mask" else None
        value = read_vector(w, operand, kind, half, select)
        yield f"const auto {name} = {route.source(value) if route and i == 0 else value};"
    if route:
        yield "{ const Mask exec = live;"  # for the following statements
    high = list_element(lists, "op_sel", len(operands), 0)
    for target, kind, expression in zip(targets, known.results, known.expressions, strict=True):
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {read_vector(w, target, kind, high)};"
        expression = with_output_modifiers(_saturated(w, expression, kind, known.sources), kind, clamp, omod)
        if into:
            yield f"{into} = as<u32>({expression});"
        elif part and kind not in ("mask", "exec") and not kind.endswith("64"):
            value = f"(V<{kind}>)({expression})"
            bits = f"to<u32>(as<u16>({value}))" if "16" in kind else f"as<u32>({value})"
            yield from part.write(registers(w, target)[0], bits)
        else:
            yield from write_vector(w, target, kind, expression, high)
            if kind == "exec" and not target.startswith("exec"):  # generation 9 writes both
                yield f"exec = {read_scalar(w, target, 'mask')};"
    if route:
        yield "}"


def _saturated(w: Writer, expression: str, kind: str, sources: Sequence[str]) -> str:
    """Return the C++ of a result, which stays finite for finite sources if the code says so (MODE.FP16_OVFL)."""
    if not w.saturates or kind not in ("f16", "f16hi"):
        return expression
    floats = [name for name, source in zip(_NAMES, sources, strict=False) if source in ("f16", "f32", "mix")]
    previous = ["d"] if re.search(r"\bd\b", expression) else []
    return f"saturated({', '.join((expression, *floats, *previous))})"


def emit_dual(w: Writer, first: Instruction, second: Instruction) -> None:
    """Write a dual-issue pair: both halves read their sources before either writes its result."""
    w.put("{", "V<u32> x0, x1;")
    for i, half in enumerate((first, second)):
        if (known := semantics(half.mnemonic)) is None:
            raise Unknown(f"instruction {half.mnemonic}")
        w.put("{", *_vector_statements(w, half, known, f"x{i}"), "}")
    for i, half in enumerate((first, second)):
        w.put(*write_vector(w, half.operands[0], "u32", f"x{i}"))
    w.put("}")


def _packed(
    w: Writer, operands: list[str], target: str, known: Semantics, lists: dict[str, list[int]], clamp: str
) -> Iterator[str]:
    """Apply an operation to both halves of a register or pair; modifiers choose the halves of each source."""
    kind = known.results[0]
    expression = with_output_modifiers(_saturated(w, known.expressions[0], kind, known.sources), kind, clamp, "")
    if kind[0] != "f" and ("neg_lo" in lists or "neg_hi" in lists):
        raise Unknown(f"sign modifier on operands of type {kind}")
    wide = kind.endswith("32")
    bits = "u32" if wide else "u16"
    yield f"V<{bits}> half[2];"
    for h, (select, negate, default) in enumerate((("op_sel", "neg_lo", 0), ("op_sel_hi", "neg_hi", 1))):
        yield "{"
        for i, (name, operand, source) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
            which = list_element(lists, select, i, default)
            value = read_vector(w, _word_of(w, operand, which) if wide else operand, source, 0 if wide else which)
            yield f"const auto {name} = {f'neg({value})' if list_element(lists, negate, i, 0) else value};"
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {read_vector(w, target, kind, h)};"
        yield f"half[{h}] = as<{bits}>((V<{kind}>)({expression})); }}"
    if wide:
        yield from write_vector(w, target, "u64", "join(half[0], half[1])")
    else:
        yield from write_vector(w, target, "u32", "to<u32>(half[0]) | to<u32>(half[1]) << 16")


def _packed_move(w: Writer, operands: list[str], target: str, lists: dict[str, list[int]]) -> Iterator[str]:
    """Move the first source to the lower result, and the second source to the upper result."""
    words = [read_vector(w, _word_of(w, o, list_element(lists, "op_sel", i, 0)), "u32") for i, o in enumerate(operands)]
    yield from write_vector(w, target, "u64", f"join({words[0]}, {words[1]})")


def _word_of(w: Writer, operand: str, which: int) -> str:
    """One register of a pair. Only the constant 0 has an upper word."""
    if operand[:1] in "sva" and "[" in operand:
        return register_names(w, operand)[which]
    if operand in ("vcc", "exec"):
        return f"{operand}_{'hi' if which else 'lo'}"
    if which and operand != "0":
        raise Unknown(f"upper word of {operand}")
    return operand
