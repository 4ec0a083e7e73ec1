"""Measures the cost of kernels: time relative to the device's limits, or instruction counts where time means nothing.

A kernel is measured only after some of its cases passed on the same column. On hardware, every measurement lies between
two copies of 1 GiB, which reveal a device that throttles or is shared. These copies and chains of multiply-adds,
measured in the same run, give the limits of the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from parity.build.modules import build
from parity.engine import worker
from parity.engine.calls import CallFailed, Pool, Progress, quiet
from parity.engine.case_records import Column, Task
from parity.engine.checked_case import Implementation
from parity.engine.execution import task_limit
from parity.engine.judging import not_judged_verdict, run_and_judge
from parity.engine.plan import Plan
from parity.engine.pool import PoolFactory
from parity.engine.worker import Worker
from parity.errors import NotAvailable, ResourceExhausted, Unreferenced
from parity.model.case import Case
from parity.model.code_object import CodeObject
from parity.model.dtypes import DTYPES
from parity.model.launch import Fault, Launch, Pointer, Scalar, Tiled
from parity.op import Entry
from parity.ops.lowering import with_symbols
from parity.runners import Session, SupportsCounting, SupportsTiming
from parity.runners.timing import ERROR, Timing, Timings
from parity.suite.loading import Suite

COPY_BYTES = 2**30
COPY_BLOCK = 4 * 256 * 16
"""Bytes that one block of 256 threads copies (``copy`` in ceilings.cu)."""

FMA_BLOCKS, FMA_ROUNDS, FMA_CHAINS = 2**14, 512, 8

REFERENCE_SECONDS = 0.2
"""Time limit of one measurement of the copy, which needs about a tenth of it."""

DRIFT = 0.02
"""Relative difference between the copies before and after a measurement above which the measurement is repeated."""

NOT_JUDGED = "not judged"
"""Start of the problem of a measurement whose reference raised an error."""

UNREFERENCED = "values not compared: the op has no reference"

CHECKED_WORK = 2**24
"""Most bytes and operations of a benchmark case that is compared with the reference, which holds every product in f64.
"""


@dataclass(frozen=True)
class Ceilings:
    """The limits of a device: bytes copied per second (read and written), and operations per second (a multiply-add is
    two).

    ``empty`` is the time in seconds between two events around an empty kernel, and ``host`` the time to launch a
    kernel.
    """

    target: str
    copy: float
    f32: float
    f64: float
    empty: float
    host: float


@dataclass(frozen=True)
class KernelMeasurements:
    """The measurements of a kernel on a device, and the limits of the device if it can be timed."""

    ceilings: Ceilings | None
    measurements: list[Measurement]


@dataclass(frozen=True)
class Measurement:
    """One case of one kernel on one runner and target.

    ``bytes`` and ``operations`` are the minimum for the case, and ``elements`` is the size of its largest tensor.
    ``copy`` is the rate of the copies before and after, ``drift`` their relative difference, and ``rate`` the device's
    operations per second in this dtype. An emulated target has ``instructions`` by class instead of ``timings``.
    ``problem`` says why a measurement has neither.
    """

    module: str
    op: str
    dtypes: tuple[str, ...]
    kernel: str
    title: str
    case: str
    runner: str
    target: str
    evidence: str
    bytes: int = 0
    operations: int = 0
    elements: int = 0
    timings: Timings | None = None
    copy: float = 0.0
    drift: float = 0.0
    rate: float = 0.0
    instructions: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def bound(self) -> str:
        """The limit that binds: the one that would keep the device busy for longer."""
        return "copy" if self._copying >= self._computing else "FLOPs"

    @property
    def share(self) -> float | None:
        """The time that the binding limit allows, relative to the median of cold launches."""
        return self.share_of(self.timings.cold) if self.timings else None

    def share_of(self, timing: Timing) -> float:
        return max(self._copying, self._computing) / timing.median

    @property
    def per_element(self) -> float | None:
        """Instructions issued by wavefronts per element of the largest tensor."""
        return sum(self.instructions.values()) / self.elements if self.instructions and self.elements else None

    @property
    def error(self) -> float:
        """Relative standard error of the share: of the median, combined with half of the drift."""
        return math.hypot(self.timings.cold.error, self.drift / 2) if self.timings else math.inf

    @property
    def _copying(self) -> float:
        return self.bytes / self.copy if self.copy else 0.0

    @property
    def _computing(self) -> float:
        return self.operations / self.rate if self.rate else 0.0


def ceiling_code(target: str) -> CodeObject:
    """Build the kernels that measure the limits of a device.

    Raises:
        CompileError: The compiler rejected the kernels.
    """
    (built,) = build(Path(__file__).parent / "ceilings", ["ceilings"], [target])
    if built.error:
        raise built.error
    assert built.code_object is not None
    return built.code_object


def bench(
    plan: Plan,
    suite: Suite,
    *,
    hot: bool = False,
    seconds: float = 1.0,
    progress: Progress = quiet,
    pools: PoolFactory | None = None,
) -> Iterator[Ceilings | Measurement]:
    """Yield the limits of every column that can be timed, followed by the measurements of its kernels.

    Measures one kernel at a time, in this process or in a pool with exclusive devices, because concurrent work would
    change the results.

    Args:
        plan: The plan.
        suite: The suite of the plan.
        hot: Also measure with warm caches.
        seconds: The approximate maximum duration of one measurement.
        progress: Receives the progress.
        pools: Creates the pool. Default: measure in this process.

    Raises:
        NotAvailable: A runner can neither time nor count, or the device cannot execute a copy.
    """
    done, total = 0, sum(len(task.columns) for task in plan.tasks)
    with pools(plan, None) if pools else nullcontext() as pool:
        for column in plan.columns:
            session: Session | None = None
            ceilings: Ceilings | None = None
            for task in plan.tasks:
                if column not in task.columns:
                    continue
                progress("measuring", done, total)
                done += 1
                if pool:
                    found = _elsewhere(pool, plan, suite, task, column, hot, seconds)
                    if found.ceilings and not ceilings:
                        yield (ceilings := found.ceilings)
                    yield from found.measurements
                    continue
                if not session:
                    session = Worker(plan, suite).kernels(column)
                    meter = _meter(session, column.target, hot, seconds)
                    if isinstance(meter, Timer):
                        yield meter.ceilings
                yield from _measurements(plan, suite, task, column, session, meter)


def _elsewhere(
    pool: Pool, plan: Plan, suite: Suite, task: Task, column: Column, hot: bool, seconds: float
) -> KernelMeasurements:
    """Measure a kernel in a pool.

    Raises:
        NotAvailable: The device can neither be timed nor count instructions.
        ResourceExhausted: No worker has the device.
    """
    limit = task_limit(plan, task)
    try:
        return pool.schedule(measure_task, [task, column, hot, seconds], seconds=limit, columns=(column,)).result()
    except CallFailed as error:
        entry = suite.entry(task)
        return KernelMeasurements(None, [_blank(entry, column)("", entry.name, problem=error.fault(limit).message)])


_meters: dict[tuple[Column, bool, float], Timer | Counter] = {}
"""The meters of a worker process."""


def measure_task(task: Task, column: Column, hot: bool, seconds: float) -> KernelMeasurements:
    """Measure a kernel in a worker process."""
    here = worker.current()
    session, key = here.kernels(column), (column, hot, seconds)
    if key not in _meters:
        _meters[key] = _meter(session, column.target, hot, seconds)
    meter = _meters[key]
    found = list(_measurements(here.plan, here.suite, task, column, session, meter))
    return KernelMeasurements(meter.ceilings if isinstance(meter, Timer) else None, found)


def _blank(entry: Entry, column: Column) -> Callable[..., Measurement]:
    """Return a constructor of measurements of a kernel on a column."""
    return partial(
        Measurement, entry.op.module, entry.op.name, entry.dtypes, entry.kernel,
        runner=column.runner, target=column.target, evidence=column.evidence,
    )  # fmt: skip


def _measurements(
    plan: Plan, suite: Suite, task: Task, column: Column, session: Session, meter: Timer | Counter
) -> Iterator[Measurement]:
    entry = suite.entry(task)
    op, code = entry.op, plan.code[entry.op.module, column]
    blank = _blank(entry, column)
    if task.cases is not None:
        cases = [(title, op.parse(text)) for title, text in task.cases]
    else:
        cases = op.bench_cases(entry.dtypes, small=meter.small)
    if not cases:
        yield blank("", entry.name, problem="no case to measure; add bench= to the op, or name a case")
    text = entry.name
    try:
        checks = [case for _, case in cases if op.work(case).most <= CHECKED_WORK]
        for case in checks if meter.small else [*checks, *_checks(plan, suite, entry)]:
            checked = run_and_judge(op, case, Implementation(session, column.vendor, code))
            verdict = checked.verdict
            if not verdict.passed and not checked.unreferenced:
                yield blank("", str(case), problem=f"not measured, because it fails here: {verdict.kind}")
                return
        for title, case in cases:
            text, work = str(case), op.work(case)
            shape = op.view(case).shape
            elements = max(math.prod(shape), *(layout.numel for layout in case.layouts.values()))
            sizes: dict[str, Any] = {"bytes": work.bytes, "operations": work.operations, "elements": elements}
            found = meter.measure(entry, case, code)
            if op.reference is None:
                found["notes"] = (*found.get("notes", ()), UNREFERENCED)
            yield blank(title, str(case), **sizes, **found)
    except NotAvailable:
        raise
    except Unreferenced as error:
        yield blank("", text, problem=f"{NOT_JUDGED}: {error}")
    except Exception as error:  # a bug in the op's declaration or in parity affects only this kernel
        if lacking := not_judged_verdict(error):
            raise ResourceExhausted(lacking.detail) from error
        yield blank("", text, problem=f"{type(error).__name__}: {error}")


def _checks(plan: Plan, suite: Suite, entry: Entry) -> list[Case]:
    """Return cases that must pass before a kernel is timed: small forms of the measured cases, and the cases of the
    plan.
    """
    small = [case for _, case in entry.op.bench_cases(entry.dtypes, small=True)]
    texts = (text for _, text in plan.draw(suite, Task(entry.op.name, entry.dtypes, ())))
    return [*small, *map(entry.op.parse, texts)]


def _meter(session: Session, target: str, hot: bool, seconds: float) -> Timer | Counter:
    if isinstance(session, SupportsTiming):
        return Timer(session, target, hot, seconds)
    if isinstance(session, SupportsCounting):
        return Counter(session)
    raise NotAvailable(
        f"the runner of {target} can neither time nor count instructions; see parity doctor for other runners"
    )


class Counter:
    """Counts the instructions of launches, for sessions whose time means nothing."""

    small = True

    def __init__(self, session: SupportsCounting) -> None:
        self._session = session

    def measure(self, entry: Entry, case: Case, code: CodeObject) -> dict[str, Any]:
        call = entry.op.call(case).on(code)
        return {"instructions": dict(self._session.count(code, call.launch, call.buffers))}


class Timer:
    """Times launches, each between two copies."""

    small = False

    def __init__(self, session: SupportsTiming, target: str, hot: bool, seconds: float) -> None:
        self._session, self._code, self._hot, self._seconds = session, ceiling_code(target), hot, seconds
        empty = self._reference("nothing", 1, {})
        self._before = self.copy()
        f32, f64 = self._multiply_adds("f32"), self._multiply_adds("f64")
        self._before = self.copy()
        self.ceilings = Ceilings(target, self._before, f32, f64, empty.cold.median, empty.host)

    def measure(self, entry: Entry, case: Case, code: CodeObject) -> dict[str, Any]:
        launch, buffers = entry.op.timed(case)
        wide = "f64" in entry.dtypes
        for _ in range(2):  # measure again if the device throttled or was shared
            placed = with_symbols(launch, code)
            found = self._session.time(code, placed, buffers, hot=self._hot, seconds=self._seconds)
            if isinstance(found, Fault):
                return {"problem": f"{found.kind}: {found.message}"}
            timings = found
            if timings.cold.median <= 0:
                return {"problem": "no time passed between the events around the launch"}
            before, after = self._before, self.copy()
            self._before = after
            drift = abs(after - before) / before
            if drift <= DRIFT:
                break
        return {
            "timings": timings,
            "copy": (before + after) / 2,
            "drift": drift,
            "rate": self.ceilings.f64 if wide else self.ceilings.f32,
            "notes": (*timings.notes, *_doubts(timings, drift)),
        }

    def copy(self) -> float:
        """Return the rate of a copy of 1 GiB in bytes per second, read and written."""
        tile, count = np.arange(2**16, dtype=np.uint32), COPY_BYTES // 4
        buffers = {
            "x": Tiled(DTYPES["u32"], tile, count),
            "out": Tiled(DTYPES["u32"], tile[:0], count, writable=True),
        }
        timings = self._reference("copy", COPY_BYTES // COPY_BLOCK, buffers, Pointer("x"), Pointer("out"))
        return 2 * COPY_BYTES / timings.cold.median

    def _multiply_adds(self, name: str) -> float:
        """Return the rate of multiply-adds in operations per second."""
        kind = DTYPES[name]
        out = Tiled(kind, np.empty(0, kind.numpy), 1, writable=True)
        args = Scalar(DTYPES["u32"], FMA_ROUNDS), Scalar(kind, 0.5), Pointer("out")
        timings = self._reference(f"fma_{name}", FMA_BLOCKS, {"out": out}, *args)
        return 2.0 * FMA_BLOCKS * 256 * FMA_ROUNDS * FMA_CHAINS / timings.cold.median

    def _reference(self, kernel: str, blocks: int, buffers: Mapping[str, Tiled], *args: Pointer | Scalar) -> Timings:
        launch = Launch(kernel, (blocks, 1, 1), (256, 1, 1), args)
        timings = self._session.time(self._code, launch, buffers, hot=False, seconds=REFERENCE_SECONDS)
        if isinstance(timings, Fault):
            raise NotAvailable(
                f"the limits of the device cannot be measured: {kernel}: {timings.kind}: {timings.message}"
            )
        return timings


def _doubts(timings: Timings, drift: float) -> Iterator[str]:
    if drift > DRIFT:
        yield f"the copies before and after differ by {100 * drift:.1f} %"
    if timings.cold.error > 2 * ERROR:
        yield f"standard error of {100 * timings.cold.error:.1f} %"
