"""Ctrl-C and SIGTERM, put off while something must not be left half done."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

__all__ = ["INTERRUPTS", "held"]

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Interrupts that come meanwhile come afterwards; threads and processes that are started meanwhile get none."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
