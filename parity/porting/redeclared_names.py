"""Finds declarations that, after translation, repeat names of HIP's headers.

A program that also supports AMD GPUs may alias HIP's names (``constexpr auto cudaSuccess = hipSuccess;``). A program
that is also built without CUDA may declare CUDA's types (``typedef void* cudaStream_t;``). Both become redeclarations.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from parity.porting.cuda_names import name_rules

_CONSTANT = re.compile(
    r"^[ \t]*(?:(?:static|inline|constexpr|const)\s+)+[\w:]+\s*&?\s+&?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P=name)\s*;",
    re.MULTILINE,
)
_TYPE = re.compile(
    r"^[ \t]*(?:typedef\s[\w\s:*]*?(?P<name>\bhip\w+)\s*|using\s+(?P<alias>hip\w+)\s*=[\w\s:*]+);", re.MULTILINE
)


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
