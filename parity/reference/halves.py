"""Arithmetic of floats narrower than f32: the nominal result of a recipe, and the interval of permitted results.

A recipe is a function of a ``HalfArithmetic`` and operands, written as the kernel computes. ``Nominal`` rounds every
step to nearest in the half type. ``Hull`` tracks the interval of values that a conforming device may hold after each
step. All values are float64 on the grid of the half type. f8 is only a storage type: its recipes are a single call that
is computed in f32 and rounded once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from parity.model.dtypes import DTYPES, Array, DType
from parity.reference.accuracy import accuracy
from parity.reference.expected import Bounds, Limits
from parity.reference.real import FUNCTIONS
from parity.reference.rounding import below_f32_normals, fma, store, to_grid, ulp, wide

_F32 = DTYPES["f32"]


class HalfArithmetic(Protocol):
    """The operations that a recipe may use."""

    def constant(self, value: float) -> Any: ...
    def add(self, a: Any, b: Any) -> Any: ...
    def mul(self, a: Any, b: Any) -> Any: ...
    def div(self, a: Any, b: Any) -> Any: ...
    def muladd(self, a: Any, b: Any, c: Any) -> Any: ...
    def call(self, function: str, a: Any, p: Any = None) -> Any: ...
    def if_positive(self, x: Any, a: Any, b: Any) -> Any: ...


Recipe = Callable[..., Any]


@dataclass(frozen=True)
class Nominal:
    """Rounds every operation to nearest, without contraction. Functions are exact before rounding."""

    dtype: DType

    def constant(self, value: float) -> Array:
        return to_grid(np.asarray(value), self.dtype)

    def add(self, a: Array, b: Array) -> Array:
        return to_grid(a + b, self.dtype)

    def mul(self, a: Array, b: Array) -> Array:
        return to_grid(a * b, self.dtype)

    def div(self, a: Array, b: Array) -> Array:
        return to_grid(a / b, self.dtype)

    def muladd(self, a: Array, b: Array, c: Array) -> Array:
        return self.add(self.mul(a, b), c)

    def call(self, function: str, a: Array, p: Any = None) -> Array:
        return to_grid(FUNCTIONS[function].wide(a, p), self.dtype)

    def if_positive(self, x: Array, a: Array, b: Array) -> Array:
        return np.where(x > 0, a, b)


Interval = tuple[Array, Array]


@dataclass(frozen=True)
class Hull:
    """Computes with intervals (lowest, highest). Functions use f32 and round; ``muladd`` may be contracted."""

    dtype: DType
    limits: Limits

    def constant(self, value: float) -> Interval:
        point = to_grid(np.asarray(value), self.dtype)
        return point, point

    def _round(self, *candidates: Array) -> Interval:
        if self.dtype.name == "bf16" and any(below_f32_normals(c) for c in candidates):
            # A device may compute in f32, which rounds subnormal results a second time.
            candidates += tuple(c.astype(np.float32).astype(np.float64) for c in candidates)
        rounded = [to_grid(c, self.dtype) for c in candidates]
        low, high = _least(rounded), _greatest(rounded)
        return (low, low) if np.array_equal(low, high) else (low, high)

    def add(self, a: Interval, b: Interval) -> Interval:
        return self._round(*_combine(np.add, a, b))

    def mul(self, a: Interval, b: Interval) -> Interval:
        return self._round(*_combine(np.multiply, a, b))

    def div(self, a: Interval, b: Interval) -> Interval:
        quotients = _combine(np.divide, a, b)
        if self.dtype.name != "f16":
            return self._round(*quotients)
        ends = [widened(q, "div", self.dtype, self.limits) for q in quotients]
        return _least([low for low, _ in ends]), _greatest([high for _, high in ends])

    def muladd(self, a: Interval, b: Interval, c: Interval) -> Interval:
        separate = self.add(self.mul(a, b), c)
        kind = self.dtype.numpy
        fused = [
            wide(fma(x.astype(kind), y.astype(kind), z.astype(kind), self.dtype))
            for x in _ends(a)
            for y in _ends(b)
            for z in _ends(c)
        ]
        return _least([separate[0], *fused]), _greatest([separate[1], *fused])

    def call(self, function: str, a: Interval, p: Any = None) -> Interval:
        """Apply a monotone function to an interval, or any function to a point."""
        ends = [self._image(function, end, p) for end in _ends(a)]
        return _least([low for low, _ in ends]), _greatest([high for _, high in ends])

    def _image(self, function: str, x: Array, p: Any) -> Interval:
        f = FUNCTIONS[function]
        exact = f.wide(x, p)
        error = f.budget(x, p, exact, _F32, partial(accuracy, dtype=self.dtype.name, limits=self.limits))
        error = np.where(np.isfinite(exact), error * (1 + 2.0**-20), 0)
        return to_grid(exact - error, self.dtype), to_grid(exact + error, self.dtype)

    def if_positive(self, x: Interval, a: Interval, b: Interval) -> Interval:
        return np.where(x[0] > 0, a[0], b[0]), np.where(x[0] > 0, a[1], b[1])


def _ends(interval: Interval) -> tuple[Array, ...]:
    low, high = interval
    return (low,) if low is high else (low, high)


def _combine(operator: Callable[[Array, Array], Array], a: Interval, b: Interval) -> list[Array]:
    return [operator(x, y) for x in _ends(a) for y in _ends(b)]


def _least(candidates: list[Array]) -> Array:
    return functools.reduce(np.fmin, candidates)


def _greatest(candidates: list[Array]) -> Array:
    return functools.reduce(np.fmax, candidates)


def nominal(recipe: Recipe, x: Array, p: Any, dtype: DType) -> Array:
    """Return the nominal result of a recipe, as an array of ``dtype``."""
    return store(recipe(Nominal(dtype), x, p), dtype)


def recipe_bounds(recipe: Recipe, x: Array, p: Any, dtype: DType, value: Array, limits: Limits) -> Bounds:
    """Return the bounds of a recipe with one operand ``x`` (float64 on the grid) and scalar parameter ``p``."""
    low, high = recipe(Hull(dtype, limits), (x, x), p)
    return hull_bounds(wide(value), low, high)


def hull_bounds(value: Array, low: Array, high: Array) -> Bounds:
    """Return bounds that accept exactly ``low <= got <= high``. The finite end replaces an infinite value."""
    point = low == high
    finite = np.where(value == np.inf, low, np.where(value == -np.inf, high, value))
    centre = np.where(point, value, finite)
    return Bounds(centre, 0.0, np.where(point, 0, centre - low), np.where(point, 0, high - centre))


def widened(exact: Array, function: str, dtype: DType, limits: Limits) -> Interval:
    """Return the interval of an f16 quotient or root, from its documented error. It is exact where f16 holds it."""
    slack = accuracy(function, dtype.name, limits) - 0.5
    nearest = to_grid(exact, dtype)
    if slack <= 0:
        return nearest, nearest
    error = np.where(np.isfinite(exact) & (nearest != exact), slack * ulp(exact, dtype), 0)
    return to_grid(exact - error, dtype), to_grid(exact + error, dtype)
