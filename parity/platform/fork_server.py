"""A server process that has imported parity and forks worker processes in milliseconds. Starting Python takes longer.

multiprocessing's fork server does not fit: it runs the parent's program again, belongs to the user's program in some
versions of Python, and prints a traceback in a process whose parent is killed early.
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

from parity.platform.signals import INTERRUPTS, delay_interrupts
from parity.platform.supervision import is_stopped

_PRELOADED = "parity.engine.preloaded"
"""The module that the server imports first."""

_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; from parity.platform.fork_server import serve; serve(int(sys.argv[1]))"
)

_ATTEMPTS = 2
"""Number of servers to try, in case the first has been killed."""

_REQUEST, _IMPORT = b".", b"i"
_DESCRIPTORS = 6
"""File descriptors of a request: pipe for the exit status, connection, pickled task, working folder, output, error."""


@dataclass
class ForkedProcess:
    """A forked process, with methods of ``subprocess.Popen``. Its parent, the server, reports the exit status."""

    pid: int
    _status: Connection
    returncode: int | None = None
    """Exit code, negative if a signal ended the process. None while it runs, or if the server ended first."""

    def poll(self) -> int | None:
        """Return the exit code, or None if the process is running."""
        self._has_ended(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the end of the process and return the exit code.

        Raises:
            subprocess.TimeoutExpired: the process did not end within ``timeout`` seconds.
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
        if not self._status.closed and self._status.poll(seconds):
            with contextlib.suppress(EOFError, OSError):
                self.returncode = self._status.recv()
            self._status.close()
        return self._status.closed


@dataclass
class _Server:
    """The server of a process. It ends when the control socket is closed."""

    pid: int
    control: socket.socket
    parent: int
    used: bool = False

    def has_ended(self, options: int = os.WNOHANG) -> bool:
        """Return whether the server has ended; with ``options`` 0, wait for its end."""
        try:
            return os.waitpid(self.pid, options) != (0, 0)
        except ChildProcessError:  # it ended earlier
            return True

    def end(self) -> None:
        """Close the socket and wait for the server, unless this is a fork of the process that it serves."""
        self.control.close()
        if self.parent == os.getpid():
            if not self.used and not self.has_ended():
                os.kill(self.pid, signal.SIGKILL)  # it may still be importing
            self.has_ended(0)


_server: _Server | None = None
_lock = threading.Lock()
_preloaded: set[str] = set()
"""The modules that ``preload`` has imported, in the server and in the processes that it forks."""


def fork_server() -> None:
    """Start the server as a fork of this process, so that both share the imports.

    Only a process without threads and devices may call this.
    """
    global _server
    importlib.import_module(_PRELOADED)
    with _lock, delay_interrupts(), contextlib.suppress(OSError), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking warns about the threads of NumPy's BLAS
        ours, theirs = socket.socketpair()
        with theirs:
            if not (pid := os.fork()):
                _become_server(theirs.detach())
        _server = _registered(pid, ours)


def _become_server(descriptor: int) -> NoReturn:
    """Close the files of the parent, and serve. Never return to the parent's program."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):
            os.dup2(null, stream)
        os.closerange(3, descriptor)
        os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
        sys.path[:] = _folders()
        serve(descriptor)
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(1)


def preload(module: str) -> None:
    """Let the running server of this process import a module, for the processes that it forks afterwards."""
    with _lock, tempfile.TemporaryFile() as file, contextlib.suppress(OSError):
        if _server is not None and _server.parent == os.getpid():
            file.write(module.encode())
            file.flush()
            socket.send_fds(_server.control, [_IMPORT], [file.fileno()])


def is_preloaded(module: str) -> bool:
    """Return True if the server has imported the module before it forked this process."""
    return module in _preloaded


def fork_process(
    function: Callable[[int], None], connection: Connection, environment: Mapping[str, str]
) -> ForkedProcess:
    """Call a function with the file descriptor of a connection in a new process, which then ends.

    The process has the given environment, an empty standard input, and the caller's working directory, standard output
    and error, and ``sys.path``.

    Raises:
        OSError: the system cannot create a process.
    """
    with tempfile.TemporaryFile() as task, contextlib.ExitStack() as stack:
        pickle.dump((function, _folders(), dict(environment)), task)
        task.flush()
        given = [connection.fileno(), task.fileno(), *(_descriptor(stack, each) for each in (os.curdir, 1, 2))]
        for _ in range(_ATTEMPTS):
            status, report = Pipe(duplex=False)
            with report, _lock, contextlib.suppress(BrokenPipeError):
                server = _running_server()
                server.used = True
                socket.send_fds(server.control, [_REQUEST], [report.fileno(), *given])
            with contextlib.suppress(EOFError):
                answer = status.recv()
                if isinstance(answer, int):
                    return ForkedProcess(answer, status)
                status.close()
                raise answer
            status.close()
            server.end()
    raise BrokenPipeError(errno.EPIPE, "the fork server was ended")


def _folders() -> list[str]:
    """``sys.path``, with the working directory as an absolute path."""
    return [folder or str(Path.cwd()) for folder in sys.path]


def _descriptor(stack: contextlib.ExitStack, what: str | int) -> int:
    """A descriptor of a folder or standard stream, or of the null device if that is closed. The stack closes it."""
    try:
        if isinstance(what, str):
            descriptor = os.open(what, os.O_PATH | os.O_DIRECTORY)
        elif os.get_inheritable(what):
            descriptor = os.dup(what)
        else:  # the stream is closed, and another file has its number
            descriptor = os.open(os.devnull, os.O_RDWR)
    except OSError:
        descriptor = os.open(os.devnull, os.O_RDWR)
    stack.callback(os.close, descriptor)
    return descriptor


def _running_server() -> _Server:
    """The server of this process; starts one if none is running."""
    global _server
    if _server is None or _server.parent != os.getpid() or _server.has_ended():
        _server = _start()
    return _server


def _start() -> _Server:
    """Start the server as a new interpreter, because this process may have threads and devices."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), *_folders()]
    with theirs, contextlib.ExitStack() as stack:
        theirs.set_inheritable(True)
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, _descriptor(stack, 2), 2),
        ]
        try:
            pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=streams)
        except BaseException:
            ours.close()
            raise
    return _registered(pid, ours)


def _registered(pid: int, control: socket.socket) -> _Server:
    found = _Server(pid, control, os.getpid())
    atexit.register(found.end)
    return found


def serve(descriptor: int) -> NoReturn:
    """Run the server: fork a process for each request from a socket, until the socket closes."""
    gc.disable()
    importlib.import_module(_PRELOADED)
    gc.enable()
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
    warnings.simplefilter("ignore", DeprecationWarning)  # forking warns about the threads of NumPy's BLAS
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    woken, wakes = socket.socketpair()
    for each in (woken, wakes):
        each.setblocking(False)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    gc.freeze()  # keeps the garbage collector from copying shared pages in every process
    children: dict[int, Connection] = {}
    while True:
        ready = wait([control, woken])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)
            _report_ended(children)
        if control in ready:
            request, descriptors, _, _ = socket.recv_fds(control, 1, _DESCRIPTORS)
            if not request:
                os._exit(0)
            if request == _IMPORT:
                _import(*descriptors)
            else:
                _fork(descriptors, children, (control, woken, wakes))


def _import(descriptor: int) -> None:
    """Import the module that a file names. Processes that need it report any error."""
    with os.fdopen(descriptor, "rb") as file, contextlib.suppress(Exception):
        file.seek(0)
        name = file.read().decode()
        importlib.import_module(name)
        _preloaded.add(name)


def _report_ended(children: dict[int, Connection]) -> None:
    """Report the exit codes of ended processes."""
    for pid in list(children):
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if found and not is_stopped(found, status):
            with children.pop(pid) as report, contextlib.suppress(OSError):
                report.send(os.waitstatus_to_exitcode(status))


def _fork(descriptors: list[int], children: dict[int, Connection], server: Sequence[socket.socket]) -> None:
    report = Connection(descriptors.pop(0), readable=False)
    try:
        pid = os.fork()
    except OSError as error:
        answer: int | OSError = error
    else:
        if not pid:
            report.close()
            _run_task(descriptors, [*children.values(), *server])
        answer = pid
        children[pid] = report
    for each in descriptors:
        os.close(each)
    with contextlib.suppress(OSError):
        report.send(answer)
    if isinstance(answer, OSError):
        report.close()


def _run_task(descriptors: Sequence[int], others: Iterable[Connection | socket.socket]) -> NoReturn:
    """Run the requested task, inside the forked process."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in others:
            each.close()
        connection, task, folder, out, error = descriptors
        for to, copy in enumerate((out, error), 1):
            os.dup2(copy, to)
            os.close(copy)
        with contextlib.suppress(OSError):
            os.fchdir(folder)
        os.close(folder)
        with os.fdopen(task, "rb") as file:
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
