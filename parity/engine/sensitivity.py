"""Finds checks that cannot fail: in every case, they accept wrong outputs, or outputs that nothing writes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from parity.compare.comparison import MISTAKES, accepted_mistakes, has_numbers
from parity.compare.ulps import bit_patterns
from parity.compare.verdict import Fact, Status, Verdict
from parity.engine.checked_case import CheckedCase
from parity.errors import UsageError
from parity.model.launch import PRINTF
from parity.op import Call
from parity.reference.expected import Vendor

VACUOUS = "vacuous"
"""The kind of failure of a kernel whose cases cannot fail."""
_GAP = 0.002
"""The share of unwritten elements that is not a coincidence. Indices of 16 bits miss 0.8 % of 66,051 elements."""
_ENOUGH = 10
"""Cases after which a kernel should have changed something. In fewer, its data may never lead to a change."""


@dataclass
class Sensitivity:
    """What the passing cases of a kernel on one column show about the check of each output.

    Attributes:
        accepted: the mistakes (``MISTAKES``) that every case so far accepts whose expected values contain a number, by
            output.
        special: the same of cases whose expected values are infinite or NaN. They count if there are no others.
        written: for an op without a reference, whether a case has changed an output that has elements, by output.
        gaps: for an op without a reference, the size of the smallest output of which a case left many elements as they
            were, and the text of the case, by output.
        updated: outputs that are also inputs, and printed text. A kernel may leave one as it found it, such as a lock.
        cases: the number of passing cases.
        moved: whether a captured launch has changed memory; None without captured launches.
    """

    accepted: dict[str, frozenset[str]] = field(default_factory=dict)
    special: dict[str, frozenset[str]] = field(default_factory=dict)
    written: dict[str, bool] = field(default_factory=dict)
    gaps: dict[str, tuple[int, str]] = field(default_factory=dict)
    updated: set[str] = field(default_factory=set)
    cases: int = 0
    moved: bool | None = None

    def add(self, checked: CheckedCase, call: Call, vendor: Vendor) -> None:
        """Add a passing case."""
        self.cases += 1
        for name, expected in (checked.expected or {}).items():
            known = self.accepted if has_numbers(expected.value) else self.special
            left, known[name] = known.get(name, frozenset(MISTAKES)), frozenset()
            with suppress(UsageError):  # a function of the reference that raises does not accept
                known[name] = left and left & accepted_mistakes(expected, vendor)
            if call.references is None and expected.value.size:
                before = call.outputs[name].view(call.buffers[name].data)
                same = bit_patterns(before) == bit_patterns(checked.outputs[name])
                if call.observed:
                    self.moved = bool(self.moved or not same.all())
                    continue
                text = call.launch.results.get(PRINTF)
                self.updated |= {name} & {*call.inputs, text}
                self.written[name] = not same.all() or self.written.get(name, False)
                if same.sum() > _GAP * same.size and name != text:
                    gap = same.size, str(checked.case)
                    self.gaps[name] = min(gap, self.gaps.get(name, gap))

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The outputs for which every case accepts one of the mistakes."""
        return tuple(name for name, mistakes in self._mistakes.items() if mistakes)

    @property
    def _mistakes(self) -> dict[str, frozenset[str]]:
        return {**self.special, **self.accepted}

    def large_gap(self) -> tuple[str, Verdict] | None:
        """Return the text of a case with more than 2^16 elements, and its failure, if only such cases left some."""
        for name, (size, case) in self.gaps.items():
            if size > 2**16 and self.cases >= _ENOUGH and name not in self.updated:
                detail = (
                    f"smaller cases write every element of {name}, but a case with {size:,} does not, on either side"
                )
                return case, Verdict(Status.FAIL, "unwritten", detail=detail, facts=(Fact.NEITHER_SIDE,))
        return None

    def failure(self, op: str, *, may_be_vacuous: bool) -> Verdict | None:
        """Return the failure of a kernel whose cases have all been judged; None if the cases can fail."""
        if self.moved is False:
            detail = "no captured launch of this kernel changes memory, so no value was judged; capture one that does"
            return Verdict(Status.NOT_JUDGED, "not captured", detail=detail)
        unwritten = [name for name, written in self.written.items() if not written]
        if any(self.written.values()) or self.cases < _ENOUGH:
            unwritten = [name for name in unwritten if name not in self.updated]
        if unwritten:
            detail = f"no case writes an element of {' '.join(unwritten)}, neither here nor on the side of CUDA"
            return Verdict(Status.FAIL, "unwritten", detail=detail, facts=(Fact.NEITHER_SIDE,))
        if self.vacuous and not may_be_vacuous:
            detail = (
                f"{'; '.join(self._accepts(self.vacuous))}. Correct the reference or its error bound, or declare that "
                f'this is intended: allow-vacuous = ["{op}"] in [tool.parity]'
            )
            return Verdict(Status.FAIL, VACUOUS, detail=detail)
        return None

    def _accepts(self, names: Iterable[str]) -> Iterable[str]:
        for name in names:
            mistakes = [each for each in MISTAKES if each in self._mistakes[name]]
            yield f"the check of {name} accepts wrong results in every case: {', '.join(mistakes)}"
