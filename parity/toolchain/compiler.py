"""The compiler for AMD targets, made of Python wheels alone.

Clang 22 is that of ``ziglang``, ROCm's device libraries are those of ``quadrants``. Facts behind the flags: zig ships
no ``__clang_hip_*`` headers, hence ``-nogpuinc`` and the freestanding headers in ``include/``; its own link step to a
HSACO fails, hence assembler and ``ld.lld``, each called by itself.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from parity import zig
from parity.cache import digest
from parity.errors import MissingTool, ParityError
from parity.toolchain.targets import Target

__all__ = ["HEADERS", "CompileError", "assemble", "compile_listing", "device_library", "fingerprint"]

HEADERS = Path(__file__).with_name("include")
"""The freestanding HIP device headers."""

HEADERS_ALIAS = "parity-include"
"""What a listing calls the folder ``HEADERS``, so that it is the same text on every machine."""

# -fuse-cuid=none: the default puts a symbol with a hash of the source's path into the listing.
_FLAGS = (
    *("-x", "hip", "--target=x86_64-linux-gnu", "--offload-device-only", "-nogpuinc", "-nogpulib", "-nostdinc"),
    *("-O3", "-std=c++17", "-gline-tables-only", "-mcode-object-version=5", "-fhip-kernel-arg-name"),
    *("-D__HIP_PLATFORM_AMD__=1", "-ffile-compilation-dir=.", "-fuse-cuid=none", "-fno-color-diagnostics"),
)
_ASSEMBLER_FLAGS = ("--target=amdgcn-amd-amdhsa", "-mcode-object-version=5")
_LIBRARY = ("ocml.bc", "ockl.bc")

# What the oclc_*.bc files of a ROCm say: constants by which the library chooses among its variants. Our own, because
# not every wheel carries all of those files. Subnormals are kept, f32 square roots are correctly rounded.
_CONTROLS = """\
#define CONTROL(type, name, value) const __attribute__((address_space(4), visibility("hidden"))) type name = value;
CONTROL(unsigned char, __oclc_daz_opt, 0)
CONTROL(unsigned char, __oclc_unsafe_math_opt, 0)
CONTROL(unsigned char, __oclc_finite_only_opt, 0)
CONTROL(unsigned char, __oclc_correctly_rounded_sqrt32, 1)
CONTROL(unsigned char, __oclc_wavefrontsize64, {wave64})
CONTROL(int, __oclc_ISA_version, {isa})
CONTROL(int, __oclc_ABI_version, 500)
"""
_DIAGNOSTIC = re.compile(r"^(In file included from )?([^\s:][^:\n]*):(?=\d+[:,])", re.MULTILINE)


class CompileError(ParityError):
    """A module does not compile for a target; the message holds the compiler's, in terms of the CUDA source."""

    def __init__(self, module: str, target: str, log: str) -> None:
        super().__init__(f"module {module!r} does not compile for {target}:\n{log.strip()}")
        self.module, self.target, self.log = module, target, log


def compile_listing(
    source: Path,
    output: Path,
    target: Target,
    *,
    include: Sequence[Path] = (),
    originals: Mapping[str, str] | None = None,
) -> None:
    """Compile the HIP file ``source`` to the assembly listing ``output``.

    ``originals`` translates the names that ``#line`` gave to the paths that error messages show.

    Raises:
        CompileError: the compiler refused it.
        MissingTool: the compiler or the device libraries are not installed.
    """
    controls = _control_bitcode(target, output.resolve().with_suffix(".bc"))
    result = zig.run(
        [
            "clang",
            *_FLAGS,
            f"--offload-arch={target.name}",
            *(part for folder in include for part in ("-I", folder)),
            *("-isystem", HEADERS, f"-fdebug-prefix-map={HEADERS}={HEADERS_ALIAS}"),
            *(
                part
                for file in (*_bitcode(), controls)
                for part in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", file)
            ),
            *("-S", source.name, "-o", output.resolve()),
        ],
        cwd=source.parent,
    )
    controls.unlink()
    if result.returncode:
        names = originals or {}
        log = _DIAGNOSTIC.sub(lambda m: f"{m[1] or ''}{names.get(m[2], m[2])}:", result.stderr)
        raise CompileError(source.stem, target.name, log or f"the compiler left with code {result.returncode}")


def assemble(listing: Path, output: Path, target: Target) -> None:
    """Make the loadable HSACO ``output`` of an assembly listing: 25 ms, against a second compilation.

    Raises:
        CompileError: assembler or linker refused it, which is a defect of the toolchain.
    """
    object_file = output.with_suffix(".o")
    steps: tuple[tuple[str | Path, ...], ...] = (
        ("clang", "-x", "assembler", *_ASSEMBLER_FLAGS, f"-mcpu={target.name}", "-c", listing, "-o", object_file),
        ("ld.lld", "-shared", object_file, "-o", output),
    )
    for step in steps:
        result = zig.run(step)
        if result.returncode:
            raise CompileError(listing.stem, target.name, f"{step[0]}: {result.stderr}")
    object_file.unlink()


def device_library() -> Path:
    """The folder with ROCm's device libraries. The wheel is found without importing it, which would start its runtime.

    Raises:
        MissingTool: there is none.
    """
    for folder in _library_folders():
        if (folder / "ocml.bc").is_file():
            return folder
    raise MissingTool(
        "ROCm device libraries (ocml.bc)",
        "the Python package quadrants, $ROCM_PATH, /opt/rocm",
        "python -m pip install quadrants",
    )


def fingerprint(target: Target) -> str:
    """Digest of everything but the source that decides what a compilation yields. Starts no process.

    Raises:
        MissingTool: the compiler or the device libraries are not installed.
    """
    return digest(
        _compiler_version(),
        " ".join(_FLAGS),
        target.name,
        _controls(target),
        *(f"{file.name} {_file_digest(file, file.stat().st_mtime_ns)}" for file in _bitcode()),
        *(
            f"{file.relative_to(HEADERS).as_posix()} {_file_digest(file, file.stat().st_mtime_ns)}"
            for file in sorted(HEADERS.rglob("*"))
            if file.is_file()
        ),
    )


def _library_folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("quadrants")
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield Path(place, "_lib", "runtime_rocm70")
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if root:
            yield Path(root, "amdgcn", "bitcode")


def _bitcode() -> tuple[Path, ...]:
    folder = device_library()
    for name in _LIBRARY:
        if not (folder / name).is_file():
            raise MissingTool(f"ROCm device library {name}", str(folder), "python -m pip install -U quadrants")
    return tuple(folder / name for name in _LIBRARY)


def _controls(target: Target) -> str:
    return _CONTROLS.format(wave64=int(target.wavefront == 64), isa=target.isa)


def _control_bitcode(target: Target, output: Path) -> Path:
    source = output.with_suffix(".c")
    source.write_text(_controls(target))
    # Like the device libraries it names no code object version, so it links into any.
    flags = ("-x", "c", "--target=amdgcn-amd-amdhsa", "-Xclang", "-mcode-object-version=none", "-emit-llvm", "-c")
    result = zig.run(["clang", *flags, source, "-o", output])
    source.unlink()
    if result.returncode:
        raise CompileError(output.stem, target.name, result.stderr)
    return output


def _compiler_version() -> str:
    binary = zig.zig()
    try:
        return f"ziglang {importlib.metadata.version('ziglang')}"
    except importlib.metadata.PackageNotFoundError:
        return f"zig {binary} {binary.stat().st_size}"


@functools.cache
def _file_digest(file: Path, changed: int) -> str:
    return digest(file.read_bytes())
