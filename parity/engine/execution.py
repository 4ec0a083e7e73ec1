"""Executes a plan: sends tasks to worker processes, and retries the cases of a worker that crashed or hung."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace

from parity.compare.arbitration import SideResult
from parity.compare.verdict import Status, Verdict
from parity.engine import worker
from parity.engine.calls import CallFailed, CallTimeout, NoWorker, Pool, Progress
from parity.engine.case_records import DECLARATION, CaseRecord, Column, Task
from parity.engine.cross_vendor import compare_vendors
from parity.engine.judging import fault_verdict
from parity.engine.plan import Plan
from parity.engine.pool import Workers, completed
from parity.suite.loading import Suite

CASES_PER_LIMIT = 10
"""Time limit for a task on one column, as a multiple of the limit for one case."""
BATCH = 24
"""Kernels to translate in one call."""


def execute_plan(plan: Plan, suite: Suite, workers: Workers) -> Iterator[CaseRecord]:
    """Yield the record of every case, kernel by kernel in the order in which kernels finish.

    A case that crashes or hangs its process costs only that case: the rest of its kernel runs again, case by case.
    Closing the iterator stops the workers.
    """
    with workers.pools(plan, workers.jobs) as pool:
        if pool.shared:
            prepare(plan, suite, pool, workers.progress)
        workers.progress("running", 0, len(plan.tasks))
        open_tasks = {schedule_task(plan, pool, task): task for task in plan.tasks}
        for finished, future in enumerate(completed(open_tasks), 1):
            yield from collect_records(plan, suite, pool, open_tasks[future], future)
            workers.progress("running", finished, len(plan.tasks))


def schedule_task(plan: Plan, pool: Pool, task: Task) -> Future[list[CaseRecord]]:
    """Schedule a task. Pass the future to ``collect_records``."""
    return _submitted(pool, task, task_limit(plan, task))


def _submitted(pool: Pool, task: Task, seconds: float) -> Future[list[CaseRecord]]:
    return pool.schedule(worker.perform, [task], seconds=seconds, columns=task.columns)


def collect_records(
    plan: Plan, suite: Suite, pool: Pool, task: Task, future: Future[list[CaseRecord]]
) -> Iterator[CaseRecord]:
    """Yield the records of a scheduled task. If the task ended its process, run it again case by case."""
    try:
        yield from future.result()
    except CallFailed:
        yield from _one_by_one(plan, suite, pool, task)
    except NoWorker as reason:
        yield from _without_result(plan, suite, task, _absent(reason))


def task_limit(plan: Plan, task: Task) -> float:
    """Return the time limit of a whole task in seconds."""
    return CASES_PER_LIMIT * plan.seconds * len(task.columns)


def prepare(plan: Plan, suite: Suite, pool: Pool, progress: Progress) -> None:
    """Translate all kernels for emulators in batches, which is cheaper than one at a time.

    Devices load a module with its first launch. Errors are ignored here and reappear later.
    """
    kernels: dict[tuple[str, Column], list[str]] = {}
    for task in plan.tasks:
        entry = suite.entry(task)
        for column in task.columns:
            code = None if column.on_device else plan.code.get((entry.op.module, column))
            for symbol in map(code.symbol, entry.kernels) if code else ():
                if code and symbol in code.kernels:
                    kernels.setdefault((entry.op.module, column), []).append(symbol)
    batches = [
        (*key, tuple(names[i : i + BATCH])) for key, names in kernels.items() for i in range(0, len(names), BATCH)
    ]
    futures = {
        pool.schedule(worker.prepare_kernels, batch, seconds=CASES_PER_LIMIT * plan.seconds, columns=batch[1:2]): batch
        for batch in batches
    }
    for done, _ in enumerate(completed(futures), 1):
        progress("preparing", done, len(batches))


def _one_by_one(plan: Plan, suite: Suite, pool: Pool, task: Task) -> Iterator[CaseRecord]:
    """Run each case with its own time limit. If a case still ends its process, run it on each column alone.

    After a function of the case file that never returned, the remaining cases do not run.
    """
    done: dict[Column, list[CaseRecord]] = {column: [] for column in task.columns}
    entry, endless = suite.entry(task), None
    for case in plan.draw(suite, task, sparse=True):
        left_out = {c: rest for c in task.columns if task.cases is None and (rest := worker.verdict_on_rest(done[c]))}
        yield from (CaseRecord.of(entry, column, case[1], rest, case[0]) for column, rest in left_out.items())
        columns = tuple(column for column in task.columns if column not in left_out)
        if not columns:
            continue
        alone = replace(task, columns=columns, cases=(case,), shrink=False)
        if endless:
            yield from _without_result(plan, suite, alone, endless)
            continue
        try:
            records = _submitted(pool, alone, plan.seconds).result()
        except CallFailed as error:
            if isinstance(error, CallTimeout) and error.in_callback:
                endless = _endless(plan.seconds)
                records = _without_result(plan, suite, alone, endless)
            else:
                records = _on_each(plan, suite, pool, alone)
        except NoWorker as reason:
            records = _without_result(plan, suite, alone, _absent(reason))
        for record in records:
            mine = next(column for column in columns if column.ran(record))
            done[mine].append(record)
            wanted = task.shrink and record.verdict.status is Status.FAIL and not record.known
            yield _with_minimal(plan, pool, alone, record) if wanted else record


def _with_minimal(plan: Plan, pool: Pool, task: Task, record: CaseRecord) -> CaseRecord:
    """Return the record with the simplest case of its failure, or unchanged if the search ends its process."""
    where = tuple(column for column in task.columns if column.ran(record))
    search = replace(task, columns=where, shrink=True)
    with contextlib.suppress(CallFailed, NoWorker):
        (found,) = schedule_task(plan, pool, search).result()
        return replace(record, minimal=found.minimal)
    return record


def _on_each(plan: Plan, suite: Suite, pool: Pool, task: Task) -> list[CaseRecord]:
    """Run one case on each column in turn, and compare the vendors by their verdicts only.

    If the op has no reference, CUDA's columns run together with each other column.
    """
    theirs = () if suite.op(task.op).reference else tuple(c for c in task.columns if c.vendor == "cuda")
    found = {
        column: _on_one(plan, suite, pool, replace(task, columns=tuple(dict.fromkeys((column, *theirs)))))
        for column in task.columns
    }
    against = compare_vendors(
        {column: SideResult(record.verdict) for column, records in found.items() for record in records}
    )
    return [replace(record, against=against.get(column)) for column, records in found.items() for record in records]


def _on_one(plan: Plan, suite: Suite, pool: Pool, task: Task) -> list[CaseRecord]:
    """Return the records of one case on the first column of a task, even if the case ends its process."""
    column = task.columns[0]
    try:
        return list(filter(column.ran, _submitted(pool, task, plan.seconds).result()))
    except NoWorker as reason:
        verdict = _absent(reason)
    except CallFailed as error:
        verdict = fault_verdict(error.fault(plan.seconds))
    return _without_result(plan, suite, replace(task, columns=(column,)), verdict)


def _without_result(plan: Plan, suite: Suite, task: Task, verdict: Verdict) -> list[CaseRecord]:
    """Return the records of a task whose cases all have the same verdict, because none returned a result."""
    entry = suite.entry(task)
    about = entry.op.divergences(entry.dtypes)
    return [
        plan.known.mark(CaseRecord.of(entry, column, text, verdict, title, divergence=about.get(text, "")))
        for column in task.columns
        for title, text in plan.draw(suite, task, sparse=True)
    ]


def _endless(seconds: float) -> Verdict:
    detail = (
        f"a function of the case file, such as the reference, did not end within {seconds:g} s, and native code "
        "cannot be interrupted; its process was killed, and the remaining cases were not executed"
    )
    return Verdict(Status.ERROR, DECLARATION, detail=detail)


def _absent(reason: NoWorker) -> Verdict:
    return Verdict(Status.NOT_JUDGED, "not run", detail=str(reason))
