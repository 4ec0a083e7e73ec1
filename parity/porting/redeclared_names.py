"""Names of CUDA's that a program declares itself, where HIP's headers have them already.

A program that is meant for AMD's GPUs, too, calls HIP's names by CUDA's (``constexpr auto cudaSuccess = hipSuccess;``),
and one that is built without CUDA as well has types of its own for that (``typedef void* cudaStream_t;``). In the text
for HIP both declare a name of HIP's again, and are left to its headers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from parity.porting.cuda_names import name_rules

__all__ = ["declared_again"]

_CONSTANT = re.compile(
    r"^[ \t]*(?:(?:static|inline|constexpr|const)\s+)+[\w:]+\s*&?\s+&?(?P<name>[A-Za-z_]\w*)\s*=\s*(?P=name)\s*;",
    re.MULTILINE,
)
_TYPE = re.compile(
    r"^[ \t]*(?:typedef\s[\w\s:*]*?(?P<name>\bhip\w+)\s*|using\s+(?P<alias>hip\w+)\s*=[\w\s:*]+);", re.MULTILINE
)


def declared_again(text: str) -> Iterator[tuple[int, int, str]]:
    """The places where a HIP text does so, each with its name: from and to, in characters."""
    for match in _CONSTANT.finditer(text):
        yield match.start(), match.end(), match["name"]
    for match in _TYPE.finditer(text):
        name = match["name"] or match["alias"]
        if name in _types():
            yield match.start(), match.end(), name


@functools.cache
def _types() -> frozenset[str]:
    """HIP's counterparts of the types of CUDA's runtime and driver."""
    return frozenset(rule.hip for rule in name_rules().values() if rule.category == "type")
