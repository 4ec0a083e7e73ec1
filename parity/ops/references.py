"""Calls the reference of an op, and checks what it returns."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from parity.errors import Unreferenced, UsageError
from parity.model.case import Case
from parity.model.dtypes import Array
from parity.model.launch import Grid
from parity.ops.callbacks import CallbackError, accepted
from parity.ops.case_view import CaseView
from parity.ops.declaration import Declaration
from parity.reference.expected import Bounds, Expected, Limits, is_plain
from parity.reference.sort import InOrder
from parity.triton_kernels.kernel import Constant


def call_reference(
    op: Declaration,
    case: Case,
    view: CaseView,
    scalars: Mapping[str, Array],
    inputs: Mapping[str, Array],
    grid: Grid | None = None,
) -> Mapping[str, Expected]:
    """Call the reference, for the launch of the case or another ``grid``, and check its result.

    Raises:
        Unreferenced: the reference raised an exception.
        UsageError: its result does not have the form of the outputs.
    """
    assert op.reference is not None
    # Copies, because a reference may compute in place, and the other columns execute on the same data.
    arrays = [each.copy() if isinstance(each := inputs.get(name), np.ndarray) else each for name in op.filled]
    known = {"to": view.dtypes[op.result], "shape": view.shape, "grid": grid or view.grid, **_constants_of(op, view)}
    keywords = accepted(op.reference, **known)
    with np.errstate(all="ignore"):  # the data contain NaN and infinities, and provoke overflow
        try:
            found = op.origin.call("the reference", op.reference, *arrays, *scalars.values(), **keywords)
        except CallbackError as error:
            raise Unreferenced(str(error)) from error.__cause__
        except Unreferenced:
            raise
        except UsageError as error:
            raise op.origin.error(f"{case}: {error}") from error
    by_output = _by_output(op, found)
    for name, expected in by_output.items():
        value, shape, kind = expected.value, view.shapes[name], view.dtypes[name].numpy
        if not (is_plain(value) and isinstance(value, np.ndarray | np.generic)):
            given = type(value).__name__
            raise op.origin.error(f"the reference gives a {given} for {name}; Expected takes an array without a mask")
        if (value.dtype, value.shape) != (kind, shape):
            raise op.origin.error(
                f"the reference gives {value.dtype} of shape {value.shape} for {name}, which is {kind} of shape {shape}"
            )
    return {name: _checked(op, case, name, expected) for name, expected in by_output.items()}


def _constants_of(op: Declaration, view: CaseView) -> dict[str, Constant]:
    """The values of a Triton kernel's keywords, by name."""
    if not op.triton_kernel:
        return {}
    return {**op.triton_kernel.constants, **op.triton_kernel.case_values(view.params, view.scope)}


def _checked(op: Declaration, case: Case, name: str, expected: Expected) -> Expected:
    """The expected values with functions that name the op in errors. Each bound is computed once."""
    bounds, accepts, bias = expected.bounds, expected.accepts, expected.bias
    if complaint := expected.complaint():
        raise op.origin.error(f"{case}: the reference gives {complaint} for {name}")

    @functools.cache
    def checked_bounds(limits: Limits) -> Bounds:
        found = op.origin.call(f"the budget of {name}", bounds, limits)  # type: ignore[arg-type]
        if not isinstance(found, Bounds):
            raise op.origin.error(f"{case}: the budget of {name} is of type {type(found).__name__}, not Bounds")
        if complaint := found.complaint(expected.value.shape, expected.unspecified):
            raise op.origin.error(f"{case}: the budget of {name} is {complaint}")
        return found

    def mask(got: Array) -> Array:
        return np.asarray(op.origin.call(f"accepts of {name}", accepts, got.copy()))  # type: ignore[arg-type]

    def checked_mask(got: Array) -> Array:
        found = mask(got)
        if found.dtype != np.bool_ or found.shape != got.shape:
            wrong = f"{found.dtype} of shape {found.shape} instead of bool of shape {got.shape}"
            raise op.origin.error(f"{case}: accepts of {name} returned {wrong}")
        if found.all() and not np.array_equal(found, mask(got)):
            raise op.origin.error(f"{case}: accepts of {name} gives two answers for the same elements")
        return found

    def checked_bias(got: Array) -> str:
        found = op.origin.call(f"bias of {name}", bias, got.copy())  # type: ignore[arg-type]
        if not isinstance(found, str):
            raise op.origin.error(f"{case}: bias of {name} returned a value of type {type(found).__name__}, not a text")
        return found

    own = accepts is None or type(accepts) is InOrder
    return replace(
        expected,
        bounds=bounds and checked_bounds,
        accepts=accepts if own else checked_mask,
        bias=bias and checked_bias,
    )


def _by_output(op: Declaration, found: Expected | Mapping[str, Expected]) -> Mapping[str, Expected]:
    """Map each output to the result of the reference.

    Raises:
        UsageError: the result is not one ``Expected`` per output.
    """
    names = list(op.compared)
    if type(found) is Expected and len(names) == 1:
        return {names[0]: found}
    got = f"one {type(found).__name__}"
    if isinstance(found, Mapping):
        got = f"a mapping of {' '.join(map(str, found))}"
        others = [name for name, each in found.items() if type(each) is not Expected]
        if set(found) == set(names) and not others:
            return {name: found[name] for name in names}
        if others:
            got += f", in which {others[0]} is of type {type(found[others[0]]).__name__}"
    wanted = "an Expected" if len(names) == 1 else f"a mapping with an Expected for each of {' '.join(names)}"
    hint = "; use within(0.5, value, to) or Expected(value) of parity.reference" if got.endswith("ndarray") else ""
    raise op.origin.error(f"the reference returns {got}; it must return {wanted}{hint}")
