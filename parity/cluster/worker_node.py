"""Executes the calls of a run on one Dask worker, in separate processes.

A thread of the Dask worker waits for each call while a process executes it, so a crashing kernel ends the process and
not the worker. The process packs the return value, which passes through the worker as bytes.
"""

from __future__ import annotations

import pickle
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity.cluster.bundle import cached_bundle, load_plan
from parity.cluster.messages import Answer, Request, machine_name, version_differences
from parity.engine import worker
from parity.engine.calls import CallTimeout, WorkerCrashed
from parity.engine.processes import Processes
from parity.errors import DeviceLost, NotAvailable, ParityError
from parity.platform.serialization import packed

IDLE_RUNS = 1
"""Number of idle runs whose processes are kept."""

ENDED = "the run was ended"


@dataclass
class _RunProcesses:
    """The processes for a run with their folder, their number of calls, and a future that completes when they stop."""

    processes: Processes
    scratch: tempfile.TemporaryDirectory[str]
    calls: int = 0
    stopped: Future[None] = field(default_factory=Future)

    def stop(self) -> None:
        self.stopped.set_result(None)
        self.processes.stop()
        self.scratch.cleanup()


@dataclass(eq=False)
class WorkerNode:
    """The state of one Dask worker that executes ``slots`` calls at a time.

    ``fetched`` are the digests of the bundles it has. ``ended`` are runs that have ended; late calls for them are
    refused.
    """

    slots: int
    name: str = ""
    fetched: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    _runs: dict[str, _RunProcesses] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _fetching: threading.Lock = field(default_factory=threading.Lock)

    def answer(
        self,
        request: Request,
        fetch: Callable[[str], bytes],
        aside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Answer:
        """Execute a request. ``fetch`` returns the bytes of a bundle, and runs inside of the context ``aside``."""
        if other := version_differences(request.versions, "at the client"):
            text = f"{other}; all machines must have the same versions"
            return self._reply("refused", error="NotAvailable", text=text)
        try:
            lacking = [each for each in (request.plan, *request.bundles) if each not in self.fetched]
            if lacking:
                with aside():
                    self._fetch(lacking, fetch)
            ready = self._ready(request)
        except ParityError as error:
            return self._reply("refused", error=type(error).__name__, text=str(error))
        try:
            call: Future[bytes] = ready.processes.schedule(_perform, [request.call], seconds=request.seconds)
            both: list[Future[Any]] = [call, ready.stopped]
            wait(both, return_when=FIRST_COMPLETED)
            if not call.done():
                return self._reply("raised", error="NotAvailable", text=ENDED)
            return self._reply("returned", value=call.result())
        except WorkerCrashed as error:
            return self._reply("crashed", exitcode=error.exitcode)
        except CallTimeout as error:
            return self._reply("timeout", in_callback=error.in_callback)
        except DeviceLost as error:
            return self._reply("unable", text=str(error))
        except Exception as error:
            notes = "\n".join(getattr(error, "__notes__", ())) if not isinstance(error, ParityError) else ""
            text = "\n".join(filter(None, (str(error), notes)))
            return self._reply("raised", error=type(error).__name__, text=text)
        finally:
            with self._lock:
                ready.calls -= 1

    def release(self, run: str) -> None:
        """Stop the processes for a run, and refuse later calls for it."""
        with self._lock:
            self.ended.add(run)
            if found := self._runs.pop(run, None):
                found.stop()

    def _fetch(self, digests: Sequence[str], fetch: Callable[[str], bytes]) -> None:
        """Add bundles to the cache. Each bundle is fetched once, even if several threads need it."""
        with self._fetching:
            for digest in digests:
                if digest not in self.fetched:
                    cached_bundle(digest, fetch)
                    self.fetched.add(digest)

    def _ready(self, request: Request) -> _RunProcesses:
        """Return the processes for the run of a request, and count the request as one of their calls.

        Raises:
            NotAvailable: The run has ended.
        """
        with self._lock:
            if request.run in self.ended:
                raise NotAvailable(ENDED)
            if request.run not in self._runs:
                idle = [run for run, ready in self._runs.items() if not ready.calls]
                for run in idle[: len(idle) - IDLE_RUNS + 1]:
                    self._runs.pop(run).stop()
                scratch = tempfile.TemporaryDirectory(prefix="parity-", ignore_cleanup_errors=True)
                processes = Processes(self.slots, worker.start, [load_plan(request.plan), Path(scratch.name)])
                processes.start()
                self._runs[request.run] = _RunProcesses(processes, scratch)
            ready = self._runs[request.run]
            ready.calls += 1
            return ready

    def _reply(self, how: str, **more: object) -> Answer:
        return Answer(self.name or machine_name(), how, **more)  # type: ignore[arg-type]


def _perform(call: bytes) -> bytes:
    function, arguments = pickle.loads(call)
    return packed(function(*arguments))
