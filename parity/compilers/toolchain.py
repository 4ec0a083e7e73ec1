"""The compiler and AMD's headers that build code for a target: of an installed ROCm, or of wheels."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from parity.compilers import clang_version, rocm, zig
from parity.compilers.clang_flags import HIP_FLAGS, header_options, host_library
from parity.compilers.device_library import link_options
from parity.compilers.header_folders import headers_at, include_folder, installed_headers
from parity.compilers.headers import HipHeaders, available_headers
from parity.compilers.precompiled_headers import include_options
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS, VERSION_MARK, Target
from parity.compilers.unit import Unit
from parity.errors import UsageError

ROCM = "PARITY_ROCM"
"""The environment variable with the paths of ``--rocm``, separated by commas."""

SEVERAL = 2


class Toolchain(Protocol):
    """What ``clang.py`` and ``porting`` need of a compiler for AMD targets."""

    @property
    def version(self) -> tuple[int, ...]:
        """The version of AMD's headers; empty if only parity's own headers are available."""

    @property
    def described(self) -> str:
        """The name of the compiler and the version of its headers."""

    @property
    def include(self) -> Path | None:
        """The folder of AMD's headers."""

    @property
    def libraries(self) -> Path | None:
        """The folder to search for header libraries such as hipCUB; None if it is an installed ROCm's."""

    @property
    def is_installed(self) -> bool:
        """True for an installed ROCm, which also finds its own libraries."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders whose headers the fingerprint covers."""

    def fingerprint(self, target: Target) -> str:
        """Return the digest of everything except the source that affects a compilation."""

    def run(self, command: Sequence[str | Path], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command that begins with ``clang``, ``ld.lld`` or ``hipcc``, and do not check the exit status."""

    def front_command(self, target: Target, unit: Unit, *, precompiled: bool = True) -> Iterator[str | Path]:
        """Yield the command that compiles a HIP file, without its input and output."""

    def link_options(self, target: Target, output: Path, flags: Sequence[str]) -> tuple[list[str | Path], Path | None]:
        """Return the options that link the device libraries if the front command does not, see ``device_library``."""


@dataclass(frozen=True)
class Wheels:
    """The clang of the ``ziglang`` wheel with AMD's headers, or with parity's own without them."""

    headers: HipHeaders | None
    libraries: Path | None = None

    is_installed = False

    def __str__(self) -> str:
        return self.described

    @property
    def version(self) -> tuple[int, ...]:
        return self.headers.numbers if self.headers else ()

    @property
    def described(self) -> str:
        return f"{clang_version.compiler_version()}, headers of {self.headers or 'parity'}"

    @property
    def include(self) -> Path | None:
        return self.headers.folder if self.headers else None

    @property
    def folders(self) -> tuple[Path, ...]:
        return (host_library(), *((self.headers.folder,) if self.headers else ()))

    def fingerprint(self, target: Target) -> str:
        return clang_version.fingerprint(target, self.headers)

    def run(self, command: Sequence[str | Path], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return zig.run(command, cwd=folder)

    def front_command(self, target: Target, unit: Unit, *, precompiled: bool = True) -> Iterator[str | Path]:
        yield from ("clang", *HIP_FLAGS, f"--offload-arch={target.gpu}", *unit.flags)
        yield from (part for folder in unit.include for part in ("-I", folder))
        yield from header_options(target, unit.flags, self.headers)
        yield from include_options(target, unit, self.headers, precompiled=precompiled)

    def link_options(self, target: Target, output: Path, flags: Sequence[str]) -> tuple[list[str | Path], Path | None]:
        return link_options(target, output, flags)


def wheels() -> Wheels:
    """Return the wheels' compiler with the headers that the user installed, or else from a wheel."""
    return Wheels(installed_headers() or available_headers())


def as_variable(paths: Iterable[str]) -> str:
    """Return the value of ``$PARITY_ROCM`` for the paths of ``--rocm``."""
    return ",".join(path if path == rocm.WHEELS else str(Path(path).absolute()) for path in paths)


def versions() -> Mapping[str, Toolchain]:
    """Return the toolchains that ``$PARITY_ROCM`` names, by their versions of HIP, the oldest first.

    Raises:
        UsageError: a path is neither a ROCm nor has HIP headers, or two have the same version.
    """
    paths = tuple(filter(None, os.environ.get(ROCM, "").split(",")))
    return _versions(paths)


def versions_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of targets, AMD targets once per version if ``$PARITY_ROCM`` names several.

    Raises:
        UsageError: as ``versions``.
    """
    found = versions()
    if len(found) < SEVERAL:
        return tuple(names)
    return tuple(
        full
        for name in names
        for full in ([f"{name}{VERSION_MARK}{version}" for version in found] if name in TARGETS else [name])
    )


def chosen(target: Target) -> Toolchain:
    """Return the toolchain that compiles for an AMD target. Downloads AMD's headers if they are needed and missing.

    Raises:
        UsageError: the name of the target has a version of HIP that ``$PARITY_ROCM`` does not have.
        UsageError, MissingTool: as ``rocm.chosen`` and ``versions``.
    """
    found = versions()
    if target.hip and target.hip not in found:
        known = f"--rocm has {' '.join(found)}" if found else "name it with --rocm PATH"
        raise UsageError(f"no HIP {target.hip} for target {target}: {known}")
    if found:
        return found[target.hip or next(iter(found))]
    return rocm.chosen(target) or wheels()


@functools.cache
def _versions(paths: tuple[str, ...]) -> Mapping[str, Toolchain]:
    tools = sorted(map(_toolchain_at, paths), key=lambda each: each.version)
    short = [".".join(map(str, each.version[:2])) for each in tools]
    full = [".".join(map(str, each.version)) for each in tools]
    names = [brief if short.count(brief) == 1 else whole for brief, whole in zip(short, full, strict=True)]
    if len(set(names)) < len(names):
        raise UsageError(f"--rocm {','.join(paths)} names HIP {' '.join(names)}: versions must differ")
    return dict(zip(names, tools, strict=True))


def _toolchain_at(path: str) -> Toolchain:
    """Return the ROCm at a path if its compiler runs here, or else the wheels' compiler with the headers there."""
    if path == rocm.WHEELS:
        headers = available_headers()
        return Wheels(headers, headers.folder if headers else None)
    for root in (Path(path), Path(path, "usr"), Path(path, "opt", "rocm")):
        if (found := rocm.at(root)) and found.supports(TARGETS[DEFAULT_TARGETS[0]]):
            return found
    headers, folder = headers_at(path), Path(path)
    return Wheels(headers, include_folder(folder) if folder.is_dir() else headers.folder)
