"""The cost of kernels: timed on a device, counted by the emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parity.engine import Plan, Progress, quiet
from parity.engine.bench import Ceilings, Measurement, bench
from parity.errors import NotAvailable
from parity.report import bench_frame
from parity.report.bench import BenchResults

if TYPE_CHECKING:
    import pandas

    from parity.application.run import Prepared, Run

__all__ = ["Measured", "measure"]


@dataclass(frozen=True)
class Measured:
    """The measurements of a plan, also of a run that ended early: ``stopped`` is the exception that ended it.

    ``ceilings`` are by target what its device can do at most.
    """

    run: Run
    plan: Plan
    measurements: list[Measurement] = field(default_factory=list)
    ceilings: Mapping[str, Ceilings] = field(default_factory=dict)
    stopped: KeyboardInterrupt | NotAvailable | None = None

    def frame(self) -> pandas.DataFrame:
        """One row per measurement; see ``bench_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return bench_frame(self.measurements)

    def results(self, arguments: Iterable[str] = ()) -> BenchResults:
        """The measurements with where they were made; ``arguments`` are those of the command."""
        return BenchResults(
            self.measurements,
            {column.target: column.device or column.runner for column in self.plan.columns},
            self.ceilings,
            environment=self.run.environment(self.plan, arguments),
            complete=self.stopped is None,
        )


def measure(
    prepared: Prepared,
    *,
    hot: bool = False,
    seconds: float = 1.0,
    progress: Progress = quiet,
    each: Callable[[Measurement], None] | None = None,
) -> Measured:
    """Measure the kernels of a run where they execute, in the order of declaration, to the end or to Ctrl-C.

    ``hot`` measures with warm caches as well; a measurement takes about ``seconds`` at most. ``each`` is called with
    every measurement as it arrives.
    """
    run, plan = prepared.run, prepared.plan
    order = {op: i for i, op in enumerate(run.suite.ops)}
    live = [replace(task, columns=tuple(c for c in task.columns if c in run.columns.built)) for task in plan.tasks]
    tasks = sorted((task for task in live if task.columns), key=lambda task: order[task.op])
    found = Measured(run, replace(plan, tasks=tuple(tasks)))
    ceilings: dict[str, Ceilings] = {}
    stopped: KeyboardInterrupt | NotAvailable | None = None
    try:
        with closing(  # type: ignore[type-var]
            bench(found.plan, run.suite, hot=hot, seconds=seconds, progress=progress, pools=run.measuring)
        ) as results:
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
