"""Turning the knobs one at a time: which sides are examined, isolated workers, and what each knob does to the case."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from pathlib import Path

from parity.bisect.compiler_options import CompilerOption, available_options
from parity.bisect.rebuild import Rebuild, RebuildTask, rebuild_and_run, run_as_built, stage_kernels
from parity.compare import Conclusion, Status
from parity.compilers.rocm import other_headers, with_headers
from parity.compilers.targets import target
from parity.engine import CaseRecord, Column, Plan, Progress, Task, quiet
from parity.engine.calls import CallTimeout, WorkerCrashed, call_fault
from parity.engine.judging import fault_verdict
from parity.engine.pool import completed, worker_pool
from parity.engine.processes import Processes
from parity.errors import NotAvailable, UsageError
from parity.porting import HELPFUL
from parity.suite.loading import Suite

__all__ = ["BisectResult", "CaseState", "Effect", "bisect_options"]

LIMIT = 5
"""Times of the limit of one case that a knob may take, with its compilation."""


class CaseState(IntEnum):
    """The state of a case, from the best: the sides give the same bits, as far as both ran; they differ; one fails."""

    SAME = 0
    DIFFERS = 1
    FAILS = 2


class Effect(StrEnum):
    """The effect of a knob on a case."""

    GONE = "goes away"
    APPEARS = "fails"
    NONE = "as before"
    SAME = "same code"
    NOT_JUDGED = "not judged"
    NOT_BUILT = "does not compile"


@dataclass(frozen=True)
class BisectResult:
    """A case as it is built, ``before`` (one for each side), and with each knob turned."""

    case: str
    kernel: str
    before: tuple[Rebuild, ...]
    turns: tuple[Rebuild, ...]

    @property
    def state(self) -> CaseState:
        """The state of the case as it is built."""
        states = (case_state(each.records) for each in self.before)
        return max((each for each in states if each is not None), default=CaseState.SAME)

    def effect(self, turned: Rebuild) -> Effect:
        """The effect of a knob."""
        if turned.error:
            return Effect.NOT_BUILT
        if turned.same:
            return Effect.SAME
        before, after = case_state(self.as_built(turned.column).records), case_state(turned.records)
        if after is None or before is None:
            return Effect.NOT_JUDGED
        if after < before:
            return Effect.GONE
        return Effect.APPEARS if after is CaseState.FAILS and before is not CaseState.FAILS else Effect.NONE

    def of(self, effect: Effect) -> tuple[Rebuild, ...]:
        """The knobs with an effect, those that say most about a cause first."""
        return tuple(each for each in self.turns if self.effect(each) is effect)

    @property
    def found(self) -> Rebuild | None:
        """The knob that answers: that makes the failure or difference go away, or one appear; None if none does.

        Of knobs that make a case fail those go first with which it does what it must not with memory.
        """
        appears = sorted(self.of(Effect.APPEARS), key=lambda each: all(r.verdict.first for r in each.records))
        return next(iter((*self.of(Effect.GONE), *appears)), None)

    def as_built(self, column: Column) -> Rebuild:
        """The case as it is built, where a column is examined."""
        return next(each for each in self.before if each.column == column)


def case_state(records: Sequence[CaseRecord]) -> CaseState | None:
    """The state of a case by its records; None if one of them was not judged."""
    verdicts = [each.verdict for each in records]
    if not all(each.judged or each.status is Status.TAKEN for each in verdicts) or not verdicts:
        return None
    if any(each.failed for each in verdicts):
        return CaseState.FAILS
    compared = [each.against.conclusion for each in records if each.against]
    return CaseState.DIFFERS if any(each is not Conclusion.SAME for each in compared) else CaseState.SAME


def bisect_options(plan: Plan, suite: Suite, *, jobs: int | None = None, progress: Progress = quiet) -> BisectResult:
    """Turn every knob of every side that can change what becomes of the one case of a plan.

    Of AMD's targets the first is examined on which the case fails, else the first that differs from CUDA's side.

    Raises:
        NotAvailable: the case cannot be judged as it is built.
        UsageError: no source is there that could be built again.
    """
    (task,) = plan.tasks
    ((_, text),) = task.cases or ()
    task = replace(task, shrink=False)
    limit = LIMIT * plan.seconds
    with worker_pool(plan, jobs) as pool, tempfile.TemporaryDirectory(prefix="parity-why-") as folder:
        progress("as built", 0, 1)
        records = _records(pool.schedule(run_as_built, [task], seconds=limit), task, suite, limit)
        progress("as built", 1, 1)
        subjects = _subjects(pool, plan, suite, task, records, Path(folder), limit)
        before, trying = [], dict[Future[Rebuild], tuple[RebuildTask, CompilerOption, str]]()
        for subject in subjects:
            alone = pool.schedule(run_as_built, [subject.task, [(subject.column, subject.code)]], seconds=limit)
            before.append(Rebuild(None, subject.column, "", _records(alone, subject.task, suite, limit)))
            for knob, how, flags in _knobs(subject):
                trying[pool.schedule(rebuild_and_run, [subject, knob, how, flags], seconds=limit)] = subject, knob, how
        found: dict[Future[Rebuild], Rebuild] = {}
        for done, future in enumerate(completed(trying), 1):
            found[future] = _turned(future, *trying[future], suite, limit)
            progress("turning", done, len(trying))
    entry = suite.entry(task)
    return BisectResult(text, entry.kernel, tuple(before), tuple(found[future] for future in trying))


def _subjects(
    pool: Processes,
    plan: Plan,
    suite: Suite,
    task: Task,
    records: Sequence[CaseRecord],
    folder: Path,
    limit: float,
) -> Iterator[RebuildTask]:
    """The sides whose knobs can change what becomes of the case."""
    entry = suite.entry(task)
    of_column = {column: each for column in task.columns for each in records if each.column == str(column)}
    for each in records:
        if not (each.verdict.judged or each.verdict.status is Status.TAKEN):
            raise NotAvailable(
                f"{entry.kernel} was not judged on {each.column}: {each.verdict.detail or each.verdict.kind}"
            )
    failing = {column for column, each in of_column.items() if each.failed}
    examined = []
    for vendor in ("amd", "cuda"):
        columns = [column for column in task.columns if column.vendor == vendor]
        examined += sorted(columns, key=lambda column: -(case_state([of_column[column]]) or 0))[:1]
    together = replace(task, columns=tuple(examined))
    alone = bool(entry.op.reference and failing)  # what the other side computes does not matter
    for column in examined:
        if alone and column.vendor == "cuda" and column not in failing:
            continue
        own = replace(task, columns=(column,)) if alone else together
        code = plan.code[entry.op.module, column]
        if column.vendor == "cuda":
            yield RebuildTask(own, column, code, suite.sides.cuda.flags, detail=of_column[column].verdict.detail)
            continue
        found = pool.schedule(stage_kernels, [task, column, folder / column.target], seconds=limit).result()
        if found is None:
            raise UsageError(
                f"module {entry.op.module!r} is a code object: there is no source that could be built again"
            )
        yield RebuildTask(own, column, found[1], found[0].unit.flags, found[0], of_column[column].verdict.detail)


def _knobs(subject: RebuildTask) -> Iterator[tuple[CompilerOption, str, tuple[str, ...]]]:
    """The knobs of a side, each with what is done, and the flags with which it is compiled then."""
    where, flags = target(subject.column.target), subject.flags
    for knob in available_options(where, flags):
        if knob.variant == "headers":
            yield from ((knob, f"headers of {each}", (*with_headers(each), *flags)) for each in other_headers(where))
        else:
            how = f"--hipify {HELPFUL}" if knob.variant == "helpful" else knob.described(flags)
            yield knob, how, knob.turned(flags)


def _records(future: Future[tuple[CaseRecord, ...]], task: Task, suite: Suite, limit: float) -> tuple[CaseRecord, ...]:
    """The records that a worker has; those of a case that ended its process say so."""
    try:
        return future.result()
    except (WorkerCrashed, CallTimeout) as error:
        return _ended(error, task, suite, limit)


def _ended(error: WorkerCrashed | CallTimeout, task: Task, suite: Suite, limit: float) -> tuple[CaseRecord, ...]:
    """The records of a case that ended its process."""
    assert task.cases
    entry, verdict = suite.entry(task), fault_verdict(call_fault(error, limit))
    return tuple(CaseRecord.of(entry, column, task.cases[0][1], verdict) for column in task.columns)


def _turned(
    future: Future[Rebuild], subject: RebuildTask, knob: CompilerOption, how: str, suite: Suite, limit: float
) -> Rebuild:
    """The answer of a worker."""
    try:
        return future.result()
    except (WorkerCrashed, CallTimeout) as error:
        return Rebuild(knob, subject.column, how, _ended(error, subject.task, suite, limit))
