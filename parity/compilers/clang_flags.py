"""The flags of clang for HIP: language, target, header folders and the C++ library.

zig ships none of clang's ``__clang_hip_*`` headers. Hence ``-nogpuinc``, and the HIP wrapper is included explicitly
(``precompiled_headers.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.compilers.device_library import has_option, lanes
from parity.compilers.flags import flags_for, flags_since
from parity.compilers.headers import HipHeaders
from parity.compilers.include import COMPAT, FALLBACK, HEADERS, HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS, STUBS
from parity.compilers.targets import Target

STUBS_AFTER = "-idirafter"
"""The option that adds a header folder to the end of the search."""

HIP_FLAGS = (*flags_for("hip"), *flags_for("clang hip"), *flags_since(22), *flags_for("traps"))
CODE_OBJECT_FLAGS = flags_for("code object")

INTERMEDIATE_FLAGS = ("-fno-discard-value-names",)
"""Keep the names of variables in LLVM IR, which ``accesses.annotated`` looks for."""

LIBCPP_FLAGS = flags_for("libc++")
_WITHOUT_MACRO = (7,)
"""The first version of HIP without the macro ``__AMDGCN_WAVEFRONT_SIZE``."""


def host_library() -> Path:
    """Return the folder of zig's libraries, which has libc++ and the headers of glibc."""
    return zig.zig().parent / "lib"


def header_options(target: Target, flags: Sequence[str], headers: HipHeaders | None) -> Iterator[str | Path]:
    """Yield the options for header folders and the macros that headers expect, for a compilation with ``flags``."""
    yield from (f"-fdebug-prefix-map={HEADERS}={HEADERS_ALIAS}", STUBS_AFTER, STUBS)
    if headers is None:
        yield from ("-isystem", FALLBACK)
        yield from _library_options()
        return
    yield from ("-isystem", headers.folder / "clang" / "cuda_wrappers")
    yield from _library_options()
    yield from ("-isystem", COMPAT, "-isystem", headers.folder / "clang", "-isystem", headers.folder)
    yield f"-fdebug-prefix-map={headers.folder}={HIP_ALIAS}"
    yield f"-DPARITY_WAVEFRONT_SIZE={lanes(target, flags)}"
    if headers.numbers < _WITHOUT_MACRO:  # clang 22 no longer defines the wavefront size, which these headers use
        yield from (f"-D__AMDGCN_WAVEFRONT_SIZE{end}={lanes(target, flags)}" for end in ("", "__"))


def intermediate_command(target: Target, flags: Sequence[str]) -> Iterator[str | Path]:
    """Yield the command that compiles LLVM IR, without its input and output."""
    yield from ("clang", "-x", "ir", *CODE_OBJECT_FLAGS, f"-mcpu={target.gpu}", "-nogpulib", "-O3")
    yield from (
        *flags_for("traps"),
        *INTERMEDIATE_FLAGS,
        *("-Xclang", "-ffp-contract=fast-honor-pragmas"),  # the driver of clang 15 does not accept this value
        *_intermediate_flags(flags),
    )


def _intermediate_flags(flags: Sequence[str]) -> Iterator[str]:
    """Yield those flags that also matter after the front end.

    Without the flags that library functions were compiled with, clang does not inline these functions into a kernel.
    """
    for before, flag in zip(("", *flags), flags, strict=False):
        if before == "-mllvm":
            yield from (before, flag)
        elif flag.startswith(("-O", "-f", "-m")) and flag != "-mllvm" and before != "-Xclang":
            yield flag
    if has_option(flags, "gpu-flush-denormals-to-zero"):
        yield from ("-Xclang", "-fdenormal-fp-math-f32=preserve-sign,preserve-sign")
    yield "-Wno-unused-command-line-argument"


def _library_options() -> Iterator[str | Path]:
    # The options of zig for x86_64-linux-gnu.
    library = host_library()
    for folder in ("libcxx/include", "libcxxabi/include", "include"):
        yield from ("-isystem", library / folder)
    for folder in ("x86-linux-gnu", "generic-glibc", "x86-linux-any", "any-linux-any"):
        yield from ("-isystem", library / "libc" / "include" / folder)
    yield f"-fdebug-prefix-map={library}={LIBRARY_ALIAS}"
    yield from LIBCPP_FLAGS
