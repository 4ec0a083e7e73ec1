"""Runs a mutation campaign: distributes faults over kernels, and tries every mutant in isolated workers."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from parity.engine.calls import CallFailed, CallTimeout, NoWorker, Pool, Progress, T, WorkerCrashed
from parity.engine.execution import prepare
from parity.engine.plan import Plan
from parity.engine.pool import Workers, completed
from parity.mutation.mutant import Level, Mutant, MutantOutcome, MutantResult, UnmutatedResult
from parity.mutation.trial import MutatedKernel, choose_faults, run_unmutated, try_mutant
from parity.suite.loading import Suite

COUNT = 100
"""Default number of faults."""

SEARCH = 100
"""Default number of additional cases to draw in the search for a case that catches a survivor."""

LEVELS: tuple[Level, ...] = ("instruction", "source")

ONE_IN = 4
"""One of this many faults is planted in source. Compiling it takes as long as about ten faults in instructions."""

TOGETHER = 4
"""Number of faults to plant in one kernel before another kernel is used."""

LIMIT = 5
"""Time limit for a mutant with all its cases, as a multiple of the limit for one case."""


@dataclass(frozen=True)
class CampaignSettings:
    """The faults to plant: ``count`` faults drawn from ``seed``, in ``levels``, of the classes ``kinds`` (empty: all).

    ``search`` is the number of additional cases for a survivor.
    """

    count: int = COUNT
    seed: int = 0
    levels: tuple[Level, ...] = LEVELS
    kinds: frozenset[str] = frozenset()
    search: int = SEARCH


def distribute_faults(
    subjects: Sequence[MutatedKernel], settings: CampaignSettings
) -> list[tuple[MutatedKernel, Mapping[Level, int]]]:
    """Return the number of faults of each level for each kernel.

    Alternates between modules, and between the kernels of a module, in an order that depends on the seed. Uses only as
    many kernels as there are faults for, because the first fault of a kernel costs as much as several further ones.
    """

    def rank(*words: object) -> str:
        return hashlib.sha256(f"{settings.seed} {words}".encode()).hexdigest()

    turns: dict[str, itertools.count[int]] = {}
    ranked = sorted(subjects, key=lambda each: rank(each.op, each.dtypes, each.column.target))
    # The first kernel of every module, then the second kernel of every module, and so on.
    order = sorted(ranked, key=lambda each: next(turns.setdefault(each.module, itertools.count())))
    order = order[: -(-settings.count // TOGETHER)]
    found: list[dict[Level, int]] = [dict.fromkeys(LEVELS, 0) for _ in order]
    for number in range(settings.count if order else 0):
        place = number % len(order)
        level = settings.levels[0]
        if not order[place].sourced:
            level = "instruction"
        elif len(settings.levels) > 1:
            turn = (place + number // len(order)) % ONE_IN  # vary which kernels get a fault in source
            level = "source" if turn == ONE_IN - 1 else "instruction"
        found[place][level] += 1
    return [(subject, share) for subject, share in zip(order, found, strict=True) if any(share.values())]


@dataclass
class Observations:
    """What a campaign reports about kernels: problems, and shares of error bounds without faults."""

    suite: Suite
    problems: dict[str, None] = field(default_factory=dict)
    budgets: dict[tuple[str, str], float] = field(default_factory=dict)

    def problem(self, kernel: MutatedKernel, error: Exception) -> None:
        """Note a kernel in which nothing could be planted."""
        self.problems.setdefault(f"{kernel.op} on {kernel.column.target}: {error}")

    def unmutated(self, kernel: MutatedKernel, result: UnmutatedResult) -> None:
        """Note the result of a kernel without faults."""
        entry = self.suite.entry(kernel)
        for name in entry.kernels:
            self.budgets[name, kernel.column.target] = round(result.budget, 6)
        if left := result.drawn - result.cases:
            head = f"{kernel.op} on {kernel.column.target}: {left} of {result.drawn} cases are left out"
            self.problems.setdefault(f"{head}, because {entry.kernel} does not pass them without a fault")


def mutate(
    plan: Plan,
    suite: Suite,
    kernels: Sequence[MutatedKernel],
    settings: CampaignSettings,
    known: Mapping[str, MutantResult],
    observed: Observations,
    workers: Workers,
) -> Iterator[MutantResult]:
    """Yield the result of each mutant as soon as it is known. Mutants in ``known``, by key, are not tried again.

    Closing the iterator stops the workers.

    Raises:
        ResourceExhausted: No worker can execute the mutants any more.
    """
    shared = distribute_faults(kernels, settings)
    names = {(each.op, each.dtypes) for each, _ in shared}
    plan = replace(plan, tasks=tuple(task for task in plan.tasks if (task.op, task.dtypes) in names))
    with workers.pools(plan, workers.jobs) as pool:
        if pool.shared:
            prepare(plan, suite, pool, workers.progress)
        campaign = _Campaign(pool, LIMIT * plan.seconds, settings, workers.progress, observed)
        chosen = campaign.choose(shared)
        yield from (known[mutant.key] for _, mutant in chosen if mutant.key in known)
        yield from campaign.try_all(chosen, known)


@dataclass(frozen=True)
class _Campaign:
    pool: Pool
    limit: float
    settings: CampaignSettings
    progress: Progress
    observed: Observations

    def choose(self, shared: Sequence[tuple[MutatedKernel, Mapping[Level, int]]]) -> list[tuple[MutatedKernel, Mutant]]:
        """Choose the faults of each kernel."""
        self.progress("choosing", 0, len(shared))
        choosing = {
            self._schedule(choose_faults, kernel, dict(share), self.settings.seed, self.settings.kinds): kernel
            for kernel, share in shared
        }
        chosen: list[tuple[MutatedKernel, Mutant]] = []
        for done, (future, kernel) in enumerate(choosing.items(), 1):
            try:
                chosen += ((kernel, mutant) for mutant in future.result())
            except Exception as error:  # affects only this kernel
                self.observed.problem(kernel, error)
            self.progress("choosing", done, len(shared))
        return chosen

    def try_all(
        self, chosen: Sequence[tuple[MutatedKernel, Mutant]], known: Mapping[str, MutantResult]
    ) -> Iterator[MutantResult]:
        """Yield the results of the mutants that are not ``known``, and report the unmutated results."""
        before = sum(mutant.key in known for _, mutant in chosen)
        self.progress("planting", before, len(chosen))
        trying: dict[Future[MutantResult], Mutant] = {}
        unmutated: dict[tuple[str, str], tuple[MutatedKernel, Future[UnmutatedResult]]] = {}
        for kernel, mutant in chosen:
            if (key := (mutant.kernel, mutant.target)) not in unmutated:
                unmutated[key] = kernel, self._schedule(run_unmutated, kernel)
            if mutant.key not in known:
                trying[self._schedule(try_mutant, kernel, mutant, self.settings.search)] = mutant
        for done, future in enumerate(completed(trying), before + 1):
            yield _outcome(future, trying[future], self.limit)
            self.progress("planting", done, len(chosen))
        for kernel, result in unmutated.values():
            with contextlib.suppress(CallFailed, NoWorker):
                self.observed.unmutated(kernel, result.result())

    def _schedule(self, function: Callable[..., T], kernel: MutatedKernel, *more: object) -> Future[T]:
        columns = (*kernel.others, kernel.column)
        return self.pool.schedule(function, [kernel, *more], seconds=self.limit, columns=columns)


def _outcome(future: Future[MutantResult], mutant: Mutant, limit: float) -> MutantResult:
    """Return the result from a worker. A mutant that ended its process counts as caught."""
    try:
        return future.result()
    except CallTimeout:
        return MutantResult(mutant, MutantOutcome.TIMED_OUT, detail=f"no answer within {limit:g} s")
    except WorkerCrashed as error:
        return MutantResult(mutant, MutantOutcome.CAUGHT, verdict="crash", detail=str(error))
