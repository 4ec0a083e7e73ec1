"""Approximate instructions and the results they may give. The documented errors are a table, ``approximate.csv``.

A GPU may give any result that its manual allows, and the same one for the same operand every time. So a launch has one
kind of ``ApproximateResults`` and a number, ``draw``, that chooses among them.
"""

from __future__ import annotations

import ctypes
import re
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

from parity.emulator.structures import structure
from parity.platform.files import read_table

__all__ = ["APPROXIMATE", "ApproximateResults", "Drawing", "drawing"]


class ApproximateResults(IntEnum):
    """The results that approximate instructions give: ``enum Results`` of runtime/approximate.h."""

    NEAREST = 0
    GFX1100 = 1
    DOCUMENTED = 2

    def __str__(self) -> str:
        return (
            "the nearest numbers",
            "what gfx1100 computes",
            "results drawn from all that AMD's manual allows",
        )[self]


APPROXIMATE = re.compile(r"\bv_(?:(?:s_)?(?:rcp|rcp_iflag|rsq|sqrt|exp|log)|mfma|smfmac|wmma|swmmac)_b?f(?:16|32|64)")
"""Matches the text of a function that has an instruction with a documented error, or sums of which no document says how
they round (``matrix.py``)."""

# As enum Function of runtime/approximate.h, of every type each.
_FUNCTIONS, _TYPES = ("rcp", "rsq", "sqrt", "exp", "log"), ("f16", "f32", "f64")


_Documented = structure("approximate.h", "Documented")
Drawing = structure("approximate.h", "Drawing")


def drawing(results: ApproximateResults, draw: int, generation: int) -> ctypes.Structure:
    """The choice of results for a launch on a target of that generation; ``draw`` has 32 bits."""
    return Drawing(results, draw, ctypes.addressof(_documented(generation)))


@cache
def _documented(generation: int) -> Any:
    """The error of every function and type; none where a generation lacks the instruction."""
    rows = {
        row["instruction"]: _Documented(float(row["ulps"] or 0), row["all_ones"] == "yes")
        for row in read_table(Path(__file__).with_suffix(".csv"))
        if str(generation) in row["generations"].split()
    }
    names = [f"v_{function}_{kind}" for function in _FUNCTIONS for kind in _TYPES]
    return (_Documented * len(names))(*(rows.get(name, _Documented()) for name in names))
