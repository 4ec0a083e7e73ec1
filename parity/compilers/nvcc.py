"""The compiler for CUDA targets: nvcc, which makes PTX and from that the cubin. It needs no GPU and no driver.

Both are kept, because a cubin does not say in a documented way what arguments its kernels take, and PTX does. Lines of
the source are in both (``-lineinfo`` adds ``.loc`` and ``.file`` to the PTX, and no instruction is another for it), by
names that do not depend on where the source or CUDA's headers are.

nvcc reads sources as the host's compiler does, so that it needs one. Where there is no g++, clang in the ``ziglang``
wheel serves, with the headers that come with it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from parity.compilers import zig
from parity.compilers.clang import HEADERS, CompileError, Unit, elsewhere
from parity.compilers.rocm import VARIABLE, WHEELS
from parity.compilers.targets import Target
from parity.errors import MissingTool, ParityError
from parity.model.code_object import Argument, CodeObject, Kernel, name_of, unqualified
from parity.platform.cache import Cache, default_root, digest
from parity.porting.kernel_templates import INSTANTIATIONS, Instantiation, instantiations

__all__ = [
    "FLAGS", "HEADERS_ALIAS", "INSTALL", "compile_module", "described", "fingerprint", "headers", "headers_missed",
    "located", "nvcc", "nvcc_version", "parse_ptx",
]  # fmt: skip

INSTALL = "python -m pip install 'parity-harness[nvcc]'"
"""The command that installs nvcc and nvdisasm, without a GPU and without root."""

HEADERS_ALIAS = "cuda-include"
"""The name of the folder of CUDA's headers in PTX."""

FLAGS = ("-std=c++17", "-O3", "-lineinfo", "--expt-relaxed-constexpr", "--extended-lambda")
"""The flags of every compilation. The last two permit what AMD's compiler does anyway; most builds have them."""

_ALL_ERRORS = ("-Xcicc", "--error_limit=10000")
"""What host code is in the way is found in fewer compilations than by a hundred errors at once."""

_SETTINGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")
"""Variables from which nvcc takes more flags, and the host compiler."""

_GLIBC = "2.43"
"""The glibc whose headers zig has: CUDA's headers declare ``rsqrt`` and the like as that does, if they know it."""

_KNOWS_CLANG = (13, 4)
"""The oldest version of nvcc that takes the clang 22 of ``ziglang``: ``crt/host_config.h``."""

_DEFAULT = Path("/usr/local/cuda/bin/nvcc")
_BY_ZIG = "clang++"
_WHEELS = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl")

_ENTRY = re.compile(r"\.entry (?P<name>\w+)\((?P<parameters>[^)]*)\)(?P<directives>[^{]*)")
# .param .u64 [.ptr [.global] [.align 8]] NAME, or .param .align 2 .b8 NAME[2]
_PARAM = re.compile(
    r"\.param (?:\.align (?P<align>\d+) )?\.[a-z]+(?P<bits>\d+)(?P<pointer> \.ptr(?: \.\w+)*(?: \d+)?)?"
    r" \w+(?:\[(?P<count>\d+)\])?"
)
_MAXNTID = re.compile(r"\.maxntid (\d+)(?:, (\d+))?(?:, (\d+))?")
# What ptxas -v says of one entry, in the order in which it says it.
_USAGE = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores"
    r".*?Used (?P<registers>\d+) registers(?P<more>[^\n]*)",
    re.DOTALL,
)
_REFUSED = re.compile(rf"^{re.escape(INSTANTIATIONS)}\((\d+)\): error", re.MULTILINE)
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '(\w+)'")
_TREATED = re.compile(r"extern declaration of the entity (\w+) is treated as a static definition")
_WORD = re.compile(r"\w+")
_SHARED = re.compile(r"(\d+) bytes smem")
_INCLUDES = re.compile(r'^#\$ INCLUDES="-I([^"]+)"', re.MULTILINE)
# .loc FILE LINE COLUMN, function_name LABEL, inlined_at FILE LINE COLUMN; the first label is at the section's begin.
_FUNCTION = re.compile(r"(, function_name \$L__info_string)(?!0\b)\d+(?=,)")
_FUNCTIONS = re.compile(r"(^\s*\.section\s+\.debug_str\s*\{\s*\$L__info_string0:\n)[^{}]*\}", re.MULTILINE)
_NUMBERED = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LINE = re.compile(r"^\s*\.loc\s+(\d+) ", re.MULTILINE)
_FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"]*)"', re.MULTILINE)


@dataclass(frozen=True)
class _Candidate:
    """A place where nvcc may be, and in words what led there."""

    path: Path
    why: str


def nvcc() -> Path:
    """The compiler: on PATH, below ``$CUDA_HOME`` or ``/usr/local/cuda``, or that of NVIDIA's wheel.

    With ``--toolchain wheels`` it is that of the wheel in any case.

    Raises:
        MissingTool: there is none.
    """
    return _found().path


def located() -> str:
    """The version of nvcc, where it is, and why it is that one.

    Raises:
        MissingTool: there is none.
    """
    found = _found()
    return f"{_release(found.path)}, {found.path} ({found.why})"


def headers() -> Path:
    """The folder of CUDA's headers that nvcc brings.

    Raises:
        MissingTool: there is no nvcc.
        ParityError: nvcc does not say where they are.
    """
    return _headers(nvcc())


def _found() -> _Candidate:
    by_wheels = os.environ.get(VARIABLE) == WHEELS
    for place in _wheels() if by_wheels else _places():
        if place.path.is_file() and os.access(place.path, os.X_OK):
            return place
    package = "the Python package nvidia-cuda-nvcc"
    if by_wheels:
        raise MissingTool("nvcc", f"{package} alone, because {VARIABLE} is {WHEELS}", INSTALL)
    looked = f"PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, {package}"
    raise MissingTool("nvcc", looked, f"{INSTALL}, or the CUDA toolkit")


def compile_module(
    unit: Unit, ptx: Path, cubin: Path, target: Target, kernels: Sequence[str] = (), named: Callable[[Path], str] = str
) -> CodeObject:
    """Compile a CUDA file, as it is, to ``ptx`` and ``cubin``.

    ``named`` gives the names of files in the PTX; those of CUDA's own headers begin with ``HEADERS_ALIAS``.
    ``kernels`` are templates with their arguments. Those that no host code launches are instantiated in a file of
    their own that includes the source, as AMD's side has them; one that the source does not have is left out.

    Raises:
        CompileError: the compiler refused it.
        MissingTool: there is no compiler.
    """
    source, host, options = unit.main, _host_compiler(unit.flags), _options(unit)

    def run(*arguments: str) -> str:
        return _run(source.stem, target, ptx.parent, *host, *arguments)

    def compiled(main: Path) -> CodeObject:
        said = run("-ptx", *_ALL_ERRORS, *options, str(main), "-o", str(ptx))
        # nvcc makes variables of them that are zero, and have nothing to do with those of the other file.
        if treated := _TREATED.findall(said):
            words = Counter(_WORD.findall(ptx.read_text()))
            if used := [each for each in treated if words[each] > 1]:
                raise _elsewhere(used, unit, target)
        _name_files(ptx, lambda path: named(path) if path.parent != ptx.parent else path.name)
        try:
            log = run("-cubin", "-lineinfo", "-Xptxas", "-v", str(ptx), "-o", str(cubin))
        except CompileError as error:
            if not (unresolved := _UNRESOLVED.findall(error.log)):
                raise
            raise _elsewhere([name_of(each) for each in unresolved], unit, target) from None
        return parse_ptx(ptx.read_text(), source.stem, target, log, binary=cubin)

    code = compiled(source)
    wanted = [Instantiation((), name) for name in kernels if code.symbol(name) not in code.kernels]
    main = ptx.with_name(f"{source.stem}-kernels.cu")
    while wanted:
        main.write_text(f'#include "{source.absolute()}"\n{instantiations(wanted)}')
        try:
            return compiled(main)
        except CompileError as error:
            refused = {int(line) - 1 for line in _REFUSED.findall(error.log)}
            if not refused:
                raise
            wanted = [each for i, each in enumerate(wanted) if i not in refused]
        finally:
            main.unlink()
    return code


def headers_missed(unit: Unit, target: Target, scratch: Path) -> tuple[str, ...]:
    """The headers that a file includes and that are nowhere, all at once: a compilation stops at the first.

    Temporary files are in ``scratch``.
    """
    # -MG: a header that is not there is one that somebody makes later, and no error.
    scan = (part for word in ("-M", "-MG") for part in ("-Xcompiler", word))
    options = (*_host_compiler(unit.flags), "-E", *scan, *_options(unit))
    try:
        rule = _run(unit.main.stem, target, scratch, *options, str(unit.main))
    except CompileError:
        return ()
    _, _, names = rule.replace("\\\n", " ").partition(": ")
    return tuple(name for name in names.split() if not Path(name).is_absolute() and not Path(name).exists())


def _elsewhere(names: Iterable[str], unit: Unit, target: Target) -> CompileError:
    """The error that functions or variables of the device are in other sources of the program."""
    places = {name: unit.place_of(unqualified(name)) for name in names}
    return CompileError(
        unit.main.stem, target.name, "\n".join(elsewhere(place, name) for name, place in places.items())
    )  # fmt: skip


def _options(unit: Unit) -> tuple[str, ...]:
    """The flags for a CUDA file, its folders of headers and the headers that are included first."""
    folders = (part for folder in unit.include for part in ("-I", str(folder)))
    forced = (part for header in unit.forced for part in ("-include", str(header)))
    return ("-x", "cu", *FLAGS, *unit.flags, *folders, *forced)


def parse_ptx(ptx: str, module: str, target: Target, usage: str = "", *, binary: Path | None = None) -> CodeObject:
    """The code object of a PTX text; ``usage`` is what ``ptxas -v`` said: registers, shared and local memory.

    An 8-byte parameter without ``.ptr`` may be a pointer or a number: its kind is empty. Kernels of CUDA's own headers,
    as including CUB brings one, are left out.
    """
    libraries = {number for number, name in _NUMBERED.findall(ptx) if name.startswith(f"{HEADERS_ALIAS}/")}
    used = {match["name"]: match for match in _USAGE.finditer(usage)}
    kernels = {}
    for entry in _ENTRY.finditer(ptx):
        name, args = entry["name"], tuple(_arguments(entry["parameters"]))
        if (line := _LINE.search(ptx, entry.end())) and line[1] in libraries:
            continue
        numbers = used.get(name)
        shared = _SHARED.search(numbers["more"]) if numbers else None
        limit = _MAXNTID.search(entry["directives"])
        threads = 1
        for count in limit.groups("1") if limit else ("1024",):
            threads *= int(count)
        kernels[name] = Kernel(
            name=name,
            args=args,
            kernarg_bytes=args[-1].offset + args[-1].size if args else 0,
            sgprs=0,
            vgprs=int(numbers["registers"]) if numbers else 0,
            lds_bytes=int(shared[1]) if shared else 0,
            scratch_bytes=int(numbers["stack"]) if numbers else 0,
            wavefront=target.wavefront,
            spills=-(-int(numbers["stores"]) // 4) if numbers else 0,
            max_threads=threads,
        )
    return CodeObject(module, target.name, ptx, kernels, digest(ptx), (), binary)


def fingerprint(target: Target) -> str:
    """Digest of everything but the source that decides what a compilation yields.

    Raises:
        MissingTool: there is no compiler.
    """
    settings = (os.environ.get(name, "") for name in _SETTINGS)
    own = (path.read_bytes() for path in sorted(HEADERS.rglob("*")) if path.is_file())
    return digest(target.name, *FLAGS, _version(nvcc()), _versions_of_wheels(), _host(), *settings, *own)


def described() -> str:
    """The compiler in a few words."""
    return f"nvcc {'.'.join(_release(nvcc()).split('.')[:2])}".strip()


def nvcc_version() -> str:
    """The name and the version of nvcc, which ``nvcc --version`` prints.

    Raises:
        MissingTool: there is no compiler.
    """
    return _version(nvcc())


def _arguments(parameters: str) -> Iterator[Argument]:
    offset = 0
    for match in _PARAM.finditer(parameters):
        size = int(match["bits"]) // 8 * int(match["count"] or 1)
        align = int(match["align"] or size)
        offset = -(-offset // align) * align
        kind = "global_buffer" if match["pointer"] else "" if size == 8 else "by_value"
        yield Argument("", offset, size, kind)
        offset += size


def _run(module: str, target: Target, scratch: Path, *arguments: str) -> str:
    """The output of nvcc; its temporary files are in ``scratch``, where they do not outlive it if it is ended."""
    command: list[str | Path] = [nvcc(), f"-arch={target.name}", *arguments]
    result = zig.completed(command, env={**os.environ, "TMPDIR": str(scratch.resolve())})
    log = result.stdout + result.stderr
    if result.returncode:
        raise CompileError(module, target.name, log or f"the compiler left with code {result.returncode}")
    return log


def _name_files(ptx: Path, named: Callable[[Path], str]) -> None:
    """Give the files that lines of code come from names that are the same wherever these files are.

    The functions that were inlined lose theirs: they have a digest of the file's path in them, and nobody reads them.
    """
    cuda = headers()

    def renamed(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(match[2]))
        inside = path.resolve()
        name = f"{HEADERS_ALIAS}/{inside.relative_to(cuda)}" if inside.is_relative_to(cuda) else named(path)
        return f'{match[1]}"{name}"'

    text = _FUNCTION.sub(r"\g<1>0", _FILE.sub(renamed, ptx.read_text()))
    ptx.write_text(_FUNCTIONS.sub(r"\1.b8 0\n\t}", text))


def _host_compiler(flags: Sequence[str] = ()) -> tuple[str, ...]:
    """The flags that name the host's compiler, where nvcc would not find one by itself.

    Raises:
        MissingTool: there is none.
    """
    chosen = any(flag.startswith(("-ccbin", "--compiler-bindir")) for flag in flags)
    if chosen or os.environ.get("NVCC_CCBIN") or _gcc():
        return ()
    what = "a C++ compiler, by which nvcc reads sources"
    if _numbers(_release(nvcc())) < _KNOWS_CLANG:
        raise MissingTool(
            what, f"g++ on PATH, $NVCC_CCBIN; {described()} does not know ziglang's", "apt-get install g++"
        )
    try:
        compiler = zig.zig()
    except MissingTool as error:
        where = "g++ on PATH, $NVCC_CCBIN, the Python package ziglang"
        raise MissingTool(what, where, "apt-get install g++, or python -m pip install 'ziglang==0.17.*'") from error
    # By its name nvcc knows a compiler's options.
    text = f'#!/bin/sh\nexec {shlex.quote(str(compiler))} c++ -target {platform.machine()}-linux-gnu.{_GLIBC} "$@"\n'

    def write(folder: Path) -> None:
        (folder / _BY_ZIG).write_text(text)
        (folder / _BY_ZIG).chmod(0o755)

    folder, _ = Cache(default_root() / "host-compiler").get(digest(text), write)
    return "-ccbin", str(folder / _BY_ZIG)


def _gcc() -> str | None:
    """The compiler that nvcc takes by itself; gcc alone does not have the headers of C++."""
    return shutil.which("gcc") and shutil.which("g++")


def _host() -> str:
    """The version of the host's compiler, whose headers are in the code."""
    if found := _gcc():
        return _version(Path(found))
    with contextlib.suppress(MissingTool):  # the flags may name another
        return zig.version()
    return ""


@functools.cache
def _versions_of_wheels() -> str:
    """The versions of NVIDIA's wheels: one may be replaced, and nvcc's version stays."""
    found = []
    for name in _WHEELS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return " ".join(found)


def _release(path: Path) -> str:
    """The version as ``13.5.37``, or what there is of it."""
    match = re.search(r"release ([\d.]+)(?:, V([\d.]+))?", _version(path))
    return (match[2] or match[1]) if match else ""


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part)


@functools.cache
def _headers(path: Path) -> Path:
    said = zig.completed([path, "--dryrun", "-E", "-x", "cu", os.devnull]).stderr
    if match := _INCLUDES.search(said):
        return Path(match[1]).resolve()
    raise ParityError(f"{path} --dryrun does not say where CUDA's headers are:\n{said.strip()[:500]}")


@functools.cache
def _version(path: Path) -> str:
    return zig.completed([path, "--version"]).stdout


def _places() -> Iterator[_Candidate]:
    if found := shutil.which("nvcc"):
        yield _Candidate(Path(found), "on PATH")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield _Candidate(Path(root, "bin", "nvcc"), f"by ${variable}")
    yield _Candidate(_DEFAULT, "where CUDA is installed by default")
    yield from _wheels()


def _wheels() -> Iterator[_Candidate]:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).glob("cu*/bin/nvcc"), reverse=True):
            yield _Candidate(path, "of the Python package nvidia-cuda-nvcc")
