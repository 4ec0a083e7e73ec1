"""Merges the results or recordings of the shards of a run."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from parity.application.columns import changed_sources
from parity.application.run import Results
from parity.application.stored_results import RECORD, CaseQueries
from parity.engine.bench import Measurement
from parity.engine.bench_baseline import parse_baseline
from parity.engine.case_records import CaseRecord, Column, Provenance
from parity.engine.journal import describe_differences
from parity.engine.known_issues import KnownIssues, load_known_issues
from parity.engine.record_file import RecordWriter, read_record
from parity.engine.shards import Shard
from parity.errors import UsageError, first_names
from parity.op import Entry
from parity.platform.files import naming_write_errors, read_content
from parity.platform.serialization import checked, json_text, plain, read_json
from parity.report.document import MatrixFile
from parity.report.failures import Reproduction
from parity.report.matrix import make_matrix
from parity.report.model import Matrix
from parity.runners import recording_file
from parity.suite.loading import Suite

PART = "shard.json"
"""The file with the results of a shard that are not in its record."""

PER_CASE = 25_000
"""Fixed cost of a case, in wavefront instructions that the emulator executes in the same time.

Fitted to unary.neg, reduce.softmax, sort and conv, whose cases take 13 to 27 ms of processor time.
"""

SAME = ("versions", "machine", "seed", "examples", "checked", "sources")
"""The parts of an environment that all shards have in common. The other parts describe what one shard used."""

T = TypeVar("T")


@dataclass(frozen=True)
class _ShardFile:
    """The file that a shard writes in addition to its record.

    ``record`` is the SHA-256 of the record. ``columns`` are the columns of the matrix. ``without`` are the records of
    kernels without cases. ``drawn`` are the kernels for which every case was drawn. ``measured`` are the measurements
    with their columns. ``made_by`` is as in ``Provenance``. ``problems`` describe runners that did not work.
    """

    record: str
    columns: tuple[Column, ...]
    without: tuple[CaseRecord, ...]
    drawn: tuple[str, ...]
    measured: tuple[tuple[Column, Measurement], ...]
    made_by: dict[str, str]
    problems: tuple[str, ...]
    seconds: float
    reproduction: Reproduction


@dataclass(frozen=True)
class _Shard:
    environment: recording_file.Environment
    records: tuple[CaseRecord, ...]
    part: _ShardFile


@dataclass(frozen=True)
class Merged(CaseQueries):
    """The results of all shards of a run. ``problems`` describe requested runners that did not work."""

    suite: Suite
    environment: recording_file.Environment
    records: Sequence[CaseRecord]
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    reproduction: Reproduction
    problems: tuple[str, ...]
    _parts: Sequence[_ShardFile]

    @functools.cached_property
    def known(self) -> KnownIssues:
        return load_known_issues(self.suite, self.columns)

    @functools.cached_property
    def matrix(self) -> Matrix:
        """The matrix. Its time is the total of all shards."""
        parts, head = self._parts, self.environment
        records = [*self.records, *(record for part in parts for record in part.without)]
        seconds, made_by = sum(part.seconds for part in parts), _texts(part.made_by for part in parts)
        provenance = Provenance(seconds, head["seed"], head["examples"], True, made_by)
        issues = self.known.review(records, {kernel for part in parts for kernel in part.drawn})
        matrix = make_matrix(self.entries, self.columns, records, issues=issues, provenance=provenance)
        measured = {(each.kernel, column): each for part in parts for column, each in part.measured}
        problems = (*self.problems, *self.suite.problems, *self.known.mistakes)
        return replace(matrix.with_measurements(measured), problems=problems)

    def write_record(self, path: Path) -> None:
        """Write the merged record.

        Raises:
            UsageError: The file is not writable.
        """
        with RecordWriter(path, self.environment) as writer:
            for record in self.records:
                writer.add(record)


def write_shard_file(folder: Path, results: Results, reproduction: Reproduction) -> None:
    """Write the file that ``merge`` needs in addition to the record; for a run that is not a shard, remove it.

    Raises:
        UsageError, ResourceExhausted: The file is not writable.
    """
    path = folder / PART
    with naming_write_errors(path, "choose another folder with --output"):
        if results.run.share is None:
            path.unlink(missing_ok=True)
            return
        run = results.run
        part = _ShardFile(
            hashlib.sha256((folder / RECORD).read_bytes()).hexdigest(),
            run.columns.every,
            tuple(results.without_cases),
            tuple(sorted(run.drawn(results.plan))),
            tuple((column, measured) for (_, column), measured in results.measured.items()),
            results.plan.made_by,
            run.columns.problems,
            results.seconds,
            reproduction,
        )
        path.write_bytes(json_text(part, indent=1) + b"\n")


def merge(folders: Sequence[Path], suite: Suite) -> Merged:
    """Merge the results of all shards of a run from their folders, as if one machine had run everything.

    Raises:
        UsageError: A folder has no complete results of a shard, a shard is missing or duplicated, shards belong to
            different runs, or the suite differs from the suite of the shards.
    """
    shards = _in_order({folder: _read(folder) for folder in folders}, lambda each: each.environment)
    first = next(iter(shards.values()))
    heads = [each.environment for each in shards.values()]
    _agree(list(shards), [{"columns": plain(each.part.columns)} for each in shards.values()])
    head = _joined(heads)
    if names := list(changed_sources(head["sources"], suite)):
        raise UsageError(
            f"{', '.join(names)} changed since the shards ran; merge in a checkout of the same commit, with the same "
            "--kernels and --cases"
        )
    known = {entry.name: entry for entry in suite.entries}
    entries = tuple(known[name] for name in heads[0]["part"]["all"])
    order = {entry.kernel: i for i, entry in enumerate(entries)}
    for folder, each in shards.items():
        there = {record.kernel for record in (*each.records, *each.part.without)}
        if lacking := [name for name in each.environment["part"]["mine"] if known[name].kernel not in there]:
            raise UsageError(f"{folder} has no result of {first_names(lacking, 3, ', ')}; run this shard again")
    return Merged(
        suite,
        head,
        sorted((record for each in shards.values() for record in each.records), key=lambda one: order[one.kernel]),
        first.part.columns,
        entries,
        first.part.reproduction,
        first.part.problems,
        [each.part for each in shards.values()],
    )


def merge_recordings(files: Sequence[Path], output: Path) -> tuple[recording_file.RecordedCase, ...]:
    """Merge the recordings of all shards into one file, and return its cases.

    Raises:
        UsageError: As ``merge``; or a file is not a recording, or the output is not writable.
    """
    recordings = {file: recording_file.read_recording(file) for file in files}
    found = _in_order(recordings, lambda each: each.head["environment"])
    heads = [each.head for each in found.values()]
    _agree(list(found), [{key: head[key] for key in ("runner", "device")} for head in heads])
    whole = _joined([head["environment"] for head in heads])
    origin: recording_file.Origin = {key: heads[0][key] for key in recording_file.Origin.__annotations__}  # type: ignore[literal-required, assignment]
    attached = {}
    if all(recording_file.MEASUREMENTS in each.attached for each in found.values()):
        texts = {file: each.attached[recording_file.MEASUREMENTS] for file, each in found.items()}
        attached[recording_file.MEASUREMENTS] = _measurements(texts, whole)
    code = [object_ for each in found.values() for object_ in each.code().values()]
    cases = tuple(case for each in found.values() for case in each.cases)
    recording_file.write_recording(output, {**origin, "environment": whole}, code, cases, attached)
    return cases


def _measurements(texts: Mapping[Path, bytes], environment: recording_file.Environment) -> bytes:
    """Merge the measurements of shards. The device's limits come from the first shard."""
    for file, text in texts.items():
        parse_baseline(text, f"{recording_file.MEASUREMENTS} of {file}")
    read = [read_json(text, dict[str, Any], str(file)) for file, text in texts.items()]
    every = [one for each in read for one in each["measurements"]]
    return json_text({**read[0], "environment": environment, "measurements": every}, indent=1) + b"\n"


def _read(folder: Path) -> _Shard:
    record = read_record(folder / RECORD)
    environment = record.environment
    if "part" not in environment:
        raise UsageError(f"{folder} has the results of a whole run; merge takes results of parity run --shard")
    shard = environment["part"]["shard"]
    if not record.complete:
        raise UsageError(f"{folder}: shard {shard} did not finish; run it again")
    part = read_json(read_content(folder / PART), _ShardFile, str(folder / PART))
    if part.record != hashlib.sha256(read_content(folder / RECORD)).hexdigest():
        raise UsageError(f"{folder / PART} does not belong to the same run as {RECORD}; run shard {shard} again")
    return _Shard(environment, record.records, part)


def _in_order(found: Mapping[Path, T], environment: Callable[[T], recording_file.Environment]) -> dict[Path, T]:
    """Return the files in the order of their shards. Raises UsageError unless they are all shards of one run."""
    heads = {place: environment(each) for place, each in found.items()}
    for place, head in heads.items():
        if "part" not in head:
            raise UsageError(f"{place} is not the result of a shard; create one with --shard")
    shards = {place: Shard.of(head["part"]["shard"]) for place, head in heads.items()}
    places = sorted(found, key=lambda place: shards[place].index)
    first = places[0]
    count = shards[first].count
    of = [{"shards": shards[place].count, **{k: heads[place].get(k) for k in SAME}} for place in places]
    _agree(places, [{**each, "kernels": heads[place]["part"]["all"]} for place, each in zip(places, of, strict=True)])
    for one, other in itertools.combinations(places, 2):
        if shards[one] == shards[other]:
            raise UsageError(f"{one} and {other} are both shard {shards[one]}; leave one of them out")
        if both := set(heads[one]["part"]["mine"]) & set(heads[other]["part"]["mine"]):
            why = "they were cut with different costs; give every shard the same file with --costs"
            raise UsageError(f"{one} and {other} both have {min(both)}: {why}")
        codes = [head.get("code objects", {}) for head in (heads[one], heads[other])]
        if differ := [key for key in codes[0] if codes[1].get(key, codes[0][key]) != codes[0][key]]:
            raise UsageError(f"{one} and {other} are not shards of one run: they compiled {differ[0]} differently")
    there = {shard.index for shard in shards.values()}
    if missing := [f"{index}/{count}" for index in range(1, count + 1) if index not in there]:
        there_are = ", ".join(f"{shards[place]} in {place}" for place in places)
        raise UsageError(f"shard {' and '.join(missing)} missing: found only {there_are}")
    return {place: found[place] for place in places}


def _agree(places: Sequence[Path], settings: Sequence[Mapping[str, Any]]) -> None:
    """Require equal settings.

    Raises:
        UsageError: The settings differ.
    """
    for place, each in zip(places, settings, strict=True):
        if differences := describe_differences(settings[0], each, f"in {places[0]}", f"in {place}"):
            raise UsageError(f"{places[0]} and {place} are not shards of one run: they differ in {differences}")


def _joined(heads: Sequence[recording_file.Environment]) -> recording_file.Environment:
    whole: dict[str, Any] = {name: value for name, value in heads[0].items() if name not in ("part", "settings")}
    for name, value in whole.items():
        others: list[Any] = [head.get(name, type(value)()) for head in heads]
        if name in ("runners", "columns", "entries"):
            whole[name] = list(dict.fromkeys(one for each in others for one in each))
        elif name in ("devices", "code objects"):
            whole[name] = {key: one for each in others for key, one in each.items()}
        elif name == "compilers":
            whole[name] = _texts(others)
    return checked(whole, recording_file.Environment, "the environment of the shards")


def _texts(each: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge descriptions of the origin of each target's code."""
    found: dict[str, dict[str, None]] = {}
    for texts in each:
        for name, text in texts.items():
            found.setdefault(name, {}).update(dict.fromkeys(text.split("; ")))
    return {name: "; ".join(texts) for name, texts in found.items()}


def measured_costs(path: Path) -> dict[str, float]:
    """Return the costs of kernel entries by name from the ``matrix.json`` of an earlier run, based on instructions and
    cases.

    Raises:
        UsageError: The file is not a matrix.
    """
    found = read_json(read_content(path), MatrixFile, str(path), "name the matrix.json of an earlier run")
    return {
        f"{kernel.op}[{','.join(kernel.dtypes)}]": float(sum(c.instructions + PER_CASE * c.run for c in kernel.cells))
        for kernel in found.kernels
    }
