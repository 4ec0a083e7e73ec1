"""Options of commands that run on a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parity.errors import UsageError

if TYPE_CHECKING:
    from parity.cluster import Cluster

__all__ = ["add_cluster", "add_insecure", "clustered"]


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run on a cluster."""
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="execute on the workers of a Dask cluster: the address of its scheduler (tls://HOST:8786), a file of "
        "Dask's configuration, or local[:N], N processes of this machine (docs/cluster.md)",
    )
    add_insecure(parser)


def add_insecure(parser: argparse.ArgumentParser) -> None:
    """Add the option that allows a scheduler that anybody can send code to."""
    parser.add_argument(
        "--insecure-cluster",
        action="store_true",
        help="allow a scheduler on another host without TLS: whoever reaches it can run code on all machines",
    )


@contextmanager
def clustered(arguments: argparse.Namespace) -> Iterator[Cluster | None]:
    """The cluster that the options name, if they name one.

    Raises:
        UsageError, MissingTool, NotAvailable: as ``connected``.
    """
    if arguments.cluster is None:
        if arguments.insecure_cluster:
            raise UsageError("--insecure-cluster is about --cluster, which is not given")
        yield None
        return
    if arguments.jobs:
        raise UsageError(
            "-j is about this machine, and --cluster about others; for N processes here, --cluster local:N"
        )
    from parity.cluster import connected

    with connected(arguments.cluster, insecure=arguments.insecure_cluster) as cluster:
        yield cluster
