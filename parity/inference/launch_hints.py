"""What the launches of the host say of a kernel: the blocks by its numbers, and which numbers are made of others."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword

from parity.dsl.expression import FUNCTIONS
from parity.inference.conditions import likely_blocks
from parity.inference.facts import FREE, LaunchArguments, Triple
from parity.inference.host_formulas import names_of, replaced
from parity.inference.host_launches import HostLaunch
from parity.inference.ptx_dataflow import Flow

__all__ = ["Hosted", "hosted", "with_formulas"]


@dataclass(frozen=True)
class Hosted:
    """A launch by the kernel's numbers: its ``grid``, the numbers that are ``made`` of others, the names of extents
    that are ``free``, as only the grid tells them, and the ``block`` that is likely.
    """

    grid: tuple[str, ...]
    made: Mapping[str, str]
    free: tuple[str, ...]
    block: Triple


def hosted(name: str, launches: Sequence[HostLaunch], args: Sequence[LaunchArguments], flow: Flow) -> Iterator[Hosted]:
    """What each launch says, if it says how many blocks there are, and by names that the kernel's arguments explain.

    ``name`` is spelled with its template arguments. Blocks whose number is fixed say nothing of the kernel's numbers.
    """
    taken = {each.name for each in args}
    seen = set[tuple[object, ...]]()
    for launch in launches:
        if not launch.grid or not all(launch.grid):
            continue
        spare = iter([free for free in FREE.values() if free not in taken])
        numbers = {each.key[0]: each for each in args if each.is_whole and not each.key[1]}
        known: dict[str, str] = {}
        formulas: dict[str, str] = {}
        passed = {number.name: launch.arguments[i] for i, number in numbers.items() if i < len(launch.arguments)}
        often = {text for text, count in Counter(passed.values()).items() if count > 1}
        for number, text in passed.items():
            if text.isidentifier():
                known[text] = number
            elif text:
                formulas[number] = text
        blocks = _trimmed(launch.grid)
        needed = dict.fromkeys(other for text in blocks for other in sorted(names_of(_tree(text))))
        explained = dict.fromkeys(other for text in formulas.values() for other in sorted(names_of(_tree(text))))
        if not needed.keys() <= known.keys() | explained.keys() or often & {*needed, *explained}:
            continue  # of what is passed as two numbers nobody knows which one it is
        free = {other: next(spare, "") for other in needed | explained if other not in known}
        if not all(free.values()):
            continue
        known |= free
        told = tuple(with_formulas(text, known) for text in blocks)
        made = {number: with_formulas(text, known) for number, text in formulas.items()}
        if not flow.strided and not any(names_of(_tree(text)) for text in told):
            continue
        if any(each in FUNCTIONS or iskeyword(each) for each in known.values()):
            continue
        block = next(likely_blocks(name, [launch], flow), (1, 1, 1))
        # Whoever divides the size by that of a block may have written a kernel that takes any size.
        for grid in dict.fromkeys((tuple(map(_rounded_up, told)), told)):
            one = Hosted(grid, made, tuple(free.values()), block)
            if (key := (grid, *made.items(), block)) not in seen:
                seen.add(key)
                yield one
                if made:
                    yield replace(one, made={})


def with_formulas(text: str, formulas: Mapping[str, str]) -> str:
    """An expression with formulas in place of names."""
    return replaced(text, {name: _tree(formula).body for name, formula in formulas.items()})


def _rounded_up(text: str) -> str:
    return ast.unparse(_RoundedUp().visit(_tree(text))).replace(" ", "")


class _RoundedUp(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.op, ast.FloorDiv):
            return node
        return ast.Call(ast.Name("ceil"), [ast.BinOp(node.left, ast.Div(), node.right)], [])


def _tree(text: str) -> ast.Expression:
    return ast.parse(text, mode="eval")


def _trimmed(grid: Sequence[str]) -> Sequence[str]:
    """The grid without axes of one block behind the last of more."""
    last = max((i for i, text in enumerate(grid) if text != "1"), default=0)
    return grid[: last + 1]
