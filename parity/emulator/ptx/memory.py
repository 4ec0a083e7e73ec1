"""Instructions that access memory, which is a single range of addresses (runtime/memory.h)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parity.emulator.instruction import MissingFeature, Unknown
from parity.emulator.ptx.instruction_table import ATOMICS
from parity.emulator.ptx.operands import SPACES, cpp_type, integer_literal, split_address
from parity.emulator.ptx.operation import Operation
from parity.emulator.ptx.parse import size_of, split_operands


def address_statement(o: Operation, operand: str, space: str) -> str:
    """Return a C++ statement that defines ``at`` as the address of each thread."""
    name, offset = split_address(operand)
    if name.startswith("("):
        value, of = o.inside(name)
        value = f"to<u64>(as<u{8 * size_of(of)}>({value}))"
    elif name in o.function.registers:
        kind = o.function.registers[name]
        wide = size_of(kind) == 8
        value = o.source(name, "u64" if wide else "u32")
        value = value if wide else f"to<u64>({value})"
    elif (number := integer_literal(name)) is not None:
        value = f"all<u64>(N({o.n(number)}))"
    else:
        value = o.address_of(name)
    added = " + c->lds" if space == "shared" else ""
    if offset:
        added += f" + N({o.n(offset)})"
    return f"const V<u64> at = {value}{added};"


def _memory_words(words: list[str]) -> tuple[str, int, str, bool]:
    """Return the space, the number of elements, their type, and whether the access is coherent."""
    space = next((word for word in words if word in SPACES), "")
    count = next((int(word[1]) for word in words if word in ("v2", "v4", "v8")), 1)
    coherent = any(word in words for word in ("volatile", "relaxed", "acquire", "release", "mmio"))
    return space, count, words[-1], coherent


def _misaligned(o: Operation, words: list[str], size: int, count: int = 1) -> str:
    """Return the check of the alignment of an access. Several accesses that are joined (peephole.py) are apart."""
    aligned = size if "apart" in words else size * count
    return "" if aligned == 1 else f"if (misaligned(c, on, at, {aligned - 1}, {o.here})) return 1;"


def _access(words: list[str], size: int, count: int) -> str:
    """Return the end of the name of the function that accesses elements: of a vector, or of several instructions."""
    if size * count > 16:
        raise MissingFeature("accesses of 32 bytes")
    return f"{'apart' if 'apart' in words else 'vector'}<u{8 * size}, {count}>"


def _ld(o: Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    space, count, type_, coherent = _memory_words(words)
    targets = split_operands(target.strip("{}"))
    if space == "param" and not (o.function.entry and split_address(operand)[0] in o.function.registers):
        _ld_param(o, targets, operand, type_)
        return
    if space == "const":
        coherent = False
    size = size_of(type_)
    place = address_statement(o, operand, space)
    number = f"{o.here} | COHERENT" if coherent else o.here
    if o.is_shared(target):
        load = f"u64 x; if (load_shared(c, on, at[0], {size}, {number}, &x)) return 1;"
        o.guarded(place, load, _loaded(o, target, type_, f"all((u{8 * size})x)"))
        return
    lines = [place, _misaligned(o, words, size, count), f"V<u{8 * size}> x[{count}];"]
    lines.append(f"if (load_{_access(words, size, count)}(c, on, at, {number}, x)) return 1;")
    o.guarded(*lines, *_loads(o, targets, type_, "x[{}]".format))


def _loads(o: Operation, targets: Sequence[str], type_: str, value: Callable[[int], str]) -> list[str]:
    """Return statements that load element ``i``, which is ``value(i)`` in C++, into target ``i``."""
    return [_loaded(o, target, type_, value(i)) for i, target in enumerate(targets) if target != "_"]


def _loaded(o: Operation, target: str, type_: str, value: str) -> str:
    size = size_of(type_)
    if type_[0] == "s":
        return o.result(target, type_, f"as<i{8 * size}>(V<u{8 * size}>({value}))")
    return o.result(target, f"b{8 * size}", value)


def _ld_param(o: Operation, targets: list[str], operand: str, type_: str) -> None:
    name, offset = split_address(operand)
    size = size_of(type_)
    if name in o.params:
        slot = o.params[name]
        o.guarded(*_loads(o, targets, type_, lambda i: _param(o, slot, offset + i * size, size)))
        return
    if name in o.function.registers:  # the address of a parameter of a function
        raise MissingFeature("addresses of parameters")
    if name not in o.whole.layout.parameters:
        raise Unknown(f"parameter {name}")
    at = o.whole.layout.parameters[name] + offset
    o.guarded(*_loads(o, targets, type_, lambda i: f"parameter<u{8 * size}>(c, N({o.n(at + i * size)}))"))


def _slot(o: Operation, slot: int, offset: int, size: int) -> int:
    """Return the number of the slot of 32 bits that bytes of a call parameter begin in."""
    if offset % size:
        raise MissingFeature("parameters that are not aligned")
    return o.n(slot + offset // 4)


def _param(o: Operation, slot: int, offset: int, size: int) -> str:
    there = _slot(o, slot, offset, size)
    return f"R(u{8 * size}, {there})" if size >= 4 else f"to<u{8 * size}>(R(u32, {there}) >> {8 * (offset % 4)})"


def _st(o: Operation, words: list[str]) -> None:
    operand, source = o.item.operands[:2]
    space, count, type_, coherent = _memory_words(words)
    sources = split_operands(source.strip("{}"))
    size = size_of(type_)
    if space == "param":
        name, offset = split_address(operand)
        if name not in o.params:
            raise Unknown(f"parameter {name}")
        slot, given = o.params[name], [o.source(each, type_) for each in sources]
        o.guarded(*(_st_param(o, slot, offset + i * size, size, value) for i, value in enumerate(given)))
        return
    place = address_statement(o, operand, space)
    number = f"{o.here} | COHERENT" if coherent else o.here
    values = ", ".join(f"as<u{8 * size}>({o.source(each, type_)})" for each in sources)
    lines = [place, _misaligned(o, words, size, count), f"const V<u{8 * size}> x[] = {{{values}}};"]
    o.guarded(*lines, f"if (store_{_access(words, size, count)}(c, on, at, {number}, x)) return 1;")


def _st_param(o: Operation, slot: int, offset: int, size: int, value: str) -> str:
    there, value = f"R(u{8 * max(size, 4)}, {_slot(o, slot, offset, size)})", f"as<u{8 * size}>({value})"
    if size < 4:
        shift, ones = 8 * (offset % 4), (1 << 8 * size) - 1
        value = f"({there} & ~({ones}u << {shift})) | to<u32>({value}) << {shift}"
    return f"put({there}, on, V<u{8 * max(size, 4)}>({value}));"


def _atom(o: Operation, words: list[str]) -> None:
    returns = o.item.mnemonic.startswith("atom")
    operands = list(o.item.operands)
    target = operands.pop(0) if returns else "_"
    address, *values = operands
    space = next((word for word in words if word in SPACES), "")
    type_ = words[-1]
    kind = next((word for word in words if word in ATOMICS), None)
    if kind is None or any(word in ("v2", "v4", "v8") for word in words):
        raise Unknown(f"instruction {o.item.mnemonic}")
    size = size_of(type_)
    if size > 8:
        raise MissingFeature("atomics of 128 bits")
    u = f"u{8 * size}"
    place = address_statement(o, address, space)
    compares = kind == "cas"
    expression, t = (
        ATOMICS[kind],
        {"bf16": "Bf16", "f16x2": "PackedF16", "bf16x2": "PackedBf16"}.get(type_, cpp_type(type_)),
    )
    if kind == "add" and type_ in ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2"):
        expression = f"sum_in_{'shared' if space == 'shared' else 'memory'}(was, given)"
    elif kind in ("min", "max") and type_ in ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2"):
        raise Unknown(f"instruction {o.item.mnemonic}")
    read = [f"as<{u}>({o.source(each, type_ if not type_.endswith('x2') else 'b32')})" for each in values]
    given, compared = (read[1], read[0]) if compares else (read[0], read[0])
    lines = [
        place,
        _misaligned(o, words, size),
        f"if (atomics_of_warp(c, on, at, {size}, {o.here}, {'true' if compares else 'false'})) return 1;",
        "const V<u32> lo = lo32(at), hi = hi32(at);",
        f"typedef {t} T; V<{u}> old;",
        f"if (atomic<T, {'true' if compares else 'false'}>(c, on, 0ul, lo, hi, {o.here}, V<{u}>({given}), "
        f"V<{u}>({compared}), &old, [](T was, T given, T compared) {{ return {expression}; }})) return 1;",
    ]
    if target != "_":
        lines.append(o.result(target, f"b{8 * size}", "old"))
        if o.is_used(target):  # what a thread does with the old value comes after other threads' earlier accesses
            lines.append("ordered(c);")
    o.guarded(*lines)


def copy_async(o: Operation, words: list[str]) -> None:
    """Emit ``cp.async`` as an immediate copy from global to shared memory. Bytes beyond the source size are zero."""
    to, of, size, *more = o.item.operands
    bytes_ = integer_literal(size)
    if bytes_ not in (4, 8, 16):
        raise Unknown(f"operand {size} of {o.item.mnemonic}")
    if more and not more[0].startswith("%"):
        more = []
    source, target = address_statement(o, of, "global"), address_statement(o, to, "shared")
    lines = [f"V<u32> x[{bytes_ // 4}] = {{}};", "{", source]
    if more:
        have = o.source(more[0], "u32")
        lines += [
            f"const V<u32> have = {have};",
            f"const Mask some = on & holds(have >= {bytes_}u);",
            "if (on & ~(some | holds(have == 0u))) return c->fault = BAD_CALL, 1;",
            f"if (some && gather_at(c, some, at, {bytes_}, {o.here}, x)) return 1;",
            *(f"x[{k}] = sel(some, x[{k}], all(0u));" for k in range(bytes_ // 4)),
        ]
    else:
        lines.append(f"if (gather_at(c, on, at, {bytes_}, {o.here}, x)) return 1;")
    lines += ["} {", target, f"if (scatter_at(c, on, at, {bytes_}, {o.here}, x)) return 1;", "}"]
    o.guarded(*lines)


MEMORY: dict[str, Callable[[Operation, list[str]], None]] = {
    "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _atom,
}  # fmt: skip
