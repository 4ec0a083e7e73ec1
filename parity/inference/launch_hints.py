"""Derives a kernel's grid from launches in host code, and the numbers that the host computes from others."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword

from parity.dsl.expression import FUNCTIONS
from parity.inference.conditions import likely_blocks
from parity.inference.host_formulas import compact, free_names, rewritten, with_formulas
from parity.inference.host_launches import HostLaunch
from parity.inference.ptx_dataflow import Flow
from parity.inference.spec import GRID_EXTENTS, KernelArgument, Triple


@dataclass(frozen=True)
class LaunchHint:
    """A launch in terms of the kernel's numbers.

    Attributes:
        grid: The formula for the number of blocks along each axis.
        made: Formulas of the numbers that the host computes from others.
        extents: Names of extents that only the grid determines.
        block: The most likely block.
    """

    grid: tuple[str, ...]
    made: Mapping[str, str]
    extents: tuple[str, ...]
    block: Triple


def launch_hints(
    name: str, launches: Sequence[HostLaunch], args: Sequence[KernelArgument], flow: Flow
) -> Iterator[LaunchHint]:
    """Yield a hint for each launch whose grid depends on names that the kernel's arguments explain.

    ``name`` includes the template's arguments. A fixed number of blocks says nothing about the kernel's numbers.
    """
    seen = set[tuple[object, ...]]()
    for launch in launches:
        named = _named(launch, args) if launch.grid and all(launch.grid) else None
        if named is None:
            continue
        known, formulas, extents = named
        grid = tuple(substituted(text, known) for text in _trimmed(launch.grid))
        made = {number: substituted(text, known) for number, text in formulas.items()}
        if not flow.strided and not any(free_names(_tree(text)) for text in grid):
            continue
        if any(each in FUNCTIONS or iskeyword(each) for each in known.values()):
            continue
        block = next(likely_blocks(name, [launch], flow), (1, 1, 1))
        # A host that divides by the size of a block may round down, although the kernel accepts any size.
        for each in dict.fromkeys((tuple(map(_rounded_up, grid)), grid)):
            hint = LaunchHint(each, made, extents, block)
            if (key := (each, *made.items(), block)) not in seen:
                seen.add(key)
                yield hint
                if made:
                    yield replace(hint, made={})


def substituted(text: str, formulas: Mapping[str, str]) -> str:
    """Replace names in an expression by formulas."""
    return with_formulas(text, {name: _tree(formula).body for name, formula in formulas.items()})


def _named(
    launch: HostLaunch, args: Sequence[KernelArgument]
) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]] | None:
    """Return the kernel's names for the host's names, formulas of arguments, and names for unexplained extents.

    Returns None if a name in the grid or a formula is ambiguous, or if there are too many unexplained names.
    """
    taken = {each.name for each in args}
    spare = iter([extent for extent in GRID_EXTENTS.values() if extent not in taken])
    numbers = {each.key[0]: each for each in args if each.is_whole and not each.key[1]}
    passed = {number.name: launch.arguments[i] for i, number in numbers.items() if i < len(launch.arguments)}
    known = {text: number for number, text in passed.items() if text.isidentifier()}
    formulas = {number: text for number, text in passed.items() if text and not text.isidentifier()}
    needed = dict.fromkeys(other for text in _trimmed(launch.grid) for other in sorted(free_names(_tree(text))))
    explained = dict.fromkeys(other for text in formulas.values() for other in sorted(free_names(_tree(text))))
    repeated = {text for text, count in Counter(passed.values()).items() if count > 1}
    if not needed.keys() <= known.keys() | explained.keys() or repeated & {*needed, *explained}:
        return None  # if two arguments have the same value, the name may stand for either
    extents = {other: next(spare, "") for other in needed | explained if other not in known}
    return (known | extents, formulas, tuple(extents.values())) if all(extents.values()) else None


def _rounded_up(text: str) -> str:
    return compact(rewritten(_tree(text), _as_ceil))


def _as_ceil(node: ast.AST) -> ast.AST:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return node
    return ast.Call(ast.Name("ceil"), [ast.BinOp(node.left, ast.Div(), node.right)], [])


def _tree(text: str) -> ast.Expression:
    return ast.parse(text, mode="eval")


def _trimmed(grid: Sequence[str]) -> Sequence[str]:
    """Remove trailing axes of one block."""
    last = max((i for i, text in enumerate(grid) if text != "1"), default=0)
    return grid[: last + 1]
