"""One instruction as C++: what it computes comes from the tables of ``isa``, what is common to all is written here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parity.emulator.isa import BRANCHES, IGNORED, LOADS, STORES, Semantics, semantics
from parity.emulator.operands import (
    OMOD,
    check_count,
    chosen,
    modifiers,
    offset,
    refuse_modifiers,
    registers,
    scalar,
    scalar_type,
    vector,
    write,
    write_scalar,
)
from parity.emulator.parse import Instruction
from parity.emulator.writer import Unknown, Writer

__all__ = ["END", "emit"]

_NAMES = "abc"
_LISTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
END = "c->budget = left; return 0;"


def emit(w: Writer, item: Instruction) -> None:
    name = item.mnemonic
    if name in IGNORED:
        return
    if name == "s_endpgm":
        w.put(END)
    elif name in BRANCHES:
        target = item.operands[0]
        if target not in w.position:
            raise Unknown(f"label {target}")
        stop = f"if (left < 0) {{ c->fault = TIMEOUT; c->instruction = {w.number}; return 1; }} "
        jump = f"{stop if w.position[target] <= w.at else ''}goto {w.label(target)};"
        w.put(f"if ({BRANCHES[name]}) {{ {jump} }}" if BRANCHES[name] else jump)
    elif name.startswith("s_load_"):
        _scalar_load(w, item)
    elif name.startswith(("global_load_", "flat_load_")):
        _load(w, item)
    elif name.startswith(("global_store_", "flat_store_")):
        _store(w, item)
    elif name == "v_readlane_b32":
        refuse_modifiers(item)
        value, lane = vector(w, item.operands[1], "u32"), scalar(w, item.operands[2], "u32")
        w.put(*write_scalar(w, item.operands[0], "u32", f"({value})[{lane} & 31]"))
    elif name == "v_writelane_b32":
        refuse_modifiers(item)
        (target,) = registers(w, item.operands[0])
        w.put(f"{target}[{scalar(w, item.operands[2], 'u32')} & 31] = {scalar(w, item.operands[1], 'u32')};")
    elif item.paired:
        _dual(w, item, item.paired)
    elif (known := semantics(name)) is None:
        raise Unknown(f"instruction {name}")
    elif known.scalar:
        _scalar_alu(w, item, known)
    else:
        w.put("{", *_vector_alu(w, item, known), "}")


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
    kind = "u32" if result == "exec" else result
    w.put("{", *reads, f"const {kind} r = {expression};")
    if known.scc:
        w.put(f"scc = {known.scc};")
    w.put(*write_scalar(w, target, kind, "exec_lo" if result == "exec" else "r"))
    w.put("exec_lo = r; }" if result == "exec" else "}")


def _vector_alu(w: Writer, item: Instruction, known: Semantics, into: str = "") -> Iterator[str]:
    """The statements of one vector operation; ``into`` names a variable that takes the bits instead of the register."""
    lists, clamp, omod = modifiers(item, _LISTS)
    operands = list(item.operands)
    targets = []
    for result in known.results:
        implicit = result == "exec" and len(operands) == len(known.sources)
        targets.append("exec_lo" if implicit else operands.pop(0))
    if len(operands) == len(known.sources) - 1 and known.sources[-1] == "mask":
        operands.append("vcc_lo")  # v_dual_cndmask_b32 does not print it
    check_count(operands, known)
    if known.packed:
        yield from _packed(w, operands, targets[0], known, lists)
        return
    for i, (name, operand, kind) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
        half = chosen(lists, "op_sel", i, 0)
        if kind == "mix":
            half = half if chosen(lists, "op_sel_hi", i, 0) else -1
        yield f"const auto {name} = {vector(w, operand, kind, half)};"
    high = chosen(lists, "op_sel", len(operands), 0)
    for target, kind, expression in zip(targets, known.results, known.expressions, strict=True):
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {vector(w, target, kind, high)};"
        if clamp or omod:
            if kind[0] != "f":
                raise Unknown(f"modifier {clamp or omod} on a result of type {kind}")
            base = kind.removesuffix("hi")
            scaled = f"(V<{base}>)({expression}) * ({base}){OMOD[omod]}" if omod else f"(V<{base}>)({expression})"
            expression = f"clamp01<{base}>({scaled})" if clamp else scaled
        if into:
            yield f"{into} = as<u32>({expression});"
        else:
            yield from write(w, target, kind, expression, high)


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
    w: Writer, operands: list[str], target: str, known: Semantics, lists: dict[str, list[int]]
) -> Iterator[str]:
    yield "V<u32> half[2];"
    kind, expression = known.results[0], known.expressions[0]
    for h, (select, negate, default) in enumerate((("op_sel", "neg_lo", 0), ("op_sel_hi", "neg_hi", 1))):
        yield "{"
        for i, (name, operand, source) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
            value = vector(w, operand, source, chosen(lists, select, i, default))
            yield f"const auto {name} = {f'neg({value})' if chosen(lists, negate, i, 0) else value};"
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {vector(w, target, kind, h)};"
        yield f"half[{h}] = to<u32>(as<u16>((V<{kind}>)({expression}))); }}"
    yield from write(w, target, "u32", "half[0] | half[1] << 16")


# --- memory ----------------------------------------------------------------------------------------------------------


def _scalar_load(w: Writer, item: Instruction) -> None:
    target, base, *offsets = item.operands
    words = int(item.mnemonic.removeprefix("s_load_b")) // 32
    terms = [scalar(w, base, "u64")]
    terms += [f"(i64){scalar(w, o, 'i32') if o[:2] == '0x' or o.lstrip('-').isdigit() else scalar(w, o, 'u32')}"
              for o in offsets if o != "null"]  # fmt: skip
    terms.append(f"{offset(item)}l")
    names = registers(w, target)
    if len(names) != words:
        raise Unknown(f"{len(names)} registers for {item.mnemonic}")
    w.put(f"{{ u32 x[{words}]; if (scalar_load<{words}>(c, {' + '.join(terms)}, {w.number}, x)) return 1;")
    w.put(" ".join(f"{name} = x[{i}];" for i, name in enumerate(names)) + " }")


def _address(w: Writer, item: Instruction, lanes: str, base: str | None) -> str:
    """Arguments of a memory function: what all lanes add to their addresses, and the halves of these."""
    if base is None or base == "off":
        lo, hi = registers(w, lanes)
        return f"(u64){offset(item)}l, V<u32>({lo}), V<u32>({hi})"  # copies, which have addresses
    return f"{scalar(w, base, 'u64')} + (u64){offset(item)}l, V<u32>({vector(w, lanes, 'u32')}), all(0u)"


def _load(w: Writer, item: Instruction) -> None:
    kind = item.mnemonic.partition("_load_")[2]
    if kind not in LOADS:
        raise Unknown(f"instruction {item.mnemonic}")
    element, into = LOADS[kind]
    target, lanes, *rest = item.operands
    address = _address(w, item, lanes, rest[0] if rest else None)
    if element in ("x3", "x4"):
        n, names = int(element[1]), registers(w, target)
        w.put(f"{{ V<u32> x[{n}]; if (gather(c, exec_lo, {address}, {4 * n}, {w.number}, x)) return 1;")
        w.put(*(f"{name} = sel(unmask(exec_lo), x[{i}], {name});" for i, name in enumerate(names)), "}")
        return
    stored = element.replace("i", "u")
    value = "x" if stored == element else f"as<{element}>(x)"
    if into in ("lo", "hi"):
        target, into, value = (
            target.split(".")[0] + {"lo": ".l", "hi": ".h"}[into],
            "u16",
            f"as<u16>(to<{element[0]}16>({value}))",
        )
    elif element != into:
        value = f"to<{into}>({value})"
    w.put(f"{{ V<{stored}> x; if (load_{stored}(c, exec_lo, {address}, {w.number}, &x)) return 1;")
    w.put(*write(w, target, into, value), "}")


def _store(w: Writer, item: Instruction) -> None:
    kind = item.mnemonic.partition("_store_")[2]
    if kind not in STORES:
        raise Unknown(f"instruction {item.mnemonic}")
    element, shift = STORES[kind]
    lanes, data, *rest = item.operands
    address = _address(w, item, lanes, rest[0] if rest else None)
    if element in ("x3", "x4"):
        names = registers(w, data)
        w.put(f"{{ const V<u32> x[] = {{{', '.join(names)}}};")
        w.put(f"if (scatter(c, exec_lo, {address}, {4 * len(names)}, {w.number}, x)) return 1; }}")
        return
    value = vector(w, data.partition(".")[0], "u64" if element == "u64" else "u32")
    value = f"{value} >> {16 if data.endswith('.h') else shift}"
    w.put(f"if (store_{element}(c, exec_lo, {address}, {w.number}, to<{element}>({value}))) return 1;")
