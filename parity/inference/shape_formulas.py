"""Finds dims that explain how many elements of a tensor several launches reached, given their numbers."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from parity.inference.spec import STRIDE, Numbers, Triple, evaluate

_MOST_FACTOR = 1024
"""The largest constant factor of a product of names: the words of a structure, or a fixed number of columns."""
_FACTORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16)
_MOST_ADDED = 64
"""The largest constant that is added to a number."""
_MOST_LOOSE = 16
"""The largest constant factor of dims that are only an upper bound."""


@dataclass(frozen=True)
class Fit:
    """Dims of a tensor. If ``loose``, their product may be larger than what launches reached.

    ``where`` is a condition under which the dims are right.
    """

    dims: tuple[str, ...]
    loose: bool = False
    where: str = ""


@dataclass(frozen=True)
class _Reached:
    """How many elements launches reached, the numbers of each launch, and names that dims may use."""

    ends: list[int]
    scopes: Sequence[Numbers]
    names: Sequence[str]
    block: Triple

    @cached_property
    def factors(self) -> list[int]:
        """Constants that dims may be multiplied by."""
        threads = math.prod(self.block)
        return list(dict.fromkeys((*_FACTORS, *self.block, threads, threads // 32)))

    @cached_property
    def products(self) -> list[tuple[tuple[str, ...], list[int]]]:
        """Products of up to four names, with their values."""
        return [
            (chosen, [math.prod([scope[name] for name in chosen]) for scope in self.scopes])
            for size in range(5)
            for chosen in itertools.combinations_with_replacement(self.names, size)
        ]


def fit_dims(
    ends: Sequence[int],
    scopes: Sequence[Numbers],
    names: Sequence[str],
    block: Triple = (1, 1, 1),
    grids: Sequence[str] = (),
    *,
    is_exact: bool = False,
) -> Fit | None:
    """Return dims whose product is the number of elements that launches reached.

    If no product is exact, returns the smallest upper bound, up to twice the number, unless ``is_exact`` is set.

    Args:
        ends: The number of elements of each launch.
        scopes: The numbers of each launch.
        names: Names of numbers that dims may use.
        block: The threads of a block.
        grids: Formulas for numbers of blocks that may be dims.
        is_exact: Whether to accept exact products only.
    """
    if not any(ends):
        return None
    reached = _Reached([*ends], scopes, names, block)
    exact = next(_exact_fits(reached, grids), None)
    return exact or (None if is_exact else _upper_bound(reached))


def fit_positions(
    firsts: Sequence[int], steps: Sequence[int], scopes: Sequence[Numbers], names: Sequence[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Return the dim that positions index, and all dims of the tensor.

    If no name is that dim, returns an empty name and the dims of what lies at a position.

    Args:
        firsts: How many elements launches reach with the first position.
        steps: How many more elements each further position adds.
        scopes: The numbers of each launch.
        names: Names of numbers that dims may use.
    """
    pitch = fit_dims(steps, scopes, names)
    if pitch and not pitch.loose and all(map(operator.le, firsts, steps)):
        return "", () if pitch.dims == ("1",) else pitch.dims
    width = steps[0] if len({*steps}) == 1 else 1
    for size in range(1, 5):
        for chosen in itertools.combinations(names, size):
            for extent in chosen:
                sizes = [width * math.prod(scope[name] for name in chosen) for scope in scopes]
                last = [a + (scope[extent] - 1) * b for a, b, scope in zip(firsts, steps, scopes, strict=True)]
                if sizes == last:
                    return extent, (*chosen, str(width)) if width > 1 else chosen
    return None


def _exact_fits(reached: _Reached, grids: Sequence[str]) -> Iterator[Fit]:
    """Yield exact dims, the most likely first."""
    yield from _products(reached)
    yield from _products_of_sums(reached)
    yield from _sums_with_constant(reached)
    yield from _halves(reached)
    yield from _pitched_rows(reached)
    for text in grids:
        if [evaluate(text, scope, reached.block) for scope in reached.scopes] == reached.ends:
            yield Fit((text,))
    yield from _parts(reached)
    if len({*reached.ends}) == 1 < len(reached.ends):
        yield Fit((str(reached.ends[0]),))


def _products(reached: _Reached) -> Iterator[Fit]:
    """``2*rows cols`` and ``rows+1``."""
    for chosen, sizes in reached.products:
        factor = reached.ends[0] // max(1, sizes[0])
        is_likely = factor in reached.factors or (chosen and len({*sizes}) > 1 and factor <= _MOST_FACTOR)
        if is_likely and [factor * each for each in sizes] == reached.ends:
            yield Fit(_dims(chosen, factor))
        for more in (1, -1, 2) if len(chosen) == 1 else ():
            if [each + more for each in sizes] == reached.ends:
                yield Fit((f"{chosen[0]}{more:+}",))


def _products_of_sums(reached: _Reached) -> Iterator[Fit]:
    """``rows+cols-1 batch``."""
    for one, other in itertools.permutations(reached.names, 2):
        for sign, more in itertools.product("+-", (0, -1, 1)):
            text = f"{one}{sign}{other}{f'{more:+}' if more else ''}"
            sums = [scope[one] + (scope[other] if sign == "+" else -scope[other]) + more for scope in reached.scopes]
            if not sums[0] or reached.ends[0] % sums[0]:
                continue
            for chosen, sizes in reached.products:
                is_short = len({*chosen}) == len(chosen) <= (0 if more else 2)
                if is_short and [a * b for a, b in zip(sums, sizes, strict=True)] == reached.ends:
                    yield Fit((text, *chosen))


def _sums_with_constant(reached: _Reached) -> Iterator[Fit]:
    """``n+37``."""
    for name in reached.names:
        added = {end - scope[name] for end, scope in zip(reached.ends, reached.scopes, strict=True)}
        if len(added) == 1 and 0 < min(added) <= _MOST_ADDED and len({*reached.ends}) > 1:
            yield Fit((f"{name}+{min(added)}",))


def _halves(reached: _Reached) -> Iterator[Fit]:
    """``rows cols//2``, if halves are whole numbers."""
    for chosen, sizes in reached.products:
        if chosen and [2 * end for end in reached.ends] == sizes and len({*sizes}) > 1:
            for half in chosen:
                if all(scope[half] % 2 == 0 for scope in reached.scopes):
                    others = [*chosen]
                    others.remove(half)
                    yield Fit((*others, f"{half}//2"))


def _pitched_rows(reached: _Reached) -> Iterator[Fit]:
    """``rows ldx``, of which a launch reaches only ``cols`` elements of the last row."""
    for stride in filter(STRIDE.fullmatch, reached.names):
        for rows, cols in itertools.permutations([name for name in reached.names if name != stride], 2):
            if [(scope[rows] - 1) * scope[stride] + scope[cols] for scope in reached.scopes] == reached.ends:
                yield Fit((rows, stride), where=f"{cols} <= {stride}")


def _parts(reached: _Reached) -> Iterator[Fit]:
    """``rows ceil(n/256)``: an element for each warp, or each block, of a dim. Or a dim padded to whole blocks."""
    units = dict.fromkeys(size for size in (32, math.prod(reached.block), *reached.block) if size > 1)
    for unit, name in itertools.product(units, reached.names):
        parts = [-(-scope[name] // unit) for scope in reached.scopes]
        for lanes in (1, 2, 3, 4) if max(parts) > 1 else ():
            if [lanes * unit * part for part in parts] == reached.ends:
                yield Fit((f"{lanes * unit}*ceil({name}/{unit})",))
        for size in range(3 if max(parts) > 1 else 0):
            for chosen in itertools.combinations([other for other in reached.names if other != name], size):
                products = [math.prod(scope[other] for other in chosen) for scope in reached.scopes]
                if [part * product for part, product in zip(parts, products, strict=True)] == reached.ends:
                    yield Fit((*chosen, f"ceil({name}/{unit})"))


def _upper_bound(reached: _Reached) -> Fit | None:
    """Return the dims that are the least larger than what launches reached, at most twice as large."""
    found: tuple[int, Fit] | None = None
    for chosen, sizes in reached.products:
        if len({*chosen}) < len(chosen):
            continue
        for factor in (each for each in reached.factors if each <= _MOST_LOOSE):
            over = factor * sum(sizes) - sum(reached.ends)
            if over > sum(reached.ends) or (found and over >= found[0]):
                continue
            if all(factor * size >= end for size, end in zip(sizes, reached.ends, strict=True)):
                found = over, Fit(_dims(chosen, factor), loose=True)
    return found[1] if found else None


def _dims(chosen: Sequence[str], factor: int) -> tuple[str, ...]:
    """Return the dims of a product of names and a constant."""
    last = (f"{factor}*{chosen[-1]}" if factor > 1 else chosen[-1]) if chosen else str(factor)
    return (*chosen[:-1], last)
