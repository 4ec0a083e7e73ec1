"""Finds strides among the arguments of a kernel, and the extents that the strides belong to."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from parity.inference.probe_launches import Observation
from parity.inference.spec import AXES, GRID_EXTENTS, KernelArgument, Numbers, Triple

_NAME = re.compile(r"(?i)(\w*?)_?(?:stride|pitch)\w*")
"""Matches the name of a stride. The group is what precedes it, often the tensor's name."""
_FIELD = re.compile(r"(?:\w+_)?(size|stride)s?_+(\d+)")
"""Matches the name of an extent or a stride in a structure that describes a tensor."""
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


def strides_of_structures(args: Sequence[KernelArgument]) -> dict[str, str]:
    """Return formulas of the strides in structures with a pointer, extents and strides, for dense tensors."""
    found = dict[str, str]()
    for place in {each.key[0] for each in args if each.is_pointer}:
        fields: dict[str, dict[int, str]] = {"size": {}, "stride": {}}
        for each in args:
            if each.is_whole and each.key[0] == place and (match := _FIELD.fullmatch(each.name)):
                fields[match[1]][int(match[2])] = each.name
        sizes, strides = fields.values()
        if sizes.keys() == strides.keys():
            found |= {name: "*".join(sizes[j] for j in sorted(sizes) if j > i) or "1" for i, name in strides.items()}
    return found


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
