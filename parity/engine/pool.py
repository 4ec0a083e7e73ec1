"""The worker processes of a run or a recording."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from queue import Empty, SimpleQueue

from parity.engine import worker
from parity.engine.calls import Pool, T
from parity.engine.plan import Plan
from parity.engine.processes import Processes
from parity.runners import SupportsWorkerLimit, runner

__all__ = ["Pools", "completed", "default_jobs", "processors", "worker_pool"]

Pools = Callable[[Plan, int | None], AbstractContextManager[Pool]]
"""A function that makes what executes a plan, in so many processes (default: as it thinks best)."""


@contextlib.contextmanager
def worker_pool(plan: Plan, jobs: int | None = None) -> Iterator[Processes]:
    """Processes that execute a plan; they end with the block, and with this process however it ends."""
    with tempfile.TemporaryDirectory(prefix="parity-", ignore_cleanup_errors=True) as scratch:
        pool = Processes(jobs or default_jobs(plan), worker.start, [plan, Path(scratch)])
        try:
            pool.start()
            yield pool
        finally:
            pool.stop()


def default_jobs(plan: Plan) -> int:
    """One worker per processor this process may use, if there is work for so many, and devices of each runner."""
    limits = [processors(), max(1, sum(len(task.columns) for task in plan.tasks))]
    for spec in dict.fromkeys(column.spec for column in plan.columns if column.on_device):
        if isinstance(found := runner(spec), SupportsWorkerLimit):
            limits.append(found.max_workers([column.target for column in plan.columns if column.spec == spec]))
    return min(limits)


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def completed(futures: Collection[Future[T]]) -> Iterator[Future[T]]:
    """The futures as they finish; those that are done already come first, in their order."""
    done: SimpleQueue[Future[T]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left = len(futures)
    while left:
        # A time limit, because a wait without one cannot be interrupted on every platform.
        with contextlib.suppress(Empty):
            yield done.get(timeout=1.0)
            left -= 1
