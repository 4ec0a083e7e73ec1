"""Verdicts on the outputs of kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Status(StrEnum):
    """The outcome of a case. Only PASS is a success; a pass may name known divergences that it met."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASH = "crash"
    UNSUPPORTED = "unsupported"
    MISSING = "missing kernel"
    NOT_JUDGED = "not judged"
    """Something other than the kernel prevented the judgement: no memory, a full disk, or a reference that raised; or
    there is neither a reference nor a result of CUDA.
    """
    BASELINE = "baseline"
    """CUDA's result for an op without a reference; it judges the other columns."""


class Fact(StrEnum):
    """What code depends on in the detail of a verdict. The detail says it in words."""

    UNUSED_READ = "unused read"
    """The kernel reads memory that nothing has written, and the value reaches no output."""
    NEITHER_SIDE = "neither side"
    """No case writes the output, neither here nor on the side of CUDA."""
    MAY_DIVERGE = "may diverge"
    """Instructions of the kernel may meet a known divergence."""
    PASSES_HELPFUL = "passes helpful"
    """The port passes if it is translated in the ``helpful`` style."""
    PASSES_AT_OTHER_WIDTH = "passes at other width"
    """The kernel is correct only at another width of wavefronts."""


@dataclass(frozen=True)
class Mismatch:
    """One wrong element: its logical coordinates, both values as text, and their distance.

    ``ulps`` is the distance in units in the last place of the output's dtype, or in ``unit`` for blocks. ``budgets`` is
    the distance relative to the error bound. Both are infinite for NaN against a number.
    """

    coordinates: tuple[int, ...]
    expected: str
    got: str
    ulps: float
    budgets: float
    unit: str = "ULP"


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case on one runner: ``wrong`` of ``total`` elements are wrong.

    ``kind`` is the failure class, empty for a pass: "value", "unwritten", "nan", "sign of zero", "input modified",
    "out-of-bounds read", ... Two failures are the same if status and kind agree. ``kinds`` are the classes of all wrong
    elements; for NaN and infinities they include the direction ("nan for a number").

    ``budget`` is the largest share of the error bound that an element used; 1.0 is the limit. ``ulps`` is the largest
    distance in the class "value", or in a pass among elements with an error bound. ``allowed`` is true if the error
    bound of an element is above 0. ``beyond_observed`` is true if a result is between the observed and the documented
    limit. ``divergences`` are ids of the known CUDA/AMD divergences that the case met. ``vacuous`` names outputs for
    which this case and all earlier ones accept wrong results (``parity.compare.comparison.MISTAKES``).

    ``pattern`` describes the wrong elements in words, and ``picture`` shows their positions in the output of this
    ``shape`` (``parity.compare.patterns.picture``). ``output`` is the name of that output if the op has several.
    ``drawn`` lists the results of approximate instructions that cause the failure; with the nearest numbers the case
    passes. ``by`` is the CUDA column whose values are the baseline, for an op without a reference. ``within_bound`` is
    true if every element of a failure is within the error bound, but all together show a loss of precision
    (``Expected.bias``). ``facts`` are the statements of ``detail`` that code depends on.
    """

    status: Status
    kind: str = ""
    budget: float = 0.0
    wrong: int = 0
    total: int = 0
    first: Mismatch | None = None
    pattern: str = ""
    divergences: tuple[str, ...] = ()
    beyond_observed: bool = False
    detail: str = ""
    kinds: tuple[str, ...] = ()
    ulps: float = 0.0
    allowed: bool = False
    vacuous: tuple[str, ...] = ()
    drawn: str = ""
    by: str = ""
    shape: tuple[int, ...] = ()
    picture: tuple[str, ...] = ()
    within_bound: bool = False
    output: str = ""
    facts: tuple[Fact, ...] = ()

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def executed(self) -> bool:
        """True if the case was executed, or should have been, for a judgement."""
        return self.status not in (Status.UNSUPPORTED, Status.NOT_JUDGED, Status.BASELINE)

    @property
    def failed(self) -> bool:
        """True if the case was executed, or should have been, and did not pass."""
        return self.executed and not self.passed

    @property
    def judged(self) -> bool:
        """True if the verdict is about the kernel, and not about a missing kernel or a case that could not run."""
        return self.status in (Status.PASS, Status.FAIL, Status.CRASH, Status.TIMEOUT)

    def noted(self, *notes: str, facts: Iterable[Fact] = ()) -> Verdict:
        """Append lines to the detail, and facts."""
        return replace(self, detail="\n".join(filter(None, (self.detail, *notes))), facts=(*self.facts, *facts))


def general_class(kind: str) -> str:
    """Return a failure class without its direction: "nan" for "nan for a number"."""
    return next((name for name in ("nan", "infinity") if name in kind.split()), kind)
