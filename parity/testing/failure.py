"""What a failing test says: what the command line says of the same cases."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from parity.engine import CaseRecord
from parity.report import Reproduction, failure_text, shown_failures
from parity.suite import Suite

__all__ = ["ParityFailure", "failure_of", "source_of"]


class ParityFailure(AssertionError):
    """A case failed; the message is what the command line shows."""


def failure_of(records: Sequence[CaseRecord], reproduction: Reproduction, source: str = "") -> ParityFailure | None:
    """The failures worth reading, of the kernel of the file ``source``; None if there is none."""
    texts = []
    for failure in shown_failures(records):
        text, more = failure_text(failure, reproduction, source), failure.more
        texts.append(text + (f"\n  and {more} more failing {'cases' if more > 1 else 'case'}" if more else ""))
    return ParityFailure("\n\n".join(texts)) if texts else None


def source_of(suite: Suite, module: str) -> str:
    """The file of a module's kernels, from where pytest was called."""
    path = suite.kernels / f"{module}.cu"
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
