"""Run cases, compare every value with its reference, and print the matrix.

The record (one JSON line per case), the matrix (text, Markdown, JSON, CSV, JUnit XML) and the failures are also written
to the output folder. Exit code: 0 all passed, or failed in a known way; 1 a failure, or a known issue to look at again;
2 wrong usage, or a mistake in the file of known issues; 3 nothing was run, or nothing failed and something else than a
kernel (no memory, a full disk, a reference that raised) kept cases from being judged; 130 interrupted, 143 terminated.

The matrix is no wider than the terminal, or than COLUMNS says. Where it would be, targets that show the same share a
column, notes go on in further lines, and then coverage, names of dtypes, speed, cases and budgets are left out of a
module, in this order and no more than it takes. A line below says so. Files and pipes get everything.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.application import Prepared, Results, Run, Settings, columns, default_runners, write_part
from parity.application.loading import written_at
from parity.application.measuring import first_valid, recorded_measurements
from parity.application.mutating import stored_recall
from parity.application.resuming import resumed
from parity.application.stored_results import RECORD
from parity.build.result import Built
from parity.cli.clusters import add_cluster, clustered
from parity.cli.failed import add_failed, failed_of
from parity.cli.github import add_github, tell_github
from parity.cli.options import (
    add_drawing,
    add_folders,
    add_history,
    add_jobs,
    add_json,
    add_selection,
    history_of,
    select,
)
from parity.cli.results import exit_code, show, written
from parity.cli.shards import add_shard, shard_of
from parity.cli.terminal import built, measured, messages, reporting, warn
from parity.cli.watch import Kept, add_watch, watched
from parity.compilers.targets import DEFAULT_TARGETS
from parity.engine import CaseRecord, Column, environment
from parity.engine.bench import Measurement
from parity.errors import UsageError
from parity.report import Reproduction, check_folder, document
from parity.runners import available
from parity.suite.options import declare

if TYPE_CHECKING:
    from parity.cluster import Cluster

__all__ = ["main", "options", "reproduction_of"]


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
    add_cluster(parser)
    add_shard(parser)
    add_failed(parser)
    parser.add_argument(
        "--resume",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="RUN",
        help="go on with a run of the same options that was interrupted or killed, by default the one in the output "
        "folder: what it has judged is not run again",
    )
    add_watch(parser)
    parser.add_argument("--full", action="store_true", help="print a line for every kernel")
    add_json(parser)
    parser.add_argument(
        "--no-check-memory", dest="checked", action="store_false", help="faster: do not check every memory access"
    )
    parser.add_argument(
        "--time", action="store_true", help="measure too, as parity bench does, and show it in the matrix"
    )
    add_history(parser)
    add_github(parser)
    add_folders(parser)
    declare(parser.add_argument, "known-issues", type=Path)
    declare(parser.add_argument, "output", type=Path, default=Path("parity-out"), help="default: %(default)s")


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, report."""
    with clustered(arguments) as cluster:
        if arguments.watch:
            return watched(arguments, partial(_main, arguments, cluster))
        return _main(arguments, cluster, partial(_kept, arguments))


def _main(arguments: argparse.Namespace, cluster: Cluster | None, kept: Kept) -> int:
    run = _run(arguments, cluster)
    check_folder(arguments.output)
    warn(run.notes)
    console = messages(arguments.json)
    prepared = built(run, console)
    warn(prepared.problems)
    results = _executed(prepared, arguments.output / RECORD, kept(prepared))
    order = {entry.kernel: i for i, entry in enumerate(run.entries)}
    records = sorted(results.records, key=lambda record: order[record.kernel])
    costs = _measured(prepared, arguments.time and results.complete)
    recall, unread = stored_recall(run)
    warn(unread)
    results = replace(results, records=records, measured=costs, recall=recall)
    matrix = results.matrix
    reproduction = reproduction_of(arguments)
    unwritten = written(
        arguments.output, matrix, records, reproduction, run.suite, lambda: _history(arguments, results)
    )
    line = _build_line(results.built) if results.built else ""
    show(arguments, run.suite, matrix, records, reproduction, unwritten, line)
    tell_github(arguments, run.suite, matrix, records, reproduction)
    if unwritten is None:
        write_part(arguments.output, results, reproduction)
    warn(results.notes)
    return exit_code(matrix, run.known.mistakes, run.columns.problems, results.stopped, unwritten)


def _history(arguments: argparse.Namespace, results: Results) -> Mapping[str, Any]:
    """The history with this run, if there is one to keep and the run is complete."""
    if not (arguments.history and results.complete):
        return {}
    date = written_at(arguments.output / RECORD)
    recall = results.matrix.recall
    share = recall.caught / recall.planted if recall and recall.planted else None
    made = environment(results.plan, sys.argv[1:])
    return history_of(arguments.history, document(results.matrix), made, date, share)


def _run(arguments: argparse.Namespace, cluster: Cluster | None) -> Run:
    suite, selection = select(arguments)
    selection = failed_of(arguments, suite, selection)
    settings = Settings(
        arguments.examples, arguments.seed, arguments.checked, arguments.jobs, as_usual=arguments.launches is None
    )
    find = cluster.available if cluster else available
    runners = arguments.runner or default_runners(suite.entries_in(selection), arguments.target, find)
    chosen = columns(runners, arguments.target, find)
    return shard_of(arguments, Run(suite, selection, chosen, settings, cluster=cluster))


def _kept(arguments: argparse.Namespace, prepared: Prepared) -> tuple[CaseRecord, ...]:
    """The records that are kept of the run that is to be resumed, if one is."""
    if arguments.resume is None:
        return ()
    folder = arguments.output if arguments.resume == Path() else arguments.resume
    if not (folder / RECORD).exists():
        absent = f"there is no {folder / RECORD} to resume"
        if arguments.resume != Path():
            raise UsageError(f"{absent}; name the output folder of a run, and kernels before --resume")
        warn([f"{absent}: starting anew"])
        return ()
    kept = resumed(folder, prepared)
    kernels = {(record.op, record.kernel) for record in kept}
    warn([f"resuming: {len(kept)} cases of {len(kernels)} kernels are in {folder / RECORD}"])
    return kept


def _executed(prepared: Prepared, record: Path, kept: Sequence[CaseRecord]) -> Results:
    found = Counter(each.failed for each in kept)
    with reporting(bool(prepared.plan.tasks)) as (report, note):

        def each(record: CaseRecord) -> None:
            found[record.failed] += 1
            machines = f", {len(cluster.machines)} machines" if (cluster := prepared.run.cluster) else ""
            note(f"{found.total()} cases, {found[True]} failed{machines}")

        return prepared.execute(report, each, record, sys.argv[1:], kept)


def _measured(prepared: Prepared, now: bool) -> dict[tuple[str, Column], Measurement]:
    """The recorded measurements of kernels and, if ``now``, new measurements of those that execute here."""
    run = prepared.run
    found, problems = recorded_measurements(run)
    warn(problems)
    if now:
        result = measured(prepared)
        if result.stopped:
            warn([f"not everything was measured: {result.stopped or 'interrupted'}"])
        live = {(column.runner, column.target): column for column in run.columns.live}
        found += [(live[m.runner, m.target], m) for m in result.measurements]
    return first_valid(found)


def reproduction_of(arguments: argparse.Namespace) -> Reproduction:
    """The command that runs a case again as these arguments say."""
    given = {
        "target": arguments.target,
        "runner": arguments.runner,
        "toolchain": arguments.toolchain,
        "launches": arguments.launches,
        "kernels": arguments.kernels_dir,
        "hip": arguments.hip_dir,
        "cases": arguments.cases_dir,
    }
    return Reproduction.with_options(given, *(() if arguments.checked else ("--no-check-memory",)))


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
