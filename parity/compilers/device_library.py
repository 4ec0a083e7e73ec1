"""ROCm's device libraries as bitcode, and the constants that select their variants."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.compilers.errors import CompileError
from parity.compilers.headers import DEVICE_LIBRARY, Wheel, cached_files, optional_files
from parity.compilers.targets import Target
from parity.errors import MissingTool
from parity.platform.installation import package_folders

_FILES = ("ocml.bc", "ockl.bc")

_CONSTANTS = Path(__file__).with_name("device_library.c")
_LANES = {"-mwavefrontsize64": 64, "-mno-wavefrontsize64": 32}


def device_library() -> Path:
    """Return the folder with ROCm's device libraries, downloaded if neither the installed package nor the cache has it.

    Does not import the package that contains them, because that would start its runtime.

    Raises:
        MissingTool: they cannot be downloaded, and no ROCm has them.
    """
    if found := _first(optional_files):
        return found
    raise MissingTool(
        "ROCm device libraries (ocml.bc)",
        f"the wheel {DEVICE_LIBRARY}, $ROCM_PATH, /opt/rocm",
        "python -m pip install quadrants",
    )


def present_library() -> Path | None:
    """Return the folder with ROCm's device libraries, or None if the first build has to download them."""
    return _first(cached_files)


def library_files() -> tuple[Path, ...]:
    """Return the bitcode files that every kernel is linked with.

    Raises:
        MissingTool: one of them is missing.
    """
    folder = device_library()
    for name in _FILES:
        if not (folder / name).is_file():
            raise MissingTool(f"ROCm device library {name}", str(folder), "python -m pip install -U quadrants")
    return tuple(folder / name for name in _FILES)


def link_options(target: Target, output: Path, flags: Sequence[str]) -> tuple[list[str | Path], Path]:
    """Return the options that link the device libraries, and the temporary file next to ``output`` that they name."""
    constants = output.resolve().with_suffix(".bc")
    # Without a code object version, like the device libraries, the constants link into any code.
    options = ("-x", "c", "--target=amdgcn-amd-amdhsa", "-Xclang", "-mcode-object-version=none", "-emit-llvm", "-c")
    result = zig.run(["clang", *options, *controls(target, flags), _CONSTANTS, "-o", constants])
    if result.returncode:
        raise CompileError(constants.stem, "amdgcn", result.stderr)
    files = (*library_files(), constants)
    return [part for file in files for part in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", file)], constants


def controls(target: Target, flags: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the macros with the values of the constants that select variants of library functions."""
    fast = has_option(flags, "fast-math")
    values = {
        "FLUSHED": has_option(flags, "gpu-flush-denormals-to-zero"),
        "UNSAFE": fast or has_option(flags, "unsafe-math-optimizations"),
        "FINITE": fast or has_option(flags, "finite-math-only"),
        "EXACT": has_option(flags, "hip-fp32-correctly-rounded-divide-sqrt", default=True),
        "WAVE64": lanes(target, flags) == 64,
        "ISA": target.isa,
    }
    return tuple(f"-D{name}={int(value)}" for name, value in values.items())


def has_option(flags: Sequence[str], name: str, *, default: bool = False) -> bool:
    """Return True if the last of ``-fNAME`` and ``-fno-NAME`` is the former, and ``default`` if there is neither."""
    return next((flag == f"-f{name}" for flag in reversed(flags) if flag in (f"-f{name}", f"-fno-{name}")), default)


def lanes(target: Target, flags: Sequence[str]) -> int:
    """Return the wavefront size of code that is compiled with these flags."""
    return next((_LANES[flag] for flag in reversed(flags) if flag in _LANES), target.wavefront)


def _first(files: Callable[[Wheel], Path | None]) -> Path | None:
    """Return the first folder with device libraries. ``files`` returns the folder of a wheel's files."""
    return next((folder for folder in _library_folders(files) if (folder / "ocml.bc").is_file()), None)


def _library_folders(files: Callable[[Wheel], Path | None]) -> Iterator[Path]:
    for folder in package_folders("quadrants"):
        yield folder / "_lib" / "runtime_rocm70"
    if extracted := files(DEVICE_LIBRARY):
        yield extracted
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if root:
            yield Path(root, "amdgcn", "bitcode")
