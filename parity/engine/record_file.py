"""Records: the stored outcome of a run, one JSON line per case, written as results arrive."""

from __future__ import annotations

import contextlib
import hashlib
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from parity.compare import Status, Verdict
from parity.engine.case_records import COMPILE_ERROR, CaseRecord, Column
from parity.engine.plan import Plan
from parity.engine.shards import Share
from parity.errors import UsageError
from parity.op import Entry
from parity.platform.files import find_below, naming_write_errors, read_content
from parity.platform.serialization import Malformed, json_text, read_json
from parity.platform.version import __version__
from parity.runners import device_description, runner
from parity.runners.recording_file import Environment
from parity.suite.corpus import SUFFIX

__all__ = [
    "Record",
    "RecordWriter",
    "as_line",
    "environment",
    "from_line",
    "package_versions",
    "parse_record",
    "read_record",
    "records_without_code",
]

PACKAGES = ("numpy", "hypothesis", "ml_dtypes", "gmpy2", "ziglang", "quadrants")


@dataclass(frozen=True)
class Record:
    """A run as read back: its environment, the records of its cases, and whether it came to its end."""

    environment: Environment
    records: tuple[CaseRecord, ...]
    complete: bool = True


@dataclass(frozen=True)
class RecordHead:
    """The first line of a record."""

    environment: Environment


@dataclass(frozen=True)
class RecordEnd:
    """The last line of a record, unless the run was ended before."""

    complete: bool


def environment(
    plan: Plan,
    arguments: Iterable[str] = (),
    share: Share | None = None,
    describe: Callable[[str], dict[str, str]] = lambda spec: device_description(runner(spec)),
) -> Environment:
    """Versions and digests of everything that decides the outcome of a run.

    ``share`` is that of one of its shards; ``describe`` gives the facts that a runner states about its device.
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
        "sources": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for folder, pattern in ((plan.kernels, "*.cu*"), (plan.cases, "*.py"), (plan.cases, f"*{SUFFIX}"))
            for path in sorted(find_below(folder, ""))
            if path.match(pattern) and (folder == plan.kernels or path.parent == folder)
        },
        "code objects": {f"{module} {column}": code.digest for (module, column), code in plan.code.items()},
        "entries": [f"{task.op}[{','.join(task.dtypes)}]" for task in plan.tasks],
    }
    if share:
        found["part"] = share.part
    return found


def package_versions() -> dict[str, str]:
    """The versions of the packages that decide outcomes, of those that are installed."""
    found = {}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def records_without_code(
    entries: Iterable[Entry],
    columns: Sequence[Column],
    errors: Mapping[tuple[str, str], str],
    missing: Mapping[str, Path] | None = None,
) -> list[CaseRecord]:
    """A record without a case for every kernel that has no code on a column.

    ``errors`` are what the compiler said, by module and target; ``missing`` the files of modules that are not there.
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
    """Writes a record line by line, so that a run that ends early leaves all it found."""

    def __init__(self, path: Path, environment: Environment, kept: Iterable[CaseRecord] = ()) -> None:
        """Start the file with the environment and what is ``kept`` of a record of before, which may be in its place.

        Raises:
            UsageError: the file cannot be written.
        """
        self.path = path
        start = path.with_name(f"{path.name}.start")
        with naming_write_errors(path, "choose another folder with --output"):
            path.parent.mkdir(parents=True, exist_ok=True)
            start.write_bytes(b"".join(json_text(line) + b"\n" for line in (RecordHead(environment), *kept)))
            start.replace(path)  # at once: what was kept is in one of the two, whenever this ends
            self._file: BinaryIO = path.open("ab")

    def add(self, record: CaseRecord) -> None:
        self._write(record)

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write(RecordEnd(True))
        self._file.close()

    def _write(self, line: CaseRecord | RecordEnd) -> None:
        self._file.write(json_text(line) + b"\n")
        self._file.flush()


def as_line(record: CaseRecord) -> str:
    """A record as one line of JSON."""
    return json_text(record).decode()


def from_line(line: str) -> CaseRecord:
    """The record that ``as_line`` wrote."""
    return read_json(line, CaseRecord, "a line of a record")


def read_record(path: Path) -> Record:
    """The record in a file; a cut-off last line is dropped.

    Raises:
        UsageError: the file is not a record, or a line of it is not what it should be.
    """
    return parse_record(read_content(path), str(path))


def parse_record(text: bytes, source: str) -> Record:
    """The record in a text, whose name in messages is ``source``; a cut-off last line is dropped.

    Raises:
        UsageError: the text is not a record, or a line of it is not what it should be.
    """
    first, *lines = text.splitlines() or [b""]
    try:
        start = read_json(first, RecordHead, "line 1")
    except UsageError as error:
        raise UsageError(f"{source} is not a record of parity: {error}") from error
    cases: list[CaseRecord] = []
    for number, line in enumerate(lines, 2):
        where = f"{source}, line {number}"
        try:
            if line.startswith(b'{"complete"'):
                return Record(start.environment, tuple(cases), read_json(line, RecordEnd, where).complete)
            cases.append(read_json(line, CaseRecord, where))
        except Malformed:
            if number <= len(lines):
                raise
    return Record(start.environment, tuple(cases), complete=False)
