"""The case view: what the functions and expressions of a declaration see of a case."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np

from parity.dsl.expression import Scope, Value, expression, whole
from parity.dsl.shapes import Shapes
from parity.model.case import Case
from parity.model.dtypes import DType, resolve_dtype
from parity.model.launch import WARP, Grid
from parity.model.layout import Layout, contiguous
from parity.ops.callbacks import OpOrigin
from parity.ops.launch_rules import Number, Step

Params = Mapping[str, float | int]
Shape = tuple[int, ...]


class DeclaredOp(Protocol):
    """The properties of a declaration that a case view is computed from (see ``Declaration``)."""

    @property
    def origin(self) -> OpOrigin: ...
    @property
    def compared(self) -> dict[str, str]: ...
    @property
    def kinds(self) -> dict[str, str]: ...
    @property
    def params(self) -> Mapping[str, str]: ...
    @property
    def parsed_shapes(self) -> Shapes: ...
    @property
    def steps(self) -> tuple[Step, ...]: ...
    @property
    def shape(self) -> Callable[[CaseView], Shape] | None: ...
    @property
    def indices(self) -> Mapping[str, Number[CaseView]]: ...
    def bind(self, dtypes: Sequence[str]) -> dict[str, DType]: ...


class TensorView(NamedTuple):
    """A tensor as expressions see it: extents and strides in elements, ``itemsize`` in bytes."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int
    numel: int
    itemsize: int


@dataclass(frozen=True, eq=False)
class CaseView:
    """One case, as the functions of its op see it. It never has data.

    ``view["rows"]`` is the value of a name in ``shapes`` or of a parameter.

    Attributes:
        layouts: layouts of the tensors that the case spells out, without inputs that it leaves out.
        params: values of the parameters.
        types: the dtype of every type variable.
        flags: flags of the case, such as ``null-info``.
        threads: threads per block that the case requests, or None for the launch rule of the host.
        launch: (blocks, threads per block), if the case gives both.
    """

    op: DeclaredOp = field(repr=False)
    layouts: Mapping[str, Layout]
    params: Params
    types: Mapping[str, DType]
    flags: tuple[str, ...] = ()
    threads: int | None = None
    launch: tuple[int, int] | None = None

    def __getitem__(self, name: str) -> Value:
        names = self.output_scope.names
        if name not in names:
            raise self.op.origin.error(f"no name {name!r} has a value; there are {' '.join(names)}")
        return names[name]

    @functools.cached_property
    def dtypes(self) -> Mapping[str, DType]:
        """The dtype of every tensor and parameter."""
        kinds = {**self.op.params, **self.op.kinds}
        return {name: resolve_dtype(kind, self.types) for name, kind in kinds.items()}

    @property
    def shape(self) -> Shape:
        """The shape of the first output."""
        return next(iter(self.shapes.values()))

    @functools.cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """The shape of every output and of every tensor that the kernel updates."""
        return {name: self._shape(name) for name in self.op.compared}

    @functools.cached_property
    def grid(self) -> Grid:
        """The grid of the first launch.

        Raises:
            UsageError: no device can launch it.
        """
        return self.grid_of_step()

    def grid_of_step(self, step: int = 0, *, wavefront: int = WARP) -> Grid:
        """The grid of a launch. The launch or threads of the case replace the rule of the first kernel only.

        ``wavefront`` is the number of lanes of a wavefront of the target.

        Raises:
            UsageError: no device can launch it.
        """
        own = replace(self, threads=None, launch=None) if step else self
        rule, origin = self.op.steps[step], self.op.origin
        blocks, threads = own.launch or (None, own.threads)
        with origin.naming("launch"):
            if not rule.launch:
                return rule.evaluate(own.output_scope, blocks=blocks, threads=threads, wavefront=wavefront)
            grid = origin.call("launch", rule.launch, own)
            if not isinstance(grid, Grid):
                raise origin.error(f"launch: the function returned {grid!r}, which is not a Grid")
            return replace(grid, grid=(blocks, 1, 1), block=(threads, 1, 1)) if blocks and threads else grid

    def number(self, rule: Number[CaseView], field: str) -> int:
        """Evaluate an expression, or call a function, of a field of the declaration.

        Raises:
            UsageError: the result is not a whole number, or a name has no value.
        """
        if callable(rule):
            found = self.op.origin.call(field, rule, self)
            if not isinstance(found, int | np.integer):
                raise self.op.origin.error(f"{field}: the function returned {found!r}, which is not a whole number")
            return int(found)
        with self.op.origin.naming(field):
            return whole(expression(str(rule))(self.output_scope), str(rule))

    def index_bound(self, name: str) -> int:
        """Return how many positions the elements of an index tensor may have.

        Raises:
            UsageError: as for ``number``, or the result is negative.
        """
        rule = self.op.indices[name]
        if (found := self.number(rule, "indices")) < 0:
            raise self.op.origin.error(f"indices: {rule} is {found}; correct it, or exclude such sizes with where=")
        return found

    @functools.cached_property
    def scope(self) -> Scope:
        """The names that follow from the shapes of the tensors.

        Raises:
            ShapeMismatch: the shapes do not fit together.
        """
        tensors = {name: self._tensor(name, layout) for name, layout in self.layouts.items()}
        extents = {name: layout.shape for name, layout in self.layouts.items()}
        return self.op.parsed_shapes.bind(extents, self.params, tensors)

    @functools.cached_property
    def output_scope(self) -> Scope:
        """``scope`` with the outputs as tensors, and with ``numel`` and ``num_dims`` of the first output."""
        tensors = {
            name: self._tensor(name, self.layouts.get(name) or contiguous(shape)) for name, shape in self.shapes.items()
        }
        counts = {"numel": math.prod(self.shape), "num_dims": len(self.shape)}
        scope = self.scope
        return Scope({**counts, **scope.names}, {**tensors, **scope.tensors}, scope.failed)

    def launch_scope(self, grid: Grid) -> Scope:
        """``output_scope`` with ``threads`` (of a block) and ``blocks`` of a launch."""
        scope = self.output_scope
        counts = {"threads": grid.threads, "blocks": math.prod(grid.grid)}
        return Scope({**counts, **scope.names}, scope.tensors, scope.failed)

    def _tensor(self, name: str, layout: Layout) -> TensorView:
        return TensorView(layout.shape, layout.strides, layout.offset, layout.numel, self.dtypes[name].itemsize)

    def _shape(self, name: str) -> Shape:
        if name in self.layouts:
            return self.layouts[name].shape
        if self.op.shape:
            found = self.op.origin.call("shape", self.op.shape, self)
            if not (isinstance(found, tuple | list) and all(isinstance(n, int | np.integer) and n >= 0 for n in found)):
                raise self.op.origin.error(
                    f"shape: the function returned {found!r}, which is not a tuple of whole numbers of 0 or more"
                )
            return tuple(map(int, found))
        if name in self.op.parsed_shapes.tensors:
            return self.op.parsed_shapes.shape(name, self.scope)
        return next(iter(self.layouts.values())).shape


def view_case(op: DeclaredOp, case: Case) -> CaseView:
    """Return the view of a case. The views of the last four cases are kept."""
    return _view(_Identity(op, case))


@dataclass(frozen=True, eq=False)
class _Identity:
    """A cache key that compares by identity: cases with 0.0 and -0.0 are equal but are not the same case."""

    op: DeclaredOp
    case: Case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.op is other.op and self.case is other.case

    def __hash__(self) -> int:
        return hash((id(self.op), id(self.case)))


@functools.lru_cache(maxsize=4)  # parsing a case and calling it each need the view
def _view(key: _Identity) -> CaseView:
    op, case = key.op, key.case
    return CaseView(op, case.layouts, dict(case.params), op.bind(case.dtypes), case.flags, case.threads, case.launch)
