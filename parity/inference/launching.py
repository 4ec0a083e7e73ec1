"""Launches of one kernel on an emulated device with chosen numbers, and the memory that each of them touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from parity.emulator import Allocation, InstructionBudgetExceeded, MemoryFault, UnknownInstruction, UnsupportedFeature
from parity.emulator.ptx import PtxDevice
from parity.errors import ParityError
from parity.inference.facts import LaunchArguments, Numbers, Supposed, Triple
from parity.model.code_object import CodeObject

__all__ = ["BUDGET", "USUAL", "InputFill", "Launches", "ProbeLimit", "Touched", "of_several"]

_ROOMS, _TRACED = {1 << 15: 1 << 18, 1 << 18: 1 << 20, 1 << 20: 1 << 20, 1 << 21: 1 << 21}, 15 << 20
"""Bytes behind a pointer, at first and where they are too few, and between them and those behind the next one; and in
all what the emulator follows.
"""
BUDGET = 3_000_000
"""Instructions of a launch."""
_ALL, _LAUNCHES = 20_000_000, 800
"""Instructions of all launches of a kernel, and these launches, before it is given up."""


@dataclass(frozen=True)
class InputFill:
    """The content of tensors: those of floating point hold ``real``, of whole numbers ``whole``, and ``one`` of these
    ``value``.
    """

    real: int = 1
    whole: int = 0
    one: str = ""
    value: int = 0


USUAL = InputFill()


@dataclass(frozen=True)
class Touched:
    """The reach of a launch behind a pointer, in elements, and the bytes that it read and wrote."""

    end: int
    read: int
    written: int

    @property
    def count(self) -> tuple[int, int]:
        return self.read, self.written


def of_several(several: Sequence[Touched]) -> Touched:
    """The most that any of several launches reached, and the least that all of them wrote."""
    ends, reads, writes = zip(*((each.end, each.read, each.written) for each in several), strict=True)
    return Touched(max(ends), max(reads), min(writes))


class ProbeLimit(Exception):
    """A kernel that cannot be executed, which is said, or needs too many launches."""


class Launches:
    """The launches of one kernel, each once; a ``share`` is what part of the usual number there may be.

    ``fault`` is what was wrong with the first one that failed, ``cost`` the instructions of the last one.
    """

    def __init__(
        self, device: PtxDevice, code: CodeObject, kernel: str, args: Sequence[LaunchArguments], share: int
    ) -> None:
        self._device, self._code, self._kernel, self._args = device, code, kernel, args
        self._left, self._instructions = _LAUNCHES // share, _ALL // share
        self.fault, self.cost = "", 0
        self._room, self._places = 0, dict[str, Allocation]()
        self._held = dict[str, object]()
        self._seen: dict[object, dict[str, Touched] | None] = {}

    @property
    def succeeded(self) -> bool:
        """Whether one came to its end without a fault."""
        return any(self._seen.values())

    def touched(
        self,
        numbers: Numbers,
        grid: Triple,
        block: Triple,
        shared: int,
        fill: InputFill = USUAL,
        supposed: Mapping[str, Supposed] = MappingProxyType({}),
    ) -> dict[str, Touched] | None:
        """The memory that a launch touches, by pointer; None if it has a fault.

        ``numbers`` are the values of the kernel's whole numbers, ``shared`` bytes of dynamic shared memory. A tensor
        that is ``supposed`` to be of some use has the content for it, the others that of ``fill``.

        Raises:
            GaveUp: the kernel cannot be executed, or it was launched too often.
        """
        key = (tuple(sorted(numbers.items())), grid, block, shared, fill, *supposed.items())
        if key not in self._seen:
            pointers = sum(each.is_pointer for each in self._args)
            self._seen[key] = None
            rooms = [each for each, gap in _ROOMS.items() if (each + gap) * pointers <= _TRACED]
            for room in rooms:
                try:
                    self._seen[key] = self._launched(numbers, grid, block, shared, fill, supposed, room)
                    break
                except MemoryFault as fault:
                    self.fault = self.fault or str(fault).splitlines()[0]
                    if fault.buffer not in self._places or not room <= fault.offset < rooms[-1]:
                        break  # more room would not help
        return self._seen[key]

    def _launched(
        self,
        numbers: Numbers,
        grid: Triple,
        block: Triple,
        shared: int,
        fill: InputFill,
        supposed: Mapping[str, Supposed],
        room: int,
    ) -> dict[str, Touched] | None:
        """Raises: MemoryFault: what is behind a pointer is too small."""
        if not self._left or self._instructions < 0:
            raise ProbeLimit
        self._left -= 1
        device, places = self._device, self._placed_in(room)
        device.restore(self._code)
        kernel = self._code.kernels[self._kernel]
        segment, held = bytearray(kernel.explicit_bytes), dict[str, object]()
        # Small whole numbers, which are values or switches, are not all the same.
        others = (each for each in self._args if not each.is_pointer and not each.is_whole)
        small = {each.name: 0.5 if each.dtype.is_float else i for i, each in enumerate(others, 1)}
        for each in self._args:
            if each.is_pointer:
                held[each.name] = self._fill(each, places[each.name], numbers, fill, supposed.get(each.name))
                raw = places[each.name].address.to_bytes(8, "little")
            else:
                raw = each.dtype.convert(numbers[each.name] if each.is_whole else small[each.name]).tobytes()
            at = kernel.args[each.key[0]].offset + each.key[1]
            segment[at : at + len(raw)] = raw
        self._held.clear()  # what a launch writes is not known before its end
        try:
            stats = device.launch(
                self._code, self._kernel, grid=grid, block=block, shared_bytes=shared,
                args=bytes(segment),
            )  # fmt: skip
        except (UnknownInstruction, UnsupportedFeature) as error:
            raise ProbeLimit(str(error).splitlines()[0]) from error
        except InstructionBudgetExceeded:
            self._instructions -= BUDGET
            return None
        except MemoryFault:
            raise
        except ParityError as error:
            self.fault = self.fault or str(error).splitlines()[0]
            return None
        self.cost = stats.instructions
        self._instructions -= self.cost
        found = {}
        for each in self._args:
            if each.is_pointer:
                read, written = device.accessed(places[each.name])
                last = np.flatnonzero(read | written)[-1:]
                end = -(-(int(last[0]) + 1) // each.dtype.itemsize) if last.size else 0
                found[each.name] = Touched(end, int(np.count_nonzero(read)), int(np.count_nonzero(written)))
                if not found[each.name].written:
                    self._held[each.name] = held[each.name]
        return found

    def _placed_in(self, room: int) -> Mapping[str, Allocation]:
        """Memory of so many bytes for each pointer, far from each other; that of the last launch, if it is enough."""
        if self._room != room:
            self._device.reset()
            self._held.clear()
            gaps, places = [], {}
            for each in self._args:
                if each.is_pointer:
                    places[each.name] = self._device.allocate(room, each.name)
                    gaps.append(self._device.allocate(_ROOMS[room], "gap"))
            for gap in gaps:
                self._device.free(gap)
            self._room, self._places = room, places
        return self._places

    def _fill(
        self, one: LaunchArguments, place: Allocation, numbers: Numbers, fill: InputFill, supposed: Supposed | None
    ) -> object:
        """Write the content of a tensor, unless it is there; returns what stands for it."""
        if supposed:
            content: object = supposed, numbers.get(supposed.bound, 0)
        else:
            usual = fill.real if one.dtype.is_float else fill.whole
            content = fill.value if fill.one == one.name else usual
        if self._held.get(one.name, self) != content:
            count = place.size // one.dtype.itemsize
            values = supposed.content(count, numbers.get(supposed.bound, 0)) if supposed else np.full(count, content)
            self._device.write(place, one.dtype.convert(values))
        return content
