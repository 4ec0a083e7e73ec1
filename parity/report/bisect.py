"""Renders the result of ``parity explain --bisect``: a sentence, a table of the compiler options, JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.text import Text

from parity.bisect.changed_lines import LineChange
from parity.bisect.rebuild import Rebuild
from parity.bisect.search import BisectResult, CaseState, Effect, case_state
from parity.compare.verdict import Verdict
from parity.engine.case_records import CaseRecord
from parity.footprint.unreached_code import source_line
from parity.report import tables

FORMAT = "parity explain --bisect, version 1"
AS_BUILT = "as built"

_STYLES = {Effect.GONE: "bold green", Effect.APPEARS: "bold red", Effect.SAME: "dim", Effect.NOT_BUILT: "dim"}
_BELOW: dict[str, Any] = {
    "initial_indent": "    ",
    "subsequent_indent": "    ",
    "break_long_words": False,
    "break_on_hyphens": False,
}
_HEADS = ("option", "with", "side", "verdict", "error", "instructions", "changed")


def sentence(answer: BisectResult, sources: Path) -> str:
    """Return the answer: the option, its effect on the case, the changed line, the cost, and the meaning.

    ``sources`` is the folder of the kernels.
    """
    found = answer.found
    if found is None:
        return "\n".join(_nothing(answer))
    assert found.option is not None
    option, gone = found.option, answer.effect(found) is Effect.GONE
    before = case_state(answer.as_built(found.column).records)
    does = "the case passes" if before is CaseState.FAILS else "both sides give the same bits"
    if not gone:
        does = f"the case, which passes as built, fails ({_failing(found)})"
    how, _, reads = found.how.partition("\n")[0].partition(", which ")
    parts = [f"{_capital(option.name)}: {_with(how)} {does} on {found.column.target}"]
    change = next(iter(found.changes), None)
    if reads:
        parts.append(f"it {reads}")
    elif change:
        file, _, line = change.place.rpartition(":")
        parts.append(f"line {line} of {file}: {change}{_more(found.changes)}")
    else:
        parts.append("the instructions are the same, but in a different order or mode")
    if cost := _cost(answer, found):
        parts.append(cost)
    lines = [f"{'; '.join(parts)}."]
    if change and (text := source_line(sources, change.place)):
        lines.append(f"  {change.place}: {text}")
    lines += [f"  {line}" for line in _detail(found)]
    lines.append(f"{_capital(option.says)}.")
    if others := [_short(each) for each in answer.of(Effect.GONE if gone else Effect.APPEARS) if each is not found]:
        lines.append(f"{'So it does' if gone else 'It fails'} {', '.join(others)} as well.")
    lines += [
        f"As built, it fails on {each.column.target} ({_failing(each)}), and no compiler option changes that."
        for each in answer.before
        if each.record
        and each.record.verdict.failed
        and not any(build.column == each.column for build in answer.of(Effect.GONE))
    ]
    return "\n".join(lines)


def terminal(answer: BisectResult, width: int | None = None) -> Text:
    """Return a table with the effect and the cost of each option.

    If the table is wider than ``width`` characters, flags and changed lines move below the row of their option.
    """
    rows = []
    for built in answer.before:
        rows.append(_row(answer, built, built))
        rows += [_row(answer, each, built) for each in answer.rebuilds if each.column == built.column]
    whole = tables.coloured(_HEADS, rows, right=(4, 5))
    if width is None or max(map(len, whole.plain.splitlines())) <= width:
        return whole
    kept = [i for i, head in enumerate(_HEADS) if head not in ("with", "changed")]
    beside = [[row[i] for i in kept] for row in rows]
    heads, *lines = tables.coloured([_HEADS[i] for i in kept], beside, right=(3, 4)).split("\n")
    shown = [heads]
    for line, (_, how, *_, changed) in zip(lines, rows, strict=True):
        shown.append(line)
        if details := ": ".join(filter(None, (str(how), str(changed)))):
            shown += [Text(each, "dim") for each in textwrap.wrap(details, width, **_BELOW)]
    return Text("\n").join(shown)


def as_dict(answer: BisectResult, sources: Path) -> Mapping[str, Any]:
    """Return the answer as plain data for JSON."""
    return {
        "format": FORMAT,
        "case": answer.case,
        "kernel": answer.kernel,
        "state": answer.state.name.lower(),
        "answer": sentence(answer, sources).partition("\n")[0],
        "knob": None if answer.found is None else _named(answer.found),
        "turns": [
            {
                "knob": each.option.name if each.option else AS_BUILT,
                "with": each.how,
                "target": each.column.target,
                "effect": str(answer.effect(each)) if each.option else None,
                "verdict": str(each.record.verdict.status) if each.record else None,
                "class": each.record.verdict.kind if each.record else None,
                "against": str(each.record.against.conclusion) if each.record and each.record.against else None,
                "budget": each.record.verdict.budget if each.record else None,
                "instructions": each.record.instructions if each.record else None,
                "changed": [
                    {"line": change.place, "lost": dict(change.lost), "got": dict(change.got)}
                    for change in each.changes
                ],
                "error": each.error or None,
            }
            for each in (*answer.before, *answer.rebuilds)
        ],
    }


def _nothing(answer: BisectResult) -> Iterator[str]:
    """Explain that no option has an effect."""
    tried = sum(answer.effect(each) is Effect.NONE for each in answer.rebuilds)
    same = sum(answer.effect(each) is Effect.SAME for each in answer.rebuilds)
    built = f"{tried} other {'builds were' if tried != 1 else 'build was'} tried"
    built += f", and {same} more are the same code" if same else ""
    if answer.state is CaseState.SAME:
        yield f"The case passes as built, and with every compiler option changed: {built}."
    elif answer.state is CaseState.DIFFERS:
        yield f"No compiler option makes the difference disappear: {built}."
        yield (
            "Both sides are right, and differ in functions or in the order of operations; parity explain prints the "
            "values that each side may have."
        )
    else:
        yield f"No compiler option makes the failure disappear: {built}."
        yield (
            "The compilation does not matter: the source does not compute the expected values. Check the kernel, the "
            "port, and the declaration of the op."
        )


def _row(answer: BisectResult, build: Rebuild, as_built: Rebuild) -> list[tables.Cell]:
    effect = answer.effect(build) if build.option else Effect.NONE
    style = _STYLES.get(effect, "")
    record = build.record
    name = build.option.name if build.option else AS_BUILT
    verdict, error, count = str(effect), "", ""
    if record and effect not in (Effect.SAME, Effect.NOT_BUILT):
        verdict, error, count = _verdict(build), _error(record.verdict), _count(record, as_built.record)
    how = build.how.partition(", which ")[0].removeprefix("with ")
    changed = build.error or _changed(build.changes)
    return [Text(name, style), how, build.column.target, Text(verdict, style), error, count, changed]


def _verdict(build: Rebuild) -> str:
    """The outcome on the rebuilt side, or on the other side if only that one fails."""
    assert build.record is not None
    own = build.record
    other = next((each for each in build.records if each is not own and each.verdict.failed), None)
    shown = other if other and not own.verdict.failed else own
    status = f"FAIL {shown.verdict.kind}".rstrip() if shown.verdict.failed else str(shown.verdict.status)
    where = f" on {shown.target}" if shown is not own else ""
    against = next((each.against for each in build.records if each.against), None)
    return f"{status}{where}" + (f", {against.conclusion}" if against and not shown.verdict.failed else "")


def _error(verdict: Verdict) -> str:
    """The largest share of the error bound that an element used."""
    if not verdict.budget:
        return "none" if verdict.passed else ""
    if not math.isfinite(verdict.budget):
        return f"{verdict.ulps:.6g} ULP" if verdict.ulps and math.isfinite(verdict.ulps) else ""
    return f"{100 * verdict.budget:.0f} %" if verdict.budget < 100 else f"{verdict.budget:.3g} times"


def _count(record: CaseRecord, built: CaseRecord | None) -> str:
    if record.instructions is None:
        return ""
    usual = built.instructions if built else None
    if not usual or record is built:
        return f"{record.instructions:,}"
    return f"{record.instructions:,} {100 * record.instructions / usual - 100:+.0f} %"


def _cost(answer: BisectResult, build: Rebuild) -> str:
    usual, own = answer.as_built(build.column).record, build.record
    if not usual or not own or not usual.instructions or own.instructions is None:
        return ""
    more = 100 * own.instructions / usual.instructions - 100
    if not more:
        return "as many instructions"
    return f"{abs(more):.2g} % {'more' if more > 0 else 'fewer'} instructions"


def _changed(changes: tuple[LineChange, ...]) -> str:
    return f"{changes[0].place}: {changes[0]}{_more(changes)}" if changes else ""


def _more(changes: tuple[LineChange, ...]) -> str:
    """The changed lines after the first one."""
    _, *more = changes
    if len(more) == 1:
        return f", and {more[0].place}: {more[0]}"
    return f", and {len(more)} other lines" if more else ""


def _failing(build: Rebuild) -> str:
    verdict = next(each.verdict for each in build.records if each.verdict.failed)
    return verdict.kind or str(verdict.status)


def _detail(build: Rebuild) -> list[str]:
    """The details of the failures with the option changed."""
    return [line for each in build.records if each.verdict.failed for line in each.verdict.detail.splitlines()]


def _named(build: Rebuild) -> Mapping[str, str]:
    assert build.option is not None
    return {"knob": build.option.name, "with": build.how, "target": build.column.target, "says": build.option.says}


def _short(build: Rebuild) -> str:
    return f"{_with(build.how.partition(', which ')[0])} on {build.column.target}"


def _with(how: str) -> str:
    return how if how.startswith(("with ", "without ")) else f"with {how}"


def _capital(text: str) -> str:
    return text if text.startswith("-") else text[:1].upper() + text[1:]
