"""The data of a run: columns, tasks, and the record of each case."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from parity.compare import Comparison, Status, Verdict
from parity.compilers.targets import TARGETS
from parity.model.coverage import Reached
from parity.op import Entry
from parity.runners import Evidence, Vendor
from parity.suite.selection import EntryName

__all__ = [
    "COMPILE_ERROR",
    "NOT_RECORDED",
    "CaseRecord",
    "Column",
    "CrossVendorComparison",
    "Provenance",
    "Task",
    "add_cases",
]

COMPILE_ERROR = "compile error"
"""The class of failure of a kernel that does not compile."""

NOT_RECORDED = Verdict(Status.UNSUPPORTED, "not recorded")
"""The verdict on a kernel of which a recording has no case that was asked for."""


@dataclass(frozen=True)
class Column:
    """A runner and one of its targets, and what kind of evidence its results are: a column of the matrix.

    ``spec`` is what makes the runner (its name, or ``recorded=FILE``); ``device`` is what it ran on, if that is known.
    """

    runner: str
    target: str
    evidence: str = Evidence.EMULATED
    vendor: Vendor = "amd"
    spec: str = ""
    device: str = ""

    @classmethod
    def told(cls, runner: str, target: str, evidence: str) -> Column:
        """The column as far as records and matrices tell it: CUDA's, where the target is none of AMD's."""
        vendor: Vendor = "amd" if target in TARGETS else "cuda"
        return cls(runner, target, evidence, "host" if evidence == Evidence.LIBRARY else vendor, runner)

    def __str__(self) -> str:
        return self.head(self.target)

    def head(self, targets: str) -> str:
        """The head of columns that differ from this one in nothing but their targets."""
        return f"{self.runner} {targets}" if self._is_library else f"{targets} {self.evidence}"

    def label(self, columns: Iterable[Column]) -> str:
        """Its name among columns: the target; with the runner where several have the target, or a library computes."""
        alone = [column.target for column in columns].count(self.target) == 1
        return self.target if alone and not self._is_library else f"{self.runner}-{self.target}"

    @property
    def kind(self) -> str:
        """The part that is the same for all targets: the evidence, or the library that computes."""
        return self.runner if self._is_library else self.evidence

    @property
    def _is_library(self) -> bool:
        return self.evidence == Evidence.LIBRARY

    @property
    def live(self) -> bool:
        """True if it executes, so that further launches are possible; a recording only replays."""
        return self.evidence != Evidence.RECORDED

    @property
    def built(self) -> bool:
        """True if kernels are built for it."""
        return self.live and not self._is_library

    @property
    def compiled_only(self) -> bool:
        """True if kernels are built for it and nothing executes them."""
        return self.evidence == Evidence.COMPILED

    @property
    def emulated(self) -> bool:
        """True if the emulator executes."""
        return self.evidence == Evidence.EMULATED

    @property
    def on_device(self) -> bool:
        """True if a device of this machine computes, which a record describes."""
        return self.evidence in (Evidence.HARDWARE, Evidence.LIBRARY)

    @property
    def side(self) -> Vendor | None:
        """The vendor whose kernel it executes; none if a library computes."""
        return None if self._is_library else self.vendor

    def ran(self, record: CaseRecord) -> bool:
        """True if the record is of this column: no other one of a run has its runner and target."""
        return (record.runner, record.target) == (self.runner, self.target)

    def takes(self, library: bool) -> bool:
        """True if an op can be run here; one of a ``library`` has no kernel."""
        return self._is_library or not library

    def ready(self, module: str, code: Container[tuple[str, Column]]) -> bool:
        """True if there is code of the module for it, or it needs none."""
        return self._is_library or (module, self) in code

    @property
    def known_as(self) -> str:
        """The column in a sentence."""
        return f"{self.target} ({self.evidence}{f' on {self.device}' if self.device else ''})"


@dataclass(frozen=True)
class Task:
    """The cases of one kernel entry, on every column that can run it.

    A case is its title (or an empty string) and its text. ``cases`` are these and no others, or, if None, those the
    plan draws; ``also`` come beside drawn ones. ``shrink`` asks for the simplest case of a failure.
    """

    op: str
    dtypes: tuple[str, ...]
    columns: tuple[Column, ...]
    cases: tuple[tuple[str, str], ...] | None = None
    also: tuple[tuple[str, str], ...] = ()
    shrink: bool = True


def add_cases(tasks: Iterable[Task], cases: Iterable[tuple[EntryName, str, str]]) -> tuple[Task, ...]:
    """The tasks with these cases beside drawn ones: what names the entry of each, its title and its text."""
    also: dict[tuple[str, tuple[str, ...]], dict[tuple[str, str], None]] = {}
    for about, title, text in cases:
        also.setdefault((about.op, about.dtypes), {})[title, text] = None
    return tuple(replace(task, also=(*task.also, *also.get((task.op, task.dtypes), ()))) for task in tasks)


@dataclass(frozen=True)
class CrossVendorComparison(Comparison):
    """The comparison of a column with the other vendor's ``column`` in one case, as stored.

    ``value`` is what the other column has at the first wrong element, ``budget`` the largest share of its own budget
    that it used (infinite if it failed).
    """

    column: str = field(kw_only=True)
    value: str = field(default="", kw_only=True)
    budget: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True)
class Provenance:
    """The origin of results: the cases were drawn from ``seed``, ``examples`` per kernel, and run in ``seconds``.

    ``complete`` is False if the run was interrupted; ``made_by`` says for each target how its code was made, and
    ``machines`` which of a cluster executed it, if one did.
    """

    seconds: float = 0.0
    seed: int = 0
    examples: int = 0
    complete: bool = True
    made_by: Mapping[str, str] = field(default_factory=dict)
    machines: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseRecord:
    """One case on one runner and target.

    ``title`` is set for named cases, ``divergence`` to the id of the known divergence that one is about (those that it
    met are the verdict's). ``inputs`` are the input values of the first wrong element, by tensor. ``minimal``
    is the simplest case with the same failure. ``against`` compares an AMD column with a CUDA column that ran the same
    case, and a CUDA column that fails with an AMD column. ``known`` is the location of the known issue that it is.
    ``printed`` is what the kernel printed, or the beginning of it. ``reached`` is what the case reached of its machine
    code, where an emulator noted that.
    """

    case: str
    op: str
    kernel: str
    module: str
    runner: str
    target: str
    evidence: str
    verdict: Verdict
    title: str = ""
    divergence: str = ""
    launch: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    instructions: int | None = None
    minimal: CaseRecord | None = None
    against: CrossVendorComparison | None = None
    known: str = ""
    printed: str = ""
    reached: Reached | None = None

    @classmethod
    def of(cls, entry: Entry, column: Column, case: str, verdict: Verdict, title: str = "", **more: Any) -> CaseRecord:
        """The record of a case of an entry on a column; of the whole entry, if the text of the case is empty."""
        names = (case, entry.op.name, entry.kernel, entry.op.module, column.runner, column.target, column.evidence)
        return cls(*names, verdict, title, **more)

    @property
    def without_code(self) -> bool:
        """True if the record says of a kernel that it did not compile, or that its module is not there."""
        return not self.case and self.verdict.kind in (COMPILE_ERROR, Status.MISSING)

    @property
    def failed(self) -> bool:
        """True if the case was executed and failed, and no known issue covers it."""
        return self.verdict.failed and not self.known

    @property
    def column(self) -> str:
        """The column of the matrix, as that calls it."""
        return str(self.where)

    @property
    def where(self) -> Column:
        """The column, as far as a record has it."""
        return Column.told(self.runner, self.target, self.evidence)
