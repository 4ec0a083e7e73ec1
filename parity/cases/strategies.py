"""Draws cases with Hypothesis: layouts and parameters that fit together, flags, data and launches.

The draws and their order decide which cases a seed gives. Changing them changes every drawn case.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parity.cases.conditions import default_options, violated_condition
from parity.cases.parser import find_mismatch
from parity.data.extents import draw_values
from parity.data.layouts import LAUNCHES, Draw, pick, shape
from parity.data.parameters import parameter
from parity.dsl.expression import Scope, Value
from parity.dsl.shapes import ShapeMismatch
from parity.model.case import Case, Tensor
from parity.model.dtypes import DType, resolve_dtype
from parity.model.layout import Layout
from parity.ops.case_view import view_case
from parity.ops.declaration import EXACT_STREAM, Declaration

if TYPE_CHECKING:
    from hypothesis import strategies as st

WINDOW = 96


def case_strategy(op: Declaration, dtypes: Sequence[str], launches: str) -> st.SearchStrategy[Case]:
    """Return a strategy for the cases of a kernel entry.

    ``launches`` is "any", or "host" for cases that keep to the launch rule of the op.
    """
    from hypothesis import reject
    from hypothesis import strategies as st

    types = op.bind(dtypes)

    @st.composite
    def cases(draw: Draw) -> Case:
        drawn = _draw_values(op, draw)
        layouts = {name: drawn[name] for name in op.tensors}
        launch, threads = _draw_launch(op, draw, launches)
        flags = _draw_flags(op, draw, layouts)
        exact = op.reference is None and _rarely(draw)
        tensors = _draw_tensors(op, draw, layouts, types, exact)
        if "aliased" in flags and op.aliased:
            tensors[op.aliased[1]] = tensors[op.aliased[0]]
        params = {
            name: _as_number(op, name, drawn[name], resolve_dtype(kind, types))
            if name in drawn
            else parameter(draw, resolve_dtype(kind, types), op.values, exact=exact)
            for name, kind in op.params.items()
        }
        case = Case(
            op.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags), launch, threads
        )
        if not op.layouts and find_mismatch(op, view_case(op, case)):
            reject()
        return case

    strategy: st.SearchStrategy[Case] = cases()
    return strategy


def structure(case: Case) -> Hashable:
    """Return everything of a case except its data. All cases with an empty tensor have the same structure."""
    if any(not layout.numel for layout in case.layouts.values()):
        return None
    params = tuple((name, repr(value)) for name, value in case.params)
    return tuple(case.layouts.items()), params, case.flags, case.launch, case.threads


def _rarely(draw: Draw) -> bool:
    return pick(draw, (False, False, False, True))


def _draw_launch(op: Declaration, draw: Draw, launches: str) -> tuple[tuple[int, int] | None, int | None]:
    """Draw a launch, or a number of threads, or neither."""
    fixed = launches == "host" or bool(op.then)
    launch = pick(draw, LAUNCHES) if op.grid_stride and not fixed else None
    threads = pick(draw, (None, None, *op.threads)) if op.threads and launch is None and not fixed else None
    return launch, threads


def _draw_flags(op: Declaration, draw: Draw, layouts: dict[str, Layout]) -> list[str]:
    """Draw the flags, and apply them to the layouts."""
    flags = []
    if "in-place" in op.flags and _rarely(draw):
        flags.append("in-place")
    if op.aliased and _rarely(draw):
        flags.append("aliased")
        layouts[op.aliased[1]] = layouts[op.aliased[0]]
    if (
        "null-info" in op.flags
        and all(layouts[name].is_contiguous for name in op.tensors_in_info)
        and pick(draw, (True, False))
    ):
        flags.insert(0, "null-info")
    for name in op.optional:
        if _rarely(draw):
            flags.append(f"no-{name}")
            del layouts[name]
    return flags


def _draw_tensors(
    op: Declaration, draw: Draw, layouts: Mapping[str, Layout], types: Mapping[str, DType], exact: bool
) -> dict[str, Tensor]:
    """Draw the data of every tensor that holds data before the launch."""
    from hypothesis import strategies as st

    tensors = {}
    for name, layout in layouts.items():
        if name not in op.filled:
            tensors[name] = Tensor(layout)
            continue
        start = sum(draw(st.integers(0, WINDOW - 1)) * WINDOW**k for k in range(2))
        streams = op.available_streams(name, types)
        stream = EXACT_STREAM if exact and EXACT_STREAM in streams else pick(draw, streams)
        # Elements of ``sorted`` lie closer together the later they are in the stream.
        tensors[name] = Tensor(layout, stream, start % WINDOW if stream == "sorted" else start)
    return tensors


def _draw_values(op: Declaration, draw: Draw) -> Mapping[str, Any]:
    """Draw the layouts of all tensors, and values of the parameters that must fit them."""
    from hypothesis import reject

    if op.layouts:
        found = op.origin.call("layouts", op.layouts, draw, tuple(op.tensors))
        if not isinstance(found, Mapping) or not all(isinstance(found.get(name), Layout) for name in op.tensors):
            raise op.origin.error(
                f"layouts: the function returned {found!r}, which is not a mapping with a Layout for each tensor"
            )
        return found
    if not op.shapes:
        common = shape(draw)
        layouts = {name: op.accepted_strides(name).draw(draw, common) for name in op.tensors}
        return {**_draw_names(op, draw).names, **layouts}
    scope = _draw_names(op, draw)
    try:
        if violated_condition(op, scope):
            reject()
        with op.origin.naming("shapes"):
            shapes = {name: op.parsed_shapes.shape(name, scope) for name in op.tensors}
    except ShapeMismatch:
        reject()
    return {**scope.names, **{name: op.accepted_strides(name).draw(draw, of) for name, of in shapes.items()}}


def _draw_names(op: Declaration, draw: Draw) -> Scope:
    with op.origin.naming("choices"):
        return draw_values(draw, op.parsed_shapes, op.choices, tuple(op.params), partial(default_options, op))


def _as_number(op: Declaration, name: str, value: Value, kind: DType) -> float | int:
    try:
        return float(value) if kind.is_float else int(value)
    except (OverflowError, ValueError) as error:
        raise op.origin.error(f"choices: a value of {name} is not of type {kind}: {error}") from None
