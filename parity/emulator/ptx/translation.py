"""The state of the translation of one kernel: its steps, slots, constants and labels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.basic_blocks import BlockRange
from parity.emulator.ptx.operands import literal_bits
from parity.emulator.ptx.parse import PtxFunction, size_of, split_operands
from parity.emulator.ptx.register_slots import RegisterSlots, allocate_slots, maybe_unwritten
from parity.emulator.threaded_code import REACHED
from parity.model.coverage import Point

END = "c->budget = left; return 0;"


@dataclass(frozen=True)
class PtxMemoryLayout:
    """The memory of a kernel. All places are byte offsets.

    ``parameters`` are offsets in the arguments, ``shared`` in shared memory, ``symbols`` in the data of the module.
    ``functions`` are the addresses of functions.
    ``local`` are offsets in the private memory of a thread, by function and variable. ``shared_bytes`` (without dynamic
    shared memory) and ``local_bytes`` are the sizes. The first ``shared_zeros`` bytes of shared memory begin as zeros.
    """

    parameters: Mapping[str, int]
    shared: Mapping[str, int]
    local: Mapping[tuple[str, str], int]
    symbols: Mapping[str, int]
    shared_bytes: int = 0
    local_bytes: int = 0
    shared_zeros: int = 0
    functions: Mapping[str, int] = field(default_factory=dict)


@dataclass
class ThreadedStep:
    """The C++ text of one step, and its numbers. A label stands for the number of its operation."""

    text: str
    numbers: list[int | str]


class KernelTranslation:
    """The translation of one kernel and the functions that it calls.

    * ``places``: the number of the first operation after each label, and of each function.
    * ``number``: the number of the current instruction.
    * ``notes``: the coverage points, each with its operation and the index of its number in that operation.
    * ``constants``: first the ids of the current block and launch, then the warp-uniform and the block-uniform
      registers, then literals.
    * ``values``: the bits of block-uniform registers whose value is a literal.
    * ``formals``: the slots of parameters and results, by function and name.
    * ``returns``: the slot with the operation at which a thread continues after a call, by function.
    * ``used``: the registers that each function reads.
    * ``unwritten``, ``unwritten_shared``: the slots and constants that may be read before they are written.
    """

    def __init__(
        self,
        functions: Sequence[PtxFunction],
        layout: PtxMemoryLayout,
        constants: Collection[tuple[str, str]] = (),
        shared: Collection[tuple[str, str]] = (),
    ) -> None:
        self.kernel = functions[0].name
        self.functions = {each.name: each for each in functions}
        self.constants = [0, 0]  # the ids of block and launch
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
        self._next = 0  # the next free slot; pairs start at even slots
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
        self.used = {each.name: frozenset(each.uses) for each in functions}
        early = {each.name: maybe_unwritten(each) for each in functions}
        self.unwritten_shared = [self._constants[of, name] for of, name in shared if name in early[of]]

    def ended(self, block: BlockRange, numbers: list[int | str]) -> str:
        """Return C++ for the end of a basic block, which counts its instructions and notes it as reached."""
        at = len(numbers)
        numbers += [block.size, 0]
        self.notes.append((Point("block", block.first), len(self.steps), at + 1))
        return f"left -= N({at}); {REACHED.format(f'N({at + 1})', 1)}"

    def _constant(self, value: int) -> int:
        self.constants.append(value)
        return len(self.constants) - 1

    def literal(self, bits: int) -> int:
        """Return the number of the constant with these bits (at most 64)."""
        if bits not in self._literals:
            self._literals[bits] = self._constant(bits)
        return self._literals[bits]

    def constant(self, function: str, register: str) -> int | None:
        """Return the number of the constant for a uniform register; None for other registers."""
        return self._constants.get((function, register))

    def _take(self, slots: int) -> int:
        self._next += slots + slots % 2
        return self._next - slots - slots % 2

    @property
    def vectors(self) -> int:
        """The number of slots."""
        return self._next

    @property
    def floats(self) -> Iterator[range]:
        """The slots that hold f64 and f32 values."""
        return chain.from_iterable(each.floats for each in self._slots.values())

    def slot(self, function: str, register: str) -> int:
        """Return the slot of a register, or the first of its two slots."""
        return self._slots[function].places[register]

    def predicate(self, function: str, register: str) -> int:
        """Return the number of a predicate, counted in masks from the first slot."""
        return self._masks + self._slots[function].places[register]


def _moved(function: PtxFunction) -> Iterator[tuple[str, int]]:
    """Yield the registers to which an instruction moves a literal, with its bits."""
    for item in function.items:
        if isinstance(item, Instruction) and item.mnemonic.startswith("mov.") and not item.modifiers:
            bits = literal_bits(item.operands[1], item.mnemonic.rpartition(".")[2])
            if bits is not None:
                yield item.operands[0], bits


def label_name(function: PtxFunction, name: str) -> str:
    """Return the name of a label that is unique across functions."""
    return f"{function.name}:{name}"


_HOST_WORDS = {"vprintf": 4, "__assertfail": 10, "malloc": 2, "free": 2, "": 16}
"""The number of argument words of host functions; "" stands for functions that are refused."""


def _host_function(name: str) -> str:
    return name if name in _HOST_WORDS else ""


def _callees(functions: Sequence[PtxFunction]) -> Iterator[str]:
    for each in functions:
        for item in each.items:
            if isinstance(item, Instruction) and item.mnemonic.startswith("call"):
                yield item.operands[item.operands[0].startswith("(")]


def call_slots(whole: KernelTranslation, item: Instruction) -> tuple[str, Mapping[str, int], Mapping[str, int]]:
    """Return the callee of a call, and the slots of arguments and results by their names at the call."""
    operands = list(item.operands)
    results = operands.pop(0) if operands[0].startswith("(") else "()"
    name = operands.pop(0)
    given, returned = split_operands(operands[0].strip("()")) if operands else [], split_operands(results.strip("()"))
    callee = whole.functions.get(name)
    if callee is None:  # a host function, or a function that is refused
        base = whole.formals[_host_function(name), ""]
        return name, {each: base + 2 * i for i, each in enumerate(given[:8])}, dict.fromkeys(returned, base)
    arguments = {each: whole.formals[name, formal.name] for each, formal in zip(given, callee.parameters, strict=False)}
    gives = {each: whole.formals[name, formal.name] for each, formal in zip(returned, callee.results, strict=False)}
    return name, arguments, gives
