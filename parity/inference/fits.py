"""Dims that explain how many elements of a tensor several launches touched, by the numbers that these were given."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parity.inference.facts import STRIDE, Numbers, Triple, value_of

__all__ = ["Fit", "fit_dims", "fit_places"]

_FACTORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16)
_BEHIND = 64
"""The most elements behind a number's."""
_LOOSE = 16
"""The largest factor of a dim that is larger than what was found."""


@dataclass(frozen=True)
class Fit:
    """Dims whose product is what was found, or ``loose``: no less."""

    dims: tuple[str, ...]
    loose: bool = False
    where: str = ""


def fit_dims(
    ends: Sequence[int],
    scopes: Sequence[Numbers],
    names: Sequence[str],
    block: Triple = (1, 1, 1),
    grids: Sequence[str] = (),
    is_exact: bool = False,
) -> Fit | None:
    """The dims that have these numbers of elements; None if nothing does, or nothing near, unless it is ``exact``."""
    if not any(ends):
        return None
    factors = dict.fromkeys((*_FACTORS, *block, math.prod(block), math.prod(block) // 32))
    products = [
        (chosen, [math.prod([scope[name] for name in chosen]) for scope in scopes])
        for size in range(5)
        for chosen in itertools.combinations_with_replacement(names, size)
    ]
    for chosen, sizes in products:
        factor = ends[0] // max(1, sizes[0])
        if factor in factors and [factor * each for each in sizes] == [*ends]:
            return Fit(_dims(chosen, factor))
        for more in (1, -1, 2) if len(chosen) == 1 else ():
            if [each + more for each in sizes] == [*ends]:
                return Fit((f"{chosen[0]}{more:+}",))
    for one, other in itertools.permutations(names, 2):
        for sign, more in itertools.product("+-", (0, -1, 1)):
            text = f"{one}{sign}{other}{f'{more:+}' if more else ''}"
            sums = [scope[one] + (scope[other] if sign == "+" else -scope[other]) + more for scope in scopes]
            if not sums[0] or ends[0] % sums[0]:
                continue
            for chosen, sizes in products:
                is_short = len({*chosen}) == len(chosen) <= (0 if more else 2)
                if is_short and [sum * size for sum, size in zip(sums, sizes, strict=True)] == [*ends]:
                    return Fit((text, *chosen))
    for name in names:
        behind = {end - scope[name] for end, scope in zip(ends, scopes, strict=True)}
        if len(behind) == 1 and 0 < min(behind) <= _BEHIND and len({*ends}) > 1:
            return Fit((f"{name}+{min(behind)}",))
    for stride in filter(STRIDE.fullmatch, names):
        for rows, cols in itertools.permutations([name for name in names if name != stride], 2):
            if [(scope[rows] - 1) * scope[stride] + scope[cols] for scope in scopes] == list(ends):
                return Fit((rows, stride), where=f"{cols} <= {stride}")
    for text in grids:
        if [value_of(text, scope, block) for scope in scopes] == list(ends):
            return Fit((text,))
    if parts := _of_parts(ends, scopes, names, block):
        return parts
    if len({*ends}) == 1 < len(ends):
        return Fit((str(ends[0]),))
    return None if is_exact else _near(ends, products, [factor for factor in factors if factor <= _LOOSE])


def _dims(chosen: Sequence[str], factor: int) -> tuple[str, ...]:
    """The dims with a product of names, times a number."""
    last = (f"{factor}*{chosen[-1]}" if factor > 1 else chosen[-1]) if chosen else str(factor)
    return (*chosen[:-1], last)


def _near(
    ends: Sequence[int], products: Iterable[tuple[tuple[str, ...], Sequence[int]]], factors: Sequence[int]
) -> Fit | None:
    """The dims that are the least larger than what was found, at most twice as large."""
    found: tuple[int, Fit] | None = None
    for chosen, sizes in products:
        if len({*chosen}) < len(chosen):
            continue
        for factor in factors:
            over = factor * sum(sizes) - sum(ends)
            if over > sum(ends) or (found and over >= found[0]):
                continue
            if all(factor * size >= end for size, end in zip(sizes, ends, strict=True)):
                found = over, Fit(_dims(chosen, factor), loose=True)
    return found[1] if found else None


def _of_parts(ends: Sequence[int], scopes: Sequence[Numbers], names: Sequence[str], block: Triple) -> Fit | None:
    """The dims of what has an element for each warp, or each block, of a dim."""
    units = dict.fromkeys(size for size in (32, math.prod(block), *block) if size > 1)
    for unit, name in itertools.product(units, names):
        parts = [-(-scope[name] // unit) for scope in scopes]
        for size in range(3 if max(parts) > 1 else 0):
            for chosen in itertools.combinations([other for other in names if other != name], size):
                products = [math.prod(scope[other] for other in chosen) for scope in scopes]
                if [part * product for part, product in zip(parts, products, strict=True)] == list(ends):
                    return Fit((*chosen, f"ceil({name}/{unit})"))
    return None


def fit_places(
    firsts: Sequence[int], steps: Sequence[int], scopes: Sequence[Numbers], names: Sequence[str]
) -> tuple[str, tuple[str, ...]] | None:
    """The dim along which places lie, and all dims; if no dim does, nothing, and the dims of what lies at a place.

    ``firsts`` are the elements that are reached with the first place, ``steps`` how many more with each further one.
    """
    pitch = fit_dims(steps, scopes, names)
    if pitch and not pitch.loose and all(map(operator.le, firsts, steps)):
        return "", () if pitch.dims == ("1",) else pitch.dims
    for size in range(1, 5):
        for chosen in itertools.combinations(names, size):
            for extent in chosen:
                sizes = [math.prod(scope[name] for name in chosen) for scope in scopes]
                last = [a + (scope[extent] - 1) * b for a, b, scope in zip(firsts, steps, scopes, strict=True)]
                if sizes == last:
                    return extent, chosen
    return None
