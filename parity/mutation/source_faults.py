"""Faults in source: finds where they can be planted with the syntax tree, and changes the text.

Only lines count that the line tables of the kernel's code object mention. This excludes comments, host code, and code
that the kernel does not use. It also excludes multi-line macros, whose lines are not in the tables.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import tree_sitter
import tree_sitter_cuda

from parity.mutation.operators import SOURCE, Operator, fill_replacement
from parity.porting import parse

_CODING = ("utf-8", "surrogateescape")

_ENDS = frozenset(("expression_statement", "declaration", "return_statement"))
"""Nodes whose code the compiler attributes to any line of the statement."""

_NOT_HERE = frozenset(
    ("preproc_def", "preproc_function_def", "preproc_include", "preproc_call", "template_argument_list")
)
"""Nodes without faults, because their text is not compiled where it stands."""


@dataclass(frozen=True)
class Edit:
    """One edit of a text: at byte ``start``, in line ``line``, ``old`` becomes ``new``.

    ``before`` and ``after`` are the line without and with the edit.
    """

    operator: Operator
    start: int
    line: int
    old: str
    new: str
    before: str
    after: str


def source_edits(text: str, lines: Collection[int]) -> Iterator[Edit]:
    """Yield every edit of the table in these lines of a text."""
    root, wanted, data = parse(text).root, frozenset(lines), text.encode(*_CODING)
    statements = dict(_statements(root))
    for operator, captures in tree_sitter.QueryCursor(_query()).matches(root):
        nodes = {name: each[0] for name, each in captures.items()}
        parts = [node for name, node in nodes.items() if name != "f"]
        first = nodes.get("site") or min(parts, key=lambda node: node.start_byte)
        last = nodes.get("site") or max(parts, key=lambda node: node.end_byte)
        own = first.start_point[0] + 1
        if first.id in statements and {own, statements[first.id]} & wanted and not first.has_error:
            yield from _edit(SOURCE[operator], nodes, first.start_byte, last.end_byte, own, data)


def apply_edit(text: str, start: int, old: str, new: str) -> str:
    """Return the text with ``old``, at byte ``start``, replaced by ``new``."""
    data, gone, put = (each.encode(*_CODING) for each in (text, old, new))
    return (data[:start] + put + data[start + len(gone) :]).decode(*_CODING)


def _edit(
    operator: Operator, nodes: dict[str, tree_sitter.Node], start: int, end: int, line: int, data: bytes
) -> Iterator[Edit]:
    old = data[start:end].decode(*_CODING)
    try:
        new = fill_replacement(
            operator.replacement, {k: (n.text or b"").decode("utf-8", "replace") for k, n in nodes.items()}
        )
    except ValueError:
        return
    if new != old:
        begin = data.rfind(b"\n", 0, start) + 1
        parts = (data[begin:start], data[end : _end_of_line(data, end)])
        head, tail = (part.decode("utf-8", "replace") for part in parts)
        before = data[begin : _end_of_line(data, start)].decode("utf-8", "replace")
        yield Edit(operator, start, line, old, new, before.strip(), f"{head}{new}{tail}".strip())


def _end_of_line(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return len(data) if end < 0 else end


def _statements(root: tree_sitter.Node) -> Iterator[tuple[int, int]]:
    """Yield the id of each node in which a fault can be planted, with the first line of its statement (0: none).

    The compiler attributes the code of a node to its own line or to that line.
    """
    waiting = [(root, 0)]
    while waiting:
        node, line = waiting.pop()
        if node.type not in _NOT_HERE:
            line = node.start_point[0] + 1 if node.type in _ENDS else line
            yield node.id, line
            asked = node.child_by_field_name("condition") if node.type.startswith("preproc_") else None
            waiting += ((child, line) for child in node.children if child != asked)


@functools.cache
def _query() -> tree_sitter.Query:
    """Return all operators as one query, with patterns numbered as in the table. Separate queries compile four times
    slower.
    """
    patterns = "\n".join(operator.pattern for operator in SOURCE)
    return tree_sitter.Query(tree_sitter.Language(tree_sitter_cuda.language()), patterns)
