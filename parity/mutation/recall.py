"""Recall: the share of planted faults that the cases catch, by kernel and by class; and the file that stores it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity.errors import UsageError
from parity.mutation.mutant import Level, Mutant, MutantOutcome, MutantResult, Reason
from parity.platform.files import read_content
from parity.platform.serialization import read_json

FORMAT = "parity recall, version 1"
FILE = "recall.json"


@dataclass(frozen=True, kw_only=True)
class FaultCounts:
    """Numbers of faults.

    ``equivalent`` survived and are executed without any known effect. ``beyond`` survived because no case that fits an
    emulator reaches them. ``equal`` are not faults, because the compiler generates the same code. ``uncompiled`` do not
    compile.
    """

    caught: int
    survived: int
    equivalent: int = 0
    beyond: int = 0
    equal: int = 0
    uncompiled: int = 0

    @property
    def planted(self) -> int:
        """The number of faults. Every survivor counts: without proof, a case may exist that catches it."""
        return self.caught + self.survived

    @property
    def effective(self) -> int:
        """The number of faults with a known effect."""
        return self.planted - self.equivalent - self.beyond


@dataclass(frozen=True)
class KernelRecall(FaultCounts):
    """The faults of one kernel on one target.

    ``budget`` is the largest share of an error bound that the unmutated kernel uses (None: unknown).
    """

    module: str
    kernel: str
    target: str
    budget: float | None = None


@dataclass(frozen=True)
class ClassRecall(FaultCounts):
    """The faults of one class."""

    level: Level
    kind: str


@dataclass(frozen=True)
class Survivor:
    """A fault that no case caught: its place, its change, and the reason, if known.

    ``budget`` is the largest share of an error bound that a changed result used, and ``usual`` the share of the
    unmutated kernel. ``found`` is a case from a longer search that catches the fault. ``detail`` describes what keeps
    cases from reaching it.
    """

    kernel: str
    target: str
    level: Level
    kind: str
    place: str
    before: str
    after: str
    reason: Reason
    budget: float
    usual: float
    found: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Recall:
    """The outcomes of faults planted from ``seed``, with ``examples`` cases drawn per kernel.

    ``complete`` is False if the run was interrupted.
    """

    seed: int
    examples: int
    kernels: tuple[KernelRecall, ...]
    classes: tuple[ClassRecall, ...]
    survivors: tuple[Survivor, ...]
    complete: bool = True
    format: str = field(default=FORMAT)

    @property
    def total(self) -> FaultCounts:
        """The faults of all kernels."""
        return FaultCounts(**{name: sum(getattr(each, name) for each in self.kernels) for name in _COUNTED})

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.target for each in self.kernels))

    def by_module(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of caught and of planted faults for each module."""
        found: dict[str, tuple[int, int]] = {}
        for each in self.kernels:
            caught, planted = found.get(each.module, (0, 0))
            found[each.module] = caught + each.caught, planted + each.planted
        return {module: counts for module, counts in found.items() if counts[1]}

    def of(self, kernels: Iterable[str], targets: Iterable[str]) -> Recall | None:
        """Return the part about these kernels on these targets, without classes; None if it is empty."""
        names, where = frozenset(kernels), frozenset(targets)
        kept = tuple(each for each in self.kernels if each.kernel in names and each.target in where)
        left = tuple(each for each in self.survivors if each.kernel in names and each.target in where)
        return Recall(self.seed, self.examples, kept, (), left, self.complete) if kept else None


def compute_recall(
    tried: Sequence[MutantResult],
    order: Mapping[str, int],
    *,
    seed: int,
    examples: int,
    complete: bool,
    budgets: Mapping[tuple[str, str], float],
) -> Recall:
    """Compute the recall of mutants.

    ``order`` gives the position of each kernel. ``budgets`` maps (kernel, target) to the unmutated kernel's share of an
    error bound.
    """
    kernels: dict[tuple[str, str, str], Counter[str]] = {}
    classes: dict[tuple[Level, str], Counter[str]] = {}
    for each in tried:
        mutant = each.mutant
        for counts in (
            kernels.setdefault((mutant.module, mutant.kernel, mutant.target), Counter()),
            classes.setdefault((mutant.level, mutant.kind), Counter()),
        ):
            counts[_counted(each.outcome)] += 1
            counts["equivalent"] += each.reason is Reason.EQUIVALENT
            counts["beyond"] += each.reason is Reason.OUT_OF_REACH
    last = len(order)
    ordered = sorted(kernels.items(), key=lambda each: (order.get(each[0][1], last), each[0]))
    survivors = sorted(
        (each for each in tried if each.outcome is MutantOutcome.SURVIVED),
        key=lambda each: (_rank(each), order.get(each.mutant.kernel, last), *_place(each.mutant)),
    )
    return Recall(
        seed,
        examples,
        tuple(
            KernelRecall(module, kernel, target, **_counts(n), budget=budgets.get((kernel, target)))
            for (module, kernel, target), n in ordered
        ),
        tuple(ClassRecall(level, kind, **_counts(n)) for (level, kind), n in sorted(classes.items())),
        tuple(map(_survivor, survivors)),
        complete,
    )


def _rank(each: MutantResult) -> int:
    """Order survivors by reason: those for which a case can be written come first."""
    return list(Reason).index(each.reason) if each.reason else 0


def _place(mutant: Mutant) -> tuple[str, int, int, str]:
    return mutant.file, mutant.line, mutant.listed, mutant.key


_COUNTED = ("caught", "survived", "equivalent", "beyond", "equal", "uncompiled")


def _counts(found: Mapping[str, int]) -> dict[str, int]:
    return {name: found[name] for name in _COUNTED}


def _counted(outcome: MutantOutcome) -> str:
    if outcome.caught:
        return "caught"
    names = {MutantOutcome.SURVIVED: "survived", MutantOutcome.EQUAL: "equal", MutantOutcome.UNCOMPILED: "uncompiled"}
    return names.get(outcome, "not shown")


def _survivor(each: MutantResult) -> Survivor:
    mutant = each.mutant
    assert each.reason is not None
    return Survivor(
        mutant.kernel, mutant.target, mutant.level, mutant.kind, mutant.place, mutant.before, mutant.after,
        each.reason, round(each.budget, 6), round(each.usual, 6), each.found, each.detail,
    )  # fmt: skip


def read_recall(path: Path) -> Recall:
    """Read recall from a file.

    Raises:
        UsageError: The file has another format.
    """
    found = read_json(read_content(path), Recall, str(path), "generate it again with parity mutate --output")
    if found.format != FORMAT:
        raise UsageError(
            f"{path} has the format {found.format!r}, not {FORMAT!r}; generate it again with parity mutate"
        )
    return found


def find_recall_file(project: Path) -> Path | None:
    """Return the recall file of a project, in its folder or in ``reports/``; None if it has none."""
    return next((path for path in (project / FILE, project / "reports" / FILE) if path.is_file()), None)


def stored_recall(cases: Path, kernels: Path) -> tuple[Recall | None, list[str]]:
    """Return the recall stored in the project of a folder of cases, and a warning if the file is invalid.

    Recall belongs to the kernels of the project. Other kernels have none, even if the project's cases test them.
    """
    path = find_recall_file(cases.absolute().parent)
    if path is None or not kernels.resolve().is_relative_to(cases.resolve().parent):
        return None, []
    try:
        return read_recall(path), []
    except UsageError as error:
        return None, [f"recall is not shown: {error}"]
