"""Lists the source lines whose machine code no case reached, as text and as plain data."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from parity.engine.case_records import Column
from parity.engine.coverage_search import FoundCase
from parity.errors import first_names, pluralize
from parity.footprint.unreached_code import Gap, GapKind, find_gaps, gap_reason, source_line
from parity.model.code_object import CodeObject
from parity.report.coverage_totals import ColumnCoverage, coverage_by_column
from parity.report.model import Matrix
from parity.suite.loading import Suite


@dataclass(frozen=True)
class UnreachedLines:
    """Neighbouring source lines that were not reached for the same reason, with the affected kernels and targets.

    The lines are ``first`` to ``last`` of ``file``, and ``text`` is the source of the first. ``guard`` is the location
    of the condition that leads there, and ``condition`` its source. ``header`` is the location of a library function
    that the lines call. ``reason`` explains why no case reaches them, if known. ``blocks`` counts the basic blocks in
    all these kernels and targets.
    """

    kind: GapKind
    file: str
    first: int
    last: int
    text: str
    guard: str
    condition: str
    header: str
    reason: str
    kernels: tuple[str, ...]
    targets: tuple[str, ...]
    blocks: int


def find_unreached_lines(
    matrix: Matrix, suite: Suite, code: Mapping[tuple[str, Column], CodeObject]
) -> tuple[list[ColumnCoverage], list[UnreachedLines]]:
    """Return the coverage of each column, and the unreached lines, starting with lines of the project."""
    groups: dict[tuple[GapKind, str, str], list[tuple[Gap, str, str]]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for kernel, column, gaps in _gaps(matrix, suite, code):
        for block in gaps:
            explained = any(gap_reason(each, suite.kernels) for each in block)
            counts[str(column), "explained" if explained else block[0].kind] += 1
            for each in block:
                gap = replace(each, kind=GapKind.COPY) if explained and each.kind is GapKind.BRANCH else each
                groups.setdefault((gap.kind, gap.line, gap.header), []).append((gap, kernel, column.target))
    kinds = ("explained", GapKind.LIBRARY, GapKind.BRANCH, GapKind.COPY)
    columns = []
    for one in coverage_by_column(matrix):
        reasoned, library, branches, copies = (counts[one.column, kind] for kind in kinds)
        columns.append(replace(one, explained=reasoned, library=library, branches=branches, copies=copies))
    found = [_missed(suite, where) for where in groups.values()]
    order = [*GapKind]
    found.sort(key=lambda each: (order.index(each.kind), each.file, each.first))
    return columns, _merged(found)


def _gaps(
    matrix: Matrix, suite: Suite, code: Mapping[tuple[str, Column], CodeObject]
) -> Iterator[tuple[str, Column, list[list[Gap]]]]:
    """Yield kernel, column and gaps of each cell whose coverage is recorded and incomplete."""
    for row in matrix.rows:
        symbols = suite.entry(row).kernels
        for column, cell in zip(matrix.columns, row.cells, strict=True):
            built, reached = code.get((row.module, column)), cell.reached
            if built and reached and reached.blocks_reached < reached.blocks:
                yield row.kernel, column, find_gaps(built, dict.fromkeys(map(built.symbol, symbols)), reached)


def _missed(suite: Suite, where: Sequence[tuple[Gap, str, str]]) -> UnreachedLines:
    """Summarize one line in several kernels, with the most common condition and reason."""
    gap = where[0][0]
    file, _, line = gap.line.rpartition(":")
    guard = statistics.mode(each.guard for each, _, _ in where)
    reason = statistics.mode(gap_reason(each, suite.kernels) for each, _, _ in where if each.guard == guard)
    number = int(line or 0)
    kernels, targets = (tuple(dict.fromkeys(names)) for names in zip(*(each[1:] for each in where), strict=True))
    return UnreachedLines(
        gap.kind, file, number, number, source_line(suite.kernels, gap.line), guard, source_line(suite.kernels, guard),
        gap.header, reason, kernels, targets, len(where),
    )  # fmt: skip


def _merged(found: Iterable[UnreachedLines]) -> list[UnreachedLines]:
    """Merge neighbouring lines with the same guard and reason."""
    merged: list[UnreachedLines] = []
    for each in found:
        if merged and _is_next(merged[-1], each):
            before = merged.pop()
            kernels = tuple(dict.fromkeys((*before.kernels, *each.kernels)))
            targets = tuple(dict.fromkeys((*before.targets, *each.targets)))
            blocks = max(before.blocks, each.blocks)
            each = replace(before, last=each.last, kernels=kernels, targets=targets, blocks=blocks)
        merged.append(each)
    return merged


def _is_next(before: UnreachedLines, each: UnreachedLines) -> bool:
    if each.kind is not GapKind.LINE or each.first - before.last > 2:
        return False
    return (before.file, before.guard, before.reason) == (each.file, each.guard, each.reason)


NAMES = 3
"""Kernels to list by name for each line."""

_HEADS = {
    GapKind.LINE: "lines that never ran",
    GapKind.COPY: "lines that ran, but not in every copy that the compiler made",
    GapKind.LIBRARY: "library functions with code for arguments that no case has",
    GapKind.BRANCH: "branches alone, which compute nothing",
}


def coverage_lines(
    reached: Sequence[ColumnCoverage], found: Sequence[UnreachedLines], *, full: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the lines of the report with their styles.

    ``full`` lists all kernels by name, and each line of library functions.
    """
    for kind, head in _HEADS.items():
        if chosen := [each for each in found if each.kind is kind]:
            yield head, "bold"
            if kind in (GapKind.LIBRARY, GapKind.BRANCH) and not full:
                yield from ((line, "") for line in _files(chosen))
            else:
                for each in chosen:
                    yield from _lines_of(each, full)
            yield "", ""
    for total in reached:
        yield str(total), ""


def _lines_of(each: UnreachedLines, full: bool) -> Iterator[tuple[str, str]]:
    last = f"-{each.last}" if each.last > each.first else ""
    where = f"{each.file}:{each.first}{last}" if each.file else "(the compiler's own code)"
    yield f"  {where}  {each.text}", "yellow" if each.kind is GapKind.LINE and not each.reason else ""
    if each.header:
        yield f"    code  {each.header}", "dim"
    if each.guard and each.guard not in (f"{each.file}:{each.first}", each.header):
        yield f"    if    {each.guard}  {each.condition}".rstrip(), "dim"
    if each.reason:
        yield f"    why   {each.reason}", "dim"
    names = first_names(each.kernels, len(each.kernels) if full else NAMES)
    yield f"    in    {names} ({' '.join(each.targets)})", "dim"


def _files(found: Sequence[UnreachedLines]) -> Iterator[str]:
    """Yield one line for each header or project file."""
    files: dict[str, list[UnreachedLines]] = {}
    for each in found:
        files.setdefault(each.header.rpartition(":")[0] or each.file or "(the compiler's own code)", []).append(each)
    for file, group in files.items():
        blocks = sum(each.blocks for each in group)
        kernels = len({kernel for each in group for kernel in each.kernels})
        yield f"  {file}: {pluralize(blocks, 'block')} in {pluralize(kernels, 'kernel')}"


def as_dict(
    reached: Sequence[ColumnCoverage], missing: Sequence[UnreachedLines], found: Sequence[FoundCase] = ()
) -> dict[str, Any]:
    """Return plain data for JSON: coverage by column, unreached lines, and cases that a search found."""
    return {
        "columns": list(map(asdict, reached)),
        "missed": list(map(asdict, missing)),
        "found": list(map(asdict, found)),
    }
