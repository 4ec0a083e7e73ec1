"""Judges launches whose results depend on the order of threads, on a clock, or on an unusual quotient."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from parity.compare.comparison import accepted_elements, compare
from parity.compare.ulps import bit_patterns
from parity.compare.verdict import Status, Verdict
from parity.engine.cuda_oracle import ExecutableCode, kernel_code, output_of
from parity.engine.reduction_order import without
from parity.model.code_object import CodeObject
from parity.model.dtypes import Array, array_dtype
from parity.model.launch import Arithmetic, Outcome
from parity.op import Call
from parity.reference.expected import Expected, Vendor
from parity.runners import SupportsReordering

NONDETERMINISTIC = "nondeterministic"
"""The kind of a verdict on results that other orders or clocks change."""
_CAUSES = "the order of threads, on a clock, or on a quotient by 0 or by more than 2^126"
_CLOCK = re.compile(r"%(?:clock|globaltimer)")
_CHANCE, _DIVISION = re.compile(r"\batom\.|%(?:clock|globaltimer)"), re.compile(r"\b(?:div|rem)\.[su]\d|div\.approx")
_ORDERS, _QUOTIENTS = 8, 2
"""Repetitions of a launch whose order or clock may matter, and of one in which only quotients may."""
_SPREADS = 8
"""A number is undetermined if its distance from CUDA's is at most this many times the spread of the repetitions."""


def judge_reordered(
    call: Call, mine: ExecutableCode, got: Mapping[str, Array], expected: Mapping[str, Expected], vendor: Vendor,
    theirs: ExecutableCode | None = None,
) -> tuple[str, Verdict] | None:  # fmt: skip
    """Repeat a failing launch in other orders. Return the verdict on what all orders have in common, and its output.

    If ``theirs`` is CUDA's side, which gave the expected values, it is repeated instead. Elements that the orders
    change are undetermined. All other elements are judged as usual. Undetermined elements must have CUDA's values in
    any order, if they have the same values in any order.

    Returns None if no wrong element is undetermined, or if the orders are not known.
    """
    is_in_order = theirs is not None and not _CHANCE.search(kernel_code(call, theirs.code))
    outcomes = _in_other_orders(call, theirs or mine, _QUOTIENTS if is_in_order else _ORDERS)
    launch = call.on(mine.code).launch
    if not outcomes:
        return None
    varying = {
        name: _undetermined(
            got[name], each.value, [output_of(call, name, outcome) for outcome in outcomes], bool(theirs)
        )
        for name, each in expected.items()
    }
    if not any(each.any() for each in varying.values()):
        return None
    mistaken = {name: ~accepted_elements(each, got[name], vendor) for name, each in expected.items()}
    if theirs and _CLOCK.search(kernel_code(call, theirs.code)):
        varying = {name: _with_random_places(mistaken[name], each) for name, each in varying.items()}
    elif theirs:
        varying = _varying_by_chance(call, mine, got, mistaken, varying)
    rounds = mine.shadowing is None or mine.shadowing.arithmetic(mine.code, launch) is Arithmetic.ROUNDS
    left = []
    for name, each in expected.items():
        wrong = mistaken[name]
        # A few elements may have the same value in all orders by chance.
        by_chance = np.count_nonzero(wrong & ~varying[name]) < np.count_nonzero(varying[name])
        mask = varying[name] | wrong if by_chance else varying[name]
        several = [_sorted(output_of(call, name, outcome)[mask]) for outcome in outcomes]
        ordered = _sorted(each.value[mask])
        if mask.any() and all(np.array_equal(one, ordered) for one in (_sorted(got[name][mask]), *several)):
            continue  # the same values in another order
        verdict = compare(without(each, varying[name]), got[name], vendor=vendor)
        if not verdict.passed:
            return name, verdict.noted(f"other elements depend on {_CAUSES}; this one does not")
        if (wrong & varying[name]).any():
            if not rounds and all(np.array_equal(one, several[0]) for one in several):
                verdict = compare(each, got[name], vendor=vendor)
                return name, verdict.noted("the order of these values is not determined, but they differ in any order")
            left.append(f"{np.count_nonzero(varying[name])} of {got[name].size} elements of {name}")
    total = sum(each.size for each in got.values())
    if not left:
        return call.output, Verdict(Status.PASS, total=total)
    detail = f"{', '.join(left)} depend on {_CAUSES}, so CUDA's values do not judge them; all other elements are right"
    return call.output, Verdict(Status.NOT_JUDGED, NONDETERMINISTIC, detail=detail)


def has_chance(call: Call, code: CodeObject) -> bool:
    """Return True if a kernel uses results of atomics, which depend on the order of threads, a clock, or quotients of
    integers.
    """
    text = kernel_code(call, code)
    return bool(_CHANCE.search(text) or _DIVISION.search(text))


def _in_other_orders(call: Call, code: ExecutableCode, times: int = _ORDERS) -> Sequence[Outcome]:
    """Repeat a launch in other orders. Return no outcomes if one has a fault, or if the orders are not known."""
    device = code.session if isinstance(code.session, SupportsReordering) else code.shadowing
    if not isinstance(device, SupportsReordering):
        return ()
    outcomes = device.reorder(code.code, call.on(code.code).launch, call.buffers, times)
    return () if any(each.fault for each in outcomes) else outcomes


def _varying_by_chance(
    call: Call, mine: ExecutableCode, got: Mapping[str, Array], wrong: Mapping[str, Array], varying: Mapping[str, Array]
) -> dict[str, Array]:
    """Return ``varying`` with those wrong elements of an output that other orders of this side change.

    CUDA's orders may miss them by chance if they change more elements than are left.
    """
    left = {name: each & ~varying[name] for name, each in wrong.items()}
    left = {name: each for name, each in left.items() if 0 < np.count_nonzero(each) < np.count_nonzero(varying[name])}
    found = dict(varying)
    for outcome in _in_other_orders(call, mine) if left else ():
        for name, each in left.items():
            found[name] = found[name] | (
                each & (bit_patterns(output_of(call, name, outcome)) != bit_patterns(got[name]))
            )
    return found


def _with_random_places(wrong: Array, varying: Array) -> Array:
    """Return ``varying`` with the wrong elements, unless they are the majority.

    A clock may be the seed of places in an output, so that a repetition hits an element by chance.
    """
    return varying | wrong if np.count_nonzero(wrong & ~varying) <= np.count_nonzero(varying) else varying


@np.errstate(all="ignore")
def _undetermined(got: Array, value: Array, others: Sequence[Array], of_cuda: bool) -> Array:
    """Return a mask of the elements that the orders change, and that may therefore differ from CUDA's ``value``."""
    arrays = [value if of_cuda else got, *others]
    varies = np.logical_or.reduce([bit_patterns(arrays[0]) != bit_patterns(each) for each in others])
    kind = array_dtype(got)
    if kind.is_block or not kind.is_float:
        return np.asarray(varies)
    numbers = np.stack([each.astype(np.float64) for each in arrays])
    distance, spread = np.abs(value.astype(np.float64) - got.astype(np.float64)), np.ptp(numbers, axis=0)
    return np.asarray(varies & ~(distance > _SPREADS * spread))


def _sorted(values: Array) -> Array:
    return np.sort(bit_patterns(np.ascontiguousarray(values)), axis=None)
