"""The view that a declaration has of a case: the object that its functions take, and that its expressions are about."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.dsl.arguments import Word, word_of
from parity.dsl.expression import Scope, Value, expression, whole
from parity.dsl.shapes import ShapeMismatch, words
from parity.errors import UsageError
from parity.model.case import Case
from parity.model.dtypes import DType
from parity.model.launch import BLOCK, BLOCKS, Grid
from parity.model.layout import Layout, contiguous

if TYPE_CHECKING:
    from parity.ops.declaration import Declaration

__all__ = ["CaseView", "Geometry", "Number", "Params", "Shape", "Step", "case_view"]

Layouts = Mapping[str, Layout]
Params = Mapping[str, float | int]
Shape = tuple[int, ...]


class View(NamedTuple):
    """A tensor as expressions see it: extents and strides in elements, ``itemsize`` in bytes."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int
    numel: int
    itemsize: int


@dataclass(frozen=True, eq=False)
class CaseView:
    """One case, as the functions of its op see it.

    ``layouts`` are those of the tensors that the case spells out (an input that it leaves out is missing), ``params``
    its parameters, ``types`` the dtype of every type variable. ``threads`` is the number of threads per block that the
    case asks for, or None for the host's own; ``launch`` its (blocks, threads), if it asks for both. The value of a
    name of ``shapes`` or of a parameter is ``given["rows"]``.
    """

    op: Declaration = field(repr=False)
    layouts: Layouts
    params: Params
    types: Mapping[str, DType]
    flags: tuple[str, ...] = ()
    threads: int | None = None
    launch: tuple[int, int] | None = None

    def __getitem__(self, name: str) -> Value:
        scope = self.numbered
        if name not in scope.names:
            raise self.op.mistake(f"no name {name!r} has a value; there are {' '.join(scope.names)}")
        return scope.names[name]

    @property
    def shape(self) -> Shape:
        """The shape of the first output."""
        return next(iter(self.shapes.values()))

    @functools.cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """The shape of every output, one that the kernel updates among them."""
        return {name: self._shape(name) for name in self.op.compared}

    @functools.cached_property
    def grid(self) -> Grid:
        """The geometry of the first launch.

        Raises:
            UsageError: no device can launch it.
        """
        return self.geometry()

    def geometry(self, step: int = 0) -> Grid:
        """The geometry of a launch: by its rule, or, of a single kernel, that of the case.

        Raises:
            UsageError: no device can launch it.
        """
        own = replace(self, threads=None, launch=None) if step else self
        with self.op.naming("launch"):
            return _geometry_of(self.op.steps[step].geometry, own)

    def number(self, rule: Number, what: str) -> int:
        """The value of an expression or a function for the case; ``what`` names it in errors.

        Raises:
            UsageError: it says no whole number, or has no value.
        """
        if callable(rule):
            found = self.op.ask(what, rule, self)
            if not isinstance(found, int | np.integer):
                raise self.op.mistake(f"{what}: the function returned {found!r}, which is no whole number")
            return int(found)
        with self.op.naming(what):
            return whole(expression(str(rule))(self.numbered), str(rule))

    @functools.cached_property
    def scope(self) -> Scope:
        """The names that follow from the shapes of the tensors.

        Raises:
            Misfit: the shapes do not fit together.
        """
        views = {name: self._view(name, layout) for name, layout in self.layouts.items()}
        extents = {name: layout.shape for name, layout in self.layouts.items()}
        return self.op.stated.bind(extents, self.params, views)

    @functools.cached_property
    def numbered(self) -> Scope:
        """The scope with all outputs as tensors, and ``numel`` and ``num_dims`` of the first."""
        views = {
            name: self._view(name, self.layouts.get(name) or contiguous(shape)) for name, shape in self.shapes.items()
        }
        counts = {"numel": math.prod(self.shape), "num_dims": len(self.shape)}
        scope = self.scope
        return Scope({**counts, **scope.names}, {**views, **scope.tensors}, scope.failed)

    def with_launch(self, grid: Grid) -> Scope:
        """The scope with ``threads`` (of a block) and ``blocks`` of a launch."""
        known = self.numbered
        launched = {"threads": grid.threads, "blocks": math.prod(grid.grid)}
        return Scope({**launched, **known.names}, known.tensors, known.failed)

    def _view(self, name: str, layout: Layout) -> View:
        kind = self.op.dtype_of(self.op.kinds[name], self.types)
        return View(layout.shape, layout.strides, layout.offset, layout.numel, kind.itemsize)

    def _shape(self, name: str) -> Shape:
        if name in self.layouts:
            return self.layouts[name].shape
        if self.op.shape:
            found = self.op.ask("shape", self.op.shape, self)
            if not (isinstance(found, tuple | list) and all(isinstance(n, int | np.integer) for n in found)):
                raise self.op.mistake(f"shape: the function returned {found!r}, which is no tuple of whole numbers")
            return tuple(map(int, found))
        if name in self.op.stated.tensors:
            return self.op.stated.shape(name, self.scope)
        return next(iter(self.layouts.values())).shape


def case_view(op: Declaration, case: Case) -> CaseView:
    """The view of a case that functions and expressions of a declaration have."""
    return _given_of(_Asked(op, case))


@dataclass(frozen=True, eq=False)
class _Asked:
    """A declaration and a case, and no equal ones: 0.0 equals -0.0."""

    op: Declaration
    case: Case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.op is other.op and self.case is other.case

    def __hash__(self) -> int:
        return hash((id(self.op), id(self.case)))


@functools.lru_cache(maxsize=4)  # who reads a case from text, and makes a call of it then, asks twice
def _given_of(asked: _Asked) -> CaseView:
    op, case = asked.op, asked.case
    types, params = op.bind(case.dtypes), dict(case.params)
    return CaseView(op, case.layouts, params, types, case.flags, case.threads, case.launch)


Number = str | int | Callable[[CaseView], int]
"""An expression of names, a number, or a function."""


@dataclass(frozen=True)
class Geometry:
    """A launch rule: blocks along one to three dims, threads of a block likewise, and bytes of dynamic shared memory,
    each an expression; or ``rule``, a function that gives all of it.
    """

    grid: str | int = ""
    block: str | int = BLOCK
    shared: str | int = 0
    rule: Callable[[CaseView], Grid] | None = None


@dataclass(frozen=True)
class Step:
    """A kernel that is launched after the op's first one, on the same buffers; the fields mean what they mean there."""

    kernel: str
    args: str
    grid: str | int = ""
    block: str | int = BLOCK
    shared: str | int = 0
    launch: Callable[[CaseView], Grid] | None = None

    @functools.cached_property
    def words(self) -> tuple[Word, ...]:
        """The arguments."""
        return tuple(map(word_of, words(self.args)))

    @property
    def geometry(self) -> Geometry:
        """The launch rule."""
        return Geometry(self.grid, self.block, self.shared, self.launch)


def _geometry_of(geometry: Geometry, given: CaseView) -> Grid:
    """The geometry of a launch: by the rule, or the one of the case's own.

    Raises:
        UsageError: no device can launch it, or an expression has no value.
    """
    if geometry.rule:
        rule = given.op.ask("launch", geometry.rule, given)
        if not isinstance(rule, Grid):
            raise given.op.mistake(f"launch: the function returned {rule!r}, which is no Grid")
        if given.launch is None:
            return rule
        return replace(rule, grid=(given.launch[0], 1, 1), block=(given.launch[1], 1, 1))
    scope = given.numbered
    block = _dims(geometry.block, scope)
    threads = given.launch[1] if given.launch else given.threads
    if threads:
        block = (threads, 1, 1)
    known = Scope({"threads": math.prod(block), **scope.names}, scope.tensors, scope.failed)
    shared = whole(expression(str(geometry.shared))(known), str(geometry.shared))
    # The host of an elementwise kernel launches at least one block.
    rule_text = geometry.grid or "max(1, ceil(numel/threads))"
    return Grid((given.launch[0], 1, 1) if given.launch else _dims(rule_text, known), block, shared)


def _dims(rule: str | int, scope: Scope) -> tuple[int, int, int]:
    value = expression(str(rule))(scope)
    dims = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(dims) <= 3:
        raise UsageError(f"{rule!r} has {len(dims)} dims; a grid and a block have one to three")
    x, y, z = (*(whole(n, str(rule)) for n in dims), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise ShapeMismatch(
            f"{rule!r} is {value} with {expression(str(rule)).shown(scope)}: a launch needs 1 or more along every dim"
        )
    if max(y, z) > BLOCKS:
        raise ShapeMismatch(
            f"{rule!r} is {value} with {expression(str(rule)).shown(scope)}: a grid has at most {BLOCKS} blocks along"
            " its second and third dim"
        )
    return x, y, z
