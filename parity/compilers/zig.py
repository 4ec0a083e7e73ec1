"""The one compiler binary that parity needs: clang and ld.lld inside the ``ziglang`` wheel."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from parity.errors import MissingTool, ResourceExhausted

__all__ = ["completed", "run", "stopped", "version", "wanted", "zig"]

_running: set[subprocess.Popen[str]] = set()
_stopping = threading.Event()


_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_LACKS = ("No space left on device", "Cannot allocate memory", "LLVM ERROR: out of memory", "Read-only file system")
"""Messages of the compiler on a system that lacks space or memory."""


@functools.cache
def zig() -> Path:
    """Path of the ``zig`` binary. Called directly: ``python -m ziglang`` would add 60 ms to every compilation.

    Raises:
        MissingTool: the wheel is not installed.
    """
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for name in ("zig", "zig.exe"):
            if (path := Path(folder, name)).is_file():
                return path
    raise MissingTool("ziglang (clang 22)", "the Python package ziglang", "python -m pip install 'ziglang==0.17.*'")


@functools.cache
def version() -> str:
    """First line of ``clang --version``."""
    return run(["clang", "--version"]).stdout.splitlines()[0]


def run(arguments: Sequence[str | Path], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``zig`` with these arguments; the caller looks at the return code.

    Raises:
        SystemLacks: it was ended from outside, or found no space or no memory.
    """
    return completed([zig(), *arguments], cwd=cwd)


def completed(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a compiler, this one or another, that ``stopped`` ends; the caller looks at the return code.

    Raises:
        SystemLacks: it was ended from outside, or found no space or no memory.
    """
    done = _completed([*map(str, command)], cwd, env)
    if done.returncode < 0 and -done.returncode in _FROM_OUTSIDE:
        name = signal.Signals(-done.returncode).name
        raise ResourceExhausted(f"the compiler was ended by {name}, as a system does that is out of memory; use -j 1")
    if done.returncode and (lacks := next((each for each in _LACKS if each in done.stderr), "")):
        raise ResourceExhausted(f"the compiler could not work: {lacks}; see $TMPDIR and the cache (PARITY_CACHE)")
    return done


def _completed(command: list[str], cwd: Path | None, env: Mapping[str, str] | None) -> subprocess.CompletedProcess[str]:
    # A file and no pipe: clang writes to stderr a few bytes at a time, and printed functions are many megabytes.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True, cwd=cwd, env=env
        ) as process,
    ):
        _running.add(process)
        try:
            if _stopping.is_set():
                process.kill()
            out, _ = process.communicate()
        finally:
            _running.discard(process)
        said.seek(0)
        return subprocess.CompletedProcess(command, process.returncode, out, said.read())


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """End the compilers of all threads, and those that they start until the block is left, after an interrupt."""
    _stopping.set()
    try:
        for process in list(_running):
            process.kill()
        yield
    finally:
        _stopping.clear()


def wanted() -> bool:
    """True if the output of compilers is still wanted: not after an interrupt."""
    return not _stopping.is_set()
