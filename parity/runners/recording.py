"""Recordings: what launches left behind on one machine, in a file that another machine can replay.

A recording is a zip file (LZMA) with these members and nothing else:

* ``head.json``: ``format``, ``version``, where the values are from (``runner``, ``vendor``, ``evidence``, ``device``,
  ``environment``), how the cases were drawn (``seed``, ``examples``), ``modules`` (per "module target" the digest of
  the code object and the metadata of its kernels) and ``members``: the SHA-256 of every other member.
* ``cases.jsonl``: a line per case: ``case`` (its text), ``title``, ``module``, ``kernel``, ``target``, ``launch``
  (``launch_digest``), ``fault`` (null, or kind and message) and ``buffers``: [first byte, bytes] of each buffer that
  the launch changed.
* ``outputs/TARGET/MODULE.bin``: those buffers, little-endian, one behind the other.

The comment of the zip file is the seal: format, version, and the SHA-256 of ``head.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from lzma import LZMAError
from pathlib import Path
from typing import Any

import numpy as np

from parity.cache import digest
from parity.codeobject import CodeObject, kernel_from_dict, kernel_to_dict
from parity.errors import UsageError
from parity.launch import Buffer, Fault, Launch, Outcome, Pointer

__all__ = ["VERSION", "RecordedCase", "Recording", "launch_digest", "read_recording", "write_recording"]

FORMAT = "parity recording"
VERSION = 1
HEAD, CASES = "head.json", "cases.jsonl"
_EPOCH = (1980, 1, 1, 0, 0, 0)


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
        after = {
            name: np.frombuffer(self.buffers[name], buffer.dtype.numpy) if name in self.buffers else buffer.data
            for name, buffer in before.items()
        }
        return Outcome(after, self.fault)


@dataclass(frozen=True)
class Recording:
    """A recording as read back: its head, and its cases in the order in which they were drawn."""

    head: Mapping[str, Any]
    cases: tuple[RecordedCase, ...]

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
            kernels = {k["name"]: kernel_from_dict(k) for k in data["kernels"]}
            found[module, target] = CodeObject(module, target, "", kernels, data["digest"])
        return found


def launch_digest(launch: Launch, buffers: Mapping[str, Buffer]) -> str:
    """SHA-256 of everything a kernel is given: its name, geometry, arguments, and the content of the buffers."""
    geometry = (launch.kernel, *map(str, (launch.grid, launch.block, launch.shared_bytes)))
    args = [str(a) if isinstance(a, Pointer) else f"{a.dtype} {a.bytes.hex()}" for a in launch.args]
    contents = [part for name, b in buffers.items() for part in (name, str(b.dtype), b.data.tobytes())]
    return digest(*geometry, str(len(args)), *args, *contents)


def write_recording(
    path: Path, head: Mapping[str, Any], code: Iterable[CodeObject], cases: Iterable[RecordedCase]
) -> None:
    """Write a recording; ``head`` says where the values are from, the rest of it is added here.

    The file appears when it is complete: a recording that is ended before leaves nothing behind.

    Raises:
        UsageError: the file cannot be written.
    """
    outputs: dict[str, bytearray] = {}
    lines = []
    for case in cases:
        stored = outputs.setdefault(_output(case.target, case.module), bytearray())
        places = {}
        for name, data in case.buffers.items():
            places[name] = len(stored), len(data)
            stored += data
        lines.append(json.dumps({**asdict(case), "buffers": places}, ensure_ascii=False))
    members = {CASES: "".join(f"{line}\n" for line in lines).encode(), **{n: bytes(d) for n, d in outputs.items()}}
    whole = {
        "format": FORMAT,
        "version": VERSION,
        **head,
        "modules": {
            f"{c.module} {c.target}": {"digest": c.digest, "kernels": [kernel_to_dict(k) for k in c.kernels.values()]}
            for c in code
        },
        "members": {name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    }
    text = json.dumps(whole, ensure_ascii=False, indent=1).encode()
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(scratch, "w") as file:
            for name, data in {HEAD: text, **members}.items():
                file.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_LZMA)
            file.comment = _seal(text, VERSION)
        scratch.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another file with -o") from error
    finally:
        scratch.unlink(missing_ok=True)


def read_recording(path: Path) -> Recording:
    """The recording in a file, every byte of it checked.

    Raises:
        UsageError: the file cannot be read, is no recording, has another version, is cut off or was altered.
    """
    try:
        with zipfile.ZipFile(path) as file:
            return _read(path, file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, NotImplementedError) as error:
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
    text = file.read(HEAD)
    if file.comment != _seal(text, VERSION):
        raise UsageError(f"{path} was altered: its {HEAD} does not fit its seal; copy or record it again")
    head = json.loads(text)
    if sorted(file.namelist()) != sorted([HEAD, *head["members"]]):
        raise UsageError(f"{path} was altered: it does not have the members that its head names")
    members = {name: file.read(name) for name in head["members"]}
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != head["members"][name]:
            raise UsageError(f"{path} was altered: {name} does not fit its checksum; copy or record it again")
    return Recording(head, tuple(_case(json.loads(line), members) for line in members[CASES].splitlines()))


def _case(line: dict[str, Any], members: Mapping[str, bytes]) -> RecordedCase:
    stored = members[_output(line["target"], line["module"])]
    buffers = {name: stored[start : start + size] for name, (start, size) in line["buffers"].items()}
    fault = Fault(**line["fault"]) if line["fault"] else None
    return RecordedCase(**{**line, "buffers": buffers, "fault": fault})


def _output(target: str, module: str) -> str:
    return f"outputs/{target}/{module}.bin"


def _seal(head: bytes, version: int) -> bytes:
    return f"{FORMAT}, version {version}, SHA-256 of {HEAD} {hashlib.sha256(head).hexdigest()}".encode()
