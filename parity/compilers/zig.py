"""The one compiler binary that parity needs: clang and ld.lld inside the ``ziglang`` wheel."""

from __future__ import annotations

import functools
import importlib.util
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.errors import MissingTool, ResourceExhausted
from parity.platform import subprocesses

__all__ = ["completed", "run", "version", "zig"]

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
    done = subprocesses.run(command, cwd=cwd, env=env)
    if done.returncode < 0 and -done.returncode in _FROM_OUTSIDE:
        name = signal.Signals(-done.returncode).name
        raise ResourceExhausted(f"the compiler was ended by {name}, as a system does that is out of memory; use -j 1")
    if done.returncode and (lacks := next((each for each in _LACKS if each in done.stderr), "")):
        raise ResourceExhausted(f"the compiler could not work: {lacks}; see $TMPDIR and the cache (PARITY_CACHE)")
    return done
