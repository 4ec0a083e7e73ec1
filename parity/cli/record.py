"""Run cases on a device and store what they leave behind, to be replayed on any machine: --runner recorded=FILE.

The file holds every case with the values the kernel wrote, the device and its software, and digests of the sources.
Nothing is compared: that is done where it is replayed. What there is so far is kept in FILE.partial, and the same
command, started again after it was interrupted or killed, continues there. Exit code: 0 recorded, 2 wrong usage,
3 nothing was recorded, or the system lacks memory or space, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from parity.application import Run, Settings, record
from parity.cli.clusters import add_cluster, clustered
from parity.cli.options import add_drawing, add_folders, add_jobs, add_selection, add_target, select
from parity.cli.shards import add_shard, shard_of
from parity.cli.terminal import built, errors, output, reporting, warn
from parity.errors import ResourceExhausted, UsageError, count_of
from parity.platform.signals import INTERRUPTED

if TYPE_CHECKING:
    from parity.cluster import Cluster

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--runner", default="cuda", metavar="NAME", help="what executes (default: %(default)s)")
    add_target(parser, "those of the runner")
    parser.add_argument("--time", action="store_true", help="measure as well, as parity bench does; a replay shows it")
    add_drawing(parser)
    add_jobs(parser)
    add_cluster(parser)
    add_shard(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Select, build, execute, store."""
    if arguments.output.is_dir():
        raise UsageError(f"{arguments.output} is a folder; name a file with -o")
    with clustered(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, selection = select(arguments)
    settings = Settings(arguments.examples, arguments.seed, jobs=arguments.jobs)
    run = Run.on_one(suite, selection, arguments.runner, arguments.target, settings, "parity record", cluster)
    prepared = built(shard_of(arguments, run))
    with reporting() as (report, _):
        found = record(
            prepared,
            arguments.output,
            measured=arguments.time,
            progress=report,
            note=lambda text: warn([text]),
            arguments=sys.argv[1:],
        )
    if isinstance(found.stopped, ResourceExhausted):
        raise ResourceExhausted(f"{found.stopped}; {found.kept}") from found.stopped
    if found.stopped:
        errors().print(f"parity: interrupted; {found.kept}", style="red")
        return INTERRUPTED
    faults = sum(case.fault is not None for case in found.cases)
    cases, kernels = count_of(len(found.cases), "case"), count_of(len({case.kernel for case in found.cases}), "kernel")
    size = found.file.stat().st_size / 1e6
    output().print(
        f"{cases} of {kernels} on {' '.join(prepared.run.targets)}, {faults} with a fault: {found.file} ({size:.2f} MB)"
    )
    return 0
