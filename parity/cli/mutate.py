"""Plant faults in the kernels, and see which ones the cases catch.

A fault is one edit of a kernel's source, as it is compiled for AMD, or of one instruction of its listing, which needs
no compiler. The usual cases run up to the first that fails. What survives is printed with its place, its edit and the
reason: more cases catch it (one is printed), it is never executed, or its results are within the error budget. What is
executed without any effect counts as equivalent, as far as known. A survivor is an invitation to add a case.

The output folder keeps what is done: after Ctrl-C the same command goes on where it ended. A file recall.json in the
project's folder, or in its reports/, is shown in the matrix. Exit code: 0 faults were planted, whatever became of them;
2 wrong usage; 3 nothing could be planted; 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from parity.application import Run, Settings
from parity.application.mutating import Planted, plant_faults
from parity.application.run import Prepared
from parity.cli.clusters import add_cluster, clustered
from parity.cli.options import add_drawing, add_folders, add_jobs, add_json, add_selection, names, positive, select
from parity.cli.terminal import built, messages, output, print_json, reporting, warn
from parity.cluster import Cluster
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS, target
from parity.errors import NotAvailable, UsageError, nearest
from parity.mutation import COUNT, FILE, INSTRUCTIONS, LEVELS, SEARCH, SOURCE, CampaignSettings, MutantResult
from parity.platform.serialization import json_text
from parity.platform.signals import INTERRUPTED
from parity.report.folder import check_folder, write_texts
from parity.report.recall import markdown, recall_summary, terminal
from parity.report.tables import terminal_width
from parity.suite.options import declare

__all__ = ["main", "options"]

TARGET = max(DEFAULT_TARGETS, key=lambda name: TARGETS[name].isa)
"""One target is enough to see what cases catch: the newest of the usual ones."""
KINDS = tuple(sorted({operator.kind for operator in (*SOURCE, *INSTRUCTIONS)}))


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    declare(parser.add_argument, "target", help=f"AMD targets (default: {TARGET})")
    parser.add_argument(
        "--count", type=positive, default=COUNT, metavar="N", help="faults to plant in all (default: %(default)s)"
    )
    parser.add_argument(
        "--in", dest="levels", choices=(*LEVELS, "both"), default="both",
        help="where: in single instructions, in source, or in both (the default: one of four in source)",
    )  # fmt: skip
    parser.add_argument(
        "--kind", type=names, action="extend", default=[], metavar="K,..", help=f"classes of faults: {' '.join(KINDS)}"
    )
    parser.add_argument(
        "--search", type=_natural, default=SEARCH, metavar="N",
        help="cases to draw for a survivor, in search of one that catches it (default: %(default)s; 0: none)",
    )  # fmt: skip
    add_drawing(parser, examples=None, seed=0)
    add_jobs(parser)
    add_cluster(parser)
    parser.add_argument("--full", action="store_true", help="print a line for every kernel")
    add_json(parser)
    add_folders(parser)
    declare(parser.add_argument, "output", type=Path, default=Path("parity-out"), help="default: %(default)s")


def main(arguments: argparse.Namespace) -> int:
    """Select, build, plant, report."""
    for kind in arguments.kind:
        if kind not in KINDS:
            raise UsageError(
                f"--kind {kind}: there is no such class of faults{nearest(kind, KINDS)}; known: {' '.join(KINDS)}"
            )
    with clustered(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, _ = select(arguments)
    check_folder(arguments.output)
    if others := [name for name in arguments.target or () if target(name).vendor != "amd"]:
        raise UsageError(f"--target {','.join(others)}: faults are planted in AMD's side; name a target of AMD's")
    run = Run.of(
        *arguments.selectors,
        dtypes=arguments.dtype,
        targets=arguments.target or [TARGET],
        suite=suite,
        settings=Settings(arguments.examples, arguments.seed, jobs=arguments.jobs),
        cluster=cluster,
    )
    prepared = built(run, messages(arguments.json))
    settings = CampaignSettings(
        arguments.count,
        arguments.seed,
        LEVELS if arguments.levels == "both" else (arguments.levels,),
        frozenset(arguments.kind),
        arguments.search,
        arguments.jobs,
    )
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
    warn(found.problems)
    if isinstance(found.stopped, KeyboardInterrupt):
        return INTERRUPTED
    if found.stopped:
        raise found.stopped
    if not found.tried:
        raise NotAvailable("no fault could be planted")
    return 0


def _planted(prepared: Prepared, settings: CampaignSettings, folder: Path) -> Planted:
    counts = Counter[bool]()
    with reporting() as (report, note):

        def each(tried: MutantResult) -> None:
            if tried.outcome.counts:
                counts[tried.outcome.caught] += 1
            note(f"{counts[True]} caught, {counts[False]} survived")

        return plant_faults(prepared, settings, folder, progress=report, each=each)


def _natural(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)
