"""Reads the values that ``@triton.autotune`` and ``@triton.heuristics`` give to a function.

A heuristic is a Python function of the arguments. ``rule_text`` translates it into an expression of declarations, so
that parity knows its value for each case without running it. This file imports nothing of parity but its neighbours.
"""

from __future__ import annotations

import ast
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.triton_kernels.host_records import Unusable, constant_value

_RENAMED = {"next_power_of_2": "bit_ceil", "max": "max", "min": "min", "abs": "abs"}
"""Functions that expressions of declarations have, perhaps by another name."""
_CONVERSIONS = ("int", "bool", "float")
_FOLDED: dict[str, Any] = {
    "max": max,
    "min": min,
    "abs": abs,
    "ceil": math.ceil,
    "bit_ceil": lambda n: 1 << max(0, n - 1).bit_length(),
    "__builtins__": {},
}


class Untranslatable(Exception):
    """A heuristic that is not an expression of numbers."""


def described_decorators(decorators: Sequence[Any], inner: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the decorators of a function say, as data.

    ``configurations`` are the values of each configuration, ``rules`` the texts of heuristics, and ``problems`` why
    other heuristics have none, by name. ``given`` are the constants of the declaration.
    """
    found: dict[str, Any] = {"parameters": list(inner.arg_names), "configurations": [], "rules": {}, "problems": {}}
    for layer in decorators:
        for config in getattr(layer, "configs", None) or ():
            try:
                values = {name: constant_value(value) for name, value in _values(config).items()}
            except Unusable as error:
                raise ValueError(f"@triton.autotune has the value {error}, which is not a constant") from None
            found["configurations"].append(values)
        for name, rule in (getattr(layer, "values", None) or {}).items():
            try:
                found["rules"][name] = rule_text(rule, given)
            except Untranslatable as error:
                found["problems"][name] = str(error)
    return found


def _values(config: Any) -> dict[str, Any]:
    """Return the constants and the options of a configuration."""
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages, "maxnreg": config.maxnreg}
    several = {"num_ctas": config.num_ctas} if config.num_ctas != 1 else {}
    return {**config.kwargs, **{k: v for k, v in options.items() if v is not None}, **several}


def rule_text(rule: Callable[[Any], Any], given: Mapping[str, Any]) -> str:
    """Return a heuristic as an expression of the names of arguments: ``K % BLOCK == 0``, or as a constant.

    Raises:
        Untranslatable: it uses something else.
    """
    if not isinstance(rule, types.FunctionType):
        raise Untranslatable(f"{rule!r} is not a Python function")
    node = _definition(rule)
    if len(node.args.args) != 1:
        raise Untranslatable(f"{ast.unparse(node.args)} is not one argument")
    inside = {**rule.__globals__, **inspect.getclosurevars(rule).nonlocals}
    translation = _Translation(node.args.args[0].arg, given, inside)
    body = [ast.Return(node.body)] if isinstance(node, ast.Lambda) else node.body
    return ast.unparse(ast.fix_missing_locations(translation.returned(body, {})))


def _definition(rule: types.FunctionType) -> ast.Lambda | ast.FunctionDef:
    """Return the definition of a function in its file."""
    code = rule.__code__
    columns = [(place[0], place[2]) for place in code.co_positions() if place[2] is not None]

    def contains(node: ast.AST) -> bool:
        body = node.body if isinstance(node, ast.Lambda) else node
        assert isinstance(body, ast.expr | ast.FunctionDef)
        first, last = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
        return any(first <= (line or 0, column or 0) < last for line, column in columns)

    try:
        tree = ast.parse(Path(code.co_filename).read_text())
    except (OSError, SyntaxError) as error:
        raise Untranslatable(str(error)) from None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda | ast.FunctionDef)
        and (getattr(node, "name", "<lambda>") == code.co_name)
        and contains(node)
    ]
    if not found:
        raise Untranslatable(f"{code.co_name} is not in {Path(code.co_filename).name}")
    return found[-1]


class _Translation:
    """Translates Python to expressions of declarations. ``inside`` are the values of names outside the function."""

    def __init__(self, argument: str, given: Mapping[str, Any], inside: Mapping[str, Any]) -> None:
        self._argument, self._given, self._inside = argument, given, inside

    def returned(self, statements: Sequence[ast.stmt], known: Mapping[str, ast.expr]) -> ast.expr:
        """Return the value that statements return."""
        for number, statement in enumerate(statements):
            rest = statements[number + 1 :]
            match statement:
                case ast.Expr(value=ast.Constant()):
                    continue
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    known = {**known, name: self._value(value, known)}
                case ast.Return(value=ast.expr() as value):
                    return self._value(value, known)
                case ast.If(test=test, body=body, orelse=otherwise):
                    return _chosen(
                        self._value(test, known),
                        self.returned([*body, *rest], known),
                        self.returned([*otherwise, *rest], known),
                    )
                case _:
                    raise _refusal(statement)
        raise Untranslatable("it does not always return a value")

    def _value(self, node: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr:
        def value(each: ast.expr) -> ast.expr:
            return self._value(each, known)

        match node:
            case ast.Constant():
                return node
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)) if (
                name == self._argument
            ):
                return self._named(key)
            case ast.Name(id=name) if name in known:
                return known[name]
            case ast.Name(id=name) if name in self._inside and isinstance(self._inside[name], bool | int | float | str):
                return ast.Constant(self._inside[name])
            case ast.BinOp(left=left, op=sign, right=right):
                return _folded(ast.BinOp(value(left), sign, value(right)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _chosen(value(operand), ast.Constant(False), ast.Constant(True))
            case ast.UnaryOp(op=sign, operand=operand):
                return _folded(ast.UnaryOp(sign, value(operand)))
            case ast.BoolOp(op=sign, values=[first, *others]):
                found = value(first)
                for each in others:
                    both = isinstance(sign, ast.And)
                    found = _chosen(found, value(each), found) if both else _chosen(found, found, value(each))
                return found
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as sign], comparators=[ast.Constant(value=None)]):
                inner = value(left)
                is_none = isinstance(inner, ast.Constant) and inner.value is None
                return ast.Constant(is_none == isinstance(sign, ast.Is))
            case ast.Compare(left=left, ops=signs, comparators=others):
                return _folded(ast.Compare(value(left), signs, [*map(value, others)]))
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return _chosen(value(test), value(body), value(otherwise))
            case ast.Tuple(elts=elements):
                return ast.Tuple([*map(value, elements)], ast.Load())
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._called(node, ast.unparse(function), [*map(value, arguments)])
        raise _refusal(node)

    def _named(self, key: str) -> ast.expr:
        """Return an argument of the kernel."""
        value = self._given.get(key, 0)
        return (
            ast.Constant(value) if value is None or isinstance(value, bool | str | float) else ast.Name(key, ast.Load())
        )

    def _called(self, node: ast.Call, function: str, arguments: list[ast.expr]) -> ast.expr:
        name = function.rpartition(".")[2]
        if name == "cdiv" and len(arguments) == 2:
            return _folded(_call("ceil", ast.BinOp(arguments[0], ast.Div(), arguments[1])))
        if name in _CONVERSIONS and len(arguments) == 1:
            return arguments[0]
        if name in _RENAMED:
            return _folded(_call(_RENAMED[name], *arguments))
        raise _refusal(node)


def _refusal(node: ast.AST) -> Untranslatable:
    return Untranslatable(f"{ast.unparse(node).splitlines()[0]} is not an expression of numbers")


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def _folded(node: ast.expr) -> ast.expr:
    """Return the value of an expression of constants, and another expression unchanged."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if names - _FOLDED.keys():
        return node
    try:
        return ast.Constant(eval(ast.unparse(ast.fix_missing_locations(node)), dict(_FOLDED)))
    except Exception as error:
        raise Untranslatable(f"{ast.unparse(node)}: {error}") from None


def _chosen(test: ast.expr, one: ast.expr, other: ast.expr) -> ast.expr:
    """Return ``one if test else other``. Expressions of declarations do not have True and False."""
    if isinstance(test, ast.Constant):
        return one if test.value else other

    def flag(node: ast.expr) -> bool | None:
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, bool) else None

    inverse = ast.UnaryOp(ast.Not(), test)
    match flag(one), flag(other):
        case (True, True) | (False, False):
            return one
        case True, False:
            return test
        case False, True:
            return inverse
        case True, None:
            return ast.BoolOp(ast.Or(), [test, other])
        case False, None:
            return ast.BoolOp(ast.And(), [inverse, other])
        case None, True:
            return ast.BoolOp(ast.Or(), [inverse, one])
        case None, False:
            return ast.BoolOp(ast.And(), [test, one])
    if one is test and other is not test:
        return ast.BoolOp(ast.Or(), [test, other])
    if other is test:
        return ast.BoolOp(ast.And(), [test, one])
    return ast.IfExp(test, one, other)
