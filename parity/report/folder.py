"""The output folder of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.engine import CaseRecord
from parity.errors import unwritable
from parity.report.document import as_json
from parity.report.failures import Reproduction, failures_file
from parity.report.junit import junit
from parity.report.matrix import Matrix
from parity.report.render import as_csv, markdown, plain, summary

__all__ = ["check_folder", "write_reports", "write_texts"]


def check_folder(folder: Path) -> None:
    """Make the folder, and see that files can be written there: before a long run, not after it.

    Raises:
        UsageError, SystemLacks: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise unwritable(folder, error, "choose another folder with --output") from error


def write_reports(folder: Path, matrix: Matrix, records: Sequence[CaseRecord], reproduction: Reproduction) -> None:
    """Write the matrix in every form, and the failures.

    Raises:
        UsageError, SystemLacks: a file cannot be written.
    """
    texts = {
        "matrix.txt": f"{plain(matrix)}\n{summary(matrix)}\n",
        "matrix.md": markdown(matrix),
        "matrix.json": as_json(matrix),
        "matrix.csv": as_csv(matrix),
        "failures.txt": failures_file([*matrix.uncompiled, *records], reproduction),
        "junit.xml": junit(matrix, records, reproduction),
    }
    write_texts(folder, texts)


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write each text into the file of its name.

    Raises:
        UsageError, SystemLacks: a file cannot be written.
    """
    for name, text in texts.items():
        try:
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable(folder / name, error, "choose another folder with --output") from error
