"""Verdicts: the comparison of a kernel's output with the expected values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

__all__ = ["Mismatch", "Status", "Verdict", "general_class"]


class Status(StrEnum):
    """The outcome of a case. Only PASS is a success; a known divergence is a PASS that names its ids."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASH = "crash"
    UNSUPPORTED = "unsupported"
    MISSING = "missing kernel"
    NOT_JUDGED = "not judged"
    """Something else than the kernel kept it from being judged: no memory, a full disk, a reference that raised; or
    there is no reference, and nothing of CUDA's to judge it by.
    """
    TAKEN = "taken as right"
    """The values of CUDA's side in a case of an op without a reference: the others are judged by it."""


@dataclass(frozen=True)
class Mismatch:
    """One wrong element: its logical coordinates, the values as text, and how far apart they are.

    ``ulps`` is the distance in units in the last place of the output's dtype (or in ``unit``, if blocks differ in some
    bytes), ``budgets`` in shares of what is allowed; both are infinite where no distance makes sense (NaN against a
    number).
    """

    coordinates: tuple[int, ...]
    expected: str
    got: str
    ulps: float
    budgets: float
    unit: str = "ULP"


@dataclass(frozen=True)
class Verdict:
    """Outcome of one case on one runner.

    ``kind`` is the class of a failure (empty for a pass): "value", "unwritten", "nan", "sign of zero", "input
    modified", "out-of-bounds read", ... Two failures are the same failure if status and kind agree. ``kinds`` has every
    class that a wrong element is of, those of NaN and infinities with their direction ("nan for a number"). ``budget``
    is the worst share of its budget that any element used (1.0 = at the limit), ``ulps`` the largest distance in the
    class "value", of a pass that of an element for which an error was allowed. ``pattern`` says in words which elements
    are wrong. ``divergences`` are ids of known CUDA/AMD divergences that were met; ``beyond_observed`` says that a
    result lies between the observed and the documented limit. ``allowed`` says that an error of some element was
    allowed; ``vacuous`` names the outputs in which zeros would have passed as well. ``drawn`` says which results of
    approximate instructions a failure needs: with the nearest numbers the case passes. ``by`` is the column of CUDA's
    whose values were taken as right, because the op has no reference. ``picture`` shows where in the output, of this
    ``shape``, the wrong elements are (``parity.compare.patterns.picture``).
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

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def executed(self) -> bool:
        """True if the case was executed, or should have been, to be judged."""
        return self.status not in (Status.UNSUPPORTED, Status.NOT_JUDGED, Status.TAKEN)

    @property
    def failed(self) -> bool:
        """True if the case was executed, or should have been, and did not pass."""
        return self.executed and not self.passed

    @property
    def judged(self) -> bool:
        """True if the verdict is about the kernel: not for a missing kernel, or a case that could not be run."""
        return self.status in (Status.PASS, Status.FAIL, Status.CRASH, Status.TIMEOUT)

    def noted(self, *notes: str) -> Verdict:
        """The verdict with these lines behind its detail."""
        return replace(self, detail="\n".join(filter(None, (self.detail, *notes))))


def general_class(kind: str) -> str:
    """The class of a failure without its direction: "nan" for "nan for a number"."""
    return next((name for name in ("nan", "infinity") if name in kind.split()), kind)
