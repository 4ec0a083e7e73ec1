"""Run cases, compare every value with its reference, and print the matrix.

The record (one JSON line per case), the matrix (text, Markdown, JSON, CSV, JUnit XML) and the failures are also written
to the output folder. Exit code: 0 all passed, or failed in a known way; 1 a failure, or a known issue to look at again;
2 wrong usage, or a mistake in the file of known issues; 3 nothing was run, or nothing failed and something else than a
kernel (no memory, a full disk, a reference that raised) kept cases from being judged; 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from parity.cli.columns import Columns, columns
from parity.cli.measuring import measure
from parity.cli.options import (
    DEFAULT_RUNNER,
    EXAMPLES,
    add_drawing,
    add_folders,
    add_jobs,
    add_json,
    add_selection,
    names,
    select,
)
from parity.cli.terminal import errors, output, progress
from parity.engine import (
    CaseRecord,
    Column,
    Known,
    Plan,
    RecordWriter,
    environment,
    known_issues,
    runnable,
    tasks_of,
)
from parity.engine import run as execute
from parity.engine.baseline import parse_baseline
from parity.engine.bench import Measurement
from parity.errors import SYSTEM_ERRORS, NotAvailable, ParityError, SystemLacks, UsageError, refusal, shown
from parity.op import Entry
from parity.report import (
    Matrix,
    Reproduction,
    State,
    as_dict,
    check_folder,
    failure_text,
    make_matrix,
    not_judged,
    shown_failures,
    summary,
    terminal,
    write_reports,
)
from parity.runners import Evidence
from parity.runners.recording import MEASUREMENTS
from parity.suite import Selection, Suite
from parity.toolchain import DEFAULT_TARGETS, LITERAL, Built, build_suite, chosen_hipifier

__all__ = ["main", "options"]

INTERRUPTED = 130
NAMED = 12
"""Missing kernels that are named."""


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument(
        "--target",
        type=names,
        action="extend",
        default=[],
        metavar="T,..",
        help=f"targets (default: {' '.join(DEFAULT_TARGETS)}, and what other runners have); a runner that can run none "
        "of them keeps its own, and those that no runner can run are compiled only",
    )
    parser.add_argument(
        "--runner",
        action="append",
        metavar="NAME",
        help=f"what executes (default: {DEFAULT_RUNNER}); recorded=FILE replays the cases that parity record stored "
        "there. May be repeated: then the runners stand side by side, and CUDA is compared with AMD",
    )
    add_drawing(parser)
    parser.set_defaults(seed=None, examples=None)
    add_jobs(parser)
    parser.add_argument("--full", action="store_true", help="print a line for every kernel")
    add_json(parser)
    parser.add_argument(
        "--no-check-memory", dest="checked", action="store_false", help="faster: do not check every memory access"
    )
    parser.add_argument(
        "--time", action="store_true", help="measure too, as parity bench does, and show it in the matrix"
    )
    add_folders(parser)
    parser.add_argument(
        "--known-issues",
        type=Path,
        metavar="FILE",
        help="failures to expect (default: known-issues.toml beside pyproject.toml, where there is one)",
    )
    parser.add_argument("--output", type=Path, default=Path("parity-out"), metavar="DIR", help="default: %(default)s")


@dataclass(frozen=True)
class Work:
    """What a run is about; ``fewer`` says that it may draw other launches than a run without options."""

    suite: Suite
    selection: Selection
    entries: tuple[Entry, ...]
    columns: Columns
    seed: int
    examples: int
    known: Known
    fewer: bool


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, report."""
    arguments.runner = arguments.runner or [DEFAULT_RUNNER]
    work = _work(arguments)
    check_folder(arguments.output)
    _warn(work.columns.problems)
    console = errors() if arguments.json else output()
    _warn(work.known.mistakes)
    _warn(work.columns.changed_kernels(work.suite, {entry.kernel for entry in work.entries}))
    built = _build(work, arguments.jobs)
    for each in built:
        if each.error:
            console.print(f"{each.error}\n", style="red")
    plan = _plan(work, built, arguments)
    records, seconds, stopped = _execute(plan, work, arguments)
    complete = stopped is None
    _warn(work.columns.stale(records, work.suite))
    measured = _measured(plan, work, arguments.time and complete)
    matrix = _matrix(work, plan, built, records, seconds, complete, measured)
    order = {row.kernel: place for place, row in enumerate(matrix.rows)}
    records.sort(key=lambda record: order[record.kernel])
    reproduction = _reproduction(arguments)
    unwritten = _write(arguments.output, matrix, records, reproduction)
    if arguments.json:
        _print_json(matrix, records, reproduction)
    else:
        _print_failures(work, records, reproduction)
        console.print(terminal(matrix, full=arguments.full))
        if built:
            console.print(_build_line(built))
        if missing := _missing_line(matrix, work.suite.kernels):
            console.print(missing, style="bold red")
        console.print(summary(matrix), style="bold red" if matrix.failed or not complete else "bold green")
        if not unwritten:
            console.print(f"record, matrix and failures: {arguments.output}{os.sep}")
    _warn(not_judged(records))
    if isinstance(stopped, KeyboardInterrupt):
        _warn([str(unwritten)] if unwritten else [])
        return INTERRUPTED
    if matrix.failed:
        _warn(str(each) for each in (stopped, unwritten) if each)
        return 1
    if stopped or unwritten:
        raise stopped or unwritten or AssertionError
    if matrix.unjudged:
        raise NotAvailable(f"{matrix.unjudged} of {matrix.executed + matrix.unjudged} cases were not judged")
    if not matrix.executed:
        raise NotAvailable("nothing was run: no case could be executed")
    if work.known.mistakes:
        raise UsageError(f"everything else passed, but {work.known.mistakes[0]}")
    if work.columns.problems:
        raise NotAvailable("not everything was run: " + "; ".join(work.columns.problems))
    return 0


def _write(
    folder: Path, matrix: Matrix, records: Sequence[CaseRecord], reproduction: Reproduction
) -> ParityError | None:
    """Write the reports, or say why they cannot be: what was found is printed all the same."""
    try:
        write_reports(folder, matrix, records, reproduction)
    except ParityError as problem:
        return problem
    return None


def _warn(notes: Iterable[str]) -> None:
    for note in notes:
        errors().print(f"parity: {note}", style="yellow")


def _work(arguments: argparse.Namespace) -> Work:
    suite, selection = select(arguments)
    chosen = columns(arguments.runner, arguments.target)
    seed, examples = (arguments.seed or 0), (arguments.examples or EXAMPLES)
    if not chosen.live:
        head = next(iter(chosen.recordings.values())).head
        if arguments.seed is not None or arguments.examples is not None:
            raise UsageError(
                "--seed and --examples draw cases, and a recording has only its own "
                f"(seed {head['seed']}, {head['examples']} examples per kernel); leave them out, or add "
                f"--runner {DEFAULT_RUNNER}, which runs drawn cases beside the recorded ones"
            )
        seed, examples = head["seed"], head["examples"]
    return Work(
        suite,
        selection,
        suite.entries_of(selection),
        chosen,
        seed,
        examples,
        known_issues(suite, chosen.runnable + _compiled(chosen)),
        arguments.launches is not None,
    )


def _build(work: Work, jobs: int | None) -> list[Built]:
    """Compile for what executes and for what is only compiled; recorded kernels ran elsewhere."""
    targets = list(dict.fromkeys([*(column.target for column in work.columns.built), *work.columns.compiled]))
    if not targets:
        return []
    modules = work.suite.modules_of(work.entries)
    with progress() as bars:
        bar = bars.add_task("building", total=len(modules) * len(targets), note="")
        return build_suite(
            work.suite,
            modules,
            targets,
            jobs=jobs,
            done=lambda built: bars.update(bar, advance=1, note=f"{built.module} {built.target}"),
        )


def _plan(work: Work, built: Sequence[Built], arguments: argparse.Namespace) -> Plan:
    code = work.columns.code(built)
    tasks, problems = work.columns.with_recorded(tasks_of(work.selection, work.columns.runnable), work.suite)
    _warn(problems)
    return Plan.of(
        work.suite,
        runnable(work.known.with_cases(tasks, work.suite), work.suite, code),
        code,
        examples=work.examples,
        seed=work.seed,
        checked=arguments.checked,
        known=work.known,
    )


def _execute(
    plan: Plan, work: Work, arguments: argparse.Namespace
) -> tuple[list[CaseRecord], float, KeyboardInterrupt | NotAvailable | None]:
    """The records, the seconds it took, and what ended it before its end."""
    records: list[CaseRecord] = []
    failed = 0
    stopped: KeyboardInterrupt | NotAvailable | None = None
    start = time.perf_counter()
    try:
        with RecordWriter(arguments.output / "record.jsonl", environment(plan, sys.argv[1:])) as writer:
            if not plan.tasks:
                return records, 0.0, None
            with progress() as bars:
                bar = bars.add_task("preparing", total=None, note="")

                def report(what: str, done: int, total: int) -> None:
                    bars.update(bar, description=what, completed=done, total=total)

                with closing(execute(plan, work.suite, jobs=arguments.jobs, progress=report)) as results:  # type: ignore[type-var]
                    for record in results:
                        writer.add(record)
                        records.append(record)
                        failed += record.failed
                        bars.update(bar, note=f"{len(records)} cases, {failed} failed")
    except (KeyboardInterrupt, NotAvailable) as problem:
        stopped = problem
    except OSError as error:
        if error.errno not in SYSTEM_ERRORS:
            raise
        stopped = SystemLacks(refusal(error))
    return records, time.perf_counter() - start, stopped


def _measured(plan: Plan, work: Work, now: bool) -> dict[tuple[str, Column], Measurement]:
    """What was recorded of the cost of kernels, and, if it is to be found out ``now``, that of what executes here."""
    found: list[tuple[Column, Measurement]] = []
    for column, recording in work.columns.recordings.items():
        if MEASUREMENTS in recording.attached:
            text = recording.attached[MEASUREMENTS].decode(errors="replace")
            try:
                stored = parse_baseline(text, f"{MEASUREMENTS} of {column.spec}")
            except UsageError as error:  # not worth the values of a whole run
                _warn([f"what was measured is not shown: {error}"])
                continue
            found += [(column, m) for m in stored.measurements.values() if m.target == column.target]
    if now:
        live = [replace(task, columns=tuple(c for c in task.columns if c in work.columns.built)) for task in plan.tasks]
        result = measure(replace(plan, tasks=tuple(task for task in live if task.columns)), work.suite)
        if result.stopped:
            _warn([f"not everything was measured: {result.stopped or 'interrupted'}"])
        places = {(column.runner, column.target): column for column in work.columns.live}
        found += [(places[m.runner, m.target], m) for m in result.measurements]
    first: dict[tuple[str, Column], Measurement] = {}
    for column, m in found:
        if not m.problem:
            first.setdefault((m.kernel, column), m)
    return first


def _matrix(
    work: Work,
    plan: Plan,
    built: Sequence[Built],
    records: Sequence[CaseRecord],
    seconds: float,
    complete: bool,
    measured: Mapping[tuple[str, Column], Measurement],
) -> Matrix:
    columns = work.columns.runnable + _compiled(work.columns)
    errors = {(b.module, b.target): b.error.log for b in built if b.error}
    ran = {(Entry(work.suite.op(t.op), t.dtypes).kernel, column) for t in plan.tasks for column in t.columns}
    return make_matrix(
        work.entries,
        columns,
        records,
        uncompiled=errors,
        measured=measured,
        missing=work.suite.missing,
        unrecorded={(e.kernel, c) for e in work.entries for c in work.columns.recordings} - ran,
        seconds=seconds,
        seed=plan.seed,
        examples=plan.examples,
        complete=complete,
        known=work.known,
        drawn=_drawn(work, plan) if complete else (),
        made_by=plan.made_by,
    )


def _compiled(columns: Columns) -> tuple[Column, ...]:
    return tuple(Column("", name, Evidence.COMPILED) for name in columns.compiled)


def _drawn(work: Work, plan: Plan) -> set[str]:
    """The kernels of which no case is left out that a run draws if it is asked for nothing else."""
    if (work.examples < EXAMPLES or work.fewer) and work.columns.live:
        return set()
    picked = {(case.op, case.dtypes) for case in work.selection.cases}
    return {
        Entry(work.suite.op(task.op), task.dtypes).kernel for task in plan.tasks if (task.op, task.dtypes) not in picked
    }


def _reproduction(arguments: argparse.Namespace) -> Reproduction:
    """``PARITY_COMMAND`` says how parity was called, where that was not by its name (in a nox session, for one)."""
    found: list[str] = []
    if arguments.target:
        found += ["--target", ",".join(arguments.target)]
    if arguments.runner != [DEFAULT_RUNNER]:
        for spec in arguments.runner:
            found += ["--runner", spec]
    if not arguments.checked:
        found += ["--no-check-memory"]
    if arguments.toolchain:
        found += ["--toolchain", arguments.toolchain]
    if arguments.launches:
        found += ["--launches", arguments.launches]
    if (hipifier := chosen_hipifier()) != LITERAL:
        found += ["--hipify", hipifier]
    for option, folder in (
        ("--kernels", arguments.kernels_dir),
        ("--hip", arguments.hip_dir),
        ("--cases", arguments.cases_dir),
    ):
        if folder:
            found += [option, str(folder)]
    return Reproduction(os.environ.get("PARITY_COMMAND") or "parity run", tuple(found))


def _print_failures(work: Work, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    console = output()
    for failure in shown_failures(records):
        record, more = failure.records[0], failure.more
        source = shown(work.suite.files.get(record.module, ""))
        declared = shown(work.suite.op(record.op).declared)
        head, _, body = failure_text(failure, reproduction, source, declared).partition("\n")
        console.print(head, style="bold red")
        console.print(body)
        if more:
            console.print(
                f"  and {more} more failing {'cases' if more > 1 else 'case'} of {record.kernel}", style="dim"
            )
        console.print()


def _missing_line(matrix: Matrix, kernels: Path) -> str:
    """What ops call and the folder does not have, which is how a fork differs from what it was made of."""
    names = [row.kernel for row in matrix.rows if any(cell.state is State.MISSING for cell in row.cells)]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"missing in {shown(kernels)}: {' '.join(names[:NAMED])}{more}" if names else ""


def _print_json(matrix: Matrix, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    document = as_dict(matrix)
    document["failures"] = [
        {**asdict(record), "reproduce": reproduction.of(record.minimal or record)}
        for failure in shown_failures(records)
        for record in failure.records
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
    fresh = [b for b in built if not b.cached and not b.error]
    failed = sum(bool(b.error) for b in built)
    targets = " ".join(dict.fromkeys(b.target for b in built))
    modules = len({b.module for b in built})
    text = f"{modules} {'modules' if modules > 1 else 'module'} built for {targets}"
    unmapped = sum(len(b.unmapped) for b in built)
    if unmapped:
        text += f"; {unmapped} identifiers that hipify could not map (see parity build)"
    if not fresh and not failed:
        return text + ", all from the cache"
    text += f"; {len(fresh)} compiled, {len(built) - len(fresh) - failed} from the cache"
    return text + (f", {failed} with errors" if failed else "")
