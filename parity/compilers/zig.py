"""Runs the compiler binary of the ``ziglang`` wheel, which contains clang and ld.lld.

The installed package is used if there is one. Otherwise the needed part of the wheel is extracted into the cache.
"""

from __future__ import annotations

import functools
import importlib.metadata
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from parity.compilers.environment import compiler_environment
from parity.compilers.headers import COMPILER, cached_files, can_download, optional_files
from parity.errors import MissingTool, ResourceExhausted
from parity.platform import subprocesses
from parity.platform.cache import default_root, free_mebibytes
from parity.platform.installation import package_folders

_PACKAGE, _BINARY = "ziglang", "zig"
_KILLING_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_EXHAUSTED = ("No space left on device", "Cannot allocate memory", "LLVM ERROR: out of memory", "Read-only file system")
"""Messages of a compiler that lacks memory or disk space."""


@functools.cache
def zig() -> Path:
    """Return the path of the ``zig`` binary. Calling it directly saves 60 ms compared with ``python -m ziglang``.

    Downloads the wheel if it is neither installed nor in the cache.

    Raises:
        MissingTool: the wheel is not installed, and cannot be downloaded.
    """
    if path := present():
        return path
    if extracted := optional_files(COMPILER):
        return extracted / _BINARY
    raise _missing()


def check_obtainable() -> None:
    """Check, without downloading anything, that ``zig`` is present or can be downloaded.

    Raises:
        MissingTool: it is not present, and pip is not installed.
    """
    if not present() and not can_download(COMPILER):
        raise _missing()


def present() -> Path | None:
    """Return the path of the ``zig`` binary, or None if the first build has to download it."""
    folders = [*package_folders(_PACKAGE), cached_files(COMPILER)]
    return next((folder / _BINARY for folder in folders if folder and (folder / _BINARY).is_file()), None)


def package_version() -> str:
    """Return the version of the package that ``zig`` is from: the installed one, or the one in the cache."""
    try:
        return importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return COMPILER.version


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


def _missing() -> MissingTool:
    install = f"python -m pip install '{_PACKAGE}==0.17.*'"
    return MissingTool(f"{_PACKAGE} (clang 22)", f"the Python package {_PACKAGE}, the cache", install)


def _exhausted(message: str) -> ResourceExhausted:
    space = f"the cache folder {default_root()} has {free_mebibytes(default_root()):.1f} MiB free"
    return ResourceExhausted(f"the compiler failed: {message}; {space}; free some space, or set PARITY_CACHE or TMPDIR")
