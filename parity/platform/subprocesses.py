"""Runs child processes that an interrupt can kill, whichever thread waits for them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_running: set[subprocess.Popen[str]] = set()
_interrupted = threading.Event()


def run(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command with an empty standard input and capture its output. Does not check the exit status."""
    words = [*map(str, command)]
    # A file, not a pipe: clang writes to stderr a few bytes at a time, and dumps of functions are many megabytes.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=cwd,
            env=env,
            process_group=0,  # nvcc starts further compilers
        ) as process,
    ):
        _running.add(process)
        try:
            if _interrupted.is_set():
                _kill(process)
            stdout, _ = process.communicate()
        except BaseException:
            _kill(process)
            raise
        finally:
            _running.discard(process)
        stderr.seek(0)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr.read())


@contextlib.contextmanager
def killed() -> Iterator[None]:
    """Kill the running child processes of all threads, and every one that they start inside the block."""
    _interrupted.set()
    try:
        for process in list(_running):
            _kill(process)
        yield
    finally:
        _interrupted.clear()


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and the processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def interrupted() -> bool:
    """Return True inside a ``killed`` block, in any thread."""
    return _interrupted.is_set()
