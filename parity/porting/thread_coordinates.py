"""Replaces coordinates such as ``threadIdx.x`` by plain numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parity.compilers.lexing import code, replaced
from parity.porting.source_tree import SourceTree, ancestors, declared_name, decode, parse, source_of

_NAMES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
# Not a member of another object, and not assigned.
_COORDINATE = re.compile(
    rf"(?<![\w.])(?<!->)(?<!::)(?P<name>{'|'.join(_NAMES)})\s*\.\s*[xyz]\b"
    r"(?!\s*(?:=(?!=)|\+\+|--|(?:[-+*/%&|^]|<<|>>)=))"
)
_DECLARATIONS = frozenset(
    ("declaration", "field_declaration", "parameter_declaration", "optional_parameter_declaration")
)
_SCOPES = frozenset(
    ("compound_statement", "field_declaration_list", "for_statement", "function_definition", "lambda_expression")
)


def with_plain_coordinates(text: str) -> str:
    """Return the source with ``unsigned(threadIdx.x)`` for every ``threadIdx.x``.

    In CUDA, a coordinate has that type. In HIP, it is an object that converts to it, so templates deduce another type.
    Variables, parameters and members of that name do not change, nor do comments and strings.
    """
    local = [*_local_names(parse(text))]

    def is_local(match: re.Match[str]) -> bool:
        return any(name == match["name"] and start <= match.start() < end for name, start, end in local)

    spans = (match.span() for match in _COORDINATE.finditer(code(text)) if not is_local(match))
    return replaced(text, ((start, end, f"unsigned({text[start:end]})") for start, end in spans))


def _local_names(tree: SourceTree) -> Iterator[tuple[str, int, int]]:
    """Yield the variables, parameters and members that have one of the names, each with the part where it is valid."""
    for node in tree.nodes():
        for each in node.children_by_field_name("declarator") if node.type in _DECLARATIONS else ():
            if source_of(name := declared_name(each)) in _NAMES:
                end = next((above.end_byte for above in ancestors(node.parent) if above.type in _SCOPES), node.end_byte)
                start, end = (len(decode(tree.data[:at])) for at in (name.end_byte, end))
                yield source_of(name), start, end
