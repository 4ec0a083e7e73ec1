"""Plant faults in the kernels, and measure how many of them the cases catch.

A fault is one edit, either of a kernel's source as compiled for AMD, or of one instruction of its listing, which needs
no compiler. The usual cases run until the first failure. For each survivor the command prints its location, its edit
and the reason: additional cases catch it (one is printed), no case executes it, or its results are within the error
bound. Every survivor counts as missed, unless the compiler generates the same code; a second figure leaves out the
faults without a known effect. A survivor shows where a case is missing.

The output folder stores the progress: after Ctrl-C, the same command resumes. The matrix shows a file recall.json in
the project's folder or in its reports/. Exit code: 0 faults were planted, whether caught or not; 2 wrong usage; 3 no
fault could be planted; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from parity.application.mutating import Planted, plant_faults
from parity.application.run import Prepared, Run, Settings
from parity.cli.shared.inputs import connect_cluster, select
from parity.cli.shared.terminal import build_run, messages, output, print_json, run_progress, warn
from parity.cluster.connection import Cluster
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS, target
from parity.errors import NotAvailable, UsageError, nearest
from parity.mutation.campaign import COUNT, LEVELS, SEARCH, CampaignSettings  # noqa: F401 - options.csv names them
from parity.mutation.mutant import MutantResult
from parity.mutation.operators import INSTRUCTIONS, SOURCE
from parity.mutation.recall import FILE
from parity.platform.serialization import json_text
from parity.platform.signals import INTERRUPTED
from parity.report.folder import output_folder, write_texts
from parity.report.recall import markdown, recall_summary, terminal
from parity.report.tables import terminal_width

TARGET = max(DEFAULT_TARGETS, key=lambda name: TARGETS[name].isa)
"""The newest default target: one target is enough to show what the cases catch."""
PLACES = (*LEVELS, "both")
KINDS = tuple(sorted({operator.kind for operator in (*SOURCE, *INSTRUCTIONS)}))


def main(arguments: argparse.Namespace) -> int:
    for kind in arguments.kind:
        if kind not in KINDS:
            raise UsageError(f"--kind {kind}: unknown class of faults{nearest(kind, KINDS)}; known: {' '.join(KINDS)}")
    with output_folder(arguments.output), connect_cluster(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, _ = select(arguments)
    if others := [name for name in arguments.target or () if target(name).vendor != "amd"]:
        raise UsageError(f"--target {','.join(others)}: faults are planted only for AMD; name an AMD target")
    drawing = Settings(arguments.examples, arguments.seed, jobs=arguments.jobs)
    names = {"dtypes": arguments.dtype, "targets": arguments.target or [TARGET]}
    run = Run.of(*arguments.selectors, **names, suite=suite, settings=drawing, cluster=cluster)
    prepared = build_run(run, messages(arguments.json))
    levels, kinds = LEVELS if arguments.levels == "both" else (arguments.levels,), frozenset(arguments.kind)
    settings = CampaignSettings(arguments.count, arguments.seed, levels, kinds, arguments.search)
    found = _planted(prepared, settings, arguments.output)
    texts = {FILE: json_text(found.recall, indent=1).decode() + "\n", "recall.md": markdown(found.recall)}
    write_texts(arguments.output, texts)
    if arguments.json:
        print_json({"recall": found.recall, "mutants": found.tried, "problems": found.problems})
    else:
        console = output()
        console.print(terminal(found.recall, full=arguments.full, width=terminal_width()))
        console.print(recall_summary(found.recall, found.tried, found.seconds, found.resumed), style="bold")
        console.print(f"recall and mutants: {arguments.output}/")
    warn(*found.problems)
    if isinstance(found.stopped, KeyboardInterrupt):
        return INTERRUPTED
    if found.stopped:
        raise found.stopped
    if not found.tried:
        raise NotAvailable("no fault could be planted")
    return 0


def _planted(prepared: Prepared, settings: CampaignSettings, folder: Path) -> Planted:
    counts = Counter[bool]()
    with run_progress() as (report, note):

        def each(tried: MutantResult) -> None:
            if tried.outcome.counts:
                counts[tried.outcome.caught] += 1
            note(f"{counts[True]} caught, {counts[False]} survived")

        return plant_faults(prepared, settings, folder, progress=report, each=each)
