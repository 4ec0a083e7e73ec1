"""Expressions of declarations: arithmetic over extents and parameters, in a checked subset of Python.

Examples: ``ceil(r*c/256)``, ``(l + 2*padding - k)//stride + 1``, ``min(1024, bit_ceil(columns))``, ``d % 2 == 0 and
d > 0``, ``32 if columns < 1024 else 1024``, ``x.strides[0]``. Division of whole numbers is exact, and so are ``ceil``
and ``floor`` of a quotient. A list of dims, such as ``x.shape``, is a tuple.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from parity.errors import UsageError, nearest

Value = Any
"""A whole number, a Fraction, a float, a bool, or a tuple of such values."""

ATTRIBUTES = ("shape", "strides", "offset", "numel", "itemsize")
"""Attributes of a tensor in an expression. Strides and offset are in elements, ``itemsize`` is in bytes."""


def _bit_ceil(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "abs": abs,
    "len": len,
    "prod": math.prod,
    "sum": sum,
    "sqrt": math.sqrt,
    "bit_ceil": _bit_ceil,
    "bit_width": lambda n: int(n).bit_length(),
}
"""``bit_ceil`` is the smallest power of two that is not less, ``bit_width`` the number of bits (as in C++20)."""


def _quotient(a: Value, b: Value) -> Value:
    return a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a, b)


_OPERATORS = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
)

_ERRORS = (KeyError, ZeroDivisionError, TypeError, AttributeError, IndexError, ValueError, OverflowError)
"""The exceptions of evaluations. A KeyError is about a missing name or tensor."""


@dataclass(frozen=True)
class Scope:
    """The values of names, and the tensors (with ``ATTRIBUTES``), with which an expression is evaluated.

    ``failed`` holds the errors of names whose defining expressions have no value.
    """

    names: dict[str, Value]
    tensors: Mapping[str, Any] = field(default_factory=dict)
    failed: dict[str, UsageError] = field(default_factory=dict)


@dataclass(frozen=True)
class Expression:
    """A parsed expression, with the ``names`` and ``tensors`` that it uses."""

    text: str
    tree: ast.expr = field(repr=False, compare=False)
    names: frozenset[str] = field(compare=False)
    tensors: frozenset[str] = field(compare=False)

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The name, if the expression is a single name; otherwise empty."""
        return self.tree.id if isinstance(self.tree, ast.Name) else ""

    @property
    def conjuncts(self) -> tuple[Expression, ...]:
        """The operands of a top-level ``and``; otherwise the expression itself."""
        both = isinstance(self.tree, ast.BoolOp) and isinstance(self.tree.op, ast.And)
        parts = self.tree.values if both else [self.tree]  # type: ignore[attr-defined]
        return tuple(expression(ast.unparse(part)) for part in parts) if both else (self,)

    def __call__(self, scope: Scope) -> Value:
        """Evaluate the expression.

        Raises:
            UsageError: a name has no value, a divisor is zero, or an operand has the wrong type.
        """
        return self._value(self.tree, scope)

    def column(self, name: str) -> int:
        """Return the column of the first occurrence of a name, counted from 1."""
        found = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == name)
        return min(node.col_offset for node in found) + 1

    def shown(self, scope: Scope) -> str:
        """Return the values of the names that the expression uses, and shapes: ``c=0, r=3, x.shape=(3, 0)``."""
        names = [f"{name}={scope.names[name]}" for name in sorted(self.names) if name in scope.names]
        shapes = [f"{each}.shape={scope.tensors[each].shape}" for each in sorted(self.tensors) if each in scope.tensors]
        return ", ".join((*names, *shapes))

    def unknown(self, scope: Scope) -> frozenset[str]:
        """Return the names that do not have a value."""
        return frozenset(name for name in self.names if name not in scope.names)

    def solve(self, target: int, scope: Scope) -> tuple[str, int | None] | None:
        """Solve ``expression == target`` for the only name without a value.

        Returns the name and its extent (None if no extent solves the equation), or None if the expression cannot be
        inverted: ``n//32`` has the same value for many n.
        """
        (name,) = self.unknown(scope)
        node, value = self.tree, Fraction(target)
        while isinstance(node, ast.BinOp):
            left, right, kind = node.left, node.right, type(node.op)
            inside = self._has(left, name)
            if inside == self._has(right, name) or kind not in (ast.Add, ast.Sub, ast.Mult, ast.Div):
                return None
            other = self._value(right if inside else left, scope)
            if kind is ast.Add:
                value -= other
            elif kind is ast.Sub:
                value = value + other if inside else other - value
            elif kind is ast.Mult and other:
                value /= other
            elif kind is ast.Div and inside:
                value *= other
            else:
                return None
            node = left if inside else right
        if not isinstance(node, ast.Name):
            return None
        return name, int(value) if value.denominator == 1 and value >= 0 else None

    @staticmethod
    def _has(node: ast.expr, name: str) -> bool:
        return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))

    def _value(self, node: ast.expr, scope: Scope) -> Value:
        """Evaluate a part of the expression. An error is about the innermost part without a value."""
        known = {name: scope.names[name] for name in scope.names.keys() - scope.failed} if scope.failed else scope.names
        try:
            return _compiled(self.text if node is self.tree else ast.unparse(node))(known, scope.tensors)
        except _ERRORS as error:
            for part in self._evaluated(node, scope):
                self._value(part, scope)
            match node, error:
                case ast.Name(id=name), _:
                    if name in scope.failed:
                        raise scope.failed[name] from None
                    self._fail(node, f"{name} has no value here{nearest(name, scope.names)}")
                case ast.Attribute(value=ast.Name(id=name)), _:
                    self._fail(node, f"there is no tensor {name} here{nearest(name, scope.tensors)}")
                case _, ZeroDivisionError():
                    self._fail(node, f"a division by zero with {self.shown(scope)}; exclude it with where=")
            self._fail(node, f"{error} with {self.shown(scope)}")

    def _evaluated(self, node: ast.expr, scope: Scope) -> list[ast.expr]:
        """Return the parts of a part that may be evaluated before it."""
        match node:
            case ast.Attribute():
                return []
            case ast.Call(args=arguments):
                return arguments
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return [test, body if self._value(test, scope) else otherwise]
        return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]

    def _fail(self, node: ast.expr, what: str) -> NoReturn:
        raise UsageError(f"{self.text!r}, column {node.col_offset + 1}: {what}")


@functools.lru_cache(maxsize=4096)
def _compiled(text: str) -> Callable[[Mapping[str, Value], Mapping[str, Any]], Value]:
    """Return an expression as a function of names and tensors."""
    body = ast.unparse(_Compiler().visit(copy.deepcopy(expression(text).tree)))
    compiled: Callable[[Mapping[str, Value], Mapping[str, Any]], Value]
    compiled = eval(f"lambda names, tensors: _plain({body})", {**FUNCTIONS, **_HELPERS})  # of what _check accepts
    return compiled


class _Compiler(ast.NodeTransformer):
    """Rewrites an expression so that Python computes it: exact quotients, Boolean results, and names from mappings."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(f"names[{node.id!r}]", mode="eval").body

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        assert isinstance(node.value, ast.Name)
        return ast.parse(f"tensors[{node.value.id!r}].{node.attr}", mode="eval").body

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return _called("_quotient", node.left, node.right) if isinstance(node.op, ast.Div) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        return _called("bool", node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.generic_visit(node)
        node.elts = [_called("_plain", each) for each in node.elts]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.args = [self.visit(each) for each in node.args]
        return node


def _called(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


@functools.lru_cache(maxsize=4096)
def expression(text: str) -> Expression:
    """Parse an expression.

    Raises:
        UsageError: the text is not an expression; the message has the column.
    """
    text = text.strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError) as error:
        column = f", column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UsageError(f"{text!r}{column}: not an expression ({reason}); write one like ceil(n/256)") from None
    names: set[str] = set()
    tensors: set[str] = set()
    found = Expression(text, tree, frozenset(), frozenset())
    _check(found, tree, names, tensors)
    return Expression(text, tree, frozenset(names), frozenset(tensors))


def _check(whole_text: Expression, node: ast.expr, names: set[str], tensors: set[str]) -> None:
    """Check that the syntax tree uses only the supported subset, and collect names and tensors."""
    inner: list[ast.expr] = []
    match node:
        case ast.Constant(value=bool() | str() | bytes() | None):
            whole_text._fail(node, f"{ast.unparse(node)} is not a number")
        case ast.Constant(value=int() | float()):
            pass
        case ast.Name(id=name):
            names.add(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            if attribute not in ATTRIBUTES:
                known = f"a tensor has {' '.join(ATTRIBUTES)}"
                whole_text._fail(node, f"unknown {attribute!r}; {known}{nearest(attribute, ATTRIBUTES)}")
            tensors.add(name)
        case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp() | ast.Name() | ast.BinOp() as index):
            inner = [value, index]
        case ast.BinOp(left=left, op=sign, right=right) if isinstance(sign, _OPERATORS):
            inner = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            inner = [operand]
        case ast.BoolOp(values=values):
            inner = values
        case ast.Compare(left=left, ops=signs, comparators=others) if all(isinstance(s, _OPERATORS) for s in signs):
            inner = [left, *others]
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            inner = [test, body, otherwise]
        case ast.Tuple(elts=elements):
            inner = elements
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in FUNCTIONS:
                known = f"there are {' '.join(FUNCTIONS)}"
                whole_text._fail(node, f"unknown function {name!r}; {known}{nearest(name, FUNCTIONS)}")
            inner = arguments
        case _:
            what = f"{ast.unparse(node)} cannot be used here; there are numbers, names, + - * / // %, comparisons"
            whole_text._fail(node, f"{what}, and, or, not, x if c else y, and {' '.join(FUNCTIONS)}")
    for each in inner:
        _check(whole_text, each, names, tensors)


def _plain(value: Value) -> Value:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


_HELPERS = {"_quotient": lambda a, b: _plain(_quotient(a, b)), "_plain": _plain, "__builtins__": {"bool": bool}}


def whole(value: Value, what: str) -> int:
    """Return the value as a whole number. ``what`` is the expression, for errors.

    Raises:
        UsageError: the value is not a whole number.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        hint = f"; write ceil({what}) or //" if isinstance(value, Fraction) else ""
        raise UsageError(f"{what!r} gives {value}, which is not a whole number{hint}")
    return value
