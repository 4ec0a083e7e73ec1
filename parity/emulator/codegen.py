"""From the instructions of one kernel to a C++ function that executes one wavefront.

Registers are local variables: an SGPR a ``u32``, a VGPR a vector of one ``u32`` per lane, EXEC, VCC and SCC scalars.
Branches become ``goto``. The code is there twice: once for EXEC of all ones, see ``_full``, and once for any EXEC.
What an instruction computes comes from the tables of ``isa``; how operands are read, modifiers applied and results
written under the EXEC mask is written here, once.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from parity.emulator.faults import UnknownInstruction
from parity.emulator.isa import BRANCHES, CACHE_POLICY, IGNORED, LOADS, STORES, Semantics, semantics
from parity.emulator.parse import Function, Instruction

__all__ = ["translate"]

_REGISTER = re.compile(r"([sv])(\d+)(?:\.([lh]))?$|([sv])\[(\d+):(\d+)\]$")
_SPECIAL = {
    "vcc_lo": ("vcc_lo",),
    "vcc_hi": ("vcc_hi",),
    "vcc": ("vcc_lo", "vcc_hi"),
    "exec_lo": ("exec_lo",),
    "exec_hi": ("exec_hi",),
    "exec": ("exec_lo", "exec_hi"),
    "m0": ("m0",),
}
_NAMES = "abc"
_FLOAT_FORMAT = {16: "<e", 32: "<f", 64: "<d"}
_ONE_OVER_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
_OMOD = {"mul:2": "2", "mul:4": "4", "div:2": "0.5"}
_LISTS = ("op_sel", "op_sel_hi", "neg_lo", "neg_hi")
_WIDTH = re.compile(r"(\d+)")
_END = "c->budget = left; return 0;"


class _Unknown(Exception):
    """Something of an instruction that the emulator does not know; the text says what."""


@dataclass
class _Writer:
    """The state of one translation: lines so far, registers met, position of the current item, name of the copy.

    ``items`` are the instructions and the labels that are branched to, ``position`` says where a label is, and
    ``sizes`` how many instructions count in the basic block that an item begins.
    """

    items: Sequence[Instruction | str]
    position: dict[str, int]
    sizes: dict[int, int]
    lines: list[str] = field(default_factory=list)
    registers: set[str] = field(default_factory=set)
    at: int = 0
    copy: str = ""

    @property
    def number(self) -> int:
        """The number of the current instruction."""
        return sum(isinstance(item, Instruction) for item in self.items[: self.at])

    def label(self, name: str) -> str:
        """The label in the current copy."""
        return self.copy + re.sub(r"\W", "_", name)

    def put(self, *lines: str) -> None:
        self.lines += lines


def translate(function: Function, symbol: str) -> str:
    """C++ of a function ``symbol(Context *, exec, work-item ids)`` that executes one wavefront of the kernel.

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    targets = {item.operands[0] for item in function.instructions if item.mnemonic in BRANCHES}
    items = [item for item in function.items if isinstance(item, Instruction) or item in targets]
    w = _Writer(items, {item: i for i, item in enumerate(items) if isinstance(item, str)}, _block_sizes(items))
    try:
        _full(w)
        _general(w)
    except _Unknown as unknown:
        raise UnknownInstruction(str(unknown), function.name, function.instructions[w.number]) from None
    head, entry = _entry(function, w)
    declared = [f"u32 {r} = 0xbaadf00du;" for r in sorted(w.registers) if r[0] != "v" or r.startswith("vcc")]
    declared += [f"V<u32> {r} = 0xbaadf00du;" for r in sorted(w.registers) if r[0] == "v" and not r.startswith("vcc")]
    return "\n".join(
        [
            f"{head} u32 {symbol}(Context *c, u32 exec_lo, In<u32> ids) {{",
            "u32 scc = 0, exec_hi = 0; i64 left = c->budget;",
            *declared,
            *entry,
            *w.lines,
            "}",
        ]
    )


def _general(w: _Writer) -> None:
    """The copy of the code for any EXEC."""
    w.copy = "some"
    w.put("some_start:;")
    for i in range(len(w.items)):
        _item(w, i)
        if _writes_exec(w.items[i]):
            w.put(f"some_{i}:;")
    w.put(_END)


def _full(w: _Writer) -> None:
    """The copy for EXEC of all ones, a constant to the compiler: no blends, and no register kept for masked lanes.

    It is left for good when an instruction clears a bit of EXEC; but what no lane executes is skipped here, too.
    """
    w.copy = "full"
    w.put("if (exec_lo != ~0u) goto some_start;", "exec_lo = ~0u;")
    for i in range(len(w.items)):
        _item(w, i)
        if _writes_exec(w.items[i]):
            if path := _skipped(w, i):
                w.put("if (exec_lo == 0) {")
                for k in path:
                    _item(w, k, label=False)
                if _writes_exec(w.items[path[-1]]):
                    w.put(f"if (exec_lo == ~0u) goto full_{path[-1]};", f"goto some_{path[-1]};")
                w.put("}")
            w.put(f"if (exec_lo != ~0u) goto some_{i};", f"exec_lo = ~0u; full_{i}:;")
    w.put(_END)


def _skipped(w: _Writer, i: int) -> list[int]:
    """The items that an EXEC of zero after item ``i`` leads through, down to the next write of EXEC or the end.

    Empty if anything but scalar instructions and forward branches lies on that path.
    """
    path: list[int] = []
    k = i + 1
    while k < len(w.items):
        item = w.items[k]
        if isinstance(item, Instruction) and item.mnemonic == "s_cbranch_execz":
            k, last = w.position.get(item.operands[0], 0), k
            if k <= last:
                break
            continue
        path.append(k)
        k += 1
        if isinstance(item, str) or item.mnemonic in IGNORED:
            continue
        if item.mnemonic == "s_endpgm" or _writes_exec(item):
            return path
        if not ((known := semantics(item.mnemonic)) and known.scalar):
            break
    return []


def _writes_exec(item: Instruction | str) -> bool:
    if isinstance(item, str):
        return False
    known = semantics(item.mnemonic)
    return known is not None and ("exec" in known.results or item.operands[0] in ("exec_lo", "exec"))


def _item(w: _Writer, i: int, label: bool = True) -> None:
    w.at, item = i, w.items[i]
    if label and isinstance(item, str):
        w.put(f"{w.label(item)}:;")
    if w.sizes.get(i):
        w.put(f"left -= {w.sizes[i]};")
    if isinstance(item, Instruction):
        _emit(w, item)


def _entry(function: Function, w: _Writer) -> tuple[str, list[str]]:
    """What the hardware puts into registers before the first instruction: LLVM AMDGPU usage, initial kernel state."""
    d, lines, at = function.descriptor, [], 0
    for key, count, value in (
        ("user_sgpr_private_segment_buffer", 4, ""),
        ("user_sgpr_dispatch_ptr", 2, "c->dispatch"),
        ("user_sgpr_queue_ptr", 2, ""),
        ("user_sgpr_kernarg_segment_ptr", 2, "c->kernarg"),
    ):
        if d.get(key):
            if value:
                w.registers |= {f"s{at}", f"s{at + 1}"}
                lines.append(f"s{at} = (u32){value}; s{at + 1} = {value} >> 32;")
            at += count
    at = d.get("user_sgpr_count", at)
    for i, axis in enumerate("xyz"):
        if d.get(f"system_sgpr_workgroup_id_{axis}"):
            w.registers.add(f"s{at}")
            lines.append(f"s{at} = c->group[{i}];")
            at += 1
    w.registers.add("v0")
    ids = ("0x3ffu", "0xfffffu", "0x3fffffffu")[d.get("system_vgpr_workitem_id", 0)]
    lines.append(f"v0 = ids & {ids};")
    return 'extern "C" __attribute__((visibility("default")))', lines


def _block_sizes(items: Sequence[Instruction | str]) -> dict[int, int]:
    """For the first item of every basic block the number of instructions in it that count."""
    sizes: dict[int, int] = {}
    start, fresh = 0, True
    for i, item in enumerate(items):
        if fresh or isinstance(item, str):
            start = i
            sizes[start] = 0
        fresh = isinstance(item, Instruction) and item.mnemonic in BRANCHES
        if isinstance(item, Instruction) and item.mnemonic not in IGNORED:
            sizes[start] += 1
    return sizes


def _emit(w: _Writer, item: Instruction) -> None:
    name = item.mnemonic
    if name in IGNORED:
        return
    if name == "s_endpgm":
        w.put(_END)
    elif name in BRANCHES:
        target = item.operands[0]
        if target not in w.position:
            raise _Unknown(f"label {target}")
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
        _plain(item)
        value, lane = _vector(w, item.operands[1], "u32"), _scalar(w, item.operands[2], "u32")
        w.put(*_write_scalar(w, item.operands[0], "u32", f"({value})[{lane} & 31]"))
    elif name == "v_writelane_b32":
        _plain(item)
        (target,) = _registers(w, item.operands[0])
        w.put(f"{target}[{_scalar(w, item.operands[2], 'u32')} & 31] = {_scalar(w, item.operands[1], 'u32')};")
    elif item.paired:
        _dual(w, item, item.paired)
    elif (known := semantics(name)) is None:
        raise _Unknown(f"instruction {name}")
    elif known.scalar:
        _scalar_alu(w, item, known)
    else:
        w.put("{", *_vector_alu(w, item, known), "}")


# --- ALU -------------------------------------------------------------------------------------------------------------


def _scalar_alu(w: _Writer, item: Instruction, known: Semantics) -> None:
    _plain(item)
    (result,) = known.results
    operands = list(item.operands)
    target = "" if result == "scc" else operands.pop(0)
    _count(operands, known)
    reads = [
        f"const {_ctype(t)} {n} = {_scalar(w, o, t)};" for n, o, t in zip(_NAMES, operands, known.sources, strict=False)
    ]
    (expression,) = known.expressions
    if re.search(r"\bd\b", expression):
        reads.append(f"const {result} d = {_scalar(w, target, result)};")
    if result == "scc":
        w.put("{", *reads, f"scc = {expression};", "}")
        return
    kind = "u32" if result == "exec" else result
    w.put("{", *reads, f"const {kind} r = {expression};")
    if known.scc:
        w.put(f"scc = {known.scc};")
    w.put(*_write_scalar(w, target, kind, "exec_lo" if result == "exec" else "r"))
    w.put("exec_lo = r; }" if result == "exec" else "}")


def _vector_alu(w: _Writer, item: Instruction, known: Semantics, into: str = "") -> Iterator[str]:
    """The statements of one vector operation; ``into`` names a variable that takes the bits instead of the register."""
    lists, clamp, omod = _modifiers(item, _LISTS)
    operands = list(item.operands)
    targets = []
    for result in known.results:
        implicit = result == "exec" and len(operands) == len(known.sources)
        targets.append("exec_lo" if implicit else operands.pop(0))
    if len(operands) == len(known.sources) - 1 and known.sources[-1] == "mask":
        operands.append("vcc_lo")  # v_dual_cndmask_b32 does not print it
    _count(operands, known)
    if known.packed:
        yield from _packed(w, operands, targets[0], known, lists)
        return
    for i, (name, operand, kind) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
        half = _at(lists, "op_sel", i, 0)
        if kind == "mix":
            half = half if _at(lists, "op_sel_hi", i, 0) else -1
        yield f"const auto {name} = {_vector(w, operand, kind, half)};"
    high = _at(lists, "op_sel", len(operands), 0)
    for target, kind, expression in zip(targets, known.results, known.expressions, strict=True):
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {_vector(w, target, kind, high)};"
        if clamp or omod:
            if kind[0] != "f":
                raise _Unknown(f"modifier {clamp or omod} on a result of type {kind}")
            base = kind.removesuffix("hi")
            scaled = f"(V<{base}>)({expression}) * ({base}){_OMOD[omod]}" if omod else f"(V<{base}>)({expression})"
            expression = f"clamp01<{base}>({scaled})" if clamp else scaled
        if into:
            yield f"{into} = as<u32>({expression});"
        else:
            yield from _write(w, target, kind, expression, high)


def _dual(w: _Writer, first: Instruction, second: Instruction) -> None:
    """Both halves of a pair read their sources before either writes."""
    w.put("{", "V<u32> x0, x1;")
    for i, half in enumerate((first, second)):
        if (known := semantics(half.mnemonic)) is None:
            raise _Unknown(f"instruction {half.mnemonic}")
        w.put("{", *_vector_alu(w, half, known, f"x{i}"), "}")
    for i, half in enumerate((first, second)):
        w.put(*_write(w, half.operands[0], "u32", f"x{i}"))
    w.put("}")


def _packed(
    w: _Writer, operands: list[str], target: str, known: Semantics, lists: dict[str, list[int]]
) -> Iterator[str]:
    yield "V<u32> half[2];"
    kind, expression = known.results[0], known.expressions[0]
    for h, (select, negate, default) in enumerate((("op_sel", "neg_lo", 0), ("op_sel_hi", "neg_hi", 1))):
        yield "{"
        for i, (name, operand, source) in enumerate(zip(_NAMES, operands, known.sources, strict=False)):
            value = _vector(w, operand, source, _at(lists, select, i, default))
            yield f"const auto {name} = {f'neg({value})' if _at(lists, negate, i, 0) else value};"
        if re.search(r"\bd\b", expression):
            yield f"const auto d = {_vector(w, target, kind, h)};"
        yield f"half[{h}] = to<u32>(as<u16>((V<{kind}>)({expression}))); }}"
    yield from _write(w, target, "u32", "half[0] | half[1] << 16")


# --- memory ----------------------------------------------------------------------------------------------------------


def _scalar_load(w: _Writer, item: Instruction) -> None:
    target, base, *offsets = item.operands
    words = int(item.mnemonic.removeprefix("s_load_b")) // 32
    terms = [_scalar(w, base, "u64")]
    terms += [f"(i64){_scalar(w, o, 'i32') if o[:2] == '0x' or o.lstrip('-').isdigit() else _scalar(w, o, 'u32')}"
              for o in offsets if o != "null"]  # fmt: skip
    terms.append(f"{_offset(item)}l")
    names = _registers(w, target)
    if len(names) != words:
        raise _Unknown(f"{len(names)} registers for {item.mnemonic}")
    w.put(f"{{ u32 x[{words}]; if (scalar_load<{words}>(c, {' + '.join(terms)}, {w.number}, x)) return 1;")
    w.put(" ".join(f"{name} = x[{i}];" for i, name in enumerate(names)) + " }")


def _address(w: _Writer, item: Instruction, vector: str, base: str | None) -> str:
    """Arguments of a memory function: what all lanes add to their addresses, and the halves of these."""
    if base is None or base == "off":
        lo, hi = _registers(w, vector)
        return f"(u64){_offset(item)}l, V<u32>({lo}), V<u32>({hi})"  # copies, which have addresses
    return f"{_scalar(w, base, 'u64')} + (u64){_offset(item)}l, V<u32>({_vector(w, vector, 'u32')}), all(0u)"


def _load(w: _Writer, item: Instruction) -> None:
    kind = item.mnemonic.partition("_load_")[2]
    if kind not in LOADS:
        raise _Unknown(f"instruction {item.mnemonic}")
    element, into = LOADS[kind]
    target, vector, *rest = item.operands
    address = _address(w, item, vector, rest[0] if rest else None)
    if element in ("x3", "x4"):
        n, names = int(element[1]), _registers(w, target)
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
    w.put(*_write(w, target, into, value), "}")


def _store(w: _Writer, item: Instruction) -> None:
    kind = item.mnemonic.partition("_store_")[2]
    if kind not in STORES:
        raise _Unknown(f"instruction {item.mnemonic}")
    element, shift = STORES[kind]
    vector, data, *rest = item.operands
    address = _address(w, item, vector, rest[0] if rest else None)
    if element in ("x3", "x4"):
        names = _registers(w, data)
        w.put(f"{{ const V<u32> x[] = {{{', '.join(names)}}};")
        w.put(f"if (scatter(c, exec_lo, {address}, {4 * len(names)}, {w.number}, x)) return 1; }}")
        return
    value = _vector(w, data.partition(".")[0], "u64" if element == "u64" else "u32")
    value = f"{value} >> {16 if data.endswith('.h') else shift}"
    w.put(f"if (store_{element}(c, exec_lo, {address}, {w.number}, to<{element}>({value}))) return 1;")


# --- operands --------------------------------------------------------------------------------------------------------


def _registers(w: _Writer, operand: str) -> tuple[str, ...]:
    """The registers an operand names, lowest first."""
    names = _SPECIAL.get(operand, ())
    if match := _REGISTER.match(operand):
        file, first, last = match[1] or match[4], int(match[2] or match[5]), int(match[2] or match[6])
        names = tuple(f"{file}{i}" for i in range(first, last + 1))
    if not names:
        raise _Unknown(f"operand {operand!r}")
    w.registers |= {n for n in names if n not in ("exec_lo", "exec_hi")}
    return names


def _constant(operand: str, kind: str) -> int | None:
    """The bits of an inline constant or literal as an operand of this type; ``None`` if it is not a number."""
    width = int(_WIDTH.search(kind)[1])  # type: ignore[index]
    ones = (1 << width) - 1
    try:
        value = int(operand, 0)
    except ValueError:
        pass
    else:
        if kind == "f64" and "0x" in operand and value < 1 << 32:
            return value << 32  # a 32-bit literal is the high word
        if kind == "i64" and "0x" in operand and value >> 31 == 1:
            value -= 1 << 32
        return value & ones
    if operand.startswith("0.15915") or operand == "0.1592":
        return _ONE_OVER_TWO_PI[width]
    try:
        return int.from_bytes(struct.pack(_FLOAT_FORMAT[width], float(operand)), "little")
    except ValueError:
        return None


def _scalar(w: _Writer, operand: str, kind: str) -> str:
    """A C++ expression of the scalar type ``kind``."""
    if kind in ("k16", "uk16"):
        value = int(operand, 0) & 0xFFFF
        return f"{value - (1 << 16) if kind == 'k16' and value >> 15 else value}"
    if (bits := _constant(operand, kind)) is not None:
        return f"({kind}){bits:#x}ul"
    if operand == "scc":
        return "scc"
    if operand == "null":
        return f"({kind})0"
    names = _registers(w, operand)
    if names[0][0] == "v" and not names[0].startswith("vcc"):
        raise _Unknown(f"vector register {operand} as a scalar operand")
    if kind.endswith("64"):
        if len(names) != 2:
            raise _Unknown(f"operand {operand!r} of 64 bits")
        return f"({kind})pair({names[0]}, {names[1]})"
    return f"({kind}){names[0]}"


def _vector(w: _Writer, operand: str, kind: str, half: int = 0) -> str:
    """A C++ expression of type ``V<kind>`` (``B`` for a mask), source modifiers applied.

    ``half`` selects the upper 16 bits for a 16-bit type; for ``mix`` it is -1 for a plain f32.
    """
    if kind == "mask":
        return f"unmask({_scalar(w, operand, 'u32')})"
    negate = operand.startswith("-") and not operand[1:2].isdigit()
    inner = operand[1:] if negate else operand
    magnitude = inner.startswith("|")
    inner = inner.strip("|")
    if (magnitude or negate) and kind[0] not in "fm":
        raise _Unknown(f"sign modifier of {operand!r} on an operand of type {kind}")
    kind, mixed = ("f32", half >= 0) if kind == "mix" else (kind, False)
    if mixed:
        value = f"wide({_bits(w, inner, 'f16', half)})"
    else:
        kind = kind.removesuffix("hi")
        value = _bits(w, inner, kind, max(half, 0))
        value = value if kind[0] == "u" else f"as<{kind}>({value})"
    value = f"mag({value})" if magnitude else value
    return f"neg({value})" if negate else value


def _bits(w: _Writer, operand: str, kind: str, half: int) -> str:
    """A C++ expression of the unsigned type as wide as ``kind``: the raw bits of an operand."""
    bits, kind = _constant(operand, kind), "u" + kind[1:]
    if bits is not None:
        if kind == "u16" and half:  # of a packed literal; the upper half of an inline constant is zero
            bits = int(operand, 0) >> 16 if operand.startswith("0x") else 0
        return f"all<{kind}>({bits:#x}ul)"
    name, _, part = operand.partition(".")
    is_vector = re.match(r"v[\d\[]", operand)
    if not is_vector:
        if kind == "u16" and half:
            return f"all<u16>((u16)({_scalar(w, operand, 'u32')} >> 16))"
        return f"all<{kind}>({_scalar(w, operand, kind)})"
    names = _registers(w, name)
    if kind == "u64":
        if len(names) != 2:
            raise _Unknown(f"operand {operand!r} of 64 bits")
        return f"join({names[0]}, {names[1]})"
    if len(names) != 1:
        raise _Unknown(f"operand {operand!r} of {kind[1:]} bits")
    narrow = f"{'hi' if part == 'h' or (not part and half) else 'lo'}16({name})"
    if kind == "u16":
        return narrow
    return f"to<u32>({narrow})" if part else name


def _write(w: _Writer, target: str, kind: str, expression: str, high: int = 0) -> Iterator[str]:
    """Statements that write a lane vector under the EXEC mask."""
    if target == "null":
        return
    if kind in ("mask", "exec"):
        yield f"{_registers(w, target)[0]} = mask(bools({expression})) & exec_lo;"
        return
    if kind == "lane0":
        yield from _write_scalar(w, target, "u32", f"({expression})[exec_lo ? __builtin_ctz(exec_lo) : 0]")
        return
    name, _, part = target.partition(".")
    names = _registers(w, name)
    live = "unmask(exec_lo)"
    if kind.endswith("64"):
        lo, hi = names
        yield f"const V<u64> r = as<u64>((V<{kind}>)({expression}));"
        yield f"{lo} = sel({live}, lo32(r), {lo}); {hi} = sel({live}, hi32(r), {hi});"
    elif "16" in kind:
        put = "put_hi" if part == "h" or kind == "f16hi" or high else "put_lo"
        base = kind.removesuffix("hi")
        yield f"{name} = sel({live}, {put}({name}, as<u16>((V<{base}>)({expression}))), {name});"
    else:
        yield f"{name} = sel({live}, as<u32>((V<{kind}>)({expression})), {name});"


def _write_scalar(w: _Writer, target: str, kind: str, expression: str) -> Iterator[str]:
    if target == "null":
        return
    names = _registers(w, target)
    if kind.endswith("64"):
        lo, hi = names
        yield f"{lo} = (u32)({expression}); {hi} = (u64)({expression}) >> 32;"
    else:
        yield f"{names[0]} = {expression};"


# --- modifiers -------------------------------------------------------------------------------------------------------


def _modifiers(item: Instruction, lists: Sequence[str]) -> tuple[dict[str, list[int]], str, str]:
    found: dict[str, list[int]] = {}
    clamp = omod = ""
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        if name in lists:
            found[name] = [int(x) for x in value.strip("[]").split(",")]
        elif modifier == "clamp":
            clamp = modifier
        elif modifier in _OMOD:
            omod = modifier
        else:
            raise _Unknown(f"modifier {modifier} of {item.mnemonic}")
    return found, clamp, omod


def _at(lists: dict[str, list[int]], name: str, i: int, default: int) -> int:
    values = lists.get(name)
    return values[i] if values and i < len(values) else default


def _plain(item: Instruction) -> None:
    if item.modifiers:
        raise _Unknown(f"modifier {item.modifiers[0]} of {item.mnemonic}")


def _offset(item: Instruction) -> int:
    offset = 0
    for modifier in item.modifiers:
        if modifier.startswith("offset:"):
            offset = int(modifier.removeprefix("offset:"), 0)
        elif modifier not in CACHE_POLICY:
            raise _Unknown(f"modifier {modifier} of {item.mnemonic}")
    return offset


def _count(operands: Sequence[str], known: Semantics) -> None:
    if len(operands) != len(known.sources):
        raise _Unknown(f"number of source operands, {len(operands)} instead of {len(known.sources)}")


def _ctype(kind: str) -> str:
    return {"k16": "i32", "uk16": "u32"}.get(kind, kind)
