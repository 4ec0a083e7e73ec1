"""What a project itself has for a name or a header that the compiler did not find, as advice."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.toolchain.conditionals import DEFINED, PREDEFINED, RENAMED, macros_of
from parity.toolchain.diagnostics import Diagnostic
from parity.toolchain.hipify import defined_macros
from parity.toolchain.sources import INCLUDE, Source, found_in

__all__ = ["hints"]

_LACKING = re.compile(r"undeclared|unknown type name|no template named|file not found")
_QUOTED = re.compile(r"'([^']+)'")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_TESTED = re.compile(r"defined\s*\(?\s*(\w+)")
_SHOWN = 3
"""Folders that are shown."""


@dataclass(frozen=True)
class _Line:
    """A line of a file, and the macros that have to be defined so that it is compiled."""

    number: int
    text: str
    switches: tuple[str, ...]


def hints(source: Source, errors: Sequence[Diagnostic]) -> dict[str, str]:
    """What to do about names and headers that these errors miss and files of the project have.

    A header that lies in several folders needs a setting that says in which. A name that is declared behind ``#ifdef
    SWITCH``, or in a header that is included behind it, needs ``-DSWITCH``, if no file defines that.
    """
    missed = [_QUOTED.search(error.text) for error in errors if _LACKING.search(error.text)]
    found = {name: _hint(name, source) for name in dict.fromkeys(match[1] for match in missed if match)}
    return {name: hint for name, hint in found.items() if hint}


def _hint(name: str, source: Source) -> str:
    if places := source.doubtful.get(name):
        shown = [os.path.relpath(place) for place in places]
        more = " and others have" if len(places) > _SHOWN else " have"
        return f'{", ".join(shown[:_SHOWN])}{more} it; say which is meant: include = ["{shown[0]}"] in [tool.parity]'
    return _behind_a_switch(name, source) if _IDENTIFIER.fullmatch(name) else ""


def _behind_a_switch(name: str, source: Source) -> str:
    """What the build of the project has to define so that a name is known."""
    given = set(macros_of(source.side.flags)) | {*DEFINED, *RENAMED}
    given |= {macro for text in source.files.values() for macro in defined_macros(text)}
    declares = re.compile(
        rf"\s*\#\s*define\s+{name}\b | (?:.*\W)?(?:struct|class|enum|union|using|typedef\b.*\W)\s*{name}\b"
        rf" | \s*(?:[\w:<>]+[\s*&]+)+{name}\s*[(=;\[]",
        re.VERBOSE,
    )
    for path, text in source.files.items():
        for line in _lines(text):
            if not declares.match(line.text):
                continue
            lacking = [each for each in line.switches if each not in given]
            if not lacking and path != source.path:
                lacking = _before_inclusion(path, source, given)
            if not lacking or any(PREDEFINED.fullmatch(each) for each in lacking):
                return ""
            flags = ", ".join(f'"-D{each}"' for each in lacking)
            return (
                f"{os.path.relpath(path)}:{line.number} has it for builds that define {' and '.join(lacking)}; if yours"
                f" does, say so: flags = [{flags}] in [tool.parity]"
            )
    return ""


def _before_inclusion(path: Path, source: Source, given: Collection[str]) -> list[str]:
    """What has to be defined so that a header is included; nothing if one place includes it whatever is defined."""
    lacking: list[str] = []
    for other, text in source.files.items():
        for line in _lines(text):
            header = INCLUDE.match(line.text)
            if header and found_in(header[2], (other.parent, *source.folders)) == path:
                lacking = [each for each in line.switches if each not in given]
                if not lacking:
                    return []
    return lacking


def _lines(text: str) -> Iterator[_Line]:
    around: list[tuple[str, ...]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _DIRECTIVE.match(line)
        if match is None:
            yield _Line(number, line, tuple(name for names in around for name in names))
            continue
        word, condition = match.groups()
        if word.startswith("if"):
            around.append(_tested(word, condition))
        elif around and word == "endif":
            around.pop()
        elif around:
            around[-1] = _tested(word, condition)


def _tested(word: str, condition: str) -> tuple[str, ...]:
    """The macros that a condition wants defined; of alternatives, the first."""
    if word == "ifdef":
        return tuple(condition.split()[:1])
    names = tuple(_TESTED.findall(re.sub(r"!\s*defined\s*\(?\s*\w+", "", condition)))
    return names[:1] if "||" in condition else names
