"""Decides how to declare a kernel more carefully, after a declaration failed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from parity.inference.spec import RACES

UNSET, _OUTSIDE, _ASSERTS = "never-written", "out-of-bounds", "assertion `"
"""Words of failures that a more careful declaration may avoid."""
TOO_LITTLE = "the cases show too little"
"""Words for cases with which a kernel writes nothing, or only values that wrong results have as well."""
DIVERGES = "a known divergence of CUDA and AMD may explain the difference"
RANDOM = "it draws numbers with cuRAND, and hipRAND's numbers differ, so say reference="
_ABSENT = "takes no part in the exchange"
"""Words for results that depend on the value of a thread that a warp does not have."""
_LARGEST_WHOLE = 2
_SCALE, _MOST_SCALE = 16, 256
"""How much larger tensors are in each attempt, and the largest factor."""
_CALMEST = 2
"""The level of small numbers of the last attempt."""


@dataclass(frozen=True)
class Attempt:
    """How carefully to declare a kernel.

    ``single``: a single launch is enough. ``cautious``: all tensors that the kernel reads have content. ``scale``:
    if not 0, all tensors are at least this much larger than the largest one of the single launch, because other data
    may lead to more, or the host passes tensors of other shapes. ``calm``: if not 0, all numbers are small and not
    negative, because an index may depend on them, and integers are 0 or 1 if 2.
    ``apart``: the elements of integer tensors are distinct and in order, because threads may write to these positions.
    ``ordered``: they are in order, as the kernel may assert. ``whole``: if not 0, the numbers of threads are multiples
    of a warp, and of a block if 2, because threads read values of others that may have ended.
    """

    single: bool = False
    cautious: bool = False
    scale: int = 0
    calm: int = 0
    apart: bool = False
    ordered: bool = False
    whole: int = 0

    def after(self, reason: str) -> Attempt | None:
        """Return the next attempt after one that failed, or None if no other attempt may succeed."""
        if reason.startswith((RANDOM, RACES)):  # a smaller launch would hide a race
            return None
        if reason.startswith(DIVERGES):
            return replace(self, calm=self.calm + 1) if self.calm < _CALMEST else None
        if RACES in reason and not (self.apart or self.calm):
            return replace(self, apart=True)
        if _ASSERTS in reason and not self.ordered:
            return replace(self, ordered=True)
        if TOO_LITTLE in reason and self.apart and not self.single:  # small numbers may avoid the race as well
            return replace(self, apart=False, calm=1)
        if _ABSENT in reason and self.whole < _LARGEST_WHOLE and not self.single:
            return replace(self, whole=self.whole + 1)
        if UNSET in reason and not self.cautious:
            return replace(self, cautious=True)
        if not self.single:
            return replace(self, single=True, cautious=True)
        if RACES in reason or self.calm == _CALMEST:
            return None
        if _OUTSIDE in reason and self.scale < _MOST_SCALE:
            return replace(self, scale=self.scale * _SCALE or 1)
        return replace(self, calm=_CALMEST) if self.calm else replace(self, scale=0, calm=1)
