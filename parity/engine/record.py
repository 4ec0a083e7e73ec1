"""Records: the stored outcome of a run, one JSON line per case, written as results arrive."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import parity
from parity.compare import Finding, Mismatch, Status, Verdict
from parity.engine.known import COMPILE_ERROR
from parity.engine.plan import Column, Plan
from parity.errors import UsageError, unwritable
from parity.files import below, text_of
from parity.op import Entry
from parity.runners import Evidence, described, runner
from parity.runners.base import DEVICES

__all__ = [
    "Against",
    "CaseRecord",
    "Record",
    "RecordWriter",
    "as_line",
    "environment",
    "from_line",
    "read_record",
    "without_code",
]

PACKAGES = ("numpy", "hypothesis", "ml_dtypes", "gmpy2", "ziglang", "quadrants")


@dataclass(frozen=True)
class Against:
    """How a column compares with the other vendor's ``column`` in one case: ``compare.Comparison``, as stored.

    ``value`` is what the other column has at the first wrong element, ``budget`` the largest share of its own budget
    that it used (infinite if it failed).
    """

    column: str
    finding: Finding
    elements: int = 0
    total: int = 0
    ulps: float = 0.0
    divergences: tuple[str, ...] = ()
    zeros: int = 0
    share: float = 0.0
    value: str = ""
    budget: float = 0.0


@dataclass(frozen=True)
class CaseRecord:
    """One case on one runner and target.

    ``title`` is set for named cases, ``divergence`` to the id of the known divergence that one is about (those that it
    met are the verdict's). ``inputs`` are the input values of the first wrong element, by tensor. ``minimal``
    is the simplest case with the same failure. ``against`` compares an AMD column with a CUDA column that ran the same
    case, and a CUDA column that fails with an AMD column. ``known`` is the place of the known issue that it is.
    ``printed`` is what the kernel printed, or the beginning of it.
    """

    case: str
    op: str
    kernel: str
    module: str
    runner: str
    target: str
    evidence: str
    verdict: Verdict
    title: str = ""
    divergence: str = ""
    launch: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    instructions: int | None = None
    minimal: CaseRecord | None = None
    against: Against | None = None
    known: str = ""
    printed: str = ""

    @property
    def failed(self) -> bool:
        """Whether it was executed and failed, in a way that is not known."""
        return self.verdict.failed and not self.known

    @property
    def column(self) -> str:
        """The column of the matrix, as that calls it."""
        return str(Column(self.runner, self.target, self.evidence))


@dataclass(frozen=True)
class Record:
    """A run as read back: its environment, its cases, and whether it came to its end."""

    environment: Mapping[str, Any]
    cases: tuple[CaseRecord, ...]
    complete: bool = True


def environment(plan: Plan, arguments: Iterable[str] = ()) -> dict[str, Any]:
    """Versions and digests of everything that decides the outcome of a run."""
    versions = {"parity": parity.__version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "missing"
    hardware = dict.fromkeys(column.spec for column in plan.columns if column.evidence in DEVICES)
    return {
        "arguments": list(arguments),
        "versions": versions,
        "machine": f"{platform.system()} {platform.machine()}",
        "runners": list(dict.fromkeys(column.spec for column in plan.columns)),
        "devices": {spec: described(runner(spec)) for spec in hardware},
        "columns": [column.known_as for column in plan.columns],
        "examples": plan.examples,
        "seed": plan.seed,
        "checked": plan.checked,
        "compilers": plan.made_by,
        "sources": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for folder, pattern in ((plan.kernels, "*.cu*"), (plan.cases, "*.py"))
            for path in sorted(below(folder, ""))
            if path.match(pattern) and (folder == plan.kernels or path.parent == folder)
        },
        "code objects": {f"{module} {column}": code.digest for (module, column), code in plan.code.items()},
        "entries": [f"{task.op}[{','.join(task.dtypes)}]" for task in plan.tasks],
    }


def without_code(
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
        if column.evidence == Evidence.RECORDED or column.op_level or entry.op.library:
            return None
        if module in missing:
            return Verdict(Status.MISSING, str(Status.MISSING), detail=f"there is no {missing[module]}")
        error = errors.get((module, column.target))
        return None if error is None else Verdict(Status.ERROR, COMPILE_ERROR, detail=error)

    return [
        CaseRecord("", e.op.name, e.kernel, e.op.module, c.runner, c.target, c.evidence, found)
        for e in entries
        for c in columns
        if (found := verdict(e, c))
    ]


class RecordWriter:
    """Writes a record line by line, so that a run that ends early leaves all it found."""

    def __init__(self, path: Path, environment: Mapping[str, Any]) -> None:
        """Start the file with the environment.

        Raises:
            UsageError: the file cannot be written.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = path.open("w", encoding="utf-8")
        except OSError as error:
            raise unwritable(path, error, "choose another folder with --output") from error
        self._write({"environment": environment})

    def add(self, record: CaseRecord) -> None:
        self._write(asdict(record))

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write({"complete": True})
        self._file.close()

    def _write(self, line: object) -> None:
        self._file.write(_line(line) + "\n")
        self._file.flush()


def as_line(record: CaseRecord) -> str:
    """A record as one line of JSON."""
    return _line(asdict(record))


def from_line(line: str) -> CaseRecord:
    """The record that ``as_line`` wrote."""
    return _case(json.loads(line))


def _line(value: object) -> str:
    return json.dumps(_strict(value), ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    """The value with null for infinity, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: _strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(each) for each in value]
    return None if value == math.inf else value


def read_record(path: Path) -> Record:
    """The record in a file; a cut-off last line is dropped.

    Raises:
        UsageError: the file is not a record.
    """
    lines = list(_lines(path))
    if not lines or "environment" not in lines[0]:
        raise UsageError(f"{path} is not a record of parity")
    cases = tuple(_case(line) for line in lines[1:] if "case" in line)
    return Record(lines[0]["environment"], cases, any("complete" in line for line in lines))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    text = text_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            if number < len(text.splitlines()):
                raise UsageError(f"{path}, line {number}: not a line of a record") from None


def _case(line: dict[str, Any]) -> CaseRecord:
    verdict, against = dict(line.pop("verdict")), line.pop("against", None)
    first = verdict.pop("first")
    for distances in (verdict, first or {}, against or {}):
        distances.update({name: math.inf for name in ("budget", "budgets", "ulps") if distances.get(name, 0) is None})
    verdict["status"] = Status(verdict["status"])
    for names in ("divergences", "kinds", "vacuous"):
        verdict[names] = tuple(verdict.get(names, ()))
    mismatch = Mismatch(**{**first, "coordinates": tuple(first["coordinates"])}) if first else None
    if against:
        against.update(finding=Finding(against["finding"]), divergences=tuple(against["divergences"]))
    minimal = line.pop("minimal")
    return CaseRecord(
        **line,
        verdict=Verdict(**verdict, first=mismatch),
        minimal=_case(minimal) if minimal else None,
        against=Against(**against) if against else None,
    )
