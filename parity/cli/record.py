"""Run cases on a device and store what they leave behind, to be replayed on any machine: --runner recorded=FILE.

The file holds every case with the values the kernel wrote, the device and its software, and digests of the sources.
Nothing is compared: that is done where it is replayed. Exit code: 0 recorded, 2 wrong usage, 3 nothing was recorded.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from parity.cli.options import add_drawing, add_folders, add_jobs, add_selection, names, select
from parity.cli.terminal import errors, output, progress
from parity.engine import Plan, columns_of, environment, outcomes, runnable, tasks_of
from parity.errors import NotAvailable
from parity.runners import available
from parity.runners.recording import write_recording
from parity.toolchain import DEFAULT_TARGETS, TARGETS, build

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--runner", default="cuda", metavar="NAME", help="what executes (default: %(default)s)")
    parser.add_argument(
        "--target", type=names, action="extend", default=[], metavar="T,..", help="default: those of the runner"
    )
    add_drawing(parser)
    add_jobs(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, store."""
    suite, selection = select(arguments)
    runner = available(arguments.runner)
    usual = [t for t in runner.targets() if t in DEFAULT_TARGETS or t not in TARGETS]
    targets = list(dict.fromkeys(arguments.target or usual))
    for name in targets:
        if name not in runner.targets():
            raise NotAvailable(f"the runner {runner.name!r} cannot run {name}, only {' '.join(runner.targets())}")
    describe = getattr(runner, "describe", None)
    device = describe() if describe else {}
    ops = {entry.op for entry in selection.entries} | {suite.op(case.op) for case in selection.cases}
    with progress() as bars:
        bar = bars.add_task("building", total=None, note="")
        modules = [m for m in suite.modules if m in {op.module for op in ops}]
        built = build(suite.kernels, modules, targets, jobs=arguments.jobs)
        columns = {column.target: column for column in columns_of(runner, targets, arguments.runner)}
        code = {(b.module, columns[b.target]): b.code_object for b in built if b.code_object}
        tasks = runnable(tasks_of(selection, columns.values()), suite, code)
        folders = suite.kernels.absolute(), suite.cases.absolute()
        plan = Plan(*folders, tasks, arguments.examples, arguments.seed, True, code)

        def report(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        cases = list(outcomes(plan, suite, jobs=arguments.jobs, progress=report))
    for each in built:
        if each.error:
            errors().print(f"{each.error}\n", style="red")
    if not cases:
        raise NotAvailable("nothing was recorded: no case could be executed")
    head = {
        "runner": runner.name,
        "vendor": runner.vendor,
        "evidence": str(runner.evidence),
        "device": device,
        "seed": arguments.seed,
        "examples": arguments.examples,
        "environment": environment(plan),
    }
    write_recording(arguments.output, head, code.values(), cases)
    faults = sum(case.fault is not None for case in cases)
    size = arguments.output.stat().st_size
    kernels = len({case.kernel for case in cases})
    output().print(
        f"{len(cases)} cases of {kernels} kernels on {' '.join(targets)}, {faults} with a fault: "
        f"{arguments.output} ({size / 1e6:.2f} MB)"
    )
    return 0
