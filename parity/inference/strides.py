"""Finds strides among the arguments of a kernel, and the extents that the strides belong to."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from parity.inference.data_flow import SEGMENT, Key
from parity.inference.probe_launches import Observation
from parity.inference.spec import AXES, GRID_EXTENTS, KernelArgument, Numbers, Triple

_NAME = re.compile(r"(?i)(\w*?)_?(?:stride|pitch)\w*")
"""Matches the name of a stride. The group is what precedes it, often the tensor's name."""
_FIELD = re.compile(r"(?:\w+_)?(size|stride)s?_+(\d+)")
"""Matches the name of an extent or a stride in a structure that describes a tensor."""
_RANK = re.compile(r"(?:\w+_)?(?:n|num)?_?dims?_?")
"""Matches the name of the number of dims in such a structure."""
_DIMS = 2
"""The number of dims of a tensor if a structure has it as a number."""
_RADIX = 12
"""A number larger than any extent in ``_EXTENTS``."""
_EXTENTS = (7, 5, 3, 11, 2), (3, 7, 11, 2, 5)
"""Extents for two rounds of launches."""

Observe = Callable[[Numbers, Triple], Observation | None]
"""Returns the accesses of a launch with these numbers and this grid, or None if it faults."""


@dataclass(frozen=True)
class StrideRule:
    """A tensor with these ``dims``. The ``strides`` of its first dims are arguments."""

    dims: tuple[str, ...]
    strides: tuple[str, ...]


def strides_of_structures(args: Sequence[KernelArgument], tables: Collection[Key]) -> dict[str, str]:
    """Return formulas of the strides in structures with a pointer, extents and strides, for dense tensors.

    If such a structure has the number of dims, it is a matrix, and the other extents are 1. ``tables`` have rows of
    ``SEGMENT`` elements.
    """
    return {name: formula for _, formulas in _structures(args, tables) for name, formula in formulas.items()}


def elements_of_structures(args: Sequence[KernelArgument]) -> list[str]:
    """Return possible numbers of threads for tensors in structures that have the number of dims.

    There is one for each element, or for all elements but the last of each row, which ends the last range of the row.
    """
    several = [
        sizes for sizes, formulas in _structures(args) if len(sizes) == _DIMS and str(_DIMS) in formulas.values()
    ]
    return [text for rows, columns in several for text in (f"{rows}*{columns}", f"{rows}*({columns}-1)")]


def _structures(
    args: Sequence[KernelArgument], tables: Collection[Key] = ()
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the extents that vary, and the formulas of all other numbers, of each structure with a tensor."""
    for place in dict.fromkeys(each.key[0] for each in args if each.is_pointer):
        fields: dict[str, dict[int, str]] = {"size": {}, "stride": {}}
        numbers = [each.name for each in args if each.is_whole and each.key[0] == place]
        for name in numbers:
            if match := _FIELD.fullmatch(name):
                fields[match[1]][int(match[2])] = name
        sizes, strides = fields.values()
        if not sizes or sizes.keys() != strides.keys():
            continue
        ranks = [name for name in numbers if _RANK.fullmatch(name)]
        is_table = any(each.key in tables for each in args if each.key[0] == place)
        extents = [sizes[i] for i in sorted(sizes)]
        extents[_DIMS - is_table :] = [str(SEGMENT)] * is_table if is_table or ranks else extents[_DIMS:]
        formulas = dict.fromkeys(ranks, str(min(len(sizes), _DIMS)))
        for i, (size, stride) in enumerate((sizes[i], strides[i]) for i in sorted(sizes)):
            formulas[stride] = "*".join(extents[i + 1 :]) or "1"
            if size not in extents:
                formulas[size] = extents[i] if i < len(extents) else "1"
        yield [each for each in extents if each in sizes.values()], formulas


def find_strides(numbers: Sequence[str], axes: Sequence[str], observe: Observe) -> dict[str, StrideRule]:
    """Return rules that explain all numbers called strides, by tensor. Empty if some remain unexplained.

    Launches use powers of ``_RADIX`` as strides. The digits of the last accessed position are then the extents.
    Doubling strides shows which tensor they belong to.
    """
    groups: dict[str, list[str]] = {}
    for name in numbers:
        if match := _NAME.fullmatch(name):
            groups.setdefault(match[1], []).append(name)
    strides = [name for group in groups.values() for name in group]
    if len(strides) < 2 or max(map(len, groups.values())) > 4:
        return {}
    found = []
    for i, extents in enumerate(_EXTENTS):
        scope = dict(zip([name for name in numbers if name not in strides], itertools.cycle(extents)))
        scope |= {GRID_EXTENTS[axis]: 4 + (j + i) % 3 * 2 for j, axis in enumerate(axes)}
        found.append(_rules(scope, groups, axes, observe))
    rules = found[0]
    if not rules or rules != found[1] or {name for each in rules.values() for name in each.strides} != {*strides}:
        return {}
    return rules


def dense_strides(rules: Mapping[str, StrideRule], extents: Numbers) -> dict[str, int]:
    """Return the strides of dense tensors with these extents."""
    return {
        stride: math.prod(extents[name] for name in rule.dims[i + 1 :])
        for rule in rules.values()
        for i, stride in enumerate(rule.strides)
    }


def _rules(
    scope: Numbers, groups: Mapping[str, Sequence[str]], axes: Sequence[str], observe: Observe
) -> dict[str, StrideRule] | None:
    """Return the rules that one choice of extents shows. None if a launch faults or digits are not extents."""
    names = {value: name for name, value in scope.items()}
    strides = {name: _RADIX ** (len(group) - i) for group in groups.values() for i, name in enumerate(group)}
    x, y, z = (scope[GRID_EXTENTS[axis]] if axis in axes else 1 for axis in AXES)
    usual = observe({**scope, **strides}, (x, y, z))
    found = dict[str, StrideRule]()
    for group in groups.values():
        doubled = observe({**scope, **strides, **{name: 2 * strides[name] for name in group}}, (x, y, z))
        if usual is None or doubled is None:
            return None
        for tensor, accessed in usual.items():
            if doubled[tensor].end == accessed.end:
                continue
            digits = [(accessed.end - 1) // _RADIX**i % _RADIX + 1 for i in range(len(group), -1, -1)]
            dims = [names.get(digit, "") for digit in digits[: len(group) + (digits[-1] > 1)]]
            if tensor in found or not all(dims):
                return None
            found[tensor] = StrideRule(tuple(dims), tuple(group))
    return found
