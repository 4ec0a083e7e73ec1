"""Limits the time of calls into case files, which could otherwise wait or compute forever."""

from __future__ import annotations

import ctypes
import faulthandler
import functools
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import getpid  # as it is now: code in a block may replace it
from pathlib import Path
from types import FrameType
from typing import Any, cast

from parity.errors import UsageError

VARIABLE = "PARITY_TIME_LIMIT"
SECONDS = 300.0
"""The default. Each of these calls usually takes less than a second."""
_AGAIN = 1.0
"""Seconds after which an interrupt that code has caught comes again."""
CALLBACK = b"parity callback"
"""The name of a process, at most 15 bytes, while a function of a case file runs in it."""
OWN_NAME = Path("/proc/self/comm")
_PR_SET_NAME = 15


_STDERR = 2


_STOPS = signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU
_depth = 0
"""The number of entered blocks of ``time_limit``."""


class TimeLimitExceeded(BaseException):
    """Interrupts code at its current line. It is not an ``Exception``, which the code could catch by mistake."""


def seconds_allowed() -> float:
    """Return the time limit in seconds.

    Raises:
        UsageError: the environment variable is not a number above 0.
    """
    text = os.environ.get(VARIABLE) or str(SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise UsageError(f"{VARIABLE} is {text!r}; it must be a number of seconds above 0")
    return seconds


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise ``TimeLimitExceeded`` in the block when the time is over, and keep processes that it forks inside of it.

    Only the main thread can be interrupted. A timer that is already active stays: it belongs to a block around this
    one, or to a test runner with its own limit.
    """
    global _depth
    process = getpid()
    _depth += 1
    try:
        with _interrupting():
            yield
    finally:
        _depth -= 1
        if getpid() != process:  # a fork, which would continue as a second worker; os._exit may be replaced
            signal.raise_signal(signal.SIGKILL)


def refuse_own_end(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what would keep this process from an end within the limit, if an audit event in a block announces it.

    Raises:
        UsageError: the code stops a process, or lowers a limit of the system for this process.
    """
    if not _depth:
        return
    if event == "os.kill" and arguments[1] in _STOPS:
        raise UsageError(f"a case file must not stop processes ({signal.Signals(arguments[1]).name})")
    if event == "resource.setrlimit" and arguments[0] != resource.RLIMIT_CORE:
        before, after = resource.getrlimit(arguments[0])[0], arguments[1][0]
        if after != resource.RLIM_INFINITY and (after < before or before == resource.RLIM_INFINITY):
            raise UsageError(f"a case file must not lower limits of the process, here from {before} to {after}")


@contextmanager
def _interrupting() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TimeLimitExceeded(f"did not end within {seconds_allowed():g} s; {VARIABLE} sets another limit")

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds_allowed(), _AGAIN)
        with _named(CALLBACK):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_in_callback(pid: int) -> bool:
    """Return whether a process runs a function of a case file. Native code in it cannot be interrupted."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes().strip() == CALLBACK
    except OSError:
        return False


@contextmanager
def _named(name: bytes) -> Iterator[None]:
    """Give this process another name in the block."""
    prctl, usual = _prctl(), _own_name()
    prctl(_PR_SET_NAME, name)
    try:
        yield
    finally:
        prctl(_PR_SET_NAME, usual)


@functools.cache
def _prctl() -> Callable[[int, bytes], int]:
    function = ctypes.CDLL(None).prctl
    function.argtypes = ctypes.c_int, ctypes.c_char_p
    return cast("Callable[[int, bytes], int]", function)


@functools.cache
def _own_name() -> bytes:
    return OWN_NAME.read_bytes().strip() if OWN_NAME.is_file() else b"parity"


@contextmanager
def end_stuck_process() -> Iterator[None]:
    """End the process with a traceback after twice the time limit, because nothing can interrupt native code."""
    seconds = min(2 * seconds_allowed(), threading.TIMEOUT_MAX)
    faulthandler.dump_traceback_later(seconds, exit=True, file=_STDERR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
