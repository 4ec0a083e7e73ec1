"""Runs a command in a child process, so that code which ends the process cannot decide the exit code."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import sys
import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from os import _exit as end_process  # a case file may replace these functions, and classes of threads
from pathlib import Path
from time import sleep

from parity.errors import NotAvailable, UsageError
from parity.platform.signals import INTERRUPTS

_DEATH_SIGNAL = 1
"""The first argument of prctl(2) that sets the signal which a process gets when its parent ends."""

PATIENCE = 60.0
"""Seconds after which an interrupted child is killed: native code that never returns does not notice a signal."""

_SUBREAPER = 36
"""The first argument of prctl(2) that makes a process the parent of all descendants whose parents end."""

LINGER = 5.0
"""Seconds that threads and handlers of atexit have to end after the result: Python would wait for them forever."""


def run_supervised(command: Callable[[], int]) -> int:
    """Call a command in a child process and return its result, in both processes.

    The result counts only if the call has returned it. A case file, or a library that it imports, can end the process
    in many ways, for example with ``os._exit(0)`` in a handler of atexit. The parent forwards interrupts that only it
    received, and kills a child that does not react. The child does not outlive the parent, and what a case file started
    does not outlive the child.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {*INTERRUPTS, signal.SIGCHLD})
    receiver, sender = map(_above_streams, os.pipe())
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    parent = os.getpid()
    if child := os.fork():
        os.close(sender)
        return _supervise(child, receiver)
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell does that for the background jobs of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    code = command()
    os.write(sender, bytes([code]))
    start_new_thread(_leave, (code,))
    return code


def _leave(code: int) -> None:
    sleep(LINGER)
    end_process(code)


def _above_streams(descriptor: int) -> int:
    """Move a file descriptor to a number that is not a standard stream, which may be closed."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _supervise(child: int, receiver: int) -> int:
    """Wait for the child, and return the code that it has reported."""
    status: int | None = None
    patience = threading.TIMEOUT_MAX
    while status is None:
        met = signal.sigtimedwait({*INTERRUPTS, signal.SIGCHLD}, patience)
        if met is None:
            os.kill(child, signal.SIGKILL)
        elif met.si_signo == signal.SIGCHLD:
            while (found := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0] not in (0, child):
                pass  # an adopted process
            status = found[1] if found[0] and not is_stopped(*found) else None
        else:
            patience = PATIENCE
            if met.si_code <= 0:  # another process sent it; the terminal signals the child as well
                os.kill(child, met.si_signo)
    _kill_children()
    os.set_blocking(receiver, False)
    try:
        (code,) = os.read(receiver, 2)
    except (BlockingIOError, ValueError):
        return _without_result(os.waitstatus_to_exitcode(status))
    return code


def is_stopped(pid: int, status: int) -> bool:
    """Return whether a status of waitpid(2) reports a stop. A process that only SIGSTOP has stopped goes on."""
    if os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGSTOP:
        os.kill(pid, signal.SIGCONT)
    return os.WIFSTOPPED(status)


def _kill_children() -> None:
    """Kill the processes that this process has adopted. Others appear when their parents end."""
    ends = time.monotonic() + LINGER  # a process that waits for a device may not react
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < ends:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            for file in Path("/proc").glob("[0-9]*/stat"):
                with contextlib.suppress(OSError):  # it has ended
                    if file.read_text(errors="replace").rpartition(")")[2].split()[1] == str(os.getpid()):
                        os.kill(int(file.parent.name), signal.SIGKILL)
            time.sleep(0.01)


def _without_result(exitcode: int) -> int:
    """Print what happened to a child that ended without a result, and return the exit code."""
    how = f"by {signal.Signals(-exitcode).name}" if exitcode < 0 else f"with exit code {exitcode}"
    print(f"parity: the process was ended {how} before it had a result; nothing is proven", file=sys.stderr)
    return NotAvailable.exit_code if exitcode < 0 else UsageError.exit_code
