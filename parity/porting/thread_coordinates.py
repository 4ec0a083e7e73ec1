"""Replaces coordinates such as ``threadIdx.x`` by plain numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parity.compilers.lexing import code, replaced

_NAMES = "threadIdx|blockIdx|blockDim|gridDim"
# Not a member of another object, and not assigned.
_COORDINATE = re.compile(
    rf"(?<![\w.])(?<!->)(?<!::)(?P<name>{_NAMES})\s*\.\s*[xyz]\b(?!\s*(?:=(?!=)|\+\+|--|(?:[-+*/%&|^]|<<|>>)=))"
)
_TYPE = r"(?:dim3|u?int[234]|u?long[234]|auto)"
_DECLARATION = re.compile(rf"\b{_TYPE}\b")
_DECLARED = re.compile(rf"(?:^|,)(?:\s*(?:const|{_TYPE})\b)*[\s&*]*\b(?P<name>{_NAMES})\s*(?=[,=(){{;]|$)")
_BRACKET = re.compile(r"[(){};]")


def with_plain_coordinates(text: str) -> str:
    """Return the source with ``unsigned(threadIdx.x)`` for every ``threadIdx.x``.

    In CUDA, a coordinate has that type. In HIP, it is an object that converts to it, so templates deduce another type.
    Variables, parameters and members of that name do not change, nor do comments and strings.
    """
    plain = code(text)
    local = [(name, at, _end_of_scope(plain, at)) for name, at in _declarations(plain)]

    def is_local(match: re.Match[str]) -> bool:
        return any(name == match["name"] and start <= match.start() < end for name, start, end in local)

    spans = (match.span() for match in _COORDINATE.finditer(plain) if not is_local(match))
    return replaced(text, ((start, end, f"unsigned({text[start:end]})") for start, end in spans))


def _declarations(plain: str) -> Iterator[tuple[str, int]]:
    """Generate the variables and parameters that have one of the names, with their places."""
    for declaration in _DECLARATION.finditer(plain):
        start = declaration.end()
        for match in _DECLARED.finditer(_declarators(plain, start)):
            yield match["name"], start + match.end("name")


def _declarators(plain: str, start: int) -> str:
    """Return the declarators after a type, up to the end of the statement or the parameters; brackets are blanked."""
    depth = 0
    found = []
    for character in plain[start:]:
        depth -= character in ")]}"
        if depth < 0 or (depth == 0 and character in ";{"):
            break
        found.append(character if depth == 0 and character not in ")]}" else " ")
        depth += character in "([{"
    return "".join(found)


def _end_of_scope(plain: str, at: int) -> int:
    """Return the end of the block that declares a name or, for a parameter, of the function's body."""
    braces = parentheses = 0
    is_parameter = False
    for match in _BRACKET.finditer(plain, at):
        mark = match[0]
        parentheses += (mark == "(") - (mark == ")")
        if parentheses < 0:
            is_parameter, parentheses = True, 0
        if mark == ";" and is_parameter and not braces and not parentheses:
            return match.end()  # a declaration without a body
        braces += (mark == "{") - (mark == "}")
        if braces < 0 or (mark == "}" and braces == 0 and is_parameter):
            return match.end()
    return len(plain)
