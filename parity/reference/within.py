"""Expected values from an exact value and an error bound in units in the last place."""

from __future__ import annotations

import numpy as np

from parity.errors import UsageError
from parity.model.dtypes import Array, DType
from parity.reference.expected import Bounds, Expected
from parity.reference.rounding import store, ulp_safe


def within(ulps: float, exact: Array, to: DType) -> Expected:
    """Expect results of type ``to`` within ``ulps`` units in the last place of ``exact``.

    ``exact`` is float64; use longdouble for an f64 result, for which float64 is not precise enough. NaN and infinities
    must match. A correctly rounded operation needs 0.5 ULP, a chain of n operations without cancellation n / 2. Add the
    documented error of each function, for example 2 for expf ("CUDA C++ Programming Guide", Mathematical Functions).
    For an integer type, a unit is 1, and ``exact`` may also have an integer type.

    Raises:
        UsageError: ``ulps`` is negative, NaN or infinite, or an exact value is outside of the range of an integer type.
    """
    if not np.all((np.asarray(ulps) >= 0) & np.isfinite(ulps)):
        raise UsageError(
            f"within({ulps}, ...): a budget is 0 or more units in the last place; for a result that may be anything "
            "there is Expected(..., unspecified=...)"
        )
    wide = np.asarray(exact)
    if not to.is_float:
        return _within_integers(ulps, wide, to)
    centre = wide.astype(np.float64)
    residual = np.where(np.isfinite(centre), (wide - centre).astype(np.float64), 0.0)
    error = np.where(np.isfinite(centre), ulps * ulp_safe(centre, to), 0.0)
    return Expected(np.asarray(store(centre, to)), lambda _: Bounds(centre, residual, error, error))


def _within_integers(units: float, exact: Array, to: DType) -> Expected:
    """Expect integers that differ from ``exact`` by at most ``units``. Exact for all integers of 64 bits."""
    nearest = exact if exact.dtype.kind in "iu" else np.rint(exact)
    size = nearest.astype(np.longdouble)
    if (outside := ~((size >= np.longdouble(to.min)) & (size <= np.longdouble(to.max)))).any():
        raise UsageError(f"within(..., {to}): the exact value {exact[outside][0]} is outside of the range of {to}")
    value = np.asarray(nearest.astype(to.numpy))
    fraction = np.zeros(exact.shape) if nearest is exact else (exact - nearest).astype(np.float64)

    def accepts(got: Array) -> Array:
        apart = np.maximum(got, value).astype(np.uint64) - np.minimum(got, value).astype(np.uint64)
        return np.asarray(np.abs(np.where(got < value, -1.0, 1.0) * apart - fraction) <= units)

    return Expected(value, accepts=accepts)
