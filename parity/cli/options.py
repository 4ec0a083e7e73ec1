"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parity.cli.terminal import warn
from parity.compilers.rocm import TOOLCHAINS
from parity.model.dtypes import dtype
from parity.porting.translators import HIPIFIERS
from parity.report.document import MatrixFile
from parity.report.history import add_summary, history_content, read_history, summary_of
from parity.runners.recording_file import Environment
from parity.suite.loading import Suite, find_suite
from parity.suite.options import EXAMPLES, declare, names, positive
from parity.suite.selection import Selection
from parity.suite.settings import LAUNCHES, SHIPPED

__all__ = [
    "add_drawing",
    "add_folders",
    "add_history",
    "add_jobs",
    "add_json",
    "add_selection",
    "add_target",
    "history_of",
    "names",
    "positive",
    "select",
    "suite_of",
]


def add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "selectors",
        nargs="*",
        metavar="SELECTOR",
        help="a module, an op, a kernel, a pattern of these such as 'unary.*', or a case as printed; default: all",
    )
    declare(parser.add_argument, "dtype")


def add_target(parser: argparse.ArgumentParser, default: str) -> None:
    """Targets, of which ``default`` says what they are if none is given."""
    declare(parser.add_argument, "target", help=f"default: {default}")


def add_folders(parser: argparse.ArgumentParser, *, cases: Sequence[str] = ()) -> None:
    """Add the options of folders, toolchain and translator; ``cases`` are other flags for the cases' folder."""
    declare(parser.add_argument, "kernels", dest="kernels_dir", type=Path)
    declare(parser.add_argument, "hip", dest="hip_dir", type=Path)
    declare(parser.add_argument, "cases", *cases, dest="cases_dir", type=Path)
    declare(parser.add_argument, "toolchain", choices=TOOLCHAINS, metavar=None)
    declare(parser.add_argument, "hipify", choices=HIPIFIERS, metavar=None)


def add_drawing(parser: argparse.ArgumentParser, *, examples: int | None = EXAMPLES, seed: int | None = 0) -> None:
    """Add the options of drawing cases; other defaults are for a command that has to know whether they were given."""
    declare(parser.add_argument, "examples", default=examples)
    declare(parser.add_argument, "launches", choices=LAUNCHES, metavar=None)
    declare(parser.add_argument, "seed", default=seed)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-j", "--jobs", type=positive, metavar="N", help="processes (default: one per processor)")


def add_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--history",
        type=Path,
        metavar="DIR",
        help="add a summary of the run to this folder, which CI keeps, and show its history in the report",
    )


def history_of(
    folder: Path, matrix: MatrixFile, environment: Environment, date: str, recall: float | None = None
) -> dict[str, Any]:
    """The part of the page with the history of a folder, to which this run is added; ``recall`` as in ``Summary``.

    Raises:
        UsageError, SystemLacks: the folder cannot be read or written.
    """
    add_summary(folder, summary_of(matrix, environment, commit(), date, recall))
    return {"history": history_content(read_history(folder))}


def commit() -> str:
    """The commit that is checked out around the working folder; empty if that is not known."""
    if found := os.environ.get("GITHUB_SHA"):
        return found
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else, on standard output")


def suite_of(arguments: argparse.Namespace) -> Suite:
    """The suite that the options name. What in it cannot be used is said, and remembered for the exit code."""
    suite = find_suite(
        kernels=arguments.kernels_dir,
        cases=arguments.cases_dir,
        known=getattr(arguments, "known_issues", None),
        hip=arguments.hip_dir,
        launches=getattr(arguments, "launches", None),
    )
    if suite.kernels == SHIPPED / "kernels":
        warn(["no pyproject.toml with [tool.parity] is here or above; this is parity's own suite"])
    arguments.problems = suite.problems
    warn(suite.problems)
    return suite


def select(arguments: argparse.Namespace) -> tuple[Suite, Selection]:
    """The suite, and what the selectors and dtypes name in it.

    Raises:
        UsageError: an unknown dtype, op or kernel, or a malformed case.
    """
    for name in arguments.dtype:
        dtype(name)
    suite = suite_of(arguments)
    return suite, suite.select(arguments.selectors, arguments.dtype)
