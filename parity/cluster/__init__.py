"""Runs on the workers of a Dask cluster: the pool that hands them calls, what travels to them, and what they do.

``distributed`` is imported when a cluster is used, and not with this package.
"""

from parity.cluster.connection import Cluster, connected

__all__ = ["Cluster", "connected"]
