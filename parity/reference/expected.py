"""The values that a correct kernel may return: a nominal value and, per element, the allowed distance from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from parity.model.divergences import divergence
from parity.model.dtypes import Array

__all__ = ["Bounds", "Expected", "Limits", "Vendor"]

Vendor = Literal["amd", "cuda", "host"]
"""The vendor whose accuracy limits hold for a device; "host" for a library on a CPU, with the wider of both."""


@dataclass(frozen=True)
class Limits:
    """The documented accuracy of functions that a budget is derived from.

    ``vendor`` is the maker of the device, or "host" for a library that documents none, which is given the wider of both
    vendors' limits. ``level`` chooses between what the vendor documents (beyond it a result fails) and the largest
    errors that were measured (beyond them a result is reported). ``asked`` collects the rows of the table that a budget
    asks for (``parity.reference.accuracy``).
    """

    vendor: Vendor
    level: Literal["documented", "observed"] = "documented"
    asked: list[Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Bounds:
    """The accepted interval of every element: ``centre + residual - below <= got <= centre + residual + above``.

    ``centre`` is float64 (NaN and infinities allowed); ``residual`` is what float64 could not hold of the exact value
    (only f64 results need it); ``below`` and ``above`` are non-negative float64, infinite where overflow is allowed.
    Where ``centre`` is NaN or infinite they say nothing.
    """

    centre: Array
    residual: Array | float
    below: Array
    above: Array

    @property
    def room(self) -> Array:
        """The larger of both sides, of every element."""
        return np.maximum(self.below, self.above)

    def complaint(self, unspecified: Array | bool = False) -> str:
        """The error message for wrong bounds, with the element and the values; empty if they are right.

        Elements whose value is ``unspecified`` are not looked at.
        """
        for side in ("below", "above"):
            centre, room, without = np.broadcast_arrays(self.centre, getattr(self, side), unspecified)
            wrong = np.isfinite(centre) & ~(room >= 0) & ~without
            if wrong.any():
                index = tuple(int(i) for i in np.argwhere(wrong)[0])
                return f"{room[index]} {side} the value {centre[index]} of element {index}: a budget is 0 or more"
        return ""


@dataclass(frozen=True)
class Expected:
    """The reference outcome of one case, in the logical shape of the output.

    ``value`` is the nominal result in the output's own dtype. ``bounds`` derives the accepted interval from a vendor's
    accuracy limits; None demands the exact value (any NaN for a NaN). Where ``sign_of_zero`` is true, -0 and +0 differ.
    ``nan_allowed`` marks elements for which NaN is right as well as the number. ``divergences`` maps the id of a known
    CUDA/AMD divergence (``model.divergences``) to the values the *other* vendor's rule gives; an output that follows
    it in every element in which the two differ is reported under that id and is not a failure. ``alternatives`` are
    further values that are right, exactly (a contracted multiply-add, for one); ``unspecified`` marks elements for
    which any value is right.

    Raises:
        UsageError: no known divergence has such an id.
    """

    value: Array
    bounds: Callable[[Limits], Bounds] | None = None
    sign_of_zero: Array | bool = False
    nan_allowed: Array | bool = False
    divergences: Mapping[str, Array] = field(default_factory=dict)
    alternatives: tuple[Array, ...] = ()
    unspecified: Array | bool = False
    accepts: Callable[[Array], Array] | None = None

    def __post_init__(self) -> None:
        for name in self.divergences:
            divergence(name)
