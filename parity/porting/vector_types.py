"""Adapts code to vector types such as ``float2``, which are plain structures in CUDA and classes in HIP.

CUDA's types lack operators, so many programs define them. HIP's types have operators, and a second, equally good
operator is ambiguous. A definition that computes the same as HIP's is left out. A different definition is kept, and
where it is ambiguous, a row of ``repair_rules.toml`` makes calls prefer it.

In CUDA, braces with fewer numbers than components set the remaining components to 0. HIP's classes take a number for
each component, or one for all: ``float4 v = {1}`` is an error, and ``float4 v{1}`` compiles but means something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from parity.compilers.lexing import Span, code, replaced

PLAIN = "parity/compat/plain_vectors.h"
"""The header with vector types that have no operators."""

_VECTORS = r"(?:u?char|u?short|u?int|u?long(?:long)?|float|double)(?P<components>[234])\b"
_BASE = re.compile(rf"(?<![\w:]){_VECTORS}")
DERIVED = re.compile(
    rf"\b(?:struct|class)\s+[^;{{}}()=]*?:(?!:)(?P<bases>[^;{{}}()]*?{_BASE.pattern}[^;{{}}()]*)(?=\{{)"
)
"""Matches the head of a class that derives from a vector type."""

_TYPE = r"(?P<type>(?:char|uchar|short|ushort|int|uint|long|ulong|float|double)[234])"
_HEAD = r"(?:(?:static|inline|constexpr|__inline__|__forceinline__|__host__|__device__|[A-Z][A-Z0-9_]*)\s+)+"
_OPERATOR = re.compile(
    rf"^[ \t]*{_HEAD}(?:(?:\w+::)*(?P<type>(?!void\b)\w+)|void)\s*&?\s*operator\s*(?P<operator>[-+*/]=?)\s*"
    r"\((?P<parameters>[^()]*)\)\s*(?:noexcept\s*)?\{(?P<body>[^{}]*)\}",
    re.MULTILINE,
)
_ALIAS = re.compile(
    r"\btypedef\s+(?:u?(?:char|short|int|long)|float|double)(?P<count>[234])\s+(?P<name>\w+)\s*;"
    r"|\busing\s+(?P<new>\w+)\s*=\s*(?:u?(?:char|short|int|long)|float|double)(?P<size>[234])\s*;"
)
"""Matches an alias of a vector type."""
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+\((?P<parameters>[\w\s,]*)\)(?P<body>(?:\\\r?\n|[^\n])*)", re.MULTILINE
)
_COMPOUND = re.compile(
    rf"{_HEAD}(?P<type>\w+)\s*&\s*operator\s*(?P<operator>\w+)\s*"
    r"\((?P<parameters>[^()]*)\)\s*(?:noexcept\s*)?\{(?P<body>[^{}]*)\}"
)
_PARAMETER = re.compile(r"\s*(?:const\s+)?(?:\w+::)*(?P<type>\w+)\s*(?:const\s*)?&?\s*(?P<name>\w+)\s*")
_VECTOR = re.compile(rf"(?<!\w)(?P<before>(?:struct|class|union|->)\s+)?{_VECTORS}")
_DECLARATOR = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)?(?P<counts>(?:\s*\[[^\[\]]*\])*)\s*=?\s*(?P<open>\{)?")
_BRACE = re.compile(r"[{}()\[\],;]")
_NUMBER = re.compile(r"[-+]?\s*\.?\d[\w.]*")
_ZERO = re.compile(r"0*\.?0*[fFuUlL]*")


def with_plain_bases(text: str) -> str:
    """Return the HIP text, with classes derived from vector types of ``PLAIN`` instead of HIP's."""
    spans = (match.span("bases") for match in DERIVED.finditer(code(text)))
    plain = r"parity_compat::plain::\g<0>"
    return replaced(text, ((start, end, _BASE.sub(plain, text[start:end])) for start, end in spans))


def names_of_vectors(texts: Iterable[str]) -> Mapping[str, int]:
    """Return the aliases of vector types in texts, each with its number of components if that is unique."""
    found: dict[str, set[int]] = {}
    for text in texts:
        for match in _ALIAS.finditer(text):
            found.setdefault(match["name"] or match["new"], set()).add(int(match["count"] or match["size"]))
    return {name: counts.pop() for name, counts in found.items() if len(counts) == 1}


def operators_of_hip(text: str, names: Mapping[str, int] | None = None) -> Iterator[tuple[int, int, str]]:
    """Generate the definitions in a HIP text of operators that HIP has: start and end in characters, and the operator.

    ``names`` are the aliases of vector types (``names_of_vectors``) in all files that the text may include.
    """
    for match in _OPERATOR.finditer(text):
        parameters = [_PARAMETER.fullmatch(part) for part in match["parameters"].split(",")]
        if len(parameters) != 2 or not parameters[0] or not parameters[1]:
            continue
        (kind, a), (other, b) = ((p["type"], p["name"]) for p in parameters if p)
        count = int(kind[-1]) if re.fullmatch(_TYPE, kind) else (names or {}).get(kind)
        if kind != other or count is None or match["type"] not in (None, kind):
            continue
        if re.sub(r"\s|\w+::", "", match["body"]) in _bodies(kind, count, a, b, match["operator"]):
            yield match.start(), match.end(), f"operator{match['operator']} of {kind}"
    yield from _operators_of_macros(text)


def _operators_of_macros(text: str) -> Iterator[tuple[int, int, str]]:
    """Generate compound assignments that a macro defines, with the type and the operator as its parameters."""
    for macro in _MACRO.finditer(text):
        given = {name.strip() for name in macro["parameters"].split(",")}
        for match in _COMPOUND.finditer(macro["body"]):
            kind, operator = match["type"], match["operator"]
            parameters = [_PARAMETER.fullmatch(part) for part in match["parameters"].split(",")]
            # Removing several lines of a macro would remove its line continuations.
            if not {kind, operator} <= given or len(parameters) != 2 or "\n" in match[0]:
                continue
            a, b = (p["name"] if p and p["type"] == kind else "" for p in parameters)
            body = re.sub(r"\s", "", match["body"])
            if any(body in _assignments(components, a, b, operator) for components in ("xy", "xyz", "xyzw")):
                start = macro.start("body")
                yield start + match.start(), start + match.end(), f"operator {operator} of {kind}"


def _assignments(components: str, a: str, b: str, operator: str) -> set[str]:
    each = "".join(f"{a}.{c}{operator}{b}.{c};" for c in components)
    return {each, f"{each}return{a};"}


def _bodies(kind: str, count: int, a: str, b: str, operator: str) -> set[str]:
    """Return the usual bodies of an operator, without spaces and namespaces."""
    components = "xyzw"[:count]
    if operator.endswith("="):
        return _assignments(components, a, b, operator)
    each = ",".join(f"{a}.{c}{operator}{b}.{c}" for c in components)
    made = {f"returnmake_{name}({each});" for name in (kind, kind.lower())}
    return {*made, f"return{{{each}}};", f"return{kind}{{{each}}};", f"return{kind}({each});"}


@dataclass(frozen=True)
class Short:
    """Braces with fewer numbers than components: ``instead`` replaces ``span`` so that HIP agrees with CUDA.

    ``compiled`` is set if HIP compiles the original, and uses the number for all components.
    """

    span: Span
    instead: str
    compiled: bool = False


def short_of_components(text: str) -> Iterator[Short]:
    """Generate the braces with fewer numbers than components, except where HIP agrees with CUDA."""
    plain = code(text)
    for match in _VECTOR.finditer(plain):
        at = match.end()
        while not match["before"] and (declarator := _DECLARATOR.match(plain, at)):
            at = declarator.end()
            if declarator["open"]:
                items = _items(plain, at)
                if not items:
                    break
                counts = declarator["counts"].count("[")
                direct = not counts and len(items) == 1 and "=" not in declarator[0]
                if not direct or not _ZERO.fullmatch(Span(*items[0]).of(plain)):
                    for each in _filled(plain, items, int(match["components"]), counts):
                        yield Short(each.span, each.instead, direct)
                at = items[-1][1] + 1
            comma = re.compile(r"\s*,").match(plain, at)
            if not comma or not declarator["name"]:
                break
            at = comma.end()


def _filled(plain: str, items: list[tuple[int, int]], components: int, counts: int) -> Iterator[Short]:
    """Generate the missing text of braces with these items: of a vector, or an array with ``counts`` dimensions."""
    texts = [plain[start:end].strip() for start, end in items]
    if counts and len(items) == 1 and _ZERO.fullmatch(texts[0]):
        yield Short(Span(*items[0]), "")
    elif counts:
        for (start, end), each in zip(items, texts, strict=True):
            if each.startswith("{"):
                yield from _filled(plain, _items(plain, plain.index("{", start, end) + 1), components, counts - 1)
    elif 0 < len(texts) < components and all(texts) and (len(texts) > 1 or _NUMBER.fullmatch(texts[0])):
        end = items[-1][0] + len(plain[slice(*items[-1])].rstrip())
        yield Short(Span(end, end), ", 0" * (components - len(texts)))


def _items(plain: str, start: int) -> list[tuple[int, int]]:
    """Return start and end of each item of braces that open before ``start``; none if they contain statements."""
    found, depth, begin = [], 0, start
    for match in _BRACE.finditer(plain, start):
        mark = match[0]
        if mark == ";":
            return []
        if depth == 0 and mark in ",}":
            found.append((begin, match.start()))
            begin = match.end()
            if mark == "}":
                return found
        depth += (mark in "{([") - (mark in "})]")
    return []
