"""The cause of a case's failure, as far as further launches can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from parity.build.modules import HelpfulPort
from parity.compare import Status
from parity.engine.case_records import Column
from parity.engine.f8_formats import fnuz_mixups
from parity.engine.judging import CheckedCase, Implementation, run_and_judge
from parity.model.case import Case
from parity.model.code_object import CodeObject
from parity.op import Op
from parity.runners import OpSession, Session, SupportsExplanation

__all__ = ["diagnose", "passing_wavefront_widths"]


_ASSEMBLY = "#ASMSTART"
"""What stands before inline assembly in a listing."""


def diagnose(
    op: Op,
    failing: CheckedCase,
    column: Column,
    code: Mapping[Column, CodeObject],
    session: Callable[[Column], Session | OpSession],
    helpful: Callable[[Column], HelpfulPort | None] = lambda column: None,
    by: Implementation | None = None,
) -> CheckedCase:
    """The failure with what else is known about it in its detail; ``by`` as in ``Implementation``.

    ``code`` maps every column that can run further launches to the kernel's module. If one format of 8-bit floats was
    taken for another, that is the cause. Else what the session itself can tell (``explain``) comes first, then whether
    the case passes with other numbers of threads, or where a wavefront is of another width; last whether it passes if
    the source is translated in the ``helpful`` style. A failure that only results of approximate instructions show is
    told nothing more: further launches would draw other results.
    """
    if failing.verdict.drawn:
        return failing
    notes: list[str] = []
    if failing.verdict.status is Status.FAIL and failing.verdict.first is not None:
        mixed_up = list(fnuz_mixups(op.call(failing.case), failing, column.vendor, by))
        notes += mixed_up or _launches(op, failing, column, code, session, by)
    port = helpful(column)
    if (
        port
        and run_and_judge(
            op, failing.case, Implementation(session(column), column.vendor, port.code, by)
        ).verdict.passed
    ):
        notes.append(f"the port passes {port.how}")
    return replace(failing, verdict=failing.verdict.noted(*notes))


def _launches(
    op: Op,
    failing: CheckedCase,
    column: Column,
    code: Mapping[Column, CodeObject],
    session: Callable[[Column], Session | OpSession],
    by: Implementation | None,
) -> list[str]:
    """The notes of the session on a failure, and those of further launches."""
    call = op.call(failing.case).on(code[column])
    kernel = call.launch.kernel
    here = session(column)
    notes = list(here.explain(code[column], call.launch, call.buffers)) if isinstance(here, SupportsExplanation) else []

    def passes(case: Case, where: Column) -> bool:
        return run_and_judge(op, case, Implementation(session(where), where.vendor, code[where], by)).verdict.passed

    notes += _blocks(op, failing.case, lambda case: passes(case, column))
    notes += passing_wavefront_widths(kernel, column, code, lambda other: passes(failing.case, other))
    return notes


def passing_wavefront_widths(
    kernel: str, column: Column, code: Mapping[Column, CodeObject], passes: Callable[[Column], bool]
) -> Iterator[str]:
    """Where the case passes with a wavefront of another width.

    On a target of the same vendor that makes the width the cause, if there is no inline assembly, which may mean
    another thing there. On another vendor's much else is different, too, so that the two widths are all that can be
    said.
    """
    own = code[column].listing.partition(f"\n{kernel}:")[2].partition("\n.Lfunc_end")[0]
    widths = {each: module.kernels[kernel].wavefront for each, module in code.items() if kernel in module.kernels}
    others = [each for each, width in widths.items() if width != widths[column]]
    alike = [each for each in others if each.vendor == column.vendor]
    for other in alike or others:
        if passes(other):
            there, here = widths[other], widths[column]
            if alike and _ASSEMBLY not in own:
                yield f"passes on {other.target}: correct only at width {there}, and here a wavefront has {here} lanes"
            else:
                yield f"passes on {other.target} with {there} lanes; a wavefront has {here} here"
            return


def _blocks(op: Op, case: Case, passes: Callable[[Case], bool]) -> Iterator[str]:
    """The numbers of threads per block with which the case passes and fails, as one line; nothing if none passes."""
    good: list[str] = []
    bad: list[str] = []
    for threads in op.threads if case.launch is None else ():
        if threads != case.threads:
            (good if passes(replace(case, threads=threads)) else bad).append(str(threads))
    if good:
        failing = f"; fails with {', '.join(bad)} as well" if bad else ""
        yield f"passes with {', '.join(good)} threads per block{failing}"
