"""What headers that are not here would have brought with them.

A library of which parity has a small one, in a source that includes it by way of another's headers; a macro whose name
says what it is. The table ``brought.csv`` has them: a pattern of names, and a line of the preprocessor's for what is
missing, with ``{}`` for the name.

Names of CUDA's that no source has, because a macro puts them together (``cu ## name``), are those of HIP's that they
stand for.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from parity.files import rows_of
from parity.toolchain.compat import identifiers
from parity.toolchain.diagnostics import Diagnostic
from parity.toolchain.hipify import Finding, counterpart, defined_macros

__all__ = ["brought", "pasted"]

TABLE = Path(__file__).with_name("brought.csv")

_LACKING = re.compile(
    r"(?:undeclared identifier|unknown (?:type|template) name|no type named|incomplete type)"
    r" '(?:class |struct )?(\w+)'"
)
_SIZE = re.compile(r"'sizeof' to an incomplete type '((?:\w+::)*)(\w+)'")
"""clang's error for a type that is declared for a pointer to it, such as std::unique_ptr, and defined nowhere."""


def brought(errors: Iterable[Diagnostic], texts: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """The lines for names that these errors say are missing, without those that are ``known``.

    A name that one of the ``texts`` defines as a macro, in whatever branch, is none that a header would bring.
    """
    found = dict.fromkeys(line for error in errors for line in _lines(error.text, texts) if line not in known)
    own: set[str] = set().union(*map(defined_macros, texts)) if found else set()
    return tuple(line for line in found if not own & set(line.split()[1:2]))


def pasted(errors: Iterable[Diagnostic], texts: Collection[str], known: Collection[Finding]) -> tuple[Finding, ...]:
    """The names of CUDA's that these errors say are missing and no text has, without those that are ``known``."""
    had = {finding.name for finding in known}
    found: dict[str, Finding] = {}
    for error in errors:
        missing = _LACKING.search(error.text)
        if missing is None or missing[1] in had or not (hip := counterpart(missing[1])):
            continue
        if not any(missing[1] in identifiers(text) for text in texts):
            said = f"a macro puts this name together; it is read as {hip}, and a port has to write that"
            found.setdefault(missing[1], Finding(missing[1], *error.places[0], said))
    return tuple(found.values())


def _lines(error: str, texts: Iterable[str]) -> Iterator[str]:
    if unknown := _SIZE.search(error):
        spaces, name = unknown[1].split("::")[:-1], unknown[2]
        defined = re.compile(rf"\b(?:class|struct)\s+(?:\w+\s+)?{name}\b[^;{{}}()]*\{{")
        if not any(map(defined.search, texts)):
            yield "".join((*(f"namespace {each} {{ " for each in spaces), f"class {name} {{}};", " }" * len(spaces)))
    if missing := _LACKING.search(error):
        lines = (line.format(missing[1]) for pattern, line in _table() if pattern.fullmatch(missing[1]))
        yield from itertools.islice(lines, 1)


@functools.cache
def _table() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(row["name"]), row["directive"]) for row in rows_of(TABLE))
