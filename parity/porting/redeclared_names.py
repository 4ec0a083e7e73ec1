"""Finds declarations that, after translation, repeat names of HIP's headers.

A program that also supports AMD GPUs may alias HIP's names (``constexpr auto cudaSuccess = hipSuccess;``). A program
that is also built without CUDA may declare CUDA's types (``typedef void* cudaStream_t;``). Both become redeclarations.

A program may also have a class with the name of one that CUDA 12 has removed and HIP still has.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from parity.compilers.lexing import Lines, code
from parity.model.finding import Finding
from parity.porting.cuda_names import name_rules

_CONSTANT = re.compile(
    r"^[ \t]*(?:(?:static|inline|constexpr|const)\s+)+[\w:]+\s*&?\s+&?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P=name)\s*;",
    re.MULTILINE,
)
_TYPE = re.compile(
    r"^[ \t]*(?:typedef\s[\w\s:*]*?(?P<name>\bhip\w+)\s*|using\s+(?P<alias>hip\w+)\s*=[\w\s:*]+);", re.MULTILINE
)

_OWN_CLASS = re.compile(r"\b(?:class|struct)\s+(texture)\s*(?:final\s*)?[:{]")
"""Matches the definition of a class with the name of one in HIP's headers."""


def own_classes(files: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return the classes of HIP texts (by file) that have the names of HIP's classes, at their first definitions."""
    found: dict[str, Finding] = {}
    for file, text in files.items():
        for match in _OWN_CLASS.finditer(code(text)):
            advice = f"HIP has a class with this name, which is called hip_{match[1]} here; a port renames its own"
            found.setdefault(match[1], Finding(match[1], file, *Lines(text).place(match.start(1)), advice))
    return tuple(found.values())


def redeclarations(text: str) -> Iterator[tuple[int, int, str]]:
    """Generate the redeclarations in a HIP text: start and end in characters, and the name."""
    for match in _CONSTANT.finditer(text):
        yield match.start(), match.end(), match["name"]
    for match in _TYPE.finditer(text):
        name = match["name"] or match["alias"]
        if name in _types():
            yield match.start(), match.end(), name


@functools.cache
def _types() -> frozenset[str]:
    """Return the HIP counterparts of the types of CUDA's runtime and driver."""
    return frozenset(rule.hip for rule in name_rules().values() if rule.category == "type")
