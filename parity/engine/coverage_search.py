"""Coverage-guided case search: mutates cases that reached new machine code of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random

from parity.cases.neighbours import draw_neighbour
from parity.engine import worker
from parity.engine.calls import CallFailed
from parity.engine.case_records import Task
from parity.engine.execution import prepare, task_limit
from parity.engine.plan import Plan
from parity.engine.pool import Workers, completed
from parity.engine.shrinking import smaller_cases
from parity.errors import UsageError
from parity.footprint.basic_blocks import point_places
from parity.footprint.compared_constants import kernel_constants
from parity.model.case import Case
from parity.model.code_object import CodeObject
from parity.model.coverage import Reached
from parity.op import Entry
from parity.runners import Session, SupportsCoverage
from parity.suite.loading import Suite

RECENT = 12
"""Number of cases to mutate: the most recent ones that reached something new."""

ATTEMPTS = 8
"""Mutations to generate per executed case, because many mutations do not fit the op."""


SHRINKS = 60
"""Smaller cases to execute for each found case. Every later run executes the case that is kept."""

SMALL = 4096
"""The number of elements up to which a found case is kept as it is."""


@dataclass(frozen=True)
class FoundCase:
    """A case that reaches code that no other case of its kernel reaches, with the source lines of that code."""

    op: str
    dtypes: tuple[str, ...]
    case: str
    places: tuple[str, ...]

    @property
    def title(self) -> str:
        """The purpose of the case as text."""
        return f"reaches {self.places[0]}" if self.places else "reaches more"


def search_coverage(plan: Plan, suite: Suite, tries: int, workers: Workers) -> Iterator[FoundCase]:
    """Yield cases that reach more than the cases of the plan, after executing up to ``tries`` cases per kernel.

    The same plan gives the same cases. The first column that notes coverage decides, and the cases apply to all
    columns. If a case ends its process, the search in its kernel finds nothing.

    Raises:
        ResourceExhausted: No worker can execute the search any more.
    """
    with workers.pools(plan, workers.jobs) as pool:
        if pool.shared:
            prepare(plan, suite, pool, workers.progress)
        limits = (task_limit(plan, task) * max(1.0, tries / plan.examples) for task in plan.tasks)
        futures = [
            pool.schedule(search_task, [task, tries], seconds=limit, columns=task.columns)
            for task, limit in zip(plan.tasks, limits, strict=True)
        ]
        for done, _ in enumerate(completed(futures), 1):
            workers.progress("searching", done, len(plan.tasks))
    for future in futures:
        with suppress(CallFailed):
            yield from future.result()


def search_task(task: Task, tries: int) -> list[FoundCase]:
    """Search one kernel in a worker process."""
    here = worker.current()
    entry = here.suite.entry(task)
    for column in task.columns:
        if code := here.plan.code.get((entry.op.module, column)):
            session = here.kernels(column)
            if isinstance(session, SupportsCoverage):
                search = _Search(entry, code, session, Random(here.plan.entry_seed(entry)))
                return search.run([entry.op.parse(text) for _, text in here.plan.draw(here.suite, task)], tries)
    return []


@dataclass
class _Search:
    """The cases of one kernel that reached something new, and the coverage of all executed cases."""

    entry: Entry
    code: CodeObject
    session: Session
    random: Random
    corpus: list[Case] = field(default_factory=list)
    mask: int = 0

    def run(self, cases: Sequence[Case], tries: int) -> list[FoundCase]:
        """Execute ``cases``, and return the cases found in addition."""
        reached = [each for each in map(self._tried, cases) if each]
        before, size = self.mask, reached[0].blocks + reached[0].directions if reached else 0
        symbols = [*dict.fromkeys(map(self.code.symbol, self.entry.kernels))]
        constants = kernel_constants(self.code, symbols)
        found: dict[Case, int] = {}
        met = {*cases}
        attempts = ATTEMPTS * tries
        while self.corpus and tries and attempts and self.mask.bit_count() < size:
            attempts -= 1
            case = draw_neighbour(self.entry.op, self.random.choice(self.corpus[-RECENT:]), constants, self.random)
            if case is None or case in met:
                continue
            met.add(case)
            tries -= 1
            if each := self._tried(case):
                found[case] = each.mask
        if not found:
            return []
        places = point_places(self.code, symbols)
        return [
            FoundCase(
                case.op,
                case.dtypes,
                str(smallest(case, partial(self._reaches, points=points))),
                tuple(dict.fromkeys(places[i] for i in points if places[i])),
            )
            for case, points in _needed(found, before).items()
        ]

    def _tried(self, case: Case) -> Reached | None:
        """Return the coverage of a case if some of it is new and the case ended; else None."""
        reached = self._executed(case)
        if reached is None or not reached.adds_to(self.mask):
            return None
        self.mask |= reached.mask
        self.corpus.append(case)
        return reached

    def _reaches(self, case: Case, points: Sequence[int]) -> bool:
        try:
            self.entry.op.check(case)
        except UsageError:
            return False
        reached = self._executed(case)
        return reached is not None and all(reached.mask >> point & 1 for point in points)

    def _executed(self, case: Case) -> Reached | None:
        """Return the coverage of a case; None if it did not end."""
        call = self.entry.op.call(case).on(self.code)
        outcome = self.session.execute(self.code, call.launch, call.buffers)
        endless = outcome.fault is not None and outcome.fault.kind in ("timeout", "no progress")
        return None if endless else outcome.reached


def smallest(case: Case, suffices: Callable[[Case], bool]) -> Case:
    """Return a case with fewer elements that still ``suffices``, after up to SHRINKS attempts; or the case itself."""
    attempts, candidates = SHRINKS, smaller_cases(case)
    while attempts and _elements(case) > SMALL and (smaller := next(candidates, None)):
        attempts -= 1
        if suffices(smaller):
            case, candidates = smaller, smaller_cases(smaller)
    return case


def _elements(case: Case) -> int:
    return sum(layout.numel for layout in case.layouts.values())


def _needed(found: Mapping[Case, int], before: int) -> dict[Case, list[int]]:
    """Return a nearly minimal set of cases that reaches all new points, each with the points it was chosen for."""
    missing = 0
    for mask in found.values():
        missing |= mask & ~before
    needed: dict[Case, list[int]] = {}
    while missing:
        best = max(found, key=lambda case: ((found[case] & missing).bit_count(), -len(str(case))))
        points = found[best] & missing
        needed[best] = [i for i in range(points.bit_length()) if points >> i & 1]
        missing &= ~points
    return needed
