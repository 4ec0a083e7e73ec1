"""Writes and reads ``record.jsonl``, which has one line per case and is written while the run progresses.

The first field of each line is a checksum of its content and of all lines before it. It shows edits and damage, so that
``--resume`` does not continue from a changed verdict. Whoever wants to forge a record can compute it, too.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import BinaryIO

from parity.compare.verdict import Status, Verdict
from parity.compilers.headers import EXTRACTED
from parity.engine.case_records import COMPILE_ERROR, CaseRecord, Column
from parity.engine.journal import CHECKED, checksum
from parity.engine.plan import Plan
from parity.engine.shards import Share
from parity.errors import UsageError
from parity.op import Entry
from parity.platform.files import CUDA_SUFFIXES, HEADERS, find_below, naming_write_errors, read_content
from parity.platform.serialization import Malformed, json_text, read_json
from parity.platform.version import __version__
from parity.runners import device_description, runner
from parity.runners.recording_file import Environment
from parity.suite.corpus import SUFFIX

COMPILED = (*HEADERS, *CUDA_SUFFIXES, ".hip")
"""The ends of the names of the sources that decide what a compiler compiles."""
PACKAGES = ("numpy", "hypothesis", "ml_dtypes", "gmpy2", "ziglang", "quadrants")


@dataclass(frozen=True)
class Record:
    """A record as read from its file. ``complete`` is False if the run ended early."""

    environment: Environment
    records: tuple[CaseRecord, ...]
    complete: bool = True


@dataclass(frozen=True)
class RecordHead:
    """The first line of a record."""

    environment: Environment


@dataclass(frozen=True)
class RecordEnd:
    """The last line of a record, which a run that ended early lacks."""

    complete: bool


def environment(
    plan: Plan,
    arguments: Iterable[str] = (),
    share: Share | None = None,
    describe: Callable[[str], dict[str, str]] = lambda spec: device_description(runner(spec)),
) -> Environment:
    """Return versions and digests of everything that decides the outcome of a run.

    ``share`` describes the shard, if the run is one. ``describe`` returns facts about the device of a runner spec.
    """
    hardware = dict.fromkeys(column.spec for column in plan.columns if column.on_device)
    found: Environment = {
        "arguments": list(arguments),
        "versions": {
            "parity": __version__,
            "python": platform.python_version(),
            **dict.fromkeys(PACKAGES, "missing"),
            **package_versions(),
        },
        "machine": f"{platform.system()} {platform.machine()}",
        "runners": list(dict.fromkeys(column.spec for column in plan.columns)),
        "devices": {spec: describe(spec) for spec in hardware},
        "columns": [column.known_as for column in plan.columns],
        "examples": plan.examples,
        "seed": plan.seed,
        "checked": plan.checked,
        "compilers": plan.made_by,
        "sources": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in _sources(plan)},
        "code objects": {f"{module} {column}": code.digest for (module, column), code in plan.code.items()},
        "entries": [f"{task.op}[{','.join(task.dtypes)}]" for task in plan.tasks],
    }
    if share:
        found["part"] = share.part
    return found


def _sources(plan: Plan) -> Iterator[tuple[str, Path]]:
    """Yield the sources and headers of kernels and of the port by their paths from the folder of kernels, and
    everything that decides the cases by the paths from the folder of cases. Headers can lie in other folders.
    """
    found = {path for path in plan.compiled if path.name.endswith(COMPILED)}
    for folder in filter(None, (plan.kernels, plan.sides.ported)):
        found.update(find_below(folder, *COMPILED))
    for path in sorted(found):
        yield Path(os.path.relpath(path, plan.kernels)).as_posix(), path
    declaring = {path for path in plan.cases.glob("*") if path.suffix in (".py", SUFFIX) and path.is_file()}
    for path in sorted(
        declaring.union(path for path in plan.imported if path.is_file() and not path.name.endswith(COMPILED))
    ):
        yield Path(os.path.relpath(path, plan.cases)).as_posix(), path


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that decide outcomes: installed, or of which parity extracts a part."""
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return {**EXTRACTED, **found}


def records_without_code(
    entries: Iterable[Entry],
    columns: Sequence[Column],
    errors: Mapping[tuple[str, str], str],
    missing: Mapping[str, Path] | None = None,
) -> list[CaseRecord]:
    """Return a record without a case for every kernel that has no code on a column.

    ``errors`` maps (module, target) to the compiler's message, and ``missing`` maps modules to files that do not exist.
    """
    missing = missing or {}

    def verdict(entry: Entry, column: Column) -> Verdict | None:
        module = entry.op.module
        if not column.built or entry.op.library:
            return None
        if module in missing:
            return Verdict(Status.MISSING, str(Status.MISSING), detail=f"there is no {missing[module]}")
        error = errors.get((module, column.target))
        return None if error is None else Verdict(Status.ERROR, COMPILE_ERROR, detail=error)

    return [CaseRecord.of(e, c, "", found) for e in entries for c in columns if (found := verdict(e, c))]


class RecordWriter:
    """Writes a record line by line, so that a run that ends early keeps its results."""

    def __init__(self, path: Path, environment: Environment, kept: Iterable[CaseRecord] = ()) -> None:
        """Start the file with the environment and the records in ``kept``. Replaces an earlier record atomically.

        Raises:
            UsageError: The file is not writable.
        """
        self.path = path
        self._before = b""
        start = path.with_name(f"{path.name}.start")
        with naming_write_errors(path, "choose another folder with --output"):
            path.parent.mkdir(parents=True, exist_ok=True)
            start.write_bytes(b"".join(map(self._sealed, (RecordHead(environment), *kept))))
            start.replace(path)  # atomic, so the kept records survive a kill at any time
            self._file: BinaryIO = path.open("ab")

    def add(self, line: CaseRecord | RecordEnd) -> None:
        self._file.write(self._sealed(line))
        self._file.flush()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.add(RecordEnd(True))
        self._file.close()

    def _sealed(self, line: object) -> bytes:
        text = json_text(line)
        self._before = checksum(text, self._before)
        return self._before + text[1:] + b"\n"


def read_record(path: Path) -> Record:
    """Read a record from a file. A truncated last line is dropped.

    Raises:
        UsageError: The file is not a record, or a line is invalid.
    """
    return parse_record(read_content(path), str(path))


def parse_record(text: bytes, source: str) -> Record:
    """Parse a record. ``source`` names the text in messages. A truncated last line is dropped.

    Raises:
        UsageError: The text is not a record, or a line is invalid.
    """
    lines = text.splitlines() or [b""]
    try:
        start = read_json(lines[0], RecordHead, "line 1")
    except UsageError as error:
        raise UsageError(f"{source} is not a record of parity: {error}") from error
    cases: list[CaseRecord] = []
    before = b""
    for number, line in enumerate(lines, 1):
        where, content = f"{source}, line {number}", b"{" + line[CHECKED:]
        try:
            end = content.startswith(b'{"complete"') and read_json(line, RecordEnd, where)
            case = None if end or number == 1 else read_json(line, CaseRecord, where)
        except Malformed:
            if number == len(lines):
                break
            raise
        before = checksum(content, before)
        if line[:CHECKED] != before:
            raise UsageError(f"{where} does not match its checksum: the record was edited or damaged; run again")
        if end and number < len(lines):
            raise UsageError(f"{where} is the end of a record, but lines follow: it was edited or damaged; run again")
        if end:
            return Record(start.environment, tuple(cases), end.complete)
        cases += [case] if case else []
    return Record(start.environment, tuple(cases), complete=False)
