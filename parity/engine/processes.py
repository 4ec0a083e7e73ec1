"""Worker processes that execute calls, and that may crash at any time without affecting this process or each other.

Each process has its own pipe and executes one call at a time. A process that dies in the middle of a message breaks
only its own pipe, and leaves no lock behind. One thread starts the processes and communicates with them, so the thread
that waits for results can always be interrupted.

A worker process is killed in two places: ``Processes._receive``, when a call exceeds its time limit, and
``Processes._serve``, when the pool stops.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, ClassVar

from parity.engine.calls import CallTimeout, T, WorkerCrashed, describe_exit
from parity.engine.case_records import Column
from parity.errors import NotAvailable
from parity.platform.fork_server import ForkedProcess, fork_process
from parity.platform.signals import INTERRUPTS, delay_interrupts
from parity.platform.time_limit import is_in_callback
from parity.runners.gpu import WORKER_NUMBER
from parity.runners.isolated import receive_in_thread

ATTEMPTS = 3
"""Maximum number of processes in a row that die before one is ready. The pool gives up after that."""

_numbers = itertools.count()


@dataclass(frozen=True)
class _PendingCall:
    future: Future[Any]
    message: bytes
    seconds: float


@dataclass
class _WorkerProcess:
    """A process, its current call, and the deadline of that call.

    ``asked`` is set when the initializer was sent, ``ready`` when it returned, and ``proven`` after the first call.
    """

    process: ForkedProcess
    connection: Connection
    call: _PendingCall | None = None
    deadline: float = 0.0
    asked: bool = False
    ready: bool = False
    proven: bool = False


@dataclass(eq=False)
class Processes:
    """A pool of at most ``count`` processes that each call ``initializer(*arguments)`` first.

    The processes ignore Ctrl-C and SIGTERM, because the parent handles them, and end with the parent in any case.

    Another process starts only while ``backlog`` calls wait for each running one, and while fewer than ``at_once``
    processes (None: any number) have not finished their first call. The processes receive additional environment
    variables from ``environments`` in turn.
    """

    count: int
    initializer: Callable[..., None]
    arguments: Sequence[Any] = ()
    backlog: int = 0
    at_once: int | None = None
    environments: Sequence[Mapping[str, str]] = ({},)
    _calls: deque[_PendingCall] = field(default_factory=deque, init=False)
    _problem: Exception | None = field(default=None, init=False)
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._woken, self._wakes = Pipe(duplex=False)
        self._first = bytes(ForkingPickler.dumps((self.initializer, tuple(self.arguments))))
        self._thread = threading.Thread(target=self._serve, name="parity processes", daemon=True)

    def start(self) -> None:
        """Start the processes. Call ``stop`` afterwards, even after an interrupt."""
        atexit.register(self.stop)
        with delay_interrupts():
            self._thread.start()

    shared: ClassVar[bool] = True

    def schedule(
        self, function: Callable[..., T], arguments: Sequence[Any], *, seconds: float, columns: Sequence[Column] = ()
    ) -> Future[T]:
        """As ``Pool.schedule``; this machine has all columns. NotAvailable if no process becomes ready."""
        future: Future[T] = Future()
        message = bytes(ForkingPickler.dumps((function, tuple(arguments))))
        with self._lock:
            if self._problem:
                future.set_exception(self._problem)
                return future
            self._calls.append(_PendingCall(future, message, seconds))
        self._wake()
        return future

    def stop(self) -> None:
        """Kill the processes. Unfinished calls stay unfinished."""
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join()
        atexit.unregister(self.stop)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wakes.send_bytes(b"")

    def _serve(self) -> None:
        """Run the thread: start processes, distribute calls, and collect results."""
        mine: list[_WorkerProcess] = []
        attempts = 0
        try:
            while not self._stopping and not self._problem:
                self._fill(mine)
                self._hand_out(mine)
                for each in self._answered(mine):
                    alive = self._receive(each)
                    attempts = 0 if each.ready else attempts + (not alive)
                    if not alive:
                        mine.remove(each)
                        if attempts == ATTEMPTS:
                            self._give_up(_no_worker_starts(each))
        except BaseException as error:  # otherwise the callers would wait forever
            self._give_up(RuntimeError("".join(traceback.format_exception(error))))
            raise
        finally:
            for each in mine:
                _end(each)

    def _fill(self, processes: list[_WorkerProcess]) -> None:
        """Start the processes that the work needs; lower ``count`` if the system refuses to start more."""
        while self._needs_another(processes) and not self._problem:
            try:
                processes.append(_started(self.environments))
            except OSError as error:
                self.count = len(processes)
                if not processes:
                    self._give_up(NotAvailable(f"worker processes cannot be started: {error.strerror}"))

    def _needs_another(self, processes: Sequence[_WorkerProcess]) -> bool:
        if not processes or len(processes) >= self.count:
            return len(processes) < self.count
        starting = sum(not each.proven for each in processes)
        return starting < (self.at_once or self.count) and len(self._calls) >= self.backlog * len(processes)

    def _hand_out(self, processes: Sequence[_WorkerProcess]) -> None:
        for each in processes:
            with self._lock:
                if not each.ready or each.call or not self._calls:
                    continue
                call = self._calls.popleft()
            if not call.future.set_running_or_notify_cancel():
                continue
            each.call, each.deadline = call, time.monotonic() + call.seconds
            with contextlib.suppress(OSError):  # the process died; the next wait detects that
                each.connection.send_bytes(call.message)

    def _answered(self, processes: Sequence[_WorkerProcess]) -> Iterator[_WorkerProcess]:
        """Yield the processes that sent a message, died, or exceeded their time limit."""
        busy = [each.deadline for each in processes if each.call]
        seconds = max(0.0, min(busy) - time.monotonic()) if busy else None
        found = wait([self._woken, *(each.connection for each in processes)], seconds)
        if self._woken in found:
            while self._woken.poll():
                self._woken.recv_bytes()
        now = time.monotonic()
        for each in processes:
            late = each.call is not None and now >= each.deadline
            if late or each.connection in found:
                yield each

    def _receive(self, each: _WorkerProcess) -> bool:
        """Handle the message of a process. Return False if the process died or was killed."""
        try:
            message = each.connection.recv_bytes() if each.connection.poll() else None
        except (EOFError, OSError):
            message = None
        if message is None:
            late = each.call is not None and each.process.poll() is None and time.monotonic() >= each.deadline
            in_callback = late and is_in_callback(each.process.pid)
            _end(each, at_once=late)
            if each.call:
                failure = CallTimeout(in_callback=in_callback) if late else WorkerCrashed(each.process.returncode)
                each.call.future.set_exception(failure)
            return False
        if not each.asked:
            each.asked = True
            with contextlib.suppress(OSError):
                each.connection.send_bytes(self._first)
            return True
        value, error = _unpacked(message)
        if each.call:
            call, each.call, each.proven = each.call, None, True
            call.future.set_exception(error) if error else call.future.set_result(value)
        elif error:
            self._give_up(error)
        else:
            each.ready = True
        return True

    def _give_up(self, problem: Exception) -> None:
        with self._lock:
            self._problem = problem
            left = list(self._calls)
            self._calls.clear()
        for call in left:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(problem)


def _started(environments: Sequence[Mapping[str, str]]) -> _WorkerProcess:
    ours, theirs = Pipe()
    number = next(_numbers)
    own = environments[number % len(environments)]
    try:
        process = fork_process(work, theirs, {**os.environ, **own, WORKER_NUMBER: str(number)})
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return _WorkerProcess(process, ours)


def _no_worker_starts(last: _WorkerProcess) -> NotAvailable:
    return NotAvailable(
        f"{ATTEMPTS} worker processes in a row died before they were ready (the last one "
        f"{describe_exit(last.process.returncode)}); if the system lacks memory, use fewer worker processes: -j 1"
    )


def _end(each: _WorkerProcess, *, at_once: bool = True) -> None:
    """Kill a process. With ``at_once`` False, first wait for it to end, so that its exit code is known."""
    each.connection.close()
    if not at_once:
        with contextlib.suppress(subprocess.TimeoutExpired):
            each.process.wait(5)
    each.process.kill()
    each.process.wait()


def _unpacked(message: bytes) -> tuple[Any, Exception | None]:
    try:
        value, error = pickle.loads(message)
    except Exception as problem:  # for example, an exception class with an unusual constructor
        return None, problem
    return value, error


def work(descriptor: int) -> None:
    """Execute the calls that arrive at this file descriptor until it closes. Runs in the worker process."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    os.set_inheritable(descriptor, False)
    connection = Connection(descriptor)
    messages = receive_in_thread(connection.recv_bytes)
    with contextlib.suppress(OSError):
        connection.send_bytes(b"")
        while True:
            connection.send_bytes(_performed(messages.get()))


def _performed(message: bytes) -> bytes:
    """Return the pickled result of a call: its return value and the exception that it raised."""
    try:
        function, arguments = pickle.loads(message)
        return bytes(ForkingPickler.dumps((function(*arguments), None)))
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        try:
            return bytes(ForkingPickler.dumps((None, error)))
        except Exception:
            return bytes(ForkingPickler.dumps((None, RuntimeError("".join(traceback.format_exception(error))))))
