"""Hypothesis strategies for shapes, layouts and launches, and deterministic data streams."""

from parity.generate.data import STREAMS, elements
from parity.generate.draw import find_minimal, sample
from parity.generate.layouts import STRIDES, Draw, Strides, in_rows, pick

__all__ = [
    "STREAMS",
    "STRIDES",
    "Draw",
    "Strides",
    "elements",
    "find_minimal",
    "in_rows",
    "pick",
    "sample",
]
