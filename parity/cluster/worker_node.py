"""The part of a run that a Dask worker does: calls in processes of its own, as on one machine.

A thread of the Dask worker waits for each call, and a process executes it: what a kernel does ends that process, and
never the worker. What a call returns is packed in the process, and goes through the worker as bytes.
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

__all__ = ["WorkerNode"]

IDLE_RUNS = 1
"""Other runs whose processes are kept while they do nothing."""

ENDED = "the run was ended"


@dataclass
class _RunProcesses:
    """The processes for a run with their folder, how many calls they are at, and a future that is done at their end."""

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

    ``fetched`` are the contents it has, ``ended`` the runs of which calls may arrive still, and are not executed.
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
        """Do what is asked for; ``fetch`` gets the content of a digest, and is called ``aside``."""
        if other := version_differences(request.versions, "at the client"):
            return self._says("refused", error="NotAvailable", text=f"{other}; versions decide cases and verdicts")
        try:
            lacking = [each for each in (request.plan, *request.contents) if each not in self.fetched]
            if lacking:
                with aside():
                    self._fetch(lacking, fetch)
            ready = self._ready(request)
        except ParityError as error:
            return self._says("refused", error=type(error).__name__, text=str(error))
        try:
            call: Future[bytes] = ready.processes.schedule(_perform, [request.call], seconds=request.seconds)
            both: list[Future[Any]] = [call, ready.stopped]
            wait(both, return_when=FIRST_COMPLETED)
            if not call.done():
                return self._says("raised", error="NotAvailable", text=ENDED)
            return self._says("returned", value=call.result())
        except WorkerCrashed as error:
            return self._says("died", exitcode=error.exitcode)
        except CallTimeout:
            return self._says("late")
        except DeviceLost as error:
            return self._says("unable", text=str(error))
        except Exception as error:
            notes = "\n".join(getattr(error, "__notes__", ())) if not isinstance(error, ParityError) else ""
            text = "\n".join(filter(None, (str(error), notes)))
            return self._says("raised", error=type(error).__name__, text=text)
        finally:
            with self._lock:
                ready.calls -= 1

    def release(self, run: str) -> None:
        """End the processes for a run, and execute nothing more for it."""
        with self._lock:
            self.ended.add(run)
            if found := self._runs.pop(run, None):
                found.stop()

    def _fetch(self, digests: Sequence[str], fetch: Callable[[str], bytes]) -> None:
        """Have contents in the cache, each fetched once whoever needs it."""
        with self._fetching:
            for digest in digests:
                if digest not in self.fetched:
                    cached_bundle(digest, fetch)
                    self.fetched.add(digest)

    def _ready(self, request: Request) -> _RunProcesses:
        """The processes for the run of a request, which counts as one of their calls.

        Raises:
            NotAvailable: the run was ended.
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

    def _says(self, how: str, **more: object) -> Answer:
        return Answer(self.name or machine_name(), how, **more)  # type: ignore[arg-type]


def _perform(call: bytes) -> bytes:
    """A call, inside of a process: what it returns, packed."""
    function, arguments = pickle.loads(call)
    return packed(function(*arguments))
