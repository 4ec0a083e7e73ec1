"""Writes the output folder of a run."""

from __future__ import annotations

import datetime
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from parity.engine.case_records import CaseRecord
from parity.platform.files import lock, naming_write_errors
from parity.report.document import as_json, document
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction, failures_file
from parity.report.html.content import PageInput, page_content, recall_content
from parity.report.html.page import render_badge, render_page
from parity.report.junit import junit
from parity.report.model import Matrix
from parity.report.render import as_csv, markdown, plain, totals

PAGE, BADGE = "report.html", "badge.svg"
"""The report for browsers, and a badge with the result."""

REPORTS = (
    *("matrix.txt", "matrix.md", "matrix.json", "matrix.csv", "failures.txt", "junit.xml"),
    *(PAGE, BADGE),
)
"""The files of ``write_reports``."""

UPGRADE = "upgrade.md"
"""The file with the changes by newer versions of HIP, of a run with several."""

ADVICE = "choose another folder with --output"


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """Create a folder, check that it is writable, and lock it against other processes. Enter this before a long run.

    At the end, a new folder is removed if it is still empty.

    Raises:
        UsageError, ResourceExhausted: the folder is not writable, or another process writes to it.
    """
    is_new = not folder.exists()
    with naming_write_errors(folder, ADVICE):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        lock(descriptor, folder, ADVICE)
        yield
    finally:
        os.close(descriptor)
        if is_new:
            with suppress(OSError):  # it is not empty
                folder.rmdir()


def remove_files(folder: Path, *names: str) -> None:
    """Remove files of an earlier run, so that nothing can mistake them for results of a run that fails.

    Raises:
        UsageError, ResourceExhausted: a file cannot be removed.
    """
    for name in names:
        with naming_write_errors(folder / name, ADVICE):
            (folder / name).unlink(missing_ok=True)


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
    texts = (
        f"{plain(matrix)}\n{totals(matrix)}\n",
        markdown(matrix),
        as_json(matrix),
        as_csv(matrix),
        failures_file(shown.records, reproduction, shown.sources),
        junit(matrix, records, reproduction),
        render_page(page_content(shown), "parity report"),
        render_badge(shown.matrix),
    )
    write_texts(folder, dict(zip(REPORTS, texts, strict=True)))


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts to files; the keys are file names.

    Raises:
        UsageError, ResourceExhausted: a file cannot be written.
    """
    for name, text in texts.items():
        with naming_write_errors(folder / name, ADVICE):
            (folder / name).write_text(text, encoding="utf-8")
