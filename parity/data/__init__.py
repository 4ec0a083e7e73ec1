"""Hypothesis strategies for shapes, layouts and launches, and deterministic data streams."""

from parity.data.layouts import STRIDES, Draw, Strides, in_rows, pick
from parity.data.sampling import find_minimal, sample
from parity.data.streams import STREAMS, elements

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
