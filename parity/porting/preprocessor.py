"""The value of the condition of an ``#if``, where it can be known.

As the preprocessor does it, with a third value: an operand that is not known makes the result unknown, unless the other
operand of ``&&`` or ``||`` decides it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Value", "evaluate"]

_PART = re.compile(
    r"""(?P<number>0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)[uUlLzZ]*(?![\w.]) | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<operator>\|\||&&|<<|>>|[<>=!]=|[-+*/%&|^~!<>?:()]) | (?P<other>\S)""",
    re.VERBOSE,
)
_ASKS = ("__has_include", "__has_include_next", "__has_builtin", "__has_attribute", "__has_feature", "__has_extension")


@dataclass(frozen=True)
class Value:
    """A value (None if it is not known), and the names of macros that it comes from."""

    value: int | None
    unknown: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()


# How strongly the binary operators bind.
_BINDING = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_OPERATION: dict[str, Callable[[int, int], int]] = {
    "|": int.__or__, "^": int.__xor__, "&": int.__and__, "+": int.__add__, "-": int.__sub__, "*": int.__mul__,
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b), "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << min(b, 64), ">>": lambda a, b: a >> b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}  # fmt: skip


class _Undecidable(Exception):
    """The text is no expression that is understood here."""


def evaluate(text: str, find: Callable[[str], str | None], defined: Callable[[str], Value]) -> Value:
    """The value of a condition. ``find`` is what a name expands to, ``defined`` the value of ``defined(name)``."""
    try:
        expression = _Expression(list(_expanded(text, find, frozenset())), defined)
        value = expression.ternary()
        if not expression.ended:
            raise _Undecidable
        return value
    except (_Undecidable, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        names = {match["name"] for match in _PART.finditer(text)} - {None, "defined"}
        return Value(None, frozenset(names))


@dataclass(frozen=True)
class _Part:
    """A token of a condition; a number may come from the expansion of macros, whose names are ``used``."""

    text: str
    is_name: bool = False
    value: int | None = None
    used: frozenset[str] = frozenset()


def _expanded(text: str, find: Callable[[str], str | None], within: frozenset[str]) -> Iterator[_Part]:
    """The tokens of a text, macros expanded but for those ``within``, names that are not defined as 0."""
    before: tuple[str, ...] = ("", "")
    for match in _PART.finditer(text):
        name = match["name"]
        if digits := (match["number"] or "").replace("'", ""):
            octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
            yield _Part(digits, value=int(digits, 8 if octal else 0), used=within)
        elif name is None:
            yield _Part(match[0])
        elif name in ("true", "false"):
            yield _Part(name, value=int(name == "true"), used=within)
        else:
            asked = before[1] == "defined" or before == ("defined", "(")
            value = None if asked or name in (*within, "defined", *_ASKS) else find(name)
            if value is None:
                yield _Part(name, is_name=True, used=within)
            elif value:
                yield from _expanded(value, find, within | {name})
            else:
                yield _Part(name, value=0, used=within | {name})
        before = before[1], match[0]


class _Expression:
    """Reads tokens as an expression. The methods raise ``_Undecidable`` where there is none."""

    def __init__(self, parts: Sequence[_Part], defined: Callable[[str], Value]) -> None:
        self._parts, self._defined, self._place = parts, defined, 0

    @property
    def ended(self) -> bool:
        return self._place == len(self._parts)

    @property
    def _next(self) -> str:
        return "" if self.ended else self._parts[self._place].text

    def _take(self, wanted: str = "") -> _Part:
        if self.ended or (wanted and self._next != wanted):
            raise _Undecidable
        self._place += 1
        return self._parts[self._place - 1]

    def ternary(self) -> Value:
        condition = self._binary(1)
        if self._next != "?":
            return condition
        self._take("?")
        yes = self.ternary()
        self._take(":")
        no = self.ternary()
        chosen = None if condition.value is None else yes.value if condition.value else no.value
        return _both(chosen, _both(None, condition, yes), no)

    def _binary(self, least: int) -> Value:
        left = self._unary()
        while (binding := _BINDING.get(self._next, 0)) >= least:
            operator = self._take().text
            left = _combined(operator, left, self._binary(binding + 1))
        return left

    def _unary(self) -> Value:
        part = self._take()
        if part.value is not None:
            return Value(part.value, used=part.used)
        if part.text == "defined":
            parenthesis = self._next == "(" and self._take()
            value = self._defined(self._take().text)
            if parenthesis:
                self._take(")")
            return value
        if part.is_name:
            if self._next == "(":  # a macro with arguments, or a question to the compiler
                self._skip_call()
            return Value(None, frozenset({part.text}), part.used)
        if part.text == "(":
            value = self.ternary()
            self._take(")")
            return value
        if part.text not in ("!", "-", "+", "~"):
            raise _Undecidable
        operand = self._unary()
        if operand.value is None:
            return operand
        result = {"!": int(not operand.value), "-": -operand.value, "+": operand.value, "~": ~operand.value}
        return Value(result[part.text], operand.unknown, operand.used)

    def _skip_call(self) -> None:
        self._take("(")
        depth = 1
        while depth:
            part = self._take().text
            depth += (part == "(") - (part == ")")


def _both(value: int | None, left: Value, right: Value) -> Value:
    return Value(value, left.unknown | right.unknown, left.used | right.used)


def _combined(operator: str, left: Value, right: Value) -> Value:
    a, b = left.value, right.value
    if operator in ("&&", "||"):
        decides = operator == "||"
        if any(value is not None and bool(value) == decides for value in (a, b)):
            decisive = [v for v in (left, right) if v.value is not None and bool(v.value) == decides]
            return Value(int(decides), used=frozenset().union(*(v.used for v in decisive)))
        return _both(None if a is None or b is None else int(not decides), left, right)
    return _both(None if a is None or b is None else _OPERATION[operator](a, b), left, right)
