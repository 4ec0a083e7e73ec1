"""What the launches of a capture show of a kernel's arguments, for ``parity init --captured``."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parity.captures.file import Capture, CapturedAllocation, CapturedLaunch
from parity.inference.data_flow import BEHIND, ROW
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
            sizes = {each.name: _extent(launch, each, places) for each in args if each.is_pointer}
            key = launch.grid, launch.block, launch.shared, *numbers.items(), *sizes.items()
            if key not in seen and len(seen) < _MOST_LAUNCHES:
                seen.add(key)
                contents = {
                    each.name: self._content(launch, places[each.name], sizes[each.name], each)
                    for each in args
                    if each.is_pointer and not each.dtype.is_float and not each.dtype.is_block
                }
                yield ObservedLaunch(launch.grid, launch.block, launch.shared, numbers, sizes, contents)

    def _content(self, launch: CapturedLaunch, address: int, size: int, argument: KernelArgument) -> Array:
        """Return the recorded elements of a tensor before a launch: those up to a gap in the recording."""
        data = self._recorded(launch, address, size * argument.dtype.itemsize)
        return np.frombuffer(data, argument.dtype.numpy, len(data) // argument.dtype.itemsize)

    def _recorded(self, launch: CapturedLaunch, address: int, size: int) -> bytes:
        """Return the bytes at an address before a launch, up to a gap in the recording."""
        data = bytearray()
        if one := _allocation(launch, address):
            for begin, stored in self._capture.allocation(one, after=False):
                start = address - one.address + len(data) - begin
                if 0 <= start < len(stored):
                    data += stored[start : start + size - len(data)]
        return bytes(data)

    def _values(self, launch: CapturedLaunch, args: Sequence[KernelArgument]) -> Mapping[str, int] | None:
        """Return the bits of each argument, or None if the launch passed arguments of other sizes.

        Fields of a structure in memory are read from the recording.
        """
        found = {}
        for each in args:
            position, offset = each.key
            if position >= len(launch.parameters) or offset == ROW:
                return None
            data = bytes.fromhex(launch.parameters[position][1])
            size = 8 if each.is_pointer else each.dtype.itemsize
            if offset >= BEHIND:
                part = self._recorded(launch, int.from_bytes(data, "little") + offset - BEHIND, size)
            else:
                part = data[offset : offset + size]
            if len(part) != size:
                return None
            is_signed = not each.is_pointer and not each.dtype.is_float and each.dtype.numpy.kind == "i"
            found[each.name] = int.from_bytes(part, "little", signed=is_signed)
        return found


def _allocation(launch: CapturedLaunch, address: int) -> CapturedAllocation | None:
    """Return the recorded allocation that contains an address."""
    return next((one for one in launch.allocations if one.ranges and 0 <= address - one.address < one.size), None)


def _extent(launch: CapturedLaunch, argument: KernelArgument, places: Mapping[str, int]) -> int:
    """Return the number of elements from a pointer to the next pointer or the end of the recording."""
    address = places[argument.name]
    if not (one := _allocation(launch, address)):
        return 0
    end = one.address + one.ranges[-1].start + one.ranges[-1].size
    end = min([end, *(other for other in places.values() if address < other < end)])
    return max(0, end - address) // argument.dtype.itemsize
