"""The data of a run: columns, tasks, and the record of each case."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from parity.compare.arbitration import Comparison
from parity.compare.verdict import Status, Verdict
from parity.compilers.targets import TARGETS, VERSION_MARK, gpu_of
from parity.model.coverage import Reached
from parity.op import Entry
from parity.runners import Evidence, Vendor
from parity.suite.selection import EntryName

COMPILE_ERROR = "compile error"
"""The failure class of a kernel that does not compile."""
DECLARATION = "wrong declaration"
"""The failure class of a case that the declaration of its op keeps from being launched."""

NOT_RECORDED = Verdict(Status.UNSUPPORTED, "not recorded")
"""The verdict on a kernel for which a recording has none of the requested cases."""


@dataclass(frozen=True)
class Column:
    """A column of the matrix: a runner, one of its targets, and the kind of evidence that its results are.

    ``spec`` is the text that selects the runner (its name, or ``recorded=FILE``). ``device`` names the device, if
    known.
    """

    runner: str
    target: str
    evidence: str = Evidence.EMULATED
    vendor: Vendor = "amd"
    spec: str = ""
    device: str = ""

    @classmethod
    def from_record(cls, runner: str, target: str, evidence: str) -> Column:
        """Return the column that a record or matrix describes. Targets that are not AMD's are CUDA's."""
        vendor: Vendor = "amd" if gpu_of(target) in TARGETS else "cuda"
        return cls(runner, target, evidence, "host" if evidence == Evidence.LIBRARY else vendor, runner)

    def __str__(self) -> str:
        return self.head(self.target)

    def head(self, targets: str) -> str:
        """Return the heading of columns that differ from this column only in their targets."""
        targets = targets.replace(VERSION_MARK, " HIP ")
        return f"{self.runner} {targets}" if self._is_library else f"{targets} {self.evidence}"

    def label(self, columns: Iterable[Column]) -> str:
        """Return the shortest unambiguous name among ``columns``: the target, prefixed with the runner if needed."""
        alone = [column.target for column in columns].count(self.target) == 1
        return self.target if alone and not self._is_library else f"{self.runner}-{self.target}"

    @property
    def kind(self) -> str:
        """What is common to all targets: the evidence, or the name of the library."""
        return self.runner if self._is_library else self.evidence

    @property
    def _is_library(self) -> bool:
        return self.evidence == Evidence.LIBRARY

    @property
    def live(self) -> bool:
        """True if the column executes launches; False if it replays a recording."""
        return self.evidence != Evidence.RECORDED

    @property
    def built(self) -> bool:
        """True if kernels are built for the column."""
        return self.live and not self._is_library

    @property
    def compiled_only(self) -> bool:
        """True if kernels are built for the column but not executed."""
        return self.evidence == Evidence.COMPILED

    @property
    def emulated(self) -> bool:
        """True if the emulator executes."""
        return self.evidence == Evidence.EMULATED

    @property
    def on_device(self) -> bool:
        """True if a device of this machine computes. Records describe the device."""
        return self.evidence in (Evidence.HARDWARE, Evidence.LIBRARY)

    @property
    def side(self) -> Vendor | None:
        """The vendor whose kernel the column executes; None for a library."""
        return None if self._is_library else self.vendor

    def ran(self, record: CaseRecord) -> bool:
        """Return True if the record belongs to this column. Runner and target identify a column within a run."""
        return (record.runner, record.target) == (self.runner, self.target)

    def takes(self, library: bool) -> bool:
        """Return True if the column can run an op. A ``library`` op has no kernel."""
        return self._is_library or not library

    def ready(self, module: str, code: Container[tuple[str, Column]]) -> bool:
        """Return True if the column has code for the module, or needs none."""
        return self._is_library or (module, self) in code

    @property
    def known_as(self) -> str:
        """The column as text for sentences."""
        return f"{self.target} ({self.evidence}{f' on {self.device}' if self.device else ''})"


@dataclass(frozen=True)
class Task:
    """The cases of one kernel entry, on every column that can run it.

    A case is a pair of title (or empty string) and text. ``cases`` are the only cases to run; None means the cases that
    the plan draws. ``also`` are cases to run in addition to drawn cases. ``picked`` is true if the user picked the
    cases, which then need not suffice to judge the kernel. ``shrink`` requests the simplest case of a failure.
    """

    op: str
    dtypes: tuple[str, ...]
    columns: tuple[Column, ...]
    cases: tuple[tuple[str, str], ...] | None = None
    also: tuple[tuple[str, str], ...] = ()
    picked: bool = False
    shrink: bool = True


def add_cases(tasks: Iterable[Task], cases: Iterable[tuple[EntryName, str, str]]) -> tuple[Task, ...]:
    """Return the tasks with additional cases, given as (entry name, title, text)."""
    also: dict[tuple[str, tuple[str, ...]], dict[tuple[str, str], None]] = {}
    for about, title, text in cases:
        also.setdefault((about.op, about.dtypes), {})[title, text] = None
    return tuple(replace(task, also=(*task.also, *also.get((task.op, task.dtypes), ()))) for task in tasks)


@dataclass(frozen=True)
class CrossVendorComparison(Comparison):
    """The comparison of a column with the other vendor's ``column`` in one case, as stored in a record.

    ``value`` is the other column's value at the first wrong element. ``budget`` is the largest share of the error
    bound that the other column used (infinite if it failed).
    """

    column: str = field(kw_only=True)
    value: str = field(default="", kw_only=True)
    budget: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True)
class Provenance:
    """The origin of results.

    Cases were drawn from ``seed``, ``examples`` per kernel, and ran for ``seconds``. ``complete`` is False if the run
    was interrupted. ``made_by`` describes the origin of each target's code. ``machines`` are the machines of the
    cluster.
    """

    seconds: float = 0.0
    seed: int = 0
    examples: int = 0
    complete: bool = True
    made_by: Mapping[str, str] = field(default_factory=dict)
    machines: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseRecord:
    """The result of one case on one runner and target.

    ``title`` is set for named cases. ``divergence`` is the id of the known divergence that the case was written
    for; the divergences that it met are in the verdict. ``inputs`` maps tensors to the input values of the first
    wrong element. ``minimal`` is the simplest case with the same failure. ``against`` compares an AMD column with a
    CUDA column, and a failing CUDA column with an AMD column. ``upgrade`` compares a column with the oldest version
    of HIP. ``known`` is the location of the known issue that explains the failure. ``printed`` is the start of the
    kernel's output. ``reached`` is the coverage of the machine code, if an emulator ran it.
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
    upgrade: CrossVendorComparison | None = None

    @classmethod
    def of(cls, entry: Entry, column: Column, case: str, verdict: Verdict, title: str = "", **more: Any) -> CaseRecord:
        """Return the record of a case on a column; an empty case text stands for the whole entry."""
        names = (case, entry.op.name, entry.kernel, entry.op.module, column.runner, column.target, column.evidence)
        return cls(*names, verdict, title, **more)

    @property
    def without_code(self) -> bool:
        """True if the kernel did not compile, or its module is missing."""
        return not self.case and self.verdict.kind in (COMPILE_ERROR, Status.MISSING)

    @property
    def failed(self) -> bool:
        """True if the case failed and no known issue explains the failure."""
        return self.verdict.failed and not self.known

    @property
    def column(self) -> str:
        """The heading of the record's column in the matrix."""
        return str(self.where)

    @property
    def where(self) -> Column:
        """The column, with the fields that a record stores."""
        return Column.from_record(self.runner, self.target, self.evidence)
