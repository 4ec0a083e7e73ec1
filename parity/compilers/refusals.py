"""Calls in optimized code that the compiler is about to refuse, found in LLVM's text of it.

A function that is declared with ``__attribute__((error("...")))`` may be called where the call is never compiled: clang
refuses one that is left after all optimizations, when it makes instructions of it. That takes as long as good code
does. The calls, their places and the reasons are in the intermediate code already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from parity.model.code_object import source_name, unqualified

__all__ = ["refused_calls"]

_ATTRIBUTES = re.compile(r'^attributes #(\d+) = \{.*?"dontcall-error"="([^"]*)"', re.MULTILINE)
_NAME = r'@("[^"]*"|[\w.$-]+)'
_DECLARED = re.compile(rf"^declare [^\n]*?{_NAME}\([^\n]*\)[^\n#]*#(\d+)", re.MULTILINE)
_NODE = re.compile(
    r"^!(\d+) = (?:distinct )?!DI(Location|Subprogram|LexicalBlock|LexicalBlockFile|File)\((.*)\)$", re.M
)
_FIELD = re.compile(r'(\w+): (?:!(\d+)|(\d+)|"([^"]*)")')
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2})")


def refused_calls(text: str, elsewhere: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The errors of clang for the refused calls of a module in LLVM's text, each in a line as clang says it.

    Of a call that was put into others, the place is the innermost that is in no folder of ``elsewhere``.
    """
    reasons = dict(_ATTRIBUTES.findall(text))
    refused = {name: reasons[number] for name, number in _DECLARED.findall(text) if number in reasons}
    if not refused:
        return ()
    calls = re.findall(rf"^ [^\n]*@({'|'.join(map(re.escape, refused))})\([^\n]*!dbg !(\d+)", text, re.MULTILINE)
    nodes = {number: (kind, _fields(rest)) for number, kind, rest in _NODE.findall(text)}
    found: dict[str, None] = {}
    for name, number in calls:
        if not (places := [*_places(number, nodes)]):
            continue
        file, line, column = next((each for each in places if each[0].partition("/")[0] not in elsewhere), places[0])
        called = unqualified(source_name(_plain(name.strip('"'))))
        because = _plain(refused[name])
        found[f"{file}:{line}:{column}: error: call to '{called}' declared with 'error' attribute: {because}"] = None
    return tuple(found)


def _places(number: str, nodes: Mapping[str, tuple[str, Mapping[str, str]]]) -> Iterator[tuple[str, str, str]]:
    """File, line and column of a location, and of those that it was put into."""
    while number in nodes:
        _, location = nodes[number]
        scope = location["scope"]
        while scope in nodes and "file" not in nodes[scope][1]:
            scope = nodes[scope][1].get("scope", "")
        file = nodes.get(nodes[scope][1]["file"]) if scope in nodes else None
        name = file[1].get("filename", "") if file else ""
        yield name, location.get("line", "0"), location.get("column", "1")
        number = location.get("inlinedAt", "")


def _fields(text: str) -> dict[str, str]:
    return {name: node or figure or _plain(said) for name, node, figure, said in _FIELD.findall(text)}


def _plain(text: str) -> str:
    """A text of LLVM's without its escapes."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
