"""What the launches of a capture show of a kernel's arguments, for ``parity init --captured``."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parity.captures.file import Capture, CapturedAllocation, CapturedLaunch
from parity.inference.data_flow import BEHIND
from parity.inference.observed_launches import ObservedLaunch, observed_spec, single_spec
from parity.inference.prober import ProbedKernel, Prober
from parity.inference.spec import InferredSpec, KernelArgument
from parity.model.code_object import source_name, unqualified
from parity.model.dtypes import Array

_MOST_LAUNCHES = 32
"""Different launches of a kernel to compare."""


class CapturedKernels:
    """The kernels of a capture, by symbol or by name with template arguments."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._launches: dict[str, list[CapturedLaunch]] = {}
        for each in capture.launches:
            if not each.error:
                self._launches.setdefault(source_name(each.kernel), []).append(each)

    @property
    def templates(self) -> Sequence[str]:
        """The kernels with template arguments, which a build has to instantiate."""
        return [name for name in self._launches if "<" in name]

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The names of the kernels without namespaces and template arguments."""
        return frozenset(map(unqualified, self._launches))

    def has(self, symbol: str) -> bool:
        """Return True if the capture has a launch of a kernel."""
        return source_name(symbol) in self._launches

    def probe(self, prober: Prober, kernel: ProbedKernel, *, single: bool) -> InferredSpec | str:
        """Return the specification of a kernel that explains its captured launches.

        With ``single``, it has constants for all numbers.
        """
        launches = [*self._observed(kernel.symbol, kernel.args)]
        if not launches:
            return "the arguments of its captured launches do not fit the kernel in these sources"
        if single:
            return single_spec(kernel.args, launches)
        return observed_spec(kernel.args, launches, lambda: prober.probe(kernel))

    def _observed(self, symbol: str, args: Sequence[KernelArgument]) -> Iterator[ObservedLaunch]:
        seen = set[object]()
        for launch in self._launches.get(source_name(symbol), ()):
            values = self._values(launch, args)
            if values is None:
                continue
            places = {each.name: values[each.name] for each in args if each.is_pointer}
            numbers = {each.name: values[each.name] for each in args if not each.is_pointer and not each.dtype.is_float}
            found = {each.name: _memory(launch, each, places) for each in args if each.is_pointer}
            sizes = {name: size for name, (_, _, size) in found.items()}
            key = launch.grid, launch.block, launch.shared, *numbers.items(), *sizes.items()
            if key not in seen and len(seen) < _MOST_LAUNCHES:
                seen.add(key)
                contents = {
                    each.name: self._content(*found[each.name], each)
                    for each in args
                    if each.is_pointer and not each.dtype.is_float and not each.dtype.is_block
                }
                yield ObservedLaunch(launch.grid, launch.block, launch.shared, numbers, sizes, contents)

    def _content(self, one: CapturedAllocation | None, start: int, size: int, argument: KernelArgument) -> Array:
        """Return the recorded elements of a tensor before a launch: those up to a gap in the recording."""
        kind = argument.dtype
        data = self._recorded(one, start, start + size * kind.itemsize) if one else b""
        return np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind.numpy)

    def _recorded(self, one: CapturedAllocation, start: int, end: int) -> bytes:
        """Return the bytes of an allocation before a launch, up to a gap in the recording."""
        data = bytearray()
        for begin, stored in self._capture.allocation(one, after=False):
            if begin <= start + len(data) < begin + len(stored):
                data += stored[start + len(data) - begin : end - begin]
        return bytes(data)

    def _values(self, launch: CapturedLaunch, args: Sequence[KernelArgument]) -> Mapping[str, int] | None:
        """Return the bits of each argument, or None if the launch passed arguments of other sizes.

        Fields of a structure in memory are read from the recording.
        """
        found = {}
        for each in args:
            position, offset = each.key
            if position >= len(launch.parameters):
                return None
            data = bytes.fromhex(launch.parameters[position][1])
            size = 8 if each.is_pointer else each.dtype.itemsize
            if offset >= BEHIND:
                address = int.from_bytes(data, "little") + offset - BEHIND
                holding = (one for one in launch.allocations if one.address <= address < one.address + one.size)
                parts = (self._recorded(one, (at := address - one.address), at + size) for one in holding)
                part = next(parts, b"")
            else:
                part = data[offset : offset + size]
            if len(part) != size:
                return None
            is_signed = not each.is_pointer and not each.dtype.is_float and each.dtype.numpy.kind == "i"
            found[each.name] = int.from_bytes(part, "little", signed=is_signed)
        return found


def _memory(
    launch: CapturedLaunch, one: KernelArgument, places: Mapping[str, int]
) -> tuple[CapturedAllocation | None, int, int]:
    """Return the allocation that a pointer leads to, the first byte in it, and the elements up to the next pointer."""
    address = places[one.name]
    for each in launch.allocations:
        if each.ranges and each.address <= address < each.address + each.size:
            end = each.address + each.ranges[-1].start + each.ranges[-1].size
            end = min([end, *(other for other in places.values() if address < other < end)])
            return each, address - each.address, max(0, end - address) // one.dtype.itemsize
    return None, 0, 0
