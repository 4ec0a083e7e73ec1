"""Parses the text of a case, and checks that a case fits together and fits its kernel."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from parity.cases.conditions import violated_condition
from parity.cases.specializations import missing_specialization
from parity.data.buffers import Memory
from parity.data.indices import INDEX_STREAMS, is_sentinel
from parity.data.streams import has_stream, streams_of, unknown_stream
from parity.dsl.arguments import in_range
from parity.dsl.shapes import ShapeMismatch
from parity.errors import UsageError, nearest, parse_natural
from parity.model.case import Case, Tensor, split
from parity.model.dtypes import DType, resolve_dtype
from parity.model.launch import BLOCK
from parity.ops.case_view import CaseView, view_case
from parity.ops.declaration import Declaration

MAX_RANK = 8
"""More dims than any framework passes to these kernels."""


@functools.lru_cache(maxsize=256)  # workers receive named cases as text and parse them again
def parse_case(op: Declaration, text: str) -> Case:
    """Parse the text of a case and check it.

    Raises:
        UsageError: a name, value or flag does not fit this op.
    """
    _, dtypes, values, flags = split(text)
    types = op.bind(dtypes)
    known = {*op.tensors, *op.params, "launch", "threads"}
    for name in values:
        if name not in known:
            raise UsageError(f"{op.name} has no {name!r}{nearest(name, known)}")
    for flag in flags:
        if flag not in op.flags:
            known_flags = nearest(flag, op.flags) or f"; it has {' '.join(op.flags) or 'none'}"
            raise UsageError(f"{op.name} has no flag {flag!r}{known_flags}")
    left_out = {name for name in op.optional if f"no-{name}" in flags}
    for name in (*op.tensors, *op.params):
        if name in left_out and name in values:
            raise UsageError(f"no-{name} leaves {name} out, but {text!r} has {name}={values[name]}")
        if name not in values and name not in left_out:
            raise UsageError(f"{name!r} is missing in {text!r}")
    if "launch" in values and "threads" in values:
        raise UsageError(f"{text!r} has launch and threads; launch={values['launch']} gives both")
    tensors = {name: Tensor.parse(values[name]) for name in op.tensors if name not in left_out}
    params = {name: _parameter(values[name], resolve_dtype(kind, types), name) for name, kind in op.params.items()}
    case = Case(
        op.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags),
        _launch(values["launch"]) if "launch" in values else None,
        _threads(op, values["threads"]) if "threads" in values else None,
    )  # fmt: skip
    check_case(op, case)
    return case


def _parameter(text: str, kind: DType, name: str) -> float | int:
    try:
        value = float(text) if kind.is_float else int(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not a number of type {kind}") from None
    found: float | int = in_range(value, kind, name)
    return found


def _threads(op: Declaration, text: str) -> int:
    if parse_natural(text, "threads") not in op.threads:
        choice = f"with {' '.join(map(str, op.threads))}" if op.threads else "by its own rule only"
        raise UsageError(f"threads={text}: {op.name} may be launched {choice}")
    return int(text)


def _launch(text: str) -> tuple[int, int]:
    blocks, _, threads = text.partition("x")
    if not re.fullmatch("[0-9]{1,10}x[0-9]{1,4}", text) or not (int(blocks) >= 1 and 1 <= int(threads) <= BLOCK):
        raise UsageError(f"launch={text} is not BLOCKSxTHREADS with 1 to {BLOCK} threads")
    return int(blocks), int(threads)


def check_case(op: Declaration, case: Case) -> None:
    """Check that the tensors of a case fit together and fit the kernel.

    Raises:
        ShapeMismatch: the tensors do not fit together, or the kernel does not accept a layout.
        UsageError: data, flags or launch do not fit.
    """
    tensors = dict(case.tensors)
    for name, tensor in tensors.items():
        if len(tensor.layout.shape) > MAX_RANK:
            raise UsageError(f"{name}={tensor} has {len(tensor.layout.shape)} dims; kernels take up to {MAX_RANK}")
    view = view_case(op, case)
    if mismatch := find_mismatch(op, view):
        raise ShapeMismatch(f"{case} does not fit together: {mismatch}")
    for name in tensors:
        _check_tensor(op, case, view, name)
    if "null-info" in case.flags:
        strided = [name for name in tensors if name in op.tensors_in_info and not tensors[name].layout.is_contiguous]
        if strided:
            raise UsageError(f"null-info requires contiguous tensors, and {strided[0]} in {case} is not contiguous")
    view.grid  # noqa: B018 - raises if no device can launch it
    if case.launch and (not op.grid_stride or op.then):
        rule = replace(view, threads=None, launch=None).grid_of_step()
        raise UsageError(f"{case}: the kernel of {op.name} must have the launch of its rule, which is {rule}")


def _check_tensor(op: Declaration, case: Case, view: CaseView, name: str) -> None:
    """Check layout and data of one tensor."""
    tensor = case.tensor(name)
    if complaint := op.accepted_strides(name).complaint(tensor.layout):
        raise ShapeMismatch(f"{name}={tensor}: {complaint}")
    kind = view.dtypes[name]
    streams = (*streams_of(kind), *(INDEX_STREAMS if name in op.indices else ()))
    if name in op.filled and not tensor.data:
        example = "index" if name in op.indices else "mixed"
        raise UsageError(f"{name}={tensor} needs data: write {tensor.layout}~{example}@0")
    if name not in op.filled and tensor.data:
        raise UsageError(f"{name}={tensor}: {name} is only written, so it holds no data; drop ~{tensor.data}")
    if tensor.data and tensor.data not in streams and not has_stream(kind, tensor.data):
        raise UsageError(f"{name}={tensor}: {unknown_stream(tensor.data, kind, streams)}")
    if name in op.compared and not tensor.layout.is_injective:
        raise UsageError(f"{name}={tensor}: two elements share a place, so the result would depend on the order")
    if name in op.indices:
        _check_indices(op, case, view, name)


def _check_indices(op: Declaration, case: Case, view: CaseView, name: str) -> None:
    """Check that the data of an index tensor are valid positions, or sentinels where the op allows them."""
    tensor, bound, streams = case.tensor(name), view.index_bound(name), op.declared_streams(name)
    if bound and tensor.data in streams:  # valid by construction, and possibly too long to check
        return
    kind = view.dtypes[name]
    ids = tensor.layout.view(Memory(name, kind, tensor, bound).buffer(op.points).data)
    wrong = (ids < 0) | (ids.astype(np.uint64) >= np.uint64(bound))
    if "sentinel" in streams:
        wrong &= ~is_sentinel(ids, kind)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise UsageError(
            f"{name}={tensor}: id {ids[index]} at {index} does not index one of {bound} places; "
            f"for right ids write ~{' or ~'.join(streams)}"
        )


def _complaint(mismatch: Callable[[CaseView], str], view: CaseView) -> str:
    return str(mismatch(view) or "")


def find_mismatch(op: Declaration, view: CaseView) -> str:
    """Return why the parts of a case do not fit together, or an empty string."""
    try:
        with op.origin.naming("shapes"):
            scope = view.scope
        if condition := violated_condition(op, scope):
            return condition
        shapes = {name: layout.shape for name, layout in view.layouts.items()}
        if op.one_shape and len(set(shapes.values())) > 1:
            return f"the tensors differ in shape: {', '.join(f'{name} {shape}' for name, shape in shapes.items())}"
        if op.mismatch and (complaint := op.origin.call("mismatch", _complaint, op.mismatch, view)):
            return str(complaint)
        with op.origin.naming("shapes"):
            view.shapes  # noqa: B018 - raises if an extent of an output is negative
        if complaint := missing_specialization(op, view):
            return complaint
        if not op.launch:
            view.grid  # noqa: B018 - raises if no device can launch it
    except ShapeMismatch as mismatch:
        return str(mismatch)
    return ""
