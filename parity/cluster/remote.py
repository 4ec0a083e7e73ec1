"""The functions that Dask calls on its workers. They delegate to ``parity.cluster.worker_node``."""

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

FETCH = 120.0
"""Time limit in seconds for fetching a bundle."""

SMALL = 2**16
"""Largest answer in bytes that travels as an event. The scheduler keeps a client's last 1000 events for an hour."""

_nodes: WeakKeyDictionary[Any, WorkerNode] = WeakKeyDictionary()
_lock = threading.Lock()


def bundle_key(digest: str) -> str:
    """Return the key of a bundle among Dask's tasks."""
    return f"parity-content-{digest}"


def publish(data: bytes) -> bytes:
    """Return a bundle unchanged. As a Dask task, it is recomputed if the worker that holds it is lost."""
    return data


def handle_request(request: bytes, ticket: str, client: str) -> bytes:
    """Execute a packed request in a thread of a worker, and deliver the packed answer to the client."""
    from distributed import get_worker

    found = get_worker()

    def fetch(digest: str) -> bytes:
        return asyncio.run_coroutine_threadsafe(_fetched(found, digest), found.loop.asyncio_loop).result()

    asked = unpacked(request, Request, "a request")
    if lacking := [name for name in asked.resources if not found.state.total_resources.get(name)]:
        unable = Answer(_name(found), "unable", text=f"no {' and '.join(lacking)}")
        return deliver(found, ticket, client, packed(unable))
    answer = _node(found).answer(asked, fetch, _aside)
    if answer.how == "unable":  # so that other workers get the calls that need the device
        lost = dict.fromkeys(asked.resources, 0.0)
        asyncio.run_coroutine_threadsafe(found.set_resources(**lost), found.loop.asyncio_loop)
    return deliver(found, ticket, client, packed(answer))


def deliver(found: Worker, ticket: str, client: str, answer: bytes) -> bytes:
    """Deliver an answer to a client.

    A small answer is an event, which travels with other messages between worker and scheduler. A large answer is the
    result of the task, which the scheduler fetches from the worker when the client waits for it.
    """
    if len(answer) > SMALL:
        return answer
    found.log_event(client, (ticket, answer))
    return b""


@contextlib.contextmanager
def _aside() -> Iterator[None]:
    """Release this thread to other tasks, because the awaited bundle may be computed on this worker."""
    from distributed import rejoin, secede

    secede()
    try:
        yield
    finally:
        rejoin()


async def _fetched(found: Worker, digest: str) -> bytes:
    """Return a bundle as soon as a worker has it."""
    end = time.monotonic() + FETCH
    while True:
        answer = await found.scheduler.gather(keys=[bundle_key(digest)])
        if answer["status"] == "OK":
            data: bytes = answer["data"][bundle_key(digest)]
            return data
        if time.monotonic() > end:
            raise NotAvailable(f"the bundle {digest} did not arrive within {FETCH:g} s")
        await asyncio.sleep(0.05)


async def collect_offer(dask_worker: Worker) -> bytes:
    """Return the packed equipment of a worker."""
    return packed(await asyncio.to_thread(local_offer, dask_worker.state.nthreads))


async def release_run(run: str, dask_worker: Worker) -> None:
    """Stop the processes of a worker for a run."""
    if found := _nodes.get(dask_worker):
        await asyncio.to_thread(found.release, run)


def _node(found: Worker) -> WorkerNode:
    with _lock:
        if found not in _nodes:
            _nodes[found] = WorkerNode(found.state.nthreads, _name(found))
        return _nodes[found]


def _name(found: Worker) -> str:
    return found.name if isinstance(found.name, str) and "://" not in found.name else machine_name()
