"""Loads runs that ended earlier from output folders, archives and recordings, to show and compare them."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from parity.application.measuring import first_valid, recorded_measurements
from parity.application.run import Run
from parity.application.stored_results import RECORD
from parity.compare.verdict import Status, Verdict
from parity.engine.bench import Measurement
from parity.engine.bench_baseline import parse_baseline
from parity.engine.case_records import COMPILE_ERROR, CaseRecord, Provenance
from parity.engine.record_file import Record, parse_record
from parity.errors import UsageError
from parity.footprint.measure import Footprint
from parity.platform.archives import reading
from parity.platform.files import read_content
from parity.platform.serialization import read_json
from parity.report.document import (
    WITHOUT_CASES,
    CellEntry,
    KernelEntry,
    MatrixFile,
    document,
    empty_cell,
    read_matrix,
    with_totals,
)
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction
from parity.report.html.content import PageInput
from parity.report.matrix import matrix_from_records
from parity.runners.recording_file import MEASUREMENTS, Environment

MATRIX = "matrix.json"
"""The file in a results folder with the matrix. A run that was killed has none."""

FOOTPRINTS = "static.json"
"""The file that ``parity footprint --output`` writes. It is shown with a run in the same folder."""


@dataclass(frozen=True)
class _Footprints:
    kernels: tuple[Footprint, ...] = ()


@dataclass(frozen=True)
class LoadedRun:
    """A run as read from its files. ``name`` is the path, and ``date`` the time of writing (ISO 8601)."""

    name: str
    matrix: MatrixFile
    records: tuple[CaseRecord, ...]
    environment: Environment
    date: str = ""
    footprints: tuple[Footprint, ...] = ()
    measurements: tuple[Measurement, ...] = ()

    @classmethod
    def read(cls, path: str | Path) -> LoadedRun:
        """Load a run from an output folder of ``parity run``, its record, a ZIP file of the folder, or a recording.

        A recording is judged now.

        Raises:
            UsageError: The path is not one of these, or a file is invalid.
        """
        place = Path(path)
        if not place.exists():
            raise UsageError(
                f"there is no {place}; name an output folder of parity run, a ZIP file of one, or a recording"
            )
        if place.is_file() and zipfile.is_zipfile(place):
            return _read_archive(place)
        folder = place if place.is_dir() else place.parent
        record = place / RECORD if place.is_dir() else place
        if not record.exists():
            raise UsageError(f"{place} has no {RECORD}: it is not an output folder of parity run")
        names = (MATRIX, MEASUREMENTS, FOOTPRINTS) if place.is_dir() else ()
        files = {name: read_content(folder / name) for name in names if (folder / name).is_file()}
        return _from_files(str(place), {RECORD: read_content(record), **files}, written_at(record))

    @classmethod
    def joined(cls, runs: Sequence[LoadedRun]) -> LoadedRun:
        """Combine runs, with the columns of all. If two runs have a kernel in the same column, the later one that ran
        it counts.
        """
        first, *others = runs
        for other in others:
            first = _joined(first, other)
        return first

    @property
    def failed(self) -> list[CaseRecord]:
        """The cases that failed, and a record without a case for every kernel that did not compile or is missing."""
        return [record for record in (*_uncompiled(self.matrix), *self.records) if record.failed]

    def shown(
        self, reproduction: Reproduction, sources: SourceFolders, more: Mapping[str, object] | None = None
    ) -> PageInput:
        """Return the run as data for its HTML page."""
        records, also = [*_uncompiled(self.matrix), *self.records], (self.footprints, self.measurements, more or {})
        return PageInput(self.matrix, records, reproduction, sources, self.date, *also)


def written_at(path: Path) -> str:
    """Return the time of the last change to a file (ISO 8601). For a record, this is the end of its run."""
    return datetime.datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(timespec="seconds")


def _read_archive(path: Path) -> LoadedRun:
    with reading(path, "a ZIP file of a run or a recording", "copy it again") as archive:
        names = [name for name in archive.namelist() if Path(name).name == RECORD]
        folder = names[0].removesuffix(RECORD) if names else ""
        wanted = {name: f"{folder}{name}" for name in (RECORD, MATRIX, MEASUREMENTS, FOOTPRINTS)}
        files = {name: archive.read(full) for name, full in wanted.items() if full in archive.namelist()}
        times = [datetime.datetime(*archive.getinfo(name).date_time).astimezone() for name in names]
    if not names:
        return _judge_recording(path)
    if len(names) > 1:
        raise UsageError(f"{path} has several runs ({', '.join(names)}); unpack it, and name a folder")
    return _from_files(str(path), files, times[0].isoformat(timespec="seconds"))


def _judge_recording(path: Path) -> LoadedRun:
    results = Run.of(runners=[f"recorded={path}"]).build().execute()
    measured, _ = recorded_measurements(results.run)
    matrix = replace(results, measured=first_valid(measured)).matrix
    head = next(iter(results.run.columns.recordings.values())).head
    run = LoadedRun(str(path), document(matrix), tuple(results.records), head["environment"])
    return replace(run, measurements=tuple(each for _, each in measured))


def _from_files(name: str, files: Mapping[str, bytes], date: str) -> LoadedRun:
    record = parse_record(files[RECORD], name if Path(name).is_file() else f"{name}: {RECORD}")
    matrix = read_matrix(files[MATRIX], f"{name}: {MATRIX}") if MATRIX in files else _without_matrix(record)
    run = LoadedRun(name, matrix, record.records, record.environment, date)
    if FOOTPRINTS in files:
        run = replace(run, footprints=read_json(files[FOOTPRINTS], _Footprints, f"{name}: {FOOTPRINTS}").kernels)
    if MEASUREMENTS in files:
        measured = parse_baseline(files[MEASUREMENTS], f"{name}: {MEASUREMENTS}").measurements
        run = replace(run, measurements=tuple(measured.values()))
    return run


def _joined(one: LoadedRun, other: LoadedRun) -> LoadedRun:
    columns = list(one.matrix.columns)
    names = [(each.runner, each.target) for each in columns]
    columns += [each for each in other.matrix.columns if (each.runner, each.target) not in names]
    cells: dict[tuple[str, str, str], dict[tuple[str, str], CellEntry]] = {}
    kernels: dict[tuple[str, str, str], KernelEntry] = {}
    replaced: set[tuple[str, str, str, str]] = set()
    for run in (one, other):
        for kernel in run.matrix.kernels:
            key = (kernel.module, kernel.op, kernel.kernel)
            kernels.setdefault(key, kernel)
            mine = cells.setdefault(key, {})
            for column, cell in zip(run.matrix.columns, kernel.cells, strict=True):
                place = (column.runner, column.target)
                if run is other and place in mine and cell.state not in WITHOUT_CASES:
                    replaced.add((kernel.op, kernel.kernel, *place))
                if place not in mine or cell.state not in WITHOUT_CASES:
                    mine[place] = cell
    entries = (
        replace(kernel, cells=tuple(cells[key].get((c.runner, c.target)) or empty_cell(c) for c in columns))
        for key, kernel in kernels.items()
    )
    kept = (r for r in one.records if (r.op, r.kernel, r.runner, r.target) not in replaced)
    matrix = replace(
        one.matrix,
        complete=one.matrix.complete and other.matrix.complete,
        seconds=one.matrix.seconds + other.matrix.seconds,
        known_issues=tuple(dict.fromkeys((*one.matrix.known_issues, *other.matrix.known_issues))),
        columns=tuple(columns),
        compilers={**one.matrix.compilers, **other.matrix.compilers},
        compile_errors=tuple(dict.fromkeys((*one.matrix.compile_errors, *other.matrix.compile_errors))),
        against={**one.matrix.against, **other.matrix.against},
        kernels=tuple(entries),
        problems=tuple(dict.fromkeys((*one.matrix.problems, *other.matrix.problems))),
    )
    return replace(
        one,
        name=f"{one.name} {other.name}",
        matrix=with_totals(matrix),
        records=(*kept, *other.records),
        date=max(one.date, other.date),
        footprints=tuple({(f.kernel, f.target): f for f in (*one.footprints, *other.footprints)}.values()),
        measurements=(*one.measurements, *other.measurements),
    )


def _without_matrix(record: Record) -> MatrixFile:
    """Compute the matrix of a record whose matrix is not known: the run was killed before it wrote one."""
    columns = list(dict.fromkeys(each.where for each in record.records))
    environment = record.environment
    seed, examples = environment.get("seed", 0), environment.get("examples", 0)
    provenance = Provenance(0.0, seed, examples, record.complete, environment.get("compilers", {}))
    return document(matrix_from_records(record.records, columns, provenance))


def _uncompiled(matrix: MatrixFile) -> Iterable[CaseRecord]:
    """Yield a record without a case for every kernel that did not compile or is missing."""
    messages = {(error.module, error.target): error.message for error in matrix.compile_errors}
    for kernel in matrix.kernels:
        for column, cell in zip(matrix.columns, kernel.cells, strict=True):
            message = messages.get((kernel.module, column.target), "")
            failed = Verdict(Status.ERROR, COMPILE_ERROR, detail=message)
            missing = Verdict(Status.MISSING, str(Status.MISSING))
            if verdict := {"compile error": failed, "missing kernel": missing}.get(cell.state):
                names = ("", kernel.op, kernel.kernel, kernel.module, column.runner, column.target, column.evidence)
                yield CaseRecord(*names, verdict)
