"""Plants faults in the kernels of a run, and reports which ones are caught and which survive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from parity.application.run import Prepared
from parity.engine.calls import Progress, quiet
from parity.engine.journal import Journal
from parity.errors import NotAvailable
from parity.mutation.campaign import CampaignSettings, Observations, mutate
from parity.mutation.mutant import MutantResult
from parity.mutation.recall import Recall, compute_recall
from parity.mutation.trial import MutatedKernel
from parity.platform.cache import digest
from parity.platform.files import find_below
from parity.platform.version import PACKAGE

JOURNAL = "mutants.jsonl"
"""The file in an output folder that has one line per fault."""


@dataclass(frozen=True)
class Planted:
    """The planted faults. ``stopped`` is the exception that ended the run early.

    ``resumed`` results come from an earlier run. ``problems`` describe kernels in which no fault could be planted, and
    cases that were left out.
    """

    tried: tuple[MutantResult, ...]
    recall: Recall
    seconds: float
    resumed: int = 0
    problems: tuple[str, ...] = ()
    stopped: KeyboardInterrupt | NotAvailable | None = field(default=None)


def plant_faults(
    prepared: Prepared,
    settings: CampaignSettings,
    folder: Path,
    *,
    progress: Progress = quiet,
    each: Callable[[MutantResult], None] | None = None,
) -> Planted:
    """Plant faults in the AMD kernels of a run until the end or an interrupt. Keeps the journal in ``folder``.

    Raises:
        UsageError, ResourceExhausted: The journal is not writable.
    """
    run, plan = prepared.run, prepared.plan
    start = time.perf_counter()
    stopped: KeyboardInterrupt | NotAvailable | None = None
    tried: list[MutantResult] = []
    observed = Observations(run.suite)
    own = digest(*(path.read_bytes() for path in sorted(find_below(PACKAGE, ".py", ".csv"))))  # decides what is drawn
    decides = {"environment": {**run.environment(plan), "arguments": []}, "parity": own, "search": settings.search}
    advice = "choose another folder with --output"
    with Journal(folder / JOURNAL, MutantResult, decides, "planted faults", advice) as journal:
        known = {one.mutant.key: one for one in journal.entries}
        try:
            kernels = tuple(_kernels(prepared))
            mutants = mutate(plan, run.suite, kernels, settings, known, observed, run.workers(progress))
            with closing(mutants) as results:  # type: ignore[type-var]
                for one in results:
                    if one.mutant.key not in known:
                        journal.add(one)
                    tried.append(one)
                    if each:
                        each(one)
        except (KeyboardInterrupt, NotAvailable) as error:
            stopped = error
    order = {entry.kernel: i for i, entry in enumerate(run.entries)}
    drawing = {"seed": settings.seed, "examples": plan.examples}
    recall = compute_recall(tried, order, **drawing, complete=stopped is None, budgets=observed.budgets)
    resumed = sum(one.mutant.key in known for one in tried)
    return Planted(tuple(tried), recall, time.perf_counter() - start, resumed, tuple(observed.problems), stopped)


def _kernels(prepared: Prepared) -> Iterator[MutatedKernel]:
    """Yield the kernels with the columns on which faults are planted, and the columns that judge them."""
    run, plan = prepared.run, prepared.plan
    for task in plan.tasks:
        entry = run.suite.entry(task)
        others = tuple(column for column in task.columns if column.vendor == "cuda")
        for column in task.columns:
            code = plan.code.get((entry.op.module, column))
            if code is not None and column.vendor == "amd" and column.built:
                sourced = not code.made_by.startswith("code object")
                yield MutatedKernel(task, entry.op.module, column, () if entry.op.reference else others, sourced)
