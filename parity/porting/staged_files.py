"""Functions of both sides that write the files of a module for a compiler."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from parity.compilers.diagnostics import Diagnostic
from parity.compilers.include import STUBS
from parity.porting.host_code import HostCode
from parity.porting.host_pieces import ANYTHING
from parity.porting.includes import INCLUDE
from parity.porting.kernel_templates import instantiations
from parity.porting.sources import Source

EMPTY = "empty"
"""The folder with empty files for absent headers."""
FINE_ROUNDS, ROUNDS = 8, 16
"""Rounds of repairs that remove parts of functions, and all rounds; an error that remains is the user's."""

_ANYTHING_HEADER = STUBS / "parity" / "anything.h"
"""Declares the replacement of values that do not compile."""
_STANDARD_HEADER = STUBS / "parity" / "standard.h"
"""Includes the standard headers that absent headers would have included."""


def write(path: Path, text: str) -> None:
    """Write a file and create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def repair_headers(folder: Path, host: HostCode, lines: Sequence[str], *, stubs: bool) -> Iterator[Path]:
    """Yield the headers to include before a repaired source. Writes one with ``lines``, if any, to a folder."""
    if host.empty_headers or stubs:
        yield _STANDARD_HEADER
    if lines:
        implied = (folder / "implied.h").resolve()
        write(implied, "\n".join((*lines, "")))
        yield implied
    if any(ANYTHING in piece.instead for piece in host.left_out):
        yield _ANYTHING_HEADER


def appended_code(source: Source, host: HostCode) -> str:
    """Return the code to compile after a source: linked files, and instantiations of kernel templates."""
    others = (os.path.relpath(other, source.path.parent) for other in source.linked)
    return "".join(f'\n#include "{other}"' for other in others) + instantiations(host.instantiated)


def missing_headers(headers: Collection[str], texts: Mapping[str, str]) -> list[Diagnostic]:
    """Return an error for each of these absent headers at the first place that includes it."""
    found: dict[str, Diagnostic] = {}
    for file, text in texts.items():
        for line, content in enumerate(text.splitlines(), 1):
            include = INCLUDE.match(content)
            if include and include[2] in headers:
                found.setdefault(include[2], Diagnostic(f"'{include[2]}' file not found", ((file, line, 1),)))
    return list(found.values())
