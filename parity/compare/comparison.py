"""Compares a runner's output with the expected values of a case."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from parity.compare.patterns import describe_pattern, picture
from parity.compare.ulps import bit_patterns, differing_bytes, format_pair, ulp_distance, ulp_distances
from parity.compare.verdict import Mismatch, Status, Verdict, general_class
from parity.errors import UsageError
from parity.model.dtypes import Array, array_dtype
from parity.model.launch import POISON
from parity.reference.expected import Bounds, Expected, Limits, Vendor
from parity.reference.rounding import half_ulp_of_max

MISTAKES = {"only zeros": 0.0, "the opposite sign": -1.0, "half as large again": 1.5, "only NaN": math.nan}
"""Mistakes of a kernel that every useful check must reject, as factors of the expected values."""


@np.errstate(all="ignore")
def compare(expected: Expected, got: Array, *, vendor: Vendor) -> Verdict:
    """Judge ``got``, which has the dtype and the logical shape of ``expected.value``.

    ``vendor`` selects the documented accuracy limits. Elements whose bytes all equal POISON count as unwritten. An
    output meets a known divergence if it follows the divergence in every element where that differs from the nominal
    value. The divergence D22 means that a result is within AMD's limits but outside CUDA's.

    Raises:
        UsageError: the dtype or shape differs.
    """
    value = expected.value
    if got.shape != value.shape or got.dtype != value.dtype:
        raise UsageError(
            f"cannot compare {got.dtype} of shape {got.shape} with the expected {value.dtype} of shape {value.shape}; "
            "pass the output in its stored dtype and logical shape"
        )
    nominal = np.array_equal(bit_patterns(value), bit_patterns(got))
    if nominal and expected.bounds is None:
        return Verdict(Status.PASS, total=got.size)

    exactly, divergences = _exactly(expected, got)
    bounds = expected.bounds(Limits(vendor)) if expected.bounds and got.size else None
    right, shares = _within(expected, bounds, got, exactly)
    beyond = False
    if expected.bounds is not None and not nominal and vendor == "amd" and right.all():
        beyond = bool((_shares(expected.bounds(Limits("amd", "observed")), got, exactly) > 1).any())
        if (_shares(expected.bounds(Limits("cuda")), got, exactly) > 1).any():
            divergences.append("D22")
    budget = float(shares.max(initial=0.0))
    if right.all() and expected.bias:
        wrong = np.asarray(bit_patterns(value) != bit_patterns(got)) & ~exactly
        if wrong.any() and (biased := expected.bias(got)):
            failure = _failure(expected, got, wrong, shares, budget, tuple(divergences))
            return replace(failure, detail=biased, within_bound=True)
    if right.all():
        allowed = bounds is not None and _allows(bounds)
        by_budget = right & ~exactly
        return Verdict(
            Status.PASS,
            budget=budget,
            ulps=_largest_distance(value, got, by_budget) if by_budget.any() else 0.0,
            total=got.size,
            divergences=tuple(divergences),
            beyond_observed=beyond,
            allowed=allowed,
        )
    return _failure(expected, got, ~right, shares, budget, tuple(divergences))


@np.errstate(all="ignore")
def accepted_elements(expected: Expected, got: Array, vendor: Vendor) -> Array:
    """Return a mask in logical shape of the elements of ``got`` that the rules of the vendor accept."""
    bounds = expected.bounds(Limits(vendor)) if expected.bounds and got.size else None
    return _within(expected, bounds, got, _exactly(expected, got)[0])[0]


@np.errstate(invalid="ignore")
def has_numbers(value: Array) -> bool:
    """Return True if an element is neither infinite nor NaN."""
    return not array_dtype(value).is_float or bool(np.isfinite(value).any())


@np.errstate(all="ignore")
def accepted_mistakes(expected: Expected, vendor: Vendor) -> frozenset[str]:
    """Return the names of the ``MISTAKES`` that the rules of the vendor accept in every element.

    Elements whose expected value is NaN or infinite keep it, unless no element is finite. A mistake that happens to
    give the expected value gives the smallest normal number, or 1, instead. So an expectation that is zero everywhere
    does not accept zeros.
    """
    value = expected.value
    kind = array_dtype(value)
    if kind.is_block:
        zeros = np.zeros_like(value)
        same = bit_patterns(zeros) == bit_patterns(value)
        return frozenset({"only zeros"} if (accepted_elements(expected, zeros, vendor) & ~same).all() else ())
    number = np.isfinite(value) if kind.is_float else np.ones(value.shape, np.bool_)
    if not number.any():
        number = ~np.isnan(value)
    wide, smallest = (np.float64, 2.0**kind.emin) if kind.is_float else (np.int64, 1)
    found = set()
    for name, factor in MISTAKES.items():
        if kind.is_float or factor in (0, -1):
            wrong = (value.astype(wide) * wide(factor)).astype(value.dtype)
            wrong = np.where(wrong == value, np.asarray(smallest).astype(value.dtype), wrong)
            if accepted_elements(expected, np.where(number, wrong, value), vendor)[number].all():
                found.add(name)
    return frozenset(found)


def _allows(bounds: Bounds) -> bool:
    """True if the error bound of any element is above 0."""
    return bool((np.isfinite(bounds.centre) & (bounds.room > 0)).any())


def _exactly(expected: Expected, got: Array) -> tuple[Array, list[str]]:
    """Return a mask of the elements that are right without an error bound, and the ids of met divergences."""
    value = expected.value
    right = matches(value, got, expected.sign_of_zero) if expected.accepts is None else expected.accepts(got)
    divergences = []
    for name, other in expected.divergences.items():
        apart = ~matches(value, other, expected.sign_of_zero)
        if apart.any() and matches(other, got, expected.sign_of_zero)[apart].all():
            divergences.append(name)
            right |= apart
    for other in expected.alternatives:
        right |= matches(other, got, expected.sign_of_zero)
    right |= expected.unspecified
    if array_dtype(got).is_float:
        right |= expected.nan_allowed & np.isnan(got)
    return right, divergences


def _within(expected: Expected, bounds: Bounds | None, got: Array, exactly: Array) -> tuple[Array, Array]:
    """Return a mask of the right elements, and the share of the error bound that each element uses."""
    if bounds is None:
        return exactly, np.where(exactly, 0.0, math.inf)
    shares = _shares(bounds, got, exactly)
    return exactly | ((shares <= 1) & ~_wrong_zero(expected.value, got, expected.sign_of_zero)), shares


def check_unmodified(name: str, before: Array, after: Array) -> Verdict | None:
    """Return a failing verdict if the bytes of an input changed, else None."""
    wrong = np.asarray(bit_patterns(before) != bit_patterns(after))
    if not wrong.any():
        return None
    index = np.unravel_index(int(np.flatnonzero(wrong)[0]), wrong.shape)
    return Verdict(
        Status.FAIL,
        kind="input modified",
        budget=math.inf,
        wrong=int(wrong.sum()),
        total=wrong.size,
        first=_mismatch(before, after, index, math.inf),
        pattern=describe_pattern(wrong),
        shape=wrong.shape,
        picture=picture(wrong),
        detail=f"the kernel wrote into its input {name}",
    )


def matches(value: Array, got: Array, sign_of_zero: Array | bool) -> Array:
    """Equal, or both NaN. Zeros of either sign are equal unless ``sign_of_zero``. Blocks must have the same bytes."""
    if array_dtype(got).is_block:
        return np.asarray(bit_patterns(value) == bit_patterns(got))
    same = np.asarray(value == got)
    if not array_dtype(got).is_float:
        return same
    same = same | (np.isnan(value) & np.isnan(got))
    return np.asarray(same if sign_of_zero is False else same & ~_wrong_zero(value, got, sign_of_zero))


def _wrong_zero(value: Array, got: Array, sign_of_zero: Array | bool) -> Array:
    zeros = (value == 0) & (got == 0) & sign_of_zero
    return np.asarray(zeros & (np.signbit(value) != np.signbit(got)) if array_dtype(got).is_float else zeros & False)


def _shares(bounds: Bounds, got: Array, right: Array) -> Array:
    """The share of the error bound that each element uses: above 1 outside the bound, 0 for elements in ``right``."""
    dtype = array_dtype(got)
    g = got.astype(np.float64)
    beyond = half_ulp_of_max(dtype)
    overflowed = np.isinf(g)
    extra: Array | float = 0.0
    if overflowed.any():
        g, extra = np.where(overflowed, np.copysign(dtype.max, g), g), np.where(overflowed, np.copysign(beyond, g), 0.0)
    distance = (g - bounds.centre) + (extra - bounds.residual)
    shares = _ratio(distance, bounds)
    outside = ~(shares <= 1)
    if outside.any():
        # The largest finite value also represents every number that rounds to it.
        largest = outside & (np.abs(g) == dtype.max) & ~overflowed
        shares = np.where(largest, _ratio(distance + np.copysign(beyond, g) * (1 - 2.0**-50), bounds), shares)
        shares = np.where(np.isfinite(bounds.centre) & ~np.isnan(g), shares, math.inf)
        shares = np.where(outside & right, 0.0, np.where(np.isnan(shares), math.inf, shares))
    return np.asarray(shares)


def _ratio(distance: Array, bounds: Bounds) -> Array:
    allowed = np.where(distance < 0, bounds.below, bounds.above)
    return np.where(distance == 0, 0.0, np.abs(distance) / allowed)


def _failure(
    expected: Expected, got: Array, wrong: Array, shares: Array, budget: float, divergences: tuple[str, ...]
) -> Verdict:
    value = expected.value
    poison = np.full(got.dtype.itemsize, POISON, np.uint8).view(array_dtype(got).bits)[0]
    # Single wrong values may equal the poison by chance: one in 256 for u8.
    unwritten = np.asarray(wrong & (bit_patterns(got) == poison))
    classes = {"unwritten": unwritten & (2 * unwritten.sum() >= wrong.sum())}
    if array_dtype(got).is_float:
        classes["nan for a number"] = wrong & np.isnan(got)
        classes["a number for nan"] = wrong & np.isnan(value)
        classes["infinity for a number"] = wrong & np.isinf(got) & ~np.isinf(value)
        classes["a number for infinity"] = wrong & np.isinf(value) & ~np.isinf(got)
        classes["infinity of the other sign"] = wrong & np.isinf(value) & np.isinf(got)
        zeros = (value == 0) & (got == 0)
        classes["value"] = wrong & ~zeros
        classes["sign of zero"] = wrong & zeros
    else:
        classes["value"] = wrong
    left = wrong
    kinds: dict[str, Array] = {}
    for name, candidates in classes.items():
        if (members := left & candidates).any():
            kinds[name], left = members, left & ~members
    kind = general_class(next(iter(kinds)))
    members = np.logical_or.reduce([each for name, each in kinds.items() if general_class(name) == kind])
    index = np.unravel_index(int(np.flatnonzero(members)[0]), wrong.shape)
    return Verdict(
        Status.FAIL,
        kind=kind,
        budget=budget,
        wrong=int(wrong.sum()),
        total=got.size,
        first=_mismatch(value, got, index, float(shares[index])),
        pattern=describe_pattern(wrong),
        shape=wrong.shape,
        picture=picture(wrong),
        divergences=divergences,
        kinds=tuple(kinds),
        ulps=_largest_distance(value, got, kinds["value"]) if "value" in kinds else 0.0,
    )


def _largest_distance(value: Array, got: Array, members: Array) -> float:
    x, y = value[members], got[members]
    if array_dtype(got).is_block:
        return float(differing_bytes(x, y).max())
    if array_dtype(got).is_float:
        return float(ulp_distances(x, y).max())
    return float((np.maximum(x, y).astype(np.uint64) - np.minimum(x, y).astype(np.uint64)).max())


def _mismatch(value: Array, got: Array, index: tuple[Any, ...], share: float) -> Mismatch:
    expected, actual = value[index], got[index]
    coordinates, texts = tuple(int(i) for i in index), format_pair(expected, actual)
    distance = ulp_distance(expected, actual)
    unit = "ULP" if not array_dtype(got).is_block else "byte" if distance == 1 else "bytes"
    return Mismatch(coordinates, *texts, ulps=distance, budgets=share, unit=unit)
