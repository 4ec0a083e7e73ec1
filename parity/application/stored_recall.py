"""Finds the recall that a project stores, without importing what plants faults."""

from __future__ import annotations

from parity.application.run import Run
from parity.errors import UsageError
from parity.mutation.recall import Recall, find_recall_file, read_recall


def stored_recall(run: Run) -> tuple[Recall | None, list[str]]:
    """Return the recall stored in the project of a run, and a warning if the file is invalid.

    Recall belongs to the kernels of the project. Other kernels have none, even if the project's cases test them.
    """
    path = find_recall_file(run.suite.cases.absolute().parent)
    if path is None or not run.suite.kernels.resolve().is_relative_to(run.suite.cases.resolve().parent):
        return None, []
    try:
        return read_recall(path), []
    except UsageError as error:
        return None, [f"recall is not shown: {error}"]
