"""Recordings: what launches left behind on one machine, in a file that another machine can replay.

A recording is a zip file (LZMA) with these members:

* ``head.json``: ``format``, ``version``, where the values are from (``runner``, ``vendor``, ``evidence``, ``device``,
  ``environment``), how the cases were drawn (``seed``, ``examples``), ``modules`` (per "module target" the digest of
  the code object and the metadata of its kernels) and ``members``: the SHA-256 of every other member.
* ``cases.jsonl``: a line per case: ``case`` (its text), ``title``, ``module``, ``kernel``, ``target``, ``launch``
  (``launch_digest``), ``fault`` (null, or kind, message and whether the device was lost) and ``buffers``: [first
  byte, bytes] of each buffer that the launch changed.
* ``outputs/TARGET/MODULE.bin``: those buffers, little-endian, one behind the other.
* ``attached/NAME``: optional; whatever else belongs to these cases. A reader that does not know one leaves it alone.

The comment of the zip file is the seal: format, version, and the SHA-256 of ``head.json``.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from lzma import LZMAError
from pathlib import Path
from typing import Literal, Required, TypedDict

import numpy as np

from parity.errors import UsageError
from parity.model.code_object import CodeObject, Kernel
from parity.model.launch import Buffer, Fault, Launch, Outcome, Pointer, Scalar, Struct
from parity.platform.cache import digest
from parity.platform.files import regular, writing
from parity.platform.serialization import json_text, read_json

__all__ = [
    "MEASUREMENTS",
    "VERSION",
    "Environment",
    "Head",
    "Origin",
    "Part",
    "RecordedCase",
    "Recording",
    "launch_digest",
    "read_recording",
    "write_recording",
]

FORMAT = "parity recording"
VERSION = 1
HEAD, CASES, ATTACHED = "head.json", "cases.jsonl", "attached/"

FEWER = "record fewer kernels or cases in one file"

MEASUREMENTS = "bench.json"
"""The name of the member that holds measurements, if any were made: the file that ``parity bench --save`` writes."""

LARGEST = 2**31
"""Bytes that the members of a recording may have together; the whole suite with 20 examples has 30 MB."""

_EPOCH = (1980, 1, 1, 0, 0, 0)


class Part(TypedDict):
    """The part of a run that one of its shards had: ``mine`` of ``all`` kernels. ``shard`` is "3/8", for one."""

    shard: str
    all: list[str]
    mine: list[str]


Environment = TypedDict(
    "Environment",
    {
        "arguments": list[str],
        "versions": dict[str, str],
        "machine": str,
        "runners": list[str],
        "devices": dict[str, dict[str, str]],
        "columns": list[str],
        "examples": int,
        "seed": int,
        "checked": bool,
        "compilers": dict[str, str],
        "sources": Required[dict[str, str]],
        "code objects": dict[str, str],
        "entries": list[str],
        "settings": dict[str, str],
        "part": Part,
    },
    total=False,
)
"""Versions and digests of everything that decides the outcome of a run. Files of before may lack a part."""


class Origin(TypedDict):
    """The origin of the values of a recording, and the settings with which its cases were drawn."""

    runner: str
    vendor: Literal["amd", "cuda"]
    evidence: str
    device: dict[str, str]
    seed: int
    examples: int
    environment: Environment


class _Module(TypedDict):
    digest: str
    kernels: list[Kernel]


class Head(Origin):
    """The content of ``head.json``: the code objects by "module target" too, and the SHA-256 of every other member."""

    modules: dict[str, _Module]
    members: dict[str, str]


@dataclass(frozen=True)
class _Line:
    """A case in the file: of each buffer the first byte and how many there are."""

    case: str
    title: str
    module: str
    kernel: str
    target: str
    launch: str
    buffers: dict[str, tuple[int, int]]
    fault: Fault | None


_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, LZMAError, EOFError, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, MemoryError),
)
"""The exceptions that the zip module raises for a file that it cannot read."""


@dataclass(frozen=True)
class RecordedCase:
    """One case and what its launch left: the bytes of each buffer it changed, or the fault."""

    case: str
    title: str
    module: str
    kernel: str
    target: str
    launch: str
    buffers: Mapping[str, bytes]
    fault: Fault | None = None

    def outcome(self, before: Mapping[str, Buffer]) -> Outcome:
        """The outcome of that launch on the buffers it was given."""
        for name, data in self.buffers.items():
            if name not in before or len(data) != before[name].data.nbytes:
                has = f"has {before[name].data.nbytes}" if name in before else "is none of the launch"
                fault = Fault("error", f"the recording has {len(data)} bytes of the buffer {name!r}, which {has}")
                return Outcome.untouched(before, fault)
        after = {
            name: np.frombuffer(self.buffers[name], buffer.dtype.numpy) if name in self.buffers else buffer.data
            for name, buffer in before.items()
        }
        return Outcome(after, self.fault)


@dataclass(frozen=True)
class Recording:
    """A recording as read back: its head, its cases in the order in which they were drawn, what else is attached."""

    head: Head
    cases: tuple[RecordedCase, ...]
    attached: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.target for case in self.cases))

    def texts(self, target: str) -> frozenset[str]:
        """The cases that were recorded for that target."""
        return frozenset(case.case for case in self.cases if case.target == target)

    def code(self) -> dict[tuple[str, str], CodeObject]:
        """The code objects by (module, target), with the metadata of their kernels but without their code."""
        found = {}
        for key, data in self.head["modules"].items():
            module, _, target = key.rpartition(" ")
            kernels = {kernel.name: kernel for kernel in data["kernels"]}
            found[module, target] = CodeObject(module, target, "", kernels, data["digest"])
        return found


def launch_digest(launch: Launch, buffers: Mapping[str, Buffer]) -> str:
    """SHA-256 of what kernels are given: names, geometry, arguments, variables, and the content of the buffers."""
    parts: list[str] = []
    for each in launch.sequence:
        args = [_argument(arg) for arg in each.args]
        parts += [each.kernel, *map(str, (each.grid, each.block, each.shared_bytes)), str(len(args)), *args]
    constants = [part for name, array in launch.constants.items() for part in (name, array.tobytes())]
    contents = [part for name, b in buffers.items() for part in (name, str(b.dtype), b.data.tobytes())]
    return digest(*parts, *constants, *contents)


def _argument(arg: Pointer | Scalar | Struct) -> str:
    if isinstance(arg, Pointer):
        return str(arg)
    if isinstance(arg, Scalar):
        return f"{arg.dtype} {arg.bytes.hex()}"
    fields = ((name, value if isinstance(value, tuple) else (value,)) for name, value in arg.fields)
    return " ".join(part for name, values in fields for part in (name, *map(_argument, values)))


def write_recording(
    path: Path,
    origin: Origin,
    code: Iterable[CodeObject],
    cases: Iterable[RecordedCase],
    attached: Mapping[str, bytes] | None = None,
) -> None:
    """Write a recording.

    The file appears when it is complete: a recording that is ended before leaves nothing behind.

    Raises:
        UsageError: the file cannot be written.
    """
    outputs: dict[str, bytearray] = {}
    lines = []
    for case in cases:
        stored = outputs.setdefault(_output(case.target, case.module), bytearray())
        ranges = {}
        for name, data in case.buffers.items():
            ranges[name] = len(stored), len(data)
            stored += data
        lines.append(json_text(_Line(**{**vars(case), "buffers": ranges})) + b"\n")
    members = {
        CASES: b"".join(lines),
        **{name: bytes(data) for name, data in outputs.items()},
        **{ATTACHED + name: data for name, data in (attached or {}).items()},
    }
    if (size := sum(map(len, members.values()))) > LARGEST:
        raise UsageError(f"cannot write {path}: it would unpack to {size / 1e9:.1f} GB, which no parity reads; {FEWER}")
    head: Head = {
        **origin,
        "modules": {f"{c.module} {c.target}": {"digest": c.digest, "kernels": list(c.kernels.values())} for c in code},
        "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json_text({"format": FORMAT, "version": VERSION, **head}, indent=1)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with writing(path, "choose another file with -o"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(scratch, "w") as file:
                for name, data in {HEAD: text, **members}.items():
                    file.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_LZMA)
                file.comment = _seal(text, VERSION)
            with scratch.open("rb") as written:
                os.fsync(written.fileno())
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def read_recording(path: Path) -> Recording:
    """The recording in a file, every byte of it checked.

    Raises:
        UsageError: the file cannot be read, is no recording, has another version, is cut off, was altered, or lacks
            something that a recording has.
    """
    try:
        with zipfile.ZipFile(regular(path)) as file:
            return _read(path, file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except _UNREADABLE as error:
        raise UsageError(
            f"{path} is not a recording of parity, or it was cut off or altered ({error}); copy or record it again"
        ) from error


def _read(path: Path, file: zipfile.ZipFile) -> Recording:
    kind, _, rest = file.comment.decode("ascii", "replace").partition(", version ")
    if kind != FORMAT or HEAD not in file.namelist():
        raise UsageError(f"{path} is a zip file, but not a recording of parity; make one with parity record")
    version = rest.partition(",")[0]
    if version != str(VERSION):
        raise UsageError(f"{path} has version {version} of the format; this parity reads {VERSION}: record it again")
    if (size := sum(member.file_size for member in file.infolist())) > LARGEST:
        raise UsageError(
            f"{path} unpacks to {size / 1e9:.1f} GB, and recordings of up to {LARGEST / 1e9:.1f} GB are read; {FEWER}"
        )
    text = file.read(HEAD)
    if file.comment != _seal(text, VERSION):
        raise UsageError(f"{path} was altered: its {HEAD} does not fit its seal; copy or record it again")
    head = read_json(text, Head, f"{path} is malformed: {HEAD}")
    if sorted(file.namelist()) != sorted([HEAD, *head["members"]]):
        raise UsageError(f"{path} was altered: it does not have the members that its head names")
    members = {name: file.read(name) for name in head["members"]}
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != head["members"][name]:
            raise UsageError(f"{path} was altered: {name} does not fit its checksum; copy or record it again")
    if CASES not in members:
        raise UsageError(f"{path} is malformed: it has no member {CASES}")
    lines = enumerate(members[CASES].splitlines(), 1)
    cases = tuple(_case(line, members, f"{path} is malformed: {CASES}, line {number}") for number, line in lines)
    attached = {name.removeprefix(ATTACHED): data for name, data in members.items() if name.startswith(ATTACHED)}
    return Recording(head, cases, attached)


def _case(text: bytes, members: Mapping[str, bytes], where: str) -> RecordedCase:
    line = read_json(text, _Line, where)
    member = _output(line.target, line.module)
    stored = members.get(member, b"")
    buffers = {}
    for name, (first, count) in line.buffers.items():
        if min(first, count) < 0 or first + count > len(stored):
            raise UsageError(
                f"{where}: buffers: {name} is {[first, count]}, no part of the {len(stored)} bytes of {member}"
            )
        buffers[name] = stored[first : first + count]
    return RecordedCase(**{**vars(line), "buffers": buffers})


def _output(target: str, module: str) -> str:
    return f"outputs/{target}/{module}.bin"


def _seal(head: bytes, version: int) -> bytes:
    return f"{FORMAT}, version {version}, SHA-256 of {HEAD} {hashlib.sha256(head).hexdigest()}".encode()
