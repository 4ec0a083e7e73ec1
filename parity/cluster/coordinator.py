"""Judges kernels whose columns no single worker has: workers execute the launches, and the client compares.

The client runs the same code as a worker process, but its sessions are stand-ins that send each launch to a worker. The
outcomes of all cases of a kernel are fetched ahead; later launches, for example during shrinking, are sent one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from parity.cluster import launches
from parity.cluster.launches import NEAREST, restore_unchanged
from parity.engine.calls import CallFailed, NoWorker, Pool
from parity.engine.case_records import CaseRecord, Column, Task
from parity.engine.execution import task_limit
from parity.engine.plan import Plan
from parity.engine.worker import Worker
from parity.errors import ResourceExhausted, Unsupported
from parity.model.code_object import CodeObject
from parity.model.launch import Arithmetic, Buffer, Computation, Launch, Outcome, Shadows
from parity.runners import OpSession, Session
from parity.runners.recording_file import launch_digest
from parity.suite.loading import Suite

T = TypeVar("T")


class Coordinator:
    """Executes tasks on workers, and judges them one after the other in a thread of the client."""

    def __init__(self, pool: Pool, plan: Plan, suite: Suite) -> None:
        self._pool, self._plan = pool, plan
        self._worker = _RemoteWorker(plan, suite, pool)
        self._thread = ThreadPoolExecutor(1, "parity coordinator")

    def perform(self, task: Task) -> Future[list[CaseRecord]]:
        """Execute a task on workers, and judge it here."""
        ahead, seconds = {}, task_limit(self._plan, task)
        for column in (column for column in task.columns if column.built):
            alone = [replace(task, columns=(column,))]
            ahead[column] = self._pool.schedule(launches.execute_task, alone, seconds=seconds, columns=(column,))
        return self._thread.submit(self._judge, task, ahead)

    def stop(self) -> None:
        """Cancel the tasks that have not started."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _judge(self, task: Task, ahead: Mapping[Column, Future[dict[str, Outcome]]]) -> list[CaseRecord]:
        for column, future in ahead.items():
            try:
                self._worker.fetched[column] = future.result()
            except CallFailed:  # so each launch is requested alone
                self._worker.fetched[column] = {}
            except NoWorker as reason:
                self._worker.absent[column] = str(reason)
        return self._worker.run(task)


class _RemoteWorker(Worker):
    """A worker whose devices are on other machines.

    ``fetched`` holds outcomes by column and launch digest, ``absent`` the reason why no worker has a column.
    """

    def __init__(self, plan: Plan, suite: Suite, pool: Pool) -> None:
        super().__init__(plan, suite)
        self.pool = pool
        self.fetched: dict[Column, dict[str, Outcome]] = {}
        self.absent: dict[Column, str] = {}

    def session(self, column: Column) -> Session | OpSession:
        """Return a stand-in for the device of a column."""
        if not column.live:
            return super().session(column)
        if column not in self.sessions:
            library = OpSession(partial(self._compute, column))
            self.sessions[column] = _remote_session(self, column) if column.built else library
        return self.sessions[column]

    def _compute(self, column: Column, asked: Computation) -> np.ndarray[Any, Any]:
        found = self.call(column, launches.compute, asked.op.partition(".")[0], asked)
        if found.output is None:
            raise Unsupported(found.unsupported)
        return found.output

    def call(self, column: Column, function: Callable[..., T], module: str, *arguments: Any) -> T:
        """Call ``function(module, column, *arguments)`` on a worker that has the column.

        Raises:
            ResourceExhausted: No worker has the column.
            CallFailed: The call ended its process.
        """
        if column in self.absent:
            raise ResourceExhausted(self.absent[column])
        try:
            return self.pool.schedule(
                function, [module, column, *arguments], seconds=self.plan.seconds, columns=(column,)
            ).result()
        except NoWorker as reason:
            self.absent[column] = str(reason)
            raise


class _RemoteSession:
    """A session on a worker. Subclasses add the optional capabilities that the real session has."""

    def __init__(self, worker: _RemoteWorker, column: Column, *, nearest: bool = False) -> None:
        self._worker, self._column, self._nearest = worker, column, nearest

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Do nothing: each worker prepares its kernels itself."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        found = self._worker.fetched.get(self._column, {}).get(NEAREST * self._nearest + launch_digest(launch, buffers))
        try:
            found = found or self._call(launches.execute, code, launch, dict(buffers), self._nearest)
        except CallFailed as error:
            return Outcome.untouched(buffers, error.fault(self._worker.plan.seconds))
        return restore_unchanged(found, buffers)

    def _call(self, function: Callable[..., T], code: CodeObject, *arguments: Any) -> T:
        return self._worker.call(self._column, function, code.module, *arguments)


class _RemoteDrawing(_RemoteSession):
    @property
    def nearest(self) -> _RemoteSession:
        return _RemoteSession(self._worker, self._column, nearest=True)


class _RemoteExplaining(_RemoteSession):
    def explain(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Sequence[str]:
        return self._call(launches.explain, code, launch, dict(buffers))


class _RemoteShadowing(_RemoteSession):
    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        return self._call(launches.max_arithmetic, code, launch)

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        return restore_unchanged(self._call(launches.shadows, code, launch, dict(buffers)), buffers)


_CAPABILITIES = {
    "SupportsNearest": _RemoteDrawing,
    "SupportsExplanation": _RemoteExplaining,
    "SupportsShadows": _RemoteShadowing,
}


def _remote_session(worker: _RemoteWorker, column: Column) -> Session:
    """Return a stand-in for the session of a column, with the same capabilities."""
    module = next(module for module, where in worker.plan.code if where == column)
    bases = tuple(_CAPABILITIES[name] for name in worker.call(column, launches.capabilities, module))
    found: Session = type("_Session", bases or (_RemoteSession,), {})(worker, column)
    return found
