"""Measures kernels: times them on a device, or counts instructions in the emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parity.application.run import Prepared, Run
from parity.engine.bench import Ceilings, Measurement, bench
from parity.engine.bench_baseline import parse_baseline
from parity.engine.calls import Progress, quiet
from parity.engine.case_records import Column
from parity.engine.plan import Plan
from parity.errors import NotAvailable, UsageError
from parity.report.bench import BenchResults
from parity.report.frames import bench_frame
from parity.runners.recording_file import MEASUREMENTS

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Measured:
    """The measurements of a plan. ``ceilings`` maps a target to the limits of its device.

    ``stopped`` is the exception that ended the measuring early.
    """

    run: Run
    plan: Plan
    measurements: list[Measurement] = field(default_factory=list)
    ceilings: Mapping[str, Ceilings] = field(default_factory=dict)
    stopped: KeyboardInterrupt | NotAvailable | None = None

    def frame(self) -> pandas.DataFrame:
        """Return one row per measurement; see ``bench_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return bench_frame(self.measurements)

    def results(self, arguments: Iterable[str] = ()) -> BenchResults:
        """Return the measurements with their environment, which includes the command-line ``arguments``."""
        devices = {column.target: column.device or column.runner for column in self.plan.columns}
        environment = self.run.environment(self.plan, arguments)
        return BenchResults(self.measurements, devices, self.ceilings, (), environment, self.stopped is None)


def measure(
    prepared: Prepared,
    *,
    hot: bool = False,
    seconds: float = 1.0,
    progress: Progress = quiet,
    each: Callable[[Measurement], None] | None = None,
) -> Measured:
    """Measure the kernels of a run in the order of declaration, until the end or an interrupt.

    Args:
        prepared: The run, as ``Run.build`` returns it.
        hot: Also measure with warm caches.
        seconds: The approximate maximum duration of one measurement.
        progress: Receives the progress.
        each: Called with each measurement when it arrives.
    """
    run, plan = prepared.run, prepared.plan
    order = {op: i for i, op in enumerate(run.suite.ops)}
    live = [replace(task, columns=tuple(c for c in task.columns if c in run.columns.built)) for task in plan.tasks]
    tasks = sorted((task for task in live if task.columns), key=lambda task: order[task.op])
    found = Measured(run, replace(plan, tasks=tuple(tasks)))
    ceilings: dict[str, Ceilings] = {}
    stopped: KeyboardInterrupt | NotAvailable | None = None
    try:
        found_now = bench(found.plan, run.suite, hot=hot, seconds=seconds, progress=progress, pools=run.exclusive_pools)
        with closing(found_now) as results:  # type: ignore[type-var]
            for one in results:
                if isinstance(one, Measurement):
                    found.measurements.append(one)
                    if each:
                        each(one)
                else:
                    ceilings[one.target] = one
    except (KeyboardInterrupt, NotAvailable) as problem:
        stopped = problem
    return replace(found, ceilings=ceilings, stopped=stopped)


def recorded_measurements(run: Run) -> tuple[list[tuple[Column, Measurement]], list[str]]:
    """Return the measurements in the recordings of a run, and a warning for each invalid file in a recording."""
    found: list[tuple[Column, Measurement]] = []
    problems = []
    for column, recording in run.columns.recordings.items():
        if MEASUREMENTS in recording.attached:
            try:
                stored = parse_baseline(recording.attached[MEASUREMENTS], f"{MEASUREMENTS} of {column.spec}")
            except UsageError as error:  # verdicts do not depend on measurements, so the run continues
                problems.append(f"the recorded measurements are not shown: {error}")
                continue
            found += [(column, m) for m in stored.measurements.values() if m.target == column.target]
    return found, problems


def first_valid(found: Iterable[tuple[Column, Measurement]]) -> dict[tuple[str, Column], Measurement]:
    """Return the first measurement without a problem for each (kernel, column)."""
    first: dict[tuple[str, Column], Measurement] = {}
    for column, each in found:
        if not each.problem:
            first.setdefault((each.kernel, column), each)
    return first
