"""Identifies the clang of the ``ziglang`` wheel, its headers and the device libraries, for reports and cache keys."""

from __future__ import annotations

import functools
from pathlib import Path

from parity.compilers import zig
from parity.compilers.accesses import DUMPED
from parity.compilers.clang_flags import HIP_FLAGS, LIBCPP_FLAGS
from parity.compilers.device_library import controls, library_files
from parity.compilers.headers import HipHeaders
from parity.compilers.include import HEADERS
from parity.compilers.targets import Target
from parity.platform.cache import digest
from parity.platform.files import find_below


def fingerprint(target: Target, headers: HipHeaders | None) -> str:
    """Return the digest of everything except the source that affects a compilation. Starts no process.

    Raises:
        MissingTool: the compiler or the device libraries are not installed.
    """
    named = [(file.name, file) for file in library_files()]
    named += [(file.relative_to(HEADERS).as_posix(), file) for file in sorted(find_below(HEADERS))]
    return digest(
        compiler_version(),
        " ".join((*HIP_FLAGS, *LIBCPP_FLAGS, *DUMPED)),
        target.gpu,
        *controls(target),
        headers.folder.name if headers else "",
        *(f"{name} {_file_digest(file, file.stat().st_mtime_ns)}" for name, file in named),
    )


def compiler_version() -> str:
    """Return the name and the version of the compiler. Starts no process."""
    zig.zig()  # raises an error if it is missing
    return f"ziglang {zig.package_version()}"


@functools.cache
def _file_digest(file: Path, modified: int) -> str:
    return digest(file.read_bytes())
