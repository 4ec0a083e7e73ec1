"""The protocol for calling functions in another process or on another machine.

A call consists of a function, its arguments and a time limit. Its result is the return value, the exception that the
function raised, or the way in which the worker failed.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from parity.engine.case_records import Column
from parity.errors import ResourceExhausted
from parity.model.launch import Fault

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""A function that receives the name of the current step, the amount done, and the total."""


def quiet(what: str, done: int, total: int) -> None:
    """Discard the progress."""


class CallFailed(Exception):
    """A call ended its process."""

    def fault(self, seconds: float) -> Fault:
        """Return the fault of a launch in such a call. ``seconds`` is the limit of the call."""
        raise NotImplementedError


class WorkerCrashed(CallFailed):
    """A process ended during a call. ``exitcode`` is negative if a signal ended it."""

    def __init__(self, exitcode: int | None) -> None:
        super().__init__(exitcode)
        self.exitcode = exitcode

    def __str__(self) -> str:
        return f"the process {describe_exit(self.exitcode)}"

    def fault(self, seconds: float) -> Fault:
        if self.exitcode == -signal.SIGKILL:
            return Fault("killed", f"{self}, which happens when the system is out of memory", True)
        return Fault("crash", str(self), True)


class CallTimeout(CallFailed):
    """A call exceeded its time limit, and its process was killed. ``in_callback``: during a function of a case file."""

    def __init__(self, *, in_callback: bool = False) -> None:
        super().__init__()
        self.in_callback = in_callback

    def fault(self, seconds: float) -> Fault:
        return Fault("timeout", f"no end within {seconds:g} s; its process was killed", True)


class NoWorker(ResourceExhausted):
    """No worker has what a call needs. The text names what is missing and why."""


class Pool(Protocol):
    """An object that executes many calls at a time, and that tolerates interrupts and crashing workers."""

    @property
    def shared(self) -> bool:
        """True if the workers share a cache on disk, so that what one call prepares is ready for all."""

    def schedule(
        self, function: Callable[..., T], arguments: Sequence[Any], *, seconds: float, columns: Sequence[Column] = ()
    ) -> Future[T]:
        """Schedule a call on a worker that has these columns, with a time limit in seconds.

        The first argument identifies the module: its name, or an object with an ``op``. The return value must be data
        of the annotated return type.

        The future holds the return value, the exception that the function raised, ``CallFailed`` or ``NoWorker``, or
        ``NotAvailable`` if no worker is left.
        """


def describe_exit(exitcode: int | None) -> str:
    """Return a description of how a process with this exit code ended."""
    if exitcode is not None and exitcode < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-exitcode).name}"
    return f"died with exit code {exitcode}"
