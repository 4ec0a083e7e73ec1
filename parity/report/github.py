"""Formats failures as GitHub Actions annotations (workflow commands), which appear next to source lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from parity.engine.case_records import CaseRecord
from parity.report.excerpts import SourceFolders
from parity.report.failures import Failure, Reproduction, failure_lines, failure_text, shown_failures

MOST = 10
"""GitHub shows at most this many annotations per step."""


def github_annotations(
    records: Sequence[CaseRecord], reproduction: Reproduction, sources: SourceFolders, root: Path
) -> Iterator[str]:
    """Yield one annotation per shown failure, at the source line that its message names, or else at the kernel.

    Locations are relative to the checkout ``root``; annotations for
    files outside it have no location.
    """
    failures = shown_failures(records)
    for failure in failures[:MOST]:
        yield _annotation(failure, reproduction, sources, root)
    if len(failures) > MOST:
        yield f"::notice title=parity::{_text(f'{len(failures) - MOST} more failures are in the report')}"


def _annotation(failure: Failure, reproduction: Reproduction, sources: SourceFolders, root: Path) -> str:
    record = failure.records[0]
    head, _ = failure_lines(failure, reproduction)
    path, line = sources.place(record) or (None, 1)
    place = ""
    if path and path.resolve().is_relative_to(root.resolve()):
        place = f"file={_value(path.resolve().relative_to(root.resolve()).as_posix())},line={line or 1},"
    return f"::error {place}title={_value(head)}::{_text(failure_text(failure, reproduction, sources))}"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
