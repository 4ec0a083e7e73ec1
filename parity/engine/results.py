"""The data of a run: columns, tasks, and the record of each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parity.compare import Finding, Verdict
from parity.op import Entry
from parity.runners import Evidence, Vendor

__all__ = ["COMPILE_ERROR", "Against", "CaseRecord", "Column", "Task"]

COMPILE_ERROR = "compile error"
"""The class of failure of a kernel that does not compile."""


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

    def __str__(self) -> str:
        return f"{self.runner} {self.target}" if self.op_level else f"{self.target} {self.evidence}"

    @property
    def op_level(self) -> bool:
        """True if the runner computes ops with a library, so that nothing is built for it."""
        return self.evidence == Evidence.LIBRARY

    @property
    def live(self) -> bool:
        """True if it executes, so that further launches are possible; a recording only replays."""
        return self.evidence != Evidence.RECORDED

    @property
    def built(self) -> bool:
        """True if kernels are built for it."""
        return self.live and not self.op_level

    @property
    def on_device(self) -> bool:
        """True if a device of this machine computes, which a record describes."""
        return self.evidence in (Evidence.HARDWARE, Evidence.LIBRARY)

    def takes(self, entry: Entry) -> bool:
        """True if the entry can be run here: an op of libraries has no kernel."""
        return self.op_level or not entry.op.library

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


@dataclass(frozen=True)
class Against:
    """The comparison of a column with the other vendor's ``column`` in one case: ``compare.Comparison``, as stored.

    ``value`` is what the other column has at the first wrong element, ``budget`` the largest share of its own budget
    that it used (infinite if it failed).
    """

    column: str
    finding: Finding
    elements: int = 0
    total: int = 0
    ulps: float = 0.0
    divergences: tuple[str, ...] = ()
    zeros: int = 0
    share: float = 0.0
    value: str = ""
    budget: float = 0.0


@dataclass(frozen=True)
class CaseRecord:
    """One case on one runner and target.

    ``title`` is set for named cases, ``divergence`` to the id of the known divergence that one is about (those that it
    met are the verdict's). ``inputs`` are the input values of the first wrong element, by tensor. ``minimal``
    is the simplest case with the same failure. ``against`` compares an AMD column with a CUDA column that ran the same
    case, and a CUDA column that fails with an AMD column. ``known`` is the place of the known issue that it is.
    ``printed`` is what the kernel printed, or the beginning of it.
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
    against: Against | None = None
    known: str = ""
    printed: str = ""

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
        return Column(self.runner, self.target, self.evidence)
