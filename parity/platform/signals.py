"""Delay of Ctrl-C and SIGTERM during steps that must be completed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

__all__ = ["INTERRUPTED", "INTERRUPTS", "delay_interrupts"]

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: that of shells, 128 and the number of the signal."""


@contextlib.contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay interrupts until the end of the block; threads and processes that are started in it receive none."""
    met: list[int] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    # Another thread may receive the signal, and Python calls the handler in this one all the same.
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS} if _is_main_thread() else {}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, frame: met.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for late in dict.fromkeys(met):
            signal.raise_signal(late)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
