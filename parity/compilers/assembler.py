"""Errors of the assembler and the linker, and defects of listings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from parity.compilers.errors import CompileError, undefined_error
from parity.compilers.targets import Target
from parity.compilers.unit import Unit
from parity.model.code_object import unqualified

_LINKER = r"undefined (?:hidden |protected )?symbol: (?P<name>.*)\n>>> referenced by "
_UNDEFINED = re.compile(_LINKER + r"(?:[^\n(]*\()?(?P<file>[^\s():]+):(?P<line>\d+)\)?")
_UNDEFINED_IN_VARIABLE = re.compile(_LINKER + r"[^\n]*:\((?P<variable>[^\n]*)\)")
"""Matches a reference from a variable: its initial value is the address of a function. It has no line."""
_ASSEMBLER_ERROR = re.compile(r"^[^\n]*\.s:(?P<line>\d+):\d+: error: ", re.MULTILINE)
_DEFECT = "a defect of the compiler loses an instruction of this line; simplify the line, or use other flags"
_INLINE_BEGINS, _INLINE_ENDS = ";;#ASMSTART", ";;#ASMEND"
_LOST = re.compile(
    r";;#ASMSTART.*?;;#ASMEND|^\t(?P<pseudo>[A-Z]\w*[^\n]*|[ \t]*|[ \t]+;[^\n]*)$", re.MULTILINE | re.DOTALL
)
"""Matches inline assembly, or a line of a pseudo instruction. clang prints most of them without a name."""
_LINE_TABLE = re.compile(r"^\t\.loc\t[^;]*; ([^@]*):(\d+):(\d+)")
"""Matches a line of a listing that states the file, line and column of the following instructions."""


def assembly_error(error: CompileError, unit: Unit, listing: Path, target: Target) -> CompileError:
    """Return an error of ``clang.assemble`` at its place in the source, if inline assembly or a variable caused it."""
    lines = listing.read_text().splitlines()
    log = [
        undefined_error(unit.location(unqualified(match["variable"])), match["name"])
        for match in _UNDEFINED_IN_VARIABLE.finditer(error.log)
    ]
    for match in _ASSEMBLER_ERROR.finditer(error.log):
        at = int(match["line"])
        marks = (each for each in reversed(lines[: at - 1]) if _INLINE_BEGINS in each or _INLINE_ENDS in each)
        place = _source_line(lines[:at])
        if not place or _INLINE_BEGINS not in next(marks, ""):
            return error
        log.append(f"{place}: error: inline assembly that no AMD GPU has: {lines[at - 1].strip()}")
    return unit.error(target, "\n".join(dict.fromkeys(log)), 1) if log else error


def lost_instructions(listing: str) -> str:
    """Return an error for each instruction that the compiler should have expanded. The assembler skips some of them."""
    log: dict[str, None] = {}
    for match in _LOST.finditer(listing):
        if match["pseudo"] is not None:
            place = _source_line(listing[: match.start()].splitlines())
            log[f"{f'{place}: ' if place else ''}error: {_DEFECT}"] = None
    return "\n".join(log)


def undefined_functions(log: str) -> str:
    """Return the linker's errors for undefined functions in the form of a compiler's errors."""
    found = _UNDEFINED.finditer(log)
    return "\n".join(undefined_error(f"{match['file']}:{match['line']}:1", match["name"]) for match in found)


def wavefront_option(listing: Path) -> tuple[str, ...]:
    """Return the assembler option for a listing with 64 lanes on a target with 32 lanes by default."""
    return ("-mwavefrontsize64",) if "\t.amdhsa_wavefront_size32 0\n" in listing.read_text() else ()


def _source_line(lines: Sequence[str]) -> str:
    """Return the file, line and column of the last of these lines of a listing, or an empty string."""
    place = next(filter(None, map(_LINE_TABLE.search, reversed(lines))), None)
    return ":".join(place.groups()) if place else ""
