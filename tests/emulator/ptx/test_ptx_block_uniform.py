"""Block-uniform values are computed once; loads of all threads from one address are one access."""

import numpy as np
import pytest
from ptx_runs import HEAD, kernel, module, run, u32

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import DataRace, MemoryFault
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.ptx.block_uniform import block_uniform_registers
from parity.emulator.ptx.device import PtxDevice
from parity.emulator.ptx.parse import function_texts, parse_function
from parity.emulator.ptx.translation import PtxMemoryLayout

LAYOUT = PtxMemoryLayout({"k_0": 0}, {"tile": 0}, {("k", "own"): 0}, {"table": 0})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ld.param.u32 %r1, [k_0]; add.u32 %r2, %r1, 1;", {"%r1": False, "%r2": False}),
        (
            "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mul.lo.u32 %r3, %r1, %r2;",
            {"%r1": True, "%r2": False, "%r3": True},
        ),
        ("mov.u64 %d1, table; mov.u64 %d2, tile; mov.u64 %d3, own;", {"%d1": False, "%d2": False}),
        ("mov.u32 %r1, 1; mov.u32 %r1, 2;", {}),  # written twice
        ("mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1;", {}),  # differs between threads
        ("@%p1 mov.u32 %r1, 1;", {}),  # written by some threads only
        ("add.cc.u32 %r1, 1, 2; addc.u32 %r2, 0, 0;", {}),  # each thread has a carry
        ("ld.global.u32 %r1, [%d1]; mov.u32 %r2, %clock;", {}),
    ],
    ids=["parameter", "index of the block", "addresses", "twice", "thread", "guard", "carry", "time"],
)
def test_block_uniform_registers_are_found(body, expected):
    registers = ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;"
    text = f"{HEAD} .visible .entry k(.param .u32 k_0) {{ {registers} {body} ret; }}"
    found = block_uniform_registers(parse_function(function_texts(text)["k"], {}), LAYOUT)
    assert {each.register: each.per_block for each in found} == expected


def test_uniform_registers_differ_between_blocks_and_launches(cache):
    """Uses blocks of several warps, and launches with different arguments on one device."""
    text = module(kernel("ld.global.u32 %r1, [%b1]; add.u32 %r2, %r1, %g; st.global.u32 [%x], %r2;"))
    code, device = parse_ptx(text, "module", target("sm_90")), PtxDevice(traced=True, cache=cache)
    out, *added = (device.allocate(size, "buffer") for size in (4 * 96 * 3, 4, 4))
    for buffer, value in zip(added, (10, 2000), strict=True):
        device.write(buffer, u32(value))
    for buffer, value, block in ((added[0], 10, 96), (added[1], 2000, 96), (added[0], 10, 32)):
        args = pack(code.kernels["k"], [out, buffer])
        device.launch(code, "k", grid=(3, 1, 1), block=(block, 1, 1), args=args, options=LaunchOptions(seed=3))
        found = device.read(out, size=4 * 3 * block).view(np.uint32)
        assert found.tolist() == [value + i // block for i in range(3 * block)]


def test_uniform_load_is_bounds_checked(cache):
    text = module(kernel("ld.global.u32 %r1, [%b1+16]; st.global.u32 [%x], %r1;"))
    with pytest.raises(MemoryFault, match="0 bytes past the end") as caught:
        run(text, cache, np.zeros(32, np.uint32), u32(1, 2, 3, 4))
    assert caught.value.lane == 0


@pytest.mark.parametrize("seed", range(4))
def test_uniform_load_races_with_store(cache, seed):
    text = module(
        kernel(
            "setp.eq.u32 %p1, %t, 40; @%p1 st.global.u32 [%b1], %t; ld.global.u32 %r1, [%b1]; st.global.u32 [%x], %r1;"
        )
    )
    with pytest.raises(DataRace):
        run(text, cache, np.zeros(64, np.uint32), u32(1), block=64, seed=seed)


def test_inactive_threads_keep_register(cache):
    text = module(
        kernel(
            """
    mov.u32 %r1, %t; setp.gt.u32 %p1, %t, 9;
    @%p1 add.u32 %r1, %r1, %n;
    @%p1 add.u32 %r1, %r1, 1000;
    st.global.u32 [%x], %r1;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32))
    assert found.tolist() == [t + 1032 if t > 9 else t for t in range(32)]


def test_load_from_divergent_address_reads_each_address(cache):
    text = module(
        kernel(
            """
    setp.eq.u32 %p1, %t, 5; selp.u32 %r1, 4, 0, %p1; cvt.u64.u32 %d1, %r1; add.u64 %d2, %b1, %d1;
    ld.global.u32 %r2, [%d2]; st.global.u32 [%x], %r2;
"""
        )
    )
    (found, _), _ = run(text, cache, np.zeros(32, np.uint32), u32(7, 8))
    assert found.tolist() == [8 if t == 5 else 7 for t in range(32)]
