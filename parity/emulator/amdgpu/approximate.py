"""Approximate instructions of AMD GPUs and their documented errors, which are in ``approximate.csv``."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path

from parity.emulator.approximate import error_table
from parity.platform.files import read_table

APPROXIMATE = re.compile(
    r"\bv_(?:(?:s_)?(?:rcp|rcp_iflag|rsq|sqrt|exp|log)|mfma(?:_scale)?|smfmac|wmma|swmmac)_b?f(?:16|32|64)"
)
"""Matches the text of a function that has an instruction with a documented error, or a matrix instruction.

No document specifies how the sums of matrix instructions round (``matrix.py``)."""

EXPONENTIAL = re.compile(r"\bv_exp_f32")
"""Matches the exponential of f32, which returns 0 for subnormal numbers."""


@cache
def documented_errors(generation: int) -> ctypes.Array[ctypes.Structure]:
    """Return the errors that AMD documents for the approximate instructions of a generation."""
    table = read_table(Path(__file__).with_suffix(".csv"))
    rows = [row for row in table if str(generation) in row["generations"].split()]
    return error_table({row["instruction"]: (float(row["ulps"] or 0), row["all_ones"] == "yes") for row in rows})
