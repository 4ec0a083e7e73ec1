"""Compiles Triton specializations for a target: a child process runs Triton, and one code object holds all kernels.

Triton's LLVM assembles the joint listing for AMD, and each kernel must have the same bytes as in Triton's own HSACO.
Triton's ptxas assembles the joint PTX for CUDA.
"""

from __future__ import annotations

import functools
import importlib.metadata
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from parity.compilers import zig
from parity.compilers.errors import CompileError
from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import TRITON_TARGETS, Target, target
from parity.errors import MissingTool
from parity.model.code_object import CodeObject, parse
from parity.model.launch import BLOCK
from parity.platform.installation import install_command, package_folders
from parity.platform.serialization import json_text, read_json
from parity.triton_kernels.kernel import Constant, Specialization
from parity.triton_kernels.merging import Compiled, joint_listing, joint_ptx

T = TypeVar("T")

_CHILD = Path(__file__).with_name("child.py")
_REQUEST, _PREFIX = "request.json", "parity-triton-"
_DIRECTIVE = re.compile(r"^\t\.amdgcn_target [^\n]*", re.MULTILINE)
_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)
_CALLED = "/triton"
"""The name of Triton's package in line tables: it does not depend on where Triton is installed."""


class _Kernel(msgspec.Struct):
    """The child process's report about a kernel."""

    error: str = ""
    skips: bool = False
    name: str = ""
    stem: str = ""
    shared: int = 0
    num_warps: int = 0
    scratch: int = 0
    arguments: tuple[str, ...] = ()
    line: int = 0

    @property
    def problem(self) -> str:
        """Why the kernel cannot be used; empty if it can."""
        needed = f"the kernel needs {self.scratch} bytes of global scratch memory, which parity does not provide"
        return self.error or (needed if self.scratch else "")

    def excess(self, target: Target) -> str:
        """Why Triton's autotuner skips the kernel as a configuration; empty if it does not."""
        threads = self.num_warps * target.wavefront
        if self.skips:
            return self.error
        if self.shared > target.lds_bytes:
            return f"it needs {self.shared} bytes of shared memory, and {target.name} has {target.lds_bytes}"
        return f"it needs {threads} threads, and a block has at most {BLOCK}" if threads > BLOCK else ""


class _Result(msgspec.Struct):
    version: str
    package: str
    ptxas: str
    kernels: list[_Kernel]
    files: list[str]


class LaunchedArgument(msgspec.Struct):
    """What a launch passes for an argument.

    A number has a ``value`` in the form of an expression. A tensor has ``elements``, and a tensor of integers the
    numbers from ``least`` to ``most``. They ``rise`` if each is at least the one before, and
    ``ramp`` if they count from 0 to ``most``, repeatedly. ``values`` are all elements if they are few.
    """

    name: str
    type: str
    value: str = ""
    elements: int = 0
    least: int = 0
    most: int = 0
    rises: bool = False
    distinct: bool = False
    ramps: bool = False
    values: list[int] = []


class LaunchedKernel(msgspec.Struct):
    """A launch that host code makes of a specialization."""

    kernel: Specialization
    arguments: list[LaunchedArgument]
    grid: tuple[int, ...]


class Trial(msgspec.Struct):
    """The specialization that compiles for most ``targets``, by number, and the error for the next target.

    ``constants`` and ``options`` are the values that decorators of the function set. ``launches`` are launches by host
    code, in place of a number: one that compiles, and if possible some with larger tensors. ``configurations`` counts
    what ``@triton.autotune`` lists.
    """

    chosen: int = -1
    targets: int = 0
    error: str = ""
    constants: dict[str, Constant] = {}
    options: dict[str, Constant] = {}
    launches: list[LaunchedKernel] = []
    configurations: int = 0


class Decorators(msgspec.Struct):
    """What the decorators of a function say.

    ``parameters`` are the function's parameters. ``configurations`` are the values of each configuration of
    ``@triton.autotune``. ``rules`` are heuristics as expressions of the parameters, and ``problems`` the reasons why
    other heuristics have none, by name. ``files`` are the Python files that were imported.
    """

    parameters: list[str] = []
    configurations: list[dict[str, Constant]] = []
    rules: dict[str, str] = {}
    problems: dict[str, str] = {}
    files: list[str] = []


class _Trials(msgspec.Struct):
    functions: list[Trial]


@dataclass(frozen=True)
class TritonCode:
    """A code object with all kernels of a module.

    Attributes:
        listing, binary: the files.
        files: the Python files that the compilation imported.
    """

    code: CodeObject
    listing: Path
    binary: Path
    files: tuple[Path, ...]


@functools.cache
def triton_version() -> str:
    """Return the version of the installed Triton. Does not import it.

    Raises:
        MissingTool: Triton is not installed.
    """
    if package_folders("triton"):
        for name in ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm"):
            try:
                return f"Triton {importlib.metadata.version(name)}"
            except importlib.metadata.PackageNotFoundError:
                continue
        return "Triton of unknown version"
    raise MissingTool("Triton", "the Python package triton", install_command("triton"))


def compile_module(
    module: str, root: Path, kernels: Sequence[Specialization], target: Target, folder: Path
) -> TritonCode:
    """Compile the kernels of a module into one code object in ``folder``. ``root`` is the kernels folder.

    Raises:
        CompileError: Triton, or an assembler, refused a kernel.
        MissingTool: Triton is not installed.
    """
    stem = Path(kernels[0].file).stem
    scratch = folder / "triton"
    scratch.mkdir()
    try:
        kernels, result, skipped = _compiled_apart(module, root, kernels, target, scratch)
        package = Path(result.package)

        def shown(path: Path) -> str:
            for origin, name in ((root, ""), (package, f"{_CALLED}/")):
                if path.is_relative_to(origin):
                    return f"{name}{path.relative_to(origin).as_posix()}"
            return path.as_posix()

        parts = [
            Compiled(each.symbol, made.name, Path(f"{made.stem}.s").read_text(), made.arguments)
            for each, made in zip(kernels, result.kernels, strict=True)
        ]
        if target.vendor == "cuda":
            listing, binary = folder / f"{stem}.ptx", folder / f"{stem}.cubin"
            listing.write_text(joint_ptx(parts, shown))
            code = parse_ptx(listing.read_text(), module, target, _ptxas(module, target, listing, binary, result.ptxas))
        else:
            listing, binary = folder / f"{stem}.s", folder / f"{stem}.hsaco"
            listing.write_text(joint_listing(parts, target.gpu, shown))
            _assemble(module, target, listing, binary, scratch, parts[0].text)
            for part, made in zip(parts, result.kernels, strict=True):
                _check_same_code(module, target, part, binary, Path(f"{made.stem}.bin"))
            code = parse(listing.read_text(), module)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    code = replace(_with_metadata(code, kernels, result), skipped=skipped)
    return TritonCode(code, listing, binary, tuple(map(Path, result.files)))


@dataclass(frozen=True)
class Candidates:
    """A function to try.

    Attributes:
        kernels: Specializations, the most likely first.
        callers: Files of host code that mention the function.
        roles: The parameters that are ``pointers``, the pointers to ``indices``, the whole ``numbers``, and for
            parameters that the function compares with ``texts``, one of them.
        dtypes: PyTorch's names of the dtypes to call host code with.
    """

    kernels: Sequence[Specialization]
    callers: Sequence[Path]
    roles: Mapping[str, Sequence[str] | Mapping[str, str]]
    dtypes: Sequence[str]


def first_compiling(
    root: Path, roots: Sequence[Path], functions: Sequence[Candidates], targets: Sequence[Target]
) -> list[Trial]:
    """Try launches by host code, then the specializations of each function, until one compiles for all targets.

    ``roots`` are further folders that host code imports from.

    Raises:
        CompileError: the process that runs Triton failed.
        MissingTool: Triton is not installed.
    """
    request = {
        "root": str(root),
        "roots": [*map(str, roots)],
        "targets": [_asked(each) for each in targets],
        "functions": [{**vars(each), "callers": [*map(str, each.callers)]} for each in functions],
    }
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        return _reply("triton", targets[0], request, Path(folder), _Trials).functions


def read_decorators(root: Path, file: str, function: str, constants: Mapping[str, Constant]) -> Decorators:
    """Read the decorators of a function as on an AMD GPU. ``constants`` are parameters with known values.

    Raises:
        CompileError: the process that runs Triton failed.
        MissingTool: Triton is not installed.
    """
    where = target(TRITON_TARGETS[1])
    decorated = {"file": file, "function": function, "given": constants}
    request = {**_asked(where), "root": str(root), "decorated": decorated}
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        return _reply(Path(file).stem, where, request, Path(folder), Decorators)


def _asked(target: Target) -> dict[str, Any]:
    """A target in a request."""
    cuda = target.vendor == "cuda"
    return {
        "backend": "cuda" if cuda else "hip",
        "arch": int(target.name.removeprefix("sm_")) if cuda else target.gpu,
        "wavefront": target.wavefront,
        "shared": target.lds_bytes,
    }


def _compiled_apart(
    module: str, root: Path, kernels: Sequence[Specialization], target: Target, scratch: Path
) -> tuple[Sequence[Specialization], _Result, Mapping[str, str]]:
    """Run Triton in a child process.

    Return the kernels of the result, and why others are skipped: configurations that the target cannot run, of
    functions with one that it can.
    """
    request = {**_asked(target), "root": str(root), "kernels": kernels}
    result = _reply(module, target, request, scratch, _Result)
    made = list(zip(kernels, result.kernels, strict=True))
    reasons = [(kernel, each.excess(target) if kernel.is_tuned else "") for kernel, each in made]
    running = {(each.function, each.signature) for each, reason in reasons if not reason}
    skipped = {each.symbol: why for each, why in reasons if why and (each.function, each.signature) in running}
    made = [(kernel, each) for kernel, each in made if kernel.symbol not in skipped]
    problems = {f"{problem} [{kernel.symbol}]": None for kernel, each in made if (problem := each.problem)}
    if problems:
        raise CompileError(module, target.name, "\n".join(problems), {each.file for each in kernels})
    result.kernels = [each for _, each in made]
    return [kernel for kernel, _ in made], result, skipped


def _assemble(module: str, target: Target, listing: Path, hsaco: Path, scratch: Path, own: str) -> None:
    """Assemble a listing with Triton's LLVM, which calls the target as in its ``own`` listing."""
    text = _DIRECTIVE.sub(lambda _: _DIRECTIVE.findall(own)[0], listing.read_text(), count=1)
    (scratch / "joint.s").write_text(text)
    _run_child(module, target, scratch / _REQUEST, scratch / "joint.s", hsaco)


def _reply(module: str, target: Target, request: Mapping[str, Any], folder: Path, kind: type[T]) -> T:
    """Give a request to ``child.py``, which works in ``folder``, and return its result.

    Raises:
        CompileError: the process that runs Triton failed.
        MissingTool: Triton is not installed.
    """
    triton_version()
    file = folder / _REQUEST
    file.write_bytes(json_text(request))
    _run_child(module, target, file, folder)
    return read_json((folder / "result.json").read_bytes(), kind, "the output of Triton")


def _run_child(module: str, target: Target, *arguments: Path) -> None:
    """Run ``child.py``. Its last argument must exist afterwards."""
    environment = {
        "TRITON_CACHE_DIR": str(arguments[0].parent / "cache"),
        "TRITON_DEFAULT_FP_FUSION": os.environ.get("TRITON_DEFAULT_FP_FUSION", "1"),
        # Triton's default is tf32 on CUDA and f32 on AMD, so CUDA's results would not show whether AMD's are right.
        "TRITON_F32_DEFAULT": "ieee",
        "TRITON_ALWAYS_COMPILE": "1",  # errors of LLVM are not in Triton's cache
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRITON_HIP_LLD_PATH": os.environ.get("TRITON_HIP_LLD_PATH") or _linker(arguments[0].parent),
    }
    done = zig.completed([sys.executable, _CHILD, *arguments], env=environment)
    if done.returncode or not arguments[-1].exists():
        lines = done.stderr.strip().splitlines() or [f"Triton exited with status {done.returncode}"]
        raise CompileError(module, target.name, lines[-1])


def _linker(folder: Path) -> str:
    """Write a script that links AMD's code, for versions of Triton that do not contain a linker. Return its path."""
    if (binary := zig.present()) is None:
        return ""
    script = folder / "ld.lld"
    script.write_text(f'#!/bin/sh\n[ "$1" = -flavor ] && shift 2\nexec {shlex.quote(str(binary))} ld.lld "$@"\n')
    script.chmod(0o755)
    return str(script)


def _ptxas(module: str, target: Target, ptx: Path, cubin: Path, tool: str) -> str:
    """Assemble PTX with the ptxas that Triton uses, and return its report about the kernels."""
    (architecture,) = _TARGET.findall(ptx.read_text())  # sm_90a for sm_90
    command: list[str | Path] = [tool, "-lineinfo", "-v", f"--gpu-name={architecture}", ptx, "-o", cubin]
    done = zig.completed(command)
    if done.returncode:
        raise CompileError(module, target.name, done.stderr or done.stdout)
    return done.stderr + done.stdout


def _check_same_code(module: str, target: Target, part: Compiled, joint: Path, own: Path) -> None:
    """Check that a kernel has the same bytes in the joint code object and in Triton's own.

    Kernels that refer to data are not compared: the distance to the data differs.
    """
    if "rel32@" in part.text:
        return
    ours, theirs = function_bytes(joint.read_bytes(), part.symbol), function_bytes(own.read_bytes(), part.name)
    if ours != theirs:
        differing = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), len(ours))
        raise CompileError(
            module,
            target.name,
            f"{part.symbol}: the listing does not assemble to Triton's code: byte {differing} of {len(theirs)} differs",
        )


def function_bytes(elf: bytes, name: str) -> bytes:
    """Return the machine code of a function in an ELF file. Empty if the file does not have it."""
    from elftools.elf.elffile import ELFFile

    file: Any = ELFFile(io.BytesIO(elf))
    for table in (".symtab", ".dynsym"):
        section = file.get_section_by_name(table)
        for symbol in section.get_symbol_by_name(name) or () if section else ():
            place = file.get_section(symbol["st_shndx"])
            start = symbol["st_value"] - place["sh_addr"]
            return bytes(place.data()[start : start + symbol["st_size"]])
    return b""


def _with_metadata(code: CodeObject, kernels: Sequence[Specialization], result: _Result) -> CodeObject:
    """Add the shared memory of each launch, and the names of arguments, which PTX does not have."""
    found = {}
    for each, made in zip(kernels, result.kernels, strict=True):
        kernel = code.kernels[each.symbol]
        names = (*made.arguments, *("" for _ in range(len(kernel.args) - len(made.arguments))))
        args = tuple(replace(argument, name=name) for argument, name in zip(kernel.args, names, strict=True))
        found[each.symbol] = replace(kernel, args=args, dynamic_lds=made.shared, converged=True)
    return replace(code, kernels=found)
