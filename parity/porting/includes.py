"""Reads ``#include`` lines and finds the files that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from parity.platform.files import is_file

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
"""Matches an ``#include`` line; the groups are the bracket and the header."""

_HEADER_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\(\))?[ \t]+"
    r'(?:(<)([\w./-]+)>|(")([\w./-]+\.(?:h|hpp|cu|cuh|inl|inc|def))")[ \t]*$',
    re.MULTILINE,
)
"""Matches a macro that stands for a header in ``#include MACRO``."""
_BACKSLASHES = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"][^>"\n]*\\[^>"\n]*[>"]', re.MULTILINE)


def read_source(path: Path) -> str:
    """Return the text of a source, without a byte order mark, and with ``/`` in the paths of its includes.

    Bytes that are not UTF-8, as in old comments, pass through unchanged.
    """
    text = path.read_text(encoding="utf-8", errors="surrogateescape").removeprefix("\ufeff")
    return _BACKSLASHES.sub(lambda include: include[0].replace("\\", "/"), text)


def included(text: str) -> list[tuple[str, str]]:
    """Return the bracket and name of each header that a source includes, in any branch of its conditionals.

    Macros that stand for a header follow at the end, because another file may include them.
    """
    macros = ((a or b, c or d) for a, c, b, d in _HEADER_MACRO.findall(text))
    return [*INCLUDE.findall(text), *macros]


def searched(bracket: str, beside: Path, folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders to search for a header. For a quoted header, the including file's folder is the first."""
    return (beside, *folders) if bracket == '"' else tuple(folders)


def found_in(header: str, folders: Iterable[Path]) -> Path | None:
    """Return the file of a header in the first folder that has it."""
    candidates = (Path(os.path.normpath(folder / header)) for folder in folders)
    return next((path for path in candidates if is_file(path)), None)
