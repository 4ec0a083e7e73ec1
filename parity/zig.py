"""The one compiler binary that parity needs: clang and ld.lld inside the ``ziglang`` wheel."""

from __future__ import annotations

import functools
import importlib.util
import subprocess
from collections.abc import Sequence
from pathlib import Path

from parity.errors import MissingTool

__all__ = ["run", "version", "zig"]


@functools.cache
def zig() -> Path:
    """Path of the ``zig`` binary. Called directly: ``python -m ziglang`` would add 60 ms to every compilation.

    Raises:
        MissingTool: the wheel is not installed.
    """
    spec = importlib.util.find_spec("ziglang")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for name in ("zig", "zig.exe"):
            if (path := Path(place, name)).is_file():
                return path
    raise MissingTool("ziglang (clang 22)", "the Python package ziglang", "python -m pip install 'ziglang==0.17.*'")


@functools.cache
def version() -> str:
    """First line of ``clang --version``."""
    return run(["clang", "--version"]).stdout.splitlines()[0]


def run(arguments: Sequence[str | Path], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``zig`` with these arguments; the caller looks at the return code."""
    return subprocess.run([str(zig()), *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)
