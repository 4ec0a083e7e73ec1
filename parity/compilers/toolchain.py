"""The compiler and AMD's headers that build code for a target: of an installed ROCm, or of wheels."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from parity.compilers import clang_version, rocm, zig
from parity.compilers.clang_flags import HIP_FLAGS, header_options, host_library
from parity.compilers.device_library import link_options
from parity.compilers.headers import HipHeaders, available_headers
from parity.compilers.precompiled_headers import include_options
from parity.compilers.targets import Target
from parity.compilers.unit import Unit


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
        yield from ("clang", *HIP_FLAGS, f"--offload-arch={target.name}", *unit.flags)
        yield from (part for folder in unit.include for part in ("-I", folder))
        yield from header_options(target, unit.flags, self.headers)
        yield from include_options(target, unit, self.headers, precompiled=precompiled)

    def link_options(self, target: Target, output: Path, flags: Sequence[str]) -> tuple[list[str | Path], Path | None]:
        return link_options(target, output, flags)


def wheels() -> Wheels:
    """Return the wheels' compiler with AMD's headers, downloaded if they are missing."""
    return Wheels(available_headers())


def chosen(target: Target) -> Toolchain:
    """Return the toolchain that compiles for an AMD target. Downloads AMD's headers if they are needed and missing.

    Raises:
        UsageError, MissingTool: as ``rocm.chosen``.
    """
    return rocm.chosen(target) or wheels()
