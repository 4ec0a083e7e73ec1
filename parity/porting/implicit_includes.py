"""Supplies names that absent headers would have provided.

Each row of ``implicit_includes.csv`` maps a pattern of names to a line that replaces them, with ``{}`` for the name: an
``#include`` of a stub that another library's header would have included, or a macro whose name suggests its meaning.
An unknown type in the head of a host function becomes an empty class, so that the function and the kernels that it
launches are kept.

CUDA's names that only a macro pastes together (``cu ## name``) are defined as HIP's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from parity.compilers.diagnostics import Diagnostic
from parity.model.finding import Finding
from parity.platform.files import read_table
from parity.porting.compat import identifiers
from parity.porting.cuda_names import counterpart, defined_macros
from parity.porting.device_words import device_macros
from parity.porting.host_pieces import TypeName, type_in_host_head

TABLE = Path(__file__).with_name("implicit_includes.csv")
_IMPLIED = [(re.compile(row["name"]), row["directive"]) for row in read_table(TABLE)]

_LACKING = re.compile(
    r"(?:(?:undeclared identifier|unknown (?:type|template) name|no type named|incomplete type) '(?:class |struct )?"
    r"|identifier \")(\w+)(?:'|\" is undefined)"
)
"""Matches the errors of clang, and of nvcc."""
_UNKNOWN = re.compile(r"^(?:unknown type name|use of undeclared identifier|no (?:type|template|member) named) '\w+'")
_NOT_A_TYPE = re.compile(r"[A-Z0-9_]+|(?:cuda|hip|cu(?=[A-Z]))\w*")
"""Matches names of macros, and of CUDA's and HIP's own types."""
_DEFINES = (
    r"\b(?:namespace|class|struct|union|enum|using|typename|define)\s+(?:\w+\s*::\s*)*{0}\b|\btypedef\b[^;]*\b{0}\s*;"
)
_CLASS = re.compile(r"\bstruct (\w+) :")
"""Matches a definition of a supplied class."""
_SIZE_NEEDED = re.compile(r"'sizeof' to an incomplete type '((?:\w+::)*)(\w+)'")
"""Matches clang's error for a type that is only declared, and that std::unique_ptr deletes, for example."""


def implied_lines(errors: Sequence[Diagnostic], texts: Mapping[str, str], known: Collection[str]) -> tuple[str, ...]:
    """Return the lines that supply what these errors report as missing, except ``known`` lines.

    ``texts`` are the sources by the names that errors use. A macro that a source defines in any branch is not supplied.
    """
    lines = (line for error in errors for line in _lines(error.text, texts.values()))
    found = dict.fromkeys(line for line in (*lines, *_types(errors, texts, known)) if line not in known)
    own: set[str] = set().union(*map(defined_macros, texts.values())) if found else set()
    return tuple(line for line in found if not own & set(line.split()[1:2]))


def pasted_names(
    errors: Iterable[Diagnostic], texts: Collection[str], known: Collection[Finding]
) -> tuple[Finding, ...]:
    """Return CUDA's names that errors report as missing and no text contains, except ``known`` names."""
    had = {finding.name for finding in known}
    found: dict[str, Finding] = {}
    for error in errors:
        missing = _LACKING.search(error.text)
        if missing is None or missing[1] in had or not (hip := counterpart(missing[1])):
            continue
        if not any(missing[1] in identifiers(text) for text in texts):
            advice = f"a macro puts this name together; it is read as {hip}, and a port has to write that"
            found.setdefault(missing[1], Finding(missing[1], *error.places[0], advice))
    return tuple(found.values())


def _lines(error: str, texts: Iterable[str]) -> Iterator[str]:
    if unknown := _SIZE_NEEDED.search(error):
        spaces, name = unknown[1].split("::")[:-1], unknown[2]
        defined = re.compile(rf"\b(?:class|struct)\s+(?:\w+\s+)?{name}\b[^;{{}}()]*\{{")
        if not any(map(defined.search, texts)):
            yield _within(spaces, f"class {name} {{}};")
    if (missing := _LACKING.search(error)) and (line := _implied(missing[1])):
        yield line


def _implied(name: str) -> str | None:
    """Return the line of the table that supplies a name."""
    return next((line.format(name) for pattern, line in _IMPLIED if pattern.fullmatch(name)), None)


def _types(errors: Sequence[Diagnostic], texts: Mapping[str, str], known: Collection[str]) -> Iterator[str]:
    """Yield definitions of the undefined types in the heads of host functions, in the namespaces of their uses."""
    unknown = [each for each in errors if _UNKNOWN.search(each.text) and each.places[0][0] in texts]
    device = device_macros(texts.values(), anywhere=True) if unknown else frozenset[str]()
    found: dict[str, list[TypeName]] = {}
    for error in unknown:
        file, line, column = error.places[0]
        if (named := type_in_host_head(texts[file], line, column, device)) and not _NOT_A_TYPE.fullmatch(named.name):
            found.setdefault(named.name, []).append(named)
    supplied = {match[1] for line in known for match in _CLASS.finditer(line)}
    classes = found.keys() | supplied
    for name, uses in found.items():
        # A member of such a class cannot be supplied: its uses are left out.
        if not (several := [each for each in uses if classes.isdisjoint(each.namespaces)]):
            continue
        defined = re.compile(_DEFINES.format(name))
        if name in supplied or _implied(name) or any(map(defined.search, texts.values())):
            continue
        first, *others = sorted(dict.fromkeys(several), key=lambda each: (not each.namespaces, each.namespaces))
        if first.namespaces[:1] == ("std",):
            continue
        template = "template <class...> " if first.is_template else ""
        own = f"struct {name} : parity_stub::LibraryType {{ using LibraryType::LibraryType; }};"
        yield f"#include <parity/library_type.h>\n{_within(first.namespaces, template + own)}"
        whole = "::".join((*first.namespaces, name))
        yield from (
            _within(each.namespaces, f"using ::{whole};") for each in others if each.namespaces != first.namespaces
        )


def _within(namespaces: Sequence[str], text: str) -> str:
    return "".join((*(f"namespace {each} {{ " for each in namespaces), text, " }" * len(namespaces)))
