"""Run cases, compare every value with its reference, and print the results.

The output folder receives the record (one JSON line per case), the matrix (text, Markdown, JSON, CSV, JUnit XML),
report.html and the failures.

Failures are printed first and in full, then one line per module: a word for each target, and a word for the agreement
with CUDA. -v prints one line per op with all numbers and their legend, and -vv one line per kernel. The output fits the
width of the terminal, or COLUMNS, and 100 columns in files and pipes. matrix.txt in the output folder is complete.

Exit code: 0 everything passed or is a known issue; 1 a failure, or a known issue that needs attention; 2 wrong usage,
or a mistake in the file of known issues; 3 nothing was run, or something other than a kernel (no memory, a full disk, a
reference that raised) kept cases from being judged; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.application.columns import default_runners, select_columns
from parity.application.loaded_run import written_at
from parity.application.measuring import first_valid, recorded_measurements
from parity.application.merging import PART, write_shard_file
from parity.application.resuming import resumable_records
from parity.application.run import Prepared, Results, Run, Settings
from parity.application.stored_results import RECORD
from parity.build.result import Built
from parity.cli.shared.inputs import EarlierRun, apply_shard, connect_cluster, select, select_failed
from parity.cli.shared.outputs import (
    annotate_github,
    outcome,
    print_results,
    reproduction_command,
    try_write_reports,
    update_history,
)
from parity.cli.shared.terminal import build_run, measure_run, messages, run_progress, warn
from parity.engine.bench import Measurement
from parity.engine.case_records import CaseRecord, Column
from parity.engine.record_file import environment
from parity.errors import UsageError, pluralize
from parity.mutation.recall import stored_recall
from parity.platform.files import naming_write_errors
from parity.report.document import document
from parity.report.folder import ADVICE, REPORTS, UPGRADE, output_folder, remove_files
from parity.report.upgrade import markdown, totals, upgrades
from parity.runners import available
from parity.suite.options import DEFAULT_RUNNER

if TYPE_CHECKING:
    from parity.cluster.connection import Cluster

KeptRecords = Callable[[Prepared], tuple[CaseRecord, ...]]
"""Returns the records of kernels that a run does not need to execute again."""

_SLOWEST = 5
"""Modules to name whose compilation takes longest."""


def main(arguments: argparse.Namespace) -> int:
    return run_with(arguments, lambda run: run(partial(_kept, arguments)))


def run_with(arguments: argparse.Namespace, call: Callable[[Callable[[KeptRecords], int]], int]) -> int:
    """Prepare the output folder and the cluster. Return the result of ``call``, which gets the function that runs."""
    with output_folder(arguments.output):
        try:
            earlier = EarlierRun.read(arguments)
        finally:
            _remove_reports(arguments.output)
        with connect_cluster(arguments) as cluster:
            return call(partial(_main, arguments, cluster, earlier))


def _remove_reports(folder: Path) -> None:
    """Remove the reports of an earlier run, which would look like results of this run if it fails.

    The record stays, for ``--failed`` and ``--resume``; the execution replaces it.
    """
    remove_files(folder, *REPORTS, UPGRADE, PART)


def _main(arguments: argparse.Namespace, cluster: Cluster | None, earlier: EarlierRun, kept: KeptRecords) -> int:
    _remove_reports(arguments.output)  # again, for parity watch
    run = _run(arguments, cluster, earlier)
    warn(*run.notes)
    console = messages(arguments.json)
    prepared = build_run(run, console)
    warn(*prepared.problems)
    results = _executed(prepared, arguments.output / RECORD, kept(prepared))
    order = {entry.kernel: i for i, entry in enumerate(run.entries)}
    records = sorted(results.records, key=lambda record: order[record.kernel])
    costs = _measured(prepared, arguments.time and results.complete)
    recall, unread = stored_recall(run.suite.cases, run.suite.kernels)
    warn(*unread)
    results = replace(results, records=records, measured=costs, recall=recall)
    matrix = results.matrix
    reproduction = reproduction_command(arguments)
    unwritten = try_write_reports(
        arguments.output, matrix, records, reproduction, run.suite, lambda: _history(arguments, results)
    )
    line = _build_line(results.built, slowest=not records) if results.built else ""
    mistakes, problems = run.known.mistakes, run.columns.problems
    if not run.suite.capture:
        mistakes = (*run.suite.problems, *mistakes)
    elif not arguments.selectors:  # launches of kernels that the project does not define
        problems = (*problems, *run.suite.problems)
    if arguments.strict:  # recorded values of other sources or cases prove nothing about the present ones
        problems = (*problems, *run.changed_kernels, *results.stale, *prepared.problems)
    result = outcome(matrix, mistakes, problems, results.stopped, unwritten, arguments.strict)
    print_results(arguments, run.suite, matrix, records, reproduction, result, line)
    _report_upgrade(arguments, results)
    annotate_github(arguments, run.suite, matrix, records, reproduction)
    if unwritten is None:
        write_shard_file(arguments.output, results, reproduction)
    warn(*results.notes)
    return result.finish()


def _report_upgrade(arguments: argparse.Namespace, results: Results) -> None:
    """With several versions of ROCm, print what the newer ones change, and write it to a file."""
    found = upgrades(results.run.columns.every, results.records, results.without_cases, results.plan.code)
    if found:
        file = arguments.output / UPGRADE
        with naming_write_errors(file, ADVICE):
            file.write_text(markdown(found), encoding="utf-8")
        console = messages(arguments.json)
        for line in (*totals(found), f"changed kernels: {file}"):
            console.print(line)


def _history(arguments: argparse.Namespace, results: Results) -> Mapping[str, Any]:
    """With ``--history``, add a complete run to the history, and return the history for the report."""
    if not (arguments.history and results.complete):
        return {}
    date = written_at(arguments.output / RECORD)
    total = results.matrix.recall.total if results.matrix.recall else None
    share = total.caught / total.planted if total and total.planted else None
    made = environment(results.plan, sys.argv[1:])
    return update_history(arguments.history, document(results.matrix), made, date, share)


def _run(arguments: argparse.Namespace, cluster: Cluster | None, earlier: EarlierRun) -> Run:
    suite, selection = select(arguments)
    selection = select_failed(earlier, suite, selection)
    settings = Settings(
        arguments.examples, arguments.seed, arguments.checked, arguments.jobs, as_usual=arguments.launches is None
    )
    find = cluster.available if cluster else available
    if suite.capture and cluster:
        raise UsageError("--captured runs on this machine; leave out --cluster")
    captured = [DEFAULT_RUNNER] if suite.capture else []  # CUDA's values are in the capture
    entries = suite.entries_in(selection)
    runners = arguments.runner or captured or default_runners(entries, arguments.target, find)
    chosen = select_columns(runners, arguments.target, find, entries)
    return apply_shard(arguments, Run(suite, selection, chosen, settings, cluster=cluster), earlier.costs)


def _kept(arguments: argparse.Namespace, prepared: Prepared) -> tuple[CaseRecord, ...]:
    """With ``--resume``, the records of the earlier run that stay valid."""
    if arguments.resume is None:
        return ()
    folder = arguments.output if arguments.resume == Path() else arguments.resume
    if not (folder / RECORD).exists():
        absent = f"there is no {folder / RECORD} to resume"
        if arguments.resume != Path():
            raise UsageError(f"{absent}; give --resume the output folder of a run, and name kernels before it")
        warn(f"{absent}: starting a new run")
        return ()
    kept = resumable_records(folder, prepared)
    kernels = {(record.op, record.kernel) for record in kept}
    warn(f"resuming: {pluralize(len(kept), 'case')} of {pluralize(len(kernels), 'kernel')} are in {folder / RECORD}")
    return kept


def _executed(prepared: Prepared, record: Path, kept: Sequence[CaseRecord]) -> Results:
    found = Counter(each.failed for each in kept)
    with run_progress(bool(prepared.plan.tasks)) as (report, note):

        def each(record: CaseRecord) -> None:
            found[record.failed] += 1
            machines = f", {len(cluster.machines)} machines" if (cluster := prepared.run.cluster) else ""
            note(f"{found.total()} cases, {found[True]} failed{machines}")

        return prepared.execute(report, each, record, sys.argv[1:], kept)


def _measured(prepared: Prepared, now: bool) -> dict[tuple[str, Column], Measurement]:
    """The measurements in recordings and, if ``now``, new measurements of kernels that execute here."""
    run = prepared.run
    found, problems = recorded_measurements(run)
    warn(*problems)
    if now:
        result = measure_run(prepared)
        if result.stopped:
            warn(f"not everything was measured: {result.stopped or 'interrupted'}")
        live = {(column.runner, column.target): column for column in run.columns.live}
        found += [(live[m.runner, m.target], m) for m in result.measurements]
    return first_valid(found)


def _build_line(built: Sequence[Built], *, slowest: bool) -> str:
    """Describe the build, on request with the ``slowest`` modules.

    Empty if everything came from the cache without complaints.
    """
    fresh = [b for b in built if not b.cached and not b.error]
    failed = sum(bool(b.error) for b in built)
    partial = sum(bool(b.changes.faulty) for b in built)
    unmapped = sum(len(b.changes.unmapped) for b in built)
    if not (fresh or failed or partial or unmapped):
        return ""
    modules = pluralize(len({b.module for b in built}), "module")
    parts = [f"{modules} built for {' '.join(dict.fromkeys(b.target for b in built))}"]
    parts += [f"{len(fresh)} compiled, {len(built) - len(fresh) - failed} from the cache"] if fresh or failed else []
    parts += [f"{failed} with errors"] if failed else []
    parts += [f"{partial} without kernels that have errors (parity build lists them)"] if partial else []
    parts += [f"{unmapped} identifiers that hipify could not map (parity build lists them)"] if unmapped else []
    if slowest and (compiled := [each for each in built if not each.cached]):
        seconds = dict.fromkeys((each.module for each in compiled), 0.0)
        for each in compiled:
            seconds[each.module] += each.seconds
        longest = sorted(seconds.items(), key=lambda one: -one[1])[:_SLOWEST]
        named = ", ".join(f"{module} {time:.0f} s" for module, time in longest)
        parts.append(f"{sum(seconds.values()):.0f} s of compilation: {named}")
    return "; ".join(parts)
