"""Executes runs on the workers of a Dask cluster.

The client packs a plan into bundles (``bundle``) and sends calls to workers through a pool (``pool``). Workers execute
calls in processes (``worker_node``). ``coordinator`` judges kernels whose columns no single worker has. ``distributed``
is imported when a cluster is used.
"""
