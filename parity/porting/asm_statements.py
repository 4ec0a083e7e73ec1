"""Parses ``asm`` statements of C++ source: their template, with macros expanded, and their operands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from parity.compilers.lexing import COMMENT_OR_LITERAL
from parity.porting.ptx_rules import TYPES

_CONSTRAINTS = {"h": "u16", "r": "u32", "l": "u64", "f": "f32", "d": "f64"}
"""The register type of an operand by the letter of its constraint."""

_POINTER = '"l"'
"""The constraint of a pointer if a program selects it by the width of pointers."""

ASM = re.compile(
    rf"""{COMMENT_OR_LITERAL}
    | (?P<asm> \b(?:asm|__asm|__asm__)\b [\s\\]* (?:(?:volatile|__volatile__|inline)\b[\s\\]*)* \( )""",
    re.VERBOSE | re.DOTALL,
)
"""Matches the beginning of a statement, up to the parenthesis (group ``asm``)."""
_LITERALS = r'(?:[ \t]*(?:"(?:[^"\\\n]|\\.)*"|\#[ \t]*\w+))*[ \t]*'
_MACRO = re.compile(
    rf"^[ \t]*\#[ \t]*define[ \t]+(?P<name>\w+)(?:\((?P<parameter>\w*)\))?(?P<body>{_LITERALS})(?://[^\n]*)?$",
    re.MULTILINE,
)
"""Matches a macro that is a part of a template: literals, its stringized parameter, or nothing."""
_TOKEN = re.compile(rf"{COMMENT_OR_LITERAL} | (?P<mark>::|[:()\[\]{{}},])", re.VERBOSE | re.DOTALL)
_USE = re.compile(
    rf"{COMMENT_OR_LITERAL} | \b(?P<name>[A-Za-z_]\w*) (?:\((?P<argument>\w*)\))?", re.VERBOSE | re.DOTALL
)
_STRINGIZED = re.compile(r"""(?P<literal>"(?:[^"\\\n]|\\.)*")|\#[ \t]*(?P<name>\w+)""")
"""Matches a literal of a template, or a stringized parameter of the macro around the statement."""
_UNKNOWN = re.compile(r"""(?P<literal>R?"(?:[^"\\\n]|\\.)*")|\b(?P<name>[A-Za-z_]\w*)""")
"""Matches a literal of a template, or a name between literals: an unknown macro, or a parameter."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class AsmOperand:
    """An operand of a statement. The expression is empty if its form is not understood."""

    constraint: str
    expression: str

    @property
    def is_written(self) -> bool:
        """Whether the statement assigns it."""
        return self.constraint[:1] in ("=", "+")

    @property
    def kind(self) -> str:
        """The C++ type of its register; empty for a constant."""
        return TYPES.get(_CONSTRAINTS.get(self.constraint.strip("=+&"), ""), "")


@dataclass(frozen=True)
class AsmStatement:
    """A statement, which ends at ``end``. It is not whole if its template contains unknown names."""

    template: str
    operands: tuple[AsmOperand, ...]
    end: int
    is_whole: bool = True


def macros_of_statements(texts: Iterable[str]) -> str:
    """Return the definitions of macros that form parts of statements: of a template or a constraint."""
    return "\n".join(dict.fromkeys(match[0] for text in texts for match in _MACRO.finditer(text) if '"' in match[0]))


def known_macros(text: str) -> Mapping[str, re.Match[str]]:
    """Return the macros of a text that may be parts of statements. Definitions of one macro differ in hints only."""
    known: dict[str, re.Match[str]] = {}
    for match in _MACRO.finditer(text):
        if match["name"] not in known or known[match["name"]]["body"].strip() != _POINTER:
            known[match["name"]] = match  # the last
    return known


def parse(text: str, start: int, macros: Mapping[str, re.Match[str]]) -> AsmStatement | None:
    """Parse the statement whose parenthesis opens before ``start``; None if it does not end or has no template."""
    sections: list[list[str]] = [[""]]
    depth, at = 0, start
    while match := _TOKEN.search(text, at):
        sections[-1][-1] += text[at : match.start()]
        at = match.end()
        mark = match["mark"]
        if mark == ")" and depth == 0:
            return _statement(sections, at, macros)
        if mark in (":", "::") and depth == 0 and len(sections) + len(mark) <= 4:
            sections += [[""] for _ in mark]
        elif mark == "," and depth == 0:
            sections[-1].append("")
        elif match["comment"] is None:
            depth += (mark in ("(", "[", "{")) - (mark in (")", "]", "}")) if mark else 0
            sections[-1][-1] += match[0]
    return None


def _statement(sections: Sequence[Sequence[str]], end: int, macros: Mapping[str, re.Match[str]]) -> AsmStatement | None:
    operands = [_operand(part, macros) for section in sections[1:3] for part in section if part.strip(" \t\r\n\\")]

    def constant(match: re.Match[str]) -> str:
        if not match["name"]:
            return match[0]
        operands.append(AsmOperand("n", match["name"]))
        return f'"%{len(operands) - 1}"'

    pieces = _STRINGIZED.sub(constant, _expanded(sections[0][0], macros))
    template, named = _joined(pieces), _joined(_UNKNOWN.sub(lambda m: m["literal"] or f'"{m["name"]}"', pieces))
    if template is None and named is None:
        return None
    return AsmStatement(template or named or "", tuple(operands), end, is_whole=template is not None)


def _operand(text: str, macros: Mapping[str, re.Match[str]]) -> AsmOperand:
    text = re.sub(r"\\\r?\n", " ", text).strip()
    name, bracket, rest = text.partition("(")
    if (macro := macros.get(name.strip())) and macro["parameter"] is None:
        text = f"{macro['body'].strip()}{bracket}{rest}"
    match = re.fullmatch(r'"([^"]*)"\s*\((.*)\)', text, re.DOTALL)
    return AsmOperand(match[1], " ".join(match[2].split())) if match else AsmOperand("", "")


def _expanded(text: str, macros: Mapping[str, re.Match[str]]) -> str:
    """Replace macros that are literals."""

    def literals(match: re.Match[str]) -> str:
        macro = macros.get(match["name"] or "")
        if macro is None or (macro["parameter"] is None) != (match["argument"] is None):
            return match[0]
        argument = f'"{(match["argument"] or "").strip()}"'
        return re.sub(r"#[ \t]*\w+", lambda _: argument, macro["body"])

    return _USE.sub(literals, text) if macros else text


def _joined(text: str) -> str | None:
    """Return the value of adjacent string literals; None if anything else is between them, such as a macro."""
    text = re.sub(r"\\\r?\n", " ", text)
    pieces = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)"|(\S)', text, re.DOTALL)
    if not pieces or any(other for *_, other in pieces):
        return None
    return "".join(raw or re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), plain) for _, raw, plain, _ in pieces)
