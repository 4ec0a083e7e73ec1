"""Runs a device in a separate process, because some GPU errors make the GPU unusable for the whole process.

After an illegal address or a failed assertion, every CUDA call returns the same error until the process ends. A kernel
in an endless loop can only be stopped by ending the process. After such an error the device's process is ended, the
launch gets a fault, and the next launch starts a new process.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, Any, TypeVar

from parity.errors import DeviceLost
from parity.model.code_object import CodeObject
from parity.model.launch import Buffer, Fault, Launch, Outcome, Tiled
from parity.platform.fork_server import is_preloaded
from parity.runners.timing import Timings

T = TypeVar("T")

START_SECONDS = 120.0
"""Time limit for opening a device. Many processes may import CuPy and create a context at the same time."""

LAUNCH_SECONDS = 20.0
"""Time limit for one launch with its copies; the largest case takes milliseconds."""

TIME_SECONDS = 60.0
"""Additional time limit for timing a launch, for its buffers and the repetitions of a slow kernel."""


class IsolatedSession:
    """A session that executes its launches in another process, started on the first call.

    ``executor`` is the import path (``module:name``) of a callable that creates the executor there from ``arguments``.
    The executor implements the methods that are called: ``execute``, ``time``, or any method for ``call``. A fault with
    ``lost`` set ends the process.

    ``library`` is a module whose import takes long. If the fork server has preloaded it, the other process is a fork of
    this one, which must not have used the device.
    """

    def __init__(
        self,
        executor: str,
        arguments: Sequence[Any] = (),
        *,
        launch_seconds: float = LAUNCH_SECONDS,
        library: str = "",
    ) -> None:
        self._executor, self._arguments, self._launch_seconds = executor, tuple(arguments), launch_seconds
        self._library = library
        self._process: _DeviceProcess | None = None

    def prepare(self, code: CodeObject, kernels: Sequence[str]) -> None:
        """Do nothing: a module is loaded with its first launch."""

    def execute(self, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer]) -> Outcome:
        """Run one launch.

        Raises:
            NotAvailable: The device cannot be opened.
        """
        arguments = _with_symbols(code, launch), dict(buffers)
        result = self._call("execute", code, arguments, self._launch_seconds)
        return result if isinstance(result, Outcome) else Outcome.untouched(buffers, result)

    def time(
        self,
        code: CodeObject,
        launch: Launch,
        buffers: Mapping[str, Tiled],
        *,
        hot: bool = False,
        seconds: float = 1.0,
    ) -> Timings | Fault:
        """Implement ``SupportsTiming.time``.

        Raises:
            NotAvailable: The device cannot be opened.
        """
        limit = TIME_SECONDS + 2 * seconds
        arguments = _with_symbols(code, launch), dict(buffers)
        result: Timings | Fault = self._call("time", code, arguments, limit, hot=hot, seconds=seconds)
        return result

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the executor that takes no code object, and return its result or a fault.

        Raises:
            NotAvailable: The device cannot be opened.
        """
        return self._call(method, None, arguments, self._launch_seconds)

    def _call(
        self, method: str, code: CodeObject | None, arguments: tuple[Any, ...], limit: float, **options: Any
    ) -> Any:
        if self._process is None:
            self._process = _DeviceProcess(self._executor, self._arguments, self._library)
        result = self._process.call(method, code, arguments, limit, options)
        fault = result.fault if isinstance(result, Outcome) else result
        if isinstance(fault, Fault) and fault.lost:
            self.close()
        return result

    def close(self) -> None:
        """End the process. The next call starts a new one."""
        if self._process is not None:
            self._process.end()
            self._process = None


class _DeviceProcess:
    """A process with an open device. It ends when the connection to it is closed."""

    def __init__(self, executor: str, arguments: tuple[Any, ...], library: str) -> None:
        self._connection, theirs = Pipe()
        # The driver's output, such as the message of a failed assertion, becomes part of the fault.
        self._printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._printed_before = 0
        self._known: set[str] = set()
        self._popen = (_forked if is_preloaded(library) else _started)(theirs.fileno(), self._printed)
        theirs.close()
        try:
            self._connection.send((executor, arguments))
            late = not self._connection.poll(START_SECONDS)
            problem = f"not ready after {START_SECONDS:g} s" if late else self._connection.recv()
        except (EOFError, OSError):
            problem = f"its process died with exit code {self._popen.wait()}{self._output()}"
        if problem:
            self.end()
            raise DeviceLost(f"the device cannot be opened: {problem}")

    def call(
        self,
        method: str,
        code: CodeObject | None,
        arguments: tuple[Any, ...],
        seconds: float,
        options: Mapping[str, Any],
    ) -> Any:
        self._printed_before = os.fstat(self._printed.fileno()).st_size
        try:
            if code is not None and code.digest not in self._known:
                self._connection.send(replace(code, stored=""))
                self._known.add(code.digest)
            self._connection.send((method, code and code.digest, arguments, dict(options)))
            if self._connection.poll(seconds):
                result = self._connection.recv()
            else:
                result = Fault("timeout", f"no end within {seconds:g} s; the process was ended", True)
        except (EOFError, OSError):
            ended = self._popen.wait()
            kind = "killed" if ended == -signal.SIGKILL else "crash"  # by the system, when memory runs out
            result = Fault(kind, f"the device's process died with exit code {ended}", True)
        fault = result.fault if isinstance(result, Outcome) else result
        if isinstance(fault, Fault) and fault.lost:
            self.end()
            whole = replace(fault, message=fault.message + self._output())
            return replace(result, fault=whole) if isinstance(result, Outcome) else whole
        return result

    def end(self) -> None:
        self._connection.close()
        self._popen.kill()
        self._popen.wait()

    def _output(self) -> str:
        """Return the first lines printed since the call. They name the cause; thousands of similar lines may follow."""
        self._printed.seek(self._printed_before)
        lines = self._printed.read(4096).decode(errors="replace").splitlines()[:8]
        return "".join(f"\n{line}" for line in lines)


def _with_symbols(code: CodeObject, launch: Launch) -> Launch:
    """Name the variables of a launch by their symbols: the other process does not get the listing, which has them."""
    if not (launch.constants or launch.results):
        return launch
    symbols = {name: code.variable(name) for name in (*launch.constants, *launch.results)}
    return replace(
        launch,
        constants={symbols[name]: content for name, content in launch.constants.items()},
        results={symbols[name]: of for name, of in launch.results.items()},
    )


def _started(descriptor: int, printed: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that serves the connection at this file descriptor and writes its output to ``printed``."""
    command = [sys.executable, "-m", "parity.runners.isolated", str(descriptor)]
    return subprocess.Popen(command, pass_fds=[descriptor], stdin=subprocess.DEVNULL, stdout=printed, stderr=printed)


@dataclass
class _Forked:
    """A fork of this process, with methods of ``subprocess.Popen``."""

    pid: int
    returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def _forked(descriptor: int, printed: IO[bytes]) -> _Forked:
    """Do the same as ``_started`` with a fork of this process."""
    if pid := os.fork():
        return _Forked(pid)
    try:
        for stream, source in enumerate(
            (os.open(os.devnull, os.O_RDWR), printed.fileno(), printed.fileno(), descriptor)
        ):
            os.dup2(source, stream)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1)
        _serve(Connection(3))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def receive_in_thread(receive: Callable[[], T]) -> queue.SimpleQueue[T]:
    """Put the results of repeated calls of ``receive`` into a queue. End this process when the connection closes.

    A thread reads the connection, so that the process ends even during a call that never returns.
    """
    messages: queue.SimpleQueue[T] = queue.SimpleQueue()

    def read() -> None:
        while True:
            try:
                messages.put(receive())
            except (EOFError, OSError):
                os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return messages


def _serve(connection: Connection) -> None:
    """Answer requests until the connection closes."""
    requests: queue.SimpleQueue[Any] = receive_in_thread(connection.recv)
    path, arguments = requests.get()
    module, _, name = path.partition(":")
    try:
        executor = getattr(importlib.import_module(module), name)(*arguments)
    except Exception as error:
        traceback.print_exc()
        connection.send(f"{type(error).__name__}: {error}")
        return
    connection.send("")
    codes: dict[str, CodeObject] = {}
    while True:
        request = requests.get()
        if isinstance(request, CodeObject):
            codes[request.digest] = request
            continue
        method, digest, arguments, options = request
        code = () if digest is None else (codes[digest],)
        try:
            result = getattr(executor, method)(*code, *arguments, **options)
        except Exception as error:  # an error in the executor affects only this launch
            traceback.print_exc()
            result = Fault("error", f"{type(error).__name__}: {error}")
        connection.send(result)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
