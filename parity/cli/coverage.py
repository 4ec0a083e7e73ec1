"""Show the source lines that no case reaches, with the conditions that guard them; search for cases that reach them.

The emulator executes the cases of a run and records which basic blocks of the machine code run. The report first lists
lines that never ran in a kernel, then lines of which one copy did not run (for example, of an unrolled loop), then slow
paths of library functions. It adds "why" if the code itself shows the reason.

With --lead N, the command first executes up to N additional cases for each kernel. They are variations of cases that
reached something new: in extents, layouts, data, parameters and launches. Numbers that the kernel compares with are
tried first. The same seed finds the same cases. --save stores the found cases in NAME.found next to the case file
NAME.py; every later run includes them.

Exit code: 0 the cases were run; 1 a case fails (parity run shows details); 2 wrong usage; 3 nothing was run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from parity.application.coverage_search import add_found_cases, keep_cases, search_cases
from parity.application.run import Results, Run, Settings
from parity.cli.shared.inputs import connect_cluster, select
from parity.cli.shared.terminal import build_run, errors, messages, print_json, run_progress
from parity.cluster.connection import Cluster
from parity.engine.coverage_search import FoundCase
from parity.errors import NotAvailable, UsageError, display_path
from parity.report.coverage import as_dict, coverage_lines, find_unreached_lines


def main(arguments: argparse.Namespace) -> int:
    """Run the cases, and print the lines that they do not reach."""
    if arguments.save and not arguments.lead:
        raise UsageError("--save stores the cases that --lead N finds; use both options")
    with connect_cluster(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, selection = select(arguments)
    settings = Settings(arguments.examples, arguments.seed, jobs=arguments.jobs)
    run = Run.on_one(suite, selection, arguments.runner, arguments.target, settings, "parity coverage", cluster)
    console = messages(arguments.json)
    prepared = build_run(run, console)
    found: tuple[FoundCase, ...] = ()
    if arguments.lead:
        with run_progress(bool(prepared.plan.tasks)) as (report, _):
            found = search_cases(prepared, arguments.lead, report)
        prepared = add_found_cases(prepared, found)
    with run_progress(bool(prepared.plan.tasks)) as (report, note):
        results = prepared.execute(report, lambda record: note(record.kernel))
    reached, missing = find_unreached_lines(results.matrix, suite, results.plan.code)
    if arguments.json:
        print_json(as_dict(reached, missing, found))
    else:
        for text, style in coverage_lines(reached, missing, full=arguments.full):
            console.print(text, style=style)
    _print_found(console, found, results, arguments)
    if arguments.save:
        for path, count in keep_cases(prepared, found).items():
            errors().print(f"parity: {display_path(path)}: {count} cases added", style="green")
    if results.stopped:
        raise results.stopped
    if not reached:
        raise NotAvailable("nothing was run: no case could be executed")
    return 1 if any(record.failed for record in results.records) else 0


def _print_found(console: Console, found: Sequence[FoundCase], results: Results, arguments: argparse.Namespace) -> None:
    """Print the cases that the search found, and a message about failing cases."""
    failed = [record for record in results.records if record.failed]
    if arguments.lead and not arguments.json:
        console.print(f"{len(found)} cases found that reach more" + (":" if found else ""))
        for each in found:
            wrong = "FAIL  " if any(record.case == each.case for record in failed) else ""
            console.print(f"  {wrong}{each.case}  {each.title}", style="red" if wrong else None)
    if failed:
        counts = f"{len(failed)} of {len(results.records)} cases failed"
        errors().print(f"parity: {counts}; parity run shows why, for example: {failed[0].case}", style="red")
