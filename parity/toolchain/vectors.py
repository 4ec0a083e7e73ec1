"""Operators of vector types that a program defines as HIP's headers define them already.

CUDA's ``float2`` and its like have no operators, so that many programs bring their own; those of HIP have, and two that
fit equally well are ambiguous. A definition that does to each component what HIP's does is left out for HIP's. Any
other stays, and with it the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["operators_of_hip"]

_TYPE = r"(?P<type>(?:char|uchar|short|ushort|int|uint|long|ulong|float|double)[234])"
_HEAD = r"(?:(?:static|inline|constexpr|__inline__|__forceinline__|__host__|__device__|[A-Z][A-Z0-9_]*)\s+)+"
_OPERATOR = re.compile(
    rf"^[ \t]*{_HEAD}(?:{_TYPE}|void)\s*&?\s*operator\s*(?P<operator>[-+*/]=?)\s*"
    r"\((?P<parameters>[^()]*)\)\s*\{(?P<body>[^{}]*)\}",
    re.MULTILINE,
)
_PARAMETER = re.compile(r"\s*(?:const\s+)?(?P<type>\w+)\s*(?:const\s*)?&?\s*(?P<name>\w+)\s*")


def operators_of_hip(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin and end, in characters, of each definition of such an operator in a HIP text, and the operator."""
    for match in _OPERATOR.finditer(text):
        parameters = [_PARAMETER.fullmatch(part) for part in match["parameters"].split(",")]
        if len(parameters) != 2 or not parameters[0] or not parameters[1]:
            continue
        (kind, a), (other, b) = ((p["type"], p["name"]) for p in parameters if p)
        if kind != other or not re.fullmatch(_TYPE, kind) or match["type"] not in (None, kind):
            continue
        if re.sub(r"\s", "", match["body"]) in _bodies(kind, a, b, match["operator"]):
            yield match.start(), match.end(), f"operator{match['operator']} of {kind}"


def _bodies(kind: str, a: str, b: str, operator: str) -> set[str]:
    """The usual bodies of an operator, without spaces."""
    components = "xyzw"[: int(kind[-1])]
    if operator.endswith("="):
        each = "".join(f"{a}.{c}{operator}{b}.{c};" for c in components)
        return {each, f"{each}return{a};"}
    each = ",".join(f"{a}.{c}{operator}{b}.{c}" for c in components)
    return {f"returnmake_{kind}({each});", f"return{{{each}}};", f"return{kind}{{{each}}};"}
