"""The compiler for AMD targets, made of Python wheels alone.

Clang 22 is that of ``ziglang``, ROCm's device libraries are those of ``quadrants``, HIP's headers those of AMD
(``headers.py``), on zig's libc++ and C library. Where AMD's headers cannot be had, small ones of parity's own serve
(``include/fallback``), and a warning says so. Facts behind the flags: zig ships no ``__clang_hip_*`` headers, hence
``-nogpuinc`` and the wrapper that is included by hand; its own link step to a HSACO fails, hence assembler and
``ld.lld``, each called by itself.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import itertools
import json
import logging
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from parity.compilers import zig
from parity.compilers.accesses import DUMPED, annotated
from parity.compilers.bitcode import undefined_functions
from parity.compilers.diagnostics import ATTRIBUTES, CRASHED, ELSEWHERE, Diagnostic, diagnostics
from parity.compilers.headers import HipHeaders, hip_headers, without_hip_headers
from parity.compilers.lexing import code
from parity.compilers.refusals import refused_calls
from parity.compilers.targets import Target
from parity.errors import MissingTool, ParityError
from parity.model.code_object import unqualified
from parity.platform.cache import Cache, default_root, digest
from parity.porting.hipify import Finding, table
from parity.porting.kernel_templates import parameters
from parity.porting.stubs import library_of, needed_for

if TYPE_CHECKING:
    from parity.porting.staging import Translation

__all__ = [
    "HEADERS", "CompileError", "NoSource", "Unit", "UnusableCodeObject", "assemble", "compile_intermediate",
    "compile_kernels", "compile_listing", "described", "device_library", "elsewhere", "fingerprint", "headers",
    "headers_missed", "missed_by", "refused_assembly", "undefined", "wide",
]  # fmt: skip

log = logging.getLogger("parity.compiler")

HEADERS = Path(__file__).parents[1] / "include"
"""Headers of parity's own."""

COMPAT = HEADERS / "compat"
"""Headers with what CUDA has and AMD's headers lack (``compat.py``), and those found before AMD's of the same name."""

FALLBACK = HEADERS / "fallback"
"""HIP's device headers as far as parity wrote them itself: for a machine that cannot get AMD's."""

STUBS = HEADERS / "stubs"
"""Headers in the names of host libraries, looked for last: what device code needs of torch, for one."""

EMPTY = HEADERS / "supplement" / "empty.hip"
"""An empty source, for queries of a compiler."""

STUBS_AFTER = "-idirafter"
"""The flag before a folder that is searched last."""

RUNTIME = "hip/hip_runtime.h"
"""The header that nvcc includes by itself under CUDA's name, and hipcc does not."""

HEADERS_ALIAS = "parity-include"
"""The name of the folder ``HEADERS`` in listings, so that they are the same text on every machine."""

HIP_ALIAS = "hip-include"
"""The name of the folder of AMD's headers in listings."""

LIBRARY_ALIAS = "host-include"
"""The name of the folder of the host's C and C++ library in listings."""
_OF_OTHERS = frozenset((HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS))

# -fuse-cuid=none: the default puts a symbol with a hash of the source's path into the listing.
_FLAGS = (
    *("-x", "hip", "--target=x86_64-linux-gnu", "--offload-device-only", "-nogpuinc", "-nogpulib", "-nostdinc"),
    # Headers of HIP before 6.3 have the *_sync functions of CUDA only behind this switch.
    "-DHIP_ENABLE_WARP_SYNC_BUILTINS",
    *("-O3", "-std=gnu++17", "-gline-tables-only", "-mcode-object-version=5", "-fhip-kernel-arg-name"),
    *("-D__HIP_PLATFORM_AMD__=1", "-ffile-compilation-dir=.", "-fuse-cuid=none", "-fno-color-diagnostics"),
    # Host code that does not compile is left out round by round: the more errors are known, the fewer rounds.
    "-ferror-limit=1000",
    # Where clang crashes, it leaves no files.
    "-fno-crash-diagnostics",
    # Names as nvcc and clang 17 mangle them: later ones write out what a template argument that is a function is.
    "-fclang-abi-compat=17",
    # Errors of clang's alone; nvcc warns of int{} of a size_t, and takes what C++11 and C++17 removed.
    *(f"-Wno-error={what}" for what in ("c++11-narrowing", "register", "dynamic-exception-spec")),
    *("-Wno-error=invalid-constexpr", "-Wno-error=static-float-init"),
    *("-Wno-error=reserved-user-defined-literal", "-Wno-error=missing-template-arg-list-after-template-kw"),
)
_LIBCPP = (
    *("ABI_VERSION=1", "ABI_NAMESPACE=__1", "HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE"),
    *("HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE", "ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE"),
    *("HAS_THREADS=1", "HAS_THREAD_API_PTHREAD=1", "HAS_MONOTONIC_CLOCK=1", "HAS_FILESYSTEM=1", "HAS_LOCALIZATION=1"),
    *("HAS_WIDE_CHARACTERS=1", "HAS_UNICODE=1", "HAS_RANDOM_DEVICE=1", "HAS_TIME_ZONE_DATABASE=0", "HAS_MUSL_LIBC=0"),
    *("HAS_TERMINAL=0", "HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0"),
    # What C++17 removed and the library that nvcc is used with keeps: std::unary_function and the like.
    *(f"ENABLE_CXX17_REMOVED_{what}=1" for what in ("UNARY_BINARY_FUNCTION", "BINDERS", "AUTO_PTR", "RANDOM_SHUFFLE")),
)
_ASSEMBLER_FLAGS = ("--target=amdgcn-amd-amdhsa", "-mcode-object-version=5", "-fno-crash-diagnostics")
_CRASH = re.compile(r"clang frontend command failed (?:with exit code|due to signal) *(\S*)")
_FIRST_LINE = re.compile(r'#line 1 ("(?:[^"\\]|\\.)*")\n')
_NAMED = "-fno-discard-value-names"
"""Intermediate code keeps the names of variables, which ``annotated`` looks for."""
_LIBRARY = ("ocml.bc", "ockl.bc")

_PRELUDE, _WORDS = "prelude.pch", "words"
"""The files of a precompiled header: itself, and the words of the headers in it."""
_MACRO = re.compile(r"-D([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_SCANNED = "scanned"
"""The target of the rule that clang writes the list of headers as, in the form of a Makefile."""

# What the oclc_*.bc files of a ROCm say: constants by which the library chooses among its variants. Our own, because
# not every wheel carries all of those files. Flags choose as they do for hipcc (clang, ROCmToolChain.cpp).
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
_WIDTHS = {"-mwavefrontsize64": 64, "-mno-wavefrontsize64": 32}
_LACKING = re.compile(
    r"\bno (?:member|type|template) named|undeclared|unknown type|not found|is not a class|no matching"
)
_NOT_HERE = 'the project does not have it; include = ["..."] in [tool.parity] says in which folder it is'
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_UNDEFINED = re.compile(
    r"undefined (?:hidden |protected )?symbol: (?P<name>.*)\n"
    r">>> referenced by (?:[^\n(]*\()?(?P<file>[^\s():]+):(?P<line>\d+)\)?"
)
_OF_VARIABLE = re.compile(
    r"undefined (?:hidden |protected )?symbol: (?P<name>.*)\n>>> referenced by [^\n]*:\((?P<variable>[^\n]*)\)"
)
"""Matches the same of a variable, which has no line: its initial value is a function's address."""
_OF_ASSEMBLER = re.compile(r"^[^\n]*\.s:(?P<line>\d+):\d+: error: ", re.MULTILINE)
_INLINE_BEGINS, _INLINE_ENDS = ";;#ASMSTART", ";;#ASMEND"
_INLINE = re.compile(f"{_INLINE_BEGINS}|{_INLINE_ENDS}")
_INCLUDED = "what this file includes"
_LINE_TABLE = re.compile(r"^\t\.loc\t[^;]*; ([^@]*):(\d+):(\d+)")
"""Matches a line of a listing that has the place of those that follow: file, line and column."""
_KERNEL = re.compile(
    r'^define [^\n]*\bamdgpu_kernel\b[^\n]*?@("[^"\n]+"|[\w.$-]+)\([^\n]*\{\n.*?^\}\n', re.MULTILINE | re.DOTALL
)
"""Matches the definition of a kernel in intermediate code."""
_DIAGNOSTIC = re.compile(r"^(In file included from )?([^\s:][^:\n]*):(?=\d+[:,])", re.MULTILINE)


class CompileError(ParityError):
    """A module does not compile for a target; the message holds the compiler's, in terms of the CUDA source.

    ``translation`` is what became of the source before, ``hints`` say what the project has for names that are missed,
    and ``switches`` are macros that its build may have to define.
    """

    def __init__(self, module: str, target: str, log: str, files: Collection[str] = ()) -> None:
        super().__init__(f"module {module!r} does not compile for {target}:\n{log.strip()}")
        self.module, self.target, self.log, self.files = module, target, log, files
        self.translation: Translation | None = None
        self.hints: Mapping[str, str] = {}
        self.switches: tuple[str, ...] = ()

    def after(self, log: str) -> CompileError:
        """The same error behind others."""
        error = CompileError(self.module, self.target, f"{log}\n{self.log}", self.files)
        error.translation, error.hints, error.switches = self.translation, self.hints, self.switches
        return error

    @functools.cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The errors in the log, each once, with the identifier it is about, and what is known to replace that.

        An error in a header that is not of the ``files`` of the user has the place in them that led there.
        """
        return tuple(dict.fromkeys(_finding(each, self.files, self.hints) for each in diagnostics(self.log)))

    @property
    def first(self) -> str:
        """The first error in one line; the beginning of the message, where no error has a place."""
        return (self.findings[0].advice if self.findings else str(self)).partition("\n")[0]


class UnusableCodeObject(CompileError):
    """A code object that is given in place of a source cannot be used for a target; the message says why."""

    def __init__(self, module: str, target: str, log: str) -> None:
        super().__init__(module, target, log)
        self.args = (f"the code object of module {module!r} cannot be used for {target}: {log}",)


class NoSource(CompileError):
    """One side of a module has no source; the message names the side, and the file that it would be."""

    def __init__(self, module: str, target: str, log: str) -> None:
        super().__init__(module, target, log)
        self.args = (f"module {module!r} cannot be built for {target}: {log}",)


def _finding(error: Diagnostic, files: Collection[str], hints: Mapping[str, str]) -> Finding:
    names = [a or b for a, b in _QUOTED.findall(error.text)]
    name = names[0] if names else error.missing_header
    advice = hints.get(name) or hints.get(error.places[0][0]) or _advice(error, names)
    file, line, column = error.place_in(files)
    where = "" if (file, line, column) == error.places[0] else f" (in {Path(error.places[0][0]).name})"
    return Finding(name, file, line, column, f"{error.text}{where}{f'; {advice}' if advice else ''}")


def _advice(error: Diagnostic, quoted: Sequence[str]) -> str:
    """The advice for the names in an error."""
    names, headers_ = table()
    for name in quoted:
        rule = names.get(name) or headers_.get(name)
        if rule and (rule.note or rule.hip):
            return rule.note or f"HIP has {rule.hip}"
        if (needed := needed_for(name)) and _LACKING.search(error.text):
            return needed
    if "use of overloaded operator" in error.text and "HIP_vector_type" in error.text:
        return "HIP's vector types have operators of their own; put the program's between #ifndef __HIPCC__ and #endif"
    if "__shared__" in error.text and "cannot be 'extern'" in error.text:
        return "clang takes no length of it that is fixed; leave the first out: extern __shared__ float name[][32]"
    if ATTRIBUTES.search(error.text):
        return (
            "clang wants __host__ and __device__ at a declaration as at the definition, where nvcc takes them of either"
        )
    if "no matching constructor" in error.text and error.host_only:
        return "those that it has are of the host; one has to be __device__ as well"
    if not quoted:
        return _NOT_HERE if error.missing_header else ""
    if "__host__ function" in error.text or "no matching function" in error.text:
        for file in error.host_only:
            if STUBS in Path(file).parents and (library := library_of(Path(file).relative_to(STUBS).as_posix())):
                return f"{library} is here for host code only; on the device it needs the real one"
    if any(quoted[0] == known.hip for known in (*names.values(), *headers_.values())):
        return f"the headers of {headers() or 'parity'} do not have it, those of an installed ROCm may"
    if error.missing_header:
        return _NOT_HERE
    if "undeclared identifier" in error.text and quoted[0].isupper():
        return f'if the project is built with -D{quoted[0]}=..., say so: flags = ["-D{quoted[0]}=..."] in [tool.parity]'
    return ""


@dataclass(frozen=True)
class Unit:
    """A HIP file to compile, and what that takes beside a target.

    ``include`` are folders with headers, ``forced`` headers that are included first. ``flags`` come after parity's own,
    and win. ``originals`` translates the names that ``#line`` gave to the paths that error messages show.
    """

    main: Path
    include: tuple[Path, ...] = ()
    forced: tuple[str | Path, ...] = ()
    flags: tuple[str, ...] = ()
    originals: Mapping[str, str] = field(default_factory=dict)

    def refused(self, target: Target, said: str, code: int) -> CompileError:
        """The error of a compiler that left with this exit code, and what it said."""
        log = in_terms_of_the_source(said, self.originals) or f"the compiler left with code {code}"
        if (crash := _CRASH.search(said)) and not diagnostics(said):
            log = in_terms_of_the_source(f"{self._kernels()} (exit code {crash[1]})", self.originals)
        return CompileError(self.main.stem, target.name, log, frozenset(self.originals.values()))

    def _kernels(self) -> str:
        """The error that the compiler crashes, at the first kernel, with the names of all."""
        text = self.main.read_text(encoding="utf-8", errors="replace")
        return f"{self.place_of('__global__')}: error: {CRASHED} of {', '.join(parameters(text)) or _INCLUDED}"

    def place_of(self, word: str) -> str:
        """The file, and the line in it where a word stands first, else the first."""
        text = self.main.read_text(encoding="utf-8", errors="replace")
        named = _FIRST_LINE.match(text)
        line = max(1, text.count("\n", 0, max(0, code(text).find(word))) + (not named))
        return f"{json.loads(named[1]) if named else self.main}:{line}:1"


def compile_listing(unit: Unit, output: Path, target: Target) -> None:
    """Compile to the assembly listing ``output``.

    Raises:
        CompileError: the compiler refused it.
        MissingTool: the compiler or the device libraries are not installed.
    """
    linked, controls = _linked(target, output, unit.flags)
    front = [*_front(target, unit), *linked]
    optimized = output.with_suffix(".optimized.bc")
    result = zig.run(
        [*front, _NAMED, "-emit-llvm", "-c", unit.main.name, "-o", optimized.resolve()], cwd=unit.main.parent
    )
    refused, missed = ("", "") if result.returncode else _missed(optimized, target, unit.flags)
    if refused or missed:
        optimized.unlink()
    elif not result.returncode and (result := _generated(optimized, output, target, unit.flags)).returncode:
        # Again in one go: then the message has the place in the source.
        again = zig.run([*front, "-S", unit.main.name, "-o", output.resolve()], cwd=unit.main.parent)
        result = again if again.returncode else result
    controls.unlink()
    if missed:
        raise CompileError(output.stem, target.name, missed)
    if refused:
        raise unit.refused(target, refused, 1)
    if result.returncode:
        raise unit.refused(target, result.stderr, result.returncode)


def compile_intermediate(unit: Unit, output: Path, target: Target, *, precompiled: bool = True) -> None:
    """Compile to LLVM's intermediate code, as it is before any optimization.

    Headers that are not ``precompiled`` leave nothing in the cache.

    Raises:
        CompileError, MissingTool: as ``compile_listing``.
    """
    kept = (_NAMED, "-Xclang", "-disable-llvm-passes", "-emit-llvm")
    front = _front(target, unit, precompiled)
    result = zig.run([*front, *kept, "-S", unit.main.name, "-o", output.resolve()], cwd=unit.main.parent)
    if result.returncode:
        raise unit.refused(target, result.stderr, result.returncode)


def compile_kernels(
    intermediate: str, kernels: Collection[str], output: Path, target: Target, flags: Sequence[str] = ()
) -> None:
    """Compile kernels of what ``compile_intermediate`` wrote, with these flags, to the listing ``output``, without the
    others.

    Of a module of a hundred kernels that takes a second. The code is that of the whole module, but where the compiler
    decides by what else calls a function.

    Raises:
        CompileError: the compiler refused it.
    """
    alone = output.with_suffix(".ll")
    alone.write_text(_KERNEL.sub(lambda found: found[0] if found[1].strip('"') in kernels else "", intermediate))
    linked, controls = _linked(target, output, flags)
    optimized = output.with_suffix(".optimized.bc")
    passes = ("-mllvm", "-amdgpu-internalize-symbols", *linked, "-emit-llvm", "-c")
    result = zig.run([*_of_intermediate(target, flags), *passes, alone.resolve(), "-o", optimized.resolve()])
    if not result.returncode:
        result = _generated(optimized, output, target, flags)
    controls.unlink()
    alone.unlink()
    if result.returncode:
        raise CompileError(output.stem, target.name, result.stderr)


def _missed(optimized: Path, target: Target, flags: Sequence[str]) -> tuple[str, str]:
    """What ends the compilation of optimized code that calls functions it does not have, without the time that good
    code takes: clang's errors for calls that it refuses, or else those of ``assemble`` for functions that are defined
    nowhere; neither if what is made in haste does not say.
    """
    if not undefined_functions(optimized.read_bytes()):
        return "", ""
    command = [*_of_intermediate(target, flags), "-Xclang", "-disable-llvm-passes", optimized.resolve()]
    text = optimized.with_suffix(".ll").resolve()
    zig.run([*command, "-S", "-emit-llvm", "-o", text])
    refused = refused_calls(text.read_text(), _OF_OTHERS) if text.is_file() else ()
    text.unlink(missing_ok=True)
    if refused:
        return "\n".join(refused), ""
    made, linked = optimized.with_suffix(".o").resolve(), optimized.with_suffix(".so").resolve()
    result = zig.run([*command, "-O0", "-c", "-o", made])
    result = result if result.returncode else zig.run(["ld.lld", "-shared", made, "-o", linked])
    for file in (made, linked):
        file.unlink(missing_ok=True)
    return "", _undefined(result.stderr)


def _generated(optimized: Path, output: Path, target: Target, flags: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What came of writing the listing ``output`` of optimized code, which is removed.

    The compiler runs twice, at once: for the listing, and for what this does not have, its memory operands. Printing
    these beside the listing takes longer, because clang writes to stderr a few bytes at a time.
    """
    dump = output.with_suffix(".mir")
    command = [*_of_intermediate(target, flags), "-Xclang", "-disable-llvm-passes", "-S", optimized.resolve()]
    with ThreadPoolExecutor(1) as other:
        dumped = other.submit(zig.run, [*command, *DUMPED, "-o", dump.resolve()])
        result = zig.run([*command, "-o", output.resolve()])
    result = result if result.returncode else dumped.result()
    if not result.returncode:
        _finish_traps(output)
        output.write_text(annotated(output.read_text(), dump.read_text()))
    for file in (optimized, dump):
        file.unlink(missing_ok=True)
    return result


def _of_intermediate(target: Target, flags: Sequence[str]) -> Iterator[str | Path]:
    """The command that compiles intermediate code, up to what is made of it."""
    yield from ("clang", "-x", "ir", *_ASSEMBLER_FLAGS, f"-mcpu={target.name}", "-nogpulib", "-O3", _NAMED)
    yield from ("-ffp-contract=fast-honor-pragmas", *_behind(flags))


def _behind(flags: Sequence[str]) -> Iterator[str]:
    """Of the flags of a compilation those for intermediate code: what a function of the library has in another way is
    not put into a kernel.
    """
    for before, flag in zip(("", *flags), flags, strict=False):
        if before == "-mllvm":
            yield from (before, flag)
        elif flag.startswith(("-O", "-f", "-m")) and flag != "-mllvm" and before != "-Xclang":
            yield flag
    if _chosen(flags, "gpu-flush-denormals-to-zero"):
        yield from ("-Xclang", "-fdenormal-fp-math-f32=preserve-sign,preserve-sign")
    yield "-Wno-unused-command-line-argument"


def _front(target: Target, unit: Unit, precompiled: bool = True) -> Iterator[str | Path]:
    """The command that compiles a HIP file, up to what is made of it."""
    yield from ("clang", *_FLAGS, f"--offload-arch={target.name}", *unit.flags)
    yield from (part for folder in unit.include for part in ("-I", folder))
    yield from _headers(target, unit.flags)
    yield from _included_first(target, unit, precompiled)


def _linked(target: Target, output: Path, flags: Sequence[str]) -> tuple[list[str | Path], Path]:
    """The options that link the device libraries, and the file beside ``output`` that is needed as long."""
    controls = _control_bitcode(_controls(target, flags), output.resolve().with_suffix(".bc"))
    files = (*_bitcode(), controls)
    return [part for file in files for part in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", file)], controls


def headers_missed(unit: Unit, target: Target) -> tuple[str, ...]:
    """The headers that a file includes and that are nowhere, all at once: a compilation stops at the first.

    Other errors of the preprocessor, a condition that a missing header has the macros for, end nothing.
    """
    front = [*_front(target, unit, precompiled=False)]
    return missed_by(lambda *scan: zig.run([*front, *scan], cwd=unit.main.parent).returncode, unit.main)


def missed_by(run: Callable[..., int], source: Path) -> tuple[str, ...]:
    """The headers that a clang misses: ``run`` starts its preprocessor, with these arguments, beside ``source``."""
    with tempfile.TemporaryDirectory(prefix="parity-headers-") as folder:
        found, output = Path(folder, "headers"), Path(folder, "output")
        # -MG: a header that is not there is one that somebody makes later, and no error.
        scan = ("-dependency-file", found, "-MT", _SCANNED, "-MG", "-sys-header-deps")
        run("-E", source.name, "-o", output, *(part for word in scan for part in ("-Xclang", word)))
        if not found.is_file():
            return ()
        return tuple(name for name in _files_of(found) if not (source.parent / name).exists())


def _files_of(dependencies: Path) -> list[str]:
    """The files in a list that clang writes for a Makefile."""
    return dependencies.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ").split()[1:]


def _finish_traps(listing: Path) -> None:
    """Write out the traps that clang 22 left as the pseudo instruction that they begin as.

    That happens on gfx11 to the second trap of a function that ends in both, and no assembler takes it, clang's own
    included ("Unsupported instruction"). A trap stops the wavefront for good.
    """
    text = listing.read_text()
    if "\tSIMULATED_TRAP" in text:
        parts = text.split("\tSIMULATED_TRAP")
        traps = (f"\ts_trap 2\n.Ltrap{i}:\n\ts_sethalt 5\n\ts_branch .Ltrap{i}" for i in range(len(parts) - 1))
        listing.write_text("".join(itertools.chain(*itertools.zip_longest(parts, traps, fillvalue=""))))


def in_terms_of_the_source(log: str, originals: Mapping[str, str]) -> str:
    """The output of a compiler, with the paths of the files that it knows by the names of ``#line``."""
    return _DIAGNOSTIC.sub(lambda m: f"{m[1] or ''}{originals.get(m[2], m[2])}:", log)


def assemble(listing: Path, output: Path, target: Target) -> None:
    """Make the loadable HSACO ``output`` of an assembly listing: 25 ms, against a second compilation.

    Raises:
        CompileError: assembler or linker refused it, which is a defect of the toolchain.
    """
    object_file = output.with_suffix(".o")
    steps: tuple[tuple[str | Path, ...], ...] = (
        (
            "clang",
            "-x",
            "assembler",
            *_ASSEMBLER_FLAGS,
            f"-mcpu={target.name}",
            *wide(listing),
            "-c",
            listing,
            "-o",
            object_file,
        ),
        ("ld.lld", "-shared", object_file, "-o", output),
    )
    for step in steps:
        result = zig.run(step)
        if result.returncode:
            raise CompileError(listing.stem, target.name, _undefined(result.stderr) or f"{step[0]}: {result.stderr}")
    object_file.unlink()


def refused_assembly(error: CompileError, unit: Unit, listing: Path, target: Target) -> CompileError:
    """An error of ``assemble``, at its place in the source: of inline assembly that is none of AMD's, of a variable."""
    lines = listing.read_text().splitlines()
    said = [
        elsewhere(unit.place_of(unqualified(match["variable"])), match["name"])
        for match in _OF_VARIABLE.finditer(error.log)
    ]
    for match in _OF_ASSEMBLER.finditer(error.log):
        at = int(match["line"])
        marks = (each for each in reversed(lines[: at - 1]) if _INLINE.search(each))
        place = next(filter(None, map(_LINE_TABLE.search, reversed(lines[:at]))), None)
        if place is None or _INLINE_BEGINS not in next(marks, ""):
            return error
        said.append(
            f"{place[1]}:{place[2]}:{place[3]}: error: inline assembly that no AMD GPU has: {lines[at - 1].strip()}"
        )
    return unit.refused(target, "\n".join(dict.fromkeys(said)), 1) if said else error


def wide(listing: Path) -> tuple[str, ...]:
    """The option for the assembler of a listing whose wavefronts have 64 lanes where a target's usually have 32."""
    return ("-mwavefrontsize64",) if "\t.amdhsa_wavefront_size32 0\n" in listing.read_text() else ()


def _undefined(log: str) -> str:
    """The linker's errors for functions that are defined nowhere, in the form of a compiler's."""
    found = _UNDEFINED.finditer(log)
    return "\n".join(elsewhere(f"{match['file']}:{match['line']}:1", match["name"]) for match in found)


def elsewhere(place: str, name: str) -> str:
    """The error that a function or variable of the device is in another source of the program."""
    return (
        f"{place}: error: '{name}' {ELSEWHERE};"
        " code that nvcc links of several files (-rdc=true) has to be in one for parity: #include the file that has it"
    )


def undefined(error: CompileError) -> tuple[str, ...]:
    """The names of functions and variables that an error says are defined nowhere."""
    return tuple(each.name.partition("(")[0] for each in error.findings if ELSEWHERE in each.advice)


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


def host_library() -> Path:
    """The folder of zig's libraries, libc++ and the headers of glibc among them."""
    return zig.zig().parent / "lib"


def _starting(forced: Sequence[str | Path]) -> tuple[Sequence[str | Path], Sequence[str | Path]]:
    """The headers that begin every compilation, and those that follow them before a source."""
    if not headers():
        return (), forced
    start = (HEADERS / "libcxx_throws.h", "__clang_hip_runtime_wrapper.h", HEADERS / "libcxx_numeric_type.h")
    return ((*start, RUNTIME, HEADERS / "without_local.h"), forced[1:]) if forced[:1] == (RUNTIME,) else (start, forced)


def _included_first(target: Target, unit: Unit, precompiled: bool) -> Iterator[str | Path]:
    """The flags for headers included before a source: those that begin every compilation as a precompiled one."""
    start, others = _starting(unit.forced)
    if start and precompiled:
        yield from ("-Xclang", "-include-pch", "-Xclang", _prelude(target, unit.flags, tuple(start)) / _PRELUDE)
    elif start:
        others = (*start, *others)
    yield from (part for header in others for part in ("-include", header))


def _of_start(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags that the first headers depend on: not the folder of stubs, which each module has its own of."""
    pairs = zip(("", *flags), flags, strict=False)
    return tuple(flag for before, flag in pairs if STUBS_AFTER not in (before, flag))


def _prelude(target: Target, flags: Sequence[str], start: tuple[str | Path, ...]) -> Path:
    """The folder with these headers as clang reads them for a target, with those of these flags that matter to them.

    A macro matters if they have its name: the many that only projects ask for share one precompiled header.
    """
    flags = _of_start(flags)
    others = tuple(flag for flag in flags if not _MACRO.match(flag))
    if others == flags:
        return _precompiled(target, flags, start)
    try:
        words = _words(_precompiled(target, others, start))
    except CompileError:  # a macro is what permits another flag
        return _precompiled(target, flags, start)
    kept = (flag for flag in flags if not (macro := _MACRO.match(flag)) or macro[1] in words)
    return _precompiled(target, tuple(kept), start)


@functools.cache
def _words(folder: Path) -> frozenset[str]:
    return frozenset((folder / _WORDS).read_text(encoding="utf-8").split())


@functools.cache
def _precompiled(target: Target, flags: tuple[str, ...], start: tuple[str | Path, ...]) -> Path:
    """These headers as clang reads them for a target, with these flags: once, because it takes a second."""
    key = digest("prelude", _WORDS, fingerprint(target), *flags, *map(str, start), *_stamps())
    folder, _ = Cache(default_root() / "prelude").get(key, functools.partial(_precompile, target, flags, start))
    return folder


def _precompile(target: Target, flags: tuple[str, ...], start: tuple[str | Path, ...], folder: Path) -> None:
    included = (part for header in start for part in ("-include", header))
    read = folder / "read"
    # Device code alone has no precompiled form for clang's driver, hence the options of the front end.
    output = ("-emit-pch", "-o", folder / _PRELUDE, "-dependency-file", read, "-MT", _SCANNED, "-sys-header-deps")
    options = ("-fsyntax-only", *(part for word in output for part in ("-Xclang", word)))
    arguments = (*_FLAGS, f"--offload-arch={target.name}", *flags, *_headers(target, flags), *included, *options, EMPTY)
    result = zig.run(["clang", *arguments], cwd=folder)
    if result.returncode:
        raise CompileError("AMD's headers", target.name, result.stderr)
    words: set[str] = set()
    for name in _files_of(read):
        words.update(_WORD.findall(Path(folder, name).read_text(encoding="utf-8", errors="replace")))
    (folder / _WORDS).write_text("\n".join(sorted(words)), encoding="utf-8")
    read.unlink()


def _stamps() -> Iterator[str]:
    """Path and time of each file that clang compares when it reads a precompiled header."""
    found = headers()
    for file in (host_library() / "libcxx" / "include" / "__config", EMPTY, found and found.folder / RUNTIME):
        if file:
            yield f"{file} {file.stat().st_mtime_ns}"


def headers() -> HipHeaders | None:
    """AMD's headers; None, with a warning, where parity's own have to do."""
    found = hip_headers()
    if found is None:
        _warn_of_fallback(without_hip_headers())
    return found


@functools.cache
def _warn_of_fallback(reason: str) -> None:
    log.warning(
        "%s; small headers of parity's own are used instead, which have a part of HIP and no defect of AMD's", reason
    )


def _headers(target: Target, flags: Sequence[str]) -> Iterator[str | Path]:
    """The flags for the folders with headers, where others are ``flags``."""
    yield from (f"-fdebug-prefix-map={HEADERS}={HEADERS_ALIAS}", STUBS_AFTER, STUBS)
    found = headers()
    if found is None:
        yield from ("-isystem", FALLBACK)
        yield from _library()
        return
    yield from ("-isystem", found.folder / "clang" / "cuda_wrappers")
    yield from _library()
    yield from ("-isystem", COMPAT, "-isystem", found.folder / "clang", "-isystem", found.folder)
    yield f"-fdebug-prefix-map={found.folder}={HIP_ALIAS}"
    # clang 22 defines the width no longer, and headers before HIP 7 ask for it.
    yield from (f"-D__AMDGCN_WAVEFRONT_SIZE{end}={_lanes(target, flags)}" for end in ("", "__"))


def _library() -> Iterator[str | Path]:
    # What zig itself passes for x86_64-linux-gnu; libc++ is configured by macros there, not by a __config_site.
    library = host_library()
    for folder in ("libcxx/include", "libcxxabi/include", "include"):
        yield from ("-isystem", library / folder)
    for folder in ("x86-linux-gnu", "generic-glibc", "x86-linux-any", "any-linux-any"):
        yield from ("-isystem", library / "libc" / "include" / folder)
    yield f"-fdebug-prefix-map={library}={LIBRARY_ALIAS}"
    yield from (f"-D_LIBCPP_{setting}" for setting in _LIBCPP)


def described() -> str:
    """The compiler and its headers, in a few words."""
    found = headers()
    return f"{_compiler_version()}, headers of {found}" if found else f"{_compiler_version()}, headers of parity"


def fingerprint(target: Target) -> str:
    """Digest of everything but the source that decides what a compilation yields. Starts no process.

    Raises:
        MissingTool: the compiler or the device libraries are not installed.
    """
    return digest(
        _compiler_version(),
        " ".join((*_FLAGS, *_LIBCPP, *DUMPED)),
        target.name,
        _controls(target),
        found.folder.name if (found := headers()) else "",
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


def _controls(target: Target, flags: Sequence[str] = ()) -> str:
    fast = _chosen(flags, "fast-math")
    return _CONTROLS.format(
        flushed=int(_chosen(flags, "gpu-flush-denormals-to-zero")),
        unsafe=int(fast or _chosen(flags, "unsafe-math-optimizations")),
        finite=int(fast or _chosen(flags, "finite-math-only")),
        exact=int(_chosen(flags, "hip-fp32-correctly-rounded-divide-sqrt", usual=True)),
        wave64=int(_lanes(target, flags) == 64),
        isa=target.isa,
    )


def _chosen(flags: Sequence[str], name: str, *, usual: bool = False) -> bool:
    """True if the last of the flags ``-fNAME`` and ``-fno-NAME`` is the former; ``usual`` if there is none."""
    return next((flag == f"-f{name}" for flag in reversed(flags) if flag in (f"-f{name}", f"-fno-{name}")), usual)


def _lanes(target: Target, flags: Sequence[str]) -> int:
    """The number of lanes of a wavefront of code that is compiled with these flags."""
    return next((_WIDTHS[flag] for flag in reversed(flags) if flag in _WIDTHS), target.wavefront)


def _control_bitcode(controls: str, output: Path) -> Path:
    source = output.with_suffix(".c")
    source.write_text(controls)
    # Like the device libraries it names no code object version, so it links into any.
    flags = ("-x", "c", "--target=amdgcn-amd-amdhsa", "-Xclang", "-mcode-object-version=none", "-emit-llvm", "-c")
    result = zig.run(["clang", *flags, source, "-o", output])
    source.unlink()
    if result.returncode:
        raise CompileError(output.stem, "amdgcn", result.stderr)
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
