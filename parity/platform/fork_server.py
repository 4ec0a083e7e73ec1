"""A process that has imported parity and forks others, which begin in milliseconds where Python takes most of a second.

Not multiprocessing's: it runs the program of its parent once more, in some versions of Python is the user's own, and
lets a process whose parent is killed early print a traceback.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NoReturn

from parity.platform.signals import INTERRUPTS

__all__ = ["ForkedProcess", "fork_process", "start_server"]

# What is imported and found out here no forked process does again: all of parity.engine, Hypothesis, the runners that
# nearly all use, and what code draws.
_BEGIN = (
    "import gc, sys; gc.disable(); sys.path[:] = sys.argv[2:]; import hypothesis, parity.engine, parity.runners.ptx; "
    "from parity.suite.sample_cache import drawing_code; drawing_code(); "
    "from parity.platform.fork_server import serve; gc.enable(); serve(int(sys.argv[1]))"
)

_ATTEMPTS = 2
"""Servers that are asked for a process, if the first has been killed."""

_REQUEST = b"."
_OPENED = 6
"""The parts of a request: the pipe that tells how it ended, connection, what to do, folder, output and error."""


@dataclass
class ForkedProcess:
    """A process that was forked, with methods of ``subprocess.Popen``. The server, its parent, tells how it ended."""

    pid: int
    _told: Connection
    returncode: int | None = None
    """The exit code, negative if a signal ended it; None while it runs, or if the server ended first."""

    def poll(self) -> int | None:
        """The exit code, if the process has ended."""
        self._has_ended(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit code, when the process has ended.

        Raises:
            subprocess.TimeoutExpired: it has not ended in so many seconds.
        """
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0.0)
        return self.returncode

    def kill(self) -> None:
        """End the process with SIGKILL."""
        if not self._has_ended(0):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _has_ended(self, seconds: float | None) -> bool:
        if not self._told.closed and self._told.poll(seconds):
            with contextlib.suppress(EOFError, OSError):
                self.returncode = self._told.recv()
            self._told.close()
        return self._told.closed


@dataclass
class _Server:
    """The server of a process, and the socket with which it is asked; it ends when that is closed."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    parent: int
    asked: bool = False

    def end(self) -> None:
        """Wait for its end, unless this is a copy of the process that it serves."""
        self.control.close()
        if self.parent == os.getpid():
            if not self.asked:
                self.process.kill()  # it may be importing still
            self.process.wait()


_server: _Server | None = None
_lock = threading.Lock()


def start_server() -> None:
    """Start the server, which imports for as long as a command does that is going to ask it."""
    with _lock, contextlib.suppress(OSError):
        _running()


def fork_process(
    function: Callable[[int], None], connection: Connection, environment: Mapping[str, str]
) -> ForkedProcess:
    """Call a function with the file descriptor of a connection in a new process, which ends when it returns.

    The process has this environment and nothing to read, and of the one that asks: the working directory, standard
    output and error, and ``sys.path``.

    Raises:
        OSError: the system has no more processes.
    """
    with tempfile.TemporaryFile() as said, contextlib.ExitStack() as opened:
        pickle.dump((function, _folders(), dict(environment)), said)
        said.flush()
        given = [connection.fileno(), said.fileno(), *(_opened(opened, each) for each in (os.curdir, 1, 2))]
        for _ in range(_ATTEMPTS):
            told, tells = Pipe(duplex=False)
            with tells, _lock, contextlib.suppress(BrokenPipeError):
                server = _running()
                server.asked = True
                socket.send_fds(server.control, [_REQUEST], [tells.fileno(), *given])
            with contextlib.suppress(EOFError):
                answer = told.recv()
                if isinstance(answer, int):
                    return ForkedProcess(answer, told)
                told.close()
                raise answer
            told.close()
            server.end()
    raise BrokenPipeError(errno.EPIPE, "the process that forks them was ended")


def _folders() -> list[str]:
    """``sys.path``, whatever the working directory will be."""
    return [folder or str(Path.cwd()) for folder in sys.path]


def _opened(until: contextlib.ExitStack, what: str | int) -> int:
    """A descriptor of a folder or of a standard stream, while the stack is open; of nothing, where that is closed."""
    try:
        if isinstance(what, str):
            descriptor = os.open(what, os.O_PATH | os.O_DIRECTORY)
        elif os.get_inheritable(what):
            descriptor = os.dup(what)
        else:  # a file of this program, which has the number of a stream that is closed
            descriptor = os.open(os.devnull, os.O_RDWR)
    except OSError:
        descriptor = os.open(os.devnull, os.O_RDWR)
    until.callback(os.close, descriptor)
    return descriptor


def _running() -> _Server:
    """The server of this process, which is started if there is none, or none any more."""
    global _server
    if _server is None or _server.parent != os.getpid() or _server.process.poll() is not None:
        _server = _started()
    return _server


def _started() -> _Server:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", _BEGIN, str(theirs.fileno()), *_folders()]
    with theirs, contextlib.ExitStack() as opened:
        error = _opened(opened, 2)
        try:
            process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=error
            )
        except BaseException:
            ours.close()
            raise
    found = _Server(process, ours, os.getpid())
    atexit.register(found.end)
    return found


def serve(descriptor: int) -> NoReturn:
    """Fork a process for each request from this socket until it closes, inside of the server."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    warnings.simplefilter("ignore", DeprecationWarning)  # about threads, which are those of NumPy's BLAS
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    woken, wakes = socket.socketpair()
    for each in (woken, wakes):
        each.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    gc.freeze()  # or each process would have pages of its own for what all of them share
    children: dict[int, Connection] = {}
    while True:
        ready = wait([control, woken])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)
            _tell(children)
        if control in ready:
            request, descriptors, _, _ = socket.recv_fds(control, 1, _OPENED)
            if not request:
                os._exit(0)
            _fork(descriptors, children, (control, woken, wakes))


def _tell(children: dict[int, Connection]) -> None:
    """Tell how those processes ended that have."""
    for pid in list(children):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            with children.pop(pid) as tells, contextlib.suppress(OSError):
                tells.send(os.waitstatus_to_exitcode(status))


def _fork(descriptors: list[int], children: dict[int, Connection], server: Sequence[socket.socket]) -> None:
    tells = Connection(descriptors.pop(0), readable=False)
    try:
        pid = os.fork()
    except OSError as error:
        answer: int | OSError = error
    else:
        if not pid:
            tells.close()
            _become(descriptors, [*children.values(), *server])
        answer = pid
        children[pid] = tells
    for each in descriptors:
        os.close(each)
    with contextlib.suppress(OSError):
        tells.send(answer)
    if isinstance(answer, OSError):
        tells.close()


def _become(descriptors: Sequence[int], others: Iterable[Connection | socket.socket]) -> NoReturn:
    """Do what was asked for, inside of the process that was forked for it."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in others:
            each.close()
        connection, said, folder, out, error = descriptors
        for to, copy in enumerate((out, error), 1):
            os.dup2(copy, to)
            os.close(copy)
        with contextlib.suppress(OSError):
            os.fchdir(folder)
        os.close(folder)
        with os.fdopen(said, "rb") as file:
            file.seek(0)
            function, sys.path[:], environment = pickle.load(file)
        importlib.invalidate_caches()
        os.environ.clear()
        os.environ.update(environment)
        function(connection)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)
