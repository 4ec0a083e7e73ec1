"""Mutants and their results, as data that pickles and is stored in files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from parity.platform.cache import digest

Level = Literal["source", "instruction"]


@dataclass(frozen=True)
class Mutant:
    """One fault in one kernel: ``old`` is replaced by ``new``.

    A fault in source is at byte ``at`` of ``file`` as compiled for AMD, in ``line``. A fault in an instruction is in
    line ``listed`` of the module's listing, and in line ``at`` of the isolated kernel's listing; ``file`` and ``line``
    are the source of the instruction (empty and 0 if unknown). ``before`` and ``after`` are whole lines or
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
        """A key that is unique among the mutants of a build."""
        names = (self.op, ",".join(self.dtypes), self.kernel, self.target, self.level, self.operator, self.file)
        return digest(*names, f"{self.line} {self.at} {self.listed}", self.old, self.new, self.before)

    @property
    def place(self) -> str:
        """The place of the fault as text."""
        listing = f"listing line {self.listed}" if self.listed else ""
        source = f"{self.file}:{self.line}" if self.file else ""
        return ", ".join(filter(None, (source, listing)))


class MutantOutcome(StrEnum):
    """The outcome of a mutant."""

    CAUGHT = "caught"
    TIMED_OUT = "timed out"
    """A case did not end. Counts as caught."""
    SURVIVED = "survived"
    EQUAL = "equal code"
    """The compiler generates the same code."""
    UNCOMPILED = "does not compile"
    """The mutant does not compile, or the emulator does not support its instruction."""
    NOT_SHOWN = "not shown"
    """The emulator cannot show the fault, because its memory operations complete immediately."""

    @property
    def caught(self) -> bool:
        return self in (MutantOutcome.CAUGHT, MutantOutcome.TIMED_OUT)

    @property
    def counts(self) -> bool:
        """True if the mutant is a fault that cases can catch."""
        return self.caught or self is MutantOutcome.SURVIVED


class Reason(StrEnum):
    """The reason why a mutant survived, if known."""

    MISSED = "missed"
    """A case of a longer search catches the mutant."""
    NEVER_EXECUTED = "never executed"
    OUT_OF_REACH = "out of reach"
    """The code is never executed, and the code before it shows why: tensors of 2^31 elements, a trap."""
    WITHIN = "within the budget"
    EQUIVALENT = "equivalent as far as known"
    """The code is executed, and every result is the same bit by bit, including the results of a longer search."""


@dataclass(frozen=True)
class UnmutatedResult:
    """The result of a kernel without faults: ``cases`` that pass, of ``drawn``, and the largest used share of an error
    bound.
    """

    cases: int
    drawn: int
    budget: float


@dataclass(frozen=True)
class MutantResult:
    """A mutant and its outcome.

    ``case`` caught the mutant with the failure ``verdict``, after ``cases`` were run. For a survivor, ``budget`` is the
    largest share of an error bound that its results used, and ``usual`` the share of the unmutated kernel. ``found`` is
    a case that catches it, from a longer search of ``searched`` cases. ``detail`` contains the compiler's message, or
    what keeps cases from reaching the fault.
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
