"""Compiles CUDA sources with nvcc to PTX, and the PTX to a cubin. Needs neither a GPU nor a driver.

Both files are kept: a cubin does not document the arguments of its kernels, but PTX does. ``-lineinfo`` adds source
lines to the PTX without changing an instruction. The names of files in it do not depend on where the source or CUDA's
headers are.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from parity.compilers import zig
from parity.compilers.cuda_toolkit import (
    headers,
    host_compiler_options,
    host_version,
    nvcc,
    nvcc_version,
    wheel_versions,
)
from parity.compilers.dependencies import RULE_TARGET, rule_path
from parity.compilers.errors import CompileError, undefined_error
from parity.compilers.flags import flags_for
from parity.compilers.include import CUDA_ALIAS, HEADERS
from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import Target
from parity.compilers.unit import Unit
from parity.model.code_object import CodeObject, source_name, unqualified
from parity.platform.cache import digest
from parity.platform.files import find_below

FLAGS = flags_for("nvcc")

_ALL_ERRORS = ("-Xcicc", "--error_limit=10000")
"""Report more than a hundred errors at once, so that removing host code takes fewer compilations."""

_UNRESOLVED = re.compile(r"(?:Unresolved extern (?:function|variable)|Cannot take address of function) '(\w+)'")
"""Matches ptxas's errors for what other files define. The second is about a virtual function."""
_SHARED = re.compile(r"^\s*\.shared\b[^;]*?([\w$]+)(?:\[\d*\])?;", re.MULTILINE)
_MADE_STATIC = re.compile(r"extern declaration of the entity (\w+) is treated as a static definition")
_WORD = re.compile(r"\w+")
# .loc FILE LINE COLUMN, function_name LABEL, inlined_at FILE LINE COLUMN; the first label is at the section's begin.
_FUNCTION = re.compile(r"(, function_name \$L__info_string)(?!0\b)\d+(?=,)")
_FUNCTIONS = re.compile(r"(^\s*\.section\s+\.debug_str\s*\{\s*\$L__info_string0:\n)[^{}]*\}", re.MULTILINE)
_FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"]*)"', re.MULTILINE)


@dataclass(frozen=True)
class CudaOutputs:
    """The files that a compilation writes, besides a rule with the headers that it read.

    ``file_name`` returns the name of a source file in the PTX. The names of CUDA's headers begin with ``CUDA_ALIAS``
    instead.
    """

    ptx: Path
    cubin: Path
    file_name: Callable[[Path], str] = str


def compile_module(unit: Unit, outputs: CudaOutputs, target: Target, *, main: Path | None = None) -> CodeObject:
    """Compile a CUDA source. ``main`` is compiled instead of ``unit.main`` if given, for the same module.

    Raises:
        CompileError: the source does not compile.
        MissingTool: nvcc or a host compiler is not installed.
    """
    ptx, module, host = outputs.ptx, unit.main.stem, host_compiler_options(unit.flags)
    source = (
        *_ALL_ERRORS,
        *("-MD", "-MF", str(rule_path(ptx)), "-MT", RULE_TARGET),
        *_options(unit, target),
        str(main or unit.main),
    )
    log = _run(module, target, ptx.parent, *host, "-ptx", *source, "-o", str(ptx))
    # nvcc defines such a variable again, as zero, instead of using the variable in the source that defines it. Shared
    # memory with a length needs no other definition.
    if static := _MADE_STATIC.findall(log):
        text = ptx.read_text()
        words, shared = Counter(_WORD.findall(text)), _SHARED.findall(text)
        if used := [each for each in static if words[each] > 1 and each not in shared]:
            raise _undefined(used, unit, target)
    _rename_files(ptx, lambda path: outputs.file_name(path) if path.parent != ptx.parent else path.name)
    cubin = ("-cubin", "-lineinfo", "-Xptxas", "-v", str(ptx), "-o", str(outputs.cubin))
    try:
        usage = _run(module, target, ptx.parent, *host, *cubin)
    except CompileError as error:
        if not (unresolved := _UNRESOLVED.findall(error.log)):
            raise
        raise _undefined(map(source_name, unresolved), unit, target) from None
    return parse_ptx(ptx.read_text(), module, target, usage, binary=outputs.cubin)


def headers_missed(unit: Unit, target: Target, scratch: Path) -> tuple[str, ...]:
    """Return all headers that a file includes and that do not exist. A compilation would report only the first.

    Temporary files are written to ``scratch``.
    """
    # -MG: treat a missing header as a file that the build generates later, not as an error.
    scan = (part for word in ("-M", "-MG") for part in ("-Xcompiler", word))
    options = (*host_compiler_options(unit.flags), "-E", *scan, *_options(unit, target))
    try:
        rule = _run(unit.main.stem, target, scratch, *options, str(unit.main))
    except CompileError:
        return ()
    _, _, names = rule.replace("\\\n", " ").partition(": ")
    return tuple(name for name in names.split() if not Path(name).is_absolute() and not Path(name).exists())


def fingerprint(target: Target) -> str:
    """Return the digest of everything except the source that affects a compilation.

    Raises:
        MissingTool: nvcc is not installed.
    """
    own = (path.read_bytes() for path in sorted(find_below(HEADERS)))
    return digest(target.name, *FLAGS, nvcc_version(), wheel_versions(), host_version(), *own)


def _options(unit: Unit, target: Target) -> tuple[str, ...]:
    folders = (part for folder in unit.include for part in ("-I", str(folder)))
    forced = (part for header in unit.forced for part in ("-include", str(header)))
    return ("-x", "cu", *FLAGS, f"-DPARITY_WAVEFRONT_SIZE={target.wavefront}", *unit.flags, *folders, *forced)


def _undefined(names: Iterable[str], unit: Unit, target: Target) -> CompileError:
    """Return the error for functions or variables that other sources of the program define."""
    log = "\n".join(undefined_error(unit.location(unqualified(name)), name) for name in dict.fromkeys(names))
    return CompileError(unit.main.stem, target.name, log)


def _run(module: str, target: Target, scratch: Path, *arguments: str) -> str:
    """Run nvcc and return its output. Its temporary files are in ``scratch``, so that none is left if it is killed."""
    command: list[str | Path] = [nvcc(), f"-arch={target.name}", *arguments]
    result = zig.completed(command, env={"TMPDIR": str(scratch.resolve())})
    log = result.stdout + result.stderr
    if result.returncode:
        raise CompileError(module, target.name, log or f"the compiler exited with status {result.returncode}")
    return log


def _rename_files(ptx: Path, file_name: Callable[[Path], str]) -> None:
    """Give the files in line tables names that do not depend on where they are.

    Removes the names of inlined functions: they contain a digest of the file's path, and nothing uses them.
    """
    cuda = headers()

    def renamed(match: re.Match[str]) -> str:
        path = Path(os.path.normpath(match[2]))
        inside = path.resolve()
        name = f"{CUDA_ALIAS}/{inside.relative_to(cuda)}" if inside.is_relative_to(cuda) else file_name(path)
        return f'{match[1]}"{name}"'

    text = _FUNCTION.sub(r"\g<1>0", _FILE.sub(renamed, ptx.read_text()))
    ptx.write_text(_FUNCTIONS.sub(r"\1.b8 0\n\t}", text))
