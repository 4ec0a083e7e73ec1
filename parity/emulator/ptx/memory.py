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


def _misaligned(o: Operation, bytes_: int) -> str:
    if bytes_ == 1:
        return ""
    return f"if (misaligned(c, on, at, {bytes_ - 1}, {o.here})) return 1;"


def _ld(o: Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    space, count, type_, coherent = _memory_words(words)
    targets = split_operands(target.strip("{}"))
    if space == "param":
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
    apart = "apart" in words  # several loads, see peephole.py
    lines = [place, _misaligned(o, size if apart else size * count)]
    c, bytes_ = f"u{8 * size}", size * count
    if apart:
        lines.append(f"V<{c}> x[{count}]; if (load_apart<{c}, {count}>(c, on, at, {number}, x)) return 1;")
        values = [f"x[{i}]" for i in range(count)]
    elif count == 1 or bytes_ <= 8:
        u = f"u{8 * bytes_}"
        lines.append(f"V<{u}> x; if (load_at_{u}(c, on, at, {number}, &x)) return 1;")
        values = ["x"] if count == 1 else [f"to<{c}>(x >> ({u}){8 * size * i})" for i in range(count)]
    elif bytes_ <= 16:
        lines += [f"V<u32> x[{bytes_ // 4}];", f"if (gather_at(c, on, at, {bytes_}, {number}, x)) return 1;"]
        values = [_in_words("x[{}]".format, i * size, size) for i in range(count)]
    else:
        raise MissingFeature("accesses of 32 bytes")
    o.guarded(*lines, *_loads(o, targets, type_, values.__getitem__))


def _loads(o: Operation, targets: Sequence[str], type_: str, value: Callable[[int], str]) -> list[str]:
    """Return statements that load element ``i``, which is ``value(i)`` in C++, into target ``i``."""
    return [_loaded(o, target, type_, value(i)) for i, target in enumerate(targets) if target != "_"]


def _in_words(word: Callable[[int], str], offset: int, size: int) -> str:
    """Return ``size`` bytes from an offset on as an unsigned number, in C++; ``word`` returns each word of 32 bits."""
    k = offset // 4
    if size == 8:
        return f"join({word(k)}, {word(k + 1)})"
    return word(k) if size == 4 else f"to<u{8 * size}>({word(k)} >> {8 * (offset % 4)})"


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
    if name in o.function.registers:  # the address of a parameter
        raise MissingFeature("addresses of parameters")
    if name not in o.whole.layout.parameters:
        raise Unknown(f"parameter {name}")
    at = o.whole.layout.parameters[name] + offset
    o.guarded(*_loads(o, targets, type_, lambda i: f"parameter<u{8 * size}>(c, N({o.n(at + i * size)}))"))


def _param(o: Operation, slot: int, offset: int, size: int) -> str:
    """Return bytes of a call parameter, which is stored in slots of 32 bits, as C++."""
    if offset % min(size, 4):
        raise MissingFeature("parameters that are not aligned")
    return _in_words(lambda k: f"R(u32, {o.n(slot + k)})", offset, size)


def _st(o: Operation, words: list[str]) -> None:
    operand, source = o.item.operands[:2]
    space, count, type_, coherent = _memory_words(words)
    sources = split_operands(source.strip("{}"))
    size = size_of(type_)
    if space == "param":
        name, offset = split_address(operand)
        if name not in o.params:
            raise Unknown(f"parameter {name}")
        lines = []
        for i, each in enumerate(sources):
            lines += _st_param(o, o.params[name], offset + i * size, size, o.source(each, type_))
        o.guarded(*lines)
        return
    place = address_statement(o, operand, space)
    number = f"{o.here} | COHERENT" if coherent else o.here
    apart = "apart" in words  # several stores, see peephole.py
    lines = [place, _misaligned(o, size if apart else size * count)]
    values = [f"as<u{8 * size}>({o.source(each, type_)})" for each in sources]
    c, bytes_ = f"u{8 * size}", size * count
    if apart:
        lines.append(f"const V<{c}> x[] = {{{', '.join(values)}}};")
        lines.append(f"if (store_apart<{c}, {count}>(c, on, at, {number}, x)) return 1;")
    elif count == 1:
        lines.append(f"if (store_at_{c}(c, on, at, {number}, {values[0]})) return 1;")
    elif bytes_ <= 8:
        u = f"u{8 * bytes_}"
        whole = " | ".join(f"to<{u}>({value}) << ({u}){8 * size * i}" for i, value in enumerate(values))
        lines.append(f"const V<{u}> x = {whole}; if (store_at_{u}(c, on, at, {number}, x)) return 1;")
    elif bytes_ <= 16:
        lines.append(f"V<u32> x[{bytes_ // 4}] = {{}};")
        lines += [_placed(value, i, size) for i, value in enumerate(values)]
        lines.append(f"if (scatter_at(c, on, at, {bytes_}, {number}, x)) return 1;")
    else:
        raise MissingFeature("accesses of 32 bytes")
    o.guarded(*lines)


def _placed(value: str, i: int, size: int) -> str:
    """Return a statement that stores element ``i`` in the array of words ``x``."""
    if size == 8:
        return f"{{ const V<u64> v = {value}; x[{2 * i}] = lo32(v), x[{2 * i + 1}] = hi32(v); }}"
    if size == 4:
        return f"x[{i}] = {value};"
    per = 4 // size
    return f"x[{i // per}] |= to<u32>({value}) << {8 * size * (i % per)};"


def _st_param(o: Operation, slot: int, offset: int, size: int, value: str) -> list[str]:
    if offset % min(size, 4):
        raise MissingFeature("parameters that are not aligned")

    def put(k: int, text: str) -> str:
        there = f"R(u32, {o.n(slot + k)})"
        return f"put({there}, on, V<u32>({text}));"

    k = offset // 4
    if size == 8:
        return [f"{{ const V<u64> v = as<u64>({value});", put(k, "lo32(v)"), put(k + 1, "hi32(v)"), "}"]
    if size == 4:
        return [put(k, f"as<u32>({value})")]
    shift, ones = 8 * (offset % 4), (1 << 8 * size) - 1
    there = f"R(u32, {o.n(slot + k)})"
    put_in = f"({there} & ~({ones}u << {shift})) | to<u32>(as<u{8 * size}>({value})) << {shift}"
    return [f"put({there}, on, V<u32>({put_in}));"]


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
        _misaligned(o, size),
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
