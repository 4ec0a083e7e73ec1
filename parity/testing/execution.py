"""Runs the kernels that pytest selected in the engine's worker processes, in pytest's order."""

from __future__ import annotations

import fcntl
import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from parity.application.run import Run
from parity.engine.calls import Progress
from parity.engine.case_records import CaseRecord, Column, Task
from parity.engine.execution import collect_records, prepare, schedule_task
from parity.engine.pool import completed, worker_pool
from parity.op import Entry
from parity.platform.subprocesses import processors

AHEAD = 2
"""Kernels to schedule in advance, per worker process."""

Key = tuple[str, tuple[str, ...]]


class Execution:
    """Builds the selected kernels and executes them in a pool of workers. A context manager.

    ``lock`` is the file that the processes of one pytest-xdist run share: the first process builds and translates for
    all of them, and each process has one worker. ``report`` receives the current step and its progress.
    """

    def __init__(self, run: Run, selected: Sequence[tuple[Entry, Column]], lock: Path | None, report: Progress) -> None:
        self._lock, self._report = lock, report
        columns: dict[Key, list[Column]] = {}
        for entry, column in selected:
            columns.setdefault(_key(entry), []).append(column)
        # The columns of a kernel are one task, so that CUDA and AMD are compared.
        tasks = tuple(Task(*key, tuple(dict.fromkeys(each))) for key, each in columns.items())
        self.run = replace(run, only=tasks)
        self._futures: dict[Key, Future[list[CaseRecord]]] = {}
        self._found: dict[Key, list[CaseRecord]] = {}
        self._exits = ExitStack()

    def __enter__(self) -> Execution:
        with self._exits as exits:  # closed immediately if something fails
            with _shared(self._lock) as first:
                self._build()
                if self._lock is None:
                    self._pool = exits.enter_context(worker_pool(self.plan))
                    prepare(self.plan, self.run.suite, self._pool, self._report)
                elif first:
                    with worker_pool(self.plan) as pool:
                        prepare(self.plan, self.run.suite, pool, self._report)
            if self._lock:
                self._pool = exits.enter_context(worker_pool(self.plan, 1))
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._exits.close()

    def _build(self) -> None:
        done, total = itertools.count(1), len(self.run.modules) * len(self.run.targets)
        if total:
            self._report("building", 0, total)
        prepared = self.run.build(lambda built: self._report("building", next(done), total))
        self.built, self.plan, self.problems = prepared.built, prepared.plan, prepared.problems
        self._tasks = {(task.op, task.dtypes): task for task in self.plan.tasks}
        self._order = list(self._tasks)

    def compile_error(self, entry: Entry, column: Column) -> str:
        """Return the error message if a kernel did not compile, else an empty string."""
        errors = {(built.module, built.target): str(built.error) for built in self.built if built.error}
        return errors.get((entry.op.module, column.target), "")

    def records(self, entry: Entry, column: Column) -> list[CaseRecord]:
        """Return the records of a kernel in a column; empty if the kernel cannot run there."""
        key = _key(entry)
        if key not in self._tasks:
            return []
        if key not in self._found:
            self._schedule(key)
            future = self._futures.pop(key)
            next(iter(completed({future: key})))  # unlike a plain wait, Ctrl-C can interrupt this
            found = collect_records(self.plan, self.run.suite, self._pool, self._tasks[key], future)
            self._found[key] = list(found)
        return list(filter(column.ran, self._found[key]))

    def _schedule(self, key: Key) -> None:
        """Send a kernel to the workers, and the next kernels unless other pytest processes may run them."""
        ahead = 1 if self._lock else 1 + AHEAD * processors()
        start = self._order.index(key)
        for each in self._order[start : start + ahead]:
            if each not in self._futures and each not in self._found:
                self._futures[each] = schedule_task(self.plan, self._pool, self._tasks[each])


def _key(entry: Entry) -> Key:
    return entry.op.name, entry.dtypes


@contextmanager
def _shared(lock: Path | None) -> Iterator[bool]:
    """Lock the file among the processes that share it; yields True in the first process."""
    if lock is None:
        yield True
        return
    with lock.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield not file.read()
        file.write("done")
