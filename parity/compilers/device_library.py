"""ROCm's device libraries as bitcode, and the constants that select their variants."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.compilers.errors import CompileError
from parity.compilers.targets import Target
from parity.errors import MissingTool
from parity.platform.installation import package_folders

_FILES = ("ocml.bc", "ockl.bc")

# The constants that a ROCm defines in its oclc_*.bc files. Not every wheel ships all of those files, so parity compiles
# the constants itself. Compiler flags select them as in hipcc (clang, ROCmToolChain.cpp).
_CONTROLS = """\
#define CONTROL(type, name, value) const __attribute__((address_space(4), visibility("hidden"))) type name = value;
CONTROL(unsigned char, __oclc_daz_opt, {flushed})
CONTROL(unsigned char, __oclc_unsafe_math_opt, {unsafe})
CONTROL(unsigned char, __oclc_finite_only_opt, {finite})
CONTROL(unsigned char, __oclc_correctly_rounded_sqrt32, {exact})
CONTROL(unsigned char, __oclc_wavefrontsize64, {wave64})
CONTROL(int, __oclc_ISA_version, {isa})
CONTROL(int, __oclc_ABI_version, 500)
"""
_LANES = {"-mwavefrontsize64": 64, "-mno-wavefrontsize64": 32}


def device_library() -> Path:
    """Return the folder with ROCm's device libraries.

    Does not import the wheel that contains them, because that would start its runtime.

    Raises:
        MissingTool: no installed package and no ROCm has them.
    """
    for folder in _library_folders():
        if (folder / "ocml.bc").is_file():
            return folder
    raise MissingTool(
        "ROCm device libraries (ocml.bc)",
        "the Python package quadrants, $ROCM_PATH, /opt/rocm",
        "python -m pip install quadrants",
    )


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
    constants = _compile_controls(controls(target, flags), output.resolve().with_suffix(".bc"))
    files = (*library_files(), constants)
    return [part for file in files for part in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", file)], constants


def controls(target: Target, flags: Sequence[str] = ()) -> str:
    """Return the C source of the constants that select variants of library functions."""
    fast = has_option(flags, "fast-math")
    return _CONTROLS.format(
        flushed=int(has_option(flags, "gpu-flush-denormals-to-zero")),
        unsafe=int(fast or has_option(flags, "unsafe-math-optimizations")),
        finite=int(fast or has_option(flags, "finite-math-only")),
        exact=int(has_option(flags, "hip-fp32-correctly-rounded-divide-sqrt", default=True)),
        wave64=int(lanes(target, flags) == 64),
        isa=target.isa,
    )


def has_option(flags: Sequence[str], name: str, *, default: bool = False) -> bool:
    """Return True if the last of ``-fNAME`` and ``-fno-NAME`` is the former, and ``default`` if there is neither."""
    return next((flag == f"-f{name}" for flag in reversed(flags) if flag in (f"-f{name}", f"-fno-{name}")), default)


def lanes(target: Target, flags: Sequence[str]) -> int:
    """Return the wavefront size of code that is compiled with these flags."""
    return next((_LANES[flag] for flag in reversed(flags) if flag in _LANES), target.wavefront)


def _compile_controls(text: str, output: Path) -> Path:
    source = output.with_suffix(".c")
    source.write_text(text)
    # Without a code object version, like the device libraries, the constants link into any code.
    flags = ("-x", "c", "--target=amdgcn-amd-amdhsa", "-Xclang", "-mcode-object-version=none", "-emit-llvm", "-c")
    result = zig.run(["clang", *flags, source, "-o", output])
    source.unlink()
    if result.returncode:
        raise CompileError(output.stem, "amdgcn", result.stderr)
    return output


def _library_folders() -> Iterator[Path]:
    for folder in package_folders("quadrants"):
        yield folder / "_lib" / "runtime_rocm70"
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if root:
            yield Path(root, "amdgcn", "bitcode")
