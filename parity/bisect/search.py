"""Bisects the compiler options of one case: chooses the sides to rebuild, runs workers, and rates each option."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from pathlib import Path

from parity.bisect.compiler_options import CompilerOption, available_options
from parity.bisect.rebuild import Rebuild, RebuildTask, rebuild_and_run, run_as_built, stage_kernels
from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Status
from parity.compilers.rocm import other_headers, with_headers
from parity.compilers.targets import target
from parity.engine.calls import CallFailed, Progress, quiet
from parity.engine.case_records import CaseRecord, Column, Task
from parity.engine.judging import fault_verdict
from parity.engine.plan import Plan
from parity.engine.pool import completed, worker_pool
from parity.engine.processes import Processes
from parity.errors import NotAvailable, UsageError
from parity.porting import HELPFUL
from parity.suite.loading import Suite

LIMIT = 5
"""Time limit for a rebuild and its case, as a multiple of the limit for one case."""


class CaseState(IntEnum):
    """The state of a case, from best to worst: the sides agree bit by bit, the sides differ, or a side fails."""

    SAME = 0
    DIFFERS = 1
    FAILS = 2


class Effect(StrEnum):
    """The effect of a compiler option on a case."""

    GONE = "goes away"
    APPEARS = "fails"
    NONE = "as before"
    SAME = "same code"
    NOT_JUDGED = "not judged"
    NOT_BUILT = "does not compile"


@dataclass(frozen=True)
class BisectResult:
    """A case as built, with one entry in ``before`` per side, and its ``rebuilds``."""

    case: str
    kernel: str
    before: tuple[Rebuild, ...]
    rebuilds: tuple[Rebuild, ...]

    @property
    def state(self) -> CaseState:
        """The state of the case as built."""
        states = (case_state(each.records) for each in self.before)
        return max((each for each in states if each is not None), default=CaseState.SAME)

    def effect(self, rebuild: Rebuild) -> Effect:
        """Return the effect of a rebuild on the case."""
        if rebuild.error:
            return Effect.NOT_BUILT
        if rebuild.same:
            return Effect.SAME
        before, after = case_state(self.as_built(rebuild.column).records), case_state(rebuild.records)
        if after is None or before is None:
            return Effect.NOT_JUDGED
        if after < before:
            return Effect.GONE
        return Effect.APPEARS if after is CaseState.FAILS and before is not CaseState.FAILS else Effect.NONE

    def of(self, effect: Effect) -> tuple[Rebuild, ...]:
        """Return the rebuilds with an effect, in the order of the option table."""
        return tuple(each for each in self.rebuilds if self.effect(each) is effect)

    @property
    def found(self) -> Rebuild | None:
        """The most telling rebuild: one that fixes the case, or else one that makes it fail; None if there is neither.

        Of the rebuilds that make the case fail, those with a memory error come before those with wrong values.
        """
        appears = sorted(self.of(Effect.APPEARS), key=lambda each: all(r.verdict.first for r in each.records))
        return next(iter((*self.of(Effect.GONE), *appears)), None)

    def as_built(self, column: Column) -> Rebuild:
        """Return the case as built for a column."""
        return next(each for each in self.before if each.column == column)


def case_state(records: Sequence[CaseRecord]) -> CaseState | None:
    """Return the state of a case from its records; None if a record was not judged."""
    verdicts = [each.verdict for each in records]
    if not all(each.judged or each.status is Status.BASELINE for each in verdicts) or not verdicts:
        return None
    if any(each.failed for each in verdicts):
        return CaseState.FAILS
    compared = [each.against.conclusion for each in records if each.against]
    return CaseState.DIFFERS if any(each is not Conclusion.SAME for each in compared) else CaseState.SAME


def bisect_options(plan: Plan, suite: Suite, *, jobs: int | None = None, progress: Progress = quiet) -> BisectResult:
    """Rebuild the kernel of a plan's only case with each compiler option that applies to it.

    Examines one AMD target: the first on which the case fails, or else the first that differs from CUDA.

    Raises:
        NotAvailable: The case cannot be judged as built.
        UsageError: There is no source to rebuild.
    """
    (task,) = plan.tasks
    ((_, text),) = task.cases or ()
    task = replace(task, shrink=False)
    limit = LIMIT * plan.seconds
    with worker_pool(plan, jobs) as pool, tempfile.TemporaryDirectory(prefix="parity-why-") as folder:
        progress("as built", 0, 1)
        records = _records(pool.schedule(run_as_built, [task], seconds=limit), task, suite, limit)
        progress("as built", 1, 1)
        tasks = _rebuild_tasks(pool, plan, suite, task, records, Path(folder))
        before, trying = [], dict[Future[Rebuild], tuple[RebuildTask, CompilerOption, str]]()
        for each in tasks:
            alone = pool.schedule(run_as_built, [each.task, [(each.column, each.code)]], seconds=limit)
            before.append(Rebuild(None, each.column, "", _records(alone, each.task, suite, limit)))
            for option, how, flags in _changes(each):
                trying[pool.schedule(rebuild_and_run, [each, option, how, flags], seconds=limit)] = each, option, how
        found: dict[Future[Rebuild], Rebuild] = {}
        for done, future in enumerate(completed(trying), 1):
            found[future] = _result(future, *trying[future], suite, limit)
            progress("rebuilding", done, len(trying))
    entry = suite.entry(task)
    return BisectResult(text, entry.kernel, tuple(before), tuple(found[future] for future in trying))


def _rebuild_tasks(
    pool: Processes, plan: Plan, suite: Suite, task: Task, records: Sequence[CaseRecord], folder: Path
) -> Iterator[RebuildTask]:
    """Yield a task for each side whose compiler options can change the result of the case."""
    entry, limit = suite.entry(task), LIMIT * plan.seconds
    of_column = {column: each for column in task.columns for each in records if each.column == str(column)}
    for each in records:
        if not (each.verdict.judged or each.verdict.status is Status.BASELINE):
            why = each.verdict.detail or each.verdict.kind
            raise NotAvailable(f"{entry.kernel} was not judged on {each.column}: {why}")
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
            raise UsageError(f"module {entry.op.module!r} is a code object: there is no source to rebuild")
        yield RebuildTask(own, column, found[1], found[0].unit.flags, found[0], of_column[column].verdict.detail)


def _changes(task: RebuildTask) -> Iterator[tuple[CompilerOption, str, tuple[str, ...]]]:
    """Yield each applicable option with a description of the change and the resulting flags."""
    where, flags = target(task.column.target), task.flags
    for option in available_options(where, flags):
        if option.variant == "headers":
            yield from ((option, f"headers of {each}", (*with_headers(each), *flags)) for each in other_headers(where))
        else:
            how = f"--hipify {HELPFUL}" if option.variant == "helpful" else option.description(flags)
            yield option, how, option.changed_flags(flags)


def _records(future: Future[tuple[CaseRecord, ...]], task: Task, suite: Suite, limit: float) -> tuple[CaseRecord, ...]:
    """Return the records of a worker. If the case ended its process, they contain a fault."""
    try:
        return future.result()
    except CallFailed as error:
        return _ended(error, task, suite, limit)


def _ended(error: CallFailed, task: Task, suite: Suite, limit: float) -> tuple[CaseRecord, ...]:
    assert task.cases
    entry, verdict = suite.entry(task), fault_verdict(error.fault(limit))
    return tuple(CaseRecord.of(entry, column, task.cases[0][1], verdict) for column in task.columns)


def _result(
    future: Future[Rebuild], task: RebuildTask, option: CompilerOption, how: str, suite: Suite, limit: float
) -> Rebuild:
    try:
        return future.result()
    except CallFailed as error:
        return Rebuild(option, task.column, how, _ended(error, task.task, suite, limit))
