"""The functions that Dask calls on its workers. Everything else that they do is in ``parity.cluster.host``."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from parity.cluster.host import Host
from parity.cluster.messages import Request, machine_name, offer
from parity.documents import packed, unpacked
from parity.errors import NotAvailable

if TYPE_CHECKING:
    from distributed import Worker

__all__ = ["answered", "content", "key_of", "offered", "released"]

FETCH = 120.0
"""Seconds for which a worker waits for a content."""

_hosts: WeakKeyDictionary[Any, Host] = WeakKeyDictionary()
_lock = threading.Lock()


def key_of(digest: str) -> str:
    """The name of a content among the tasks of Dask."""
    return f"parity-content-{digest}"


def content(data: bytes) -> bytes:
    """A content, as a task: the scheduler has it made again where it was lost with a worker."""
    return data


def answered(request: bytes) -> bytes:
    """A call, in a thread of a worker: the answer to a request, both packed."""
    from distributed import get_worker

    found = get_worker()

    def fetch(digest: str) -> bytes:
        return asyncio.run_coroutine_threadsafe(_fetched(found, digest), found.loop.asyncio_loop).result()

    host = _host(found)
    answer = host.answer(unpacked(request, Request, "what a client asks for"), partial(_aside, fetch))
    if answer.how == "unable":  # so that others get what needs the device
        lost = dict.fromkeys(unpacked(request, Request, "").resources, 0.0)
        asyncio.run_coroutine_threadsafe(found.set_resources(**lost), found.loop.asyncio_loop)
    return packed(answer)


def _aside(fetch: Callable[[str], bytes], digest: str) -> bytes:
    """Fetch a content, and leave this thread to other tasks until it is there: it may have to be made here."""
    from distributed import rejoin, secede

    secede()
    try:
        return fetch(digest)
    finally:
        rejoin()


async def _fetched(found: Worker, digest: str) -> bytes:
    """A content, when one of the workers has it."""
    end = time.monotonic() + FETCH
    while True:
        answer = await found.scheduler.gather(keys=[key_of(digest)])
        if answer["status"] == "OK":
            data: bytes = answer["data"][key_of(digest)]
            return data
        if time.monotonic() > end:
            raise NotAvailable(f"the content {digest} did not arrive within {FETCH:g} s")
        await asyncio.sleep(0.05)


async def offered(dask_worker: Worker) -> bytes:
    """The equipment of a worker, packed."""
    slots = dask_worker.state.nthreads
    found = await asyncio.to_thread(offer, slots)
    return packed(found)


async def released(plan: str, dask_worker: Worker) -> None:
    """End the processes that a worker has for a plan."""
    if found := _hosts.get(dask_worker):
        await asyncio.to_thread(found.release, plan)


def _host(found: Worker) -> Host:
    with _lock:
        if found not in _hosts:
            named = isinstance(found.name, str) and "://" not in found.name
            _hosts[found] = Host(found.state.nthreads, found.name if named else machine_name())
        return _hosts[found]
