"""Documented accuracy of device math functions, from the table ``accuracy.csv``.

A row applies to the result dtypes in ``results``. Its figures are in ULP of ``ulp_of``, the dtype in which the device
computes. A result of a narrower dtype is then rounded once more.

For example, the error bound of ``tanh`` with f16 results follows from the rows ``tanh`` and ``tanh_tail`` whose
``results`` include f16: 2.5 ULP of f32 on CUDA, 5 on AMD. ``real.FUNCTIONS["tanh"]`` computes the bound from these
rows, and ``halves.Hull`` rounds it to f16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parity.errors import UsageError
from parity.platform.files import read_table
from parity.reference.expected import Limits


@dataclass(frozen=True)
class Accuracy:
    """A row of the table for one result dtype: the documented and the largest observed error of a vendor."""

    function: str
    dtype: str
    ulp_of: str
    vendor: str
    documented: float
    observed: float
    source: str


@cache
def _table() -> Mapping[tuple[str, str, str], Accuracy]:
    found = {}
    for row in read_table(Path(__file__).with_name("accuracy.csv")):
        figures = float(row["documented"]), float(row["observed"]), row["source"]
        for dtype in row["results"].split():
            key = (row["function"], dtype, row["vendor"])
            found[key] = Accuracy(row["function"], dtype, row["ulp_of"], row["vendor"], *figures)
    return found


def accuracy(function: str, dtype: str, limits: Limits) -> float:
    """Return the largest error of a device function with results of ``dtype`` against the exact value, in ULP.

    The unit is ULP of ``dtype``, or of f32 where the table defines it so for narrower types. CUDA publishes distances
    to the correctly rounded result; the table adds 1/2. OpenCL's full profile, which AMD follows, publishes distances
    to the exact value. A host library gets the larger limit of both vendors, unless the table has a row for it.

    ``tanh_tail`` is a factor and not a distance: the error near 1 is at most half an ULP plus the factor times
    1 - |tanh x|. The row is appended to ``limits.asked``, if that is a list.

    Raises:
        UsageError: the table does not have such a row.
    """
    if limits.vendor == "host" and (function, dtype, "host") not in _table():
        return max(accuracy(function, dtype, Limits(vendor, limits.level)) for vendor in ("amd", "cuda"))
    try:
        row = _table()[function, dtype, limits.vendor]
    except KeyError:
        what = f"{function} in {dtype} on {limits.vendor}"
        raise UsageError(f"no accuracy figure for {what}; add a row to accuracy.csv") from None
    if limits.asked is not None:
        limits.asked.append(row)
    return row.documented if limits.level == "documented" else row.observed


@cache
def furthest(dtype: str) -> float:
    """Return the largest distance, in ULP, between correct results of CUDA and AMD for the same function.

    It is the largest sum of both vendors' limits over all functions with results of ``dtype``.
    """
    distances: dict[str, float] = {}
    for row in _table().values():
        if row.dtype == dtype and row.vendor != "host" and row.function != "tanh_tail":
            distances[row.function] = distances.get(row.function, 0.0) + row.documented
    return max(distances.values())
