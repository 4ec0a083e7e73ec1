"""Run cases, compare every value with its reference, and print the matrix.

The record (one JSON line per case), the matrix (text, Markdown, JSON, CSV, JUnit XML) and the failures are also written
to the output folder. Exit code: 0 all passed, or failed in a known way; 1 a failure, or a known issue to look at again;
2 wrong usage, or a mistake in the file of known issues; 3 nothing was run, or nothing failed and something else than a
kernel (no memory, a full disk, a reference that raised) kept cases from being judged; 130 interrupted, 143 terminated.

The matrix is no wider than the terminal, or than COLUMNS says. Where it would be, targets that show the same share a
column, notes go on in further lines, and then names of dtypes, speed, cases and budgets are left out of a module, in
this order and no more than it takes. A line below says so. Files and pipes get everything.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from parity.application import Prepared, Results, Run, Settings, columns, default_runners
from parity.application.results import RECORD, recorded_measurements
from parity.cli.options import add_drawing, add_folders, add_jobs, add_json, add_selection, select
from parity.cli.terminal import built, errors, measured, output, reporting
from parity.documents import json_text, plain
from parity.engine import CaseRecord, Column
from parity.engine.bench import Measurement
from parity.errors import NotAvailable, ParityError, UsageError, shown
from parity.options import DEFAULT_RUNNER, as_arguments, declare
from parity.report import (
    Matrix,
    Reproduction,
    State,
    check_folder,
    document,
    failure_text,
    shown_failures,
    summary,
    terminal,
    write_reports,
)
from parity.report.tables import terminal_width
from parity.suite import Suite
from parity.toolchain import DEFAULT_TARGETS, LITERAL, Built, chosen_hipifier

__all__ = ["main", "options"]

INTERRUPTED = 130
NAMED = 12
"""The number of missing kernels whose names are shown."""


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    declare(
        parser.add_argument,
        "target",
        help=f"targets (default: {' '.join(DEFAULT_TARGETS)}, and what other runners have); a runner that can run none "
        "of them keeps its own, and those that no runner can run are compiled only",
    )
    declare(parser.add_argument, "runner")
    add_drawing(parser, examples=None, seed=None)
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
    declare(parser.add_argument, "known-issues", type=Path)
    declare(parser.add_argument, "output", type=Path, default=Path("parity-out"), help="default: %(default)s")


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, report."""
    run = _run(arguments)
    check_folder(arguments.output)
    _warn(run.notes)
    console = errors() if arguments.json else output()
    prepared = built(run, console)
    _warn(prepared.problems)
    results = _executed(prepared, arguments.output / RECORD)
    order = {entry.kernel: i for i, entry in enumerate(run.entries)}
    records = sorted(results.records, key=lambda record: order[record.kernel])
    costs = _measured(prepared, arguments.time and results.complete)
    results = replace(results, records=records, measured=costs)
    matrix = results.matrix
    reproduction = _reproduction(arguments)
    unwritten = _write(arguments.output, matrix, records, reproduction)
    if arguments.json:
        _print_json(matrix, records, reproduction)
    else:
        _print_failures(run.suite, records, reproduction)
        console.print(terminal(matrix, full=arguments.full, width=terminal_width()))
        if results.built:
            console.print(_build_line(results.built))
        if missing := _missing_line(matrix, run.suite.kernels):
            console.print(missing, style="bold red")
        console.print(summary(matrix), style="bold red" if matrix.failed or not results.complete else "bold green")
        if not unwritten:
            console.print(f"record, matrix and failures: {arguments.output}{os.sep}")
    _warn(results.notes)
    if isinstance(results.stopped, KeyboardInterrupt):
        _warn([str(unwritten)] if unwritten else [])
        return INTERRUPTED
    if matrix.failed:
        _warn(str(each) for each in (results.stopped, unwritten) if each)
        return 1
    if results.stopped or unwritten:
        raise results.stopped or unwritten or AssertionError
    if matrix.unjudged:
        raise NotAvailable(f"{matrix.unjudged} of {matrix.executed + matrix.unjudged} cases were not judged")
    if not matrix.executed:
        raise NotAvailable("nothing was run: no case could be executed")
    if run.known.mistakes:
        raise UsageError(f"everything else passed, but {run.known.mistakes[0]}")
    if run.columns.problems:
        raise NotAvailable("not everything was run: " + "; ".join(run.columns.problems))
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


def _run(arguments: argparse.Namespace) -> Run:
    suite, selection = select(arguments)
    settings = Settings(
        arguments.examples, arguments.seed, arguments.checked, arguments.jobs, as_usual=arguments.launches is None
    )
    runners = arguments.runner or default_runners(suite.entries_of(selection))
    return Run(suite, selection, columns(runners, arguments.target), settings)


def _executed(prepared: Prepared, record: Path) -> Results:
    found = Counter[bool]()
    with reporting(bool(prepared.plan.tasks)) as (report, note):

        def each(record: CaseRecord) -> None:
            found[record.failed] += 1
            note(f"{found.total()} cases, {found[True]} failed")

        return prepared.execute(report, each, record, sys.argv[1:])


def _measured(prepared: Prepared, now: bool) -> dict[tuple[str, Column], Measurement]:
    """The recorded measurements of kernels and, if ``now``, new measurements of those that execute here."""
    run = prepared.run
    found, problems = recorded_measurements(run)
    _warn(problems)
    if now:
        result = measured(prepared)
        if result.stopped:
            _warn([f"not everything was measured: {result.stopped or 'interrupted'}"])
        live = {(column.runner, column.target): column for column in run.columns.live}
        found += [(live[m.runner, m.target], m) for m in result.measurements]
    first: dict[tuple[str, Column], Measurement] = {}
    for column, m in found:
        if not m.problem:
            first.setdefault((m.kernel, column), m)
    return first


def _reproduction(arguments: argparse.Namespace) -> Reproduction:
    """``PARITY_COMMAND`` says how parity was called, where that was not by its name (in a nox session, for one)."""
    given = {
        "target": arguments.target,
        "runner": arguments.runner if arguments.runner != [DEFAULT_RUNNER] else (),
        "toolchain": arguments.toolchain,
        "launches": arguments.launches,
        "hipify": hipifier if (hipifier := chosen_hipifier()) != LITERAL else "",
        "kernels": arguments.kernels_dir,
        "hip": arguments.hip_dir,
        "cases": arguments.cases_dir,
    }
    unchecked = () if arguments.checked else ("--no-check-memory",)
    return Reproduction(os.environ.get("PARITY_COMMAND") or "parity run", (*as_arguments(given), *unchecked))


def _print_failures(suite: Suite, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    console = output()
    for failure in shown_failures(records):
        record, more = failure.records[0], failure.more
        source = shown(suite.files.get(record.module, ""))
        declared = shown(suite.op(record.op).declared)
        head, _, body = failure_text(failure, reproduction, source, declared).partition("\n")
        console.print(head, style="bold red")
        console.print(body)
        if more:
            console.print(
                f"  and {more} more failing {'cases' if more > 1 else 'case'} of {record.kernel}", style="dim"
            )
        console.print()


def _missing_line(matrix: Matrix, kernels: Path) -> str:
    """The kernels that ops call and the folder lacks, as one line: they show how a fork differs from its origin."""
    names = [row.kernel for row in matrix.rows if any(cell.state is State.MISSING for cell in row.cells)]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"missing in {shown(kernels)}: {' '.join(names[:NAMED])}{more}" if names else ""


def _print_json(matrix: Matrix, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    failures = [
        {**plain(record), "reproduce": reproduction.of(record.minimal or record)}
        for failure in shown_failures(records)
        for record in failure.records
    ]
    print(json_text({**plain(document(matrix)), "failures": failures}, indent=1).decode())


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
