"""What of a PTX kernel's code launches reach: exact figures of code that is written by hand."""

import numpy as np
import pytest
from ptx_runs import kernel, module

from parity.coverage import Reached
from parity.emulator import pack
from parity.emulator.ptx import PtxDevice
from parity.toolchain import target
from parity.toolchain.cuda import parse_ptx

# Blocks: up to the branch; 2; at SMALL.
BODY = """
    ld.global.u32 %r1, [%x];
    setp.lt.u32 %p1, %r1, 8;
    @%p1 bra SMALL;
    add.u32 %r1, %r1, 1;
SMALL:
    st.global.u32 [%x], %r1;
"""


@pytest.mark.parametrize(
    ("values", "blocks", "directions"),
    [(np.full(32, 3), "101", "01"), (np.full(32, 9), "111", "10"), (np.arange(32), "111", "11")],
    ids=["all lanes branch", "none does", "some do"],
)
def test_blocks_and_directions_of_the_threads_of_a_warp(cache, values, blocks, directions):
    code = parse_ptx(module(kernel(BODY, 1)), "module", target("sm_90"))
    device = PtxDevice(traced=True, cache=cache)
    x = device.allocate(128)
    device.write(x, values.astype(np.uint32))
    device.launch(code, "k", grid=(1, 1, 1), block=(32, 1, 1), args=pack(code.kernels["k"], [x]))
    found = device.take_reached(code, "k")
    assert found == Reached.of(3, 2, int((blocks + directions)[::-1], 2))
    assert [point.kind for point in device.points(code, "k")] == ["block"] * 3 + ["not taken", "taken"]
