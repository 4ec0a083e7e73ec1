"""Run cases on a device and store the results, to replay them on any machine with --runner recorded=FILE.

The file holds every case with the values that the kernel wrote, the device and its software, and digests of the
sources. Recording does not judge the values; replaying does. FILE.partial stores the progress: after an interrupt or a
kill, the same command resumes. Exit code: 0 recorded; 2 wrong usage; 3 nothing was recorded, or memory or disk space
ran out; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from parity.application.recording import record
from parity.application.run import Run, Settings
from parity.cli.shared.inputs import apply_shard, connect_cluster, read_costs, select
from parity.cli.shared.terminal import build_run, errors, output, run_progress, warn
from parity.errors import ResourceExhausted, UsageError, pluralize
from parity.platform.signals import INTERRUPTED

if TYPE_CHECKING:
    from parity.cluster.connection import Cluster


def main(arguments: argparse.Namespace) -> int:
    if arguments.output.is_dir():
        raise UsageError(f"{arguments.output} is a folder; name a file with -o")
    with connect_cluster(arguments) as cluster:
        return _main(arguments, cluster)


def _main(arguments: argparse.Namespace, cluster: Cluster | None) -> int:
    suite, selection = select(arguments)
    settings = Settings(arguments.examples, arguments.seed, jobs=arguments.jobs)
    run = Run.on_one(suite, selection, arguments.runner, arguments.target, settings, "parity record", cluster)
    prepared = build_run(apply_shard(arguments, run, read_costs(arguments)))
    options = {"measured": arguments.time, "note": warn, "arguments": sys.argv[1:]}
    with run_progress() as (report, _):
        found = record(prepared, arguments.output, progress=report, **options)
    if isinstance(found.stopped, ResourceExhausted):
        raise ResourceExhausted(f"{found.stopped}; {found.kept}") from found.stopped
    if found.stopped:
        errors().print(f"parity: interrupted; {found.kept}", style="red")
        return INTERRUPTED
    faults = sum(case.fault is not None for case in found.cases)
    cases = pluralize(len(found.cases), "case")
    kernels = pluralize(len({case.kernel for case in found.cases}), "kernel")
    written = f"{found.file} ({found.file.stat().st_size / 1e6:.2f} MB)"
    output().print(f"{cases} of {kernels} on {' '.join(prepared.run.targets)}, {faults} with a fault: {written}")
    return 0
