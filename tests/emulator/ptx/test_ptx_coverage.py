"""Coverage of PTX kernels: exact figures for handwritten code."""

import numpy as np
import pytest
from ptx_runs import kernel, module

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.ptx.device import PtxDevice
from parity.footprint.basic_blocks import point_places
from parity.footprint.compared_constants import kernel_constants
from parity.footprint.unreached_code import GapKind, find_gaps
from parity.model.coverage import Reached

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
def test_launch_records_blocks_and_branch_directions_of_warp(cache, values, blocks, directions):
    code = parse_ptx(module(kernel(BODY, 1)), "module", target("sm_90"))
    device = PtxDevice(traced=True, cache=cache)
    x = device.allocate(128)
    device.write(x, values.astype(np.uint32))
    device.launch(code, "k", grid=(1, 1, 1), block=(32, 1, 1), args=pack(code.kernels["k"], [x]))
    found = device.take_reached(code, "k")
    assert found == Reached.of(3, 2, int((blocks + directions)[::-1], 2))
    assert [point.kind for point in device.points(code, "k")] == ["block"] * 3 + ["not taken", "taken"]


# Blocks: up to the branch; up to the call; up to the indexed branch; A; B; DONE; the three of the function.
FUNCTION = """
.file 1 "mine.cu"
.file 2 "cuda-include/cuda_fp16.hpp"
.func (.param .b32 out) half(.param .b32 in) {
    .reg .pred %p<2>; .reg .b32 %r<3>;
    .loc 1 90 1
    ld.param.u32 %r1, [in];
    setp.eq.f32 %p1, %r1, 0f4640E600;
    @%p1 bra REST;
    .loc 2 77 1, function_name $name, inlined_at 1 91 1
    shr.u32 %r1, %r1, 12;
REST:
    .loc 1 92 1
    st.param.b32 [out], %r1;
    ret;
}
"""
CALLS = """
    .loc 1 10 1
    ld.global.u32 %r1, [%x];
    setp.lt.s32 %p1, %r1, -7;
    @%p1 bra DONE;
    .loc 1 11 1
    { .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call (out), half, (in); ld.param.b32 %r2, [out]; }
    .loc 1 12 1
    setp.eq.u32 %p2, %r2, 4099;
    CHOICES: .branchtargets A, B;
    brx.idx %r2, CHOICES;
A:
    .loc 1 13 1
    add.u32 %r1, %r1, 65536;
    bra DONE;
B:
    .loc 1 14 1
    trap;
DONE:
    .loc 1 15 1
    st.global.u32 [%x], %r1;
"""


def reached_by(code, cache, value):
    device = PtxDevice(traced=True, cache=cache)
    x = device.allocate(128)
    device.write(x, np.full(32, value, np.int32))
    device.launch(code, "k", grid=(1, 1, 1), block=(32, 1, 1), args=pack(code.kernels["k"], [x]))
    return device.take_reached(code, "k")


def test_gaps_have_line_and_guard(cache):
    code = parse_ptx(module(FUNCTION, kernel(CALLS, 1)), "module", target("sm_90"))
    shown = {
        value: [[(each.kind, each.line, each.guard, each.header, each.reason) for each in block] for block in gaps]
        for value in (-9, 3)
        for gaps in [find_gaps(code, ["k"], reached_by(code, cache, value))]
    }
    trap = (GapKind.LINE, "mine.cu:14", "mine.cu:12", "", "a trap or a failed assertion, which would be a fault")
    inlined = "cuda-include/cuda_fp16.hpp:77"
    assert shown[3] == [[trap]]
    assert shown[-9] == [
        [(GapKind.LINE, "mine.cu:11", "mine.cu:10", "", "")],
        [(GapKind.LINE, "mine.cu:11", "mine.cu:10", "", ""), (GapKind.LINE, "mine.cu:12", "mine.cu:10", "", "")],
        [(GapKind.LINE, "mine.cu:13", "mine.cu:10", "", "")],
        [(GapKind.LINE, "mine.cu:14", "mine.cu:10", "", trap[-1])],
        [(GapKind.LINE, "mine.cu:90", "mine.cu:10", "", "")],
        [(GapKind.LIBRARY, "mine.cu:91", "mine.cu:10", inlined, "")],
        [(GapKind.LINE, "mine.cu:92", "mine.cu:10", "", "")],
    ]


def test_kernel_constants_and_point_places_read_ptx():
    code = parse_ptx(module(FUNCTION, kernel(CALLS, 1)), "module", target("sm_90"))
    found = kernel_constants(code, ["k"])
    assert found.whole[:2] == (-7, 4099) and {65536, 1 << 12} <= {*found.whole}
    assert found.real[0] == 12345.5
    blocks = ("mine.cu:10", *(f"mine.cu:{line}" for line in (11, 11, 13, 14, 15, 90, 91, 92)))
    assert point_places(code, ["k"]) == (*blocks, *2 * ["mine.cu:10"], *2 * ["mine.cu:90"])
