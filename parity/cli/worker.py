"""Lend this machine to runs on a Dask cluster: start workers that run until they are interrupted.

SCHEDULER is the address of a Dask scheduler (tls://HOST:8786), or a Dask configuration file that names one. The command
starts one worker for each GPU, or one worker on a machine without GPUs, with the tools that parity doctor finds.

Workers execute the code that clients send, with the rights of the user who started them. Anyone who can reach the
scheduler can send code. See docs/cluster.md for a setup with TLS.

Exit code: 0 the scheduler ended; 2 wrong usage; 3 no scheduler answers; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import argparse

from parity.cli.shared.terminal import output
from parity.errors import UsageError


def main(arguments: argparse.Namespace) -> int:
    """Start the workers for what this machine has."""
    from parity.cluster.connection import need_dask, parse_site, require_trusted
    from parity.cluster.workers import local_gpus, local_workers, run_workers

    where = parse_site(arguments.scheduler)
    if not where.address:
        raise UsageError("--cluster local starts its own workers; parity worker needs the scheduler of another process")
    require_trusted(where, arguments.insecure_cluster)
    need_dask()
    workers = list(local_workers(arguments.jobs, local_gpus()))
    for each in workers:
        output().print(each)
    run_workers(where, workers)
    return 0
