"""Hypothesis strategies for shapes, layouts and launches, and deterministic data streams."""

from parity.generate.data import STREAMS, elements
from parity.generate.draw import find_minimal, hermetic, sample
from parity.generate.layouts import Draw, aligned, broadcasting, dense, destination, line, pick, rows

__all__ = [
    "STREAMS",
    "Draw",
    "aligned",
    "broadcasting",
    "dense",
    "destination",
    "elements",
    "find_minimal",
    "hermetic",
    "line",
    "pick",
    "rows",
    "sample",
]
