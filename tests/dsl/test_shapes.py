"""Shape statements: names that they determine, and shapes that contradict them."""

from __future__ import annotations

import pytest

from parity.dsl.expression import Scope
from parity.dsl.shapes import ShapeMismatch, parse_shapes, words
from parity.errors import UsageError


def names(text, extents, **known):
    return parse_shapes(text).bind(extents, known, {}).names


def test_bind_equal_names_and_inverted_expressions():
    stated = parse_shapes("x: r 2*c; y: c; out: r c")
    scope = stated.bind({"x": (3, 10)}, {}, {})
    assert scope.names == {"r": 3, "c": 5} and stated.shape("out", scope) == (3, 5)
    assert stated.free == ("r", "c")
    with pytest.raises(ShapeMismatch, match=r"y has 4 along dim 0, where c=5; declared is 'y: c'"):
        stated.bind({"x": (3, 10), "y": (4,)}, {}, {})
    with pytest.raises(ShapeMismatch, match=r"x has 9 along dim 1, which is not 2\*c"):
        stated.bind({"x": (3, 9)}, {}, {})
    with pytest.raises(ShapeMismatch, match=r"x has 3 dims; declared is 'x: r 2\*c'"):
        stated.bind({"x": (3, 9, 1)}, {}, {})


def test_bind_contradicting_definition_raises_mismatch():
    """Include names that a tensor has already determined."""
    with pytest.raises(ShapeMismatch, match=r"m is 3, where m = 2\*n makes it 4"):
        names("x: n; out: m; m = 2*n", {"x": (2,), "out": (3,)})
    assert names("x: n; out: m; m = 2*n", {"x": (2,), "out": (4,)}) == {"n": 2, "m": 4}


@pytest.mark.parametrize(
    ("text", "extents", "known", "found"),
    [
        ("x: *kept n; out: *kept", {"x": (2, 3, 4)}, {}, {"kept": (2, 3), "n": 4}),
        ("x: *kept n; out: *kept", {"x": (4,)}, {}, {"kept": (), "n": 4}),
        ("x: *kept *terms:k; out: *kept", {"x": (2, 3, 4)}, {"k": 2}, {"kept": (2,), "terms": (3, 4)}),
        ("ids: *left n; inp: *left m *right", {"ids": (2, 7), "inp": (2, 3, 5)}, {}, {"left": (2,), "right": (5,)}),
        ("x: n; out: m; m = ceil(n/32)", {"x": (33,)}, {}, {"m": 2}),
        ("x: n//32; y: n", {"x": (2,), "y": (70,)}, {}, {"n": 70}),
        ("x:; out: n", {"x": (), "out": (3,)}, {}, {"n": 3}),
    ],
)
def test_bind_names_from_extents(text, extents, known, found):
    assert found.items() <= names(text, extents, **known).items()


def test_bind_ambiguous_shapes_raise():
    with pytest.raises(UsageError, match=r"'x: \*a \*b' is ambiguous"):
        names("x: *a *b", {"x": (2, 3)})
    with pytest.raises(UsageError, match="'x: a\\+b' does not determine a"):
        names("x: a+b", {"x": (5,)})
    with pytest.raises(ShapeMismatch, match=r"y has \(2, 4\) for a, which is \(2, 3\)"):
        names("x: *a; y: *a", {"x": (2, 3), "y": (2, 4)})


def test_bind_failed_definition_raises_on_use():
    stated = parse_shapes("x: n; out: m; m = n//step")
    scope = stated.bind({"x": (4,)}, {"step": 0}, {})
    with pytest.raises(UsageError, match="a division by zero with n=4, step=0; exclude it with where="):
        stated.shape("out", scope)


def test_shape_negative_extent_raises_mismatch():
    stated = parse_shapes("x: n; out: n-5")
    with pytest.raises(ShapeMismatch, match=r"out would have shape \(-2,\).*where="):
        stated.shape("out", Scope({"n": 3}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x r c", "column 1: 'x r c' is not a statement"),
        ("x: r; ; y: r", "column 6: '' is not a statement"),
        ("x: r; x: c", "column 6: x is stated twice"),
        ("x: 2 * c", r"'\*' is not a dim; write an expression without blanks"),
        ("x: r+", "not an expression"),
    ],
)
def test_parse_shapes_malformed_statement_raises(text, says):
    with pytest.raises(UsageError, match=says):
        parse_shapes(text)


def test_words_keeps_brackets_together():
    assert words("x n:i32=max(1, r*c)  y") == ["x", "n:i32=max(1, r*c)", "y"]
