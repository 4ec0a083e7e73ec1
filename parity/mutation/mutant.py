"""Faults that are planted, and what became of each: plain data, which pickles and goes into files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from parity.platform.cache import digest

__all__ = ["Level", "Mutant", "MutantOutcome", "MutantResult", "Reason", "UnmutatedResult"]

Level = Literal["source", "instruction"]


@dataclass(frozen=True)
class Mutant:
    """One fault in one kernel: ``old`` becomes ``new``.

    In source, that is at byte ``at`` of ``file`` as it is compiled for AMD, in ``line``. An instruction is in line
    ``listed`` of the module's listing, and in line ``at`` of the kernel's alone; ``file`` and ``line`` are those that
    it was compiled from (empty and 0 if that is not known). ``before`` and ``after`` are the whole lines, or
    instructions. ``kind`` is the class of the ``operator``.
    """

    op: str
    dtypes: tuple[str, ...]
    kernel: str
    module: str
    target: str
    level: Level
    kind: str
    operator: str
    file: str
    line: int
    at: int
    old: str
    new: str
    before: str
    after: str
    listed: int = 0

    @property
    def key(self) -> str:
        """A key that no other mutant of a build has."""
        names = (self.op, ",".join(self.dtypes), self.kernel, self.target, self.level, self.operator, self.file)
        return digest(*names, f"{self.line} {self.at} {self.listed}", self.old, self.new, self.before)

    @property
    def place(self) -> str:
        """The place where it is planted, for people."""
        listing = f"listing line {self.listed}" if self.listed else ""
        source = f"{self.file}:{self.line}" if self.file else ""
        return ", ".join(filter(None, (source, listing)))


class MutantOutcome(StrEnum):
    """The outcome of a mutant."""

    CAUGHT = "caught"
    TIMED_OUT = "timed out"
    """A case had no end: caught, too."""
    SURVIVED = "survived"
    EQUAL = "equal code"
    """The compiler makes the same code of it."""
    UNCOMPILED = "does not compile"
    """No program: it does not compile, or the emulator has no such instruction."""
    NOT_SHOWN = "not shown"
    """The emulator cannot show it: memory operations are complete at once there."""

    @property
    def caught(self) -> bool:
        return self in (MutantOutcome.CAUGHT, MutantOutcome.TIMED_OUT)

    @property
    def counts(self) -> bool:
        """True if it is a fault that cases can catch."""
        return self.caught or self is MutantOutcome.SURVIVED


class Reason(StrEnum):
    """The reason why a mutant survived, as far as is known."""

    MISSED = "missed"
    """A case of a longer search catches it."""
    NEVER_EXECUTED = "never executed"
    OUT_OF_REACH = "out of reach"
    """It is never executed, and the code before it tells why: tensors of 2^31 elements, a trap."""
    WITHIN = "within the budget"
    EQUIVALENT = "equivalent as far as known"
    """It is executed, and every result is the same, bit for bit, those of a longer search as well."""


@dataclass(frozen=True)
class UnmutatedResult:
    """A kernel as it is: ``cases`` that it passes, of ``drawn``, and the largest share of an error budget in them."""

    cases: int
    drawn: int
    budget: float


@dataclass(frozen=True)
class MutantResult:
    """A mutant, and what became of it.

    ``case`` is the case that caught it and ``verdict`` how it failed, after ``cases`` that were run. Of a survivor,
    ``budget`` is the largest share of an error budget that its results used, and ``usual`` that of the kernel as it is;
    ``found`` is a case of a longer search, of ``searched`` cases, that catches it. ``detail`` says more: what the
    compiler said, what keeps cases from its place.
    """

    mutant: Mutant
    outcome: MutantOutcome
    case: str = ""
    verdict: str = ""
    cases: int = 0
    reason: Reason | None = None
    budget: float = 0.0
    usual: float = 0.0
    searched: int = 0
    found: str = ""
    detail: str = ""
