"""``threadIdx.x`` and its like as plain numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parity.compilers.lexing import code

__all__ = ["with_plain_coordinates"]

_NAMES = "threadIdx|blockIdx|blockDim|gridDim"
# Not a member of something else, and not what is assigned.
_COORDINATE = re.compile(
    rf"(?<![\w.])(?<!->)(?<!::)(?P<name>{_NAMES})\s*\.\s*[xyz]\b(?!\s*(?:=(?!=)|\+\+|--|(?:[-+*/%&|^]|<<|>>)=))"
)
_TYPE = r"(?:dim3|u?int[234]|u?long[234]|auto)"
_DECLARATION = re.compile(rf"\b{_TYPE}\b")
_DECLARED = re.compile(rf"(?:^|,)(?:\s*(?:const|{_TYPE})\b)*[\s&*]*\b(?P<name>{_NAMES})\s*(?=[,=(){{;]|$)")
_BRACKET = re.compile(r"[(){};]")


def with_plain_coordinates(text: str) -> str:
    """The source with every ``threadIdx.x`` as ``unsigned(threadIdx.x)``.

    In CUDA that is its type. In HIP it is an object that converts to it, from which a template deduces another type. A
    variable or parameter of that name is none of these, nor are a member, a comment and a string.
    """
    plain = code(text)
    local = [(name, at, _end_of_scope(plain, at)) for name, at in _declarations(plain)]

    def written(match: re.Match[str]) -> str:
        at = match.start()
        if any(name == match["name"] and start <= at < end for name, start, end in local):
            return text[at : match.end()]
        return f"unsigned({text[at : match.end()]})"

    parts, done = [], 0
    for match in _COORDINATE.finditer(plain):
        parts += [text[done : match.start()], written(match)]
        done = match.end()
    return "".join([*parts, text[done:]])


def _declarations(plain: str) -> Iterator[tuple[str, int]]:
    """The variables and parameters that have one of the names, and where."""
    for declaration in _DECLARATION.finditer(plain):
        start = declaration.end()
        for match in _DECLARED.finditer(_declarators(plain, start)):
            yield match["name"], start + match.end("name")


def _declarators(plain: str, start: int) -> str:
    """The declarators after a type, to the end of the statement or of the parameters, with blanks in brackets."""
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
    """The end of the block in which a name is declared or, for a parameter, of the body of its function."""
    braces = parentheses = 0
    is_parameter = False
    for match in _BRACKET.finditer(plain, at):
        mark = match[0]
        parentheses += (mark == "(") - (mark == ")")
        if parentheses < 0:
            is_parameter, parentheses = True, 0
        if mark == ";" and is_parameter and not braces and not parentheses:
            return match.end()  # a function without a body
        braces += (mark == "{") - (mark == "}")
        if braces < 0 or (mark == "}" and braces == 0 and is_parameter):
            return match.end()
    return len(plain)
