"""One instruction while it is translated: its operands as C++, and the step that it becomes."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from parity.emulator.parse import Instruction
from parity.emulator.ptx.basic_blocks import BlockRange
from parity.emulator.ptx.parse import PtxFunction, size_of, split_operands
from parity.emulator.ptx.register_slots import RegisterSlots, allocate_slots, maybe_unwritten, register_accesses
from parity.emulator.writer import NOTE, Missing, Unknown
from parity.model.coverage import Point

__all__ = [
    "END",
    "ROUNDINGS",
    "SPACES",
    "SPECIAL",
    "KernelTranslation",
    "Operation",
    "PtxMemoryLayout",
    "ThreadedStep",
    "call_slots",
    "cpp_type",
    "integer_literal",
    "label_name",
    "split_address",
    "split_results",
    "split_types",
]

END = "c->budget = left; return 0;"
ROUNDINGS = {"rn": "RN", "rz": "RZ", "rm": "RM", "rp": "RP", "rni": "RN", "rzi": "RZ", "rmi": "RM", "rpi": "RP"}
_TYPE = re.compile(r"(?:[usbf](?:8|16|32|64|128)|f16x2|bf16(?:x2)?|[us]16x2|pred|e4m3x2|e5m2x2|tf32)$")
_ADDRESS = re.compile(r"\[\s*(\(.*\)|[^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]")
SPACES = ("global", "shared", "local", "const", "param")
SPECIAL = {
    "%tid.x": "ids[0]", "%tid.y": "ids[1]", "%tid.z": "ids[2]", "%laneid": "IOTA", "%warpid": "all(wave)",
    **{f"%ntid.{a}": f"all(launched(c, {i}))" for i, a in enumerate("xyz")},
    **{f"%nctaid.{a}": f"all(launched(c, {3 + i}))" for i, a in enumerate("xyz")},
    **{f"%ctaid.{a}": f"all(c->group[{i}])" for i, a in enumerate("xyz")},
    "%dynamic_smem_size": "all(launched(c, 6))", "%total_smem_size": "all(launched(c, 7))",
    "%nwarpid": "all(32u)", "%smid": "all(0u)", "%nsmid": "all(1u)", "%gridid": "all<u64>(1ul)",
    "%lanemask_eq": "1u << IOTA", "%lanemask_lt": "(1u << IOTA) - 1",
    "%lanemask_le": "(2u << IOTA) - 1", "%lanemask_gt": "~((2u << IOTA) - 1)", "%lanemask_ge": "~((1u << IOTA) - 1)",
    "%clock": "all((u32)ticks(c, left))", "%clock_hi": "all((u32)(ticks(c, left) >> 32))",
    "%clock64": "all(ticks(c, left))", "%globaltimer": "all(ticks(c, left))",
    "%globaltimer_lo": "all((u32)ticks(c, left))", "%globaltimer_hi": "all((u32)(ticks(c, left) >> 32))",
    "WARP_SZ": "all(32u)",
}  # fmt: skip
_64 = frozenset(("%clock64", "%globaltimer", "%gridid"))


@dataclass(frozen=True)
class PtxMemoryLayout:
    """The places of memory. ``parameters`` are byte offsets in the arguments, ``shared`` those in shared memory,
    ``local`` those in the private memory of a thread by function and variable, ``symbols`` those in the data of the
    module.
    """

    parameters: Mapping[str, int]
    shared: Mapping[str, int]
    local: Mapping[tuple[str, str], int]
    symbols: Mapping[str, int]


@dataclass
class ThreadedStep:
    """The text of one step, and its numbers; a label stands for the number of its operation."""

    text: str
    numbers: list[int | str]


def cpp_type(type_: str) -> str:
    """The C++ type of a lane."""
    if type_ in ("f16", "f32", "f64"):
        return type_
    if type_ in ("bf16", "pred"):
        return "u16"
    if type_.endswith("x2") or type_ == "tf32":
        return "u16" if type_.startswith("e") else "u32"
    return ("i" if type_[0] == "s" else "u") + type_[1:]


class KernelTranslation:
    """One kernel with the functions that it calls, as far as it is translated.

    ``places`` are the numbers of the first operation behind each label, and of each function; ``number`` is that of the
    current instruction. ``notes`` are the points of the code that are noted when they are reached, each with the number
    of its operation and its place among the numbers of that. ``constants`` are places for the registers that threads of
    a warp share and, behind these, for those that are constants, each with the name of its function; then the values of
    literals. ``values`` are the bits of those registers that are a literal. ``formals`` are the slots of parameters and
    results by function and name, ``returns`` those of the operation at which each thread goes on behind a call.
    ``used`` are the registers of each function that it reads, ``unwritten`` are the slots that may be read before they
    are written, ``unwritten_shared`` the places of such registers among the constants.
    """

    def __init__(
        self,
        functions: Sequence[PtxFunction],
        layout: PtxMemoryLayout,
        constants: Collection[tuple[str, str]] = (),
        shared: Collection[tuple[str, str]] = (),
    ) -> None:
        self.functions = {each.name: each for each in functions}
        self.constants = [0, 0]  # the block and the launch of which they are
        self._literals: dict[int, int] = {}
        written_once = {*constants}
        self._constants = {each: self._constant(0) for each in (*shared, *constants)}
        self.values = {(each.name, name): bits for each in functions for name, bits in _moved(each)
                       if (each.name, name) in written_once}  # fmt: skip
        self.layout = layout
        self.steps: list[ThreadedStep] = []
        self.places: dict[str, int] = {}
        self.number = 0
        self.notes: list[tuple[Point, int, int]] = []
        self._next = 0  # slots; pairs begin at even ones
        self._predicates = 0
        self.formals: dict[tuple[str, str], int] = {}
        self.returns: dict[str, int] = {}
        self._slots: dict[str, RegisterSlots] = {}
        for each in functions:
            own = {name: kind for name, kind in each.registers.items() if (each.name, name) not in self._constants}
            slots = allocate_slots(replace(each, registers=own), size_of).moved(self._next, self._predicates)
            self._slots[each.name] = slots
            self._next += slots.vectors + slots.vectors % 2
            self._predicates += slots.predicates
        formals = self._next
        for each in functions:
            if not each.entry:
                self.returns[each.name] = self._take(1)
                for variable in (*each.results, *each.parameters):
                    self.formals[each.name, variable.name] = self._take(max(1, -(-variable.size // 4)))
        for name in sorted({_host_function(each) for each in _callees(functions) if each not in self.functions}):
            self.formals[name, ""] = self._take(_HOST_WORDS[name])
        masks = self._take(-(-self._predicates // 32))
        self._masks = 32 * masks
        found = {*range(formals, masks)}
        for slots in self._slots.values():
            for name in slots.unwritten:
                place, width = slots.places[name], slots.widths[name]
                found.update(range(place, place + width) if width else [(self._masks + place) // 32])
        self.unwritten = sorted(found)
        self.used = {each.name: frozenset(_read(each)) for each in functions}
        early = {each.name: maybe_unwritten(each) for each in functions}
        self.unwritten_shared = [self._constants[of, name] for of, name in shared if name in early[of]]

    def ended(self, block: BlockRange, numbers: list[int | str]) -> str:
        """C++ that counts the instructions of a basic block at its end, and notes that it was reached."""
        at = len(numbers)
        numbers += [block.size, 0]
        self.notes.append((Point("block", block.first), len(self.steps), at + 1))
        return f"left -= N({at}); {NOTE.format(f'N({at + 1})', 1)}"

    def _constant(self, value: int) -> int:
        self.constants.append(value)
        return len(self.constants) - 1

    def literal(self, bits: int) -> int:
        """The number of a constant that has these bits, up to 64."""
        if bits not in self._literals:
            self._literals[bits] = self._constant(bits)
        return self._literals[bits]

    def constant(self, function: str, register: str) -> int | None:
        """The number of the constant that a register is, or of the one for each warp; None if it is neither."""
        return self._constants.get((function, register))

    def _take(self, slots: int) -> int:
        self._next += slots
        return self._next - slots

    @property
    def vectors(self) -> int:
        """The number of slots."""
        return self._next

    @property
    def floats(self) -> Iterator[range]:
        """The slots of f64 and of f32."""
        return chain.from_iterable(each.floats for each in self._slots.values())

    def slot(self, function: str, register: str) -> int:
        """The slot of a register, or the first of two."""
        return self._slots[function].places[register]

    def predicate(self, function: str, register: str) -> int:
        """The number of a predicate, counted in masks from the first slot."""
        return self._masks + self._slots[function].places[register]


class Operation:
    """The state while one instruction is translated: the numbers of its step so far.

    ``inside`` gives an instruction that stands as an operand (``folding``) as C++, and the type of its result.
    """

    def __init__(
        self,
        whole: KernelTranslation,
        function: PtxFunction,
        item: Instruction,
        params: Mapping[str, int],
        block: BlockRange | None,
        inside: Callable[[Operation, str], tuple[str, str]],
    ) -> None:
        self.whole, self.function, self.item, self.params, self._block = whole, function, item, params, block
        self._value_of = inside
        self.numbers: list[int | str] = []

    def n(self, value: int | str) -> int:
        """The place of a number, or of a label, among the numbers of the step."""
        self.numbers.append(value % (1 << 64) if isinstance(value, int) else value)
        return len(self.numbers) - 1

    def note(self, kind: Literal["taken", "not taken"], when: str) -> str:
        """C++ that notes that a direction of the instruction, a branch, is gone."""
        at = self.n(0)
        self.whole.notes.append((Point(kind, self.whole.number), len(self.whole.steps), at))
        return NOTE.format(f"N({at})", when)

    @property
    def here(self) -> str:
        """The number of the instruction, as C++."""
        return f"HERE({self.n(self.whole.number)})"

    @property
    def counted(self) -> str:
        """The code for the end of the basic block that this instruction ends, if it does."""
        return self.whole.ended(self._block, self.numbers) if self._block else ""

    def predicate(self, operand: str) -> str:
        """A mask: of a predicate register, or its complement."""
        name = operand.lstrip("!")
        if (number := integer_literal(name)) is not None:
            return "ALL" if number else "0"
        if name.startswith("("):
            text, _ = self.inside(name)
        elif self.function.registers.get(name) != "pred":
            raise Unknown(f"predicate {name}")
        else:
            text = f"P({self.n(self.whole.predicate(self.function.name, name))})"
        return f"~{text}" if operand.startswith("!") else text

    def inside(self, operand: str) -> tuple[str, str]:
        """An instruction that stands as an operand: its value as C++, and the type of that."""
        return self._value_of(self, operand)

    def is_shared(self, name: str) -> bool:
        """Whether a register is one number for all threads of a warp, or of a block."""
        return self.whole.constant(self.function.name, name) is not None

    def is_used(self, name: str) -> bool:
        """Whether an instruction of the function reads a register."""
        return name in self.whole.used[self.function.name]

    def register(self, name: str, type_: str) -> str:
        """A register as a variable of a C++ type."""
        return f"R({type_}, {self.n(self.whole.slot(self.function.name, name))})"

    def bits(self, operand: str, type_: str) -> int | None:
        """The bits of an operand that is a literal, or a register that is nothing else; None if it is neither."""
        value = self.whole.values.get((self.function.name, operand))
        value = literal_bits(operand, type_) if value is None else value
        return value if value is None else value % (1 << 8 * size_of(type_))

    def source(self, operand: str, type_: str) -> str:
        """The value of an operand as ``V<type>``."""
        c = cpp_type(type_)
        if operand.startswith("("):
            value, of = self.inside(operand)
            return f"as<{c}>({value})" if size_of(of) == _BYTES[c] else f"to<{c}>({value})"
        if operand in self.function.registers:
            return self._read(operand, c)
        if operand.startswith("-") and (operand[1:] in self.function.registers or operand[1:3] in ("0f", "0d")):
            return self._negated(operand[1:], type_)
        if operand in SPECIAL:
            return f"to<{c}>(V<{'u64' if operand in _64 else 'u32'}>({SPECIAL[operand]}))"
        if (bits := literal_bits(operand, type_)) is not None:
            return f"K({c}, {self.n(self.whole.literal(bits))})"
        return f"to<{c}>({self.address_of(operand)})"

    def _negated(self, operand: str, type_: str) -> str:
        value = self.source(operand, type_)
        if type_ in ("f16", "f32", "f64"):  # the sign of a NaN remains
            return f"negated({value})"
        signs = {"bf16": "(u16)0x8000"}.get(type_, "0x80008000u")
        if type_ not in ("bf16", "f16x2", "bf16x2"):
            raise Unknown(f"operand -{operand}")
        return f"({value} ^ {signs})"

    def _read(self, name: str, c: str) -> str:
        kind = self.function.registers[name]
        if kind == "pred":
            raise Unknown(f"predicate {name} as a number")
        have, want = size_of(kind), _BYTES[c]
        constant = self.whole.constant(self.function.name, name)
        if constant is not None and have >= want:
            return f"K({c}, {self.n(constant)})"
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
        c = cpp_type(type_)
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
        if (constant := self.whole.constant(self.function.name, operand)) is not None:
            return f"C({c}, {self.n(constant)}) = V<{c}>({value})[0];"
        there = self.register(operand, c)
        return f"put({there}, on, V<{c}>({value}));"

    def decide(self, operand: str, mask: str) -> str:
        """A statement that writes a mask to a predicate for the threads of ``on``; empty if none is named."""
        if operand in ("", "_"):
            return ""
        there = self.predicate(operand)
        return f"{there} = ({there} & ~on) | (({mask}) & on);"

    @property
    def guard(self) -> str:
        """The mask of the guard; empty without one."""
        return self.predicate(self.item.modifiers[0][1:]) if self.item.modifiers else ""

    @property
    def on(self) -> str:
        """The threads that run and that the guard lets execute."""
        return f"exec & {self.guard}" if self.item.modifiers else "exec"

    def step(self, *lines: str) -> None:
        self.whole.steps.append(ThreadedStep("\n".join(lines), self.numbers))
        self.numbers = []

    def guarded(self, *lines: str) -> None:
        """A step for the threads of the guard alone; often these are none."""
        self.step(
            "{", f"const Mask on = {self.on};", *(["if (on) {", *lines, "}"] if self.item.modifiers else lines), "}"
        )


_BYTES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}
_UNSIGNED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def _moved(function: PtxFunction) -> Iterator[tuple[str, int]]:
    """The registers that an instruction moves a literal to, and its bits."""
    for item in function.items:
        if isinstance(item, Instruction) and item.mnemonic.startswith("mov.") and not item.modifiers:
            bits = literal_bits(item.operands[1], item.mnemonic.rpartition(".")[2])
            if bits is not None:
                yield item.operands[0], bits


def integer_literal(text: str) -> int | None:
    """The number that a constant is; None if it is none."""
    text = text.strip()
    try:
        if re.fullmatch(r"-?0[0-7]+U?", text):
            return int(text.rstrip("U").replace("0", "0o", 1), 8)
        return int(text.rstrip("U"), 0)
    except ValueError:
        return None


def literal_bits(operand: str, type_: str) -> int | None:
    """The bits of a constant as a value of a type; None if it is none."""
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
    value = integer_literal(operand)
    if value is None and re.fullmatch(r"-?\d+\.\d*(?:[eE][-+]?\d+)?", operand):
        return int.from_bytes(struct.pack("<d" if type_ == "f64" else "<f", float(operand)), "little")
    if value is None:
        return None
    if type_ in ("f32", "f64"):
        return int.from_bytes(struct.pack("<d" if type_ == "f64" else "<f", float(value)), "little")
    return value % (1 << 64)


def split_types(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are modifiers, and the types."""
    types = [word for word in words if _TYPE.match(word)]
    return [word for word in words if not _TYPE.match(word)], types


def split_results(operand: str) -> tuple[str, str]:
    """The two results of an operand such as ``%r1|%p2``; the second is empty if there is one."""
    first, _, second = (part.strip() for part in operand.partition("|"))
    return first, second


def split_address(operand: str) -> tuple[str, int]:
    """The base of an address such as ``[%rd1+8]``, and the bytes that are added."""
    if not (match := _ADDRESS.fullmatch(operand)):
        raise Unknown(f"address {operand}")
    return match[1], int(match[2] or "0", 0)


def label_name(function: PtxFunction, name: str) -> str:
    """The name of a label in a translation, where functions have labels of their own."""
    return f"{function.name}:{name}"


_HOST_WORDS = {"vprintf": 4, "__assertfail": 10, "": 16}
"""The words of the arguments of functions of the host, and of those that are refused."""


def _host_function(name: str) -> str:
    return name if name in _HOST_WORDS else ""


def _read(function: PtxFunction) -> Iterator[str]:
    for item in function.items:
        if isinstance(item, Instruction):
            yield from register_accesses(function, item)[1]


def _callees(functions: Sequence[PtxFunction]) -> Iterator[str]:
    for each in functions:
        for item in each.items:
            if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
                yield item.operands[item.operands[0].startswith("(")]


def call_slots(whole: KernelTranslation, item: Instruction) -> tuple[str, Mapping[str, int], Mapping[str, int]]:
    """The function that is called, and the slots of its arguments and results by their names at the call."""
    operands = list(item.operands)
    results = operands.pop(0) if operands[0].startswith("(") else "()"
    name = operands.pop(0)
    given, returned = split_operands(operands[0].strip("()")) if operands else [], split_operands(results.strip("()"))
    callee = whole.functions.get(name)
    if callee is None:  # a function of the host's, or one that is refused
        base = whole.formals[_host_function(name), ""]
        return name, {each: base + 2 * i for i, each in enumerate(given[:8])}, dict.fromkeys(returned, base)
    arguments = {each: whole.formals[name, formal.name] for each, formal in zip(given, callee.parameters, strict=False)}
    gives = {each: whole.formals[name, formal.name] for each, formal in zip(returned, callee.results, strict=False)}
    return name, arguments, gives
