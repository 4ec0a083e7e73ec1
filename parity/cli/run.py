"""Run cases, compare every value with its reference, and print the matrix.

The record (one JSON line per case), the matrix (text, Markdown, JSON, CSV, JUnit XML) and the failures are also written
to the output folder. Exit code: 0 all passed, or failed in a known way; 1 a failure, or a known issue to look at again;
2 wrong usage, or a mistake in the file of known issues; 3 nothing was run, or nothing failed and something else than a
kernel (no memory, a full disk, a reference that raised) kept cases from being judged; 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from parity.application import DEFAULT_RUNNER, Prepared, Results, Run, Settings, columns
from parity.application.results import RECORD, recorded_measurements
from parity.cli.measuring import measure
from parity.cli.options import add_drawing, add_folders, add_jobs, add_json, add_selection, names, select
from parity.cli.terminal import building, errors, output, progress
from parity.documents import json_text, plain
from parity.engine import CaseRecord, Column
from parity.engine.bench import Measurement
from parity.errors import NotAvailable, ParityError, UsageError, shown
from parity.report import (
    Matrix,
    Reproduction,
    State,
    check_folder,
    document,
    failure_text,
    not_judged,
    shown_failures,
    summary,
    terminal,
    write_reports,
)
from parity.suite import Suite
from parity.toolchain import DEFAULT_TARGETS, LITERAL, Built, chosen_hipifier

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


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, report."""
    arguments.runner = arguments.runner or [DEFAULT_RUNNER]
    run = _run(arguments)
    check_folder(arguments.output)
    _warn(run.notes)
    console = errors() if arguments.json else output()
    prepared = _built(run)
    for each in prepared.built:
        if each.error:
            console.print(f"{each.error}\n", style="red")
    _warn(prepared.problems)
    results = _executed(prepared, arguments.output / RECORD)
    _warn(run.columns.stale(results.records, run.suite))
    results = replace(results, measured=_measured(prepared, arguments.time and results.complete))
    matrix = results.matrix
    order = {row.kernel: place for place, row in enumerate(matrix.rows)}
    records = sorted(results.records, key=lambda record: order[record.kernel])
    reproduction = _reproduction(arguments)
    unwritten = _write(arguments.output, matrix, records, reproduction)
    if arguments.json:
        _print_json(matrix, records, reproduction)
    else:
        _print_failures(run.suite, records, reproduction)
        console.print(terminal(matrix, full=arguments.full))
        if results.built:
            console.print(_build_line(results.built))
        if missing := _missing_line(matrix, run.suite.kernels):
            console.print(missing, style="bold red")
        console.print(summary(matrix), style="bold red" if matrix.failed or not results.complete else "bold green")
        if not unwritten:
            console.print(f"record, matrix and failures: {arguments.output}{os.sep}")
    _warn(not_judged(records))
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
    return Run(suite, selection, columns(arguments.runner, arguments.target), settings)


def _built(run: Run) -> Prepared:
    if not run.targets:
        return run.build()
    with building(len(run.modules) * len(run.targets)) as done:
        return run.build(done)


def _executed(prepared: Prepared, record: Path) -> Results:
    if not prepared.plan.tasks:
        return prepared.execute(record=record, arguments=sys.argv[1:])
    found = Counter[bool]()
    with progress() as bars:
        bar = bars.add_task("preparing", total=None, note="")

        def report(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        def each(record: CaseRecord) -> None:
            found[record.failed] += 1
            bars.update(bar, note=f"{found.total()} cases, {found[True]} failed")

        return prepared.execute(report, each, record, sys.argv[1:])


def _measured(prepared: Prepared, now: bool) -> dict[tuple[str, Column], Measurement]:
    """What was recorded of the cost of kernels, and, if it is to be found out ``now``, that of what executes here."""
    run = prepared.run
    found, problems = recorded_measurements(run)
    _warn(problems)
    if now:
        tasks = prepared.plan.tasks
        live = [replace(task, columns=tuple(c for c in task.columns if c in run.columns.built)) for task in tasks]
        result = measure(replace(prepared.plan, tasks=tuple(task for task in live if task.columns)), run.suite)
        if result.stopped:
            _warn([f"not everything was measured: {result.stopped or 'interrupted'}"])
        places = {(column.runner, column.target): column for column in run.columns.live}
        found += [(places[m.runner, m.target], m) for m in result.measurements]
    first: dict[tuple[str, Column], Measurement] = {}
    for column, m in found:
        if not m.problem:
            first.setdefault((m.kernel, column), m)
    return first


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
    """What ops call and the folder does not have, which is how a fork differs from what it was made of."""
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
