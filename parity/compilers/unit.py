"""A translation unit: a source file and what its compilation needs besides a target."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity.compilers.diagnostics import CRASHED, diagnostics
from parity.compilers.errors import CompileError
from parity.compilers.lexing import code
from parity.compilers.targets import Target

_CRASH = re.compile(r"clang frontend command failed (?:with exit code|due to signal) *(\S*)")
_FIRST_LINE = re.compile(r'#line 1 ("(?:[^"\\]|\\.)*")\n')
_INCLUDED = "what this file includes"
_PLACE = re.compile(r"^(In file included from )?([^\s:][^:\n]*):(?=\d+[:,])", re.MULTILINE)
_ATTRIBUTE = r"\s+__\w+__(?:\s*\((?:[^()]|\([^()]*\))*\))?"
_KERNEL = re.compile(rf"__global__\b[^;{{}}]*?\bvoid\b(?:{_ATTRIBUTE})*\s+(\w+)\s*\(")
"""Matches the head of a kernel up to its name."""


@dataclass(frozen=True)
class Unit:
    """A source file to compile.

    ``include`` are folders with headers and ``forced`` headers to include before the source. ``flags`` follow parity's
    flags and override them. ``originals`` maps the file names in ``#line`` to the paths that error messages show.
    """

    main: Path
    include: tuple[Path, ...] = ()
    forced: tuple[str | Path, ...] = ()
    flags: tuple[str, ...] = ()
    originals: Mapping[str, str] = field(default_factory=dict)

    def error(self, target: Target, stderr: str, returncode: int) -> CompileError:
        """Return the error for a compiler that failed with this output and exit status."""
        log = with_user_paths(stderr, self.originals) or f"the compiler exited with status {returncode}"
        if (crash := _CRASH.search(stderr)) and not diagnostics(stderr):
            log = with_user_paths(f"{self._crash()} (exit code {crash[1]})", self.originals)
        return CompileError(self.main.stem, target.name, log, frozenset(self.originals.values()))

    def _crash(self) -> str:
        """Return the log of a crash, placed at the first kernel, because clang does not report which one caused it."""
        kernels = dict.fromkeys(_KERNEL.findall(code(self._text())))
        return f"{self.location('__global__')}: error: {CRASHED} of {', '.join(kernels) or _INCLUDED}"

    def location(self, word: str) -> str:
        """Return ``FILE:LINE:1`` of the first occurrence of a word in code, or of the first line."""
        text = self._text()
        named = _FIRST_LINE.match(text)
        line = max(1, text.count("\n", 0, max(0, code(text).find(word))) + (not named))
        return f"{json.loads(named[1]) if named else self.main}:{line}:1"

    def _text(self) -> str:
        return self.main.read_text(encoding="utf-8", errors="replace")


def with_user_paths(log: str, originals: Mapping[str, str]) -> str:
    """Replace the file names of ``#line`` in a compiler's output by the paths that they stand for."""
    return _PLACE.sub(lambda m: f"{m[1] or ''}{originals.get(m[2], m[2])}:", log)
