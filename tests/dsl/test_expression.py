"""Expressions in declarations: evaluation, errors, and solving for an unknown."""

from __future__ import annotations

import ast
import operator
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity.dsl.expression import FUNCTIONS, Scope, expression, whole
from parity.errors import UsageError

X = SimpleNamespace(shape=(3, 10), strides=(12, 1), offset=0, numel=30, itemsize=2)
SCOPE = Scope({"r": 3, "c": 100, "zero": 0, "kept": (2, 5), "b": 2, "f": 0.5}, {"x": X})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ceil(r*c/256)", 2),
        ("r*c//256", 1),
        ("c/3", Fraction(100, 3)),
        ("c/50", 2),
        ("-r % 5", 2),
        ("min(1024, bit_ceil(c))", 128),
        ("bit_width(c)", 7),
        ("32 if c < 1024 else 1024", 32),
        ("r == 3 and 0 < b <= 2 and not zero", True),
        ("zero or b", True),
        ("kept in ((), (b, 5))", True),
        ("prod(kept)*len(kept)", 20),
        ("x.shape[0] * x.strides[-2] + x.numel*x.itemsize", 96),
        ("f*2 + b", 3.0),
        ("f/2", 0.25),
        ("zero and 1//zero", False),
        (" c ", 100),
    ],
)
def test_expression_evaluates_to_value(text, value):
    found = expression(text)(SCOPE)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("r*", "'r\\*': not an expression|'r\\*', column"),
        ("r*d", "'r\\*d', column 3: d has no value here"),
        ("r + c//zero", "column 5: a division by zero with c=100, r=3, zero=0; exclude it with where="),
        ("c % zero", "a division by zero"),
        ("y.shape", "column 1: there is no tensor y here"),
        ("x.dtype", "unknown 'dtype'; a tensor has shape strides offset numel itemsize"),
        ("cel(r)", "unknown function 'cel'; there are ceil .*; did you mean ceil"),
        ("__import__('os')", "unknown function '__import__'"),
        ("().__class__", "cannot be used here"),
        ("(lambda: 1)()", "cannot be used here"),
        ("[r for r in kept]", "cannot be used here"),
        ("r ** 99", "cannot be used here"),
        ("'text'", "'text' is not a number"),
        ("r if True else c", "True is not a number"),
        ("kept[9]", "tuple index out of range"),
        ("kept < r", "not supported between"),
        ("bit_ceil(f + 1)", "column 1: 'float' object has no attribute"),
    ],
)
def test_expression_error_names_column(text, says):
    with pytest.raises(UsageError, match=says):
        expression(text)(SCOPE)


@pytest.mark.parametrize(
    ("text", "target", "found"),
    [
        ("2*n", 10, ("n", 5)),
        ("2*n", 9, ("n", None)),
        ("r*n + 1", 10, ("n", 3)),
        ("10 - n", 4, ("n", 6)),
        ("n/2", 4, ("n", 8)),
        ("n//2", 4, None),
        ("n*zero", 0, None),
        ("n - 5", -9, ("n", None)),
        ("n", 7, ("n", 7)),
    ],
)
def test_solve_single_unknown_returns_inverse(text, target, found):
    assert expression(text).solve(target, SCOPE) == found


def test_conjuncts_splits_conditions():
    assert [str(each) for each in expression("r > 0 and (c or b) and not zero").conjuncts] == [
        "r > 0",
        "c or b",
        "not zero",
    ]


def test_whole_fraction_raises():
    with pytest.raises(UsageError, match=r"'c/3' gives 100/3, which is not a whole number; write ceil\(c/3\)"):
        whole(expression("c/3")(SCOPE), "c/3")


OPERANDS = st.sampled_from(["r", "c", "b", "f", "zero", "7", "len(kept)", "x.numel", "kept[1]"])
EXPRESSIONS = st.recursive(
    OPERANDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "==", "and", "or"]), inner).map(
            "({0[0]} {0[1]} {0[2]})".format
        ),
        st.tuples(inner, inner, inner).map("({0[0]} if {0[1]} else {0[2]})".format),
        st.tuples(st.sampled_from(["ceil", "floor", "abs", "-", "not "]), inner).map("({0[0]}({0[1]}))".format),
        st.tuples(inner, inner).map("max({0[0]}, {0[1]})".format),
        st.tuples(inner, inner).map("({0[0]}, {0[1]})".format),
    ),
    max_leaves=8,
)


OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.USub: operator.neg, ast.Not: operator.not_, ast.Lt: operator.lt, ast.Eq: operator.eq,
    ast.Div: lambda a, b: a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a, b),
}  # fmt: skip


def walked(node: ast.expr) -> object:
    """The value of an expression by a walk over its tree, as an independent implementation of the language."""
    match node:
        case ast.Constant(value=value):
            pass
        case ast.Name(id=name):
            value = SCOPE.names[name]
        case ast.Attribute(attr=name):
            value = getattr(X, name)
        case ast.Subscript(value=whole_tuple, slice=index):
            value = walked(whole_tuple)[walked(index)]
        case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
            value = OPERATORS[type(sign)](walked(left), walked(right))
        case ast.UnaryOp(op=sign, operand=operand):
            value = OPERATORS[type(sign)](walked(operand))
        case ast.BoolOp(op=sign, values=values):
            value = (all if isinstance(sign, ast.And) else any)(walked(each) for each in values)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            value = walked(body if walked(test) else otherwise)
        case ast.Tuple(elts=elements):
            value = tuple(map(walked, elements))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            value = FUNCTIONS[name](*map(walked, arguments))
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


@given(EXPRESSIONS)
def test_expression_has_value_or_error_of_walk(text):
    try:
        wanted = walked(ast.parse(text, mode="eval").body)
    except (ArithmeticError, TypeError, ValueError, IndexError):
        with pytest.raises(UsageError, match="column"):
            expression(text)(SCOPE)
    else:
        found = expression(text)(SCOPE)
        assert (type(found), repr(found)) == (type(wanted), repr(wanted))


@pytest.mark.parametrize(
    ("text", "column"),
    [("r + (c//zero if zero else c % zero)", 27), ("r if zero else kept[b + 9]", 16), ("zero and d or b//zero", 15)],
)
def test_expression_error_names_part_that_is_evaluated(text, column):
    with pytest.raises(UsageError, match=f"column {column}: "):
        expression(text)(SCOPE)


def test_expression_error_of_failed_name_is_its_own():
    with pytest.raises(UsageError, match="q has no value: r is 0"):
        expression("r + q")(Scope({"r": 3, "q": 1}, {}, {"q": UsageError("q has no value: r is 0")}))
