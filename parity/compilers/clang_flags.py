"""The flags of clang for HIP: language, target, header folders and the C++ library.

zig ships none of clang's ``__clang_hip_*`` headers. Hence ``-nogpuinc``, and the HIP wrapper is included explicitly
(``precompiled_headers.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.compilers import zig
from parity.compilers.device_library import has_option, lanes
from parity.compilers.headers import available_headers
from parity.compilers.include import COMPAT, FALLBACK, HEADERS, HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS, STUBS
from parity.compilers.targets import Target

STUBS_AFTER = "-idirafter"
"""The option that adds a header folder to the end of the search."""

# Where clang 22 expands a trap for gfx11, it leaves pseudo instructions in the following blocks
# (https://github.com/llvm/llvm-project/pull/174774). clang.py expands traps instead.
_PLAIN_TRAPS = ("-Xclang", "-target-feature", "-Xclang", "-priv-enabled-trap2-nop-bug")

HIP_FLAGS = (
    *("-x", "hip", "--target=x86_64-linux-gnu", "--offload-device-only", "-nogpuinc", "-nogpulib", "-nostdinc"),
    # HIP before 6.3 hides CUDA's *_sync functions behind this macro.
    "-DHIP_ENABLE_WARP_SYNC_BUILTINS",
    *("-O3", "-std=gnu++17", "-gline-tables-only", "-mcode-object-version=5", "-fhip-kernel-arg-name"),
    # -fuse-cuid=none: the default puts a symbol with a hash of the source's path into the listing.
    *("-D__HIP_PLATFORM_AMD__=1", "-ffile-compilation-dir=.", "-fuse-cuid=none", "-fno-color-diagnostics"),
    # Host code that does not compile is removed in rounds: the more errors one round reports, the fewer rounds.
    "-ferror-limit=1000",
    # clang would leave files behind after a crash.
    "-fno-crash-diagnostics",
    # Mangle as nvcc and clang 17 do. Later versions spell out the type of a template argument that is a function.
    "-fclang-abi-compat=17",
    # Errors of clang that nvcc only warns of or accepts: int{} of a size_t, what C++11 and C++17 removed.
    *(f"-Wno-error={name}" for name in ("c++11-narrowing", "register", "dynamic-exception-spec")),
    *("-Wno-error=invalid-constexpr", "-Wno-error=static-float-init"),
    *("-Wno-error=reserved-user-defined-literal", "-Wno-error=missing-template-arg-list-after-template-kw"),
    *_PLAIN_TRAPS,
)

CODE_OBJECT_FLAGS = ("--target=amdgcn-amd-amdhsa", "-mcode-object-version=5", "-fno-crash-diagnostics")

INTERMEDIATE_FLAGS = ("-fno-discard-value-names",)
"""Keep the names of variables in LLVM IR, which ``accesses.annotated`` looks for."""

LIBCPP_SETTINGS = (
    *("ABI_VERSION=1", "ABI_NAMESPACE=__1", "HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE"),
    *("HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE", "ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE"),
    *("HAS_THREADS=1", "HAS_THREAD_API_PTHREAD=1", "HAS_MONOTONIC_CLOCK=1", "HAS_FILESYSTEM=1", "HAS_LOCALIZATION=1"),
    *("HAS_WIDE_CHARACTERS=1", "HAS_UNICODE=1", "HAS_RANDOM_DEVICE=1", "HAS_TIME_ZONE_DATABASE=0", "HAS_MUSL_LIBC=0"),
    *("HAS_TERMINAL=0", "HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0"),
    # What C++17 removed and nvcc's usual standard library keeps, such as std::unary_function.
    *(f"ENABLE_CXX17_REMOVED_{name}=1" for name in ("UNARY_BINARY_FUNCTION", "BINDERS", "AUTO_PTR", "RANDOM_SHUFFLE")),
)


def host_library() -> Path:
    """Return the folder of zig's libraries, which has libc++ and the headers of glibc."""
    return zig.zig().parent / "lib"


def header_options(target: Target, flags: Sequence[str]) -> Iterator[str | Path]:
    """Yield the options for header folders and the macros that headers expect, for a compilation with ``flags``."""
    yield from (f"-fdebug-prefix-map={HEADERS}={HEADERS_ALIAS}", STUBS_AFTER, STUBS)
    found = available_headers()
    if found is None:
        yield from ("-isystem", FALLBACK)
        yield from _library_options()
        return
    yield from ("-isystem", found.folder / "clang" / "cuda_wrappers")
    yield from _library_options()
    yield from ("-isystem", COMPAT, "-isystem", found.folder / "clang", "-isystem", found.folder)
    yield f"-fdebug-prefix-map={found.folder}={HIP_ALIAS}"
    # clang 22 no longer defines the wavefront size, which headers before HIP 7 use.
    yield from (f"-D__AMDGCN_WAVEFRONT_SIZE{end}={lanes(target, flags)}" for end in ("", "__"))


def intermediate_command(target: Target, flags: Sequence[str]) -> Iterator[str | Path]:
    """Yield the command that compiles LLVM IR, without its input and output."""
    yield from ("clang", "-x", "ir", *CODE_OBJECT_FLAGS, f"-mcpu={target.name}", "-nogpulib", "-O3")
    yield from (*_PLAIN_TRAPS, *INTERMEDIATE_FLAGS, "-ffp-contract=fast-honor-pragmas", *_intermediate_flags(flags))


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
    # The options of zig for x86_64-linux-gnu, where macros configure libc++ instead of a __config_site.
    library = host_library()
    for folder in ("libcxx/include", "libcxxabi/include", "include"):
        yield from ("-isystem", library / folder)
    for folder in ("x86-linux-gnu", "generic-glibc", "x86-linux-any", "any-linux-any"):
        yield from ("-isystem", library / "libc" / "include" / folder)
    yield f"-fdebug-prefix-map={library}={LIBRARY_ALIAS}"
    yield from (f"-D_LIBCPP_{setting}" for setting in LIBCPP_SETTINGS)
