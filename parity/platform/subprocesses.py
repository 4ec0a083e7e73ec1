"""Runs child processes that an interrupt can kill, whichever thread waits for them."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_WATCHER = """
trap "" INT TERM
while read -r sign group; do
  case $sign in
    +) groups="$groups $group"; eval "running_$group=1" ;;
    -) eval "running_$group=" ;;
  esac
done
for group in $groups; do
  eval "[ -z \\"\\$running_$group\\" ]" || kill -s KILL -- "-$group"
done
"""
"""A shell script that kills the process groups in its input which are still running when the input ends."""
_watching = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_interrupted = threading.Event()


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command with an empty standard input and capture its output. Does not check the exit status.

    Raises:
        TimeoutExpired: the command took longer than ``seconds`` and was killed. The error has its output.
    """
    words = [*map(str, command)]
    _watch("-", 0)  # starts the watcher
    # A file, not a pipe: clang writes to stderr a few bytes at a time, and dumps of functions are many megabytes.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr,
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            cwd=cwd,
            env=env,
            process_group=0,  # nvcc starts further compilers
        ) as process,
    ):
        _watch("+", process.pid)
        _running.add(process)
        try:
            if _interrupted.is_set():
                _kill(process)
            stdout, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            _kill(process)
            stdout, _ = process.communicate()
            stderr.seek(0)
            raise subprocess.TimeoutExpired(words, error.timeout, stdout, stderr.read()) from error
        except BaseException:
            _kill(process)
            raise
        finally:
            _running.discard(process)
            _watch("-", process.pid)
        stderr.seek(0)
        return subprocess.CompletedProcess(words, process.returncode, stdout, stderr.read())


@functools.cache
def _watcher() -> subprocess.Popen[bytes]:
    """Start a process that kills running process groups when this process ends, even by SIGKILL."""
    return subprocess.Popen(
        ["sh", "-c", _WATCHER], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True
    )


def _watch(sign: str, group: int) -> None:
    with _watching, contextlib.suppress(OSError):  # without a watcher, compilers end by themselves
        stream = _watcher().stdin
        assert stream
        stream.write(f"{sign} {group}\n".encode())


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
