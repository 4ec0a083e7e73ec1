"""Draws extents and parameters that fit the declared shapes of an op, from its choices or from default values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
RANKS: tuple[tuple[int, ...], ...] = ((2,), (), (1,), (3,), (2, 3), (1, 2, 1), (3, 1, 4))
LONG_RANKS: tuple[tuple[int, ...], ...] = ((31,), (33,), (65,), (5, 13), (129, 2), (257,), (1025,))
EMPTY_RANKS: tuple[tuple[int, ...], ...] = ((0,), (2, 0), (0, 3))
NUMBERS = (1, 2, 3, 0)
"""Default values of a parameter that occurs in the shapes."""
LARGEST_STEP = 1024


def alternatives(choices: Choices) -> Sequence[Mapping[str, Sequence[Any]]]:
    """Return the choices as a sequence of alternatives."""
    return [choices] if isinstance(choices, Mapping) else choices


def draw_values(
    draw: Draw, shapes: Shapes, choices: Choices, params: Sequence[str], allows: Callable[[str, Value], bool]
) -> Scope:
    """Draw values for the free names of the shapes and for parameters with choices.

    Names without choices are small. At most one of them is at the edge of a wavefront, block or grid, or 0. ``allows``
    says whether the op accepts a value for a name.
    """
    given = pick(draw, alternatives(choices) or [{}])
    chosen = {name: pick(draw, options) for name, options in given.items()}
    rest = [name for name in shapes.free if name not in chosen]
    kind = pick(draw, ("small", "small", "edge", "edge", "empty", "edge", "edge")) if rest else "small"
    dims = [name for name in rest if name not in params]
    marked = pick(draw, dims) if dims else ""
    for name in rest:
        of = kind if name == marked else "small" if kind == "small" else "few"
        options = NUMBERS if name in params else _usual(of, name in shapes.many)
        chosen[name] = pick(draw, _allowed(options, partial(allows, name)))
    return _evaluated(chosen, shapes)


def _usual(kind: str, many: bool) -> Sequence[Value]:
    if many:
        return {"edge": LONG_RANKS, "empty": EMPTY_RANKS}.get(kind, RANKS)
    return {"small": SMALL, "edge": LINES, "empty": (0,)}.get(kind, FEW)


def _allowed(options: Sequence[Value], allows: Callable[[Value], bool]) -> Sequence[Value]:
    """The allowed options; if these are few, also multiples of the smallest allowed number."""
    found = [option for option in options if allows(option)]
    if 2 * len(found) >= len(options) or isinstance(options[0], tuple):
        return found or options
    step = next((n for n in range(1, LARGEST_STEP + 1) if allows(n)), 1)
    multiples = (step * option for option in options if step * option <= max(step * SMALL[-1], *options))
    return sorted({*found, *(n for n in multiples if allows(n))}) or options


def _evaluated(chosen: Mapping[str, Any], shapes: Shapes) -> Scope:
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
