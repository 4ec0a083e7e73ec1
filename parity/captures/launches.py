"""Turns captured launches into calls: memory into buffers, addresses into pointers, and CUDA's results into outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.captures.file import Capture, CapturedAllocation, CapturedLaunch
from parity.errors import Unreferenced
from parity.model.code_object import source_name
from parity.model.dtypes import Array, DType, dtype
from parity.model.launch import Buffer, Computation, Launch, Pointer, Scalar, Struct
from parity.model.layout import contiguous
from parity.ops.lowering import Call, Observed

_WORD = 8
_LEAST, _MOST = 2.0**-60, 2.0**60
"""The sizes of usual floating-point numbers. Small integers are not among them: their bits are subnormal numbers."""


@dataclass(frozen=True)
class CapturedParameter:
    """A parameter of a kernel under test. ``dtype`` is its type, or the type of the elements; empty if unknown."""

    name: str
    size: int
    is_pointer: bool
    dtype: str = ""


@dataclass(frozen=True)
class _Region:
    """Bytes ``begin`` to ``end`` of an allocation: one buffer of a call."""

    name: str
    allocation: CapturedAllocation
    begin: int
    end: int
    dtype: DType

    def holds(self, address: int) -> bool:
        """True if an address points into the region, or just behind it."""
        return self.begin <= address - self.allocation.address <= self.end

    def ends_at(self, address: int) -> bool:
        """True if the address is the first one behind the region."""
        return address == self.allocation.address + self.end

    def content(self, capture: Capture, *, after: bool) -> tuple[Array, Array]:
        """Return the elements, and a mask of the elements that the capture holds."""
        data, known = np.zeros(self.end - self.begin, np.uint8), np.zeros(self.end - self.begin, np.bool_)
        for start, stored in capture.allocation(self.allocation, after=after):
            low, high = max(start, self.begin), min(start + len(stored), self.end)
            if low < high:
                data[low - self.begin : high - self.begin] = np.frombuffer(stored, np.uint8)[low - start : high - start]
                known[low - self.begin : high - self.begin] = True
        count = len(data) // self.dtype.itemsize * self.dtype.itemsize
        whole = np.logical_and.reduce(known[:count].reshape(-1, self.dtype.itemsize), axis=1)
        return data[:count].view(self.dtype.numpy), whole


def captured_call(
    capture: Capture,
    launch: CapturedLaunch,
    kernel: str,
    parameters: Sequence[CapturedParameter],
    variables: Iterable[str],
) -> Call:
    """Return the call of ``kernel`` that repeats a captured launch, with CUDA's results.

    Every buffer is writable and compared: an input must keep its content.

    Raises:
        Unreferenced: the launch cannot be repeated, or nothing could be compared.
    """
    given = [(offset, bytes.fromhex(text)) for offset, text in launch.parameters]
    _check(launch, given, parameters)
    regions = list(_regions(capture, launch, given, parameters))
    args = tuple(
        _argument(each, offset, data, regions, i)
        for i, (each, (offset, data)) in enumerate(zip(parameters, given, strict=True))
    )
    buffers, outputs, layouts = {}, {}, {}
    for region in regions:
        before, known = region.content(capture, after=False)
        buffers[region.name] = Buffer(region.dtype, before, None if known.all() else known, writable=True)
        outputs[region.name], _ = region.content(capture, after=True)
        layouts[region.name] = contiguous((len(before),))
    if not any(each.size for each in outputs.values()):
        raise Unreferenced("no argument points to captured memory, so nothing can be compared")
    return Call(
        Launch(
            kernel,
            launch.grid,
            launch.block,
            args,
            launch.shared,
            constants=_constants(capture, launch, variables),
            ended=True,
        ),
        buffers,
        layouts,
        {},
        Computation(kernel, (), {}, {}, regions[0].dtype, (len(outputs[regions[0].name]),)),
        None,
        observed=Observed(outputs, capture.processes[launch.process].device, _missing(launch, regions)),
    )


def _check(launch: CapturedLaunch, given: Sequence[tuple[int, bytes]], parameters: Sequence[CapturedParameter]) -> None:
    """Refuse a launch that cannot be repeated on an AMD GPU or with this signature."""
    if launch.error:
        raise Unreferenced(f"the launch failed on the NVIDIA GPU, with error {launch.error} of the CUDA driver")
    if launch.cluster != (1, 1, 1):
        size = "x".join(map(str, launch.cluster))
        raise Unreferenced(f"the launch uses clusters of {size} blocks, which AMD GPUs do not have")
    theirs, mine = [len(data) for _, data in given], [each.size for each in parameters]
    if theirs != mine:
        raise Unreferenced(f"the arguments of CUDA's kernel have {theirs} bytes, but the arguments of this one {mine}")


def _words(given: Sequence[tuple[int, bytes]]) -> Iterator[tuple[int, int]]:
    """Yield number and value of every aligned word in the arguments, which may be an address."""
    for i, (offset, data) in enumerate(given):
        for at in range(-offset % _WORD, len(data) - _WORD + 1, _WORD):
            yield i, int.from_bytes(data[at : at + _WORD], "little")


def _regions(
    capture: Capture,
    launch: CapturedLaunch,
    given: Sequence[tuple[int, bytes]],
    parameters: Sequence[CapturedParameter],
) -> Iterator[_Region]:
    """Yield the buffers of a launch. An allocation with elements of several types becomes one for each pointer."""
    names: set[str] = set()
    for allocation in launch.allocations:
        at: dict[int, int] = {}  # the first parameter for each offset
        for i, word in _words(given):
            if 0 <= word - allocation.address < allocation.size:
                at.setdefault(word - allocation.address, i)
        if not at or not allocation.ranges:
            continue
        begin, end = allocation.ranges[0].start, allocation.ranges[-1].start + allocation.ranges[-1].size
        kinds = {parameters[i].dtype for i in at.values()}
        starts = sorted(at) if len(kinds) > 1 else [min(at)]
        bounds = [*starts, end] if len(kinds) > 1 else [begin, end]
        for start, low, high in zip(starts, bounds, bounds[1:], strict=False):
            parameter = parameters[at[start]]
            name = parameter.name if parameter.name not in names else f"{parameter.name}_{len(names)}"
            names.add(name)
            whole = _Region(name, allocation, low, max(low, high), dtype("u8"))
            kind = dtype(parameter.dtype or _guess(whole.content(capture, after=True)[0]))
            if kind.is_block or any((offset - low) % kind.itemsize for offset in at if low <= offset < high):
                kind = dtype("u8")
            yield _Region(name, allocation, low, max(low, high), kind)


def _guess(data: Array) -> str:
    """Return f32 or f64 if most elements that are not 0 are usual numbers of that type, else u8."""
    for name in ("f64", "f32"):
        kind = dtype(name)
        numbers = data[: len(data) // kind.itemsize * kind.itemsize].view(kind.numpy)
        numbers = np.abs(numbers[numbers != 0])
        with np.errstate(all="ignore"):
            usual = np.count_nonzero((numbers > _LEAST) & (numbers < _MOST))
        if len(numbers) and usual >= 0.95 * len(numbers):
            return name
    return "u8"


def _argument(
    parameter: CapturedParameter, offset: int, data: bytes, regions: Sequence[_Region], number: int
) -> Pointer | Scalar | Struct:
    if parameter.is_pointer:
        return _pointer(int.from_bytes(data, "little"), regions, f"argument {number} ({parameter.name})")
    pieces: list[tuple[str, Pointer | Scalar]] = []
    size = next(size for size in (8, 4, 2, 1) if len(data) % size == 0 and offset % size == 0)
    for at in range(0, len(data), size):
        word = int.from_bytes(data[at : at + size], "little")
        is_address = size == _WORD and any(each.holds(word) for each in regions)
        value = _pointer(word, regions, parameter.name) if is_address else Scalar(dtype(f"u{8 * size}"), word)
        pieces.append((f"b{at}", value))
    if len(pieces) == 1 and isinstance(pieces[0][1], Scalar):
        kind = dtype(parameter.dtype or f"u{8 * size}")
        return Scalar(kind, np.frombuffer(data, kind.numpy)[0]) if kind.itemsize == len(data) else pieces[0][1]
    return Struct(tuple(pieces))


def _pointer(address: int, regions: Sequence[_Region], what: str) -> Pointer:
    if not address:
        return Pointer(None)
    # An address behind one region is usually the begin of another one.
    for region in sorted((each for each in regions if each.holds(address)), key=lambda each: each.ends_at(address)):
        return Pointer(region.name, (address - region.allocation.address - region.begin) // region.dtype.itemsize)
    raise Unreferenced(f"{what} is {address:#x}, which is not in captured memory")


def _constants(capture: Capture, launch: CapturedLaunch, variables: Iterable[str]) -> Mapping[str, Array]:
    """The content of the variables that the code under test has, too."""
    found, wanted = {}, set(variables)
    for symbol, name in launch.variables.items():
        if source_name(symbol) in wanted:
            content = np.frombuffer(capture.content(name, capture.size(name)), np.uint8)
            words = content[: len(content) // _WORD * _WORD].view(np.uint64)
            for each in launch.allocations:
                if ((words >= each.address) & (words < each.address + each.size)).any():
                    raise Unreferenced(f"the variable {source_name(symbol)} holds an address of device memory")
            found[source_name(symbol)] = content
    return found


def _missing(launch: CapturedLaunch, regions: Sequence[_Region]) -> str:
    """What the capture lacks, so that an access outside of the buffers may be right; empty if it lacks nothing."""
    if launch.incomplete:
        return "memory that an argument points to could not be captured"
    for each in regions:
        if not each.allocation.is_whole:
            kept = sum(part.size for part in each.allocation.ranges)
            of = f"{kept} of the {each.allocation.size} bytes that {each.name} points into"
            return f"the capture holds {of}; a larger --max-allocation keeps more"
        if (each.begin, each.end) != (0, each.allocation.size):
            return f"{each.name} shares an allocation with elements of other types, whose bounds are unknown"
    return ""
