"""Columns of a kernel that no one worker has: executed wherever they can be, judged and compared in the client.

All that is done with the cases of one machine is done with these: a session here asks a worker for each launch. What
the cases of a kernel leave is fetched before, all at once; what follows of it, a search for a simpler case for one,
launch by launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from parity.cluster.launches import NEAREST, Observed, Replied, capable, computed, launched, observed_all
from parity.engine import CaseRecord, Column, Plan, Task
from parity.engine.calls import CallTimeout, NoWorker, Pool, WorkerCrashed, fault_of
from parity.engine.execution import task_limit
from parity.engine.worker import Worker
from parity.errors import ResourceExhausted, Unsupported
from parity.model.code_object import CodeObject
from parity.model.dtypes import DTYPES
from parity.model.launch import Arithmetic, Buffer, Computation, Launch, Outcome, Shadows
from parity.runners import Evidence, OpSession, Probe, Session
from parity.runners.recording_file import launch_digest
from parity.suite.loading import Suite

__all__ = ["Meeting"]

T = TypeVar("T")


class Meeting:
    """The place where columns meet: tasks are judged one after the other, in a thread of this process."""

    def __init__(self, pool: Pool, plan: Plan, suite: Suite) -> None:
        self._pool, self._plan = pool, plan
        self._worker = _Judge(plan, suite, pool)
        self._thread = ThreadPoolExecutor(1, "parity meeting")

    def perform(self, task: Task) -> Future[list[CaseRecord]]:
        """Execute a task on workers, and judge it here."""
        ahead = {
            column: self._pool.schedule(
                observed_all,
                [replace(task, columns=(column,))],
                seconds=task_limit(self._plan, task),
                columns=(column,),
            )
            for column in task.columns
            if column.built
        }
        return self._thread.submit(self._judged, task, ahead)

    def stop(self) -> None:
        """Do nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _judged(self, task: Task, ahead: Mapping[Column, Future[dict[str, Observed]]]) -> list[CaseRecord]:
        for column, future in ahead.items():
            try:
                self._worker.known[column] = future.result()
            except (WorkerCrashed, CallTimeout):  # each case is asked for by itself, then
                self._worker.known[column] = {}
            except NoWorker as reason:
                self._worker.absent[column] = str(reason)
        return self._worker.perform(task)


class _Judge(Worker):
    """A worker whose devices are those of others. ``known`` is what cases are known to leave there, by column."""

    def __init__(self, plan: Plan, suite: Suite, pool: Pool) -> None:
        super().__init__(plan, suite)
        self.pool = pool
        self.known: dict[Column, dict[str, Observed]] = {}
        self.absent: dict[Column, str] = {}

    def session(self, column: Column) -> Session | OpSession:
        """A stand-in for the device of a column."""
        if not column.live:
            return super().session(column)
        if column not in self.sessions:
            elsewhere = _session(self, column) if column.built else OpSession(_Elsewhere(self, column), column.target)
            self.sessions[column] = elsewhere
        return self.sessions[column]

    def ask(self, column: Column, function: Callable[..., T], *arguments: Any) -> T:
        """The answer of a worker with the column.

        Raises:
            SystemLacks: there is none.
            Died, Late: its process did not answer.
        """
        if column in self.absent:
            raise ResourceExhausted(self.absent[column])
        module = str(arguments[0])
        try:
            return self.pool.schedule(
                function, [module, column, *arguments[1:]], seconds=self.plan.seconds, columns=(column,)
            ).result()
        except NoWorker as reason:
            self.absent[column] = str(reason)
            raise ResourceExhausted(self.absent[column]) from reason


class _Remote:
    """A session on a worker."""

    def __init__(self, judge: _Judge, column: Column) -> None:
        self._judge, self._column = judge, column

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Do nothing: workers do that themselves."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch there, or take what it is known to leave."""
        return self._outcome("execute", "", code, launch, buffers)

    def _outcome(
        self, method: str, prefix: str, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]
    ) -> Outcome:
        known = self._judge.known.get(self._column, {}).get(prefix + launch_digest(launch, buffers))
        if known is not None:
            return known.outcome(buffers)
        try:
            return self._ask(method, code, launch, buffers).outcomes[0][0].outcome(buffers)
        except (WorkerCrashed, CallTimeout) as error:
            return Outcome.untouched(buffers, fault_of(error, self._judge.plan.seconds))

    def _ask(self, method: str, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Replied:
        return self._judge.ask(self._column, launched, code.module, method, launch, dict(buffers))


class _Drawn(_Remote):
    """One that draws the results of approximate instructions."""

    @property
    def nearest(self) -> _Nearest:
        return _Nearest(self._judge, self._column)


class _Nearest(_Remote):
    """The same device with the nearest numbers."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        return self._outcome("nearest", NEAREST, code, launch, buffers)


class _Explained(_Remote):
    """One that can find out more after a wrong result."""

    def explain(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Sequence[str]:
        return self._ask("explain", code, launch, buffers).texts


class _Shadowed(_Remote):
    """One that executes with other roundings."""

    def arithmetic(self, code: CodeObject, launch: Launch) -> Arithmetic:
        return Arithmetic(self._ask("arithmetic", code, launch, {}).number)

    def shadows(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Shadows:
        found = self._ask("shadows", code, launch, buffers).outcomes
        (nearest,), moved, narrowed = ([each.outcome(buffers) for each in group] for group in found)
        return Shadows(nearest, tuple(moved), tuple(narrowed))


_CAPABLE = {"SupportsNearest": _Drawn, "SupportsExplanation": _Explained, "SupportsShadows": _Shadowed}


def _session(judge: _Judge, column: Column) -> Session:
    """A stand-in for the session of a column, with the capabilities that it has there."""
    module = next(module for module, where in judge.plan.code if where == column)
    bases = tuple(_CAPABLE[name] for name in judge.ask(column, capable, module))
    found: Session = type("_Session", bases or (_Remote,), {})(judge, column)
    return found


class _Elsewhere:
    """A library on a worker."""

    def __init__(self, judge: _Judge, column: Column) -> None:
        self._judge, self._column = judge, column
        self.name, self.vendor, self.evidence = column.runner, column.vendor, Evidence.LIBRARY

    def probe(self) -> Probe:
        """It is there, as far as is known."""
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return (self._column.target,)

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        """As ``OpRunner.compute``."""
        found = self._judge.ask(self._column, computed, asked.op.partition(".")[0], asked)
        if found.unsupported is not None:
            raise Unsupported(found.unsupported)
        dtype = next((each.numpy for each in DTYPES.values() if each.numpy.name == found.dtype), None)
        return np.frombuffer(found.data, dtype or np.dtype(found.dtype)).reshape(found.shape).copy()
