"""Executes a plan without comparing anything, and keeps the outcome of every launch for a recording."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parity.engine import worker
from parity.engine.calls import CallFailed, Pool
from parity.engine.case_records import Column, Task
from parity.engine.execution import task_limit
from parity.engine.journal import Journal
from parity.engine.judging import not_judged_verdict
from parity.engine.plan import Plan
from parity.engine.pool import Workers, completed
from parity.errors import ParityError, ResourceExhausted
from parity.model.launch import Fault, Outcome
from parity.op import Call, Entry
from parity.runners import SupportsNearest
from parity.runners.recording_file import RecordedCase, changed_buffers, launch_digest
from parity.suite.loading import Suite


@dataclass(frozen=True)
class FinishedTask:
    """The cases of a finished task, with compressed buffers."""

    task: int
    cases: tuple[RecordedCase, ...]

    @classmethod
    def of(cls, task: int, cases: Iterable[RecordedCase]) -> FinishedTask:
        """Compress the buffers of the cases."""
        return cls(task, tuple(_with_buffers(case, lambda data: zlib.compress(data, 1)) for case in cases))

    def unpacked(self) -> list[RecordedCase]:
        """Return the cases with uncompressed buffers."""
        return [_with_buffers(case, zlib.decompress) for case in self.cases]


def _with_buffers(case: RecordedCase, change: Callable[[bytes], bytes]) -> RecordedCase:
    return replace(case, buffers={name: change(data) for name, data in case.buffers.items()})


def outcome_journal(path: Path, plan: Mapping[str, Any]) -> Journal[FinishedTask]:
    """Open the journal of a recording. ``plan`` as in ``Journal``.

    Raises:
        UsageError, ResourceExhausted: As ``Journal``.
    """
    return Journal(path, FinishedTask, plan, "a recording", "choose another file with -o")


def record_outcomes(
    plan: Plan, suite: Suite, journal: Journal[FinishedTask], workers: Workers
) -> Iterator[RecordedCase]:
    """Execute the tasks that the journal lacks, add them to the journal, and yield all cases in the order of the plan.

    A case that crashes or hangs its process gets a fault; the rest of its kernel runs again, case by case.

    Raises:
        NotAvailable: The device cannot be opened.
        UsageError: The journal is not writable.
    """
    there = {entry.task for entry in journal.entries}
    missing = [number for number in range(len(plan.tasks)) if number not in there]
    if missing:
        left = replace(plan, tasks=tuple(plan.tasks[number] for number in missing))
        with workers.pools(left, workers.jobs and min(workers.jobs, len(missing))) as pool:
            for number, cases in _executed(plan, suite, pool, missing):
                journal.add(FinishedTask.of(number, cases))
                workers.progress("recording", len(journal.entries), len(plan.tasks))
    for entry in sorted(journal.entries, key=lambda entry: entry.task):
        yield from entry.unpacked()


def _executed(plan: Plan, suite: Suite, pool: Pool, numbers: list[int]) -> Iterator[tuple[int, list[RecordedCase]]]:
    """Yield each task's number and cases as tasks finish. Tasks that ended their process come last."""
    tasks = {number: plan.tasks[number] for number in numbers}
    open_tasks: dict[Any, int] = {
        pool.schedule(record_task, [task], seconds=task_limit(plan, task), columns=task.columns): number
        for number, task in tasks.items()
    }
    ended = []
    for future in completed(open_tasks):
        try:
            yield open_tasks[future], future.result()
        except CallFailed:
            ended.append(open_tasks[future])
    for number in ended:
        yield number, list(_one_by_one(plan, suite, pool, plan.tasks[number]))


def _one_by_one(plan: Plan, suite: Suite, pool: Pool, task: Task) -> Iterator[RecordedCase]:
    entry = suite.entry(task)
    for column in task.columns:
        for title, text in plan.draw(suite, task):
            alone = replace(task, columns=(column,), cases=((title, text),))
            try:
                yield from pool.schedule(record_task, [alone], seconds=plan.seconds, columns=(column,)).result()
                continue
            except CallFailed as error:
                fault = error.fault(plan.seconds)
                if fault.kind == "killed":
                    raise ResourceExhausted(f"{fault.message}; use fewer worker processes: -j 1") from None
            yield _recorded(entry, column, title, text, entry.op.call(entry.op.parse(text)), Outcome({}, fault))


def record_task(task: Task) -> list[RecordedCase]:
    """Execute a task in a worker process, and return its cases."""
    here = worker.current()
    entry = here.suite.entry(task)
    texts = here.plan.draw(here.suite, task)
    cases = []
    for column in task.columns:
        code, device = here.plan.code[entry.op.module, column], here.kernels(column)
        # A recording describes one device, so results of approximate instructions are not varied.
        session = device.nearest if isinstance(device, SupportsNearest) else device
        for title, text in texts:
            call = entry.op.call(entry.op.parse(text)).on(code)
            try:
                outcome = session.execute(code, call.launch, call.buffers)
            except ParityError:
                raise
            except Exception as error:  # a bug in the runner affects only this launch
                if lacking := not_judged_verdict(error):
                    raise ResourceExhausted(lacking.detail) from error
                outcome = Outcome({}, Fault("error", f"{type(error).__name__}: {error}"))
            cases.append(_recorded(entry, column, title, text, call, outcome))
    return cases


def _recorded(entry: Entry, column: Column, title: str, text: str, call: Call, outcome: Outcome) -> RecordedCase:
    """Return a case with the buffers that its launch changed, or with its fault."""
    changed = changed_buffers(outcome.buffers, call.buffers) if outcome.fault is None else {}
    launch = launch_digest(call.launch, call.buffers)
    return RecordedCase(text, title, entry.op.module, entry.kernel, column.target, launch, changed, outcome.fault)
