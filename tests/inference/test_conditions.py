"""Blocks that kernels may be meant for."""

from dataclasses import replace

import pytest

from parity.inference.conditions import credible_blocks, likely_blocks
from parity.inference.data_flow import Flow
from parity.inference.host_launches import HostLaunch

FLOW = Flow(("u64",), {}, thread_axes=frozenset("x"))
TILED = replace(FLOW, thread_axes=frozenset("xy"))
CONSTANT, COMPUTED = HostLaunch("tile", ("n",), (8, 8)), HostLaunch("tile", ("n",), ("threads",))


@pytest.mark.parametrize(
    ("launches", "flow", "blocks"),
    [
        ((CONSTANT,), TILED, {(8, 8, 1)}),
        ((COMPUTED,), FLOW, None),
        ((COMPUTED,), replace(FLOW, dynamic=True), set()),
        ((), FLOW, None),
        ((), TILED, set()),
        ((), replace(TILED, fixed=True), None),
    ],
    ids=["constant", "computed", "computed, dynamic", "unknown", "unknown, two axes", "fixed by the kernel"],
)
def test_race_shows_a_mistake_with_credible_blocks_only(launches, flow, blocks):
    assert credible_blocks("tile<4, 256>", launches, flow) == blocks


@pytest.mark.parametrize(
    ("launches", "first"), [((), (32, 32, 1)), ((HostLaunch("tile", (), (16, 8)),), (16, 8, 1))], ids=["", "stated"]
)
def test_warps_that_exchange_values_are_whole_along_x(launches, first):
    crossing = replace(TILED, crosses=True)
    blocks = [*likely_blocks("tile", launches, crossing)]
    assert blocks[0] == first
    assert all(x % 32 == 0 for x, _, _ in blocks[len(launches) :])
    assert (16, 16, 1) in likely_blocks("tile", launches, TILED)
