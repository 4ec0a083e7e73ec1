"""The flags that parity always passes to a compiler; ``flags.csv`` gives the reasons."""

from __future__ import annotations

from pathlib import Path

from parity.platform.files import read_table


def flags_for(use: str) -> tuple[str, ...]:
    """Return the flags of one use, such as ``clang hip``, in the order of the table."""
    rows = read_table(Path(__file__).with_suffix(".csv"))
    return tuple(flag for row in rows if row["use"] == use for flag in row["flags"].split())
