"""Creates the worker processes for a plan."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from parity.compilers.targets import gpu_of
from parity.engine import worker
from parity.engine.calls import Pool, Progress, T, quiet
from parity.engine.plan import Plan
from parity.engine.processes import Processes
from parity.platform.subprocesses import processors
from parity.runners import OpRunner, Runner, SupportsDeviceNumbers, SupportsWorkerLimit, runner
from parity.suite.loading import Suite

CASES_PER_START = 400
"""Number of cases that must wait for each worker of a GPU before another one starts."""
STARTS_AT_ONCE = 8
"""Number of workers that open a GPU at the same time. The driver opens more of them one after the other."""

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
    """Start worker processes for a plan, and stop them at the end of the block or of this process."""
    with tempfile.TemporaryDirectory(prefix="parity-", ignore_cleanup_errors=True) as scratch:
        backlog, at_once = (0, None) if jobs else start_rule(plan)
        count, environments = jobs or default_jobs(plan), gpu_environments(plan)
        pool = Processes(count, worker.start, [plan, Path(scratch)], backlog, at_once, environments)
        try:
            pool.start()
            yield pool
        finally:
            pool.stop()


def start_rule(plan: Plan) -> tuple[int, int | None]:
    """Return ``backlog`` and ``at_once`` of the ``Processes`` for a plan; they start workers of GPUs as needed."""
    if not any(_device_limits(plan)):
        return 0, None
    cases = sum(len(task.columns) * (plan.examples if task.cases is None else len(task.cases)) for task in plan.tasks)
    return math.ceil(CASES_PER_START * len(plan.tasks) / max(1, cases)), STARTS_AT_ONCE


def gpu_environments(plan: Plan) -> Sequence[Mapping[str, str]]:
    """Return environment variables that show each worker one of the GPUs of a plan, so that it opens only that one.

    They are empty if the plan uses one GPU, or GPUs of several targets or runners.
    """
    used = {(column.spec, gpu_of(column.target)) for column in plan.columns if column.on_device}
    for spec, target in used if len(used) == 1 else ():
        if isinstance(found := runner(spec), SupportsDeviceNumbers):
            names = dict(enumerate(filter(None, os.environ.get(found.visible, "").split(","))))
            numbers = [number for number, each in enumerate(found.device_targets()) if each == target]
            return [{found.visible: names.get(each, str(each))} for each in numbers] if len(numbers) > 1 else ({},)
    return ({},)


@dataclass(frozen=True)
class Workers:
    """How to execute a plan: ``pools`` creates the pool with at most ``jobs`` processes (default: ``default_jobs``).

    ``progress`` receives the progress.
    """

    jobs: int | None = None
    progress: Progress = quiet
    pools: PoolFactory = worker_pool


def default_jobs(plan: Plan) -> int:
    """Return the largest number of workers: one per processor, limited by the work and by the devices of runners."""
    return min(processors(), max(1, sum(len(task.columns) for task in plan.tasks)), *_device_limits(plan))


def _device_limits(plan: Plan) -> Iterator[int]:
    """Yield how many workers the devices of each runner of a plan serve."""
    for spec in dict.fromkeys(column.spec for column in plan.columns if column.on_device):
        if isinstance(found := runner(spec), SupportsWorkerLimit):
            yield found.max_workers([column.target for column in plan.columns if column.spec == spec])


def completed(futures: Collection[Future[T]]) -> Iterator[Future[T]]:
    """Yield the futures as they finish. Futures that are already done come first, in their order."""
    done: SimpleQueue[Future[T]] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    left = len(futures)
    while left:
        # A wait without a time limit cannot be interrupted on every platform.
        with contextlib.suppress(Empty):
            yield done.get(timeout=1.0)
            left -= 1
