"""From the functions of one PTX kernel to threaded code: an array of operations, each a step and its numbers.

Each operation is that of all threads of a warp that are at it. Virtual registers share slots where no thread needs both
(``slots``). What a step is written in stands in runtime/ptx.h.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from parity.emulator.faults import Refused, UnknownInstruction
from parity.emulator.parse import Instruction
from parity.emulator.ptx.isa import COMPARES, UNORDERED, Row, row
from parity.emulator.ptx.parse import Function, Variable, size_of
from parity.emulator.ptx.slots import Slots, allocated
from parity.emulator.threaded import VECTOR, Threaded
from parity.emulator.writer import Missing, Unknown

__all__ = ["HEADER", "Layout", "translated"]

END = "c->budget = left; return 0;"
HEADER = '#include "ptx.h"\n'
_ROUNDINGS = {"rn": "RN", "rz": "RZ", "rm": "RM", "rp": "RP", "rni": "RN", "rzi": "RZ", "rmi": "RM", "rpi": "RP"}
_GENERIC = (*_ROUNDINGS, "ftz", "sat", "relu")
_TYPE = re.compile(r"(?:[usbf](?:8|16|32|64|128)|f16x2|bf16(?:x2)?|[us]16x2|pred|e4m3x2|e5m2x2|tf32)$")
_ADDRESS = re.compile(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_SPACES = ("global", "shared", "local", "const", "param")
# What has no meaning when instructions execute one after the other, or is a hint.
_IGNORED = re.compile(
    r"(?:membar|fence|prefetch|prefetchu|discard|applypriority|nanosleep|pmevent|brkpt|griddepcontrol|setmaxnreg"
    r"|cp\.async\.(?:commit_group|wait_group|wait_all))(?:\.|$)"
)
_REFUSED = {
    "tex": "textures", "tld4": "textures", "txq": "textures", "suld": "surfaces", "sust": "surfaces", "sured": "surfaces",
    "suq": "surfaces", "mma": "matrix instructions (mma)", "wmma": "matrix instructions (wmma)",
    "wgmma": "matrix instructions (wgmma)", "ldmatrix": "matrix instructions (ldmatrix)", "tcgen05": "matrix instructions",
    "stmatrix": "matrix instructions (stmatrix)", "mbarrier": "barriers in memory (mbarrier)",
    "cp": "asynchronous copies (cp.async)", "alloca": "memory of a size that is not constant (alloca)",
    "getctarank": "clusters of blocks", "mapa": "clusters of blocks", "multimem": "multicast memory",
    "movmatrix": "matrix instructions (movmatrix)", "istypep": "textures",
}  # fmt: skip
_EXTERN = {
    "malloc": "memory that is allocated on the device (malloc, new)",
    "free": "memory that is allocated on the device (malloc, new)",
    "cudaLaunchDeviceV2": "launches from the device",
    "cudaGetParameterBufferV2": "launches from the device",
    "cudaCGSynchronize": "synchronisation of a whole grid (cg::this_grid().sync())",
}
_SPECIAL = {
    "%tid.x": "ids[0]", "%tid.y": "ids[1]", "%tid.z": "ids[2]", "%laneid": "IOTA", "%warpid": "all(wave)",
    **{f"%ntid.{a}": f"all(launched(c, {i}))" for i, a in enumerate("xyz")},
    **{f"%nctaid.{a}": f"all(launched(c, {3 + i}))" for i, a in enumerate("xyz")},
    **{f"%ctaid.{a}": f"all(c->group[{i}])" for i, a in enumerate("xyz")},
    "%dynamic_smem_size": "all(launched(c, 6))", "%total_smem_size": "all(launched(c, 7))",
    "%nwarpid": "all(32u)", "%smid": "all(0u)", "%nsmid": "all(1u)", "%gridid": "all<u64>(1ul)",
    "%lanemask_eq": "1u << IOTA", "%lanemask_lt": "(1u << IOTA) - 1", "%lanemask_le": "(1u << IOTA) | ((1u << IOTA) - 1)",
    "%lanemask_gt": "~((1u << IOTA) | ((1u << IOTA) - 1))", "%lanemask_ge": "~((1u << IOTA) - 1)",
    "%clock": "all((u32)ticks(c, left))", "%clock_hi": "all((u32)(ticks(c, left) >> 32))",
    "%clock64": "all(ticks(c, left))", "%globaltimer": "all(ticks(c, left))",
    "%globaltimer_lo": "all((u32)ticks(c, left))", "%globaltimer_hi": "all((u32)(ticks(c, left) >> 32))",
    "WARP_SZ": "all(32u)",
}  # fmt: skip
_64 = frozenset(("%clock64", "%globaltimer", "%gridid"))


@dataclass(frozen=True)
class Layout:
    """Where memory is. ``parameters`` are byte offsets in the arguments, ``shared`` those in shared memory, ``local``
    those in the private memory of a thread by function and variable, ``symbols`` those in the data of the module.
    """

    parameters: Mapping[str, int]
    shared: Mapping[str, int]
    local: Mapping[tuple[str, str], int]
    symbols: Mapping[str, int]


@dataclass
class _Step:
    """The text of one step, and its numbers; a label stands for the number of its operation."""

    text: str
    numbers: list[int | str]


def cpp(type_: str) -> str:
    """The C++ type of a lane."""
    if type_ in ("f16", "f32", "f64"):
        return type_
    if type_ in ("bf16", "pred"):
        return "u16"
    if type_.endswith("x2") or type_ == "tf32":
        return "u16" if type_.startswith("e") else "u32"
    return ("i" if type_[0] == "s" else "u") + type_[1:]


class Translation:
    """One kernel with the functions that it calls."""

    def __init__(self, functions: Sequence[Function], layout: Layout) -> None:
        self.functions = {each.name: each for each in functions}
        self.layout = layout
        self.steps: list[_Step] = []
        self.places: dict[str, int] = {}
        self.number = 0
        self._next = 2  # slots; the first holds where parked threads go on, and pairs begin at even ones
        self._predicates = 0
        self.formals: dict[tuple[str, str], int] = {}
        self.returns: dict[str, int] = {}
        kernel = functions[0]
        self._slots: dict[str, Slots] = {}
        for each in functions:
            slots = allocated(each, size_of)
            self._slots[each.name] = slots.moved(self._next, self._predicates)
            self._next += slots.vectors + slots.vectors % 2
            self._predicates += slots.predicates
            if not each.entry:
                self.returns[each.name] = self._take(1)
                for variable in (*each.results, *each.parameters):
                    self.formals[each.name, variable.name] = self._take(max(1, -(-variable.size // 4)))
        for name, words in (("vprintf", 4), ("__assertfail", 10)):
            self.formals[name, ""] = self._take(words)
        self._masks = self._take(-(-max(self._predicates, 1) // 32)) * 32
        self.kernel = kernel

    def _take(self, slots: int) -> int:
        self._next += slots
        return self._next - slots

    @property
    def vectors(self) -> int:
        return self._next

    def slot(self, function: str, register: str) -> int:
        return self._slots[function].places[register]

    def predicate(self, function: str, register: str) -> int:
        return self._masks + self._slots[function].places[register]


class _Operation:
    """What is known while one instruction is translated: the numbers of its step so far."""

    def __init__(self, whole: Translation, function: Function, item: Instruction, params: Mapping[str, int]) -> None:
        self.whole, self.function, self.item, self.params = whole, function, item, params
        self.numbers: list[int | str] = []

    def n(self, value: int | str) -> int:
        self.numbers.append(value % (1 << 64) if isinstance(value, int) else value)
        return len(self.numbers) - 1

    @property
    def here(self) -> str:
        return f"HERE({self.n(self.whole.number)})"

    def type_of(self, operand: str) -> str | None:
        return self.function.registers.get(operand)

    def predicate(self, operand: str) -> str:
        """A mask: of a predicate register, or its complement."""
        name = operand.lstrip("!")
        if name not in self.function.registers:
            return "ALL" if _integer(name) else "0"
        text = f"P({self.n(self.whole.predicate(self.function.name, name))})"
        return f"~{text}" if operand.startswith("!") else text

    def register(self, name: str, type_: str) -> str:
        """A register as a variable of a C++ type."""
        return f"R({type_}, {self.n(self.whole.slot(self.function.name, name))})"

    def source(self, operand: str, type_: str) -> str:
        """The value of an operand as ``V<type>``."""
        c = cpp(type_)
        if operand in self.function.registers:
            return self._read(operand, c)
        if operand.startswith("-") and (operand[1:] in self.function.registers or operand[1:3] in ("0f", "0d")):
            return self._negated(operand[1:], type_)
        if operand in _SPECIAL:
            return f"to<{c}>(V<{'u64' if operand in _64 else 'u32'}>({_SPECIAL[operand]}))"
        if (bits := _literal(operand, type_)) is not None:
            return f"K({c}, {self.n(bits)})"
        return f"to<{c}>({self.address_of(operand)})"

    def _negated(self, operand: str, type_: str) -> str:
        value = self.source(operand, type_)
        if type_ in ("f16", "f32", "f64"):
            return f"neg({value})"
        signs = {"bf16": "(u16)0x8000"}.get(type_, "0x80008000u")
        if type_ not in ("bf16", "f16x2", "bf16x2"):
            raise Unknown(f"operand -{operand}")
        return f"({value} ^ {signs})"

    def _read(self, name: str, c: str) -> str:
        kind = self.function.registers[name]
        if kind == "pred":
            raise Unknown(f"predicate {name} as a number")
        have, want = size_of(kind), _BYTES[c]
        if have == want:
            return self.register(name, c)
        if have == 16:
            raise Missing("registers of 128 bits")
        whole = self.register(name, _UNSIGNED[have])
        if have > want:
            return f"as<{c}>(to<u{8 * want}>({whole}))"
        raise Unknown(f"operand {name} of {8 * have} bits where {8 * want} are read")

    def address_of(self, name: str) -> str:
        """The address of a variable, as ``V<u64>`` (of a shared one, its offset)."""
        name, _, offset = name.partition("+")
        name, add = name.strip(), int(offset or "0", 0)
        layout = self.whole.layout
        if (at := layout.local.get((self.function.name, name))) is not None:
            return f"own_scratch(c, wave, N({self.n(at + add)}))"
        if name in layout.shared:
            return f"all<u64>(N({self.n(layout.shared[name] + add)}))"
        if name in layout.symbols:
            return f"all<u64>(c->image + N({self.n(layout.symbols[name] + add)}))"
        if name in self.whole.functions:
            raise Missing("pointers to functions")
        raise Unknown(f"operand {name}")

    def result(self, operand: str, type_: str, value: str) -> str:
        """A statement that writes ``V<type>`` to a register, for the threads of ``on``."""
        if operand == "_":
            return f"(void)({value});"
        c = cpp(type_)
        kind = self.function.registers.get(operand)
        if kind is None:
            raise Unknown(f"result {operand}")
        have, want = size_of(kind), _BYTES[c]
        if have == 16:
            raise Missing("registers of 128 bits")
        if have != want:
            signed = c[0] == "i"
            wide = f"{'i' if signed else 'u'}{8 * have}"
            value, c = f"to<{wide}>(V<{c}>({value}))", wide
        there = self.register(operand, c)
        return f"{there} = sel(on, V<{c}>({value}), {there});"

    def step(self, *lines: str) -> None:
        self.whole.steps.append(_Step("\n".join(lines), self.numbers))
        self.numbers = []

    def guarded(self, *lines: str) -> None:
        """A step for the threads of the guard alone."""
        guard = self.item.modifiers[0][1:] if self.item.modifiers else ""
        on = f"exec & {self.predicate(guard)}" if guard else "exec"
        self.step("{", f"const Mask on = {on};", *lines, "}")


_BYTES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}
_UNSIGNED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def _integer(text: str) -> int | None:
    text = text.strip()
    try:
        if re.fullmatch(r"-?0[0-7]+U?", text):
            return int(text.rstrip("U").replace("0", "0o", 1), 8)
        return int(text.rstrip("U"), 0)
    except ValueError:
        return None


def _literal(operand: str, type_: str) -> int | None:
    """The bits of a constant as a value of a type; None if it is none."""
    import struct

    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", operand):
        bits = int(operand[2:], 16)
        if type_ in ("f64", "b64", "u64", "s64"):
            (number,) = struct.unpack("<f", struct.pack("<I", bits))
            return int.from_bytes(struct.pack("<d", number), "little")
        return bits
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", operand):
        bits = int(operand[2:], 16)
        if type_ == "f32":
            (number,) = struct.unpack("<d", struct.pack("<Q", bits))
            return int.from_bytes(struct.pack("<f", number), "little")
        return bits
    value = _integer(operand)
    if value is None and re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", operand):
        return int.from_bytes(struct.pack("<d" if type_ == "f64" else "<f", float(operand)), "little")
    if value is None:
        return None
    if type_ in ("f32", "f64"):
        return int.from_bytes(struct.pack("<d" if type_ == "f64" else "<f", float(value)), "little")
    return value % (1 << 64)


def translated(functions: Sequence[Function], layout: Layout) -> Threaded:
    """Threaded code of a kernel, the first of ``functions``, and of those that it calls.

    Raises:
        UnknownInstruction: an instruction, an operand or a modifier is not in the tables.
        Refused: something that the emulator does not have.
    """
    whole = Translation(functions, layout)
    whole.steps.append(_Step(HEADER_STEP, []))
    for each in functions:
        whole.places[each.name] = len(whole.steps)
        _function(whole, each, functions[0].name)
    return _linked(whole)


HEADER_STEP = (
    "for (u32 k = 0; k < 256; k++) t->scalar[k] = 0;\n"
    "WHERE = all(0u);\n"
    "c->random = c->seed ? (c->seed ^ (wave + 1) * 0x9e3779b9u) | 1 : 0;"
)


def _linked(whole: Translation) -> Threaded:
    steps: dict[str, int] = {}
    code, numbers = [], []
    for each in whole.steps:
        code.append(steps.setdefault(each.text, len(steps)))
        numbers.append(tuple(whole.places[n] if isinstance(n, str) else n for n in each.numbers))
    registers = tuple(VECTOR | i for i in range(whole.vectors))
    return Threaded(tuple(steps), tuple(code), tuple(numbers), registers)


def _function(whole: Translation, function: Function, kernel: str) -> None:
    targets = _targets(function)
    params = _call_parameters(whole, function)
    sizes = _block_sizes(function, targets)
    for i, item in enumerate(function.items):
        if isinstance(item, str):
            if item in targets:
                # Threads that come here from before meet those that wait at this label.
                whole.steps.append(
                    _Step("if (t->scalar[PARKED]) { park(t, exec, NEXT); GO_RESUMED(0); }", [whole.number])
                )
                whole.places[_label(function, item)] = len(whole.steps)
        if i in sizes:
            whole.steps.append(_Step("left -= N(0);", [sizes[i]]))
        if isinstance(item, Instruction):
            operation = _Operation(whole, function, item, params[i])
            try:
                _emit(operation, kernel)
            except Missing as missing:
                raise Refused(kernel, str(missing), item) from None
            except Unknown as unknown:
                raise UnknownInstruction(str(unknown), kernel, item) from None
            whole.number += 1
    whole.steps.append(_Step(END, []))


def _label(function: Function, name: str) -> str:
    return f"{function.name}:{name}"


def _targets(function: Function) -> set[str]:
    found = {each for labels in function.tables.values() for each in labels}
    for item in function.items:
        if isinstance(item, Instruction) and item.mnemonic.startswith("bra"):
            found.add(item.operands[0])
    return found


def _block_sizes(function: Function, targets: set[str]) -> dict[int, int]:
    """The number of instructions of each basic block, by the index of the item that it begins with."""
    sizes: dict[int, int] = {}
    start, fresh = 0, True
    for i, item in enumerate(function.items):
        if isinstance(item, str):
            if item in targets:
                start, fresh = i, False
                sizes[start] = 0
            continue
        if fresh:
            start, fresh = i, False
            sizes.setdefault(start, 0)
        sizes[start] += 1
        if item.mnemonic.partition(".")[0] in ("bra", "brx", "call", "ret", "exit"):
            fresh = True
    return {i: n for i, n in sizes.items() if n}


def _call_parameters(whole: Translation, function: Function) -> list[Mapping[str, int]]:
    """For each item the slots of the parameters of the call that it belongs to: before it arguments, after it results."""
    maps: list[dict[str, int]] = [{} for _ in function.items]
    current: dict[str, int] = {}
    for i in reversed(range(len(function.items))):
        item = function.items[i]
        if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
            current = dict(_call(whole, item)[1])
        maps[i].update(current)
    current = {}
    for i, item in enumerate(function.items):
        if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
            current = dict(_call(whole, item)[2])
        elif isinstance(item, Instruction) and item.mnemonic.startswith("ld.param"):
            maps[i].update(current)
    own = {name: slot for (owner, name), slot in whole.formals.items() if owner == function.name}
    return [{**own, **each} for each in maps]


def _call(whole: Translation, item: Instruction) -> tuple[str, Mapping[str, int], Mapping[str, int]]:
    """The function that is called, and the slots of its arguments and results by their names at the call."""
    operands = list(item.operands)
    results = operands.pop(0) if operands[0].startswith("(") else "()"
    name = operands.pop(0)
    given = [part.strip() for part in operands[0].strip("()").split(",")] if operands else []
    returned = [part.strip() for part in results.strip("()").split(",") if part.strip()]
    if name in ("vprintf", "__assertfail"):
        base = whole.formals[name, ""]
        slots = {each: base + 2 * i for i, each in enumerate(given)}
        return name, slots, {each: base for each in returned}
    callee = whole.functions.get(name)
    if callee is None:
        return name, {}, {}
    arguments = {each: whole.formals[name, formal.name] for each, formal in zip(given, callee.parameters, strict=False)}
    gives = {each: whole.formals[name, formal.name] for each, formal in zip(returned, callee.results, strict=False)}
    return name, arguments, gives


# --- one instruction -------------------------------------------------------------------------------------------------


def _emit(o: _Operation, kernel: str) -> None:
    base, *words = o.item.mnemonic.split(".")
    words = [word.partition("::")[0] for word in words]
    if _IGNORED.match(o.item.mnemonic):
        return
    if base in _CONTROL:
        _CONTROL[base](o, words)
        return
    if base == "cp" and "async" in words and "bulk" not in words:
        _copy_async(o, words)
        return
    if refused := _REFUSED.get(base):
        raise Missing(refused)
    if base in _SPECIAL_FORMS:
        if not words and base not in ("isspacep",):
            raise Unknown(f"instruction {o.item.mnemonic}")
        _SPECIAL_FORMS[base](o, words)
        return
    _compute(o, base, words)


def _types(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are modifiers, and the types."""
    types = [word for word in words if _TYPE.match(word)]
    return [word for word in words if not _TYPE.match(word)], types


def _looked_up(base: str, words: Sequence[str], type_: str) -> tuple[Row, list[str]]:
    """The row of an instruction, and which of its words are modifiers."""
    for generic in ((), _GENERIC):
        kept = [word for word in words if word not in generic]
        name = ".".join((base, *kept))
        for spelled in (type_, _SAME.get(type_, type_)):
            if known := row(name, spelled):
                removed = [word for word in words if word in generic]
                for word in removed:
                    allowed = "rnd" if word in _ROUNDINGS else word
                    if allowed not in known.modifiers and f"{allowed}!" not in known.modifiers:
                        raise Unknown(f"modifier .{word}")
                return known, removed
    raise Unknown("instruction")


_SAME = {"b16": "u16", "b32": "u32", "b64": "u64", "f16": "b16", "u16": "b16", "u32": "b32", "u64": "b64", "s32": "b32"}
_WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def _compute(o: _Operation, base: str, words: list[str]) -> None:
    modifiers, types = _types(words)
    if base in ("mov", "and", "or", "xor", "not") and types == ["pred"]:
        _logic(o, base)
        return
    if base == "mov" and (o.item.operands[0].startswith("{") or o.item.operands[1].startswith("{")):
        _packing(o, types[-1])
        return
    if not types:
        raise Unknown(f"instruction {o.item.mnemonic}")
    type_ = types[-1]
    if base in ("dp4a", "dp2a"):
        _dot(o, base, modifiers, types)
        return
    if base == "lop3":
        _lop3(o)
        return
    try:
        known, removed = _looked_up(base, modifiers, type_)
    except Unknown as unknown:
        raise Unknown(f"{unknown} of {o.item.mnemonic}" if "modifier" in str(unknown) else f"instruction {o.item.mnemonic}") from None
    mode = next((_ROUNDINGS[word] for word in removed if word in _ROUNDINGS), "RN")
    flush = "ftz" in removed and "ftz" in known.modifiers
    rename = {"T": type_, "W": _WIDE.get(type_, type_)}
    sources = [rename.get(each, each) for each in known.sources]
    result = rename.get(known.result, known.result)
    target, *operands = o.item.operands
    if len(operands) != len(sources):
        raise Unknown(f"{len(operands)} operands of {o.item.mnemonic}, not {len(sources)}")
    values = [o.source(operand, each) for operand, each in zip(operands, sources, strict=True)]
    expression = known.expression.replace("$", mode)

    def computed(values: Sequence[str], kind: str) -> str:
        """An expression of the values, which are of a type that C++ computes in."""
        lines = []
        for name, value, source in zip("abcd", values, sources, strict=False):
            own = _COMPUTED.get(source, cpp(source)) if source.startswith(("bf16", "f16")) else cpp(source)
            text = f"ftz({value})" if flush and own[0] == "f" else value
            lines.append(f"const V<{own}> {name} = {text};")
        text = re.sub(r"\bT\b", kind, expression)
        if flush and kind[0] == "f":
            text = f"ftz({text})"
        if "sat" in removed and kind[0] == "f":
            text = f"saturated<{kind}>({text})"
        if "relu" in removed:
            text = f"relu<{kind}>({text})" if kind[0] == "f" else f"max({text}, all<{kind}>(0))"
        return f"[&] {{ {' '.join(lines)} return V<{_COMPUTED.get(result, cpp(result)) if result != type_ else kind}>({text}); }}()"

    if type_ in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        kind = {"f16x2": "f16", "bf16x2": "f32", "u16x2": "u16", "s16x2": "i16"}[type_]
        names = [f"p{i}" for i in range(len(values))]
        begin = [f"const V<u32> {name} = {value};" for name, value in zip(names, values, strict=True)]
        parts = []
        for half in ("lo", "hi"):
            halves = [
                f"of_bf16({half}16({name}))" if kind == "f32" else f"half_{half}<{kind}>({name})" for name in names
            ]
            part = computed(halves, kind)
            parts.append(f"bf16_of({part})" if kind == "f32" else part)
        o.guarded(*begin, o.result(target, "b32", f"of_halves({parts[0]}, {parts[1]})"))
    elif type_ == "bf16":
        value = computed([f"of_bf16({value})" for value in values], "f32")
        o.guarded(o.result(target, "b16", f"bf16_of({value})"))
    else:
        o.guarded(o.result(target, result, computed(values, cpp(type_))))


_COMPUTED = {"bf16": "f32", "bf16x2": "f32", "f16x2": "f16", "u16x2": "u16", "s16x2": "i16"}


def _logic(o: _Operation, base: str) -> None:
    target, *operands = o.item.operands
    sign = {"and": "&", "or": "|", "xor": "^", "mov": "", "not": ""}[base]
    values = [o.predicate(each) for each in operands]
    value = f" {sign} ".join(values)
    _set(o, target, f"~({value})" if base == "not" else value)


def _set(o: _Operation, target: str, value: str) -> None:
    if target == "_":
        return
    there = o.predicate(target)
    o.guarded(f"const Mask r = {value};", f"{there} = ({there} & ~on) | (r & on);")


def _packing(o: _Operation, type_: str) -> None:
    """``mov`` that splits a register into parts, or joins parts to one."""
    target, source = o.item.operands
    size = size_of(type_)
    if size > 8:
        raise Missing("registers of 128 bits")
    if target.startswith("{"):
        parts = [part.strip() for part in target.strip("{}").split(",")]
        bits = 8 * size // len(parts)
        whole = f"as<u{8 * size}>({o.source(source, f'b{8 * size}')})"
        lines = [f"const V<u{8 * size}> x = {whole};"]
        for i, part in enumerate(parts):
            if part != "_":
                lines.append(o.result(part, f"b{bits}", f"to<u{bits}>(x >> (u{8 * size}){bits * i})"))
        o.guarded(*lines)
        return
    parts = [part.strip() for part in source.strip("{}").split(",")]
    bits = 8 * size // len(parts)
    pieces = [
        f"to<u{8 * size}>({o.source(part, f'b{bits}')}) << (u{8 * size}){bits * i}" for i, part in enumerate(parts)
    ]
    o.guarded(o.result(target, f"b{8 * size}", " | ".join(f"({piece})" for piece in pieces)))


def _dot(o: _Operation, base: str, modifiers: Sequence[str], types: Sequence[str]) -> None:
    target, a, b, c = o.item.operands
    first = 2 if "hi" in modifiers else 0
    bits = "8" if base == "dp4a" else "16"
    signs = ["true" if each[0] == "s" else "false" for each in types]
    result = "s32" if "s32" in types else "u32"
    values = [o.source(each, "u32") for each in (a, b, c)]
    o.guarded(
        o.result(target, "b32", f"dot_of<{bits}>({values[0]}, {signs[0]}, {values[1]}, {signs[1]}, {values[2]}, {first})")
    )
    del result


def _lop3(o: _Operation) -> None:
    target, a, b, c, table = o.item.operands[:5]
    number = _integer(table)
    if number is None or "|" in target:
        raise Unknown(f"operand {table} of {o.item.mnemonic}")
    values = [o.source(each, "b32") for each in (a, b, c)]
    o.guarded(o.result(target, "b32", f"logic3({', '.join(values)}, (u32)N({o.n(number)}))"))


# --- comparisons -----------------------------------------------------------------------------------------------------


def _comparison(o: _Operation, words: list[str], a: str, b: str) -> tuple[str, list[str]]:
    """Statements that make a mask ``r`` of a comparison, and the words that are left: boolean operators."""
    modifiers, types = _types(words)
    type_ = types[-1]
    compare = modifiers[0]
    rest = [word for word in modifiers[1:] if word != "ftz"]
    flush = "ftz" in modifiers
    own = {"bf16": "f32"}.get(type_, cpp(type_))
    values = []
    for operand in (a, b):
        value = o.source(operand, type_)
        value = f"of_bf16({value})" if type_ == "bf16" else value
        values.append(f"ftz({value})" if flush else value)
    floats = type_ in ("f16", "f32", "f64", "bf16")
    text = f"const V<{own}> a = {values[0]}, b = {values[1]};"
    if compare in COMPARES:
        condition = COMPARES[compare]
        # ne is false for a NaN, unlike C++'s !=
        value = f"holds(a < b) | holds(a > b)" if compare == "ne" and floats else f"holds({condition})"
    elif compare in UNORDERED:
        value = f"holds({COMPARES[UNORDERED[compare]]}) | holds(a != a) | holds(b != b)"
        if compare == "neu":
            value = "holds(a != b)"
    elif compare == "num":
        value = "holds(a == a) & holds(b == b)"
    elif compare == "nan":
        value = "holds(a != a) | holds(b != b)"
    else:
        raise Unknown(f"comparison {compare} of {o.item.mnemonic}")
    return f"{text} Mask r = {value};", rest


def _halves_comparison(o: _Operation, words: list[str], a: str, b: str) -> tuple[str, str]:
    """The masks of both halves of a pair: ``r0`` and ``r1``."""
    modifiers, types = _types(words)
    kind = types[-1].removesuffix("x2")
    lines = [f"const V<u32> pa = {o.source(a, 'b32')}, pb = {o.source(b, 'b32')};"]
    compare = modifiers[0]
    for i, half in enumerate(("lo", "hi")):
        read = (lambda name, half=half: f"of_bf16({half}16({name}))") if kind == "bf16" else (
            lambda name, half=half: f"half_{half}<f16>({name})"
        )
        own = "f32" if kind == "bf16" else "f16"
        x, y = read("pa"), read("pb")
        if "ftz" in modifiers:
            x, y = f"ftz({x})", f"ftz({y})"
        if compare == "ne":
            value = "holds(a < b) | holds(a > b)"
        elif compare in COMPARES:
            value = f"holds({COMPARES[compare]})"
        elif compare == "neu":
            value = "holds(a != b)"
        elif compare in UNORDERED:
            value = f"holds({COMPARES[UNORDERED[compare]]}) | holds(a != a) | holds(b != b)"
        elif compare == "num":
            value = "holds(a == a) & holds(b == b)"
        elif compare == "nan":
            value = "holds(a != a) | holds(b != b)"
        else:
            raise Unknown(f"comparison {compare} of {o.item.mnemonic}")
        lines.append(f"const Mask r{i} = [&] {{ const V<{own}> a = {x}, b = {y}; return (Mask)({value}); }}();")
    return "\n".join(lines), compare


def _boolean(operator: str, mask: str, other: str) -> str:
    return f"({mask}) {dict(zip(('and', 'or', 'xor'), '&|^', strict=True))[operator]} ({other})"


def _setp(o: _Operation, words: list[str]) -> None:
    target, a, b, *more = o.item.operands
    first, _, second = (part.strip() for part in target.partition("|"))
    if words[-1].endswith("x2"):
        text, _ = _halves_comparison(o, words, a, b)
        operator = next((word for word in words if word in ("and", "or", "xor")), None)
        lines = [text]
        for name, mask in ((first, "r0"), (second, "r1")):
            if name and name != "_":
                value = _boolean(operator, mask, o.predicate(more[0])) if operator else mask
                there = o.predicate(name)
                lines.append(f"{there} = ({there} & ~on) | (({value}) & on);")
        o.guarded(*lines)
        return
    text, rest = _comparison(o, words, a, b)
    lines = [text]
    value, inverse = "r", "~r"
    if rest:
        other = o.predicate(more[0])
        lines.append(f"const Mask other = {other};")
        value, inverse = _boolean(rest[0], "r", "other"), _boolean(rest[0], "~r", "other")
    lines.append(f"const Mask p = {value}, q = {inverse};")
    for name, mask in ((first, "p"), (second, "q")):
        if name and name != "_":
            there = o.predicate(name)
            lines.append(f"{there} = ({there} & ~on) | ({mask} & on);")
    o.guarded(*lines)


def _setr(o: _Operation, words: list[str]) -> None:
    """``set``: all ones, or 1.0, where the comparison holds."""
    target, a, b, *more = o.item.operands
    _, types = _types(words)
    if words[-1].endswith("x2"):
        text, _ = _halves_comparison(o, words, a, b)
        ones = {"f16x2": "0x3c00", "bf16x2": "0x3f80"}.get(types[0], "0xffff")
        value = f"of_halves(sel(r0, all((u16){ones}), all((u16)0)), sel(r1, all((u16){ones}), all((u16)0)))"
        o.guarded(text, o.result(target, "b32", value))
        return
    result = types[0]
    text, rest = _comparison(o, [word for word in words if word != result] if types[0] != types[-1] else words, a, b)
    lines = [text]
    if rest:
        lines.append(f"r = {_boolean(rest[0], 'r', o.predicate(more[0]))};")
    if result in ("f32", "f64", "f16"):
        value = f"sel(r, all<{result}>(({result})1), all<{result}>(({result})0))"
        lines.append(o.result(target, result, value))
    elif result == "bf16":
        lines.append(o.result(target, "b16", "sel(r, all((u16)0x3f80), all((u16)0))"))
    else:
        c = cpp(result)
        lines.append(o.result(target, result, f"sel(r, all<{c}>(({c})-1), all<{c}>(({c})0))"))
    o.guarded(*lines)


def _selp(o: _Operation, words: list[str]) -> None:
    target, a, b, p = o.item.operands
    type_ = words[-1]
    c = cpp(type_)
    value = f"sel({o.predicate(p)}, V<{c}>({o.source(a, type_)}), V<{c}>({o.source(b, type_)}))"
    o.guarded(o.result(target, type_, value))


def _slct(o: _Operation, words: list[str]) -> None:
    target, a, b, condition = o.item.operands
    modifiers, types = _types(words)
    c = cpp(types[0])
    tested = o.source(condition, types[1])
    tested = f"ftz({tested})" if "ftz" in modifiers else tested
    zero = "0.0f" if types[1] == "f32" else "0"
    value = f"sel(bools({tested} >= {zero}), V<{c}>({o.source(a, types[0])}), V<{c}>({o.source(b, types[0])}))"
    o.guarded(o.result(target, types[0], value))


def _testp(o: _Operation, words: list[str]) -> None:
    target, a = o.item.operands
    kind, type_ = words[0], words[-1]
    x = o.source(a, type_)
    tests = {
        "finite": "holds(finite(x))", "infinite": "holds(x == x) & ~holds(finite(x))", "number": "holds(x == x)",
        "notanumber": "holds(x != x)", "subnormal": "holds(subnormal(x))",
        "normal": f"holds(finite(x)) & ~holds(subnormal(x)) & holds(x != ({type_})0)",
    }  # fmt: skip
    there = o.predicate(target)
    o.guarded(
        f"const V<{type_}> x = {x};", f"const Mask r = {tests[kind]};", f"{there} = ({there} & ~on) | (r & on);"
    )


def _isspacep(o: _Operation, words: list[str]) -> None:
    target, a = o.item.operands
    address = o.source(a, "u64")
    inside = {
        "shared": "holds(x - c->lds < (u64)c->lds_bytes)",
        "local": "holds(x - c->scratch < c->variables - c->scratch)",
        "global": "~(holds(x >= c->lds) | holds(x - c->scratch < c->variables - c->scratch))",
        "const": "holds(x < x)",
        "param": "holds(x < x)",
    }[words[0]]
    there = o.predicate(target)
    o.guarded(f"const V<u64> x = {address};", f"const Mask r = {inside};", f"{there} = ({there} & ~on) | (r & on);")


def _cvta(o: _Operation, words: list[str]) -> None:
    """Addresses are generic in all spaces but shared memory's, where they are offsets."""
    target, a = o.item.operands
    space = next((word for word in words if word in _SPACES), "global")
    value = o.source(a, words[-1])
    if space == "shared":
        value = f"{value} {'-' if 'to' in words else '+'} all<u64>(c->lds)"
    o.guarded(o.result(target, words[-1], value))


# --- carries ---------------------------------------------------------------------------------------------------------


def _carry(o: _Operation, base: str, words: list[str]) -> None:
    """add.cc, addc, sub.cc, subc, mad.cc, madc: one carry a thread."""
    target, *operands = o.item.operands
    type_ = words[-1]
    c = f"u{8 * size_of(type_)}"
    signed = cpp(type_)
    values = [o.source(each, type_) for each in operands]
    has_in, out = base.endswith("c"), "cc" in words
    root = base.removesuffix("c")
    lines = [
        f"const V<{c}> in = {f'sel((Mask)t->scalar[CARRY], all<{c}>(1), all<{c}>(0))' if has_in else f'all<{c}>(0)'};"
    ]
    if root in ("add", "mad"):
        if root == "mad":
            product = f"high(x, y)" if "hi" in words else "x * y"
            lines.append(f"const V<{signed}> x = {values[0]}, y = {values[1]};")
            lines.append(f"const V<{c}> a = as<{c}>(V<{signed}>({product})), b = as<{c}>({values[2]});")
        else:
            lines.append(f"const V<{c}> a = as<{c}>({values[0]}), b = as<{c}>({values[1]});")
        lines.append(f"const V<{c}> s = a + b, r = s + in;")
        carried = "holds(s < a) | holds(r < s)"
    else:
        lines.append(f"const V<{c}> a = as<{c}>({values[0]}), b = as<{c}>({values[1]});")
        lines.append(f"const V<{c}> s = a - b, r = s - in;")
        carried = "holds(a < b) | holds(s < in)"
    if out:
        lines.append(f"const Mask carried = {carried};")
    lines.append(o.result(target, f"b{8 * size_of(type_)}", "r"))
    if out:
        lines.append("t->scalar[CARRY] = (t->scalar[CARRY] & ~on) | (carried & on);")
    o.guarded(*lines)


# --- conversions -----------------------------------------------------------------------------------------------------


def _cvt(o: _Operation, words: list[str]) -> None:
    modifiers, (to, of) = _types(words)[0], _types(words)[1][-2:]
    target, *operands = o.item.operands
    mode = next((_ROUNDINGS[word] for word in modifiers if word in _ROUNDINGS), "")
    whole = any(word.endswith("i") and word in _ROUNDINGS for word in modifiers)  # to an integral value
    flush, sat, relu = "ftz" in modifiers, "sat" in modifiers or "satfinite" in modifiers, "relu" in modifiers
    unknown = set(modifiers) - {*_ROUNDINGS, "ftz", "sat", "satfinite", "relu", "rna"}
    if unknown:
        raise Unknown(f"modifier .{unknown.pop()} of {o.item.mnemonic}")
    if to in ("f16x2", "bf16x2", "e4m3x2", "e5m2x2") or of in ("e4m3x2", "e5m2x2"):
        _cvt_pair(o, to, of, mode or "RN", relu, sat)
        return
    (operand,) = operands
    if to == "tf32":
        value = f"tf32_of({o.source(operand, 'f32')}, {'true' if 'rna' in modifiers else 'false'})"
        o.guarded(o.result(target, "b32", value))
        return
    floats = ("f16", "bf16", "f32", "f64")
    if of in floats:
        x, own = o.source(operand, of), {"bf16": "f32"}.get(of, of)
        x = f"of_bf16({x})" if of == "bf16" else x
        if flush and own == "f32":
            x = f"ftz({x})"
        if to not in floats:
            value = f"to_integer<{cpp(to)}, {mode or 'RZ'}>({x})"
            if size_of(to) == 1:
                value = f"to_integer<{cpp(to)}, {mode or 'RZ'}>({x})"
            o.guarded(_widened_result(o, target, to, value))
            return
        o.guarded(*_to_float(o, target, to, own, x, mode, whole, flush, sat, relu, of))
        return
    x = o.source(operand, of)
    if to in floats:
        wide = "i64" if of[0] == "s" else "u64"
        x = f"to<{wide}>({x})"
        if to == "f32":
            value = f"f32_of<{mode or 'RN'}>({x})"
        elif to == "f64":
            value = f"f64_of<{mode or 'RN'}>({x})"
        elif to == "f16":
            value = f"narrow_f16<{mode or 'RN'}>(odd_f64({x}))"
        else:
            o.guarded(o.result(target, "b16", f"narrow_bf16<{mode or 'RN'}>(odd_f64({x}))"))
            return
        o.guarded(o.result(target, to, f"saturated<{to}>({value})" if sat else value))
        return
    if sat:
        value = _limited(cpp(to), cpp(of), x)
    else:
        value = f"to<{cpp(to)}>({x})"
    o.guarded(_widened_result(o, target, to, value))


def _limited(to: str, of: str, x: str) -> str:
    """An integer, limited to the range of another type."""
    if of == "u64":
        return f"[&] {{ const V<u64> x = {x}; return to<{to}>(sel(bools(x > (u64)MOST<{to}>), all<u64>((u64)MOST<{to}>), x)); }}()"
    if to == "u64":
        return f"[&] {{ const V<i64> x = to<i64>({x}); return to<u64>(sel(bools(x < 0), all<i64>(0), x)); }}()"
    return f"limited<{to}>(to<i64>({x}))"


def _widened_result(o: _Operation, target: str, type_: str, value: str) -> str:
    """An integer in a register that may be wider: extended by its sign or by zeros."""
    return o.result(target, type_, value)


def _to_float(
    o: _Operation, target: str, to: str, own: str, x: str, mode: str, whole: bool, flush: bool, sat: bool, relu: bool, of: str
) -> list[str]:
    """From a float, ``x`` of the C++ type ``own``, to another one."""
    lines = [f"const V<{own}> x = {x};"]
    value, kind = "x", own
    if whole:
        value = f"nan1(integral(x, {mode}))" if own != "f64" else f"integral(x, {mode})"
    if to != of:
        if to == "f64":
            value, kind = f"widen_f64({value})", "f64"
        elif to == "f32":
            value = f"narrow_f32<{mode or 'RN'}>({value})" if own == "f64" else f"nan1(to<f32>({value}))"
            kind = "f32"
        elif to == "f16":
            value, kind = f"narrow_f16<{mode or 'RN'}>(to<f64>({value}))", "f16"
        else:
            value, kind = f"narrow_bf16<{mode or 'RN'}>(to<f64>({value}))", "u16"
    elif of == "bf16":
        value, kind = f"bf16_of({value})", "u16"
    elif not whole and not sat:
        value = f"nan1({value})" if own != "f64" else value
    if flush and kind == "f32":
        value = f"ftz({value})"
    if kind == "u16" and (sat or relu):
        value = f"bf16_of({'saturated' if sat else 'relu'}<f32>(of_bf16({value})))"
    elif sat:
        value = f"saturated<{kind}>({value})"
    elif relu:
        value = f"relu<{kind}>({value})"
    return [*lines, o.result(target, "b16" if kind == "u16" else kind, value)]


def _cvt_pair(o: _Operation, to: str, of: str, mode: str, relu: bool, sat: bool) -> None:
    target, *operands = o.item.operands
    positive = "true" if relu else "false"
    if to in ("f16x2", "bf16x2") and of == "f32":
        pieces = []
        for operand in operands:  # the first is the upper half
            wide = f"to<f64>({o.source(operand, 'f32')})"
            piece = f"narrow_{to.removesuffix('x2')}<{mode}>({wide})"
            if relu and to == "f16x2":
                piece = f"relu<f16>({piece})"
            elif relu:
                piece = f"bf16_of(relu<f32>(of_bf16({piece})))"
            pieces.append(piece)
        o.guarded(o.result(target, "b32", f"of_halves({pieces[1]}, {pieces[0]})"))
        return
    mantissa = {"e4m3x2": 3, "e5m2x2": 2}
    if to in mantissa:
        if of == "f32":
            hi, lo = (o.source(operand, "f32") for operand in operands)
        else:
            x = o.source(operands[0], "b32")
            hi, lo = f"to<f32>(half_hi<f16>({x}))", f"to<f32>(half_lo<f16>({x}))"
        pieces = [f"fp8_finite<{mantissa[to]}>({each}, {positive})" for each in (lo, hi)]
        o.guarded(o.result(target, "b16", f"to<u16>({pieces[0]} | {pieces[1]} << 8)"))
        return
    if of in mantissa and to == "f16x2":
        x = f"to<u32>({o.source(operands[0], 'b16')})"
        call = f"of_f8<false, {mantissa[of]}, {7 if mantissa[of] == 3 else 15}>"
        pieces = [f"nan1(to<f16>({call}({x} {shift} & 0xff)))" for shift in ("", ">> 8")]
        pieces = [f"relu<f16>({piece})" if relu else piece for piece in pieces]
        o.guarded(o.result(target, "b32", f"of_halves({pieces[0]}, {pieces[1]})"))
        return
    raise Unknown(f"conversion {o.item.mnemonic}")


# --- memory ----------------------------------------------------------------------------------------------------------


@dataclass
class _Place:
    """An address as C++: what all threads add, and what each one has."""

    base: str
    lines: list[str] = field(default_factory=list)


def _address(o: _Operation, operand: str, space: str) -> _Place:
    match = _ADDRESS.fullmatch(operand)
    if not match:
        raise Unknown(f"address {operand}")
    name, offset = match[1], int(match[2] or "0", 0)
    base = "c->lds" if space == "shared" else "0ul"
    if name in o.function.registers:
        kind = o.function.registers[name]
        wide = size_of(kind) == 8
        value = o.register(name, "u64" if wide else "u32")
        value = value if wide else f"to<u64>({value})"
    elif (number := _integer(name)) is not None:
        value = f"all<u64>(N({o.n(number)}))"
    else:
        value = o.address_of(name)
    text = f"{base} + (u64)({'-' if offset < 0 else ''}(i64)N({o.n(abs(offset))}))" if offset else base
    return _Place(text, [f"const V<u64> at = {value};", "const V<u32> lo = lo32(at), hi = hi32(at);"])


def _memory_words(words: list[str]) -> tuple[str, int, str, bool]:
    """The space, the number of elements, their type, and whether the access is atomic or volatile."""
    space = next((word for word in words if word in _SPACES), "")
    count = next((int(word[1]) for word in words if word in ("v2", "v4", "v8")), 1)
    coherent = any(word in words for word in ("volatile", "relaxed", "acquire", "release", "mmio"))
    return space, count, words[-1], coherent


def _misaligned(o: _Operation, place: _Place, bytes_: int) -> str:
    if bytes_ == 1:
        return ""
    return f"if (misaligned(c, on, {place.base}, lo, hi, {bytes_ - 1}, {o.here})) return 1;"


def _ld(o: _Operation, words: list[str]) -> None:
    target, operand = o.item.operands[:2]
    space, count, type_, coherent = _memory_words(words)
    targets = [part.strip() for part in target.strip("{}").split(",")]
    if space == "param":
        _ld_param(o, targets, operand, type_)
        return
    if space == "const":
        coherent = False
    size = size_of(type_)
    place = _address(o, operand, space)
    number = f"{o.here} | COHERENT" if coherent else o.here
    lines = ["if (on) {", *place.lines, _misaligned(o, place, size * count)]
    if count == 1:
        c = f"u{8 * size}"
        lines += [f"V<{c}> x; if (load_{c}(c, on, {place.base}, lo, hi, {number}, &x)) return 1;"]
        lines.append(_loaded(o, targets[0], type_, "x"))
    else:
        bytes_ = size * count
        if bytes_ > 16:
            raise Missing("accesses of 32 bytes")
        lines += [
            f"V<u32> x[{max(1, bytes_ // 4)}];",
            f"if (gather(c, on, {place.base}, lo, hi, {bytes_}, {number}, x)) return 1;",
        ]
        for i, each in enumerate(targets):
            if each != "_":
                lines.append(_loaded(o, each, type_, _element("x", i, size)))
    o.guarded(*lines, "}")


def _element(name: str, i: int, size: int) -> str:
    """Element ``i`` of what words hold, as an unsigned number."""
    if size == 8:
        return f"join({name}[{2 * i}], {name}[{2 * i + 1}])"
    if size == 4:
        return f"{name}[{i}]"
    per = 4 // size
    return f"to<u{8 * size}>({name}[{i // per}] >> {8 * size * (i % per)})"


def _loaded(o: _Operation, target: str, type_: str, value: str) -> str:
    size = size_of(type_)
    if type_[0] == "s":
        return o.result(target, type_, f"as<i{8 * size}>(V<u{8 * size}>({value}))")
    return o.result(target, f"b{8 * size}", value)


def _ld_param(o: _Operation, targets: list[str], operand: str, type_: str) -> None:
    match = _ADDRESS.fullmatch(operand)
    assert match is not None
    name, offset = match[1], int(match[2] or "0", 0)
    size = size_of(type_)
    if name in o.params:
        lines = []
        for i, target in enumerate(targets):
            if target != "_":
                lines.append(_loaded(o, target, type_, _param(o, o.params[name], offset + i * size, size)))
        o.guarded(*lines)
        return
    if name in o.function.registers:  # the address of a parameter
        _ld_global(o, targets, operand, type_)
        return
    if name not in o.whole.layout.parameters:
        raise Unknown(f"parameter {name}")
    at = o.whole.layout.parameters[name] + offset
    c = f"u{8 * size}"
    o.guarded(
        *(
            _loaded(o, target, type_, f"parameter<{c}>(c, N({o.n(at + i * size)}))")
            for i, target in enumerate(targets)
            if target != "_"
        )
    )


def _ld_global(o: _Operation, targets: list[str], operand: str, type_: str) -> None:
    raise Missing("addresses of parameters")


def _param(o: _Operation, slot: int, offset: int, size: int) -> str:
    """Bytes of a parameter of a call, which lies in slots of 32 bits."""
    if offset % min(size, 4):
        raise Missing("parameters that are not aligned")

    def word(k: int) -> str:
        return f"R(u32, {o.n(slot + k)})"

    if size == 8:
        return f"join({word(offset // 4)}, {word(offset // 4 + 1)})"
    if size == 4:
        return word(offset // 4)
    return f"to<u{8 * size}>({word(offset // 4)} >> {8 * (offset % 4)})"


def _st(o: _Operation, words: list[str]) -> None:
    operand, source = o.item.operands[:2]
    space, count, type_, coherent = _memory_words(words)
    sources = [part.strip() for part in source.strip("{}").split(",")]
    size = size_of(type_)
    unsigned = f"b{8 * size}"
    if space == "param":
        match = _ADDRESS.fullmatch(operand)
        assert match is not None
        name, offset = match[1], int(match[2] or "0", 0)
        if name not in o.params:
            raise Unknown(f"parameter {name}")
        lines = []
        for i, each in enumerate(sources):
            lines += _st_param(o, o.params[name], offset + i * size, size, o.source(each, _immediate(each, type_)))
        o.guarded(*lines)
        return
    place = _address(o, operand, space)
    number = f"{o.here} | COHERENT" if coherent else o.here
    lines = ["if (on) {", *place.lines, _misaligned(o, place, size * count)]
    values = [f"as<u{8 * size}>({o.source(each, _immediate(each, type_))})" for each in sources]
    if count == 1:
        lines.append(f"if (store_u{8 * size}(c, on, {place.base}, lo, hi, {number}, {values[0]})) return 1;")
    else:
        bytes_ = size * count
        if bytes_ > 16:
            raise Missing("accesses of 32 bytes")
        lines.append(f"V<u32> x[{max(1, bytes_ // 4)}] = {{}};")
        for i, value in enumerate(values):
            if size == 8:
                lines.append(f"{{ const V<u64> v = {value}; x[{2 * i}] = lo32(v), x[{2 * i + 1}] = hi32(v); }}")
            elif size == 4:
                lines.append(f"x[{i}] = {value};")
            else:
                per = 4 // size
                lines.append(f"x[{i // per}] |= to<u32>({value}) << {8 * size * (i % per)};")
        lines.append(f"if (scatter(c, on, {place.base}, lo, hi, {bytes_}, {number}, x)) return 1;")
    o.guarded(*lines, "}")
    del unsigned


def _immediate(operand: str, type_: str) -> str:
    """The type in which an operand of a store is read: a constant as what it is written as."""
    return type_ if _TYPE.match(type_) else "b32"


def _st_param(o: _Operation, slot: int, offset: int, size: int, value: str) -> list[str]:
    if offset % min(size, 4):
        raise Missing("parameters that are not aligned")

    def put(k: int, text: str) -> str:
        there = f"R(u32, {o.n(slot + k)})"
        return f"{there} = sel(on, V<u32>({text}), {there});"

    k = offset // 4
    if size == 8:
        return [f"{{ const V<u64> v = as<u64>({value});", put(k, "lo32(v)"), put(k + 1, "hi32(v)"), "}"]
    if size == 4:
        return [put(k, f"as<u32>({value})")]
    shift, ones = 8 * (offset % 4), (1 << 8 * size) - 1
    there = f"R(u32, {o.n(slot + k)})"
    keep = f"{there} & ~({ones}u << {shift})" if shift or offset % 4 else f"{there} & ~{ones}u"
    return [f"{there} = sel(on, V<u32>(({keep}) | to<u32>(as<u{8 * size}>({value})) << {shift}), {there});"]


_ATOMICS = {
    "add": "(T)(was + given)",
    "exch": "given",
    "and": "(T)(was & given)",
    "or": "(T)(was | given)",
    "xor": "(T)(was ^ given)",
    "min": "given < was ? given : was",
    "max": "given > was ? given : was",
    "inc": "was >= given ? (T)0 : (T)(was + 1)",
    "dec": "was == 0 || was > given ? given : (T)(was - 1)",
    "cas": "was == compared ? given : was",
}


def _atom(o: _Operation, words: list[str]) -> None:
    returns = o.item.mnemonic.startswith("atom")
    operands = list(o.item.operands)
    target = operands.pop(0) if returns else "_"
    address, *values = operands
    space = next((word for word in words if word in _SPACES), "")
    type_ = words[-1]
    kind = next((word for word in words if word in _ATOMICS), None)
    if kind is None or any(word in ("v2", "v4", "v8") for word in words):
        raise Unknown(f"instruction {o.item.mnemonic}")
    size = size_of(type_)
    if size > 8:
        raise Missing("atomics of 128 bits")
    u = f"u{8 * size}"
    place = _address(o, address, space)
    compares = kind == "cas"
    expression, t = _ATOMICS[kind], {"bf16": "u16", "f16x2": "PackedF16", "bf16x2": "PackedBf16"}.get(type_, cpp(type_))
    if kind == "add" and type_ in ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2"):
        expression = f"atomic_sum{'_flushed' if type_ == 'f32' and space != 'shared' else ''}(was, given)"
        if type_ == "bf16":
            expression = "bf16_sum(was, given)"
    elif kind in ("min", "max") and type_ in ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2"):
        raise Unknown(f"instruction {o.item.mnemonic}")
    read = [f"as<{u}>({o.source(each, type_ if not type_.endswith('x2') else 'b32')})" for each in values]
    given, compared = (read[1], read[0]) if compares else (read[0], read[0])
    lines = [
        "if (on) {",
        *place.lines,
        _misaligned(o, place, size),
        f"typedef {t} T; V<{u}> old;",
        f"if (atomic<T, {'true' if compares else 'false'}>(c, on, {place.base}, lo, hi, {o.here}, V<{u}>({given}), "
        f"V<{u}>({compared}), &old, [](T was, T given, T compared) {{ return {expression}; }})) return 1;",
    ]
    if target != "_":
        lines.append(o.result(target, f"b{8 * size}", "old"))
    o.guarded(*lines, "}")


def _copy_async(o: _Operation, words: list[str]) -> None:
    """``cp.async``: from global to shared memory, at once; bytes beyond the source's size are 0."""
    to, of, size, *more = o.item.operands
    bytes_ = _integer(size)
    if bytes_ not in (4, 8, 16):
        raise Unknown(f"operand {size} of {o.item.mnemonic}")
    if more and not more[0].startswith("%"):
        more = []
    source, target = _address(o, of, "global"), _address(o, to, "shared")
    lines = ["if (on) {", f"V<u32> x[{bytes_ // 4}] = {{}};", "{", *source.lines]
    if more:
        have = o.source(more[0], "u32")
        lines += [
            f"const V<u32> have = {have};",
            f"const Mask some = on & holds(have >= {bytes_}u);",
            "if (on & ~(some | holds(have == 0u))) return c->fault = BAD_CALL, 1;",
            f"if (some && gather(c, some, {source.base}, lo, hi, {bytes_}, {o.here}, x)) return 1;",
            *(f"x[{k}] = sel(some, x[{k}], all(0u));" for k in range(bytes_ // 4)),
        ]
    else:
        lines.append(f"if (gather(c, on, {source.base}, lo, hi, {bytes_}, {o.here}, x)) return 1;")
    lines += ["} {", *target.lines, f"if (scatter(c, on, {target.base}, lo, hi, {bytes_}, {o.here}, x)) return 1;", "}"]
    o.guarded(*lines, "}")


# --- control flow ----------------------------------------------------------------------------------------------------


def _guard_mask(o: _Operation) -> str:
    return o.predicate(o.item.modifiers[0][1:]) if o.item.modifiers else ""


def _bra(o: _Operation, words: list[str]) -> None:
    label = _label(o.function, o.item.operands[0])
    if o.item.operands[0] not in _labels(o.function):
        raise Unknown(f"label {o.item.operands[0]}")
    to = f"N({o.n(label)})"
    here = o.n(o.whole.number)
    back = "" if label not in o.whole.places else f"if (left < 0 && exhausted(self, left, HERE({here}))) return 1;"
    guard = _guard_mask(o)
    if not guard:
        o.step(f"{back} GO_TOGETHER({to}, {here});")
        return
    o.step(
        f"const Mask taken = exec & {guard}, rest = exec & ~taken;",
        f"if (!taken) GO_TOGETHER(NEXT, {here});",
        back,
        f"if (!rest) GO_TOGETHER({to}, {here});",
        f"park(t, rest, NEXT), exec = taken; GO_TOGETHER({to}, {here});",
    )


def _labels(function: Function) -> set[str]:
    return {item for item in function.items if isinstance(item, str)}


def _brx(o: _Operation, words: list[str]) -> None:
    """An indexed branch: threads park at the label of their index."""
    index, table = o.item.operands
    here = o.n(o.whole.number)
    labels = o.function.tables.get(table)
    if labels is None:
        raise Unknown(f"table {table}")
    lines = [
        f"if (left < 0 && exhausted(self, left, HERE({here}))) return 1;",
        "{", f"const V<u32> index = {o.source(index, 'u32')}; const Mask on = exec;",
    ]  # fmt: skip
    for i, label in enumerate(labels):
        lines.append(f"if (const Mask m = on & holds(index == {i}u)) park(t, m, N({o.n(_label(o.function, label))}));")
    o.step(*lines, "}", f"exec = 0; GO_RESUMED({here});")


def _exit(o: _Operation, words: list[str]) -> None:
    if o.item.mnemonic.startswith("ret") and not o.function.entry:
        _return(o)
        return
    here = o.n(o.whole.number)
    guard = _guard_mask(o)
    o.step(
        f"exec &= ~({guard or 'ALL'}), t->scalar[BLOCKED] = 0, t->scalar[AT_BARRIER] = 0;",
        "if (!exec) {",
        f"if (t->scalar[PARKED]) GO_RESUMED({here});",
        END,
        "}",
    )


def _return(o: _Operation) -> None:
    here = o.n(o.whole.number)
    at = f"R(u32, {o.n(o.whole.returns[o.function.name])})"
    guard = _guard_mask(o)
    o.step(
        "{",
        f"const Mask on = exec{f' & {guard}' if guard else ''};",
        f"WHERE = sel(on, {at}, WHERE), t->scalar[PARKED] |= on, exec &= ~on;",
        "}",
        f"if (!exec) GO_RESUMED({here});",
    )


def _call_(o: _Operation, words: list[str]) -> None:
    name, arguments, _ = _call(o.whole, o.item)
    if o.item.modifiers:
        raise Missing("calls under a guard")
    if name == "vprintf":
        form, given = list(arguments.values())[:2]
        value = [f"join(R(u32, {o.n(slot)}), R(u32, {o.n(slot + 1)}))" for slot in (form, given)]
        o.step(f"if (print(t, exec, {value[0]}, {value[1]}, {o.here})) return 1;")
        return
    if name == "__assertfail":
        slots = list(arguments.values())[:4]
        wide = [f"join(R(u32, {o.n(slot)}), R(u32, {o.n(slot + 1)}))" for slot in slots]
        line = f"R(u32, {o.n(slots[2])})"
        o.step(f"if (failed_assertion(t, exec, {wide[0]}, {wide[1]}, {line}, {wide[3]}, {o.here})) return 1;")
        return
    if name in _EXTERN:
        raise Missing(_EXTERN[name])
    if name in o.function.registers:
        raise Missing("calls through pointers to functions")
    if name not in o.whole.functions:
        raise Missing(f"the function {name}, which the module declares and does not have")
    here = o.n(o.whole.number)
    at = f"R(u32, {o.n(o.whole.returns[name])})"
    o.step(
        f"if (left < 0 && exhausted(self, left, HERE({here}))) return 1;",
        f"{at} = sel(exec, all((u32)NEXT), {at});",
        f"GO_TOGETHER(N({o.n(name)}), {here});",
    )


def _bar(o: _Operation, words: list[str]) -> None:
    """Barriers of the block, and of threads of a warp."""
    if "warp" in words:
        members = o.source(o.item.operands[0], "b32")
        _synchronised(o, members, "")
        return
    if "cluster" in words:
        raise Missing("clusters of blocks")
    operands = list(o.item.operands)
    votes = "red" in words
    if "arrive" in words:
        raise Missing("barriers that not all threads wait at (bar.arrive)")
    if votes:
        target, number, *rest = operands
        predicate = rest[-1]
        count = rest[0] if len(rest) > 1 else None
    else:
        number, *rest = operands or ["0"]
        count = rest[0] if rest else None
    if count is not None:
        raise Missing("barriers of a number of threads")
    if _integer(number) != 0:
        raise Missing("named barriers other than barrier 0")
    here = o.n(o.whole.number)
    before = f"barrier_votes(t, {o.predicate(predicate)});" if votes else ""
    if o.item.modifiers:
        guard = _guard_mask(o)
        o.step(
            f"{{ const Mask off = exec & ~{guard}; if (off == exec) GO_ON(o + 2); if (off) park(t, off, NEXT + 1), exec &= ~off; }}"
        )
        here = o.n(o.whole.number)
        before = f"barrier_votes(t, {o.predicate(predicate)});" if votes else ""
    lines = [
        f"if (!all_here(t, SELF)) GO_RESUMED({here});",
        before,
        f"c->budget = left; if (barrier(c, exec, HERE({here}))) return 1; left = c->budget;",
    ]
    if votes:
        lines.append("{ const Mask on = exec; const u32 n = barrier_count(t), all_ = launched(c, 0) * launched(c, 1) * launched(c, 2);")
        if "popc" in words:
            lines.append(o.result(target, "u32", "all(n)"))
        else:
            there = o.predicate(target)
            lines.append(f"(void)all_; {there} = {'n == all_' if 'and' in words else 'n != 0'} ? there_all : 0;".replace("there_all", "ALL"))
        lines.append("}")
    o.step(*lines)


def _synchronised(o: _Operation, members: str, *lines: str) -> None:
    """What the threads that a mask names do together, when all of them are here."""
    here = o.here
    begin = [
        f"gathered(t, SELF, {members}, {here}); if (c->fault) return 1;",
        f"if (!exec) GO_RESUMED({o.n(o.whole.number)});",
    ]
    o.step(*begin, "{ const Mask on = exec;", *lines, "}")


def _guard_before(o: _Operation) -> None:
    """Let the threads of the guard come to the operation, and the others go on behind it."""
    if not o.item.modifiers:
        return
    guard = _guard_mask(o)
    o.step(f"{{ const Mask off = exec & ~{guard}; if (off == exec) GO_ON(o + 2); if (off) park(t, off, NEXT + 1), exec &= ~off; }}")


def _shfl(o: _Operation, words: list[str]) -> None:
    if "sync" not in words:
        raise Missing("exchanges of threads without a mask (shfl), which GPUs since Volta do not have")
    _guard_before(o)
    target, a, b, c, members = o.item.operands
    mode = {"idx": 0, "up": 1, "down": 2, "bfly": 3}[words[1]]
    first, _, valid = (part.strip() for part in target.partition("|"))
    named = o.source(members, "b32")
    values = [o.source(each, "b32") for each in (a, b, c)]
    result = o.result(first, "b32", "r")
    lines = [
        "Mask valid;",
        f"const V<u32> r = shuffled(t, on, {', '.join(values)}, {named}, {mode}, &valid);",
        result,
    ]
    if valid and valid != "_":
        there = o.predicate(valid)
        lines.append(f"{there} = ({there} & ~on) | (valid & on);")
    _synchronised(o, named, *lines)


def _vote(o: _Operation, words: list[str]) -> None:
    if "sync" not in words:
        raise Missing("votes of threads without a mask (vote), which GPUs since Volta do not have")
    _guard_before(o)
    target, p, members = o.item.operands
    named = o.source(members, "b32")
    lines = [f"const V<u32> ayes = voted(on, {o.predicate(p)}, {named}), here = voted(on, ALL, {named});"]
    if "ballot" in words:
        lines.append(o.result(target, "b32", "ayes"))
    else:
        value = {"all": "ayes == here", "any": "ayes != 0u", "uni": "bools(ayes == here) | bools(ayes == 0u)"}[words[1]]
        there = o.predicate(target)
        lines.append(f"{there} = ({there} & ~on) | (holds({value}) & on);")
    _synchronised(o, named, *lines)


def _match(o: _Operation, words: list[str]) -> None:
    _guard_before(o)
    target, a, members = o.item.operands
    first, _, valid = (part.strip() for part in target.partition("|"))
    named = o.source(members, "b32")
    lines = [f"const V<u32> equal = matched(on, to<u64>({o.source(a, words[-1])}), {named});"]
    if "any" in words:
        lines.append(o.result(first, "b32", "equal"))
    else:
        lines.append(f"const V<u32> here = voted(on, ALL, {named}); const Mask every = holds(equal == here);")
        lines.append(o.result(first, "b32", "sel(every, here, all(0u))"))
        if valid and valid != "_":
            there = o.predicate(valid)
            lines.append(f"{there} = ({there} & ~on) | (every & on);")
    _synchronised(o, named, *lines)


def _redux(o: _Operation, words: list[str]) -> None:
    _guard_before(o)
    target, a, members = o.item.operands
    named = o.source(members, "b32")
    type_ = words[-1]
    kind = next(word for word in words if word in ("add", "min", "max", "and", "or", "xor"))
    op = f"R_{kind.upper()}" + (f"_{type_[0].upper()}" if kind in ("min", "max") else "")
    if type_ == "f32":
        raise Unknown(f"instruction {o.item.mnemonic}")
    _synchronised(
        o, named, o.result(target, "b32", f"reduced(on, as<u32>({o.source(a, type_)}), {named}, {op})")
    )


def _activemask(o: _Operation, words: list[str]) -> None:
    o.guarded(o.result(o.item.operands[0], "b32", "all<u32>(on)"))


def _elect(o: _Operation, words: list[str]) -> None:
    target, members = o.item.operands
    first, _, valid = (part.strip() for part in target.partition("|"))
    named = o.source(members, "b32")
    lines = ["const V<u32> leader = all(first(on));"]
    if first != "_":
        lines.append(o.result(first, "b32", "leader"))
    there = o.predicate(valid)
    lines.append(f"{there} = ({there} & ~on) | (holds(leader == IOTA) & on);")
    _synchronised(o, named, *lines)


def _trap(o: _Operation, words: list[str]) -> None:
    guard = _guard_mask(o)
    o.step(f"{{ const Mask on = exec{f' & {guard}' if guard else ''}; if (on) return trap(c, on, {o.here}); }}")


_CONTROL: dict[str, Callable[[_Operation, list[str]], None]] = {
    "bra": _bra, "brx": _brx, "ret": _exit, "exit": _exit, "call": _call_, "bar": _bar, "barrier": _bar,
    "shfl": _shfl, "vote": _vote, "match": _match, "redux": _redux, "activemask": _activemask, "elect": _elect,
    "trap": _trap,
}  # fmt: skip


def _add(o: _Operation, words: list[str]) -> None:
    base = o.item.mnemonic.partition(".")[0]
    if "cc" in words or base in ("addc", "subc", "madc"):
        _carry(o, base, words)
    else:
        _compute(o, base, words)


_SPECIAL_FORMS: dict[str, Callable[[_Operation, list[str]], None]] = {
    "setp": _setp, "set": _setr, "selp": _selp, "slct": _slct, "testp": _testp, "isspacep": _isspacep, "cvta": _cvta,
    "cvt": _cvt, "ld": _ld, "ldu": _ld, "st": _st, "atom": _atom, "red": _atom, "add": _add, "sub": _add, "mad": _add,
    "addc": _add, "subc": _add, "madc": _add,
}  # fmt: skip
