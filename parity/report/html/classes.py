"""Classes of failures, each in a sentence: what it means, and what it often comes from (``classes.csv``)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

__all__ = ["CLASSES"]


def _read(path: Path) -> Mapping[str, str]:
    with path.open(encoding="utf-8", newline="") as table:
        return {row["class"]: row["meaning"] for row in csv.DictReader(table)}


CLASSES = _read(Path(__file__).with_name("classes.csv"))
"""The meaning of each class of failures, by its name; a class that is not here goes without."""
