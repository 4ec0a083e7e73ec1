"""Launches of single cases on a worker, for a client that judges them: what a session does, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity.engine import Column, Task, worker
from parity.errors import DeviceLost, Unsupported
from parity.model.launch import Buffer, Computation, Fault, Launch, Outcome
from parity.runners import OpSession, Session, SupportsExplanation, SupportsNearest, SupportsShadows
from parity.runners.recording_file import RecordedCase, launch_digest

__all__ = ["NEAREST", "Computed", "Observed", "Replied", "capable", "computed", "launched", "observed_all"]

NEAREST = "nearest "
"""Goes before the digest of a launch that was executed with the nearest numbers."""


@dataclass(frozen=True)
class Observed:
    """An ``Outcome``: the bytes of the buffers that it changed, or its fault."""

    buffers: dict[str, bytes]
    fault: Fault | None
    instructions: int | None
    printed: str
    drawn: str

    def outcome(self, before: Mapping[str, Buffer]) -> Outcome:
        """The outcome of that launch on the buffers it was given."""
        found = RecordedCase("", "", "", "", "", "", self.buffers, self.fault).outcome(before)
        return replace(found, instructions=self.instructions, printed=self.printed, drawn=self.drawn)


@dataclass(frozen=True)
class Replied:
    """The return value of a method of a session: outcomes in groups, texts, a number."""

    outcomes: list[list[Observed]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    number: int = 0


@dataclass(frozen=True)
class Computed:
    """The result of a library: dtype, shape and bytes of an array; or why it does not have that."""

    dtype: str = ""
    shape: tuple[int, ...] = ()
    data: bytes = b""
    unsupported: str | None = None


def capable(module: str, column: Column) -> list[str]:
    """The protocols that the session of a column has beside its own."""
    session = worker.current().kernels(column)
    return [
        each.__name__ for each in (SupportsNearest, SupportsExplanation, SupportsShadows) if isinstance(session, each)
    ]


def launched(module: str, column: Column, method: str, launch: Launch, buffers: dict[str, Buffer]) -> Replied:
    """Call a method of the session of a column with a launch."""
    here = worker.current()
    session: Any = here.kernels(column)
    code = here.plan.code[module, column]
    if method == "explain":
        return Replied(texts=list(session.explain(code, launch, buffers)))
    if method == "arithmetic":
        return Replied(number=int(session.arithmetic(code, launch)))
    if method == "shadows":
        found = session.shadows(code, launch, buffers)
        groups = ((found.nearest,), found.moved, found.narrowed)
        return Replied([[_observed(each, buffers) for each in group] for group in groups])
    device = session.nearest if method == "nearest" else session
    return Replied([[_observed(device.execute(code, launch, buffers), buffers)]])


def observed_all(task: Task) -> dict[str, Observed]:
    """The outcomes of all cases of a task on its one column, by the digests of their launches.

    The first one with the nearest numbers as well, which is what is asked for of it.
    """
    here = worker.current()
    (column,) = task.columns
    entry = here.suite.entry(task)
    session: Session = here.kernels(column)
    code = here.plan.code[entry.op.module, column]
    found: dict[str, Observed] = {}
    for _, text in here.plan.draw(here.suite, task):
        try:
            call = entry.op.call(entry.op.parse(text))
            launch = call.on(code).launch
            if any(each.kernel not in code.kernels for each in launch.sequence):
                continue
            key = launch_digest(launch, call.buffers)
            if not found and isinstance(session, SupportsNearest):
                found[NEAREST + key] = _observed(session.nearest.execute(code, launch, call.buffers), call.buffers)
            found[key] = _observed(session.execute(code, launch, call.buffers), call.buffers)
        except DeviceLost:
            raise
        except Exception:  # it happens again where it is judged
            continue
    return found


def computed(module: str, column: Column, asked: Computation) -> Computed:
    """Let a library compute a case."""
    library = worker.current().session(column)
    assert isinstance(library, OpSession)
    try:
        found = np.asarray(library.compute(asked))
    except Unsupported as reason:
        return Computed(unsupported=str(reason))
    return Computed(found.dtype.name, found.shape, np.ascontiguousarray(found).tobytes())


def _observed(outcome: Outcome, before: Mapping[str, Buffer]) -> Observed:
    changed = {}
    for name, buffer in before.items():
        after = np.ascontiguousarray(outcome.buffers[name]).tobytes() if name in outcome.buffers else b""
        if after and after != buffer.data.tobytes():
            changed[name] = after
    return Observed(changed, outcome.fault, outcome.instructions, outcome.printed, outcome.drawn)
