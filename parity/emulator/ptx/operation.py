"""One PTX instruction during its translation: its operands as C++, and the step that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from parity.emulator.instruction import Instruction, MissingFeature, Unknown
from parity.emulator.ptx.basic_blocks import BlockRange
from parity.emulator.ptx.operands import SPECIAL, cpp_type, integer_literal, literal_bits
from parity.emulator.ptx.parse import PtxFunction, size_of
from parity.emulator.ptx.translation import KernelTranslation, ThreadedStep
from parity.emulator.threaded_code import REACHED
from parity.model.coverage import Point

_BYTES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}
_UNSIGNED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


class Operation:
    """One instruction during its translation; ``numbers`` are the numbers of its current step.

    ``params`` are the slots of call parameters by name. ``block`` is the basic block that the instruction ends (or
    None). ``value_of`` translates a folded instruction (folding.py) to C++ and returns it with the type of its result.
    """

    def __init__(
        self,
        whole: KernelTranslation,
        function: PtxFunction,
        item: Instruction,
        params: Mapping[str, int],
        block: BlockRange | None,
        value_of: Callable[[Operation, str], tuple[str, str]],
    ) -> None:
        self.whole, self.function, self.item, self.params, self._block = whole, function, item, params, block
        self._value_of = value_of
        self.numbers: list[int | str] = []

    def n(self, value: int | str) -> int:
        """Add a number or label to the numbers of the step, and return its index."""
        self.numbers.append(value % (1 << 64) if isinstance(value, int) else value)
        return len(self.numbers) - 1

    def note(self, kind: Literal["taken", "not taken"], when: str) -> str:
        """Return C++ that notes a direction of this branch as reached if the condition ``when`` holds."""
        at = self.n(0)
        self.whole.notes.append((Point(kind, self.whole.number), len(self.whole.steps), at))
        return REACHED.format(f"N({at})", when)

    @property
    def here(self) -> str:
        """The number of the instruction, as C++."""
        return f"HERE({self.n(self.whole.number)})"

    @property
    def counted(self) -> str:
        """C++ for the end of a basic block; empty if this instruction does not end one."""
        return self.whole.ended(self._block, self.numbers) if self._block else ""

    def predicate(self, operand: str) -> str:
        """Return the mask of a predicate operand, which may be negated, as C++."""
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
        """Return the value of a folded instruction as C++, and its type."""
        return self._value_of(self, operand)

    def is_shared(self, name: str) -> bool:
        """True if a register has one value for all threads of a warp or block."""
        return self.whole.constant(self.function.name, name) is not None

    def is_used(self, name: str) -> bool:
        """True if an instruction of the function reads a register."""
        return name in self.whole.used[self.function.name]

    def register(self, name: str, type_: str) -> str:
        """Return a register as an lvalue of a C++ type."""
        return f"R({type_}, {self.n(self.whole.slot(self.function.name, name))})"

    def bits(self, operand: str, type_: str) -> int | None:
        """Return the bits of a literal, or of a register whose value is a literal; None for other operands."""
        value = self.whole.values.get((self.function.name, operand))
        value = literal_bits(operand, type_) if value is None else value
        return value if value is None else value % (1 << 8 * size_of(type_))

    def source(self, operand: str, type_: str) -> str:
        """Return the value of an operand as ``V<type>`` in C++."""
        c = cpp_type(type_)
        if operand.startswith("("):
            value, of = self.inside(operand)
            return f"as<{c}>({value})" if size_of(of) == _BYTES[c] else f"to<{c}>({value})"
        if operand in self.function.registers:
            return self._read(operand, c)
        if operand.startswith("-") and (operand[1:] in self.function.registers or operand[1:3] in ("0f", "0d")):
            return self._negated(operand[1:], type_)
        if special := SPECIAL.get(operand):
            return f"to<{c}>(V<{special.type}>({special.value}))"
        if (bits := literal_bits(operand, type_)) is not None:
            return f"K({c}, {self.n(self.whole.literal(bits))})"
        return f"to<{c}>({self.address_of(operand)})"

    def _negated(self, operand: str, type_: str) -> str:
        value = self.source(operand, type_)
        if type_ in ("f16", "f32", "f64"):  # does not change the sign of a NaN
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
            raise MissingFeature("registers of 128 bits")
        whole = self.register(name, _UNSIGNED[have])
        if have > want:
            return f"as<{c}>(to<u{8 * want}>({whole}))"
        raise Unknown(f"operand {name} of {8 * have} bits where {8 * want} are read")

    def address_of(self, name: str) -> str:
        """Return the address of a variable as ``V<u64>``; for a shared variable, its offset."""
        name, _, offset = name.partition("+")
        name, add = name.strip(), int(offset or "0", 0)
        layout = self.whole.layout
        if (at := layout.local.get((self.function.name, name))) is not None:
            return f"own_scratch(c, wave, N({self.n(at + add)}))"
        if name in layout.shared:
            return f"all<u64>(N({self.n(layout.shared[name] + add)}))"
        if name in layout.symbols:
            return f"all<u64>(c->image + N({self.n(layout.symbols[name] + add)}))"
        if self.function.entry and name in layout.parameters:
            return f"all<u64>(c->kernarg + N({self.n(layout.parameters[name] + add)}))"
        if name in layout.functions:
            return f"all<u64>(N({self.n(layout.functions[name])}))"
        raise Unknown(f"operand {name}")

    def result(self, operand: str, type_: str, value: str) -> str:
        """Return a statement that writes ``V<type>`` to a register for the threads in ``on``."""
        if operand == "_":
            return f"(void)({value});"
        c = cpp_type(type_)
        kind = self.function.registers.get(operand)
        if kind is None:
            raise Unknown(f"result {operand}")
        have, want = size_of(kind), _BYTES[c]
        if have == 16:
            raise MissingFeature("registers of 128 bits")
        if have != want:
            signed = c[0] == "i"
            wide = f"{'i' if signed else 'u'}{8 * have}"
            value, c = f"to<{wide}>(V<{c}>({value}))", wide
        if (constant := self.whole.constant(self.function.name, operand)) is not None:
            return f"C({c}, {self.n(constant)}) = V<{c}>({value})[0];"
        there = self.register(operand, c)
        return f"put({there}, on, V<{c}>({value}));"

    def decide(self, operand: str, mask: str) -> str:
        """Return a statement that writes a mask to a predicate for the threads in ``on``; empty without an operand."""
        if operand in ("", "_"):
            return ""
        there = self.predicate(operand)
        return f"{there} = ({there} & ~on) | (({mask}) & on);"

    @property
    def guard(self) -> str:
        """The mask of the guard as C++; empty without a guard."""
        return self.predicate(self.item.modifiers[0][1:]) if self.item.modifiers else ""

    @property
    def on(self) -> str:
        """The running threads for which the guard holds, as C++."""
        return f"exec & {self.guard}" if self.item.modifiers else "exec"

    def step(self, *lines: str) -> None:
        self.whole.steps.append(ThreadedStep("\n".join(lines), self.numbers))
        self.numbers = []

    def guarded(self, *lines: str) -> None:
        """Add a step for the threads for which the guard holds. It is skipped unless at least one thread remains."""
        self.step(
            "{", f"const Mask on = {self.on};", *(["if (on) {", *lines, "}"] if self.item.modifiers else lines), "}"
        )
