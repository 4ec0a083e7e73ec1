"""Replaces syntax that nvcc accepts and clang rejects or interprets differently."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import Span, code
from parity.platform.files import read_rows
from parity.porting.vector_types import short_of_components


@dataclass(frozen=True)
class _Pattern:
    """A row of ``nvcc_syntax.csv``: the group ``part`` of a pattern becomes ``new``, which may refer to groups."""

    pattern: re.Pattern[str]
    new: str
    note: str


_PATTERNS = read_rows(Path(__file__).with_suffix(".csv"), _Pattern)
_LAUNCH = re.compile(r"(?P<open><<[ \t]*<)[^;{}]*?(?P<close>>>[ \t]*>)(?=\s*\()")
_SEPARATED = "nvcc reads it as {whole}, hipcc does not; write it so in the port"
_ALL_COMPONENTS = "HIP uses one number for all components; CUDA uses it for the first, and 0 for the others"
_FILLED = "HIP's vectors are classes that need every component; the zeros that CUDA adds are written out"


@dataclass(frozen=True)
class Replacement:
    """A change of the text at a place, or with ``new`` of None only a warning. ``counted`` if it renames a token."""

    name: str
    span: Span
    new: str | None
    note: str
    counted: bool = False


def replacements(text: str, *, literal: bool) -> Iterator[Replacement]:
    """Generate the changes of a text. A ``literal`` translation keeps braces that HIP compiles differently."""
    yield from _launches(text)
    for short in short_of_components(text):
        if short.compiled and literal:
            yield Replacement("{...}", short.span, None, _ALL_COMPONENTS)
        else:
            yield Replacement("{...}", short.span, short.instead, _FILLED)
    for rule in _PATTERNS:
        for match in rule.pattern.finditer(text):
            name = "#pragma" if match["part"].startswith("#") else match["part"].strip()
            yield Replacement(name, Span(*match.span("part")), match.expand(rule.new), rule.note)


def _launches(text: str) -> Iterator[Replacement]:
    """Generate the changes for ``k << <blocks, threads >> >(x)``, as some formatters write a launch."""
    warned = False
    for match in _LAUNCH.finditer(code(text)) if "<<" in text else ():
        for brackets, whole in (("open", "<<<"), ("close", ">>>")):
            start, end = match.span(brackets)
            if end - start > len(whole):
                note = "" if warned else _SEPARATED.format(whole=whole)
                yield Replacement(text[start:end], Span(start, end), whole, note, counted=True)
                warned = True
