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
