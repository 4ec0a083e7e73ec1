"""Compiles HIP for AMD targets with clang: of an installed ROCm (``rocm.py``), or of the ``ziglang`` wheel.

With the wheel, ROCm's device libraries and AMD's headers come from further wheels (``headers.py``). Without AMD's
headers, parity's reimplementation (``include/fallback``) replaces them, with a warning.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from parity.compilers import zig
from parity.compilers.accesses import DUMPED, annotated
from parity.compilers.assembler import lost_instructions, undefined_functions, wavefront_option
from parity.compilers.bitcode import undefined_functions as undefined_in_bitcode
from parity.compilers.clang_flags import (
    CODE_OBJECT_FLAGS,
    HIP_FLAGS,
    INTERMEDIATE_FLAGS,
    header_options,
    intermediate_command,
)
from parity.compilers.dependencies import missing_headers, rule_options, rule_path
from parity.compilers.device_library import link_options
from parity.compilers.errors import CompileError
from parity.compilers.include import HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS
from parity.compilers.precompiled_headers import include_options
from parity.compilers.refusals import refused_calls
from parity.compilers.rocm import InstalledRocm
from parity.compilers.targets import Target
from parity.compilers.unit import Unit

_FOREIGN = frozenset((HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS))
"""The folders in line tables that are not the user's."""
_KERNEL = re.compile(
    r'^define [^\n]*\bamdgpu_kernel\b[^\n]*?@("[^"\n]+"|[\w.$-]+)\([^\n]*\{\n.*?^\}\n', re.MULTILINE | re.DOTALL
)
"""Matches the definition of a kernel in LLVM IR."""
_RDNA3 = 11
_TRAP = re.compile(r"(?<!;;#ASMSTART\n)^\ts_trap 2\n", re.MULTILINE)
_STOP = Path(__file__).with_name("expanded_trap.s").read_text(encoding="utf-8")
"""The instructions after a trap for gfx11: they report it to the runtime and stop the wavefront."""


def compile_listing(unit: Unit, output: Path, target: Target, rocm: InstalledRocm | None = None) -> None:
    """Compile a source to the assembly listing ``output``, next to a rule with the headers that it read.

    ``rocm`` selects an installed ROCm; without it, the wheels' compiler is used.

    Raises:
        CompileError: the source does not compile.
        MissingTool: the compiler or the device libraries are not installed.
    """
    linked, constants = link_options(target, output, unit.flags) if not rocm else ([], None)
    front = [*_front_command(target, unit, rocm), *linked]
    optimized = output.with_suffix(".optimized.bc")
    command = [*front, *INTERMEDIATE_FLAGS, *rule_options(rule_path(output)), "-emit-llvm", "-c"]
    result = _run(rocm, [*command, unit.main.name, "-o", optimized.resolve()], unit.main.parent)
    refused, undefined = ("", "") if result.returncode else _unresolved_calls(optimized, target, unit.flags, rocm)
    if refused or undefined:
        optimized.unlink()
    elif not result.returncode and (result := _generate(optimized, output, target, unit.flags, rocm)).returncode:
        # Compile again in one step, for a message with the place in the source.
        again = _run(rocm, [*front, "-S", unit.main.name, "-o", output.resolve()], unit.main.parent)
        result = again if again.returncode else result
    if constants:
        constants.unlink()
    if undefined:
        raise CompileError(output.stem, target.name, undefined)
    if refused or result.returncode:
        raise unit.error(target, refused or result.stderr, result.returncode or 1)


def compile_intermediate(
    unit: Unit, output: Path, target: Target, rocm: InstalledRocm | None = None, *, precompiled: bool = True
) -> None:
    """Compile a source to unoptimized LLVM IR.

    With ``precompiled=False``, nothing is stored in the cache.

    Raises:
        CompileError, MissingTool: as ``compile_listing``.
    """
    options = (*INTERMEDIATE_FLAGS, "-Xclang", "-disable-llvm-passes", "-emit-llvm")
    front = _front_command(target, unit, rocm, precompiled=precompiled)
    result = _run(rocm, [*front, *options, "-S", unit.main.name, "-o", output.resolve()], unit.main.parent)
    if result.returncode:
        raise unit.error(target, result.stderr, result.returncode)


def compile_kernels(
    intermediate: str,
    kernels: Collection[str],
    output: Path,
    target: Target,
    flags: Sequence[str] = (),
    rocm: InstalledRocm | None = None,
) -> None:
    """Compile only these kernels of the output of ``compile_intermediate`` to the listing ``output``.

    For one kernel of a hundred, this takes a second. The code is the same as in the whole module, except where the
    compiler's decisions depend on all callers of a function.

    Raises:
        CompileError: the compiler refused it.
    """
    alone = output.with_suffix(".ll")
    alone.write_text(_KERNEL.sub(lambda found: found[0] if found[1].strip('"') in kernels else "", intermediate))
    linked, constants = link_options(target, output, flags) if not rocm else ([], None)
    optimized = output.with_suffix(".optimized.bc")
    passes = ("-mllvm", "-amdgpu-internalize-symbols", *linked, "-emit-llvm", "-c")
    result = _run(rocm, [*intermediate_command(target, flags), *passes, alone.resolve(), "-o", optimized.resolve()])
    if not result.returncode:
        result = _generate(optimized, output, target, flags, rocm)
    if constants:
        constants.unlink()
    alone.unlink()
    if result.returncode:
        raise CompileError(output.stem, target.name, result.stderr)


def headers_missed(unit: Unit, target: Target, rocm: InstalledRocm | None = None) -> tuple[str, ...]:
    """Return all headers that a file includes and that do not exist, see ``missing_headers``."""
    front = [*_front_command(target, unit, rocm, precompiled=False)]
    return missing_headers(lambda *scan: _run(rocm, [*front, *scan], unit.main.parent), unit.main)


def assemble(listing: Path, output: Path, target: Target, rocm: InstalledRocm | None = None) -> None:
    """Make the loadable HSACO ``output`` of a listing, in 25 ms.

    Raises:
        CompileError: the assembler or the linker refused it. ``assembly_error`` finds the place in the source.
    """
    object_file = output.with_suffix(".o")
    assembler = ("clang", "-x", "assembler", *CODE_OBJECT_FLAGS, f"-mcpu={target.name}", *wavefront_option(listing))
    steps: tuple[tuple[str | Path, ...], ...] = (
        (*assembler, "-c", listing, "-o", object_file),
        ("ld.lld", "-shared", object_file, "-o", output),
    )
    for step in steps:
        result = _run(rocm, step)
        if result.returncode:
            log = undefined_functions(result.stderr) or f"{step[0]}: {result.stderr}"
            raise CompileError(listing.stem, target.name, log)
    object_file.unlink()


def _run(
    rocm: InstalledRocm | None, command: Sequence[str | Path], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``clang`` or ``ld.lld``, the first word of a command, of an installed ROCm or of the wheel."""
    return rocm.run(command, folder) if rocm else zig.run(command, cwd=folder)


def _front_command(
    target: Target, unit: Unit, rocm: InstalledRocm | None = None, *, precompiled: bool = True
) -> Iterator[str | Path]:
    """Yield the command that compiles a HIP file, without its input and output."""
    if rocm:
        yield from rocm.front_command(target, unit)
        return
    yield from ("clang", *HIP_FLAGS, f"--offload-arch={target.name}", *unit.flags)
    yield from (part for folder in unit.include for part in ("-I", folder))
    yield from header_options(target, unit.flags)
    yield from include_options(target, unit, precompiled=precompiled)


def _unresolved_calls(
    optimized: Path, target: Target, flags: Sequence[str], rocm: InstalledRocm | None
) -> tuple[str, str]:
    """Return errors for calls of functions that optimized code does not define.

    The first text has clang's errors for calls that it refuses. The second has the linker's errors for undefined
    functions, found in a ``-O0`` build, which is fast. Both are empty without such calls, or if that build is
    inconclusive.
    """
    if not undefined_in_bitcode(optimized.read_bytes()):
        return "", ""
    command = [*intermediate_command(target, flags), "-Xclang", "-disable-llvm-passes", optimized.resolve()]
    text = optimized.with_suffix(".ll").resolve()
    _run(rocm, [*command, "-S", "-emit-llvm", "-o", text])
    refused = refused_calls(text.read_text(), _FOREIGN) if text.is_file() else ()
    text.unlink(missing_ok=True)
    if refused:
        return "\n".join(refused), ""
    made, linked = optimized.with_suffix(".o").resolve(), optimized.with_suffix(".so").resolve()
    result = _run(rocm, [*command, "-O0", "-c", "-o", made])
    result = result if result.returncode else _run(rocm, ["ld.lld", "-shared", made, "-o", linked])
    for file in (made, linked):
        file.unlink(missing_ok=True)
    return "", undefined_functions(result.stderr)


def _generate(
    optimized: Path, output: Path, target: Target, flags: Sequence[str], rocm: InstalledRocm | None
) -> subprocess.CompletedProcess[str]:
    """Write the listing ``output`` of optimized code, which is deleted.

    Two compilers run in parallel: one writes the listing, and the second dumps the memory operands, which a listing
    does not contain. The dump takes longer, because clang writes to stderr a few bytes at a time.
    """
    dump = output.with_suffix(".mir")
    command = [*intermediate_command(target, flags), "-Xclang", "-disable-llvm-passes", "-S", optimized.resolve()]
    with ThreadPoolExecutor(1) as pool:
        dumping = pool.submit(_run, rocm, [*command, *DUMPED, "-o", dump.resolve()])
        result = _run(rocm, [*command, "-o", output.resolve()])
    result = result if result.returncode else dumping.result()
    if not result.returncode:
        listing = output.read_text()
        if log := lost_instructions(listing):
            result = subprocess.CompletedProcess(result.args, 1, "", log)
        listing = _with_expanded_traps(listing) if target.generation == _RDNA3 else listing
        output.write_text(annotated(listing, dump.read_text()))
    for file in (optimized, dump):
        file.unlink(missing_ok=True)
    return result


def _with_expanded_traps(listing: str) -> str:
    """Make each trap of a listing for gfx11 stop the wavefront, where ``s_trap 2`` may do nothing.

    The instructions are LLVM's (SIInstrInfo.cpp, insertSimulatedTrap).
    """
    numbers = itertools.count()
    return _TRAP.sub(lambda found: found[0] + _STOP.format(next(numbers)), listing)
