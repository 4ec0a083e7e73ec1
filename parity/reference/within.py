"""The expected value of an op of one's own: the exact value, and how many units in the last place a kernel may miss."""

from __future__ import annotations

import numpy as np

from parity.errors import UsageError
from parity.model.dtypes import DType
from parity.reference.expected import Bounds, Expected
from parity.reference.rounding import Array, store, ulp_safe

__all__ = ["within"]


@np.errstate(all="ignore")
def within(ulps: float, exact: Array, to: DType) -> Expected:
    """Results of type ``to`` that are apart from ``exact`` by at most ``ulps`` of its units in the last place.

    ``exact`` is float64, or longdouble for an f64 result, which float64 is not precise enough for; NaN and infinities
    are demanded. One correctly rounded operation has 0.5; a chain of n operations without cancellation n / 2, to which
    the documented error of each function comes ("CUDA C++ Programming Guide", Mathematical Functions: 2 of expf).

    Raises:
        UsageError: ``ulps`` is negative, NaN or infinite.
    """
    if not np.all((np.asarray(ulps) >= 0) & np.isfinite(ulps)):
        raise UsageError(
            f"within({ulps}, ...): a budget is 0 or more units in the last place; for a result that may be anything "
            "there is Expected(..., unspecified=...)"
        )
    wide = np.asarray(exact)
    centre = wide.astype(np.float64)
    residual = np.where(np.isfinite(centre), (wide - centre).astype(np.float64), 0.0)
    error = np.where(np.isfinite(centre), ulps * ulp_safe(centre, to), 0.0)
    return Expected(np.asarray(store(centre, to)), lambda _: Bounds(centre, residual, error, error))
