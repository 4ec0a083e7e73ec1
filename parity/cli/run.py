"""Run cases, compare every value with its reference, and print the matrix.

The record (one JSON line per case), the matrix (text, Markdown, JSON, CSV) and the failures are also written to the
output folder. Exit code: 0 all passed, 1 a failure, 2 wrong usage, 3 nothing was run, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from parity.cli.options import add_drawing, add_folders, add_jobs, add_json, add_selection, names, select
from parity.cli.terminal import errors, output, progress
from parity.compare import Status
from parity.engine import CaseRecord, Plan, RecordWriter, Task, environment, tasks_of
from parity.engine import run as execute
from parity.errors import NotAvailable
from parity.op import Entry
from parity.report import (
    Column,
    Matrix,
    Reproduction,
    as_dict,
    check_folder,
    failure_text,
    make_matrix,
    shown_failures,
    summary,
    terminal,
    write_reports,
)
from parity.runners import Evidence, Runner, available
from parity.runners.recorded import Recorded
from parity.runners.recording import Recording
from parity.suite import Selection, Suite
from parity.toolchain import DEFAULT_TARGETS, TARGETS, Built, build, target

__all__ = ["main", "options"]

DEFAULT_RUNNER = "emulated"
INTERRUPTED = 130


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument(
        "--target",
        type=names,
        action="extend",
        default=[],
        metavar="T,..",
        help=f"targets; those the runner cannot run are compiled only (default: {' '.join(DEFAULT_TARGETS)})",
    )
    parser.add_argument(
        "--runner",
        default=DEFAULT_RUNNER,
        metavar="NAME",
        help="what executes (default: %(default)s); recorded=FILE replays the cases that parity record stored there",
    )
    add_drawing(parser)
    add_jobs(parser)
    parser.add_argument("--full", action="store_true", help="print a line for every kernel")
    add_json(parser)
    parser.add_argument(
        "--no-check-memory", dest="checked", action="store_false", help="faster: do not check every memory access"
    )
    add_folders(parser)
    parser.add_argument("--output", type=Path, default=Path("parity-out"), metavar="DIR", help="default: %(default)s")


@dataclass(frozen=True)
class Work:
    """What a run is about."""

    suite: Suite
    selection: Selection
    entries: tuple[Entry, ...]
    runner: Runner
    targets: tuple[str, ...]

    @property
    def runnable(self) -> tuple[str, ...]:
        """The targets that the runner can run; the others are only compiled."""
        return tuple(target for target in self.targets if target in self.runner.targets())


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, report."""
    work = _work(arguments)
    check_folder(arguments.output)
    console = errors() if arguments.json else output()
    if isinstance(work.runner, Recorded):
        recording = work.runner.recording
        arguments.seed, arguments.examples = recording.head["seed"], recording.head["examples"]
        for note in _changed(recording, work.suite):
            errors().print(f"parity: {note}", style="yellow")
    built = _build(work, arguments.jobs)
    for each in built:
        if each.error:
            console.print(f"{each.error}\n", style="red")
    plan = _plan(work, built, arguments)
    records, seconds, complete = _execute(plan, work, arguments)
    matrix = _matrix(work, built, records, seconds, complete, arguments)
    order = {row.kernel: place for place, row in enumerate(matrix.rows)}
    records.sort(key=lambda record: order[record.kernel])
    reproduction = _reproduction(arguments)
    write_reports(arguments.output, matrix, records, reproduction)
    if arguments.json:
        _print_json(matrix, records, built, reproduction)
    else:
        _print_failures(work, records, reproduction)
        console.print(terminal(matrix, full=arguments.full))
        if built:
            console.print(_build_line(built))
        console.print(summary(matrix), style="bold red" if matrix.failed or not complete else "bold green")
        console.print(f"record, matrix and failures: {arguments.output}{os.sep}")
    if not complete:
        return INTERRUPTED
    if matrix.failed:
        return 1
    if not matrix.executed:
        raise NotAvailable("nothing was run: no case could be executed")
    return 0


def _work(arguments: argparse.Namespace) -> Work:
    suite, selection = select(arguments)
    entries = dict.fromkeys([*selection.entries, *(suite.entry(case) for case in selection.cases)])
    runner = available(arguments.runner)
    for name in arguments.target:
        if name not in runner.targets():
            target(name)
    usual = [t for t in runner.targets() if t in DEFAULT_TARGETS or t not in TARGETS]
    work = Work(
        suite, selection, tuple(entries), runner, tuple(dict.fromkeys(arguments.target or usual or runner.targets()))
    )
    if not work.runnable:
        raise NotAvailable(
            f"the runner {runner.name!r} cannot run {' or '.join(work.targets)}, only {' '.join(runner.targets())}; "
            "to see whether the kernels compile, use parity build"
        )
    return work


def _changed(recording: Recording, suite: Suite) -> Iterator[str]:
    """Which kernel sources are not those whose values were recorded."""
    for name, recorded in recording.head["environment"]["sources"].items():
        path = suite.kernels / name
        if path.suffix != ".py" and not (path.is_file() and sha256(path.read_bytes()).hexdigest() == recorded):
            yield f"{name} changed since the recording: its values are those of the kernels as they were"


def _build(work: Work, jobs: int | None) -> list[Built]:
    targets = work.targets
    if isinstance(work.runner, Recorded):  # its kernels ran elsewhere, so there is nothing to build
        targets = tuple(target for target in targets if target not in work.runnable)
        if not targets:
            return []
    modules = [m for m in work.suite.modules if m in {entry.op.module for entry in work.entries}]
    with progress() as bars:
        bar = bars.add_task("building", total=len(modules) * len(targets), note="")
        return build(
            work.suite.kernels,
            modules,
            targets,
            jobs=jobs,
            done=lambda built: bars.update(bar, advance=1, note=f"{built.module} {built.target}"),
        )


def _plan(work: Work, built: Sequence[Built], arguments: argparse.Namespace) -> Plan:
    code = {(b.module, b.target): b.code_object for b in built if b.code_object}
    tasks = tasks_of(work.selection, work.runnable)
    if isinstance(work.runner, Recorded):
        recording = work.runner.recording
        code.update(recording.code())
        tasks = _recorded(tasks, recording, work.suite)
    tasks = tuple(task for task in tasks if (task.op.partition(".")[0], task.target) in code)
    return Plan(
        work.suite.kernels.absolute(),
        work.suite.cases.absolute(),
        arguments.runner,
        tasks,
        arguments.examples,
        arguments.seed,
        arguments.checked,
        code,
    )


def _recorded(tasks: Sequence[Task], recording: Recording, suite: Suite) -> tuple[Task, ...]:
    """The tasks with the cases that were recorded; one that has none keeps its own, which are then not recorded.

    Texts and not seeds, because other versions of what draws cases draw others. None is made smaller: the smaller ones
    were not recorded.
    """
    texts: dict[tuple[str, str], list[str]] = {}
    for case in recording.cases:
        texts.setdefault((case.kernel, case.target), []).append(case.case)

    def cases(task: Task) -> tuple[str, ...] | None:
        return task.cases or tuple(texts.get((Entry(suite.op(task.op), task.dtypes).kernel, task.target), ())) or None

    return tuple(replace(task, cases=cases(task), shrink=False) for task in tasks)


def _execute(plan: Plan, work: Work, arguments: argparse.Namespace) -> tuple[list[CaseRecord], float, bool]:
    """The records, the seconds it took, and whether it came to its end."""
    records: list[CaseRecord] = []
    failed = 0
    start = time.perf_counter()
    try:
        with RecordWriter(arguments.output / "record.jsonl", environment(plan, sys.argv[1:])) as writer:
            if not plan.tasks:
                return records, 0.0, True
            with progress() as bars:
                bar = bars.add_task("preparing", total=None, note="")

                def report(what: str, done: int, total: int) -> None:
                    bars.update(bar, description=what, completed=done, total=total)

                with closing(execute(plan, work.suite, jobs=arguments.jobs, progress=report)) as results:  # type: ignore[type-var]
                    for record in results:
                        writer.add(record)
                        records.append(record)
                        failed += not record.verdict.passed and record.verdict.status is not Status.UNSUPPORTED
                        bars.update(bar, note=f"{len(records)} cases, {failed} failed")
    except KeyboardInterrupt:
        return records, time.perf_counter() - start, False
    return records, time.perf_counter() - start, True


def _matrix(
    work: Work,
    built: Sequence[Built],
    records: Sequence[CaseRecord],
    seconds: float,
    complete: bool,
    arguments: argparse.Namespace,
) -> Matrix:
    columns = [
        Column(work.runner.name, target, str(work.runner.evidence if target in work.runnable else Evidence.COMPILED))
        for target in work.targets
    ]
    return make_matrix(
        work.entries,
        columns,
        records,
        uncompiled=[(b.module, b.target) for b in built if b.error],
        seconds=seconds,
        seed=arguments.seed,
        examples=arguments.examples,
        complete=complete,
    )


def _reproduction(arguments: argparse.Namespace) -> Reproduction:
    """``PARITY_COMMAND`` says how parity was called, where that was not by its name (in a nox session, for one)."""
    found: list[str] = []
    if arguments.target:
        found += ["--target", ",".join(arguments.target)]
    if arguments.runner != DEFAULT_RUNNER:
        found += ["--runner", arguments.runner]
    if not arguments.checked:
        found += ["--no-check-memory"]
    for option, folder in (("--kernels", arguments.kernels_dir), ("--cases", arguments.cases_dir)):
        if folder:
            found += [option, str(folder)]
    return Reproduction(os.environ.get("PARITY_COMMAND") or "parity run", tuple(found))


def _print_failures(work: Work, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    console = output()
    for record, more in shown_failures(records):
        head, _, body = failure_text(record, reproduction, _source(work.suite, record.module)).partition("\n")
        console.print(head, style="bold red")
        console.print(body)
        if more:
            console.print(
                f"  and {more} more failing {'cases' if more > 1 else 'case'} of {record.kernel}", style="dim"
            )
        console.print()


def _source(suite: Suite, module: str) -> str:
    path = suite.kernels / f"{module}.cu"
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _print_json(
    matrix: Matrix, records: Sequence[CaseRecord], built: Sequence[Built], reproduction: Reproduction
) -> None:
    document = as_dict(matrix)
    document["compile_errors"] = [
        {"module": b.module, "target": b.target, "message": b.error.log} for b in built if b.error
    ]
    document["failures"] = [
        {**asdict(record), "reproduce": reproduction.of(record.minimal or record)}
        for record, _ in shown_failures(records)
    ]
    print(json.dumps(strict(document), indent=1, allow_nan=False))


def strict(value: object) -> object:
    """The value with text in place of infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: strict(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [strict(each) for each in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value


def _build_line(built: Sequence[Built]) -> str:
    fresh = [b for b in built if not b.cached]
    targets = " ".join(dict.fromkeys(b.target for b in built))
    modules = len({b.module for b in built})
    text = f"{modules} {'modules' if modules > 1 else 'module'} built for {targets}"
    unmapped = sum(len(b.unmapped) for b in built)
    if unmapped:
        text += f"; {unmapped} identifiers that hipify could not map (see parity build)"
    return text + (
        f"; {len(fresh)} compiled, {len(built) - len(fresh)} from the cache" if fresh else ", all from the cache"
    )
