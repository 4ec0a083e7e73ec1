"""Processes that call functions, and that may die at any moment without harm to the others or to this one.

Each process has a pipe of its own, and is given one call at a time: a process that dies in the middle of a message
breaks its own pipe only, and leaves no lock that the others wait for. One thread starts the processes and talks to
them, so the thread that waits for results can always be interrupted.
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
from collections.abc import Callable, Iterator, Sequence
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
from parity.runners.gpu import WORKER_NUMBER
from parity.runners.isolated import receive_in_thread

__all__ = ["CallTimeout", "Processes", "WorkerCrashed"]

ATTEMPTS = 3
"""Processes that may die one after the other before one of them was ready; then no more are started."""

_numbers = itertools.count()


@dataclass(frozen=True)
class _PendingCall:
    future: Future[Any]
    message: bytes
    seconds: float


@dataclass
class _WorkerProcess:
    """A process, the call that it is at, and when that is to be over. Its first call makes it ready for others."""

    process: ForkedProcess
    connection: Connection
    call: _PendingCall | None = None
    deadline: float = 0.0
    asked: bool = False
    ready: bool = False


@dataclass(eq=False)
class Processes:
    """``count`` processes, in each of which ``initializer(*arguments)`` is called first.

    They ignore Ctrl-C and SIGTERM, which are this process's to handle, and end with it, however it ends.
    """

    count: int
    initializer: Callable[..., None]
    arguments: Sequence[Any] = ()
    _calls: deque[_PendingCall] = field(default_factory=deque, init=False)
    _problem: Exception | None = field(default=None, init=False)
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._woken, self._wakes = Pipe(duplex=False)
        self._first = bytes(ForkingPickler.dumps((self.initializer, tuple(self.arguments))))
        self._thread = threading.Thread(target=self._serve, name="parity processes", daemon=True)

    def start(self) -> None:
        """Start the processes. ``stop`` has to follow, even where this was interrupted."""
        atexit.register(self.stop)
        with delay_interrupts():
            self._thread.start()

    shared: ClassVar[bool] = True

    def schedule(
        self, function: Callable[..., T], arguments: Sequence[Any], *, seconds: float, columns: Sequence[Column] = ()
    ) -> Future[T]:
        """As ``Pool.schedule``; this machine has all columns. NotAvailable, if no process can be made ready."""
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
        """End the processes; calls that are not done stay so."""
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join()
        atexit.unregister(self.stop)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._wakes.send_bytes(b"")

    def _serve(self) -> None:
        """The thread: start processes, hand out calls, collect what comes back."""
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
                            self._give_up(_none_begins(each))
        except BaseException as error:  # else the callers would wait for ever
            self._give_up(RuntimeError("".join(traceback.format_exception(error))))
            raise
        finally:
            for each in mine:
                _end(each)

    def _fill(self, processes: list[_WorkerProcess]) -> None:
        """Start the processes that lack; do with fewer if the system has no more."""
        while len(processes) < self.count and not self._problem:
            try:
                processes.append(_started())
            except OSError as error:
                self.count = len(processes)
                if not processes:
                    self._give_up(NotAvailable(f"worker processes cannot be started: {error.strerror}"))

    def _hand_out(self, processes: Sequence[_WorkerProcess]) -> None:
        for each in processes:
            with self._lock:
                if not each.ready or each.call or not self._calls:
                    continue
                call = self._calls.popleft()
            if not call.future.set_running_or_notify_cancel():
                continue
            each.call, each.deadline = call, time.monotonic() + call.seconds
            with contextlib.suppress(OSError):  # it has died, which is found when it is waited for
                each.connection.send_bytes(call.message)

    def _answered(self, processes: Sequence[_WorkerProcess]) -> Iterator[_WorkerProcess]:
        """The processes that have sent a message, have died, or are late."""
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
        """Receive the message of a process; false if it has died."""
        try:
            said = each.connection.recv_bytes() if each.connection.poll() else None
        except (EOFError, OSError):
            said = None
        if said is None:
            late = each.call is not None and each.process.poll() is None and time.monotonic() >= each.deadline
            _end(each, at_once=late)
            if each.call:
                each.call.future.set_exception(CallTimeout() if late else WorkerCrashed(each.process.returncode))
            return False
        if not each.asked:
            each.asked = True
            with contextlib.suppress(OSError):
                each.connection.send_bytes(self._first)
            return True
        value, error = _unpacked(said)
        if each.call:
            call, each.call = each.call, None
            call.future.set_exception(error) if error else call.future.set_result(value)
        elif error:
            self._give_up(error)
        else:
            each.ready = True
        return True

    def _give_up(self, problem: Exception) -> None:
        """Let every call have this problem, the later ones as well."""
        with self._lock:
            self._problem = problem
            left = list(self._calls)
            self._calls.clear()
        for call in left:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(problem)


def _started() -> _WorkerProcess:
    ours, theirs = Pipe()
    try:
        process = fork_process(work, theirs, {**os.environ, WORKER_NUMBER: str(next(_numbers))})
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return _WorkerProcess(process, ours)


def _none_begins(last: _WorkerProcess) -> NotAvailable:
    return NotAvailable(
        f"{ATTEMPTS} worker processes died one after the other before they could begin (the last one "
        f"{describe_exit(last.process.returncode)}); if the system is short of memory, use fewer of them: -j 1"
    )


def _end(each: _WorkerProcess, *, at_once: bool = True) -> None:
    """End a process; one that ends by itself is given the time to say with which exit code."""
    each.connection.close()
    if not at_once:
        with contextlib.suppress(subprocess.TimeoutExpired):
            each.process.wait(5)
    each.process.kill()
    each.process.wait()


def _unpacked(said: bytes) -> tuple[Any, Exception | None]:
    try:
        value, error = pickle.loads(said)
    except Exception as problem:  # an exception with a constructor of its own, say
        return None, problem
    return value, error


def work(descriptor: int) -> None:
    """Do what the connection with this file descriptor asks for until it closes, inside of a process."""
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
    """The pickled outcome of a call: the value that it returned, and the error that it raised."""
    try:
        function, arguments = pickle.loads(message)
        return bytes(ForkingPickler.dumps((function(*arguments), None)))
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        try:
            return bytes(ForkingPickler.dumps((None, error)))
        except Exception:
            return bytes(ForkingPickler.dumps((None, RuntimeError("".join(traceback.format_exception(error))))))
