"""Options that divide a run among machines which know nothing of each other."""

from __future__ import annotations

import argparse
from pathlib import Path

from parity.application import Run, measured_costs
from parity.engine import Shard
from parity.errors import UsageError

__all__ = ["add_shard", "shard_of"]


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Options that divide a run among machines."""
    parser.add_argument(
        "--shard", metavar="I/N", help="only the I-th of N parts of the kernels; parity merge puts all parts together"
    )
    parser.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="the matrix.json of an earlier run, whose costs the shards have in equal parts; the same for all shards "
        "(default: kernels count alike)",
    )


def shard_of(arguments: argparse.Namespace, run: Run) -> Run:
    """The shard of a run that the options ask for, or all of it.

    Raises:
        UsageError: there is no such shard, or the file of costs is none.
    """
    if arguments.costs and not arguments.shard:
        raise UsageError("--costs divides a run among shards; say which one is to run with --shard I/N")
    costs = measured_costs(arguments.costs) if arguments.costs else {}
    return run.shard(Shard.of(arguments.shard), costs) if arguments.shard else run
