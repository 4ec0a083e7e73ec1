"""Finds comments, literals and call arguments in C++ source."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

COMMENT_OR_LITERAL = r"""
      (?P<comment> //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<string> (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
                | (?:\b(?:u8|[uUL]))?"(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? )
"""
"""A regular expression for ``re.VERBOSE | re.DOTALL``. It ends with the line or file if the token is unterminated."""

WORD = re.compile(r"\b[A-Za-z_]\w*\b")

_SKIPPED = re.compile(
    rf"{COMMENT_OR_LITERAL} | (?P<number> \.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])* )", re.VERBOSE | re.DOTALL
)
_PUNCTUATION = re.compile(rf"{COMMENT_OR_LITERAL} | (?P<mark> [()\[\]{{}},;<] )", re.VERBOSE | re.DOTALL)
# Template arguments are types, names and numbers; only certain characters follow them, unlike a comparison.
# In a macro of several lines, they may span two lines.
_ARGUMENT = r"(?:[\w\s,:*&]|\\\r?\n)"
_TEMPLATE_ARGUMENTS = re.compile(rf"(?<=\w)<(?:{_ARGUMENT}|<{_ARGUMENT}*>)*>(?=(?:\s|\\\r?\n)*(?:::|[(),{{;]))")


@dataclass(frozen=True)
class Span:
    """The part of a text from ``start`` to before ``end``."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part without surrounding white space."""
        return text[self.start : self.end].strip()


class Lines:
    """Converts positions in a text to lines and columns."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def number(self, at: int) -> int:
        """Return the line of a position, from 1."""
        return bisect.bisect_right(self._starts, at)

    def place(self, at: int) -> tuple[int, int]:
        """Return the line and the column of a position, from 1."""
        return self.number(at), at - self._starts[self.number(at) - 1] + 1


@functools.lru_cache(maxsize=256)
def code(text: str) -> str:
    """Replace each character of comments and literals by a blank, except line ends."""
    return _SKIPPED.sub(lambda m: m[0] if m["number"] else re.sub(r"[^\n]", " ", m[0]), text)


def replaced(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Replace parts of a text, each given by start, end and new text. An edit within a previous one has no effect."""
    parts, done = [], 0
    for start, end, new in sorted(edits):
        if start >= done:
            parts += [text[done:start], new]
            done = end
    return "".join((*parts, text[done:]))


def arguments(text: str, start: int) -> tuple[Span, ...]:
    """Return the arguments of a call. The first begins at ``start``, and the last ends before the closing parenthesis.

    Returns nothing if the list does not end, or if it is ambiguous whether a ``<`` in it opens template arguments.
    """
    return tuple(_arguments(text, start))


def _arguments(text: str, start: int) -> Iterator[Span]:
    found: list[Span] = []
    depth, begin, at = 0, start, start
    while match := _PUNCTUATION.search(text, at):
        at = match.end()
        match match["mark"]:
            case "<":
                template = _TEMPLATE_ARGUMENTS.match(text, match.start())
                if template is None and _may_be_template(text, match.start()):
                    return
                at = template.end() if template else at
            case ")" | "," as mark if depth == 0:
                found.append(Span(begin, match.start()))
                begin = match.end()
                if mark == ")":
                    yield from found
                    return
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
            case ";" if depth == 0:
                return


def _may_be_template(text: str, at: int) -> bool:
    """Return True if a ``<`` is neither a shift nor spaced like a comparison."""
    return text[at - 1 : at].isidentifier() and text[at + 1 : at + 2] not in ("<", "=", " ")
