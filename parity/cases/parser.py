"""Cases from their texts, and what does not fit together, to the kernel or to the op."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from parity.data.buffers import filled
from parity.data.indices import INDEX_STREAMS, is_sentinel
from parity.data.streams import has_stream, streams_of, unknown_stream
from parity.dsl.arguments import in_range
from parity.dsl.expression import Scope
from parity.dsl.shapes import ShapeMismatch
from parity.errors import UsageError, natural, nearest
from parity.model.case import Case, Tensor, split
from parity.model.dtypes import DType
from parity.model.launch import BLOCK
from parity.model.layout import Layout
from parity.ops.case_view import CaseView, case_view
from parity.ops.declaration import Declaration

__all__ = ["broken", "check", "complaint_of", "parsed"]

MAX_RANK = 8
"""More dims than any framework passes to these kernels."""


@functools.lru_cache(maxsize=256)  # a worker asks for named cases as text, and reads that again
def parsed(op: Declaration, text: str) -> Case:
    """The case with that text.

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
        raise UsageError(f"{text!r} has launch and threads; launch={values['launch']} says both")
    tensors = {name: Tensor.parse(values[name]) for name in op.tensors if name not in left_out}
    params = {name: _number_of(values[name], op.dtype_of(kind, types), name) for name, kind in op.params.items()}
    case = Case(
        op.name, tuple(dtypes), tuple(tensors.items()), tuple(params.items()), tuple(flags),
        _launch(values["launch"]) if "launch" in values else None,
        _threads(op, values["threads"]) if "threads" in values else None,
    )  # fmt: skip
    check(op, case)
    return case


def _number_of(text: str, kind: DType, name: str) -> float | int:
    """The value of a parameter, from the text of a case.

    Raises:
        UsageError: it is no number of that type.
    """
    try:
        value = float(text) if kind.is_float else int(text)
    except ValueError:
        raise UsageError(f"{name}={text} is not a number of type {kind}") from None
    found: float | int = in_range(value, kind, name)
    return found


def _threads(op: Declaration, text: str) -> int:
    if natural(text, "threads") not in op.threads:
        choice = f"with {' '.join(map(str, op.threads))}" if op.threads else "by its own rule only"
        raise UsageError(f"threads={text}: {op.name} may be launched {choice}")
    return int(text)


def _launch(text: str) -> tuple[int, int]:
    blocks, _, threads = text.partition("x")
    if not re.fullmatch("[0-9]{1,10}x[0-9]{1,4}", text) or not (int(blocks) >= 1 and 1 <= int(threads) <= BLOCK):
        raise UsageError(f"launch={text} is not BLOCKSxTHREADS with 1 to {BLOCK} threads")
    return int(blocks), int(threads)


def check(op: Declaration, case: Case) -> None:
    """Refuse a case whose tensors do not fit together or to the kernel.

    Raises:
        UsageError: what does not fit.
    """
    tensors, types = dict(case.tensors), op.bind(case.dtypes)
    for name, tensor in tensors.items():
        if len(tensor.layout.shape) > MAX_RANK:
            raise UsageError(f"{name}={tensor} has {len(tensor.layout.shape)} dims; kernels take up to {MAX_RANK}")
    given = case_view(op, case)
    if complaint := complaint_of(given):
        raise ShapeMismatch(f"{case} does not fit together: {complaint}")
    for name, tensor in tensors.items():
        if complaint := op.strides_of(name).complaint(tensor.layout):
            raise ShapeMismatch(f"{name}={tensor}: {complaint}")
        kind = op.dtype_of(op.tensors[name], types)
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
            _check_ids(name, case, given)
    if "null-info" in case.flags and not all(
        t.layout.is_contiguous for n, t in tensors.items() if n in op.with_strides
    ):
        raise UsageError(f"null-info says that every tensor is contiguous; in {case} one is not")
    given.grid  # noqa: B018 - a device can launch it
    if case.launch and (not op.grid_stride or op.then):
        rule = replace(given, threads=None, launch=None).geometry()
        raise UsageError(f"{case}: the kernel of {op.name} needs the launch of its own rule, which is {rule}")


def _check_ids(name: str, case: Case, given: CaseView) -> None:
    op, tensor = given.op, case.tensor(name)
    bound = given.number(op.indices[name], "indices")
    streams = op.streams_for(name)
    if bound and tensor.data in streams:  # whose ids are all right, and may be too many to look at
        return
    kind = op.dtype_of(op.inputs[name], given.types)
    ids = tensor.layout.view(filled(name, kind, tensor, op.points, bound).data)
    wrong = (ids < 0) | (ids.astype(np.uint64) >= np.uint64(bound))
    if "sentinel" in streams:
        wrong &= ~is_sentinel(ids, kind)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise UsageError(
            f"{name}={tensor}: id {ids[index]} at {index} does not index one of {bound} places; "
            f"for right ids write ~{' or ~'.join(streams)}"
        )


def complaint_of(given: CaseView) -> str:
    """The error message for a case whose parts do not fit together, or an empty string."""
    op = given.op
    try:
        with op.naming("shapes"):
            scope = given.scope
        if complaint := broken(op, scope):
            return complaint
        if op.one_shape and (complaint := _different(given.layouts)):
            return complaint
        if op.misfit and (complaint := op.ask("misfit", op.misfit, given)):
            return str(complaint)
        with op.naming("shapes"):
            given.shapes  # noqa: B018 - no extent of an output may be negative
        if not op.launch:
            given.grid  # noqa: B018 - a device can launch it
    except ShapeMismatch as misfit:
        return str(misfit)
    return ""


def broken(op: Declaration, scope: Scope) -> str:
    """The error message for a condition that does not hold, of those whose names have values; or an empty string."""
    with op.naming("where"):
        for rule in op.conditions:
            if (
                not rule.unknown(scope) - scope.failed.keys()
                and rule.tensors <= scope.tensors.keys()
                and not rule(scope)
            ):
                shown = rule.shown(scope)
                return f"{rule} has to hold" + (f"; here {shown}" if shown else "")
    return ""


def _different(layouts: Mapping[str, Layout]) -> str:
    """The error message for tensors of different shapes where all tensors have one shape; empty if they fit."""
    shapes = {name: layout.shape for name, layout in layouts.items()}
    different = len(set(shapes.values())) > 1
    return f"the tensors differ in shape: {', '.join(f'{n} {s}' for n, s in shapes.items())}" if different else ""
