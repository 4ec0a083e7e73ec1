"""The cases that failed in a run, to be run again."""

from __future__ import annotations

import argparse
from pathlib import Path

from parity.application.loading import LoadedRun
from parity.errors import NotAvailable, UsageError
from parity.model.case import Case
from parity.op import Entry
from parity.suite.loading import Suite
from parity.suite.selection import Selection

__all__ = ["add_failed", "failed_of"]


def add_failed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--failed",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="RUN",
        help="only the cases that failed in a run, by default the last one in the output folder",
    )


def failed_of(arguments: argparse.Namespace, suite: Suite, selection: Selection) -> Selection:
    """The cases of a selection that failed in a run, and the kernels that did not compile or were not there; the whole
    selection, if that is not asked for.

    Raises:
        NotAvailable: none is left.
    """
    if arguments.failed is None:
        return selection
    place = arguments.output if arguments.failed == Path() else arguments.failed
    kernels = {entry.kernel: entry for entry in suite.entries_in(selection)}
    entries: dict[Entry, None] = {}
    cases: dict[Case, None] = {}
    for record in LoadedRun.read(place).failed:
        if (entry := kernels.get(record.kernel)) is None:
            continue
        try:
            cases[suite.parse(record.case)] = None
        except UsageError:  # there is none, or it is no case any more: then all of its kernel
            entries[entry] = None
    if not entries and not cases:
        raise NotAvailable(f"nothing that is selected failed in {place}; without --failed everything is run")
    return Selection(tuple(entries), tuple(cases))
