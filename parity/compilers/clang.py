"""Compiles HIP for an AMD target with the clang of a toolchain (``toolchain.py``).

With the wheels, ROCm's device libraries and AMD's headers come from further wheels (``headers.py``). Without AMD's
headers, parity's reimplementation (``include/fallback``) replaces them, with a warning.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.accesses import DUMPED, annotated
from parity.compilers.assembler import lost_instructions, undefined_functions, wavefront_option
from parity.compilers.bitcode import undefined_functions as undefined_in_bitcode
from parity.compilers.clang_flags import (
    CODE_OBJECT_FLAGS,
    INTERMEDIATE_FLAGS,
    intermediate_command,
)
from parity.compilers.dependencies import missing_headers, rule_options, rule_path
from parity.compilers.errors import CompileError
from parity.compilers.include import HEADERS_ALIAS, HIP_ALIAS, LIBRARY_ALIAS
from parity.compilers.refusals import refused_calls
from parity.compilers.targets import Target
from parity.compilers.toolchain import Toolchain
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


@dataclass(frozen=True)
class Clang:
    """The compiler of a toolchain for a target."""

    target: Target
    toolchain: Toolchain

    def compile_listing(self, unit: Unit, output: Path) -> None:
        """Compile a source to the assembly listing ``output``, next to a rule with the headers that it read.

        Raises:
            CompileError: the source does not compile.
            MissingTool: the compiler or the device libraries are not installed.
        """
        linked, constants = self.toolchain.link_options(self.target, output, unit.flags)
        front = [*self.toolchain.front_command(self.target, unit), *linked]
        optimized = output.with_suffix(".optimized.bc")
        command = [*front, *INTERMEDIATE_FLAGS, *rule_options(rule_path(output)), "-emit-llvm", "-c"]
        result = self.toolchain.run([*command, unit.main.name, "-o", optimized.resolve()], unit.main.parent)
        refused, undefined = ("", "") if result.returncode else self._unresolved_calls(optimized, unit.flags)
        if refused or undefined:
            optimized.unlink()
        elif not result.returncode and (result := self._generate(optimized, output, unit.flags)).returncode:
            # Compile again in one step, for a message with the place in the source.
            again = self.toolchain.run([*front, "-S", unit.main.name, "-o", output.resolve()], unit.main.parent)
            result = again if again.returncode else result
        if constants:
            constants.unlink()
        if undefined:
            raise CompileError(output.stem, self.target.name, undefined)
        if refused or result.returncode:
            raise unit.error(self.target, refused or result.stderr, result.returncode or 1)

    def compile_intermediate(self, unit: Unit, output: Path, *, precompiled: bool = True) -> None:
        """Compile a source to unoptimized LLVM IR.

        With ``precompiled=False``, nothing is stored in the cache.

        Raises:
            CompileError, MissingTool: as ``compile_listing``.
        """
        options = (*INTERMEDIATE_FLAGS, "-Xclang", "-disable-llvm-passes", "-emit-llvm")
        front = self.toolchain.front_command(self.target, unit, precompiled=precompiled)
        result = self.toolchain.run([*front, *options, "-S", unit.main.name, "-o", output.resolve()], unit.main.parent)
        if result.returncode:
            raise unit.error(self.target, result.stderr, result.returncode)

    def compile_kernels(
        self, intermediate: str, kernels: Collection[str], output: Path, flags: Sequence[str] = ()
    ) -> None:
        """Compile only these kernels of the output of ``compile_intermediate`` to the listing ``output``.

        For one kernel of a hundred, this takes a second. The code is the same as in the whole module, except where the
        compiler's decisions depend on all callers of a function.

        Raises:
            CompileError: the compiler refused it.
        """
        alone = output.with_suffix(".ll")
        alone.write_text(_KERNEL.sub(lambda found: found[0] if found[1].strip('"') in kernels else "", intermediate))
        linked, constants = self.toolchain.link_options(self.target, output, flags)
        optimized = output.with_suffix(".optimized.bc")
        passes = ("-mllvm", "-amdgpu-internalize-symbols", *linked, "-emit-llvm", "-c")
        result = self.toolchain.run(
            [*intermediate_command(self.target, flags), *passes, alone.resolve(), "-o", optimized.resolve()]
        )
        if not result.returncode:
            result = self._generate(optimized, output, flags)
        if constants:
            constants.unlink()
        alone.unlink()
        if result.returncode:
            raise CompileError(output.stem, self.target.name, result.stderr)

    def check(self, unit: Unit) -> None:
        """Parse a source and check its types, without making code.

        Raises:
            CompileError, MissingTool: as ``compile_listing``.
        """
        front = self.toolchain.front_command(self.target, unit, precompiled=False)
        result = self.toolchain.run([*front, "-fsyntax-only", unit.main.name], unit.main.parent)
        if result.returncode:
            raise unit.error(self.target, result.stderr, result.returncode)

    def headers_missed(self, unit: Unit) -> tuple[str, ...]:
        """Return all headers that a file includes and that do not exist, see ``missing_headers``."""
        front = [*self.toolchain.front_command(self.target, unit, precompiled=False)]
        return missing_headers(lambda *scan: self.toolchain.run([*front, *scan], unit.main.parent), unit.main)

    def assemble(self, listing: Path, output: Path) -> None:
        """Make the loadable HSACO ``output`` of a listing, in 25 ms.

        Raises:
            CompileError: the assembler or the linker refused it. ``assembly_error`` finds the place in the source.
        """
        object_file = output.with_suffix(".o")
        assembler = (
            "clang",
            "-x",
            "assembler",
            *CODE_OBJECT_FLAGS,
            f"-mcpu={self.target.gpu}",
            *wavefront_option(listing),
        )
        steps: tuple[tuple[str | Path, ...], ...] = (
            (*assembler, "-c", listing, "-o", object_file),
            ("ld.lld", "--no-undefined", "-shared", object_file, "-o", output),  # as hipcc does
        )
        for step in steps:
            result = self.toolchain.run(step)
            if result.returncode:
                log = undefined_functions(result.stderr) or f"{step[0]}: {result.stderr}"
                raise CompileError(listing.stem, self.target.name, log)
        object_file.unlink()

    def _unresolved_calls(self, optimized: Path, flags: Sequence[str]) -> tuple[str, str]:
        """Return errors for calls of functions that optimized code does not define.

        The first text has clang's errors for calls that it refuses. The second has the linker's errors for undefined
        functions, found in a ``-O0`` build, which is fast. Both are empty without such calls, or if that build is
        inconclusive.
        """
        if not undefined_in_bitcode(optimized.read_bytes()):
            return "", ""
        command = [*intermediate_command(self.target, flags), "-Xclang", "-disable-llvm-passes", optimized.resolve()]
        text = optimized.with_suffix(".ll").resolve()
        self.toolchain.run([*command, "-S", "-emit-llvm", "-o", text])
        refused = refused_calls(text.read_text(), _FOREIGN) if text.is_file() else ()
        text.unlink(missing_ok=True)
        if refused:
            return "\n".join(refused), ""
        made, linked = optimized.with_suffix(".o").resolve(), optimized.with_suffix(".so").resolve()
        result = self.toolchain.run([*command, "-O0", "-c", "-o", made])
        result = result if result.returncode else self.toolchain.run(["ld.lld", "-shared", made, "-o", linked])
        for file in (made, linked):
            file.unlink(missing_ok=True)
        return "", undefined_functions(result.stderr)

    def _generate(self, optimized: Path, output: Path, flags: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Write the listing ``output`` of optimized code, which is deleted.

        Two compilers run in parallel: one writes the listing, and the second dumps the memory operands, which a listing
        does not contain. One compiler for both would take longer: it prints operands to stderr, a few bytes at a time.
        """
        dump = output.with_suffix(".mir")
        command = [
            *intermediate_command(self.target, flags),
            "-Xclang",
            "-disable-llvm-passes",
            "-S",
            optimized.resolve(),
        ]
        with ThreadPoolExecutor(1) as pool:
            dumping = pool.submit(self.toolchain.run, [*command, *DUMPED, "-o", dump.resolve()])
            result = self.toolchain.run([*command, "-o", output.resolve()])
        result = result if result.returncode else dumping.result()
        if not result.returncode:
            listing = output.read_text()
            if log := lost_instructions(listing):
                result = subprocess.CompletedProcess(result.args, 1, "", log)
            listing = _with_expanded_traps(listing) if self.target.generation == _RDNA3 else listing
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
