"""Evaluates the condition of an ``#if``, with a third value for what is unknown.

An unknown operand makes the result unknown, unless one operand of ``&&`` or ``||`` decides it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<number>0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)[uUlLzZ]*(?![\w.]) | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<operator>\|\||&&|<<|>>|[<>=!]=|[-+*/%&|^~!<>?:()]) | (?P<other>\S)""",
    re.VERBOSE,
)
_QUERY = re.compile(r"__has_(?:include(?:_next)?|builtin|attribute|feature|extension)")


@dataclass(frozen=True)
class ConditionValue:
    """A value, None if it is unknown, and the macros that it depends on.

    ``unknown`` are the macros with unknown values, and ``used`` those with known values.
    """

    value: int | None
    unknown: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()


_PRECEDENCE = {
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
    """The text is not an expression that ``evaluate`` understands."""


def evaluate(text: str, find: Callable[[str], str | None], defined: Callable[[str], ConditionValue]) -> ConditionValue:
    """Return the value of a condition.

    Args:
        text: The condition.
        find: Returns the expansion of a macro: empty if it is not defined, None if it is unknown.
        defined: Returns the value of ``defined(name)``.
    """
    try:
        expression = _Expression(list(_expanded(text, find, frozenset())), defined)
        value = expression.ternary()
        if not expression.ended:
            raise _Undecidable
        return value
    except (_Undecidable, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        names = {match["name"] for match in _TOKEN.finditer(text)} - {None, "defined"}
        return ConditionValue(None, frozenset(names))


@dataclass(frozen=True)
class _Token:
    """A token of a condition. ``used`` are the macros whose expansion it comes from."""

    text: str
    is_name: bool = False
    value: int | None = None
    used: frozenset[str] = frozenset()


def _expanded(text: str, find: Callable[[str], str | None], within: frozenset[str]) -> Iterator[_Token]:
    """Yield the tokens of a text. Macros are expanded, except those ``within``; undefined names are 0."""
    before: tuple[str, ...] = ("", "")
    for match in _TOKEN.finditer(text):
        name = match["name"]
        if digits := (match["number"] or "").replace("'", ""):
            octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
            yield _Token(digits, value=int(digits, 8 if octal else 0), used=within)
        elif name is None:
            yield _Token(match[0])
        elif name in ("true", "false"):
            yield _Token(name, value=int(name == "true"), used=within)
        else:
            is_operand = before[1] == "defined" or before == ("defined", "(")
            is_fixed = is_operand or name in (*within, "defined") or _QUERY.fullmatch(name)
            value = None if is_fixed else find(name)
            if value is None:
                yield _Token(name, is_name=True, used=within)
            elif value:
                yield from _expanded(value, find, within | {name})
            else:
                yield _Token(name, value=0, used=within | {name})
        before = before[1], match[0]


class _Expression:
    """A recursive-descent parser that evaluates. Its methods raise ``_Undecidable`` at a syntax error."""

    def __init__(self, tokens: Sequence[_Token], defined: Callable[[str], ConditionValue]) -> None:
        self._tokens, self._defined, self._place = tokens, defined, 0

    @property
    def ended(self) -> bool:
        return self._place == len(self._tokens)

    @property
    def _next(self) -> str:
        return "" if self.ended else self._tokens[self._place].text

    def _take(self, wanted: str = "") -> _Token:
        if self.ended or (wanted and self._next != wanted):
            raise _Undecidable
        self._place += 1
        return self._tokens[self._place - 1]

    def ternary(self) -> ConditionValue:
        condition = self._binary(1)
        if self._next != "?":
            return condition
        self._take("?")
        yes = self.ternary()
        self._take(":")
        no = self.ternary()
        chosen = None if condition.value is None else yes.value if condition.value else no.value
        return _both(chosen, _both(None, condition, yes), no)

    def _binary(self, least: int) -> ConditionValue:
        left = self._unary()
        while (precedence := _PRECEDENCE.get(self._next, 0)) >= least:
            operator = self._take().text
            left = _combined(operator, left, self._binary(precedence + 1))
        return left

    def _unary(self) -> ConditionValue:
        token = self._take()
        if token.value is not None:
            return ConditionValue(token.value, used=token.used)
        if token.text == "defined":
            parenthesis = self._next == "(" and self._take()
            value = self._defined(self._take().text)
            if parenthesis:
                self._take(")")
            return value
        if token.is_name:
            if self._next == "(":  # a macro with arguments, or a query such as __has_include
                self._skip_call()
            return ConditionValue(None, frozenset({token.text}), token.used)
        if token.text == "(":
            value = self.ternary()
            self._take(")")
            return value
        if token.text not in ("!", "-", "+", "~"):
            raise _Undecidable
        operand = self._unary()
        if operand.value is None:
            return operand
        result = {"!": int(not operand.value), "-": -operand.value, "+": operand.value, "~": ~operand.value}
        return ConditionValue(result[token.text], operand.unknown, operand.used)

    def _skip_call(self) -> None:
        self._take("(")
        depth = 1
        while depth:
            token = self._take().text
            depth += (token == "(") - (token == ")")


def _both(value: int | None, left: ConditionValue, right: ConditionValue) -> ConditionValue:
    return ConditionValue(value, left.unknown | right.unknown, left.used | right.used)


def _combined(operator: str, left: ConditionValue, right: ConditionValue) -> ConditionValue:
    a, b = left.value, right.value
    if operator in ("&&", "||"):
        decides = operator == "||"
        if any(value is not None and bool(value) == decides for value in (a, b)):
            decisive = [v for v in (left, right) if v.value is not None and bool(v.value) == decides]
            return ConditionValue(int(decides), used=frozenset().union(*(v.used for v in decisive)))
        return _both(None if a is None or b is None else int(not decides), left, right)
    return _both(None if a is None or b is None else _OPERATION[operator](a, b), left, right)
