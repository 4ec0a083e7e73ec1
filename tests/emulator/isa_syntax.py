"""Parse AMD's pseudo-code into a tree of tuples."""

from __future__ import annotations

import functools
import re
from typing import Any

from isa_values import Value, integer, rounded

__all__ = ["Node", "parse"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<sized>\d+'-?(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)U?)
    |(?P<cast>\d+'(?:BF|[UIFB]))
    |(?P<number>0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+\.\d+F?|\d+(?:ULL|LL|U|F)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<op>\+:|\*\*|<<|>>|<>|<=|>=|==|!=|&&|\|\||\+=|-=|[-+*/%&|^~!<>=?:;,.()\[\]{}]))""",
    re.VERBOSE,
)
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"), ("**",),
)  # fmt: skip
Node = tuple[Any, ...]


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        text = re.sub(r"\b(?:WAVE_MODE|TRAPSTS)\.(?=[A-Z])", "", re.sub(r"//.*", "", text))
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if not match:
                raise SyntaxError(f"pseudo-code {text[at : at + 40]!r}")
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
            at = match.end()
        self.tokens.append(("end", ""))
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at][1]

    def take(self, *expected: str) -> str:
        _, token = self.tokens[self.at]
        if expected and token not in expected:
            raise SyntaxError(f"{token!r} instead of {' or '.join(expected)}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next == token and self.tokens[self.at][0] != "end":
            self.at += 1
            return True
        return False

    def block(self, *ends: str) -> list[Node]:
        body: list[Node] = []
        while self.next not in ends:
            if not self.accept(";"):
                body.append(self.statement())
        return body

    def statement(self) -> Node:
        if self.accept("if"):
            branches, otherwise = [], []
            while True:
                condition = self.expression()
                self.take("then")
                branches.append((condition, self.block("elsif", "else", "endif")))
                if not self.accept("elsif"):
                    break
            if self.accept("else"):
                otherwise = self.block("endif")
            self.take("endif")
            return ("if", branches, otherwise)
        if self.accept("for"):
            name = self.take()
            self.take("in")
            first = self.expression()
            self.take(":")
            last = self.expression()
            self.take("do")
            body = self.block("endfor")
            self.take("endfor")
            return ("for", name, first, last, body)
        if self.accept("declare"):
            name = self.take()
            self.take(":")
            kind, width = _type(self.take())
            count = None
            if self.accept("["):
                count = int(self.take())
                self.take("]")
            return ("declare", name, kind, width, count)
        if self.accept("return"):
            return ("return", self.expression())
        if self.accept("break"):
            return ("break",)
        target = self.unary()
        if self.next in ("=", "+=", "-="):
            operator = self.take()
            if self.accept("lambda"):
                return ("lambda", target[1], *self.function())
            value = self.expression()
            while self.accept("="):
                value = ("also", value, self.expression())
            return ("assign", target, ("binary", operator[0], target, value) if len(operator) == 2 else value)
        return ("call", target)

    def function(self) -> tuple[list[str], list[Node]]:
        self.take("(")
        names = []
        while not self.accept(")"):
            names.append(self.take())
            self.accept(",")
        self.take("(")
        if self.next in ("declare", "if"):
            body = self.block(")")
        else:
            body = [("return", self.expression())]
            self.accept(";")
        self.take(")")
        return names, body

    def expression(self) -> Node:
        condition = self.level(0)
        if self.accept("?"):
            first = self.expression()
            self.take(":")
            return ("choose", condition, first, self.expression())
        return condition

    def level(self, n: int) -> Node:
        if n == len(_LEVELS):
            return self.unary()
        left = self.level(n + 1)
        while self.next in _LEVELS[n]:
            left = ("binary", self.take(), left, self.level(n + 1))
        return left

    def unary(self) -> Node:
        if self.next in ("-", "+", "!", "~"):
            return ("unary", self.take(), self.unary())
        return self.postfix(self.primary())

    def postfix(self, node: Node) -> Node:
        while True:
            if self.accept("."):
                match = re.fullmatch(r"(bf|[uifb])(\d+)", self.take())
                if not match:
                    raise SyntaxError("field without a type")
                node = ("field", node, match[1].upper(), int(match[2]))
            elif self.accept("["):
                first = self.expression()
                if self.accept(":"):
                    node = ("slice", node, first, self.expression())
                elif self.accept("+:"):
                    node = ("part", node, first, self.expression())
                else:
                    node = ("index", node, first)
                self.take("]")
            else:
                return node

    def primary(self) -> Node:
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "cast":
            cast, width = _type(token)
            self.take("(")
            value = self.expression()
            self.take(")")
            return ("cast", cast, width, value)
        if kind in ("number", "sized"):
            return ("value", _literal(token))
        if token == "(":
            node = self.expression()
            self.take(")")
            return node
        if token == "{":
            parts = [self.expression()]
            while self.accept(","):
                parts.append(self.expression())
            self.take("}")
            return ("join", parts)
        if kind != "name":
            raise SyntaxError(f"unexpected {token!r}")
        if self.accept("("):
            arguments = []
            while not self.accept(")"):
                arguments.append(self.expression())
                self.accept(",")
            return ("apply", token, arguments)
        return ("name", token)


def _type(token: str) -> tuple[str, int]:
    width, _, kind = token.partition("'")
    return kind, int(width)


def _literal(token: str) -> Value:
    if "'" in token:
        width, _, digits = token.partition("'")
        if "." in digits:
            return rounded(float(digits), "F", int(width))
        return integer(int(digits.rstrip("U"), 0), "U", int(width))
    if token.startswith("0x"):
        digits = token.rstrip("UL")
        return integer(int(digits, 16), "B", 64 if token.endswith("LL") else 32)
    if "." in token or token.endswith("F"):
        return rounded(float(token.rstrip("F")), "F", 32 if token.endswith("F") else 64)
    digits = token.rstrip("UL")
    return integer(int(digits), "U" if "U" in token else "I", 64 if token.endswith("LL") else 32)


@functools.cache
def parse(text: str) -> list[Node]:
    """Return the statements of an instruction's text.

    Raises:
        SyntaxError: the text is not pseudo-code (some entries are prose).
    """
    return _Parser(text).block("")
