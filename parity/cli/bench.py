"""Measure the speed of kernels relative to the limits of the device; for emulated targets, count instructions.

A kernel is timed only after some of its cases gave correct values. Its share is the time that the copy rate or FLOP
rate of the device would allow, divided by the measured time. Both rates are measured in the same run. Unlike seconds,
shares are comparable across devices.

Exit code: 0 measured, 1 a kernel is wrong or slower than the baseline, 2 wrong usage, 3 nothing was measured or could
be compared, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from parity.application.run import Run, Settings
from parity.build.result import Built
from parity.cli.shared.inputs import connect_cluster, select
from parity.cli.shared.terminal import build_run, measure_run, messages, output, print_json
from parity.cluster.connection import Cluster
from parity.engine.bench import NOT_JUDGED
from parity.engine.bench_baseline import BenchBaseline, BenchVerdict, read_baseline
from parity.errors import NotAvailable, pluralize
from parity.platform.files import naming_write_errors, require_file
from parity.platform.signals import INTERRUPTED
from parity.report.bench import BenchResults, bench_csv, bench_dict, bench_json, bench_markdown, bench_terminal
from parity.suite.options import TABLES

FORMATS = dict(zip(TABLES, (bench_json, bench_markdown, bench_csv), strict=True))
EXAMPLES = 3
PURPOSE = "parity bench"


def main(arguments: argparse.Namespace) -> int:
    with connect_cluster(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, selection = select(arguments)
    baseline = read_baseline(arguments.baseline) if arguments.baseline else None
    for path in arguments.save:
        _write(path)  # fail now rather than after minutes of measuring
    settings = Settings(EXAMPLES, jobs=arguments.jobs)
    prepared = build_run(Run.on_one(suite, selection, arguments.runner, arguments.target, settings, PURPOSE, cluster))
    found = measure_run(prepared, hot=arguments.hot, seconds=arguments.seconds)
    if isinstance(found.stopped, NotAvailable) and not found.measurements:
        raise found.stopped
    results = found.results(sys.argv[1:])
    if baseline:
        threshold = arguments.threshold / 100
        changes = [baseline.change(m, results.devices[m.target], threshold) for m in found.measurements]
        results = replace(results, changes=changes)
    if arguments.json:
        print_json(bench_dict(results))
    else:
        output().print(bench_terminal(results))
    console = messages(arguments.json)
    for line in _summary(results, baseline):
        console.print(line)
    for path in arguments.save:
        _write(path, FORMATS[path.suffix](results))
    if arguments.save:
        console.print(f"saved: {' '.join(map(str, arguments.save))}")
    if isinstance(found.stopped, KeyboardInterrupt):
        return INTERRUPTED
    if found.stopped:
        raise found.stopped
    return _code(results, prepared.built)


def _write(path: Path, text: str = "") -> None:
    """Write a text to a file; without a text, check that the file is writable."""
    with naming_write_errors(path, "choose another file with --save"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            require_file(path)
        with path.open("w" if text else "a", encoding="utf-8") as file:
            file.write(text)


def _summary(results: BenchResults, baseline: BenchBaseline | None) -> Iterator[str]:
    measured = [m for m in results.measurements if not m.problem]
    wrong = len(results.measurements) - len(measured)
    text = f"{pluralize(len({m.kernel for m in measured}), 'kernel')}, {pluralize(len(measured), 'case')} measured"
    yield ("" if results.complete else "interrupted: ") + text + (f", {wrong} not" if wrong else "")
    if baseline:
        counts = Counter(change.verdict for change in results.changes)
        yield "since the baseline: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        made = {(m.target, m.case) for m in results.measurements}
        missing = sum(key not in made for key in baseline.measurements)
        if missing:
            yield f"of the baseline, {pluralize(missing, 'measurement')} not repeated"
        if counts[BenchVerdict.OTHER]:
            yield f"the baseline was measured on {'; '.join(dict.fromkeys(baseline.devices.values()))}"


def _code(results: BenchResults, built: Sequence[Built]) -> int:
    slower = any(change.verdict is BenchVerdict.SLOWER for change in results.changes)
    problems = [m.problem for m in results.measurements if m.problem]
    unjudged = [problem for problem in problems if problem.startswith(NOT_JUDGED)]
    if slower or len(problems) > len(unjudged) or any(b.error for b in built):
        return 1
    if unjudged:
        raise NotAvailable(unjudged[0])
    if not results.measurements:
        raise NotAvailable("nothing was measured: no selected kernel declares a case to measure")
    if results.changes and all(change.ratio is None for change in results.changes):
        raise NotAvailable("nothing could be compared: the baseline has none of these measurements for this device")
    return 0
