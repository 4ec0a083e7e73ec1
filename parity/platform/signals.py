"""Delays Ctrl-C and SIGTERM during steps that must complete."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended: 128 plus the number of the signal, as shells define it."""


@contextlib.contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay interrupts until the end of the block. Threads and processes started inside it do not receive them."""
    met: list[int] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    # Even if another thread receives the signal, Python calls the handler in the main thread.
    is_main_thread = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in INTERRUPTS} if is_main_thread else {}
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
