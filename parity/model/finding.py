"""Findings: places in a source that need a person."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A place in a source that needs a person, and what to do about it.

    Lines and columns start at 1. ``name`` is empty if the finding is about no name, as for an ``#error`` line.
    """

    name: str
    file: str
    line: int
    column: int
    advice: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {f'{self.name}: ' if self.name else ''}{self.advice}"
