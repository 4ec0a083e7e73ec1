"""The file format of captures: kernel launches of a program with the memory that they reach.

A capture is a zip file (deflate) with these members:

* ``head.json``: ``format`` and ``version``; ``processes``, each with its program, device and driver; ``skipped``, the
  launches that were not recorded, by kernel and reason.
* ``launches.jsonl``: one ``CapturedLaunch`` per line.
* ``data/SHA256``: contents of memory. The name is the SHA-256 of the content.

A capture holds data only: reading it executes nothing.
"""

from __future__ import annotations

import functools
import hashlib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from parity.errors import UsageError
from parity.platform.archives import add_member, reading, writing
from parity.platform.serialization import json_text, read_json

FORMAT, VERSION = "parity capture", 1
HEAD, LAUNCHES, DATA = "head.json", "launches.jsonl", "data/"

_KIND = ("a capture", "copy or capture it again")
"""What errors call a file, and their advice."""

LARGEST = 8 << 30
"""Maximum total size of the members in bytes."""


@dataclass(frozen=True)
class Skipped:
    """Launches of a kernel that were not recorded."""

    kernel: str
    count: int
    reason: str


@dataclass(frozen=True)
class Process:
    """A process of the program, with the GPU of its first launch. ``driver`` is the CUDA version of the driver."""

    program: str
    device: str
    compute: tuple[int, int]
    driver: int


@dataclass(frozen=True)
class Range:
    """Recorded bytes of an allocation, from ``start``. ``after`` is empty if the launch did not change them."""

    start: int
    size: int
    before: str
    after: str = ""


@dataclass(frozen=True)
class CapturedAllocation:
    """Device memory that an argument points into. The ranges do not overlap; bytes between them were not recorded."""

    address: int
    size: int
    ranges: tuple[Range, ...]

    @property
    def is_whole(self) -> bool:
        """True if all bytes were recorded."""
        return sum(each.size for each in self.ranges) == self.size


@dataclass(frozen=True, kw_only=True)
class _LaunchFacts:
    """The facts about a launch that a capture stores as the injected library wrote them.

    Attributes:
        launch: position among the launches of the program, including launches that were not recorded.
        kernel: the symbol.
        parameters: byte offset and bytes (hexadecimal) of each argument.
        frames: the call site: functions of the program, innermost first.
        error: the CUDA error of the launch; 0 if it succeeded.
        incomplete: memory that an argument points to could not be read.
    """

    launch: int
    kernel: str
    api: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    parameters: tuple[tuple[int, str], ...]
    frames: tuple[str, ...] = ()
    cooperative: bool = False
    cluster: tuple[int, int, int] = (1, 1, 1)
    error: int = 0
    incomplete: bool = False


@dataclass(frozen=True, kw_only=True)
class CapturedLaunch(_LaunchFacts):
    """A launch of a kernel, with the memory that it reaches before and after.

    Attributes:
        number: position among the launches of the capture.
        variables: content of each variable of the module before the launch, by symbol.
    """

    number: int
    process: int
    allocations: tuple[CapturedAllocation, ...]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The number of recorded bytes of memory."""
        return sum(each.size for allocation in self.allocations for each in allocation.ranges)


@dataclass(frozen=True)
class _Head:
    format: str
    version: int
    processes: tuple[Process, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class Capture:
    """The launches of a capture file. Their memory is read on demand."""

    path: Path
    processes: tuple[Process, ...]
    launches: tuple[CapturedLaunch, ...]
    skipped: tuple[Skipped, ...]
    sizes: Mapping[str, int] = field(repr=False)

    def size(self, name: str) -> int:
        """Return the size of the content with this name, in bytes."""
        return self.sizes[DATA + name]

    def content(self, name: str, size: int) -> bytes:
        """Return the content of memory with this name.

        Raises:
            UsageError: the capture lacks it, or it has another size or content.
        """
        return _content(self.path, name, size)

    def allocation(self, allocation: CapturedAllocation, *, after: bool) -> Iterator[tuple[int, bytes]]:
        """Yield start and content of each range before or after the launch."""
        for each in allocation.ranges:
            yield each.start, self.content((after and each.after) or each.before, each.size)


# --- files of the injected library --------------------------------------------------------------------------------


class _RawHead(msgspec.Struct):
    device: str
    compute: tuple[int, int]
    driver: int
    program: str


class _RawAllocation(msgspec.Struct):
    address: int
    size: int
    ranges: list[tuple[int, int, int, int]]


@dataclass(frozen=True, kw_only=True)
class _RawLaunch(_LaunchFacts):
    allocations: list[_RawAllocation]
    variables: list[tuple[str, int, int]] = field(default_factory=list)


class _RawSkipped(msgspec.Struct):
    skipped: str
    count: int
    reason: str


def pack(folder: Path, path: Path) -> Capture:
    """Write a capture from the files that the injected library wrote to a folder, and return it.

    A line or content that is cut off, because the program was killed, is left out.

    Raises:
        UsageError: the file cannot be written.
    """
    with writing(path) as file:
        _pack(folder, file)
        file.comment = f"{FORMAT}, version {VERSION}".encode()
    return read_capture(path)


def _pack(folder: Path, file: zipfile.ZipFile) -> None:
    processes: list[Process] = []
    skipped: list[Skipped] = []
    lines: list[bytes] = []
    names: set[str] = set()

    def add(name: str, data: bytes) -> None:
        add_member(file, name, data, zipfile.ZIP_DEFLATED, 6)

    for source in sorted(folder.glob("*.jsonl"), key=lambda each: each.stat().st_mtime_ns):
        with source.with_suffix(".bin").open("rb") as contents:

            def stored(at: int, size: int) -> str:
                contents.seek(at)
                data = contents.read(size)
                if len(data) != size:
                    raise EOFError
                name = hashlib.sha256(data).hexdigest()
                if name not in names:
                    names.add(name)
                    add(DATA + name, data)
                return name

            for line in source.read_bytes().splitlines():
                if line.startswith(b'{"format"'):
                    head = msgspec.json.decode(line, type=_RawHead)
                    processes.append(Process(head.program, head.device, head.compute, head.driver))
                    continue
                try:
                    if line.startswith(b'{"skipped"'):
                        raw = msgspec.json.decode(line, type=_RawSkipped)
                        skipped.append(Skipped(raw.skipped, raw.count, raw.reason))
                    else:
                        launch = msgspec.json.decode(line, type=_RawLaunch)
                        lines.append(json_text(_launch(launch, len(lines), len(processes) - 1, stored)))
                except (msgspec.DecodeError, EOFError):
                    continue
    add(LAUNCHES, b"".join(line + b"\n" for line in lines))
    add(HEAD, json_text(_Head(FORMAT, VERSION, tuple(processes), tuple(skipped)), indent=1))


def _launch(raw: _RawLaunch, number: int, process: int, stored: Callable[[int, int], str]) -> CapturedLaunch:
    allocations = tuple(
        CapturedAllocation(
            each.address,
            each.size,
            tuple(
                Range(start, size, stored(before, size), stored(after, size) if after >= 0 else "")
                for start, size, before, after in each.ranges
            ),
        )
        for each in raw.allocations
    )
    variables = {name: stored(at, size) for name, at, size in raw.variables}
    given = {**vars(raw), "allocations": allocations, "variables": variables}
    return CapturedLaunch(number=number, process=process, **given)


# --- reading ------------------------------------------------------------------------------------------------------


def read_capture(path: Path) -> Capture:
    """Read a capture. Checks all sizes; contents are checked when they are read.

    Raises:
        UsageError: the file cannot be read, is not a capture, has another version, or is truncated or altered.
    """
    with reading(path, *_KIND) as file:
        kind, _, version = file.comment.decode("ascii", "replace").partition(", version ")
        if kind != FORMAT:
            raise UsageError(f"{path} is a zip file, but not a capture; make one with parity capture")
        if version != str(VERSION):
            raise UsageError(f"{path} has version {version} of the format; this parity reads {VERSION}")
        sizes = {each.filename: each.file_size for each in file.infolist()}
        if sum(sizes.values()) > LARGEST:
            limit = f"{LARGEST / 1e9:.1f} GB"
            raise UsageError(f"{path} unpacks to more than {limit}; capture fewer launches or bytes")
        head = read_json(file.read(HEAD), _Head, f"{path}: {HEAD}")
        lines = file.read(LAUNCHES).splitlines()
    launches = tuple(
        read_json(line, CapturedLaunch, f"{path}: {LAUNCHES}, line {number}") for number, line in enumerate(lines, 1)
    )
    for number, launch in enumerate(launches):
        if problem := _problem(launch, number, len(head.processes), sizes):
            raise UsageError(f"{path} was altered: {LAUNCHES}, line {number + 1}: {problem}; capture again")
    return Capture(path, head.processes, launches, head.skipped, sizes)


def _problem(launch: CapturedLaunch, number: int, processes: int, sizes: dict[str, int]) -> str:
    """Return what is inconsistent in a launch; empty if nothing is."""
    if launch.number != number or not 0 <= launch.process < processes:
        return "the numbers of launch and process are wrong"
    ends = [0]
    for offset, text in launch.parameters:
        try:
            ends.append(offset + len(bytes.fromhex(text)))
        except ValueError:
            return "an argument is not hexadecimal"
        if offset < ends[-2] or ends[-1] > 1 << 16:
            return "the arguments overlap or are too large"
    wanted: dict[str, int] = {}
    for allocation in launch.allocations:
        end = 0
        for each in allocation.ranges:
            if not end <= each.start <= each.start + each.size <= allocation.size:
                return "the ranges of an allocation overlap or exceed it"
            end = each.start + each.size
            wanted |= {name: each.size for name in (each.before, each.after) if name}
    wanted |= {name: sizes.get(DATA + name, -1) for name in launch.variables.values()}
    if lacking := next((name for name, size in wanted.items() if sizes.get(DATA + name) != size), None):
        return f"{DATA}{lacking} is missing or has another size"
    return ""


@functools.lru_cache(maxsize=256)
def _content(path: Path, name: str, size: int) -> bytes:
    with reading(path, *_KIND) as file:
        with file.open(DATA + name) as member:
            data = member.read(size + 1)
        if len(data) != size or hashlib.sha256(data).hexdigest() != name:
            raise UsageError(f"{path} was altered: {DATA}{name} does not match its checksum; copy or capture it again")
    return data
