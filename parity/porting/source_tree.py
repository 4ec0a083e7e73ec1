"""Parses CUDA and HIP sources with tree-sitter, and describes edits of them."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import tree_sitter
import tree_sitter_cuda

from parity.compilers.lexing import code

CLASSES = frozenset(("class_specifier", "struct_specifier"))
BLOCKS = frozenset(("compound_statement", "case_statement", "labeled_statement"))
"""Nodes that hold the statements of a function."""

_WRAPPERS = frozenset(("template_declaration", "linkage_specification"))
"""Nodes that hold one function definition and nothing else."""
_CACHED = 256
"""Parsed sources to keep: the errors of one compilation jump between many files."""

_LONG_MACRO = re.compile(rb"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\r?\n)+[^\n]*", re.MULTILINE)
_LAMBDA_WORDS = re.compile(rb"(\]\s*)((?:(?:[A-Z][A-Z0-9_]*|__\w+__)\s*)+)(?=\()")
"""Matches words such as ``__device__`` between the captures and the parameters of a lambda."""
_VISIBLE = re.compile(rb"[^\r\n]")


def blank(data: bytes) -> bytes:
    """Replace every byte by a blank, except line ends."""
    return _VISIBLE.sub(b" ", data)


def encode(text: str) -> bytes:
    """Return the bytes of a source that was read with ``errors="surrogateescape"``."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes | None) -> str:
    """Return bytes of a source as text for messages and patterns."""
    return (data or b"").decode("utf-8", "replace")


@dataclass(frozen=True)
class SourceEdit:
    """Replaces bytes ``start`` to ``end`` of a file.

    ``line`` is the line of ``start``, and ``head`` is the first line of the replaced code, for messages.
    """

    start: int
    end: int
    line: int
    head: str
    replacement: str = ""

    def inserting(self, text: str) -> SourceEdit:
        """Return an edit that inserts a text before this edit's code and keeps the code."""
        return replace(self, end=self.start, replacement=text)


class SourceTree:
    """The syntax tree of a source. Lines and columns count from 1, and columns count bytes, as clang's do.

    Before parsing, two things that tree-sitter misreads are blanked: macros of several lines, where a comment would
    end the macro, and words such as ``__device__`` in a lambda. Positions do not change.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = encode(text)
        parsed = _LONG_MACRO.sub(lambda match: blank(match[0]), self.data)
        parsed = _LAMBDA_WORDS.sub(lambda match: match[1] + blank(match[2]), parsed)
        self._tree = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language())).parse(parsed)
        self.root = self._tree.root_node

    @property
    def has_error(self) -> bool:
        """True if tree-sitter does not understand a part of the source."""
        return self.root.has_error

    def node_at(self, line: int, column: int) -> tree_sitter.Node | None:
        """Return the smallest node at a place."""
        return self.root.descendant_for_point_range((line - 1, column - 1), (line - 1, column - 1))

    def enclosing(self, line: int, column: int, kind: str) -> tree_sitter.Node | None:
        """Return the smallest node of a type around a place."""
        return next((node for node in ancestors(self.node_at(line, column)) if node.type == kind), None)

    def nodes(self) -> Iterator[tree_sitter.Node]:
        """Yield all nodes, parents before their children."""
        return descendants(self.root)

    def edit(self, node: tree_sitter.Node, replacement: str = "") -> SourceEdit:
        """Return an edit that replaces a node."""
        head = (source_of(node).strip() or " ").splitlines()[0].strip()
        return SourceEdit(node.start_byte, node.end_byte, node.start_point[0] + 1, head[:80], replacement)

    def line_edit(self, line: int) -> SourceEdit:
        """Return an edit that blanks a line."""
        start, content = self._line(line)
        return SourceEdit(start, start + len(content), line, decode(content).strip()[:80])

    def match_at(self, pattern: re.Pattern[bytes], line: int, column: int) -> SourceEdit | None:
        """Return an edit of the last group of a pattern that matches at a place, or of the whole match."""
        start, content = self._line(line)
        match = pattern.match(content, column - 1)
        if match is None:
            return None
        first, last = match.span(match.lastindex or 0)
        return SourceEdit(start + first, start + last, line, decode(content[first:last]))

    def code_of(self, edit: SourceEdit) -> str:
        """Return the code that an edit replaces."""
        return decode(self.data[edit.start : edit.end])

    def is_balanced(self, edit: SourceEdit) -> bool:
        """True if the code of an edit closes every brace that it opens. A macro can make a node take more or less."""
        text = code(self.code_of(edit))
        return text.count("{") == text.count("}")

    def _line(self, line: int) -> tuple[int, bytes]:
        lines = self.data.split(b"\n", line)
        return sum(len(each) + 1 for each in lines[: line - 1]), lines[line - 1]


@functools.lru_cache(maxsize=_CACHED)
def parse(text: str) -> SourceTree:
    """Return the syntax tree of a source; a recently parsed source is not parsed again."""
    return SourceTree(text)


def source_of(node: tree_sitter.Node) -> str:
    """Return the code of a node."""
    return decode(node.text)


def descendants(node: tree_sitter.Node, leaves: Collection[str] = ()) -> Iterator[tree_sitter.Node]:
    """Yield all nodes below a node, parents before their children, but none below nodes of the types ``leaves``.

    Sources nest deeper than Python calls.
    """
    waiting = node.children[::-1]
    while waiting:
        yield (found := waiting.pop())
        if found.type not in leaves:
            waiting += found.children[::-1]


def ancestors(node: tree_sitter.Node | None) -> Iterator[tree_sitter.Node]:
    """Yield a node and all nodes around it, the smallest first."""
    while node is not None:
        yield node
        node = node.parent


def container(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return the parent of a node, without the preprocessor's conditionals in between."""
    around = (above for above in ancestors(node.parent) if not above.type.startswith("preproc_"))
    return next(around, node)


def declared_name(declarator: tree_sitter.Node) -> tree_sitter.Node:
    """Return the innermost part of a declarator: the name, without pointers, arrays and parameters."""
    while declarator.type.endswith("declarator"):
        inner = (each for each in declarator.named_children if each.type.endswith(("declarator", "identifier")))
        declarator = next(inner, declarator.children[-1])
    return declarator


def definition(node: tree_sitter.Node) -> tree_sitter.Node:
    """Return a function definition with its ``template <...>`` or ``extern "C"``."""
    return node.parent if node.parent is not None and node.parent.type in _WRAPPERS else node


def is_in_function(node: tree_sitter.Node) -> bool:
    """True if a definition is among the statements of a function, and not in a class there.

    A loop that a macro opens (``LOOP(i, n) { }``) looks like such a definition. It must not be taken out of a kernel.
    """
    kinds = (above.type for above in ancestors(node.parent))
    return next((kind in BLOCKS for kind in kinds if kind in BLOCKS or kind == "field_declaration_list"), False)


def head_of(unit: tree_sitter.Node) -> str:
    """Return the code of a definition before its body; of a class, the whole code, because its members count."""
    bodies = [node for node in descendants(unit) if node.type in ("compound_statement", "field_declaration_list")]
    source = unit.text or b""
    if any(body.type == "field_declaration_list" for body in bodies):
        return decode(source)
    end = min((body.start_byte for body in bodies), default=unit.end_byte) - unit.start_byte
    return decode(source[:end])
