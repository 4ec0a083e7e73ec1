"""Renders recall: the share of planted faults that the cases catch, and the survivors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from parity.errors import pluralize
from parity.mutation.mutant import MutantOutcome, MutantResult, Reason
from parity.mutation.recall import ClassRecall, KernelRecall, Recall, Survivor
from parity.report import tables

LEGEND = (
    "recall: caught faults, divided by all faults that change the code; effective: the same without beyond and "
    "equivalent; beyond: only tensors of 2^31 elements or a trap reach the code; equivalent: executed, and all results "
    "are the same bits, even in a longer search, so no effect is known, but none is ruled out either; equal: the "
    "compiler generates the same code; none: it does not compile, or the emulator lacks the instruction; budget: the "
    "largest share of an error bound that the unmutated kernel uses"
)
PROSE = 160
_WITHOUT = (Reason.EQUIVALENT, Reason.OUT_OF_REACH)
"""Reasons for which probably no case can be written."""
_REASONS = {
    Reason.MISSED: "missed: additional cases find it",
    Reason.NEVER_EXECUTED: "never executed: no case reaches it",
    Reason.OUT_OF_REACH: "never executed: no case that an emulator can run reaches it",
    Reason.EQUIVALENT: "executed, and all results are the same bits: no effect is known",
}


def percent(caught: int, planted: int) -> str:
    """Format a share; only a complete one is shown as 100 %."""
    share = 100 * caught / planted if planted else 0.0
    return "100 %" if caught == planted else f"{min(share, 99.9):.1f} %"


def _budget(each: KernelRecall) -> str:
    """The share of the error bound that the unmutated kernel uses; tight bounds hide fewer faults."""
    return "" if each.budget is None else f"{100 * each.budget:.0f} %" if each.budget else "exact"


def _cells(each: KernelRecall | ClassRecall) -> list[str]:
    shares = [f"{each.caught}/{each.planted}", percent(each.caught, each.planted)] if each.planted else ["", ""]
    shares.append(percent(each.caught, each.effective) if each.effective else "")
    counts = (each.planted - each.caught, each.beyond, each.equivalent, each.equal, each.uncompiled)
    return [*shares, *(str(count or "") for count in counts)]


_HEADS = ("caught", "recall", "effective", "survived", "beyond", "equivalent", "equal", "none")


def terminal(recall: Recall, *, full: bool = False, width: int | None = None) -> Text:
    """Return tables by kernel, module and class, and the survivors.

    Without ``full``, omit kernels without survivors, and survivors for which probably no case can be written.
    """
    several = len(recall.targets) > 1
    parts = []
    shown = [each for each in recall.kernels if each.effective > each.caught or full]
    if shown:
        rows = [
            [each.module, each.kernel + (f" {each.target}" if several else ""), *_cells(each), _budget(each)]
            for each in shown
        ]
        parts.append(tables.coloured(["module", "kernel", *_HEADS, "budget"], rows, right=range(2, 11), width=width))
    modules = [[name, f"{n}/{planted}", percent(n, planted)] for name, (n, planted) in recall.by_module().items()]
    if len(modules) > 1:
        parts.append(tables.coloured(["module", "caught", "recall"], modules, right=(1, 2)))
    if recall.classes:
        rows = [[each.level, each.kind, *_cells(each)] for each in recall.classes]
        parts.append(tables.coloured(["in", "class", *_HEADS], rows, right=range(2, 10), width=width))
    mattering = [each for each in recall.survivors if full or each.reason not in _WITHOUT]
    for each in mattering:
        parts.append(tables.folded(Text.assemble(("SURVIVED  ", "bold red"), survivor_text(each)), width))
    parts.append(tables.folded(Text(LEGEND, "dim"), min(width or PROSE, PROSE)))
    return Text("\n\n").join(parts)


def survivor_text(each: Survivor) -> str:
    """Describe a survivor: location, edit, reason, and a case that would catch it."""
    lines = [
        f"{each.kernel} on {each.target}: {each.kind}, at {each.place}",
        f"  - {each.before}",
        f"  + {each.after}",
        f"  {_reason(each)}",
    ]
    if each.found:
        lines.append(f"  caught by: parity run '{each.found}'")
    return "\n".join(lines)


def _reason(each: Survivor) -> str:
    if each.reason is Reason.WITHIN:
        own = f"the unmutated kernel: {100 * each.usual:.3g} %"
        return f"within the error bound: results change, and use {100 * each.budget:.3g} % of it ({own})"
    return ", ".join(filter(None, (_REASONS[each.reason], each.detail)))


def recall_summary(recall: Recall, tried: Sequence[MutantResult], seconds: float, resumed: int = 0) -> str:
    """Return the run in one line."""
    counts = {outcome: sum(each.outcome is outcome for each in tried) for outcome in MutantOutcome}
    total, kernels = recall.total, len(recall.kernels)
    parts = [f"{pluralize(len(tried), 'fault')} in {pluralize(kernels, 'kernel')} on {' '.join(recall.targets)}"]
    for outcome, count in counts.items():
        if count:
            reasons = [(sum(each.reason is reason for each in tried), reason) for reason in Reason]
            why = ", ".join(f"{number} {reason}" for number, reason in reasons if number)
            parts.append(f"{count} {outcome}" + (f" ({why})" if outcome is MutantOutcome.SURVIVED else ""))
    parts += [f"recall {percent(total.caught, total.planted)}"] if total.planted else []
    if total.effective:
        parts.append(f"{percent(total.caught, total.effective)} of the faults with a known effect")
    parts += [f"{resumed} known from before"] if resumed else []
    parts += [f"{seconds:.1f} s", f"seed {recall.seed}"]
    return ("" if recall.complete else "interrupted: ") + ", ".join(parts)


def recall_line(recall: Recall) -> str:
    """Return recall as the legend of the matrix shows it."""
    total = recall.total
    modules = ", ".join(f"{name} {percent(*counts)}" for name, counts in recall.by_module().items())
    several = f": {modules}" if len(recall.by_module()) > 1 else ""
    return (
        f"recall: {percent(total.caught, total.planted)} of {total.planted} faults that were planted in these kernels "
        f"on {' '.join(recall.targets)} were caught{several}; {percent(total.caught, total.effective)} of the "
        f"{total.effective} with a known effect; {total.equivalent} have none, and {total.beyond} are out of reach "
        "(parity mutate)"
    )


def markdown(recall: Recall) -> str:
    """Return recall as GitHub tables, with all survivors."""
    return "\n\n".join(_markdown(recall)) + "\n"


def _markdown(recall: Recall) -> Iterator[str]:
    yield recall_line(recall)
    rows = [[each.module, f"`{each.kernel}`", each.target, *_cells(each), _budget(each)] for each in recall.kernels]
    classes = [[each.level, each.kind, *_cells(each)] for each in recall.classes]
    yield tables.markdown(["in", "class", *_HEADS], classes, right=range(2, 10))
    if recall.survivors:
        yield "Survived:"
        yield "\n\n".join(f"```\n{survivor_text(each)}\n```" for each in recall.survivors)
    yield tables.markdown(["module", "kernel", "target", *_HEADS, "budget"], rows, right=range(3, 12))
    yield LEGEND
