"""Finds the rows of an output: the parts along its first dim that a reference computes independently of each other.

A case with more elements than fit into memory is judged by a sample of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from parity.model.case import Case
from parity.model.dtypes import Array
from parity.model.layout import contiguous
from parity.ops.case_view import view_case
from parity.ops.declaration import Declaration
from parity.reference.expected import Bounds, Expected, Limits


def row_axes(op: Declaration, case: Case) -> Mapping[str, int] | None:
    """Return the dim of each tensor that numbers the rows of the output, for tensors that have such a dim.

    Returns None if the declaration of ``op`` does not show that rows are independent.
    """
    outputs = op.compared
    excluded = op.shape or op.layouts or op.then or op.updates or set(op.tensors) - set(case.layouts)
    if not (op.reference and op.shapes) or excluded or len(outputs) != 1:
        return None
    names, shapes = view_case(op, case).scope.names, op.parsed_shapes

    def dims(tensor: str) -> Iterator[tuple[str, int]]:
        """Name of each dim, with its position in a name that stands for several dims."""
        for dim in shapes.tensors[tensor]:
            text = dim.extent.text
            yield from ((text, part) for part in range(len(names[text]) if dim.many else 1))

    first = next(dims(op.result), ("", 0))
    derived = {first[0]}  # names whose values depend on the number of rows
    for _ in shapes.defined:
        derived |= {name for name, each in shapes.defined.items() if derived & each.names}
    others = (dim.extent.names for dim in shapes.dims if dim.extent.text != first[0])
    if first[0] not in shapes.free or first[0] in op.params or any(derived & each for each in others):
        return None
    found = {name: list(dims(name)) for name in op.tensors}
    if any(each.count(first) > 1 for each in found.values()):
        return None
    return {name: each.index(first) for name, each in found.items() if first in each}


def with_rows(case: Case, axes: Mapping[str, int], count: int, strides: Mapping[str, int] | None = None) -> Case:
    """Return a case with ``count`` rows. Its tensors are contiguous, except for ``strides`` of their row dims."""
    tensors = dict(case.tensors)
    for name, tensor in case.tensors:
        shape = list(tensor.layout.shape)
        if name in axes:
            shape[axes[name]] = count
        layout = contiguous(tuple(shape))
        if strides and name in strides:
            steps = list(layout.strides)
            steps[axes[name]] = strides[name]
            layout = replace(layout, strides=tuple(steps))
        tensors[name] = replace(tensor, layout=layout)
    return replace(case.with_tensors(tensors), flags=(), launch=None, threads=None)


def take_rows(arrays: Mapping[str, Array], axes: Mapping[str, int], rows: Array) -> dict[str, Array]:
    """Return the arrays with only these rows. Arrays without a row dim stay whole."""
    # Indexing copies only the rows. np.take would copy the whole array first.
    at: dict[str, Any] = {name: (*([slice(None)] * axis), rows) for name, axis in axes.items()}
    return {name: np.asarray(each[at.get(name, ())]) for name, each in arrays.items()}


def take_elements(expected: Expected, index: tuple[Array, ...]) -> Expected:
    """Return the expectation of the elements at ``index``, in one dim."""
    shape, bounds = expected.value.shape, expected.bounds

    def at(each: Array | float | bool) -> Array:
        return np.broadcast_to(each, shape)[index]

    def bounds_at(limits: Limits) -> Bounds:
        assert bounds is not None
        found = bounds(limits)
        return Bounds(at(found.centre), at(found.residual), at(found.below), at(found.above))

    return Expected(
        expected.value[index],
        bounds and bounds_at,
        at(expected.sign_of_zero),
        at(expected.nan_allowed),
        {name: each[index] for name, each in expected.divergences.items()},
        tuple(each[index] for each in expected.alternatives),
        at(expected.unspecified),
    )
