"""The functions that Dask calls on its workers. Everything else that they do is in ``parity.cluster.worker_node``."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from parity.cluster.messages import Answer, Request, local_offer, machine_name
from parity.cluster.worker_node import WorkerNode
from parity.errors import NotAvailable
from parity.platform.serialization import packed, unpacked

if TYPE_CHECKING:
    from distributed import Worker

__all__ = ["bundle_key", "collect_offer", "deliver", "handle_request", "publish", "release_run"]

FETCH = 120.0
"""Seconds for which a worker waits for a content."""

SMALL = 2**16
"""Bytes of an answer that is an event: the scheduler keeps the last 1000 of a client for an hour after it has gone."""

_hosts: WeakKeyDictionary[Any, WorkerNode] = WeakKeyDictionary()
_lock = threading.Lock()


def bundle_key(digest: str) -> str:
    """The name of a content among the tasks of Dask."""
    return f"parity-content-{digest}"


def publish(data: bytes) -> bytes:
    """A content, as a task: the scheduler has it made again where it was lost with a worker."""
    return data


def handle_request(request: bytes, ticket: str, client: str) -> bytes:
    """A call, in a thread of a worker: the answer to a request, both packed, for the client that asks."""
    from distributed import get_worker

    found = get_worker()

    def fetch(digest: str) -> bytes:
        return asyncio.run_coroutine_threadsafe(_fetched(found, digest), found.loop.asyncio_loop).result()

    asked = unpacked(request, Request, "what a client asks for")
    if lacking := [name for name in asked.resources if not found.state.total_resources.get(name)]:
        return deliver(
            found, ticket, client, packed(Answer(_name(found), "unable", text=f"no {' and '.join(lacking)}"))
        )
    answer = _host(found).answer(asked, fetch, _aside)
    if answer.how == "unable":  # so that others get what needs the device
        lost = dict.fromkeys(asked.resources, 0.0)
        asyncio.run_coroutine_threadsafe(found.set_resources(**lost), found.loop.asyncio_loop)
    return deliver(found, ticket, client, packed(answer))


def deliver(found: Worker, ticket: str, client: str, answer: bytes) -> bytes:
    """Hand an answer to a client.

    A small one is an event, which goes along with what worker and scheduler say to each other anyway. A large one is
    the result of the task: the scheduler asks the worker for it when the client does.
    """
    if len(answer) > SMALL:
        return answer
    found.log_event(client, (ticket, answer))
    return b""


@contextlib.contextmanager
def _aside() -> Iterator[None]:
    """Leave this thread to other tasks: a content that is waited for may have to be made here."""
    from distributed import rejoin, secede

    secede()
    try:
        yield
    finally:
        rejoin()


async def _fetched(found: Worker, digest: str) -> bytes:
    """A content, when one of the workers has it."""
    end = time.monotonic() + FETCH
    while True:
        answer = await found.scheduler.gather(keys=[bundle_key(digest)])
        if answer["status"] == "OK":
            data: bytes = answer["data"][bundle_key(digest)]
            return data
        if time.monotonic() > end:
            raise NotAvailable(f"the content {digest} did not arrive within {FETCH:g} s")
        await asyncio.sleep(0.05)


async def collect_offer(dask_worker: Worker) -> bytes:
    """The equipment of a worker, packed."""
    slots = dask_worker.state.nthreads
    found = await asyncio.to_thread(local_offer, slots)
    return packed(found)


async def release_run(run: str, dask_worker: Worker) -> None:
    """End the processes that a worker has for a run."""
    if found := _hosts.get(dask_worker):
        await asyncio.to_thread(found.release, run)


def _host(found: Worker) -> WorkerNode:
    with _lock:
        if found not in _hosts:
            _hosts[found] = WorkerNode(found.state.nthreads, _name(found))
        return _hosts[found]


def _name(found: Worker) -> str:
    return found.name if isinstance(found.name, str) and "://" not in found.name else machine_name()
