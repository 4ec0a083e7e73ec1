"""Reads the table of the errors that clang reports for code that nvcc accepts, ``repair_rules.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.porting import repair_edits
from parity.porting.repair_sites import ErrorSite, Located

Locate = Callable[[ErrorSite, re.Match[str]], Sequence[Located] | None]


@dataclass(frozen=True)
class Repair:
    """A row of the table: errors that match ``pattern``, where to edit the source, and a source with such an error.

    Rows that do not need a place find it by the name that the error quotes.
    """

    name: str
    pattern: re.Pattern[str]
    locate: Locate
    example: str
    needs_place: bool


def find_repair(site: ErrorSite) -> tuple[Repair, Sequence[Located]] | None:
    """Return the first row that applies to an error, with its edits; None if the place is not in the module."""
    for repair in REPAIRS:
        match = repair.pattern.search(site.error.text) if site.is_in_module or not repair.needs_place else None
        found = None if match is None else repair.locate(site, match)
        if found is not None:
            return repair, found
    return None


REPAIRS = tuple(
    Repair(
        row["name"],
        re.compile(row.get("pattern", "")),
        getattr(repair_edits, row["edit"]),
        row["example"],
        row.get("needs_place", True),
    )
    for row in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["repair"]
)
"""The rows; the first row that applies to an error repairs it."""
