"""Run cases on a device and store what they leave behind, to be replayed on any machine: --runner recorded=FILE.

The file holds every case with the values the kernel wrote, the device and its software, and digests of the sources.
Nothing is compared: that is done where it is replayed. What there is so far is kept in FILE.partial, and the same
command, started again after it was interrupted or killed, continues there. Exit code: 0 recorded, 2 wrong usage,
3 nothing was recorded, or the system lacks memory or space, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from parity.application.columns import targets_of
from parity.cache import digest
from parity.cli.measuring import measure, results_of
from parity.cli.options import add_drawing, add_folders, add_jobs, add_selection, names, select
from parity.cli.terminal import building, errors, output, progress
from parity.engine import Journal, Plan, columns_of, environment, outcomes, runnable, tasks_of
from parity.errors import NotAvailable, SystemLacks, UsageError
from parity.report.bench import bench_json
from parity.runners import Runner, described, kernel_runner
from parity.runners.recording import MEASUREMENTS, Origin, RecordedCase, write_recording
from parity.suite import Suite
from parity.toolchain import Built, build_suite

__all__ = ["main", "options"]

INTERRUPTED = 130


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--runner", default="cuda", metavar="NAME", help="what executes (default: %(default)s)")
    parser.add_argument(
        "--target", type=names, action="extend", default=[], metavar="T,..", help="default: those of the runner"
    )
    parser.add_argument("--time", action="store_true", help="measure as well, as parity bench does; a replay shows it")
    add_drawing(parser)
    add_jobs(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, store."""
    if arguments.output.is_dir():
        raise UsageError(f"{arguments.output} is a folder; name a file with -o")
    suite, selection = select(arguments)
    runner = kernel_runner(arguments.runner, "parity record")
    targets = targets_of(runner, arguments.target)
    built = _build(suite, suite.modules_of(suite.entries_of(selection)), targets, arguments.jobs)
    columns = {column.target: column for column in columns_of(runner, targets, arguments.runner)}
    code = {(b.module, columns[b.target]): b.code_object for b in built if b.code_object}
    tasks = runnable(tasks_of(selection, columns.values()), suite, code)
    if not tasks:
        raise NotAvailable("nothing was recorded: no case could be executed")
    plan = Plan.of(suite, tasks, code, examples=arguments.examples, seed=arguments.seed)
    head = _head(runner, plan)
    partial = arguments.output.with_name(f"{arguments.output.name}.partial")
    with Journal(partial, {"selection": digest(*map(repr, tasks)), **head}) as journal:
        _print_start(journal, plan)
        try:
            cases = _execute(plan, suite, journal, arguments.jobs)
            attached = {MEASUREMENTS: _measure(plan, suite)} if arguments.time else {}
            write_recording(arguments.output, head, code.values(), cases, attached)
        except (KeyboardInterrupt, SystemLacks) as problem:
            kept = f"{_progress(journal, plan)} are in {journal.path}; the same command continues there"
            if isinstance(problem, SystemLacks):
                raise SystemLacks(f"{problem}; {kept}") from problem
            errors().print(f"parity: interrupted; {kept}", style="red")
            return INTERRUPTED
        journal.remove()
    faults = sum(case.fault is not None for case in cases)
    size = arguments.output.stat().st_size
    kernels = len({case.kernel for case in cases})
    output().print(
        f"{len(cases)} cases of {kernels} kernels on {' '.join(targets)}, {faults} with a fault: "
        f"{arguments.output} ({size / 1e6:.2f} MB)"
    )
    return 0


def _measure(plan: Plan, suite: Suite) -> bytes:
    """The measurements of the kernels, as ``parity bench`` stores them.

    Raises:
        KeyboardInterrupt, NotAvailable: what ended it.
    """
    found = measure(plan, suite)
    if found.stopped:
        raise found.stopped
    return bench_json(results_of(found, plan)).encode()


def _build(suite: Suite, modules: Sequence[str], targets: Sequence[str], jobs: int | None) -> list[Built]:
    with building(len(modules) * len(targets)) as done:
        built = build_suite(suite, modules, targets, jobs=jobs, done=done)
    for each in built:
        if each.error:
            errors().print(f"{each.error}\n", style="red")
    return built


def _head(runner: Runner, plan: Plan) -> Origin:
    """Where the values are from: everything that decides them."""
    assert runner.vendor != "host"  # which computes ops and launches nothing
    return {
        "runner": runner.name,
        "vendor": runner.vendor,
        "evidence": str(runner.evidence),
        "device": described(runner),
        "seed": plan.seed,
        "examples": plan.examples,
        "environment": environment(plan),
    }


def _print_start(journal: Journal, plan: Plan) -> None:
    if journal.other:
        text = f"{journal.path} is of another recording, which differs in {journal.other}: starting anew"
        errors().print(f"parity: {text}", style="yellow")
    elif len(journal):
        errors().print(f"parity: resuming: {_progress(journal, plan)} are there")


def _progress(journal: Journal, plan: Plan) -> str:
    return f"{len(journal)} of {len(plan.tasks)} kernels"


def _execute(plan: Plan, suite: Suite, journal: Journal, jobs: int | None) -> list[RecordedCase]:
    with progress() as bars:
        bar = bars.add_task("recording", total=len(plan.tasks), completed=len(journal), note="")

        def report(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        return list(outcomes(plan, suite, journal, jobs=jobs, progress=report))
