"""Searches for the cause of a failure with further launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from parity.build.modules import HelpfulPort
from parity.compare.comparison import compare
from parity.compare.verdict import Fact, Status, Verdict
from parity.engine.case_records import Column
from parity.engine.checked_case import CheckedCase, Implementation
from parity.engine.f8_formats import fnuz_mixups
from parity.engine.judging import run_and_judge
from parity.model.case import Case
from parity.model.code_object import CodeObject
from parity.op import Op
from parity.runners import OpSession, Session, SupportsExplanation

_ASSEMBLY = "#ASMSTART"
"""Precedes inline assembly in a listing."""
_EXCHANGE = re.compile(r"amd_warp_\w+\.h|cooperative_groups|\bds_(?:b?permute|swizzle)|\bv_permlane|_dpp\b")
"""Matches shuffles, votes and other exchanges between lanes in a listing, by HIP's header or by the instruction."""
_WIDTH = re.compile(r"\bwarpSize\b|\b__lane_id\b|(?i:wavefront_?size)")
"""Matches code whose meaning depends on the width of a wavefront."""
_TARGET = re.compile(r"\b__(gfx[0-9a-f]{3,4})__\b")
"""Matches a macro that the compiler defines for a target, such as ``__gfx90a__``."""


def diagnose(
    op: Op,
    failing: CheckedCase,
    column: Column,
    code: Mapping[Column, CodeObject],
    session: Callable[[Column], Session | OpSession],
    helpful: Callable[[Column], HelpfulPort | None] = lambda column: None,
    oracle: Implementation | None = None,
) -> CheckedCase:
    """Return the failure with everything that further launches reveal in its detail.

    If the failure is explained by the other format of 8-bit floats, that is the cause. Otherwise the notes are, in this
    order: what the session reports (``explain``), whether the case passes with other block sizes, and whether it passes
    with another wavefront width. The last note says whether the case passes if the source is ported in the ``helpful``
    style. A failure that only appears with varied results of approximate instructions gets no notes, because further
    launches would vary them differently. ``code`` maps every column that can execute launches to the kernel's module.
    """
    if failing.verdict.drawn:
        return failing
    verdict = failing.verdict
    if failing.verdict.status is Status.FAIL and failing.verdict.first is not None:
        mixed_up = list(fnuz_mixups(op.call(failing.case), failing, column.vendor, oracle))
        verdict = verdict.noted(*mixed_up) if mixed_up else _after_launches(op, failing, column, code, session, oracle)
    if port := helpful(column):
        tried = run_and_judge(op, failing.case, Implementation(session(column), column.vendor, port.code, oracle))
        if tried.verdict.passed:
            kernels = [each.kernel for each in op.call(failing.case).launch.sequence]
            said = f"the port passes {port.describe(code[column], kernels)}"
            verdict = verdict.noted(said, facts=[Fact.PASSES_HELPFUL])
    return replace(failing, verdict=verdict)


def _after_launches(
    op: Op,
    failing: CheckedCase,
    column: Column,
    code: Mapping[Column, CodeObject],
    session: Callable[[Column], Session | OpSession],
    oracle: Implementation | None,
) -> Verdict:
    """Return the verdict with the notes of the session on the failure, and those from further launches."""
    call = op.call(failing.case).on(code[column])
    kernel = call.launch.kernel
    here = session(column)
    notes = list(here.explain(code[column], call.launch, call.buffers)) if isinstance(here, SupportsExplanation) else []

    def run(case: Case, where: Column) -> CheckedCase:
        return run_and_judge(op, case, Implementation(session(where), where.vendor, code[where], oracle))

    notes += _blocks(op, failing.case, lambda case: run(case, column).verdict.passed)
    verdict = failing.verdict.noted(*notes)
    for note, facts in passing_wavefront_widths(
        kernel, column, code, lambda other: _passes_unlike(failing, run(failing.case, other), other)
    ):
        verdict = verdict.noted(note, facts=facts)
    return verdict


def _passes_unlike(failing: CheckedCase, other: CheckedCase, where: Column) -> bool:
    """Return True if the case passes on another column, whose error bounds reject the failing outputs.

    A pass means nothing if it accepts the failing outputs as well.
    """
    accepted = bool(failing.outputs) and all(
        compare(expected, failing.outputs[name], vendor=where.vendor).passed
        for name, expected in (other.expected or {}).items()
    )
    return other.verdict.passed and not accepted


def passing_wavefront_widths(
    kernel: str, column: Column, code: Mapping[Column, CodeObject], passes: Callable[[Column], bool]
) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    """Say where the case passes with another wavefront width, in a note, with a fact if the width is the cause.

    If it passes on all targets of the same vendor with another width, the width is the cause if lanes exchange values
    or the sources use the width, unless the code has inline assembly, which may differ between targets. On a target of
    another vendor much else differs too, so the note only states both widths.
    """
    own = code[column].listing.partition(f"\n{kernel}:")[2].partition("\n.Lfunc_end")[0]
    widths = {each: module.kernels[kernel].wavefront for each, module in code.items() if kernel in module.kernels}
    others = [each for each, width in widths.items() if width != widths[column]]
    alike = [each for each in others if each.vendor == column.vendor]
    other = next(filter(passes, alike or others), None)
    if other is None or not all(each is other or passes(each) for each in alike):
        return
    there, here = widths[other], widths[column]
    texts = {path.name: text for path in code[column].sources if (text := _text_of(path, own))}
    if alike and (place := _selecting_place(texts, column.target, other.target)):
        yield f"passes on {other.target} with {there} lanes, and with the code that {place} selects there", ()
    elif not alike or _ASSEMBLY in own:
        yield f"passes on {other.target} with {there} lanes; a wavefront has {here} here", ()
    elif _EXCHANGE.search(own) or any(map(_WIDTH.search, texts.values())):
        said = f"passes on {other.target}: correct only at width {there}, and here a wavefront has {here} lanes"
        yield said, (Fact.PASSES_AT_OTHER_WIDTH,)
    else:
        yield f"passes on {other.target}; lanes exchange nothing, so the width of a wavefront is not the cause", ()


def _text_of(path: Path, listing: str) -> str:
    """Return the text of a file that a kernel was compiled from; empty for HIP's headers.

    The file may have changed or vanished since the build.
    """
    if path.name not in listing or path.name.startswith("amd_"):
        return ""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _selecting_place(texts: Mapping[str, str], *targets: str) -> str:
    """Return a target's macro in a source, with its place, if one of the targets defines it and the other does not."""
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            names = _TARGET.finditer(line) if line.lstrip().startswith("#") else ()
            if found := next((each for each in names if each[1] in targets), None):
                return f"{found[0]} at {name}:{number}"
    return ""


def _blocks(op: Op, case: Case, passes: Callable[[Case], bool]) -> Iterator[str]:
    """Yield one line with the block sizes with which the case passes and fails; nothing if none passes."""
    good: list[str] = []
    bad: list[str] = []
    for threads in op.threads if case.launch is None else ():
        if threads != case.threads:
            (good if passes(replace(case, threads=threads)) else bad).append(str(threads))
    if good:
        failing = f"; fails with {', '.join(bad)} as well" if bad else ""
        yield f"passes with {', '.join(good)} threads per block{failing}"
