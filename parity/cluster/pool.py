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

from parity.cluster.bundle import pack_plan
from parity.cluster.coordinator import Coordinator
from parity.cluster.messages import Answer, Request, column_resource, versions
from parity.cluster.remote import bundle_key, handle_request, publish, release_run
from parity.engine import Column, Plan, worker
from parity.engine.calls import NoWorker, WorkerCrashed
from parity.errors import NotAvailable
from parity.platform.serialization import packed, unpacked
from parity.suite.loading import Suite

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["DaskPool", "needed_resources"]

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds for which a call waits while no worker has what it needs: one that is started again is back by then."""

WATCH = 2.0
"""Seconds between two looks at what workers there are."""

TOGETHER = 1000
"""Calls that are handed over at a time: the first ones begin before the last ones are there."""

THREADS = ""
"""The threads of a worker, among its resources."""

TRIES = 4
"""Workers that may lose a device under a call before nobody is asked any more."""


def needed_resources(columns: Sequence[Column]) -> tuple[str, ...]:
    """The resources that a worker has to have for these columns."""
    found = (column_resource(column) for column in columns)
    return tuple(sorted(set(filter(None, found))))


@dataclass(eq=False)
class _RemoteCall:
    future: Future[Any]
    function: Callable[..., Any]
    request: bytes
    resources: tuple[str, ...]
    tries: int = 0
    ticket: str = ""
    dask: Any = None


@dataclass(eq=False)
class DaskPool:
    """Calls of one plan of a suite on the workers of a cluster.

    A task goes to a worker that has all of its columns; if there is none, they meet here.

    ``client`` belongs to ``loop``, where everything happens but ``schedule``. ``machines`` counts the calls that each
    machine has answered. ``shared`` as in ``Pool``. ``remote`` is what workers call, with a packed ``Request``, the
    name of the call, and of the client. ``alone``: a call takes as much of what it needs as a worker has.
    """

    client: Client
    loop: asyncio.AbstractEventLoop
    plan: Plan
    suite: Suite
    shared: bool
    machines: Counter[str]
    alone: bool = False
    remote: Callable[[bytes, str, str], Any] = handle_request
    _queue: list[_RemoteCall] = field(default_factory=list)
    _open: set[_RemoteCall] = field(default_factory=set)
    _problem: Exception | None = None
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _sent: dict[str, _RemoteCall] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._bundle, self._digest, self._contents = pack_plan(self.plan)
        self._versions = versions()
        self._name = uuid.uuid4().hex[:8]
        self._tasks: set[asyncio.Task[None]] = set()
        self._absent: dict[tuple[str, ...], float] = {}
        self._workers: list[Mapping[str, float]] = []
        self._coordinator = Coordinator(self, self.plan, self.suite)

    async def start(self) -> None:
        """Publish the contents."""
        keys = {bundle_key(digest): data for digest, data in self._contents.items()}
        self._published = self.client.map(publish, list(keys.values()), key=list(keys), pure=False)
        self._contents.clear()
        self._workers = await self._there()
        self.client.subscribe_topic(self.client.id, self._told)
        self._watcher = asyncio.ensure_future(self._watch())

    async def stop(self) -> None:
        """Give up what is open, and have the workers end their processes for the plan."""
        self._problem = self._problem or NotAvailable("the run was ended")
        self._watcher.cancel()
        self.client.unsubscribe_topic(self.client.id)
        self._coordinator.stop()
        await self.client.cancel([call.dask for call in self._open if call.dask is not None])
        for call in list(self._open):  # somebody may wait for it still
            self._end(call, error=self._problem)
        for task in self._tasks:
            task.cancel()
        await self.client.run(release_run, self._name, on_error="ignore")
        del self._published

    def schedule(
        self, function: Callable[..., T], arguments: Sequence[Any], *, seconds: float, columns: Sequence[Column] = ()
    ) -> Future[T]:
        """As ``Pool.schedule``."""
        resources = needed_resources(columns)
        if self._problem:
            refused: Future[T] = Future()
            refused.set_exception(self._problem)
            return refused
        if function is worker.perform:
            if len(resources) > 1 and not self._has(resources):
                return self._coordinator.perform(arguments[0])  # type: ignore[return-value]
            function = worker.perform_or_lose_device  # type: ignore[assignment]
        op = getattr(arguments[0], "op", None)
        contents = self._bundle.contents(self.suite.op(op).module if op else arguments[0], tuple(columns))
        data = pickle.dumps((function, tuple(arguments)))
        request = Request(self._versions, self._name, self._digest, contents, data, seconds, resources)
        call = _RemoteCall(Future(), function, packed(request), resources)
        call.future.set_running_or_notify_cancel()
        self.loop.call_soon_threadsafe(self._enqueue, call)
        return call.future

    def _has(self, resources: tuple[str, ...]) -> bool:
        """True if one worker has all of it."""
        return any(all(one.get(name, 0) >= 1 for name in resources) for one in self._workers)

    def _everybody_has(self, resources: tuple[str, ...]) -> bool:
        """True if every thread of every worker can have all of it."""
        return all(one.get(name, 0) >= one[THREADS] for one in self._workers for name in resources)

    def _share(self, name: str) -> float:
        """The part of a resource that a call takes."""
        return max((one.get(name, 0) for one in self._workers), default=0) or 1 if self.alone else 1

    async def _there(self) -> list[Mapping[str, float]]:
        """The resources of each worker, and its threads."""
        found = (await self.client.scheduler.identity(n_workers=-1))["workers"].values()
        return [{**each["resources"], THREADS: each["nthreads"]} for each in found]

    def _enqueue(self, call: _RemoteCall) -> None:
        if self._problem:
            call.future.set_exception(self._problem)
            return
        if not self._queue:
            self.loop.call_soon(self._send)
        self._queue.append(call)
        self._open.add(call)

    def _send(self) -> None:
        """Hand over all that is queued: those that need the same go together, which is cheaper."""
        queue, self._queue = self._queue[:TOGETHER], self._queue[TOGETHER:]
        if self._queue:
            self.loop.call_soon(self._send)
        groups: dict[tuple[tuple[str, ...], bool], list[_RemoteCall]] = {}
        for call in queue:
            groups.setdefault((call.resources, call.tries > 0), []).append(call)
        for (resources, tried), calls in groups.items():
            # Calls for anybody wait in a queue; for others the scheduler looks at every worker, each time.
            anybody = not tried and not self.alone and self._everybody_has(resources)
            tickets = [f"{self._name}-{next(self._numbers)}" for _ in calls]
            found = self.client.map(
                self.remote,
                [call.request for call in calls],
                tickets,
                key=[f"parity-{ticket}" for ticket in tickets],
                client=self.client.id,
                pure=False,
                resources=None if anybody else {name: self._share(name) for name in resources},
            )
            for call, ticket, dask in zip(calls, tickets, found, strict=True):
                call.ticket, call.dask = ticket, dask
                self._sent[ticket] = call
                task = asyncio.ensure_future(self._finish(call))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _told(self, event: tuple[float, Any]) -> None:
        """Take an answer that came by itself."""
        match event[1]:
            case (str(ticket), bytes(data)) if ticket in self._sent:
                self._take(self._sent[ticket], data)

    async def _finish(self, call: _RemoteCall) -> None:
        """Wait for one call, and tell how it ended."""
        from distributed import KilledWorker

        dask = call.dask
        try:
            await dask.exception()  # or its end without one
            if call.dask is dask:  # else the answer came by itself
                self._take(call, await dask)
        except KilledWorker:
            self._end(call, error=WorkerCrashed(-signal.SIGKILL))
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            self._end(call, error=self._problem or NotAvailable("the scheduler has gone, or gave up what was asked"))
        except Exception as error:  # a worker that cannot import parity, for one
            self._end(
                call, error=NotAvailable(f"a worker cannot do what it was asked: {type(error).__name__}: {error}")
            )

    def _take(self, call: _RemoteCall, data: bytes) -> None:
        """Take the answer to a call; ask another worker, if that one was unable to."""
        try:
            answer = unpacked(data, Answer, "what a worker answers")
            self.machines[answer.machine] += 1
            if answer.how == "unable" and call.tries < TRIES:
                call.tries += 1
                self._forget(call)
                self._enqueue(call)
                return
            self._end(call, answer.result(call.function))
        except Exception as error:
            self._end(call, error=error)

    def _end(self, call: _RemoteCall, value: Any = None, error: Exception | None = None) -> None:
        self._forget(call)
        if not call.future.done():
            if error:
                call.future.set_exception(error)
            else:
                call.future.set_result(value)

    def _forget(self, call: _RemoteCall) -> None:
        self._open.discard(call)
        self._sent.pop(call.ticket, None)
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
            reason = NoWorker(f"no worker has {what} any more; {len(self._workers)} workers are there")
            for call in [call for call in self._open if call.resources == resources]:
                dask = call.dask
                self._end(call, error=reason)
                if dask is not None:
                    task = asyncio.ensure_future(self.client.cancel([dask]))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
