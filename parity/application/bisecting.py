"""Bisects a failing or differing case: rebuilds its kernel with one compiler option changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from parity.application.columns import both_sides
from parity.application.run import Prepared, Run, Settings
from parity.bisect.search import BisectResult, bisect_options
from parity.engine.calls import Progress, quiet
from parity.errors import NotAvailable, UsageError
from parity.suite.loading import Suite
from parity.suite.options import CUDA_SIDE, DEFAULT_RUNNER

RUNNERS = (DEFAULT_RUNNER, CUDA_SIDE)
"""The runners that support bisecting: they execute freshly compiled code on the CPU."""


def prepare_case(
    suite: Suite,
    text: str,
    *,
    runners: Sequence[str] = (),
    targets: Sequence[str] = (),
    jobs: int | None = None,
    build: Callable[[Run], Prepared] = Run.build,
) -> Prepared:
    """Return a run of one case, built by ``build``.

    ``runners`` defaults to the emulator. If nvcc is installed, and the op has no reference or the case passes on AMD's
    side, the default also includes CUDA's side, so that the two sides can be compared.

    Raises:
        UsageError: The text is not a case of the suite, the op has no kernel, or a runner does not support
            bisecting.
        NotAvailable: No runner works here.
    """
    op = suite.op(suite.parse(text).op)
    if op.library:
        raise UsageError(f"{op.name} is computed by libraries: it has no kernel to rebuild")
    if op.triton_kernel:
        raise UsageError(
            f"{op.name} is a Triton function, whose compiler has other options than clang and nvcc; change num_stages, "
            "num_warps or enable_fp_fusion in its declaration"
        )
    for name in runners:
        if name not in RUNNERS:
            raise UsageError(f"--runner {name} does not support rebuilding; use {' or '.join(RUNNERS)}")
    suite = replace(suite, known=None)

    def build_on(*names: str) -> Prepared:
        return build(Run.of(text, runners=names, targets=targets, suite=suite, settings=Settings(jobs=jobs)))

    both = runners or both_sides()
    if runners or len(both) == 1 or op.reference is None:
        return build_on(*both)
    alone = build_on(DEFAULT_RUNNER)
    failed = any(record.verdict.failed for record in alone.execute().records)
    return alone if failed or not alone.plan.tasks else build_on(*both)


def bisect(built: Prepared, progress: Progress = quiet) -> BisectResult:
    """Rebuild the kernel of a case with each compiler option changed.

    Raises:
        NotAvailable: The case does not build or cannot be judged as built.
        UsageError: There is no source to rebuild.
    """
    run, plan = built.run, built.plan
    if not plan.tasks:
        names = " ".join(entry.kernel for entry in run.entries)
        raise NotAvailable(f"{names} does not compile as it is; run parity build for the errors")
    return bisect_options(plan, run.suite, jobs=run.settings.jobs, progress=progress)
