"""Queries on case records, and loading the results that ``parity run`` wrote to a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parity.engine.case_records import CaseRecord
from parity.engine.record_file import Record, read_record
from parity.report.failures import Failure, shown_failures
from parity.report.frames import case_frame

if TYPE_CHECKING:
    import pandas

RECORD = "record.jsonl"
"""The file in a results folder that has one line per case."""


class CaseQueries:
    """Queries on case records; the base of results in memory and of results read from files."""

    records: Sequence[CaseRecord]

    @property
    def failures(self) -> list[Failure]:
        """The simplest failing case of each kind of failure."""
        return list(shown_failures(self.records))

    def frame(self) -> pandas.DataFrame:
        """Return one row per case; see ``case_frame``.

        Raises:
            MissingTool: pandas is not installed.
        """
        return case_frame(self.records)


@dataclass(frozen=True)
class Stored(Record, CaseQueries):
    """The stored results of a run: its ``environment``, ``records``, and whether the run was ``complete``."""


def load(folder: str | Path) -> Stored:
    """Load the results from an output folder of ``parity run``, complete or interrupted.

    Raises:
        UsageError: The folder has no record, or the file is not a record.
    """
    path = Path(folder)
    return Stored(**vars(read_record(path / RECORD if path.is_dir() else path)))
