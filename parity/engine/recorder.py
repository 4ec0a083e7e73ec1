"""Executes a plan without comparing anything: what every launch left behind, for a recording."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np

from parity.engine import worker
from parity.engine.plan import Plan, Task
from parity.engine.run import Progress, processors
from parity.errors import NotAvailable
from parity.op import Entry
from parity.runners.recording import RecordedCase, launch_digest
from parity.suite import Suite

__all__ = ["outcomes"]


def outcomes(
    plan: Plan, suite: Suite, *, jobs: int | None = None, progress: Progress | None = None
) -> Iterator[RecordedCase]:
    """Yield every case of a plan with its outcome, in the order of the plan.

    ``jobs`` is the number of worker processes (default: one per processor this process may use).

    Raises:
        NotAvailable: a process died, and its values with it.
    """
    pool = ProcessPoolExecutor(
        min(jobs or processors(), max(1, len(plan.tasks))),
        multiprocessing.get_context("spawn"),
        initializer=worker.start,
        initargs=(plan,),
    )
    with pool:
        try:
            for done, cases in enumerate(pool.map(_perform, plan.tasks), 1):
                yield from cases
                if progress:
                    progress("recording", done, len(plan.tasks))
        except BrokenProcessPool as error:
            raise NotAvailable(
                "a worker process died while it recorded; parity run finds the case, record without its kernel"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _perform(task: Task) -> list[RecordedCase]:
    return list(_cases(worker.current(), task))


def _cases(here: worker.Worker, task: Task) -> Iterator[RecordedCase]:
    entry = Entry(here.suite.op(task.op), task.dtypes)
    texts = here.plan.draw(here.suite, task)
    for column in task.columns:
        code = here.plan.code[entry.op.module, column]
        for title, text in texts:
            call = entry.op.call(entry.op.parse(text))
            outcome = here.session(column).execute(code, call.launch, call.buffers)
            changed = {}
            if outcome.fault is None:
                for name, buffer in call.buffers.items():
                    after = np.ascontiguousarray(outcome.buffers[name]).tobytes()
                    if after != buffer.data.tobytes():
                        changed[name] = after
            yield RecordedCase(
                text,
                title,
                entry.op.module,
                entry.kernel,
                column.target,
                launch_digest(call.launch, call.buffers),
                changed,
                outcome.fault,
            )
