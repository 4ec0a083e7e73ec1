"""Finds nvcc, CUDA's headers, and the host compiler that nvcc needs to read sources.

Where g++ is not installed, clang from the ``ziglang`` wheel serves as the host compiler, with the headers it ships. All
functions that need nvcc raise ``MissingTool`` if it is not installed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from parity.compilers import zig
from parity.compilers.rocm import VARIABLE, WHEELS
from parity.errors import MissingTool, ParityError
from parity.platform.cache import Cache, default_root, digest
from parity.platform.installation import install_command, package_folders

_GLIBC = "2.43"
"""The version of zig's glibc headers. CUDA's headers declare functions such as ``rsqrt`` as glibc does."""

_SUPPORTS_CLANG = (13, 4)
"""The oldest nvcc that accepts clang 22 as the host compiler (``crt/host_config.h``)."""

_DEFAULT = Path("/usr/local/cuda/bin")
_ZIG_WRAPPER = "clang++"
_WHEELS = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl")
_INCLUDES = re.compile(r'^#\$ INCLUDES="-I([^"]+)"', re.MULTILINE)


def nvcc() -> Path:
    """Return the compiler on PATH, below ``$CUDA_HOME`` or ``/usr/local/cuda``, or in NVIDIA's wheel.

    With ``--toolchain wheels``, only the wheel counts.
    """
    return _find()[0]


def has_nvcc() -> bool:
    """Return True if nvcc is installed."""
    with contextlib.suppress(MissingTool):
        return bool(nvcc())
    return False


def located() -> str:
    """Return the version of nvcc, its path, and the reason for choosing it."""
    path, reason = _find()
    return f"{_release(path)}, {path} ({reason})"


def headers() -> Path:
    """Return the folder of the CUDA headers that nvcc uses.

    Raises:
        ParityError: nvcc does not report the folder.
    """
    return _headers(nvcc())


def header_folders() -> Iterator[Path]:
    """Yield the folders with CUDA's headers, and the folder of zig where it is the host compiler."""
    yield headers()
    with contextlib.suppress(MissingTool):
        if not _gcc():
            yield zig.zig().parent


def nvcc_version() -> str:
    """Return the output of ``nvcc --version``."""
    return _version(nvcc())


def described() -> str:
    """Return the name and the major and minor version of nvcc."""
    return f"nvcc {'.'.join(_release(nvcc()).split('.')[:2])}".strip()


def host_compiler_options(flags: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the flags that name a host compiler, unless ``flags`` do or nvcc finds one itself.

    Raises:
        MissingTool: no usable host compiler is installed.
    """
    chosen = any(flag.startswith(("-ccbin", "--compiler-bindir")) for flag in flags)
    if chosen or os.environ.get("NVCC_CCBIN") or _gcc():
        return ()
    what = "a C++ compiler for nvcc"
    if tuple(int(part) for part in _release(nvcc()).split(".") if part) < _SUPPORTS_CLANG:
        where = f"g++ on PATH, $NVCC_CCBIN; {described()} does not support ziglang's clang"
        raise MissingTool(what, where, "apt-get install g++")
    try:
        compiler = zig.zig()
    except MissingTool as error:
        where = "g++ on PATH, $NVCC_CCBIN, the Python package ziglang"
        raise MissingTool(what, where, "apt-get install g++, or python -m pip install 'ziglang==0.17.*'") from error
    # nvcc chooses the options of a compiler by its name, hence a script with clang's.
    text = f'#!/bin/sh\nexec {shlex.quote(str(compiler))} c++ -target {platform.machine()}-linux-gnu.{_GLIBC} "$@"\n'

    def write(folder: Path) -> None:
        (folder / _ZIG_WRAPPER).write_text(text)
        (folder / _ZIG_WRAPPER).chmod(0o755)

    folder, _ = Cache(default_root() / "host-compiler").get(digest(text), write)
    return "-ccbin", str(folder / _ZIG_WRAPPER)


def host_version() -> str:
    """Return the version of the host compiler, whose headers affect the code, or an empty string."""
    if found := _gcc():
        return _version(Path(found))
    with contextlib.suppress(MissingTool):  # flags may name another one
        return zig.version()
    return ""


@functools.cache
def wheel_versions() -> str:
    """Return the versions of NVIDIA's wheels. A wheel can be replaced without a change of nvcc's version."""
    found = []
    for name in _WHEELS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return " ".join(found)


def _find() -> tuple[Path, str]:
    by_wheels = os.environ.get(VARIABLE) == WHEELS
    if found := toolkit_programs("nvcc", wheels=by_wheels):
        return found[0]
    package = "the Python package nvidia-cuda-nvcc"
    if by_wheels:
        raise MissingTool("nvcc", f"only {package}, because {VARIABLE} is {WHEELS}", install_command("nvcc"))
    looked = f"PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, {package}"
    raise MissingTool("nvcc", looked, f"{install_command('nvcc')}, or the CUDA toolkit")


def toolkit_programs(name: str, *, wheels: bool = False) -> list[tuple[Path, str]]:
    """Return the programs of this name in CUDA toolkits, or only in wheels, each with the reason for looking there."""
    places: list[tuple[Path, str]] = []
    if not wheels:
        variables = {variable: os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")}
        places += [(Path(found), "on PATH")] if (found := shutil.which(name)) else []
        places += [(Path(root, "bin", name), f"by ${variable}") for variable, root in variables.items() if root]
        places.append((_DEFAULT / name, "where CUDA is installed by default"))
    for folder in package_folders("nvidia"):
        package = f"of the Python package nvidia-cuda-{name}"
        places += [(path, package) for path in sorted(folder.glob(f"*/bin/{name}"), reverse=True)]
    return [(path, reason) for path, reason in places if path.is_file() and os.access(path, os.X_OK)]


def _gcc() -> str | None:
    """Return the compiler that nvcc uses by default. gcc without g++ lacks the C++ headers."""
    return shutil.which("gcc") and shutil.which("g++")


def _release(path: Path) -> str:
    """Return the version of an nvcc as ``13.5.37``, or an empty string."""
    match = re.search(r"release ([\d.]+)(?:, V([\d.]+))?", _version(path))
    return (match[2] or match[1]) if match else ""


@functools.cache
def _headers(path: Path) -> Path:
    output = zig.completed([path, "--dryrun", "-E", "-x", "cu", os.devnull]).stderr
    if match := _INCLUDES.search(output):
        return Path(match[1]).resolve()
    raise ParityError(f"{path} --dryrun does not report where CUDA's headers are:\n{output.strip()[:500]}")


@functools.cache
def _version(path: Path) -> str:
    return zig.completed([path, "--version"]).stdout
