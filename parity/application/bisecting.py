"""Why a case fails, or why the vendors' sides differ in it: by building its kernel again with one knob turned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from parity.application.columns import both_sides
from parity.application.run import Prepared, Run, Settings
from parity.bisect import BisectResult, bisect_options
from parity.engine import Progress, quiet
from parity.errors import NotAvailable, UsageError
from parity.suite.loading import Suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER

__all__ = ["RUNNERS", "bisect", "prepare_case"]

RUNNERS = (DEFAULT_RUNNER, CUDA_SIDE)
"""The runners whose kernels are built again: they execute on the CPU what was compiled a moment before."""


def prepare_case(
    suite: Suite,
    text: str,
    *,
    runners: Sequence[str] = (),
    targets: Sequence[str] = (),
    jobs: int | None = None,
    build: Callable[[Run], Prepared] = Run.build,
) -> Prepared:
    """The run of one case, built by ``build``.

    It is on these ``runners``; by default on AMD's side, and on CUDA's, where there is nvcc, if the op has no reference
    or nothing fails on AMD's: then the sides are compared.

    Raises:
        UsageError: the text is no case of the suite, no kernel computes it, or another runner is asked for.
        NotAvailable: no runner can work here.
    """
    op = suite.op(suite.parse(text).op)
    if op.library:
        raise UsageError(f"{op.name} is computed by libraries: there is no kernel that could be built again")
    for name in runners:
        if name not in RUNNERS:
            raise UsageError(f"--runner {name} executes code as it is; only {' and '.join(RUNNERS)} can build it again")
    suite = replace(suite, known=None)

    def of(*names: str) -> Prepared:
        return build(Run.of(text, runners=names, targets=targets, suite=suite, settings=Settings(jobs=jobs)))

    both = runners or both_sides()
    if runners or len(both) == 1 or op.reference is None:
        return of(*both)
    alone = of(DEFAULT_RUNNER)
    failed = any(record.verdict.failed for record in alone.execute().records)
    return alone if failed or not alone.plan.tasks else of(*both)


def bisect(built: Prepared, progress: Progress = quiet) -> BisectResult:
    """Turn the knobs, each alone.

    Raises:
        NotAvailable: the case is not built, or cannot be judged, as it is.
        UsageError: no source is there that could be built again.
    """
    run, plan = built.run, built.plan
    if not plan.tasks:
        names = " ".join(entry.kernel for entry in run.entries)
        raise NotAvailable(f"{names} does not compile as it is; parity build says why")
    return bisect_options(plan, run.suite, jobs=run.settings.jobs, progress=progress)
