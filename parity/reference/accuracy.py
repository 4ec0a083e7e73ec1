"""Documented accuracy of device math functions, as a table (``accuracy.csv``)."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from parity.errors import UsageError
from parity.reference.expected import Limits

__all__ = ["accuracy"]


@cache
def _table() -> dict[tuple[str, str, str, str], float]:
    with (files("parity.reference") / "accuracy.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["function"], row["dtype"], row["vendor"], level): float(row[level])
        for row in rows
        for level in ("hard", "sharp")
    }


@cache
def accuracy(function: str, dtype: str, limits: Limits) -> float:
    """Largest error of a device function against the exact value, in ULP of ``dtype``.

    CUDA publishes distances to the correctly rounded result, to which 1/2 is added; OpenCL's full profile, which AMD
    follows, publishes distances to the exact value. A library on the host is given what either of them is given, unless
    the table has a row for it. ``tanh_tail`` is no distance but a factor: an error near 1 is at most half an ULP, and
    that factor times 1 - |tanh x|.

    Raises:
        UsageError: the table has no such row.
    """
    if limits.vendor == "host" and (function, dtype, "host", limits.level) not in _table():
        return max(accuracy(function, dtype, Limits(vendor, limits.level)) for vendor in ("amd", "cuda"))
    try:
        return _table()[function, dtype, limits.vendor, limits.level]
    except KeyError:
        raise UsageError(
            f"no accuracy figure for {function} in {dtype} on {limits.vendor}; add a row to accuracy.csv"
        ) from None
