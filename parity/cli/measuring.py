"""Measuring for a command: with a progress bar, and keeping what was measured when it ends early."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, field

from parity.cli.terminal import progress
from parity.engine.bench import Ceilings, Measurement, bench
from parity.engine.plan import Plan
from parity.engine.record import environment
from parity.errors import NotAvailable
from parity.report.bench import Results
from parity.suite import Suite

__all__ = ["Found", "measure", "results_of"]


@dataclass
class Found:
    """What was measured so far, and what ended it before its end."""

    measurements: list[Measurement] = field(default_factory=list)
    ceilings: dict[str, Ceilings] = field(default_factory=dict)
    stopped: KeyboardInterrupt | NotAvailable | None = None


def measure(plan: Plan, suite: Suite, *, hot: bool = False, seconds: float = 1.0) -> Found:
    """Measure the kernels of a plan."""
    found = Found()
    with progress() as bars:
        bar = bars.add_task("preparing", total=None, note="")

        def report(what: str, done: int, total: int) -> None:
            bars.update(bar, description=what, completed=done, total=total)

        try:
            with closing(  # type: ignore[type-var]
                bench(plan, suite, hot=hot, seconds=seconds, report=report)
            ) as results:
                for each in results:
                    if isinstance(each, Measurement):
                        found.measurements.append(each)
                        bars.update(bar, note=each.kernel)
                    else:
                        found.ceilings[each.target] = each
        except (KeyboardInterrupt, NotAvailable) as stopped:
            found.stopped = stopped
    return found


def results_of(found: Found, plan: Plan) -> Results:
    """What was measured, with where."""
    return Results(
        found.measurements,
        {column.target: column.device or column.runner for column in plan.columns},
        found.ceilings,
        environment=environment(plan, sys.argv[1:]),
        complete=found.stopped is None,
    )
