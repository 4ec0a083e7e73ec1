"""Documented accuracy of device math functions, as a table (``accuracy.csv``).

``results`` are the dtypes of results that a row is for; its figures are ULP of ``ulp_of``, the dtype in which the
function is computed. A result of a narrower dtype is rounded once more, from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parity.errors import UsageError
from parity.platform.files import read_table
from parity.reference.expected import Limits

__all__ = ["Accuracy", "accuracy", "furthest"]


@dataclass(frozen=True)
class Accuracy:
    """A row of the table, for one dtype of results: what a vendor allows, and the worst that was ever seen."""

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
    """Largest error of a device function with results of ``dtype`` against the exact value, in ULP.

    They are ULP of ``dtype``, or of f32 for the narrower types of which the table says so. CUDA publishes distances to
    the correctly rounded result, to which 1/2 is added; OpenCL's full profile, which AMD follows, publishes distances
    to the exact value. A library on the host is given what either of them is given, unless the table has a row for it.
    ``tanh_tail`` is no distance but a factor: an error near 1 is at most half an ULP, and that factor times
    1 - |tanh x|. The row is added to ``limits.asked``, if there is such a list.

    Raises:
        UsageError: the table has no such row.
    """
    if limits.vendor == "host" and (function, dtype, "host") not in _table():
        return max(accuracy(function, dtype, Limits(vendor, limits.level)) for vendor in ("amd", "cuda"))
    try:
        row = _table()[function, dtype, limits.vendor]
    except KeyError:
        raise UsageError(
            f"no accuracy figure for {function} in {dtype} on {limits.vendor}; add a row to accuracy.csv"
        ) from None
    if limits.asked is not None:
        limits.asked.append(row)
    return row.documented if limits.level == "documented" else row.observed


@cache
def furthest(dtype: str) -> float:
    """The distance to which two results of one function may be apart, one of CUDA's and one of AMD's, in ULP.

    It is that of the function of which the two limits together are the widest, with results of ``dtype``.
    """
    distances: dict[str, float] = {}
    for row in _table().values():
        if row.dtype == dtype and row.vendor != "host" and row.function != "tanh_tail":
            distances[row.function] = distances.get(row.function, 0.0) + row.documented
    return max(distances.values())
