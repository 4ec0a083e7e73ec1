"""Launch rules: how a declaration states grid, block and dynamic shared memory, and how a rule becomes a ``Grid``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from parity.dsl.arguments import ArgumentSpec, parse_argument
from parity.dsl.expression import Expression, Scope, expression, whole
from parity.dsl.shapes import ShapeMismatch, words
from parity.errors import UsageError
from parity.model.launch import BLOCK, BLOCKS, WARP, WARP_SIZE, Grid

V = TypeVar("V")

Number = str | int | Callable[[V], int]
"""An expression, a number, or a function of the case view (the parameter of this alias)."""


@dataclass(frozen=True)
class Step:
    """A kernel that the op launches after its first kernel, on the same buffers.

    The fields have the same meaning as the fields of ``Op`` with these names.
    """

    kernel: str
    args: str
    grid: str | int = ""
    block: str | int = BLOCK
    shared: str | int = 0
    launch: Callable[..., Grid] | None = None

    @functools.cached_property
    def arguments(self) -> tuple[ArgumentSpec, ...]:
        """The parsed arguments."""
        return tuple(map(parse_argument, words(self.args)))

    @functools.cached_property
    def by_wavefront(self) -> bool:
        """True if an expression names the width of a wavefront."""
        return any(WARP_SIZE in expression(str(rule)).names for rule in (self.grid or "1", self.block, self.shared))

    def evaluate(
        self, scope: Scope, *, blocks: int | None = None, threads: int | None = None, wavefront: int = WARP
    ) -> Grid:
        """Evaluate the expressions. ``blocks`` and ``threads`` (per block) override them.

        Raises:
            UsageError: an expression has no value, or no device can launch the result.
        """
        scope = Scope({WARP_SIZE: wavefront, **scope.names}, scope.tensors, scope.failed)
        block = (threads, 1, 1) if threads else _dims(self.block, scope)
        scope = Scope({"threads": math.prod(block), **scope.names}, scope.tensors, scope.failed)
        rule = expression(str(self.shared))
        if (shared := whole(rule(scope), rule.text)) < 0:
            raise UsageError(f"shared={rule.text!r} is {shared} bytes with {rule.shown(scope)}; correct it")
        # The host of an elementwise kernel launches at least one block.
        grid = (blocks, 1, 1) if blocks else _dims(self.grid or "max(1, ceil(numel/threads))", scope)
        return Grid(grid, block, shared)


def _dims(rule: str | int, scope: Scope) -> tuple[int, int, int]:
    """Evaluate the expression of a grid or block; missing dims are 1."""
    value = expression(str(rule))(scope)
    dims = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(dims) <= 3:
        raise UsageError(f"{rule!r} has {len(dims)} dims; a grid and a block have one to three")
    x, y, z = (*(whole(n, str(rule)) for n in dims), 1, 1)[:3]
    text = f"{str(rule)!r} is {value} with {expression(str(rule)).shown(scope)}"
    if min(x, y, z) < 1:
        text += ": a launch needs 1 or more along every dim"
        if _is_empty(expression(str(rule)), scope):
            raise ShapeMismatch(text)
        raise UsageError(f"{text}; correct it, or exclude such sizes with where=, as in where='x.numel > 64'")
    if max(y, z) > BLOCKS:
        raise ShapeMismatch(f"{text}: a grid has at most {BLOCKS} blocks along its second and third dim")
    return x, y, z


def _is_empty(rule: Expression, scope: Scope) -> bool:
    """Return whether a case has nothing to compute: a tensor is empty, or a size in the rule is 0."""
    return any(not each.numel for each in scope.tensors.values()) or any(not scope.names[name] for name in rule.names)
