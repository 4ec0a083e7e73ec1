"""The file format of recordings: outcomes of launches on one machine, which another machine can replay.

A recording is a zip file (LZMA) with these members:

* ``head.json``: ``format`` and ``version``; the origin of the values (``runner``, ``vendor``, ``evidence``, ``device``,
  ``environment``); how the cases were drawn (``seed``, ``examples``); ``modules``, which maps "module target" to the
  digest of the code object and the metadata of its kernels; ``members``, the SHA-256 of every other member.
* ``cases.jsonl``: one line per case with ``case`` (its text), ``title``, ``module``, ``kernel``, ``target``, ``launch``
  (see ``launch_digest``), ``fault`` (null, or kind, message and whether the device was lost) and ``buffers``, which
  maps each buffer that the launch changed to [offset, size], both in bytes.
* ``outputs/TARGET/MODULE.bin``: the contents of these buffers, little-endian and concatenated.
* ``attached/NAME``: optional additional data for these cases. Readers ignore members that they do not know.

The comment of the zip file is the seal: format, version, and the SHA-256 of ``head.json``.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Required, TypedDict

import numpy as np

from parity.errors import UsageError
from parity.model.code_object import CodeObject, Kernel
from parity.model.dtypes import Array
from parity.model.launch import Buffer, Fault, Launch, Outcome, Pointer, Scalar, Struct
from parity.platform.archives import add_member, reading, writing
from parity.platform.cache import digest
from parity.platform.serialization import json_text, read_json

FORMAT = "parity recording"
VERSION = 1
HEAD, CASES, ATTACHED = "head.json", "cases.jsonl", "attached/"

FEWER = "record fewer kernels or cases in one file"

MEASUREMENTS = "bench.json"
"""The name of the attached file with measurements, as written by ``parity bench --save``."""

LARGEST = 2**31
"""Maximum total size of the members in bytes. The whole suite with 20 examples has 30 MB."""


class Part(TypedDict):
    """The kernels of one shard (``mine``) among ``all`` kernels of a run. ``shard`` is for example "3/8"."""

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
"""Versions and digests of everything that affects the outcome of a run. Older files may lack some keys."""


class Origin(TypedDict):
    """The origin of recorded values, and the settings with which the cases were drawn."""

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
    """The content of ``head.json``: the origin, the code objects by "module target", the digests of the members."""

    modules: dict[str, _Module]
    members: dict[str, str]


@dataclass(frozen=True)
class _Case:
    case: str
    title: str
    module: str
    kernel: str
    target: str
    launch: str


@dataclass(frozen=True)
class _CaseLine(_Case):
    """A line of ``cases.jsonl``. ``buffers`` maps a buffer to its offset and size in bytes."""

    buffers: dict[str, tuple[int, int]]
    fault: Fault | None


@dataclass(frozen=True)
class RecordedCase(_Case):
    """A case with the outcome of its launch: the bytes of each changed buffer, and the fault."""

    buffers: Mapping[str, bytes]
    fault: Fault | None = None

    def outcome(self, before: Mapping[str, Buffer]) -> Outcome:
        """Return the outcome of the launch for its initial buffers."""
        after = restored_buffers(self.buffers, before, "the recording")
        return Outcome.untouched(before, after) if isinstance(after, Fault) else Outcome(after, self.fault)


@dataclass(frozen=True)
class Recording:
    """The content of a recording file. The cases are in the order in which they were drawn."""

    head: Head
    cases: tuple[RecordedCase, ...]
    attached: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.target for case in self.cases))

    def texts(self, target: str) -> frozenset[str]:
        """Return the texts of the cases that were recorded for a target."""
        return frozenset(case.case for case in self.cases if case.target == target)

    def code(self) -> dict[tuple[str, str], CodeObject]:
        """Return the code objects by (module, target). They have the metadata of their kernels but no code."""
        found = {}
        for key, data in self.head["modules"].items():
            module, _, target = key.rpartition(" ")
            kernels = {kernel.name: kernel for kernel in data["kernels"]}
            found[module, target] = CodeObject(module, target, "", kernels, data["digest"])
        return found


def changed_buffers(after: Mapping[str, Array], before: Mapping[str, Buffer]) -> dict[str, bytes]:
    """Return the bytes of the buffers that a launch changed."""
    contents = {name: np.ascontiguousarray(after[name]).tobytes() for name in before if name in after}
    return {name: data for name, data in contents.items() if data != before[name].data.tobytes()}


def restored_buffers(
    changed: Mapping[str, bytes | Array], before: Mapping[str, Buffer], source: str
) -> dict[str, Array] | Fault:
    """Undo ``changed_buffers``. Return a fault, which names the ``source``, if the bytes do not fit the buffers."""
    for name, data in changed.items():
        if name not in before or len(data) != before[name].data.nbytes:
            size = f"has {before[name].data.nbytes}" if name in before else "the launch does not have"
            return Fault("error", f"{source} has {len(data)} bytes of the buffer {name!r}, which {size}")
    return {
        name: np.frombuffer(changed[name], buffer.dtype.numpy) if name in changed else buffer.data
        for name, buffer in before.items()
    }


def launch_digest(launch: Launch, buffers: Mapping[str, Buffer]) -> str:
    """Return the SHA-256 of a launch: kernel names, geometry, arguments, variables and buffer contents."""
    parts: list[str] = []
    for each in launch.sequence:
        args = [_argument(arg) for arg in each.args]
        parts += [each.kernel, *map(str, (each.grid, each.block, each.shared_bytes)), str(len(args)), *args]
    constants = [
        part
        for name, content in launch.constants.items()
        for part in (name, _argument(content) if isinstance(content, Struct) else content.tobytes())
    ]
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
    """Write a recording atomically: an interrupted call leaves no file.

    Raises:
        UsageError: The file cannot be written, or the recording is too large.
    """
    outputs: dict[str, bytearray] = {}
    lines = []
    for case in cases:
        stored = outputs.setdefault(_output(case.target, case.module), bytearray())
        ranges = {}
        for name, data in case.buffers.items():
            ranges[name] = len(stored), len(data)
            stored += data
        lines.append(json_text(_CaseLine(**{**vars(case), "buffers": ranges})) + b"\n")
    members = {
        CASES: b"".join(lines),
        **{name: bytes(data) for name, data in outputs.items()},
        **{ATTACHED + name: data for name, data in (attached or {}).items()},
    }
    if (size := sum(map(len, members.values()))) > LARGEST:
        raise UsageError(f"cannot write {path}: it would unpack to {size / 1e9:.1f} GB, too much to read; {FEWER}")
    head: Head = {
        **origin,
        "modules": {f"{c.module} {c.target}": {"digest": c.digest, "kernels": list(c.kernels.values())} for c in code},
        "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json_text({"format": FORMAT, "version": VERSION, **head}, indent=1)
    with writing(path) as file:
        for name, data in {HEAD: text, **members}.items():
            add_member(file, name, data, zipfile.ZIP_LZMA)
        file.comment = _seal(text)


def read_recording(path: Path) -> Recording:
    """Read a recording and verify all of its checksums.

    Raises:
        UsageError: The file cannot be read, is not a recording, has another version, or is truncated, altered or
            incomplete.
    """
    with reading(path, "a recording of parity", "copy or record it again") as file:
        return _read(path, file)


def _read(path: Path, file: zipfile.ZipFile) -> Recording:
    kind, _, rest = file.comment.decode("ascii", "replace").partition(", version ")
    if kind != FORMAT or HEAD not in file.namelist():
        raise UsageError(f"{path} is a zip file, but not a recording of parity; make one with parity record")
    version = rest.partition(",")[0]
    if version != str(VERSION):
        raise UsageError(f"{path} has version {version} of the format; this parity reads {VERSION}: record it again")
    if (size := sum(member.file_size for member in file.infolist())) > LARGEST:
        raise UsageError(f"{path} unpacks to {size / 1e9:.1f} GB, but the limit is {LARGEST / 1e9:.1f} GB; {FEWER}")
    text = file.read(HEAD)
    if file.comment != _seal(text):
        raise UsageError(f"{path} was altered: its {HEAD} does not match its seal; copy or record it again")
    head = read_json(text, Head, f"{path} is malformed: {HEAD}")
    if sorted(file.namelist()) != sorted([HEAD, *head["members"]]):
        raise UsageError(f"{path} was altered: its members differ from the list in {HEAD}")
    members = {name: file.read(name) for name in head["members"]}
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != head["members"][name]:
            raise UsageError(f"{path} was altered: {name} does not match its checksum; copy or record it again")
    if CASES not in members:
        raise UsageError(f"{path} is malformed: it does not have a member {CASES}")
    lines = enumerate(members[CASES].splitlines(), 1)
    cases = tuple(_case(line, members, f"{path} is malformed: {CASES}, line {number}") for number, line in lines)
    attached = {name.removeprefix(ATTACHED): data for name, data in members.items() if name.startswith(ATTACHED)}
    return Recording(head, cases, attached)


def _case(text: bytes, members: Mapping[str, bytes], where: str) -> RecordedCase:
    line = read_json(text, _CaseLine, where)
    member = _output(line.target, line.module)
    stored = members.get(member, b"")
    buffers = {}
    for name, (first, count) in line.buffers.items():
        if min(first, count) < 0 or first + count > len(stored):
            problem = f"{name} is {[first, count]}, which is outside of the {len(stored)} bytes of {member}"
            raise UsageError(f"{where}: buffers: {problem}")
        buffers[name] = stored[first : first + count]
    return RecordedCase(**{**vars(line), "buffers": buffers})


def _output(target: str, module: str) -> str:
    return f"outputs/{target}/{module}.bin"


def _seal(head: bytes) -> bytes:
    return f"{FORMAT}, version {VERSION}, SHA-256 of {HEAD} {hashlib.sha256(head).hexdigest()}".encode()
