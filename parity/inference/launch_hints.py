"""Derives a kernel's grid from launches in host code, and the numbers that the host computes from others."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword

from parity.dsl.expression import FUNCTIONS
from parity.inference.conditions import likely_blocks
from parity.inference.data_flow import Flow
from parity.inference.host_formulas import compact, free_names, rewritten, with_formulas
from parity.inference.host_launches import HostLaunch
from parity.inference.spec import GRID_EXTENTS, KernelArgument, Triple, evaluate, trimmed
from parity.inference.strides import elements_of_structures
from parity.porting import template_arguments

_COUNTED: Triple = (64, 1, 1)
"""The block to choose numbers by where a number determines the threads."""


@dataclass(frozen=True)
class LaunchHint:
    """A launch in terms of the kernel's numbers.

    Attributes:
        grid: The formula for the number of blocks along each axis.
        made: Formulas of the numbers that the host computes from others.
        extents: Names of extents that only the grid determines.
        block: The most likely block.
        threads: The formula for the threads of a block, if numbers determine them.
        shared: The formula for the bytes of dynamic shared memory, if the host's code shows it.
    """

    grid: tuple[str, ...]
    made: Mapping[str, str]
    extents: tuple[str, ...]
    block: Triple
    threads: str = ""
    shared: str = ""


def of_instance(launches: Sequence[HostLaunch], name: str) -> list[HostLaunch]:
    """Return the launches of an instance of a template, with its arguments in the place of the host's names for them.

    ``name`` includes the arguments. Launches with other constant arguments are left out, unless nothing remains.
    """
    arguments = template_arguments(name)
    pairs = [[*zip(each.template, arguments, strict=False)] for each in launches]
    fits = [all(text == value for text, value in each if text.isdecimal() and value.isdecimal()) for each in pairs]
    chosen = [i for i, is_of_it in enumerate(fits) if is_of_it or not any(fits)]
    return [_with_arguments(launches[i], {text: v for text, v in pairs[i] if text.isidentifier()}) for i in chosen]


def _with_arguments(launch: HostLaunch, arguments: Mapping[str, str]) -> HostLaunch:
    numbers = {text: _tree(value).body for text, value in arguments.items() if value.isdecimal()}

    def put(text: str) -> str:
        return with_formulas(text, numbers) if text and numbers else text

    threads = tuple(map(put, launch.threads))
    sizes = zip(launch.block, (*threads, *[""] * len(launch.block)), strict=False)
    block = tuple(
        evaluate(text, {}, (1, 1, 1)) if size is None and text and not free_names(_tree(text)) else size
        for size, text in sizes
    )
    grid, passed = tuple(map(put, launch.grid)), tuple(map(put, launch.arguments))
    return replace(launch, block=block, grid=grid, threads=threads, arguments=passed, shared=put(launch.shared))


def launch_hints(
    name: str, launches: Sequence[HostLaunch], args: Sequence[KernelArgument], flow: Flow
) -> Iterator[LaunchHint]:
    """Yield a hint for each launch whose grid depends on names that the kernel's arguments explain.

    ``name`` includes the template's arguments. A fixed number of blocks says nothing about the kernel's numbers, unless
    the host computes the bytes of shared memory.
    """
    seen = set[tuple[object, ...]]()
    totals = elements_of_structures(args)
    for launch in launches:
        named = _named(launch, args) if launch.grid and all(launch.grid) else None
        if named is None:
            continue
        known, formulas, extents = named
        grid = tuple(substituted(text, known) for text in trimmed(launch.grid, "1"))
        made = {number: substituted(text, known) for number, text in formulas.items()}
        threads, shared = _geometry(launch, known, flow)
        is_fixed = not any(free_names(_tree(text)) for text in grid)
        if is_fixed and not flow.strided and not free_names(_tree(shared or "0")):
            continue
        if any(each in FUNCTIONS or iskeyword(each) for each in known.values()):
            continue
        block = _COUNTED if threads else next(likely_blocks(name, [launch], flow), (1, 1, 1))
        # A host that divides by the size of a block may round down, although the kernel accepts any size.
        for each in dict.fromkeys((tuple(map(_rounded_up, grid)), grid)):
            hint = LaunchHint(each, made, extents, block, threads, shared)
            if (key := (each, *made.items(), block, threads, shared)) not in seen:
                seen.add(key)
                # A number in the grid may be the number of elements of a tensor with extents in a structure.
                numbers = [one.name for one in args if any(one.name in free_names(_tree(text)) for text in each)]
                for number, text in itertools.product(numbers if totals else (), totals):
                    yield replace(hint, made={**made, number: text})
                yield hint
                if made:
                    yield replace(hint, made={})


def _geometry(launch: HostLaunch, known: Mapping[str, str], flow: Flow) -> tuple[str, str]:
    """Return the formulas for the threads of a block along x, unless they are constant, and for its shared bytes."""

    def formula(text: str) -> str:
        is_known = text and free_names(_tree(text)) <= known.keys()
        return substituted(text, known) if is_known else ""

    threads = formula(launch.threads[0]) if launch.threads and {*launch.threads[1:]} <= {"1"} else ""
    shared = formula(launch.shared) if flow.dynamic and launch.shared != "0" else ""
    return threads if free_names(_tree(threads or "0")) else "", shared


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
    needed = dict.fromkeys(other for text in trimmed(launch.grid, "1") for other in sorted(free_names(_tree(text))))
    explained = dict.fromkeys(other for text in formulas.values() for other in sorted(free_names(_tree(text))))
    repeated = {text for text, count in Counter(passed.values()).items() if count > 1}
    # With the right threads, any number of blocks shows how far one reaches.
    is_sized = any(free_names(_tree(text or "0")) for text in launch.threads)
    is_known = is_sized or needed.keys() <= known.keys() | explained.keys()
    if not is_known or repeated & {*needed, *explained}:
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
