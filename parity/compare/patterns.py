"""Describes the positions of wrong elements, which often reveal the cause of a failure."""

from __future__ import annotations

import math

import numpy as np

from parity.model.dtypes import Array

_PERIODS = (32, 64, 2, 4, 8, 16, 128, 256, 512, 1024)
"""Periods to look for: wavefront sizes first, then sizes of vector loads, tiles and blocks."""

_ROWS, _COLUMNS = 32, 64
"""The largest picture, in characters."""


def describe_pattern(wrong: Array) -> str:
    """Describe the true elements of a mask in logical shape. Indices are in row-major order."""
    flat = np.flatnonzero(wrong)
    count, size = len(flat), wrong.size
    if count == size:
        return "all" if size > 1 else "the only element"
    if count == 1:
        return _single(int(flat[0]), wrong)
    return _slice(wrong, count) or _run(flat, size) or _periodic(flat, size) or f"scattered {count} of {size}"


def picture(wrong: Array) -> tuple[str, ...]:
    """Draw a mask in logical shape as at most 32 lines of 64 digits: the last dim runs across, the others down.

    A digit represents one element or a block of elements: 0 if none is true, 9 if all are, and digits between them in
    proportion. A one-dimensional mask continues in the next line. A blank has no element.
    """
    size = wrong.size
    if not size:
        return ()
    across = wrong.shape[-1] if wrong.ndim > 1 and wrong.shape[-1] not in (1, size) else min(size, _COLUMNS)
    down = -(-size // across)
    there, true = (np.zeros(down * across) for _ in range(2))
    there[:size], true[:size] = 1, wrong.ravel()
    rows, columns = (np.arange(0, n, -(-n // most)) for n, most in ((down, _ROWS), (across, _COLUMNS)))
    there, true = (
        np.add.reduceat(np.add.reduceat(each.reshape(down, across), rows, axis=0), columns, axis=1)
        for each in (there, true)
    )
    levels = np.where(true == there, 9, np.clip(np.ceil(9 * true / np.maximum(there, 1)), 0, 8))
    texts = np.where(there == 0, " ", levels.astype(np.int64).astype(str))
    return tuple("".join(line).rstrip() for line in texts)


def _single(index: int, wrong: Array) -> str:
    if index == wrong.size - 1:
        return "only the last element"
    if index == 0:
        return "only the first element"
    return "only element " + ", ".join(str(int(c)) for c in np.unravel_index(index, wrong.shape))


def _slice(wrong: Array, count: int) -> str:
    """One or several whole slices, or a part of one slice."""
    long = [d for d, extent in enumerate(wrong.shape) if extent > 1]
    if len(long) < 2:
        return ""
    partial = ""
    for d in long:
        others = tuple(a for a in range(wrong.ndim) if a != d)
        hit = np.flatnonzero(wrong.any(axis=others))
        name = ("row", "column")[d] if wrong.ndim == 2 else f"dim {d} at"
        slices = f"{name} {_indices(hit, wrong.shape[d])}"
        if len(hit) < wrong.shape[d] and len(hit) * (wrong.size // wrong.shape[d]) == count:
            return slices
        if len(hit) == 1 and count > 2 and not partial:
            partial = f"{count} of {wrong.size // wrong.shape[d]} in {slices}"
    return partial


def _indices(hit: Array, extent: int) -> str:
    first, last = int(hit[0]), int(hit[-1])
    if len(hit) == 1:
        return f"{first}" + (" (the last)" if last == extent - 1 else "")
    if last - first + 1 == len(hit):
        return f"{first} to {last}"
    return ", ".join(str(int(i)) for i in hit[:4]) + (", ..." if len(hit) > 4 else "")


def _run(flat: Array, size: int) -> str:
    first, last = int(flat[0]), int(flat[-1])
    if last - first + 1 != len(flat):
        return ""
    if last == size - 1:
        return f"the tail from index {first}"
    return f"the head up to index {last}" if first == 0 else f"index {first} to {last}"


def _periodic(flat: Array, size: int) -> str:
    """Every k-th element, whole lanes, or a part of one lane."""
    step = math.gcd(*np.diff(flat).tolist())
    first = int(flat[0])
    if step > 1 and first < step and len(flat) == len(range(first, size, step)):
        lane = f"lane {first} of {step}" if step in (32, 64) else f"from {first}"
        return f"every {_ordinal(step)} element ({lane})"
    for period in _PERIODS:
        lanes = np.unique(flat % period)
        whole = sum(len(range(int(lane), size, period)) for lane in lanes)
        if size > period and len(lanes) < period and whole == len(flat):
            return f"lanes {_indices(lanes, period)} of {period}"
    if step % 32 == 0 and len(flat) > 2:
        return f"{len(flat)} of {size}, all in lane {first % 32} of 32"
    return ""


def _ordinal(n: int) -> str:
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"
