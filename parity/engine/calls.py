"""Calls of functions of parity that are executed somewhere else: in a process of this machine, or on another machine.

The protocol that both have: a function, its arguments and a time limit go in; what it returned or raised, or how it
ended otherwise, comes out.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from parity.engine.case_records import Column
from parity.model.launch import Fault

__all__ = ["CallTimeout", "NoWorker", "Pool", "Progress", "WorkerCrashed", "call_fault", "describe_exit", "quiet"]

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""A function that is called with the name of the current step, the finished part of it, and the whole."""


def quiet(what: str, done: int, total: int) -> None:
    """Tell nobody of the progress."""


class WorkerCrashed(Exception):
    """A process ended in the middle of a call. ``exitcode`` is negative if a signal ended it."""

    def __init__(self, exitcode: int | None) -> None:
        super().__init__(exitcode)
        self.exitcode = exitcode

    def __str__(self) -> str:
        return f"the process {describe_exit(self.exitcode)}"

    @property
    def killed(self) -> bool:
        """True if the process was killed from outside, as the system does when memory runs out."""
        return self.exitcode == -signal.SIGKILL


class CallTimeout(Exception):
    """A call took too long; its process has ended."""


class NoWorker(Exception):
    """Nobody has what a call needs, or not any more; the text says what that is and why."""


class Pool(Protocol):
    """An object that executes calls, many at a time. It may be interrupted, and its workers may die, at any moment."""

    @property
    def shared(self) -> bool:
        """True if what one call makes ready, in a cache on disk, is ready for the others."""

    def schedule(
        self, function: Callable[..., T], arguments: Sequence[Any], *, seconds: float, columns: Sequence[Column] = ()
    ) -> Future[T]:
        """Call a function where these columns can be executed, for so many seconds at most.

        The first argument says what module the call is about: its name, or what has an ``op``. What the function
        returns is of the type that it declares, which is data.

        The future holds the result, or the exception that the function raised, or ``WorkerCrashed``, ``CallTimeout``
        or ``NoWorker``, or ``NotAvailable`` if no worker is left.
        """


def call_fault(error: WorkerCrashed | CallTimeout, seconds: float) -> Fault:
    """The fault of what a call was to execute that ended its process; ``seconds`` was its limit."""
    if isinstance(error, CallTimeout):
        return Fault("timeout", f"no end within {seconds:g} s; its process was ended", True)
    if error.killed:
        return Fault("killed", f"{error}, as a system does that is out of memory", True)
    return Fault("crash", str(error), True)


def describe_exit(exitcode: int | None) -> str:
    """The end of a process with this exit code, in words."""
    if exitcode is not None and exitcode < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-exitcode).name}"
    return f"died with exit code {exitcode}"
