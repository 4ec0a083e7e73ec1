"""Show the source lines that no case reaches, with the conditions that guard them; search for cases that do.

The cases of a run are executed by the emulator, which notes the basic blocks of machine code that run. Shown are the
lines of which nothing ran in a kernel, then lines of which a further copy did not (of an unrolled loop, for one), then
slow paths of library functions. "why" stands where the code itself says it.

--lead N executes up to N further cases of each kernel before that: changes of cases that reached something new, in
extents, layouts, data, parameters and launches. The numbers that the kernel compares with are tried first. The same
seed finds the same cases. --save keeps them in NAME.found beside the case file NAME.py; every later run has them.

Exit code: 0; 1 if a case fails, which parity run explains; 2 wrong usage; 3 nothing was run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from parity.application import Results, Run, Settings
from parity.application.coverage_search import add_found_cases, keep_cases, search_cases
from parity.cli.clusters import add_cluster, clustered
from parity.cli.options import add_drawing, add_folders, add_jobs, add_json, add_selection, add_target, positive, select
from parity.cli.terminal import built, errors, messages, print_json, reporting
from parity.cluster import Cluster
from parity.compilers.targets import DEFAULT_TARGETS
from parity.engine.coverage_search import FoundCase
from parity.errors import NotAvailable, UsageError, shown
from parity.report.coverage import as_dict, lines, survey
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument(
        "--runner", default=DEFAULT_RUNNER, metavar="NAME", help=f"{DEFAULT_RUNNER} (the default) or {CUDA_SIDE}"
    )
    add_target(parser, f"{' '.join(DEFAULT_TARGETS)}, or that of {CUDA_SIDE}")
    add_drawing(parser, examples=None, seed=None)
    add_jobs(parser)
    add_cluster(parser)
    parser.add_argument(
        "--lead", type=positive, metavar="N", help="search for cases that reach more: execute N more of each kernel"
    )
    parser.add_argument("--save", action="store_true", help="with --lead: keep the cases that were found")
    parser.add_argument("--full", action="store_true", help="name every kernel, and every line of library functions")
    add_json(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Run the cases, and print what they do not reach."""
    if arguments.save and not arguments.lead:
        raise UsageError("--save keeps the cases that --lead N finds; give both")
    with clustered(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, selection = select(arguments)
    settings = Settings(arguments.examples, arguments.seed, jobs=arguments.jobs)
    run = Run.on_one(suite, selection, arguments.runner, arguments.target, settings, "parity coverage", cluster)
    console = messages(arguments.json)
    prepared = built(run, console)
    found: tuple[FoundCase, ...] = ()
    if arguments.lead:
        with reporting(bool(prepared.plan.tasks)) as (report, _):
            found = search_cases(prepared, arguments.lead, report)
        prepared = add_found_cases(prepared, found)
    with reporting(bool(prepared.plan.tasks)) as (report, note):
        results = prepared.execute(report, lambda record: note(record.kernel))
    reached, missing = survey(results.matrix, suite, results.plan.code)
    if arguments.json:
        print_json(as_dict(reached, missing, found))
    else:
        for text, style in lines(reached, missing, full=arguments.full):
            console.print(text, style=style)
    _tell(console, found, results, arguments)
    if arguments.save:
        for path, count in keep_cases(prepared, found).items():
            errors().print(f"parity: {shown(path)}: {count} cases added", style="green")
    if results.stopped:
        raise results.stopped
    if not reached:
        raise NotAvailable("nothing was run: no case could be executed")
    return 1 if any(record.failed for record in results.records) else 0


def _tell(console: Console, found: Sequence[FoundCase], results: Results, arguments: argparse.Namespace) -> None:
    """The cases that were found, and those that fail."""
    failed = [record for record in results.records if record.failed]
    if arguments.lead and not arguments.json:
        console.print(f"{len(found)} cases found that reach more" + (":" if found else ""))
        for each in found:
            wrong = "FAIL  " if any(record.case == each.case for record in failed) else ""
            console.print(f"  {wrong}{each.case}  {each.title}", style="red" if wrong else None)
    if failed:
        text = f"{len(failed)} of {len(results.records)} cases failed; parity run explains: {failed[0].case}"
        errors().print(f"parity: {text}", style="red")
