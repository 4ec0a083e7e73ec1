"""Ops: what a kernel computes, declared in a few lines; everything derivable is derived.

An op knows how to draw a case, how to turn a case into a launch with its buffers, and what to expect. Nothing here
knows a particular op: those are declared in the ``cases`` folder of a suite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parity.cases.builtin import bench_cases, divergences_of, edge_cases, named_cases
from parity.cases.parser import check, parsed
from parity.cases.strategies import cases_of
from parity.model.case import Case
from parity.model.launch import Launch, Tiled
from parity.ops.case_view import CaseView, Params, Shape, Step, case_view
from parity.ops.declaration import Declaration, NamedCase
from parity.ops.lowering import Call, Work, call_of, timed, work_of
from parity.ops.validation import check_declaration

if TYPE_CHECKING:
    from hypothesis import strategies as st

__all__ = ["Call", "CaseView", "Entry", "NamedCase", "Op", "Params", "Shape", "Step", "Work"]


@dataclass(frozen=True, eq=False)
class Op(Declaration):
    """An op: its declaration, and its cases as text, as draws and as calls."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_declaration(self)

    def entries(self) -> list[Entry]:
        """The kernel entries of this op."""
        return [Entry(self, tuple(types.split(","))) for types in self.types]

    def parse(self, text: str) -> Case:
        """The case with that text.

        Raises:
            UsageError: a name, value or flag does not fit this op.
        """
        return parsed(self, text)

    def check(self, case: Case) -> None:
        """Refuse a case whose tensors do not fit together or to the kernel.

        Raises:
            UsageError: what does not fit.
        """
        check(self, case)

    def given(self, case: Case) -> CaseView:
        """The view of a case that functions and expressions of the declaration have."""
        return case_view(self, case)

    def cases(self, dtypes: Sequence[str], *, launches: str = "any") -> st.SearchStrategy[Case]:
        """Strategy for the cases of one kernel entry; ``launches`` is "any", or "host" for the host's own rule only."""
        return cases_of(self, dtypes, launches)

    def named_cases(self, dtypes: Sequence[str], *, launches: str = "any") -> list[tuple[str, Case]]:
        """Title and case of every named case for these dtypes; ``launches`` as for ``cases``."""
        return named_cases(self, dtypes, launches)

    def edge_cases(self, drawn: Sequence[Case], *, launches: str = "any") -> list[tuple[str, Case]]:
        """Title and case of the edges that are made of drawn cases: these with other data, or another launch."""
        return edge_cases(self, drawn, launches)

    def divergences(self, dtypes: Sequence[str]) -> dict[str, str]:
        """The id of the known divergence that a named case for these dtypes is about, by the case's text."""
        return divergences_of(self, dtypes)

    def bench_cases(self, dtypes: Sequence[str], *, small: bool = False) -> list[tuple[str, Case]]:
        """Title and case of everything that is measured for these dtypes, small enough for an emulator or not."""
        return bench_cases(self, dtypes, small)

    def work(self, case: Case) -> Work:
        """The bytes and operations of a case."""
        return work_of(self, case)

    def call(self, case: Case) -> Call:
        """Launch, buffers and expectation of a case.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        return call_of(self, case)

    def timed(self, case: Case) -> tuple[Launch, Mapping[str, Tiled]]:
        """Launch and memory of a case whose result is not compared, however large it is.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        return timed(self, case)


@dataclass(frozen=True)
class Entry:
    """One op for one dtype combination: a kernel entry."""

    op: Op
    dtypes: tuple[str, ...]

    @property
    def kernel(self) -> str:
        return self.op.kernel_name(self.dtypes)

    @property
    def kernels(self) -> tuple[str, ...]:
        """All kernels that a call launches."""
        return self.op.kernel_names(self.dtypes)

    @property
    def name(self) -> str:
        return f"{self.op.name}[{','.join(self.dtypes)}]"
