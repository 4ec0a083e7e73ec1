"""Reduces outcomes of launches to the buffers that changed, so that they travel cheaply between machines.

The functions walk the fields of any dataclass that contains outcomes, so a new field travels without a change here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from parity.model.launch import Buffer, Fault, Outcome

T = TypeVar("T")


def drop_unchanged(value: T, before: Mapping[str, Buffer]) -> T:
    """Return ``value`` with the buffers of every outcome reduced to those that differ from ``before``, as bytes.

    ``value`` is an outcome, or a dataclass or tuple that contains outcomes.
    """

    def reduce(outcome: Outcome) -> Outcome:
        changed = {}
        for name, array in outcome.buffers.items():
            after = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if name in before and after.size and after.tobytes() != before[name].data.tobytes():
                changed[name] = after
        return dataclasses.replace(outcome, buffers=changed)

    return _map_outcomes(value, reduce)


def restore_unchanged(value: T, before: Mapping[str, Buffer]) -> T:
    """Undo ``drop_unchanged``. An outcome whose buffers do not fit ``before`` becomes an outcome with a fault."""

    def restore(outcome: Outcome) -> Outcome:
        for name, array in outcome.buffers.items():
            size = before[name].data.nbytes if name in before else 0
            if array.nbytes != size:
                message = f"a worker returned {array.nbytes} bytes for the buffer {name!r}, which has {size}"
                return Outcome.untouched(before, Fault("error", message))
        after = {
            name: outcome.buffers[name].view(buffer.dtype.numpy) if name in outcome.buffers else buffer.data
            for name, buffer in before.items()
        }
        return dataclasses.replace(outcome, buffers=after)

    return _map_outcomes(value, restore)


def _map_outcomes(value: T, change: Callable[[Outcome], Outcome]) -> T:
    found: Any = value
    if isinstance(value, Outcome):
        found = change(value)
    elif isinstance(value, tuple):
        found = tuple(_map_outcomes(each, change) for each in value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        found = dataclasses.replace(value, **{name: _map_outcomes(getattr(value, name), change) for name in names})
    return cast(T, found)
