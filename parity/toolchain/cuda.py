"""The compiler for CUDA targets: nvcc, which makes PTX and from that the cubin.

Both are kept, because a cubin does not say in a documented way what arguments its kernels take, and PTX does.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.cache import digest
from parity.codeobject import Argument, CodeObject, Kernel
from parity.errors import MissingTool
from parity.toolchain.compiler import CompileError
from parity.toolchain.host_code import INSTANTIATIONS, instantiations
from parity.toolchain.host_syntax import Instantiation
from parity.toolchain.targets import Target

__all__ = ["compile_module", "described", "fingerprint", "nvcc", "parse_ptx"]

_FLAGS = ("-std=c++17", "-O3")

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
_SHARED = re.compile(r"(\d+) bytes smem")


def nvcc() -> Path:
    """The compiler: on PATH, below ``$CUDA_HOME`` or ``/usr/local/cuda``, or that of NVIDIA's wheel.

    Raises:
        MissingTool: there is none.
    """
    for place in _places():
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise MissingTool(
        "nvcc",
        "PATH, $CUDA_HOME/bin, /usr/local/cuda/bin, the Python package nvidia-cuda-nvcc",
        "python -m pip install 'nvidia-cuda-nvcc==13.*' 'nvidia-cuda-crt==13.*' 'nvidia-nvvm==13.*' "
        "'nvidia-cuda-runtime==13.*' 'nvidia-cuda-cccl==13.*', or the CUDA toolkit",
    )


def compile_module(
    source: Path,
    ptx: Path,
    cubin: Path,
    target: Target,
    *,
    include: Sequence[Path] = (),
    forced: Sequence[str] = (),
    flags: Sequence[str] = (),
    kernels: Sequence[str] = (),
) -> CodeObject:
    """Compile the CUDA file ``source``, as it is, to ``ptx`` and ``cubin``; ``forced`` headers are included first.

    ``kernels`` are templates with their arguments. Those that no host code launches are instantiated in a file of
    their own that includes the source, as AMD's side has them; one that the source does not have is left out.

    Raises:
        CompileError: the compiler refused it.
        MissingTool: there is no compiler.
    """
    folders = [part for folder in include for part in ("-I", str(folder))]
    folders += [part for header in forced for part in ("-include", header)]

    def compiled(main: Path) -> CodeObject:
        _run(source.stem, target, "-ptx", "-x", "cu", *_FLAGS, *flags, *folders, str(main), "-o", str(ptx))
        log = _run(source.stem, target, "-cubin", "-Xptxas", "-v", str(ptx), "-o", str(cubin))
        return parse_ptx(ptx.read_text(), source.stem, target, log, binary=cubin)

    code = compiled(source)
    wanted = [Instantiation((), name) for name in kernels if code.symbol(name) not in code.kernels]
    main = ptx.with_name(f"{source.stem}-kernels.cu")
    while wanted:
        main.write_text(f'#include "{source.resolve()}"\n{instantiations(wanted)}')
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


def parse_ptx(ptx: str, module: str, target: Target, usage: str = "", *, binary: Path | None = None) -> CodeObject:
    """The code object of a PTX text; ``usage`` is what ``ptxas -v`` said: registers, shared and local memory.

    An 8-byte parameter without ``.ptr`` may be a pointer or a number: its kind is empty.
    """
    used = {match["name"]: match for match in _USAGE.finditer(usage)}
    kernels = {}
    for entry in _ENTRY.finditer(ptx):
        name, args = entry["name"], tuple(_arguments(entry["parameters"]))
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
    return digest(target.name, *_FLAGS, _version(nvcc()))


def described() -> str:
    """The compiler in a few words."""
    release = re.search(r"release ([\d.]+)", _version(nvcc()))
    return f"nvcc {release[1]}" if release else "nvcc"


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


def _run(module: str, target: Target, *arguments: str) -> str:
    command = [str(nvcc()), f"-arch={target.name}", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    log = result.stdout + result.stderr
    if result.returncode:
        raise CompileError(module, target.name, log or f"the compiler left with code {result.returncode}")
    return log


@functools.cache
def _version(path: Path) -> str:
    return subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False).stdout


def _places() -> Iterator[Path]:
    if found := shutil.which("nvcc"):
        yield Path(found)
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root:
            yield Path(root, "bin", "nvcc")
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield from sorted(Path(place).glob("cu*/bin/nvcc"), reverse=True)
