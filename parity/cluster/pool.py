"""The pool that hands calls to the workers of a cluster, as ``Processes`` does to those of this machine."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import pickle
import signal
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from parity.cluster.content import bundled
from parity.cluster.meeting import Meeting
from parity.cluster.messages import FUNCTIONS, Answer, Request, resource, versions
from parity.cluster.remote import answered, content, key_of, released
from parity.documents import packed, unpacked
from parity.engine import Column, Plan, Task, worker
from parity.engine.calls import Absent, Died
from parity.errors import NotAvailable, ParityError
from parity.suite import Suite

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskPool", "needed"]

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds for which a call waits while no worker has what it needs: one that is started again is back by then."""

WATCH = 2.0
"""Seconds between two looks at what workers there are."""

TRIES = 4
"""Workers that may lose a device under a call before nobody is asked any more."""


def needed(columns: Sequence[Column]) -> tuple[str, ...]:
    """The resources that a worker has to have for these columns."""
    found = (resource(column.runner, column.evidence, column.target) for column in columns)
    return tuple(sorted(set(filter(None, found))))


@dataclass(eq=False)
class _Call:
    future: Future[Any]
    function: str
    request: bytes
    resources: tuple[str, ...]
    tries: int = 0
    dask: Any = None


@dataclass(eq=False)
class DaskPool:
    """Calls of one plan of a suite on the workers of a cluster.

    A task goes to a worker that has all of its columns; if there is none, they meet here.

    ``client`` belongs to ``loop``, where everything happens but ``schedule``. ``machines`` counts the calls that each
    machine has answered. ``shared`` as in ``Pool``.
    """

    client: Client
    loop: asyncio.AbstractEventLoop
    plan: Plan
    suite: Suite
    shared: bool
    machines: Counter[str]
    _queue: list[_Call] = field(default_factory=list)
    _open: set[_Call] = field(default_factory=set)
    _problem: Exception | None = None
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self._bundle, self._digest, self._contents = bundled(self.plan)
        self._versions = versions()
        self._name = uuid.uuid4().hex[:8]
        self._names = {function: name for name, function in FUNCTIONS.items()} | {worker.perform: "perform"}
        self._tasks: set[asyncio.Task[None]] = set()
        self._absent: dict[tuple[str, ...], float] = {}
        self._workers: list[Mapping[str, float]] = []
        self._meeting = Meeting(self, self.plan, self.suite)

    async def start(self) -> None:
        """Publish the contents."""
        keys = {key_of(digest): data for digest, data in self._contents.items()}
        self._published = self.client.map(content, list(keys.values()), key=list(keys), pure=False)
        self._contents.clear()
        self._workers = await self._there()
        self._watcher = asyncio.ensure_future(self._watch())

    async def stop(self) -> None:
        """Give up what is open, and have the workers end their processes for the plan."""
        self._problem = self._problem or NotAvailable("the run was ended")
        self._watcher.cancel()
        self._meeting.stop()
        await self.client.cancel([call.dask for call in self._open if call.dask is not None])
        for call in list(self._open):  # somebody may wait for it still
            self._end(call, error=self._problem)
        for task in self._tasks:
            task.cancel()
        await self.client.run(released, self._digest, on_error="ignore")
        del self._published

    def schedule(
        self, function: Callable[..., T], arguments: Sequence[Any], *, seconds: float, columns: Sequence[Column] = ()
    ) -> Future[T]:
        """As ``Pool.schedule``."""
        first = arguments[0]
        where = tuple(columns) if isinstance(first, Task) else (arguments[1],)
        resources = needed(where)
        if self._problem:
            refused: Future[T] = Future()
            refused.set_exception(self._problem)
            return refused
        if function is worker.perform and len(resources) > 1 and not self._has(resources):
            return self._meeting.perform(first)  # type: ignore[return-value]
        name = self._names[function]
        module = self.suite.op(first.op).module if isinstance(first, Task) else first
        contents = self._bundle.contents(module, where)
        request = Request(
            self._versions, self._digest, contents, name, pickle.dumps(tuple(arguments)), seconds, resources
        )
        call = _Call(Future(), name, packed(request), resources)
        call.future.set_running_or_notify_cancel()
        self.loop.call_soon_threadsafe(self._enqueue, call)
        return call.future

    def _has(self, resources: tuple[str, ...]) -> bool:
        """True if one worker has all of it."""
        return any(all(one.get(name, 0) >= 1 for name in resources) for one in self._workers)

    async def _there(self) -> list[Mapping[str, float]]:
        """The resources of each worker."""
        found = (await self.client.scheduler.identity(n_workers=-1))["workers"].values()
        return [each["resources"] for each in found]

    def _enqueue(self, call: _Call) -> None:
        if self._problem:
            call.future.set_exception(self._problem)
            return
        if not self._queue:
            self.loop.call_soon(self._send)
        self._queue.append(call)
        self._open.add(call)

    def _send(self) -> None:
        """Hand over all that is queued: those that need the same go together, which is cheaper."""
        queue, self._queue = self._queue, []
        groups: dict[tuple[str, ...], list[_Call]] = {}
        for call in queue:
            groups.setdefault(call.resources, []).append(call)
        for resources, calls in groups.items():
            keys = [f"parity-{self._name}-{next(self._numbers)}" for _ in calls]
            found = self.client.map(
                answered,
                [call.request for call in calls],
                key=keys,
                pure=False,
                resources=dict.fromkeys(resources, 1),
            )
            for call, dask in zip(calls, found, strict=True):
                call.dask = dask
                task = asyncio.ensure_future(self._finish(call))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _finish(self, call: _Call) -> None:
        """Wait for one call, and tell how it ended."""
        from distributed import KilledWorker

        try:
            answer = unpacked(await call.dask, Answer, "what a worker answers")
        except KilledWorker:
            self._end(call, error=Died(-signal.SIGKILL))
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            self._end(call, error=self._problem or NotAvailable("the scheduler has gone, or gave up what was asked"))
        except ParityError as error:
            self._end(call, error=error)
        except Exception as error:  # a worker that cannot import parity, for one
            self._end(
                call, error=NotAvailable(f"a worker cannot do what it was asked: {type(error).__name__}: {error}")
            )
        else:
            self.machines[answer.machine] += 1
            if answer.how == "unable" and call.tries < TRIES:
                call.tries += 1
                self._open.discard(call)
                self._enqueue(call)
                return
            try:
                self._end(call, answer.result(call.function))
            except Exception as error:
                self._end(call, error=error)

    def _end(self, call: _Call, value: Any = None, error: Exception | None = None) -> None:
        self._open.discard(call)
        if not call.future.done():
            if error:
                call.future.set_exception(error)
            else:
                call.future.set_result(value)
        call.dask = None

    async def _watch(self) -> None:
        """Give up calls that need what no worker has."""
        while True:
            await asyncio.sleep(WATCH)
            self._workers = await self._there()
            self._give_up()

    def _give_up(self) -> None:
        now = time.monotonic()
        wanted = {call.resources for call in self._open}
        has = {each for each in wanted if self._has(each)}
        self._absent = {each: self._absent.get(each, now) for each in wanted - has}
        for resources, since in self._absent.items():
            if now - since < PATIENCE:
                continue
            what = " and ".join(resources) or "a worker"
            reason = Absent(f"no worker has {what} any more; {len(self._workers)} workers are there")
            for call in [call for call in self._open if call.resources == resources]:
                dask = call.dask
                self._end(call, error=reason)
                if dask is not None:
                    task = asyncio.ensure_future(self.client.cancel([dask]))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
