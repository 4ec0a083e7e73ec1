"""Functions that execute single launches on a worker for the coordinator, which judges the outcomes.

Outcomes travel with the buffers that changed only (``drop_unchanged``). ``_map_outcomes`` walks the fields of any
dataclass that contains outcomes, so a new field travels without a change here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from parity.engine import worker
from parity.engine.case_records import Column, Task
from parity.errors import DeviceLost, Unsupported
from parity.model.code_object import CodeObject
from parity.model.launch import Arithmetic, Buffer, Computation, Fault, Launch, Outcome, Shadows
from parity.runners import OpSession, SupportsExplanation, SupportsNearest, SupportsShadows
from parity.runners.recording_file import changed_buffers, launch_digest, restored_buffers

NEAREST = "nearest "
"""Prefix of the digest of a launch that was executed with the nearest results of approximate instructions."""


T = TypeVar("T")


@dataclass(frozen=True)
class Computed:
    """The output of a library, or the reason why the library does not support the case."""

    output: np.ndarray[Any, Any] | None = None
    unsupported: str = ""


def capabilities(module: str, column: Column) -> list[str]:
    """Return the names of the optional protocols that the session of a column implements."""
    session, protocols = worker.current().kernels(column), (SupportsNearest, SupportsExplanation, SupportsShadows)
    return [each.__name__ for each in protocols if isinstance(session, each)]


def execute(module: str, column: Column, launch: Launch, buffers: dict[str, Buffer], nearest: bool = False) -> Outcome:
    """Execute a launch; with ``nearest``, with the nearest results of approximate instructions."""
    session, code = _session_and_code(module, column)
    found: Outcome = (session.nearest if nearest else session).execute(code, launch, buffers)
    return drop_unchanged(found, buffers)


def explain(module: str, column: Column, launch: Launch, buffers: dict[str, Buffer]) -> list[str]:
    """Call ``SupportsExplanation.explain``."""
    session, code = _session_and_code(module, column)
    return list(session.explain(code, launch, buffers))


def max_arithmetic(module: str, column: Column, launch: Launch) -> Arithmetic:
    """Call ``SupportsShadows.arithmetic``."""
    session, code = _session_and_code(module, column)
    return Arithmetic(session.arithmetic(code, launch))


def shadows(module: str, column: Column, launch: Launch, buffers: dict[str, Buffer]) -> Shadows:
    """Call ``SupportsShadows.shadows``."""
    session, code = _session_and_code(module, column)
    found: Shadows = session.shadows(code, launch, buffers)
    return drop_unchanged(found, buffers)


def execute_task(task: Task) -> dict[str, Outcome]:
    """Execute all cases of a task on its only column, and return the outcomes by the digests of their launches.

    The first case also runs with the nearest results of approximate instructions, because judging it needs them.
    """
    here = worker.current()
    (column,) = task.columns
    entry = here.suite.entry(task)
    session, code = _session_and_code(entry.op.module, column)
    found: dict[str, Outcome] = {}
    for _, text in here.plan.draw(here.suite, task):
        try:
            call = entry.op.call(entry.op.parse(text))
            launch = call.on(code).launch
            if any(each.kernel not in code.kernels for each in launch.sequence):
                continue
            key = launch_digest(launch, call.buffers)
            if not found and isinstance(session, SupportsNearest):
                found[NEAREST + key] = execute(entry.op.module, column, launch, dict(call.buffers), nearest=True)
            found[key] = execute(entry.op.module, column, launch, dict(call.buffers))
        except DeviceLost:
            raise
        except Exception:  # raised again when the coordinator requests this launch alone
            continue
    return found


def compute(module: str, column: Column, asked: Computation) -> Computed:
    """Compute a case with a library."""
    library = worker.current().session(column)
    assert isinstance(library, OpSession)
    try:
        return Computed(np.asarray(library.compute(asked)))
    except Unsupported as reason:
        return Computed(unsupported=str(reason) or "unsupported")


def _session_and_code(module: str, column: Column) -> tuple[Any, CodeObject]:
    """Return the session of a column, whose capabilities the coordinator knows, and the code of a module."""
    here = worker.current()
    return here.kernels(column), here.plan.code[module, column]


def drop_unchanged(value: T, before: Mapping[str, Buffer]) -> T:
    """Return ``value`` with the buffers of every outcome reduced to those that differ from ``before``, as bytes.

    ``value`` is an outcome, or a dataclass or tuple that contains outcomes.
    """

    def reduce(outcome: Outcome) -> Outcome:
        changed = changed_buffers(outcome.buffers, before)
        arrays = {name: np.frombuffer(data, np.uint8) for name, data in changed.items()}
        return dataclasses.replace(outcome, buffers=arrays)

    return _map_outcomes(value, reduce)


def restore_unchanged(value: T, before: Mapping[str, Buffer]) -> T:
    """Undo ``drop_unchanged``. An outcome whose buffers do not fit ``before`` becomes an outcome with a fault."""

    def restore(outcome: Outcome) -> Outcome:
        arrays = {name: np.ravel(array).view(np.uint8) for name, array in outcome.buffers.items()}
        after = restored_buffers(arrays, before, "the answer of a worker")
        if isinstance(after, Fault):
            return Outcome.untouched(before, after)
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
