"""GitHub Actions: failures beside the source lines of a change, and the matrix in the summary of a job."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parity.cli.terminal import messages, warn
from parity.engine import CaseRecord
from parity.report import Matrix, Reproduction, kernel_file, markdown
from parity.report.github import github_annotations
from parity.report.html import SourceFolders
from parity.suite.loading import Suite

__all__ = ["add_github", "tell_github"]


def add_github(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--github",
        action=argparse.BooleanOptionalAction,
        default=os.environ.get("GITHUB_ACTIONS") == "true",
        help="annotate source lines with the failures, and add the matrix to the job's summary (default: in GitHub "
        "Actions)",
    )


def tell_github(
    arguments: argparse.Namespace,
    suite: Suite,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
) -> None:
    """Print annotations, and add the matrix to the summary of the job, if that is asked for."""
    if not arguments.github:
        return
    every = [*matrix.uncompiled, *records]
    root = Path(os.environ.get("GITHUB_WORKSPACE", "."))
    console = messages(arguments.json)
    for line in github_annotations(every, reproduction, SourceFolders.of(suite), partial(kernel_file, suite), root):
        console.print(line)
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(file).open("a", encoding="utf-8") as summary:
                summary.write(f"{markdown(matrix)}\n")
        except OSError as error:
            warn([f"cannot write the summary {file}: {error.strerror}"])
