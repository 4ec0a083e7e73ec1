"""Lend this machine to runs on a Dask cluster: start workers with what it has, until they are interrupted.

SCHEDULER is the address of a Dask scheduler (tls://HOST:8786), or a file of Dask's configuration that names one. There
is a worker for each GPU, or one if there is none; what each has is what parity doctor finds here. What clients send is
executed with the rights of the user who starts it: whoever can reach the scheduler can send code. docs/cluster.md shows
it with TLS. Exit code: 0 the scheduler ended, 2 wrong usage, 3 no scheduler answers, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import argparse

from parity.cli.clusters import add_insecure
from parity.cli.options import positive
from parity.cli.terminal import output
from parity.errors import UsageError

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("scheduler", metavar="SCHEDULER", help="the address of a scheduler, or a file that names one")
    parser.add_argument("-j", "--jobs", type=positive, metavar="N", help="calls at a time (default: one per processor)")
    add_insecure(parser)


def main(arguments: argparse.Namespace) -> int:
    """Look what is here, and start the workers."""
    from parity.cluster.connection import need_dask, parse_site, require_trusted
    from parity.cluster.workers import local_gpus, local_workers, run_workers

    where = parse_site(arguments.scheduler)
    if not where.address:
        raise UsageError(
            "--cluster local has workers of its own; parity worker is for the scheduler of another process"
        )
    require_trusted(where, arguments.insecure_cluster)
    need_dask()
    workers = list(local_workers(arguments.jobs, local_gpus()))
    for each in workers:
        output().print(each)
    run_workers(where, workers)
    return 0
