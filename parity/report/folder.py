"""The output folder of a run."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.engine import CaseRecord
from parity.platform.files import naming_write_errors
from parity.report.document import as_json, document
from parity.report.failures import Reproduction, failures_file
from parity.report.html import PageInput, SourceFolders, page_content, recall_content, render_badge, render_page
from parity.report.junit import junit
from parity.report.model import Matrix
from parity.report.render import as_csv, markdown, plain, summary

__all__ = ["BADGE", "PAGE", "check_folder", "write_reports", "write_texts"]

PAGE, BADGE = "report.html", "badge.svg"
"""The report that a browser opens, and its result as a small picture."""

ADVICE = "choose another folder with --output"


def check_folder(folder: Path) -> None:
    """Make the folder, and see that files can be written there: before a long run, not after it.

    Raises:
        UsageError, SystemLacks: they cannot.
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
    """Write the matrix in every form, and the failures; ``sources`` are those of the kernels, whose lines the page
    shows, and ``more`` are further parts of the page.

    Raises:
        UsageError, SystemLacks: a file cannot be written.
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
    """Write each text into the file of its name.

    Raises:
        UsageError, SystemLacks: a file cannot be written.
    """
    for name, text in texts.items():
        with naming_write_errors(folder / name, ADVICE):
            (folder / name).write_text(text, encoding="utf-8")
