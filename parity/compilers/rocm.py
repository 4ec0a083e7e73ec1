"""Finds an installed ROCm: hipcc or amdclang++, with its headers and device libraries. ``clang.py`` compiles with it.

``$PARITY_TOOLCHAIN`` selects the compiler: ``rocm``, ``wheels``, or ``auto`` (the default), which is a ROCm of version
6 or newer for the targets that it supports, and the wheels otherwise. Older versions lack headers and targets that
today's ports use, so they are used only on request. With ``wheels``, nvcc for CUDA targets also comes from a wheel.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers import zig
from parity.compilers.device_library import lanes
from parity.compilers.errors import CompileError
from parity.compilers.flags import flags_for, flags_since
from parity.compilers.headers import HipHeaders, available_headers, hip_version, kept_headers
from parity.compilers.include import COMPAT, EMPTY_SOURCE, HEADERS, HEADERS_ALIAS, HIP_ALIAS, STUBS, SUPPLEMENT
from parity.compilers.targets import DEFAULT_TARGETS, Target
from parity.compilers.unit import Unit
from parity.errors import MissingTool, UsageError, nearest
from parity.platform.cache import digest
from parity.platform.files import find_below

VARIABLE = "PARITY_TOOLCHAIN"
WHEELS = "wheels"
TOOLCHAINS = ("auto", WHEELS, "rocm")
OLDEST = (6, 0)
"""The oldest ROCm that ``auto`` selects."""

FRONT_ENDS = ("hipcc", "amdclang++")
HIPIFIERS = ("hipify-perl", "hipify-clang")

HIP_FLAGS = (*flags_for("hip"), *flags_for("rocm hip"), *flags_for("traps"))
_CLANG_VERSION = re.compile(r"\bclang version (\d+)")
_CLANG = re.compile(r'^ *"([^"]+)" "-cc1"', re.MULTILINE)
_LIBRARY = re.compile(r'"([^"]+/ocml\.bc)"')


@dataclass(frozen=True)
class InstalledRocm:
    """An installed ROCm: its folder, its HIP version, and the program that compiles."""

    root: Path
    version: tuple[int, ...]
    compiler: Path

    is_installed = True

    def __str__(self) -> str:
        return f"{self.described}, {self.compiler}"

    @functools.cached_property
    def clang(self) -> Path | None:
        """The clang that ``hipcc`` calls."""
        match = _CLANG.search(self._dry_run(DEFAULT_TARGETS[0]).stderr)
        return Path(match[1]) if match else None

    @functools.cached_property
    def library(self) -> Path | None:
        """The folder of the device libraries."""
        match = _LIBRARY.search(self._dry_run(DEFAULT_TARGETS[0]).stderr)
        return Path(os.path.normpath(match[1])).parent if match else None

    @property
    def described(self) -> str:
        """The name of the compiler and the version of HIP."""
        return f"{self.compiler.name} of HIP {'.'.join(map(str, self.version))}"

    @property
    def hipifiers(self) -> tuple[Path, ...]:
        """The translators that this ROCm contains."""
        return tuple(path for name in HIPIFIERS if (path := self.root / "bin" / name).is_file())

    def supports(self, target: Target) -> bool:
        """Return True if clang and the device libraries support a target."""
        run = self._dry_run(target.gpu)
        # Old versions exit with 0 although they report a missing library.
        return run.returncode == 0 and "error:" not in run.stderr

    def fingerprint(self, target: Target) -> str:
        """Return the digest of everything except the source that affects a compilation."""
        library = self.library
        stamp = str((library / "ocml.bc").stat().st_mtime_ns) if library and library.is_dir() else ""
        headers = (path.read_bytes() for path in sorted(find_below(HEADERS)))
        return digest(str(self), str(self.clang), str(library), stamp, " ".join(HIP_FLAGS), target.gpu, *headers)

    def run(self, command: Sequence[str | Path], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command that begins with ``hipcc``, ``clang`` or ``ld.lld``, and do not check the exit status."""
        program = self.compiler
        if command[0] != "hipcc":
            clang = self.clang or self.compiler
            program = clang if command[0] == "clang" else clang.parent / command[0]
        # Without HIP_PLATFORM, old versions of hipcc compile for NVIDIA if nvcc is installed.
        return zig.completed([program, *command[1:]], cwd=folder, env={"HIP_PLATFORM": "amd"})

    @property
    def include(self) -> Path:
        """The folder of AMD's headers."""
        return self.root / "include"

    @property
    def libraries(self) -> Path:
        """The folder of the header libraries."""
        return self.include

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders whose headers the fingerprint covers."""
        return (self.root,)

    def link_options(self, target: Target, output: Path, flags: Sequence[str]) -> tuple[list[str | Path], Path | None]:
        """Return nothing: the front command links the device libraries."""
        return [], None

    def front_command(self, target: Target, unit: Unit, *, precompiled: bool = True) -> Iterator[str | Path]:
        """Yield the command that compiles a HIP file and links the device libraries, without its input and output.

        Raises:
            CompileError: this ROCm does not support the target.
        """
        if not self.supports(target):
            raise CompileError(unit.main.stem, target.name, f"{self} does not support {target}; use --toolchain wheels")
        yield from ("hipcc", *HIP_FLAGS, *self._flags_of_version, f"--offload-arch={target.gpu}", *unit.flags)
        yield f"-DPARITY_WAVEFRONT_SIZE={lanes(target, unit.flags)}"
        yield from (part for folder in unit.include for part in ("-I", folder))
        yield from ("-isystem", COMPAT, f"-fdebug-prefix-map={self.root / 'include'}={HIP_ALIAS}")
        yield from (part for header in (HEADERS / "library_throws.h", *unit.forced) for part in ("-include", header))
        yield from ("-idirafter", SUPPLEMENT, "-idirafter", STUBS, f"-fdebug-prefix-map={HEADERS}={HEADERS_ALIAS}")

    @functools.cached_property
    def _flags_of_version(self) -> tuple[str, ...]:
        """The flags that this version of clang has, but not every older version."""
        match = _CLANG_VERSION.search(self._dry_run(DEFAULT_TARGETS[0]).stderr)
        return flags_since(int(match[1])) if match else ()

    @functools.cache  # noqa: B019 - the few instances live as long as the process
    def _dry_run(self, target: str) -> subprocess.CompletedProcess[str]:
        """Return the output of ``-###``: the commands of a compilation."""
        options = ("-S", "-###", EMPTY_SOURCE, "-o", os.devnull)
        return self.run(["hipcc", *HIP_FLAGS, f"--offload-arch={target}", *options])


def installed() -> InstalledRocm | None:
    """Return the ROCm below ``$ROCM_PATH`` or ``/opt/rocm``, around the ``hipcc`` on PATH, or below ``/usr``."""
    return next(map(_rocm, filter(_is_rocm, _roots())), None)


def at(root: Path) -> InstalledRocm | None:
    """Return the ROCm with this folder; None if it is not one, or its compiler does not run here."""
    if not _is_rocm(root):
        return None
    found = _rocm(root)
    with contextlib.suppress(OSError):  # a script of another system may name an interpreter that does not exist here
        return found if found.clang else None
    return None


def find() -> InstalledRocm:
    """Return the installed ROCm.

    Raises:
        MissingTool: ROCm is not installed.
    """
    found = installed()
    if found is None:
        raise MissingTool(
            "ROCm (hipcc or amdclang++, and include/hip)",
            "$ROCM_PATH, /opt/rocm, PATH, /usr",
            "the packages of AMD (rocm-hip-sdk) or of your distribution (Debian, Ubuntu: apt install hipcc)",
        )
    return found


def chosen(target: Target) -> InstalledRocm | None:
    """Return the ROCm that compiles for an AMD target, or None for the wheels.

    Raises:
        UsageError: ``$PARITY_TOOLCHAIN`` is not one of ``TOOLCHAINS``.
        MissingTool: ``rocm`` was requested and is not installed.
    """
    name = os.environ.get(VARIABLE) or TOOLCHAINS[0]
    if name not in TOOLCHAINS:
        raise UsageError(f"{VARIABLE}={name} is not a toolchain: {' '.join(TOOLCHAINS)}{nearest(name, TOOLCHAINS)}")
    if name == WHEELS:
        return None
    if name == "rocm":
        return find()
    found = installed()
    return found if found and found.version >= OLDEST and found.supports(target) else None


def other_headers(target: Target) -> tuple[HipHeaders, ...]:
    """Return all versions of AMD's headers, cached or installed, except the version that a target is compiled with."""
    rocm = installed()
    used = chosen(target) or available_headers()
    found = {each.version: each for each in kept_headers()}
    if rocm:
        own = HipHeaders(rocm.root / "include", ".".join(map(str, rocm.version)))
        found[own.version] = own
    version = ".".join(map(str, used.version)) if isinstance(used, InstalledRocm) else used.version if used else ""
    return tuple(each for _, each in sorted(found.items()) if each.version != version)


def with_headers(headers: HipHeaders) -> tuple[str, ...]:
    """Return the flags that select other headers of AMD. They must precede all other flags."""
    places = ("-isystem", str(COMPAT), "-isystem", str(headers.folder))
    return (*places, f"-fdebug-prefix-map={headers.folder}={HIP_ALIAS}")


def _roots() -> Iterator[Path]:
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if root:
            yield Path(root)
    for name in FRONT_ENDS:
        if path := shutil.which(name):
            yield Path(path).parents[1]
    yield Path("/usr")


def _is_rocm(root: Path) -> bool:
    has_compiler = any((root / "bin" / name).is_file() for name in FRONT_ENDS)
    return has_compiler and (root / "include" / "hip" / "hip_version.h").is_file()


@functools.cache
def _rocm(root: Path) -> InstalledRocm:
    front = next(path for name in FRONT_ENDS if (path := root / "bin" / name).is_file())
    return InstalledRocm(root, hip_version(root / "include"), front)
