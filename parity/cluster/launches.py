"""Functions that execute single launches on a worker for the coordinator, which judges the outcomes.

All arrays are in the reduced form of ``parity.cluster.outcome_codec``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.cluster.outcome_codec import drop_unchanged
from parity.engine import worker
from parity.engine.case_records import Column, Task
from parity.errors import DeviceLost, Unsupported
from parity.model.code_object import CodeObject
from parity.model.launch import Arithmetic, Buffer, Computation, Launch, Outcome, Shadows
from parity.runners import OpSession, SupportsExplanation, SupportsNearest, SupportsShadows
from parity.runners.recording_file import launch_digest

NEAREST = "nearest "
"""Prefix of the digest of a launch that was executed with the nearest results of approximate instructions."""


@dataclass(frozen=True)
class Computed:
    """The output of a library, or the reason why the library does not support the case."""

    output: np.ndarray[Any, Any] | None = None
    unsupported: str = ""


def capabilities(module: str, column: Column) -> list[str]:
    """Return the names of the optional protocols that the session of a column implements."""
    session, protocols = worker.current().kernels(column), (SupportsNearest, SupportsExplanation, SupportsShadows)
    return [each.__name__ for each in protocols if isinstance(session, each)]


def execute(module: str, column: Column, launch: Launch, buffers: dict[str, Buffer]) -> Outcome:
    """Execute a launch."""
    session, code = _session_and_code(module, column)
    found: Outcome = session.execute(code, launch, buffers)
    return drop_unchanged(found, buffers)


def execute_nearest(module: str, column: Column, launch: Launch, buffers: dict[str, Buffer]) -> Outcome:
    """Execute a launch with the nearest results of approximate instructions."""
    session, code = _session_and_code(module, column)
    found: Outcome = session.nearest.execute(code, launch, buffers)
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
                found[NEAREST + key] = drop_unchanged(session.nearest.execute(code, launch, call.buffers), call.buffers)
            found[key] = drop_unchanged(session.execute(code, launch, call.buffers), call.buffers)
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
