"""The flags that parity always passes to a compiler; ``flags.csv`` gives the reasons."""

from __future__ import annotations

from pathlib import Path

from parity.platform.files import read_table

_SINCE = "since clang "


def flags_for(use: str) -> tuple[str, ...]:
    """Return the flags of one use, such as ``clang hip``, in the order of the table."""
    return tuple(flag for row in _rows() if row["use"] == use for flag in row["flags"].split())


def flags_since(version: int) -> tuple[str, ...]:
    """Return the flags for HIP that clang of a version has, but not every older version."""
    uses = dict.fromkeys(row["use"] for row in _rows() if row["use"].startswith(_SINCE))
    return tuple(flag for use in uses if int(use.removeprefix(_SINCE)) <= version for flag in flags_for(use))


def _rows() -> list[dict[str, str]]:
    return read_table(Path(__file__).with_suffix(".csv"))
