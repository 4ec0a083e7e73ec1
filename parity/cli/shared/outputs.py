"""What a run leaves: reports in the output folder, failures and matrix on the terminal, and the exit code."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity.cli.shared.terminal import messages, output, print_json, warn
from parity.compare.verdict import Fact
from parity.engine.case_records import CaseRecord
from parity.errors import NotAvailable, ParityError, UsageError, display_path, first_names, pluralize
from parity.platform.files import read_text
from parity.platform.integrity import check_integrity
from parity.platform.serialization import plain
from parity.platform.signals import INTERRUPTED
from parity.report.document import MatrixFile, document
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction, by_cause, failure_text, shown_failures
from parity.report.folder import PAGE, write_reports
from parity.report.github import github_annotations
from parity.report.history import add_summary, history_content, read_history, summarize_run
from parity.report.matrix_tables import FAILURE_STYLE
from parity.report.model import CellState, Matrix
from parity.report.overview import agreement_line, overview
from parity.report.render import markdown, summary, terminal
from parity.report.tables import terminal_width
from parity.runners.recording_file import Environment
from parity.suite.loading import Suite

_GUESS = re.compile(r"\s*(\w+=).*# a guess")
_PLACE = re.compile(r" at (\S+:\d+)")
PIPED = 100
"""The width of the output in characters if it goes to a file or a pipe."""

_NAMED = 12
"""Missing kernels to list by name."""
_FILES = 6
"""Files with kernels without an op to list by name."""
_MOST_LINES = 80
"""Lines about failures to print. Reports have all failures."""


def reproduction_command(arguments: argparse.Namespace) -> Reproduction:
    """Return the command that runs a case again with the same options."""
    given = {
        name: getattr(arguments, name) for name in ("target", "runner", "toolchain", "rocm", "launches", "captured")
    }
    given |= {name: getattr(arguments, f"{name}_dir") for name in ("kernels", "hip", "cases")}
    return Reproduction.with_options(given, *(() if arguments.checked else ("--no-check-memory",)))


def try_write_reports(
    folder: Path,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
    suite: Suite,
    more: Callable[[], Mapping[str, Any]] = dict,
) -> ParityError | None:
    """Write the reports; return the error if that fails, so that the command can still print the results.

    ``more`` returns additional parts of ``report.html``.
    """
    try:
        write_reports(folder, matrix, records, reproduction, SourceFolders.of(suite), more())
    except ParityError as problem:
        return problem
    return None


def update_history(
    folder: Path, matrix: MatrixFile, environment: Environment, date: str, recall: float | None = None
) -> dict[str, Any]:
    """Add a run to the history in a folder, and return the history as a part of ``report.html``.

    Raises:
        UsageError, ResourceExhausted: the folder cannot be read or written.
    """
    add_summary(folder, summarize_run(matrix, environment, _commit(), date, recall))
    return {"history": history_content(read_history(folder))}


def _commit() -> str:
    """The commit that is checked out here; empty if there is none."""
    if found := os.environ.get("GITHUB_SHA"):
        return found
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def print_results(
    arguments: argparse.Namespace,
    suite: Suite,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
    result: RunOutcome,
    built: str = "",
) -> None:
    """Print the failures and the matrix, or with ``--json`` only JSON. ``built`` is a line about the build."""
    if arguments.json:
        _print_json(matrix, records, reproduction)
        return
    console, width = output(), terminal_width() or PIPED
    most = math.inf if arguments.verbose > 1 else _MOST_LINES
    _print_failures(suite, records, reproduction, width, most, arguments.output / "failures.txt")
    if arguments.verbose:
        console.print(terminal(matrix, full=arguments.verbose > 1, width=width))
    elif not arguments.quiet:
        console.print(overview(matrix, width=width))
        for issue in matrix.issues:
            console.print(f"known issue  {issue}", style=FAILURE_STYLE if issue.complaint else None)
        if unused := _unused_reads(records):
            text = "reads of memory that nothing has written, whose values reach no output"
            console.print(f"note  {text}: {first_names(unused, _NAMED)}")
        if undeclared := [f"{file}: {first_names(names, _NAMED)}" for file, names in matrix.undeclared.items()]:
            more = f"; and {len(undeclared) - _FILES} more files" if len(undeclared) > _FILES else ""
            text = f"{'; '.join(undeclared[:_FILES])}{more}"
            console.print(f"kernels without an op (parity init declares them): {text}", style="yellow")
    if missing := _missing(matrix, suite.kernels):
        console.print(missing, style=FAILURE_STYLE)
    if built and not arguments.quiet:
        console.print(built)
    console.print()
    word, style = result.word
    console.print(f"{word}  {summary(matrix)}", style=style)
    if compared := agreement_line(matrix):
        console.print(f"{'':{len(word)}}  {compared}")
    if (arguments.output / PAGE).exists():
        console.print(f"Report  {arguments.output / 'report.html'}    Details  {arguments.output / 'matrix.txt'}")


def _unused_reads(records: Sequence[CaseRecord]) -> list[str]:
    """Return the kernels that pass and read memory that nothing has written, with the places."""
    found: dict[str, str] = {}
    for each in records:
        if Fact.UNUSED_READ in each.verdict.facts:
            place = _PLACE.search(each.verdict.detail)
            found.setdefault(each.kernel, f"{each.kernel} ({place[1]})" if place else each.kernel)
    return list(found.values())


def annotate_github(
    arguments: argparse.Namespace,
    suite: Suite,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
) -> None:
    """With ``--github``, print annotations for GitHub Actions and add the matrix to the job summary."""
    if not (os.environ.get("GITHUB_ACTIONS") == "true" if arguments.github is None else arguments.github):
        return
    every = [*matrix.uncompiled, *records]
    root = Path(os.environ.get("GITHUB_WORKSPACE", "."))
    console = messages(arguments.json)
    for line in github_annotations(every, reproduction, SourceFolders.of(suite), root):
        console.print(line)
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(file).open("a", encoding="utf-8") as job_summary:
                job_summary.write(f"{markdown(matrix)}\n")
        except OSError as error:
            warn(f"cannot write the summary {file}: {error.strerror}")


@dataclass(frozen=True)
class RunOutcome:
    """The exit code of a run, or of several merged runs, and the messages that explain it."""

    code: int
    notes: tuple[str, ...] = ()
    error: ParityError | None = None

    @property
    def word(self) -> tuple[str, str]:
        """The outcome in one word, with its style."""
        return {0: ("PASS", "bold green"), 1: ("FAIL", FAILURE_STYLE)}.get(self.code, ("INCOMPLETE", "bold yellow"))

    def finish(self) -> int:
        """Print the notes, and return the exit code.

        Raises:
            ParityError: nothing failed, but the run does not prove everything.
        """
        warn(*self.notes)
        if self.error:
            raise self.error
        return self.code


def outcome(
    matrix: Matrix,
    mistakes: Sequence[str],
    problems: Sequence[str],
    stopped: KeyboardInterrupt | ParityError | None = None,
    unwritten: ParityError | None = None,
    strict: bool = False,
) -> RunOutcome:
    """Decide the outcome of a run, or of several merged runs.

    ``mistakes`` are errors in the suite and in the file of known issues, ``problems`` are runners that could not work,
    ``stopped`` is the exception that ended the run early, and ``unwritten`` is the error that prevented the reports. A
    ``strict`` run fails if kernels have no op.

    Raises:
        UsageError: a case file replaces code that decides verdicts.
    """
    check_integrity()
    if isinstance(stopped, KeyboardInterrupt):
        return RunOutcome(INTERRUPTED, (str(unwritten),) if unwritten else ())
    notes = []
    if strict and matrix.undeclared:
        notes.append(f"--strict: no op calls the kernels that are listed for {', '.join(matrix.undeclared)}")
    misdeclared = matrix.misdeclared
    if notes or (matrix.failed and not misdeclared):
        return RunOutcome(1, (*notes, *(str(each) for each in (stopped, unwritten) if each)))
    error = stopped or unwritten
    if error:
        pass
    elif misdeclared:
        error = UsageError(f"nothing else failed, but the declaration of {first_names(misdeclared, _NAMED)} is wrong")
    elif matrix.unjudged:
        error = NotAvailable(f"{matrix.unjudged} of {matrix.executed + matrix.unjudged} cases were not judged")
    elif not matrix.executed:
        error = NotAvailable("nothing was run: no case could be executed")
    elif mistakes:
        error = UsageError(f"everything else passed, but {mistakes[0]}")
    elif problems:
        error = NotAvailable("not everything was run: " + "; ".join(problems))
    return RunOutcome(error.exit_code if error else 0, error=error)


def _print_failures(
    suite: Suite, records: Sequence[CaseRecord], reproduction: Reproduction, width: int, most: float, details: Path
) -> None:
    """Print one failure of each cause in full, up to ``most`` lines, and say where the rest is."""
    console, sources, printed = output(), SourceFolders.of(suite), 0
    causes = by_cause(shown_failures(records))
    for i, alike in enumerate(causes):
        failure, *others = alike
        record, more = failure.records[0], failure.more
        declared = suite.op(record.op).declared
        text = failure_text(failure, reproduction, sources, display_path(declared), _guesses(declared), width)
        if printed and printed + text.count("\n") > most:
            kernels = {name for left in causes[i:] for each in left for name in each.kernels}
            left = f"{pluralize(len(causes) - i, 'further cause')} of failures in {pluralize(len(kernels), 'kernel')}"
            console.print(f"{left}: {details}, or -vv\n", style=FAILURE_STYLE)
            break
        head, _, body = text.partition("\n")
        console.print(head, style="bold red")
        console.print(body)
        if more:
            console.print(
                f"  and {more} more failing {'cases' if more > 1 else 'case'} of {record.kernel}", style="dim"
            )
        if names := list(dict.fromkeys(name for each in others for name in each.kernels if name != record.kernel)):
            console.print(f"  and {pluralize(len(names), 'kernel')} alike: {first_names(names, _NAMED)}", style="dim")
        console.print()
        printed += text.count("\n") + 3


def _guesses(declared: str) -> list[str]:
    """The keywords that comments mark as guesses in the declaration of an op; ``declared`` is its FILE:LINE."""
    path, _, line = declared.rpartition(":")
    try:
        lines = read_text(Path(path)).splitlines()[int(line) - 1 :]
    except (UsageError, ValueError):
        return []
    own = itertools.takewhile(lambda each: each != ")", lines)
    return list(dict.fromkeys(match[1] for each in own if (match := _GUESS.match(each))))


def _missing(matrix: Matrix, kernels: Path) -> str:
    """One line that lists kernels which ops call and the folder lacks: they show how a fork differs."""
    names = [row.kernel for row in matrix.rows if any(cell.state is CellState.MISSING for cell in row.cells)]
    return f"missing in {display_path(kernels)}: {first_names(names, _NAMED)}" if names else ""


def _print_json(matrix: Matrix, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    failures = [
        {**plain(record), "reproduce": reproduction.of(record.minimal or record)}
        for failure in shown_failures(records)
        for record in failure.records
    ]
    print_json({**plain(document(matrix)), "failures": failures})
