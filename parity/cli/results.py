"""Results of a run as commands print and write them, and the exit code."""

from __future__ import annotations

import argparse
import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.cli.terminal import output, print_json, warn
from parity.engine import CaseRecord
from parity.errors import NotAvailable, ParityError, UsageError, shown, some_of
from parity.platform.files import text_of
from parity.platform.serialization import plain
from parity.platform.signals import INTERRUPTED
from parity.report import (
    CellState,
    Matrix,
    Reproduction,
    document,
    failure_text,
    kernel_file,
    shown_failures,
    summary,
    terminal,
    write_reports,
)
from parity.report.html import Sources
from parity.report.tables import terminal_width
from parity.suite.loading import Suite

__all__ = ["exit_code", "show", "written"]

_GUESS = re.compile(r"\s*(\w+=).*# a guess")
NAMED = 12
"""The number of missing kernels whose names are shown."""


def written(
    folder: Path,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
    suite: Suite,
    more: Callable[[], Mapping[str, Any]] = dict,
) -> ParityError | None:
    """Write the reports, or say why they cannot be: what was found is printed all the same.

    ``more`` gives what ``report.html`` shows beside this run.
    """
    try:
        write_reports(folder, matrix, records, reproduction, Sources.of(suite), more())
    except ParityError as problem:
        return problem
    return None


def show(
    arguments: argparse.Namespace,
    suite: Suite,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
    unwritten: ParityError | None,
    built: str = "",
) -> None:
    """Print the failures and the matrix; ``built`` is a line about what was compiled. With ``--json`` that alone."""
    if arguments.json:
        _json(matrix, records, reproduction)
        return
    console = output()
    _failures(suite, records, reproduction)
    console.print(terminal(matrix, full=arguments.full, width=terminal_width()))
    if built:
        console.print(built)
    if missing := _missing(matrix, suite.kernels):
        console.print(missing, style="bold red")
    bad = matrix.failed or not matrix.provenance.complete
    console.print(summary(matrix), style="bold red" if bad else "bold green")
    if not unwritten:
        console.print(f"record, matrix, failures and report.html: {arguments.output}{os.sep}")


def exit_code(
    matrix: Matrix,
    mistakes: Sequence[str],
    problems: Sequence[str],
    stopped: KeyboardInterrupt | NotAvailable | None = None,
    unwritten: ParityError | None = None,
) -> int:
    """The exit code of a run, or of several that are one.

    ``mistakes`` are those in the file of known issues, ``problems`` the runners that could not work, ``stopped`` what
    ended it.

    Raises:
        NotAvailable, UsageError: nothing failed, but not everything is proven either.
    """
    if isinstance(stopped, KeyboardInterrupt):
        warn([str(unwritten)] if unwritten else [])
        return INTERRUPTED
    if matrix.failed:
        warn(str(each) for each in (stopped, unwritten) if each)
        return 1
    if stopped or unwritten:
        raise stopped or unwritten or AssertionError
    if matrix.unjudged:
        raise NotAvailable(f"{matrix.unjudged} of {matrix.executed + matrix.unjudged} cases were not judged")
    if not matrix.executed:
        raise NotAvailable("nothing was run: no case could be executed")
    if mistakes:
        raise UsageError(f"everything else passed, but {mistakes[0]}")
    if problems:
        raise NotAvailable("not everything was run: " + "; ".join(problems))
    return 0


def _failures(suite: Suite, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    console = output()
    for failure in shown_failures(records):
        record, more = failure.records[0], failure.more
        source = shown(kernel_file(suite, record) or "")
        declared = suite.op(record.op).declared
        text = failure_text(failure, reproduction, source, shown(declared), _guesses(declared))
        head, _, body = text.partition("\n")
        console.print(head, style="bold red")
        console.print(body)
        if more:
            console.print(
                f"  and {more} more failing {'cases' if more > 1 else 'case'} of {record.kernel}", style="dim"
            )
        console.print()


def _guesses(declared: str) -> list[str]:
    """The keywords of an op that a comment in its declaration, at this place, calls a guess."""
    path, _, line = declared.rpartition(":")
    try:
        lines = text_of(Path(path)).splitlines()[int(line) - 1 :]
    except (UsageError, ValueError):
        return []
    own = itertools.takewhile(lambda each: each != ")", lines)
    return list(dict.fromkeys(match[1] for each in own if (match := _GUESS.match(each))))


def _missing(matrix: Matrix, kernels: Path) -> str:
    """The kernels that ops call and the folder lacks, as one line: they show how a fork differs from its origin."""
    names = [row.kernel for row in matrix.rows if any(cell.state is CellState.MISSING for cell in row.cells)]
    return f"missing in {shown(kernels)}: {some_of(names, NAMED)}" if names else ""


def _json(matrix: Matrix, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    failures = [
        {**plain(record), "reproduce": reproduction.of(record.minimal or record)}
        for failure in shown_failures(records)
        for record in failure.records
    ]
    print_json({**plain(document(matrix)), "failures": failures})
