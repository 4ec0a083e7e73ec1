"""Formats failing tests like the command line."""

from __future__ import annotations

from collections.abc import Sequence

from parity.engine.case_records import CaseRecord
from parity.errors import display_path
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction, failure_text, shown_failures
from parity.suite.loading import Suite


class ParityFailure(AssertionError):
    """Raised if a case failed. The message is the text of the command line."""


def failure_from_records(
    records: Sequence[CaseRecord], reproduction: Reproduction, suite: Suite
) -> ParityFailure | None:
    """Return the shown failures as an exception, or None. ``suite`` locates kernels and ops."""
    texts, sources = [], SourceFolders.of(suite)
    for failure in shown_failures(records):
        record, more = failure.records[0], failure.more
        declared = display_path(suite.op(record.op).declared)
        text = failure_text(failure, reproduction, sources, declared)
        texts.append(text + (f"\n  and {more} more failing {'cases' if more > 1 else 'case'}" if more else ""))
    return ParityFailure("\n\n".join(texts)) if texts else None
