"""Drawing the cases of an op: layouts and parameters that fit together, flags, data, launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parity.cases.parser import broken, complaint_of
from parity.data.extents import draw_values
from parity.data.layouts import LAUNCHES, Draw, pick, shape
from parity.data.parameters import parameter
from parity.dsl.expression import Expression, Scope, Value
from parity.dsl.shapes import ShapeMismatch
from parity.model.case import Case, Tensor
from parity.model.dtypes import DType
from parity.model.layout import Layout
from parity.ops.case_view import case_view
from parity.ops.declaration import WHOLE, Declaration

if TYPE_CHECKING:
    from hypothesis import strategies as st

__all__ = ["cases_of"]

WINDOW = 96


def cases_of(op: Declaration, dtypes: Sequence[str], launches: str) -> st.SearchStrategy[Case]:
    """Strategy for the cases of one kernel entry; ``launches`` is "any", or "host" for the host's own rule only."""
    from hypothesis import reject
    from hypothesis import strategies as st

    types = op.bind(dtypes)

    @st.composite
    def cases(draw: Draw) -> Case:
        drawn = _drawn(op, draw)
        layouts = {name: drawn[name] for name in op.tensors}
        own = launches == "host" or bool(op.then)
        launch = pick(draw, LAUNCHES) if op.grid_stride and not own else None
        other = bool(op.threads) and launch is None and not own
        threads = pick(draw, (None, None, *op.threads)) if other else None
        flags = []
        if "in-place" in op.flags and pick(draw, (False, False, False, True)):
            flags.append("in-place")
        if op.aliased and pick(draw, (False, False, False, True)):
            flags.append("aliased")
            layouts[op.aliased[1]] = layouts[op.aliased[0]]
        if (
            "null-info" in op.flags
            and all(layouts[n].is_contiguous for n in op.with_strides)
            and pick(draw, (True, False))
        ):
            flags.insert(0, "null-info")
        for name in op.optional:
            if pick(draw, (False, False, False, True)):
                flags.append(f"no-{name}")
                del layouts[name]
        tensors = {}
        whole = op.reference is None and pick(draw, (False, False, False, True))
        for name, each in layouts.items():
            if name in op.filled:
                start = sum(draw(st.integers(0, WINDOW - 1)) * WINDOW**k for k in range(2))
                streams = op.data_of(name, types)
                stream = WHOLE if whole and WHOLE in streams else pick(draw, streams)
                # Sorted data are the closer together, the further on in the stream.
                tensors[name] = Tensor(each, stream, start % WINDOW if stream == "sorted" else start)
            else:
                tensors[name] = Tensor(each)
        if "aliased" in flags and op.aliased:
            tensors[op.aliased[1]] = tensors[op.aliased[0]]
        params = {
            name: _of_kind(drawn[name], op.dtype_of(kind, types))
            if name in drawn
            else parameter(draw, op.dtype_of(kind, types), op.values, whole=whole)
            for name, kind in op.params.items()
        }
        case = Case(
            op.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags), launch, threads
        )
        if not op.layouts and complaint_of(case_view(op, case)):
            reject()
        return case

    strategy: st.SearchStrategy[Case] = cases()
    return strategy


def _drawn(op: Declaration, draw: Draw) -> Mapping[str, Any]:
    """The layouts of all tensors of a case, and values of parameters that have to fit them."""
    from hypothesis import reject

    if op.layouts:
        found = op.ask("layouts", op.layouts, draw, tuple(op.tensors))
        if not isinstance(found, Mapping) or not all(isinstance(found.get(name), Layout) for name in op.tensors):
            raise op.mistake(f"layouts: the function returned {found!r}, and no mapping with a Layout of each tensor")
        return found
    if not op.shapes:
        common = shape(draw)
        layouts = {name: op.strides_of(name).draw(draw, common) for name in op.tensors}
        return {**_chosen(op, draw).names, **layouts}
    scope = _chosen(op, draw)
    try:
        if broken(op, scope):
            reject()
        with op.naming("shapes"):
            shapes = {name: op.stated.shape(name, scope) for name in op.tensors}
    except ShapeMismatch:
        reject()
    return {**scope.names, **{name: op.strides_of(name).draw(draw, of) for name, of in shapes.items()}}


def _chosen(op: Declaration, draw: Draw) -> Scope:
    with op.naming("choices"):
        return draw_values(draw, op.stated, op.choices, tuple(op.params), partial(_allows, _rules_of_one_name(op)))


def _rules_of_one_name(op: Declaration) -> Mapping[str, tuple[Expression, ...]]:
    """The conditions that are about one name only, by that."""
    found: dict[str, tuple[Expression, ...]] = {}
    for rule in op.conditions:
        if len(rule.names) == 1 and not rule.tensors:
            (name,) = rule.names
            found[name] = (*found.get(name, ()), rule)
    return found


def _allows(rules: Mapping[str, tuple[Expression, ...]], name: str, value: Value) -> bool:
    return all(rule(Scope({name: value})) for rule in rules.get(name, ()))


def _of_kind(value: Value, kind: DType) -> float | int:
    return float(value) if kind.is_float else int(value)
