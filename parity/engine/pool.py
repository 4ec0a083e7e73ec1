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
from typing import Protocol

from parity.engine import worker
from parity.engine.calls import Pool, T
from parity.engine.plan import Plan
from parity.engine.processes import Processes
from parity.runners import OpRunner, Runner, SupportsWorkerLimit, runner
from parity.suite.loading import Suite

__all__ = ["PoolFactory", "RemoteWorkers", "completed", "default_jobs", "processors", "worker_pool"]

PoolFactory = Callable[[Plan, int | None], AbstractContextManager[Pool]]
"""A function that creates the pool for a plan, with at most the given number of processes (None: its own default)."""


class RemoteWorkers(Protocol):
    """Workers on other machines that execute a run instead of this machine."""

    @property
    def machines(self) -> Collection[str]:
        """The names of the machines that have answered calls."""

    def available(self, spec: str) -> Runner | OpRunner:
        """Return the runner that ``--runner`` names.

        Raises:
            NotAvailable: No worker has the runner.
        """

    def describe(self, spec: str) -> dict[str, str]:
        """Return facts about the device of a runner."""

    def pool(self, suite: Suite, plan: Plan, *, alone: bool = False) -> AbstractContextManager[Pool]:
        """Return the pool for a plan; with ``alone``, each call has a device to itself."""


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
