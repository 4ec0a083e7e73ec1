"""Writes the output folder of a run."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.engine.case_records import CaseRecord
from parity.platform.files import naming_write_errors
from parity.report.document import as_json, document
from parity.report.failures import Reproduction, failures_file
from parity.report.html.content import PageInput, page_content, recall_content
from parity.report.html.excerpts import SourceFolders
from parity.report.html.page import render_badge, render_page
from parity.report.junit import junit
from parity.report.model import Matrix
from parity.report.render import as_csv, markdown, plain, summary

PAGE, BADGE = "report.html", "badge.svg"
"""The report for browsers, and a badge with the result."""

ADVICE = "choose another folder with --output"


def check_folder(folder: Path) -> None:
    """Create the folder and check that it is writable. Call this before a long run.

    Raises:
        UsageError, ResourceExhausted: the folder is not writable.
    """
    with naming_write_errors(folder, ADVICE):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def write_reports(
    folder: Path,
    matrix: Matrix,
    records: Sequence[CaseRecord],
    reproduction: Reproduction,
    sources: SourceFolders | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write the matrix in every format, and the failures.

    The page shows lines of the kernels from ``sources``, and ``more`` are additional parts of the page.

    Raises:
        UsageError, ResourceExhausted: a file cannot be written.
    """
    shown = PageInput(
        document(matrix),
        [*matrix.uncompiled, *records],
        reproduction,
        sources or SourceFolders(),
        datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        measurements=[cell.measured for cell in matrix.cells() if cell.measured],
        more={"recall": recall_content(matrix.recall), **(more or {})},
    )
    texts = {
        "matrix.txt": f"{plain(matrix)}\n{summary(matrix)}\n",
        "matrix.md": markdown(matrix),
        "matrix.json": as_json(matrix),
        "matrix.csv": as_csv(matrix),
        "failures.txt": failures_file([*matrix.uncompiled, *records], reproduction),
        "junit.xml": junit(matrix, records, reproduction),
        PAGE: render_page(page_content(shown), "parity report"),
        BADGE: render_badge(shown.matrix),
    }
    write_texts(folder, texts)


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts to files; the keys are file names.

    Raises:
        UsageError, ResourceExhausted: a file cannot be written.
    """
    for name, text in texts.items():
        with naming_write_errors(folder / name, ADVICE):
            (folder / name).write_text(text, encoding="utf-8")
