"""Allocates slots for the virtual registers of a PTX function. Registers that are never live together share a slot.

Liveness is computed for a single thread. It holds for diverged threads as well, because results are only written for
the threads that execute an instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from parity.emulator.instruction import Instruction
from parity.emulator.ptx.parse import BRANCHES, PtxFunction, falls_through


@dataclass(frozen=True)
class RegisterSlots:
    """The place of every register: a slot of 32 bits per lane, the first of two slots, or the number of a predicate.

    ``widths`` are the numbers of slots per register, 0 for a predicate. ``vectors`` and ``predicates`` are the total
    numbers of slots and predicates. ``floats`` are the slots that hold f64 and f32 values. ``unwritten`` are the
    registers that may be read before they are written.
    """

    places: Mapping[str, int]
    widths: Mapping[str, int]
    vectors: int
    predicates: int
    floats: tuple[range, ...]
    unwritten: frozenset[str]

    def moved(self, vectors: int, predicates: int) -> RegisterSlots:
        """Shift all places by a number of slots (even) and predicates."""
        places = {name: place + (vectors if self.widths[name] else predicates) for name, place in self.places.items()}
        floats = tuple(range(each.start + vectors, each.stop + vectors) for each in self.floats)
        return replace(self, places=places, floats=floats)


def allocate_slots(function: PtxFunction, size_of: Callable[[str], int]) -> RegisterSlots:
    """Allocate slots for the registers of a function by linear scan (Poletto and Sarkar, 1999)."""
    spans, maybe_unwritten = _spans(function)
    # A slot has one size, because diverged threads may use it for different registers at the same time. Integers and
    # floats have separate slots: integers read as floats by inactive threads may be subnormal numbers, which take some
    # processors a hundred times as long.
    files: dict[tuple[int, bool], list[int]] = defaultdict(list)
    numbers: dict[str, tuple[tuple[int, bool], int]] = {}
    for name, (begin, end) in sorted(spans.items(), key=lambda item: item[1]):
        kind = function.registers[name]
        file = 0 if kind == "pred" else max(2, min(size_of(kind), 8)), kind.startswith("f")
        ends = files[file]
        number = next((number for number, last in enumerate(ends) if last < begin), len(ends))
        ends[number : number + 1] = [end]
        numbers[name] = file, number
    slots: dict[tuple[int, bool], range] = {}
    vectors = 0
    for file in sorted(files, reverse=True):  # pairs before words
        slots[file] = range(vectors, vectors + len(files[file]) * _width(file[0]))
        vectors = slots[file].stop
    first = {file: 0 if file == _PREDICATES else each.start for file, each in slots.items()}
    widths = {name: _width(size) for name, ((size, _), _) in numbers.items()}
    places = {name: first[file] + number * max(1, widths[name]) for name, (file, number) in numbers.items()}
    floats = tuple(each for (size, is_float), each in slots.items() if is_float and size >= 4)
    return RegisterSlots(places, widths, vectors, len(files[_PREDICATES]), floats, maybe_unwritten)


_PREDICATES = 0, False


def _width(size: int) -> int:
    """Return the number of slots for a register of ``size`` bytes; 0 for a predicate."""
    return {0: 0, 8: 2}.get(size, 1)


def maybe_unwritten(function: PtxFunction) -> frozenset[str]:
    """Return the registers that may be read before they are written."""
    return _spans(function)[1]


def _spans(function: PtxFunction) -> tuple[dict[str, tuple[int, int]], frozenset[str]]:
    """Return the first and last item at which each register is live, and the registers live at the start."""
    items = function.items
    bit = {name: 1 << i for i, name in enumerate(function.registers)}
    accessed = function.accessed
    starts, following = control_flow_graph(function)
    count = len(starts)
    ends = [*starts[1:], len(items)]
    used, defined = [0] * count, [0] * count
    for b in range(count):
        for i in range(starts[b], ends[b]):
            writes, reads = accessed[i]
            for name in reads:
                if not defined[b] & bit[name]:
                    used[b] |= bit[name]
            for name in writes:
                if not used[b] & bit[name]:
                    defined[b] |= bit[name]
    live_in, live_out = [0] * count, [0] * count
    changed = True
    while changed:
        changed = False
        for b in reversed(range(count)):
            out = 0
            for to in following[b]:
                out |= live_in[to]
            into = used[b] | (out & ~defined[b])
            if out != live_out[b] or into != live_in[b]:
                live_out[b], live_in[b], changed = out, into, True
    spans: dict[str, list[int]] = {}

    def met(name: str, i: int) -> None:
        span = spans.setdefault(name, [i, i])
        span[0], span[1] = min(span[0], i), max(span[1], i)

    for i, (writes, reads) in enumerate(accessed):
        for name in (*writes, *reads):
            met(name, i)
    names = list(function.registers)
    for b in range(count):
        for live, at in ((live_in[b], starts[b]), (live_out[b], ends[b] - 1)):
            while live:
                low = live & -live
                met(names[low.bit_length() - 1], at)
                live ^= low
    maybe_unwritten = frozenset(name for name in names if live_in[0] & bit[name])
    return {name: (begin, end) for name, (begin, end) in spans.items()}, maybe_unwritten


def control_flow_graph(function: PtxFunction) -> tuple[list[int], list[list[int]]]:
    """Return the first item of each basic block, and its possible successors. Calls do not end a block here."""
    starts, ended = [0], False
    labels: dict[str, int] = {}
    for i, item in enumerate(function.items):
        if i and (ended or isinstance(item, str)):
            starts.append(i)
        if isinstance(item, str):
            labels[item] = len(starts) - 1
        ended = isinstance(item, Instruction) and item.base in BRANCHES
    ends = [*starts[1:], len(function.items)]
    following: list[list[int]] = []
    for b, (start, end) in enumerate(zip(starts, ends, strict=True)):
        last = function.items[end - 1] if end > start else ""
        targets = function.targets(last) if isinstance(last, Instruction) else ()
        through = [b + 1] if b + 1 < len(starts) and (isinstance(last, str) or falls_through(last)) else []
        following.append([*(labels[label] for label in targets if label in labels), *through])
    return starts, following
