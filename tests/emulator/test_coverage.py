"""Coverage of launches: exact numbers for handwritten code."""

from dataclasses import replace

import numpy as np
import pytest

from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.amdgpu.listing import function_bodies
from parity.model.coverage import Point, Reached, concatenate_coverage

# The lanes below the second argument continue; four blocks have vector instructions, two do not.
BODY = """last:
\ts_load_b64 s[2:3], s[0:1], 0x0
\ts_cmp_lg_u32 s2, 4099
\ts_cbranch_scc1 .LBB_one
\tv_mov_b32_e32 v1, 1
.LBB_one:
\tv_cmp_gt_u32_e32 vcc_lo, s3, v0
\ts_and_saveexec_b32 s5, vcc_lo
\ts_cbranch_execz .LBB_two
\tv_mov_b32_e32 v1, 2
.LBB_two:
\ts_nop 0
\ts_or_b32 exec_lo, exec_lo, s5
\tv_mov_b32_e32 v1, 3
\ts_endpgm
"""
BLOCKS = [0, 3, 4, 6, 7, 8, 10]
BRANCHES = [2, 6]


@pytest.fixture
def by_hand(code):
    body = function_bodies(code.listing, "last")[0].text
    end = body.index("\ts_endpgm") + len("\ts_endpgm\n")
    return replace(code, stored=code.listing.replace(body[:end], BODY), digest="by hand")


@pytest.fixture
def device(cache):
    return AmdgpuDevice(cache=cache, traced=True)


def reached(device, code, n, lanes):
    args = pack(code.kernels["last"], [n | lanes << 32, None, None])
    device.launch(code, "last", grid=(1, 1, 1), block=(32, 1, 1), args=args)
    return device.take_reached(code, "last")


def test_points_are_blocks_then_branch_directions(device, by_hand):
    directions = [Point(kind, at) for at in BRANCHES for kind in ("not taken", "taken")]
    assert [*device.points(by_hand, "last")] == [*(Point("block", at) for at in BLOCKS), *directions]


@pytest.mark.parametrize(
    ("n", "lanes", "blocks", "directions"),
    [
        (4098, 0, "1011011", "0101"),  # scalar blocks are reached without a lane
        (4098, 5, "1011111", "0110"),
        (4099, 32, "1111111", "1010"),
    ],
)
def test_launch_reaches_expected_points(device, by_hand, n, lanes, blocks, directions):
    found = reached(device, by_hand, n, lanes)
    assert (found.blocks, found.directions) == (7, 4)
    assert found.mask == int((blocks + directions)[::-1], 2)
    assert (found.blocks_reached, found.directions_reached) == (blocks.count("1"), directions.count("1"))


def test_take_reached_clears_points(device, by_hand):
    reached(device, by_hand, 4098, 5)
    assert device.take_reached(by_hand, "last").mask == 0
    assert reached(device, by_hand, 4098, 0).mask == int("10110110101"[::-1], 2)


def test_reached_points_of_launches_add_up(device, by_hand):
    one, other = (reached(device, by_hand, n, lanes) for n, lanes in ((4099, 32), (4098, 0)))
    both = one | other
    assert (both.blocks_reached, both.directions_reached) == (7, 4)
    assert other.adds_to(one.mask)
    assert not one.adds_to(both.mask)


def test_untraced_device_has_no_points(cache, by_hand):
    device = AmdgpuDevice(cache=cache)
    assert reached(device, by_hand, 4099, 32) == Reached(0, 0, "0")


def test_joined_coverage_concatenates_kernels():
    both = concatenate_coverage([Reached.of(2, 2, 0b0110), Reached.of(1, 0, 0b1), Reached.of(1, 2, 0b101)])
    assert both == Reached.of(4, 4, 0b10_01_1_1_10)
    assert concatenate_coverage([]) is None


def test_loop_body_that_does_not_run_is_not_reached(device, code):
    values = np.array([1, 1, 1, 1], np.int32)
    run_collatz(device, code, values)
    once = device.take_reached(code, "collatz")
    run_collatz(device, code, np.array([1, 2, 3, 4], np.int32))
    assert once.blocks_reached < device.take_reached(code, "collatz").blocks_reached == once.blocks


def run_collatz(device, code, values):
    x, y = device.allocate(values.nbytes), device.allocate(values.nbytes)
    device.write(x, values)
    args = pack(code.kernels["collatz"], [values.size, x, y])
    device.launch(code, "collatz", grid=(1, 1, 1), block=(32, 1, 1), args=args)
