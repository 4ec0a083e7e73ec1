"""Finds elements that depend on the order of a reduction, by Triton kernels of CUDA's side with other numbers of warps.

Shadow runs (``parity.engine.cuda_oracle``) change roundings only, and the order may decide whether weights cancel to 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from parity.compare.cuda_oracle import explained_by_orders, same_values
from parity.compare.ulps import bit_patterns
from parity.engine.checked_case import Implementation
from parity.engine.cuda_oracle import kernel_code, output_of
from parity.model.dtypes import Array
from parity.op import Call
from parity.reference.expected import Expected
from parity.runners import OpSession

ORDERED = "elements that CUDA's code computes differently with other values of num_warps were not judged"


def unordered(
    call: Call, oracle: Implementation, expected: Mapping[str, Expected], got: Mapping[str, Array]
) -> Iterator[Mapping[str, Expected]]:
    """Yield expectations in which elements that other orders explain are unspecified, with more orders each time.

    Yields nothing if the threads of the kernel exchange nothing, if it cannot have another number of warps, or if two
    orders explain no element.
    """
    if oracle.code is None or not _EXCHANGE.search(kernel_code(call, oracle.code)):
        return
    orders: list[Mapping[str, Array]] = []
    for code in oracle.other_warps(call.launch.kernel):
        assert not isinstance(oracle.session, OpSession)
        outcome = oracle.session.execute(code, call.on(code).launch, call.buffers)
        if outcome.fault:
            return
        views = {name: output_of(call, name, outcome) for name in expected}
        if all(same_values(each.value, views[name]) for name, each in expected.items()):
            continue  # small blocks have the same order with several numbers of warps
        orders.append(views)
        masks = {}
        for name, each in expected.items():
            differs = bit_patterns(each.value) != bit_patterns(got[name])
            masks[name] = differs & explained_by_orders(each.value, [one[name] for one in orders], got[name])
        if any(mask.any() for mask in masks.values()):
            yield {name: without(each, masks[name]) for name, each in expected.items()}
        elif len(orders) > 1:
            return


_EXCHANGE = re.compile(r"\bshfl\.|\.shared\b")
"""Matches PTX of threads that exchange numbers."""


def without(expected: Expected, mask: Array) -> Expected:
    """Return an expectation that does not judge the elements of a mask."""
    bias = expected.bias
    judged: Callable[[Array], str] | None = bias and (lambda got: bias(np.where(mask, expected.value, got)))
    return replace(expected, unspecified=expected.unspecified | mask, bias=judged)
