"""Expected values: a nominal value and, for each element, the allowed distance from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from parity.errors import UsageError
from parity.model.divergences import divergence
from parity.model.dtypes import Array

Vendor = Literal["amd", "cuda", "host"]
"""The vendor whose accuracy limits apply; "host" is a library on a CPU, with the larger limit of both vendors."""


@dataclass(frozen=True)
class Limits:
    """Selects the function accuracies from which an error bound is derived.

    Attributes:
        vendor: vendor of the device, or "host" for a library without documented accuracy.
        level: "documented" for the vendor's limits, beyond which a result fails; "observed" for the largest measured
            errors, beyond which a result is reported.
        asked: collects the rows of the accuracy table that the error bound uses (``parity.reference.accuracy``).
    """

    vendor: Vendor
    level: Literal["documented", "observed"] = "documented"
    asked: list[Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Bounds:
    """The accepted interval of every element: ``centre + residual - below <= got <= centre + residual + above``.

    Attributes:
        centre: float64; may be NaN or infinite. ``below`` and ``above`` do not apply to such elements.
        residual: the part of the exact value that float64 cannot hold; only f64 results need it.
        below: non-negative float64; infinite where overflow is allowed.
        above: non-negative float64; infinite where overflow is allowed.
    """

    centre: Array
    residual: Array | float
    below: Array
    above: Array

    @property
    def room(self) -> Array:
        """The larger of ``below`` and ``above``, for every element."""
        return np.maximum(self.below, self.above)

    def complaint(self, shape: tuple[int, ...], unspecified: Array | bool = False) -> str:
        """Return an error message for bounds that do not fit an output of this shape; empty if valid.

        Names the element and the values of negative or NaN bounds. Ignores ``unspecified`` elements.
        """
        for name in ("centre", "residual", "below", "above"):
            if problem := _misfit(getattr(self, name), shape, "fiu"):
                return f"Bounds whose {name} {problem}"
        for side in ("below", "above"):
            centre, room, without = np.broadcast_arrays(self.centre, getattr(self, side), unspecified)
            wrong = np.isfinite(centre) & ~(room >= 0) & ~without
            if wrong.any():
                index = tuple(int(i) for i in np.argwhere(wrong)[0])
                return f"{room[index]} {side} the value {centre[index]} of element {index}: a budget is 0 or more"
        return ""


@dataclass(frozen=True)
class Expected:
    """The expected result of a case, in the logical shape of the output.

    Attributes:
        value: nominal result in the output's dtype.
        bounds: derives the accepted interval from a vendor's accuracy limits. None requires the exact value (any NaN
            for a NaN).
        sign_of_zero: marks elements for which -0 and +0 differ.
        nan_allowed: marks elements for which NaN is correct as well.
        divergences: maps the id of a known CUDA/AMD divergence (``model.divergences``) to the results by the second
            vendor's rule. An output that follows this rule wherever the two differ is reported under the id and is not
            a failure.
        alternatives: further correct values, for example of a contracted multiply-add.
        unspecified: marks elements for which any value is correct.
        accepts: returns a mask of correct elements, for results that a property defines.
        bias: returns a sentence if accepted results are wrong as a whole, such as truncated ones; empty if not.

    Raises:
        UsageError: no known divergence has the given id, or something is not a function.
    """

    value: Array
    bounds: Callable[[Limits], Bounds] | None = None
    sign_of_zero: Array | bool = False
    nan_allowed: Array | bool = False
    divergences: Mapping[str, Array] = field(default_factory=dict)
    alternatives: tuple[Array, ...] = ()
    unspecified: Array | bool = False
    accepts: Callable[[Array], Array] | None = None
    bias: Callable[[Array], str] | None = None

    def __post_init__(self) -> None:
        for name in self.divergences:
            divergence(name)
        for name in ("bounds", "accepts", "bias"):
            if (given := getattr(self, name)) is not None and not callable(given):
                raise UsageError(
                    f"{name}= of Expected is a function or None, not a value of type {type(given).__name__}; "
                    "within(ulps, exact, to) makes the bounds of a number of ULPs"
                )

    def complaint(self) -> str:
        """Return an error message for masks and further values that do not fit the value; empty if all fit.

        NumPy would combine them with the output in another way than meant, or not at all.
        """
        for name in ("sign_of_zero", "nan_allowed", "unspecified"):
            if problem := _misfit(getattr(self, name), self.value.shape, "b"):
                return f"{name}, which {problem}"
        if not isinstance(self.alternatives, tuple | list):
            return f"alternatives of type {type(self.alternatives).__name__}; write a tuple of arrays: (value,)"
        others = {f"alternatives[{number}]": other for number, other in enumerate(self.alternatives)}
        others |= {f"divergences[{key!r}]": other for key, other in self.divergences.items()}
        form = self.value.dtype, self.value.shape
        for name, other in others.items():
            found = np.asarray(other)
            if not is_plain(other):
                return f"{name} of type {type(other).__name__} instead of an array"
            if (found.dtype, found.shape) != form:
                return f"{name} of {found.dtype} and shape {found.shape}, unlike the value ({form[0]} and {form[1]})"
        return ""


def is_plain(given: object) -> bool:
    """Return whether an array has NumPy's own operators. Masked arrays and other subclasses replace them."""
    return type(given) is np.ndarray or not isinstance(given, np.ndarray)


def _misfit(given: object, shape: tuple[int, ...], kinds: str) -> str:
    """Say how an array or a number differs from what an output of this shape needs; empty if it fits.

    ``kinds`` are the permitted kinds of NumPy's types.
    """
    found = np.asarray(given)
    if not is_plain(given):
        return f"is of type {type(given).__name__} instead of an array"
    if found.dtype.kind not in kinds:
        return f"is of type {found.dtype} instead of {'bool' if kinds == 'b' else 'a number'}"
    fits = found.ndim <= len(shape) and all(a in (1, b) for a, b in zip(found.shape[::-1], shape[::-1], strict=False))
    return "" if fits else f"has shape {found.shape} instead of {shape}"
