"""Writes the results of programs that need a GPU: a table for people, and the same as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["store"]


def store(folder: Path, name: str, text: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """``<name>.md`` with the text and ``<name>.csv`` with the rows in the folder, which is made; says so."""
    folder.mkdir(parents=True, exist_ok=True)
    for_people, for_machines = folder / f"{name}.md", folder / f"{name}.csv"
    for_people.write_text(text)
    with for_machines.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    print(f"written: {for_people}, {for_machines}")
