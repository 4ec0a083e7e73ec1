"""Runs the compiler binary of the ``ziglang`` wheel, which contains clang and ld.lld."""

from __future__ import annotations

import functools
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from parity.compilers.environment import compiler_environment
from parity.errors import MissingTool, ResourceExhausted
from parity.platform import subprocesses
from parity.platform.cache import default_root, free_mebibytes
from parity.platform.installation import package_folders

_KILLING_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_EXHAUSTED = ("No space left on device", "Cannot allocate memory", "LLVM ERROR: out of memory", "Read-only file system")
"""Messages of a compiler that lacks memory or disk space."""


@functools.cache
def zig() -> Path:
    """Return the path of the ``zig`` binary. Calling it directly saves 60 ms compared with ``python -m ziglang``.

    Raises:
        MissingTool: the wheel is not installed.
    """
    for folder in package_folders("ziglang"):
        if (path := folder / "zig").is_file():
            return path
    raise MissingTool("ziglang (clang 22)", "the Python package ziglang", "python -m pip install 'ziglang==0.17.*'")


@functools.cache
def version() -> str:
    """Return the first line of ``clang --version``."""
    return run(["clang", "--version"]).stdout.splitlines()[0]


def run(arguments: Sequence[str | Path], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``zig`` with these arguments. Does not check the exit status.

    Raises:
        ResourceExhausted: the process was killed, or lacked disk space or memory.
    """
    return completed([zig(), *arguments], cwd=cwd)


def completed(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """Run any compiler, with more variables in its environment. Does not check the exit status.

    Raises:
        ResourceExhausted: the process was killed, or lacked disk space or memory.
    """
    done = subprocesses.run(command, cwd=cwd, env=compiler_environment(env))
    if done.returncode < 0 and -done.returncode in _KILLING_SIGNALS:
        name = signal.Signals(-done.returncode).name
        raise ResourceExhausted(
            f"the compiler was ended by {name}, probably because the system is out of memory; use -j 1"
        )
    if done.returncode == -signal.SIGBUS:  # the linker writes to a mapped file
        raise _exhausted("it cannot write its output")
    if done.returncode and (message := next((each for each in _EXHAUSTED if each in done.stderr), "")):
        raise _exhausted(message)
    return done


def _exhausted(message: str) -> ResourceExhausted:
    space = f"the cache folder {default_root()} has {free_mebibytes(default_root()):.1f} MiB free"
    return ResourceExhausted(f"the compiler failed: {message}; {space}; free some space, or set PARITY_CACHE or TMPDIR")
