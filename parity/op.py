"""The public face of an op: ``Op`` joins a declaration with its cases and their launches.

A few lines declare an op, and everything else is derived from them. parity itself contains no op: the ``cases`` folder
of a suite declares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parity.cases.builtin import bench_cases, covered_divergences, edge_cases, named_cases
from parity.cases.parser import check_case, parse_case
from parity.cases.specializations import specializations
from parity.cases.strategies import case_strategy
from parity.model.case import Case
from parity.model.launch import Launch, Tiled
from parity.ops.case_view import CaseView, Params, Shape, view_case
from parity.ops.declaration import Declaration, NamedCase
from parity.ops.launch_rules import Step
from parity.ops.lowering import Call, Work, count_work, is_sparse, lower, lower_for_timing
from parity.ops.validation import check_declaration
from parity.triton_kernels.declaring import triton
from parity.triton_kernels.kernel import Specialization

if TYPE_CHECKING:
    from hypothesis import strategies as st

__all__ = ["Call", "CaseView", "Entry", "NamedCase", "Op", "Params", "Shape", "Step", "Work", "triton"]


@dataclass(frozen=True, eq=False)
class Op(Declaration):
    """An op: its declaration, and everything that parity derives from it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_declaration(self)

    def entries(self) -> list[Entry]:
        """Return the kernel entries, one per dtype combination."""
        return [Entry(self, tuple(types.split(","))) for types in self.types]

    def parse(self, text: str) -> Case:
        """Parse the text of a case.

        Raises:
            UsageError: a name, value or flag does not fit this op.
        """
        return parse_case(self, text)

    def check(self, case: Case) -> None:
        """Check that the tensors of a case fit together and fit the kernel.

        Raises:
            UsageError: they do not fit.
        """
        check_case(self, case)

    def view(self, case: Case) -> CaseView:
        """Return the case as the functions and expressions of the declaration see it."""
        return view_case(self, case)

    def cases(self, dtypes: Sequence[str], *, launches: str = "any") -> st.SearchStrategy[Case]:
        """Return a strategy for the cases of a kernel entry.

        ``launches`` is "any", or "host" for cases that keep to the launch rule of the op.
        """
        return case_strategy(self, dtypes, launches)

    def named_cases(self, dtypes: Sequence[str], *, launches: str = "any") -> list[tuple[str, Case]]:
        """Return title and case of every named case and strided template; ``launches`` as in ``cases``."""
        return named_cases(self, dtypes, launches)

    def edge_cases(self, drawn: Sequence[Case], *, launches: str = "any") -> list[tuple[str, Case]]:
        """Return title and case of the edge cases: drawn cases with other data, layouts or launches."""
        return edge_cases(self, drawn, launches)

    def divergences(self, dtypes: Sequence[str]) -> dict[str, str]:
        """Map the text of each named case that covers a known CUDA/AMD divergence to the divergence's id."""
        return covered_divergences(self, dtypes)

    def bench_cases(self, dtypes: Sequence[str], *, small: bool = False) -> list[tuple[str, Case]]:
        """Return title and case of everything to measure; ``small`` selects the sizes for emulators."""
        return bench_cases(self, dtypes, small)

    def work(self, case: Case) -> Work:
        """Count the bytes and operations of a case."""
        return count_work(self, case)

    def call(self, case: Case) -> Call:
        """Lower a case to launches, buffers and expected values.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        return lower(self, case)

    def is_sparse(self, case: Case) -> bool:
        """Return whether a case has so many elements that only a sample of its blocks runs."""
        return is_sparse(self, case)

    def timed(self, case: Case) -> tuple[Launch, Mapping[str, Tiled]]:
        """Lower a case, of any size, whose result is measured but not compared.

        Raises:
            UsageError: no device can launch it, or an argument is too large for its type.
        """
        return lower_for_timing(self, case)


@dataclass(frozen=True)
class Entry:
    """An op with one dtype combination: a kernel entry."""

    op: Op
    dtypes: tuple[str, ...]

    @property
    def kernel(self) -> str:
        """The kernel that the call launches first."""
        return self.op.kernel_name(self.dtypes)

    @property
    def kernels(self) -> tuple[str, ...]:
        """All kernels that a call launches."""
        if self.op.triton_kernel:
            return tuple(each.symbol for each in self.specializations)
        return tuple(self.op.kernel_name(self.dtypes, step.kernel) for step in self.op.steps)

    @property
    def specializations(self) -> tuple[Specialization, ...]:
        """The specializations of a Triton kernel; empty for other kernels."""
        return specializations(self.op, self.dtypes) if self.op.triton_kernel else ()

    @property
    def name(self) -> str:
        """``module.op[dtypes]``."""
        return f"{self.op.name}[{','.join(self.dtypes)}]"
