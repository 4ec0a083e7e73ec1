"""Tensors whose strides are numbers of the kernel: which tensors, and of what extents the strides are."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from parity.inference.facts import AXES, FREE, Numbers, Triple
from parity.inference.launching import Touched

__all__ = ["StrideRule", "dense", "find_layouts"]

_NAMES = re.compile(r"(?i)(\w*?)_?(?:stride|pitch)\w*")
"""The name of a distance between elements, with what stands before it: often the name of the tensor."""
_RADIX = 12
"""More than any extent that distances between elements are found with."""
_VALUES = (7, 5, 3, 11, 2), (3, 7, 11, 2, 5)
"""Extents, below that, for two rounds."""

Launched = Callable[[Numbers, Triple], Mapping[str, Touched] | None]
"""What a launch with these numbers and blocks touches; None if it has a fault."""


@dataclass(frozen=True)
class StrideRule:
    """A tensor whose ``strides``, of its first ``dims``, are numbers of the kernel."""

    dims: tuple[str, ...]
    strides: tuple[str, ...]


def find_layouts(numbers: Sequence[str], axes: Sequence[str], launched: Launched) -> dict[str, StrideRule]:
    """The layouts of tensors that explain all numbers called strides; empty if they do not.

    The strides of a tensor are powers of a number that no extent reaches, so that the digits of the last place that
    is touched are the extents. Which tensor they belong to shows where they are doubled.
    """
    groups: dict[str, list[str]] = {}
    for name in numbers:
        if match := _NAMES.fullmatch(name):
            groups.setdefault(match[1], []).append(name)
    strides = [name for group in groups.values() for name in group]
    if len(strides) < 2 or max(map(len, groups.values())) > 4:
        return {}
    found = []
    for first, values in enumerate(_VALUES):
        scope = dict(zip([name for name in numbers if name not in strides], itertools.cycle(values)))
        scope |= {FREE[axis]: 4 + (i + first) % 3 * 2 for i, axis in enumerate(axes)}
        found.append(_layouts_with(scope, groups, axes, launched))
    layouts = found[0]
    if not layouts or layouts != found[1] or {name for each in layouts.values() for name in each.strides} != {*strides}:
        return {}
    return layouts


def dense(layouts: Mapping[str, StrideRule], numbers: Numbers) -> dict[str, int]:
    """The strides of dense tensors; an extent that only the grid tells is 3 where it is not among the numbers."""
    known = {**dict.fromkeys(FREE.values(), 3), **numbers}
    return {
        stride: math.prod(known[name] for name in layout.dims[i + 1 :])
        for layout in layouts.values()
        for i, stride in enumerate(layout.strides)
    }


def _layouts_with(
    scope: Numbers, groups: Mapping[str, Sequence[str]], axes: Sequence[str], launched: Launched
) -> dict[str, StrideRule] | None:
    """The layouts that one choice of numbers shows; None if it has a fault, or digits are no extents."""
    extents = {value: name for name, value in scope.items()}
    strides = {name: _RADIX ** (len(group) - i) for group in groups.values() for i, name in enumerate(group)}
    x, y, z = (scope[FREE[axis]] if axis in axes else 1 for axis in AXES)
    usual = launched({**scope, **strides}, (x, y, z))
    found = dict[str, StrideRule]()
    for group in groups.values():
        doubled = launched({**scope, **strides, **{name: 2 * strides[name] for name in group}}, (x, y, z))
        if usual is None or doubled is None:
            return None
        for name, touched in usual.items():
            if doubled[name].end == touched.end:
                continue
            digits = [(touched.end - 1) // _RADIX**i % _RADIX + 1 for i in range(len(group), -1, -1)]
            dims = [extents.get(digit, "") for digit in digits[: len(group) + (digits[-1] > 1)]]
            if name in found or not all(dims):
                return None
            found[name] = StrideRule(tuple(dims), tuple(group))
    return found
