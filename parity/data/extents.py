"""Draws extents and parameters that fit the declared shapes of an op, from its choices or from default values."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parity.data.layouts import LINES, Draw, pick
from parity.dsl.expression import Scope, Value, expression
from parity.dsl.shapes import Shapes
from parity.errors import UsageError

Choices = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
"""Values to draw for names: numbers, expressions of other names, and tuples of both for a starred name.

A sequence of mappings lists alternatives.
"""

SMALL, FEW = (1, 2, 3, 4, 5, 7), (1, 2, 3)
MEDIUM = (5, 9, 16, 17, 31, 33, 63, 65, 129)
RANKS: tuple[tuple[int, ...], ...] = ((2,), (), (1,), (3,), (2, 3), (1, 2, 1), (3, 1, 4))
MEDIUM_RANKS: tuple[tuple[int, ...], ...] = ((5,), (17,), (33,), (3, 5), (5, 13), (2, 3, 11), (31, 2))
LONG_RANKS: tuple[tuple[int, ...], ...] = ((31,), (33,), (65,), (5, 13), (129, 2), (257,), (1025,))
EMPTY_RANKS: tuple[tuple[int, ...], ...] = ((0,), (2, 0), (0, 3))
NUMBERS = (1, 2, 3, 0)
"""Default values of a parameter that occurs in the shapes."""
KINDS = ("small", "edge", "several", "edge", "several", "small", "edge", "empty")
"""Kinds of cases: all extents small, one extent at the edge of a wavefront, block or grid, several large, one 0."""
MAX_PRODUCT = 2**12
"""Limit for the product of the extents if several are large."""
LARGEST_STEP = 1024
LARGEST_LIMIT = 2**20
"""Largest value that counts as a limit of the op's conditions."""


def alternatives(choices: Choices) -> Sequence[Mapping[str, Sequence[Any]]]:
    """Return the choices as a sequence of alternatives."""
    return [choices] if isinstance(choices, Mapping) else choices


def draw_values(
    draw: Draw,
    shapes: Shapes,
    choices: Choices,
    params: Sequence[str],
    options_of: Callable[[str, str], Sequence[Value]],
) -> Scope:
    """Draw values for the free names of the shapes and for parameters with choices.

    ``options_of`` maps a name and its kind to the default values. A kind is an item of ``KINDS``, or "few".
    """
    given = pick(draw, alternatives(choices) or [{}])
    chosen = {name: pick(draw, options) for name, options in given.items()}
    rest = [name for name in shapes.free if name not in chosen]
    kind = pick(draw, KINDS) if rest else "small"
    dims = [name for name in rest if name not in params]
    marked = pick(draw, dims) if dims else ""
    left = MAX_PRODUCT
    for name in rest:
        options = options_of(name, kind if name == marked or kind in ("small", "several") else "few")
        if kind == "several":
            options = [each for each in options if measure(each) <= left] or options[:1]
        chosen[name] = pick(draw, options)
        left //= max(1, measure(chosen[name]))
    return evaluated(chosen, shapes)


def measure(value: Value) -> int:
    """Return a number, or the product of the numbers of a tuple."""
    return math.prod(value) if isinstance(value, tuple) else int(value)


def usual_values(kind: str, many: bool) -> Sequence[Value]:
    """Return the default values of an extent or a starred name by its kind: an item of ``KINDS``, or "few"."""
    if many:
        return {"edge": LONG_RANKS, "several": MEDIUM_RANKS, "empty": EMPTY_RANKS}.get(kind, RANKS)
    return {"small": SMALL, "edge": LINES, "several": MEDIUM, "empty": (0,)}.get(kind, FEW)


def allowed_values(options: Sequence[Value], allows: Callable[[Value], bool]) -> Sequence[Value]:
    """Return the allowed options; if these are few, also the limits and multiples of the smallest allowed number."""
    found = [option for option in options if allows(option)]
    if 2 * len(found) >= len(options) or isinstance(options[0], tuple):
        return found or options
    step, largest = limits(allows)
    multiples = (step * option for option in options if step * option <= max(step * SMALL[-1], *options))
    return sorted({*found, *(n for n in (*multiples, step, largest) if n and allows(n))}) or options


def limits(allows: Callable[[Value], bool]) -> tuple[int, int | None]:
    """Return the smallest allowed number above 0, and the largest one if it is below ``LARGEST_LIMIT``.

    Allowed numbers are taken to have equal distances.
    """
    smallest = next((n for n in range(1, LARGEST_STEP + 1) if allows(n)), 1)
    step = next((n for n in range(1, LARGEST_STEP + 1) if allows(smallest + n)), LARGEST_LIMIT)
    steps = range(LARGEST_LIMIT // step + 1)
    count = bisect.bisect_left(steps, True, key=lambda n: not allows(smallest + n * step))
    return smallest, smallest + (count - 1) * step if count < len(steps) else None


def evaluated(chosen: Mapping[str, Any], shapes: Shapes) -> Scope:
    """Evaluate choices that are expressions of other names, and the values that the shapes define."""
    names: dict[str, Value] = {}
    scope = Scope(names)
    waiting = dict(chosen)
    while waiting:
        before = len(waiting)
        for name, option in list(waiting.items()):
            value = _evaluate_choice(option, scope)
            if value is not None:
                names[name] = value
                del waiting[name]
        shapes.define(scope)
        if len(waiting) == before:
            name, option = next(iter(waiting.items()))
            raise UsageError(f"choices of {name}: {option!r} depends on names without a value")
    return scope


def _evaluate_choice(option: Any, scope: Scope) -> Value | None:
    """Evaluate a choice; None if it depends on names without a value."""
    if isinstance(option, tuple):
        parts = [_evaluate_choice(part, scope) for part in option]
        return None if None in parts else tuple(parts)
    if not isinstance(option, str):
        return option
    found = expression(option)
    return None if found.unknown(scope) else found(scope)
