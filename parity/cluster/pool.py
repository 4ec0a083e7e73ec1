"""The pool that sends calls to the workers of a cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import pickle
import signal
import time
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from parity.cluster.bundle import pack_plan
from parity.cluster.coordinator import Coordinator
from parity.cluster.messages import Answer, Request, column_resource, versions
from parity.cluster.remote import bundle_key, handle_request, publish, release_run
from parity.engine import worker
from parity.engine.calls import NoWorker, WorkerCrashed
from parity.engine.case_records import Column
from parity.engine.plan import Plan
from parity.errors import NotAvailable
from parity.platform.serialization import packed, unpacked
from parity.suite.loading import Suite

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

PATIENCE = 30.0
"""Time in seconds that a call waits for a worker with its resources, so that restarted workers can come back."""

WATCH = 2.0
"""Interval in seconds between checks of the connected workers."""

TOGETHER = 1000
"""Number of calls to submit at a time, so that the first calls start before the last are submitted."""

THREADS = ""
"""The key of a worker's number of threads among its resources."""

TRIES = 4
"""Number of workers that may lose a device under one call before the call fails."""


def needed_resources(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the resources that a worker must have for these columns."""
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
    """A pool that executes the calls of one plan on the workers of a cluster.

    A task runs on a worker that has all of its columns. If there is no such worker, the ``Coordinator`` runs the task.

    ``client`` belongs to ``loop``, which runs everything except ``schedule``. ``machines`` counts the calls that each
    machine has answered. ``shared`` as in ``Pool``. ``remote`` is the function that workers execute; it takes a packed
    ``Request``, the name of the call, and the name of the client. With ``alone``, a call takes all of a worker's
    resources that it needs.
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
        self._manifest, self._digest, self._bundles = pack_plan(self.plan)
        self._versions = versions()
        self._name = uuid.uuid4().hex[:8]
        self._tasks: set[asyncio.Task[None]] = set()
        self._absent: dict[tuple[str, ...], float] = {}
        self._workers: list[Mapping[str, float]] = []
        self._coordinator = Coordinator(self, self.plan, self.suite)

    async def start(self) -> None:
        """Publish the bundles."""
        keys = {bundle_key(digest): data for digest, data in self._bundles.items()}
        self._published = self.client.map(publish, list(keys.values()), key=list(keys), pure=False)
        self._bundles.clear()
        self._workers = await self._there()
        self.client.subscribe_topic(self.client.id, self._handle_event)
        self._watcher = asyncio.ensure_future(self._watch())

    async def stop(self) -> None:
        """Cancel all open calls, and make the workers stop their processes for the plan."""
        self._problem = self._problem or NotAvailable("the run was ended")
        self._watcher.cancel()
        self.client.unsubscribe_topic(self.client.id)
        self._coordinator.stop()
        await self.client.cancel([call.dask for call in self._open if call.dask is not None])
        for call in list(self._open):  # someone may still wait for it
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
        bundles = self._manifest.bundles(self.suite.op(op).module if op else arguments[0], tuple(columns))
        data = pickle.dumps((function, tuple(arguments)))
        request = Request(self._versions, self._name, self._digest, bundles, data, seconds, resources)
        call = _RemoteCall(Future(), function, packed(request), resources)
        call.future.set_running_or_notify_cancel()
        self.loop.call_soon_threadsafe(self._enqueue, call)
        return call.future

    def _has(self, resources: tuple[str, ...]) -> bool:
        return any(all(one.get(name, 0) >= 1 for name in resources) for one in self._workers)

    def _everybody_has(self, resources: tuple[str, ...]) -> bool:
        """Return True if every worker has all resources for each of its threads."""
        return all(one.get(name, 0) >= one[THREADS] for one in self._workers for name in resources)

    def _share(self, name: str) -> float:
        """Return the amount of a resource that a call takes."""
        return max((one.get(name, 0) for one in self._workers), default=0) or 1 if self.alone else 1

    async def _there(self) -> list[Mapping[str, float]]:
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
        """Submit the queued calls. Calls with the same needs are submitted together, which is cheaper."""
        queue, self._queue = self._queue[:TOGETHER], self._queue[TOGETHER:]
        if self._queue:
            self.loop.call_soon(self._send)
        groups: dict[tuple[tuple[str, ...], bool], list[_RemoteCall]] = {}
        for call in queue:
            groups.setdefault((call.resources, call.tries > 0), []).append(call)
        for (resources, tried), calls in groups.items():
            # Calls without resources wait in a queue; for others the scheduler checks every worker each time.
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
                self._begin(self._finish(call))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine, which ``stop`` cancels."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _handle_event(self, event: tuple[float, Any]) -> None:
        match event[1]:
            case (str(ticket), bytes(data)) if ticket in self._sent:
                self._take(self._sent[ticket], data)

    async def _finish(self, call: _RemoteCall) -> None:
        from distributed import KilledWorker

        dask = call.dask
        try:
            await dask.exception()  # returns None if the call succeeded
            if call.dask is dask:  # otherwise the answer arrived as an event
                self._take(call, await dask)
        except KilledWorker:
            self._end(call, error=WorkerCrashed(-signal.SIGKILL))
        except (asyncio.CancelledError, concurrent.futures.CancelledError):
            self._end(call, error=self._problem or NotAvailable("the scheduler disconnected, or cancelled the call"))
        except Exception as error:  # for example, the worker cannot import parity
            self._end(call, error=NotAvailable(f"a worker cannot execute a call: {type(error).__name__}: {error}"))

    def _take(self, call: _RemoteCall, data: bytes) -> None:
        """Handle the answer to a call. Retry on another worker if the worker was unable to execute it."""
        try:
            answer = unpacked(data, Answer, "the answer of a worker")
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
        """Fail calls that need resources that no worker has."""
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
            reason = NoWorker(f"no worker has {what} any more; {len(self._workers)} workers are connected")
            for call in [call for call in self._open if call.resources == resources]:
                dask = call.dask
                self._end(call, error=reason)
                if dask is not None:
                    self._begin(self.client.cancel([dask]))
