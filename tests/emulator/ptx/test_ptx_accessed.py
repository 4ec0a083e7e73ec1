"""The bytes that a launch accessed, regardless of earlier launches."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_runs import kernel, module

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.ptx.device import PtxDevice

WHOLE = "ld.global.u32 %r1, [%y]; st.global.u32 [%x], %r1;"
PARTS = """
    setp.lt.u32 %p1, %t, 5; and.b32 %r2, %t, 1; setp.eq.u32 %p2, %r2, 1;
    @%p1 ld.global.u8 %r1, [%y+2];
    @%p2 st.global.u16 [%x], %h1;
"""
READ = {4 * i + 2 for i in range(5)}
WRITTEN = {4 * i + k for i in range(1, 64, 2) for k in range(2)}


@pytest.mark.parametrize("before", [(), (WHOLE,), (WHOLE, PARTS)], ids=["first", "after all", "after the same"])
def test_accessed_returns_bytes_read_and_written(cache, before):
    device = PtxDevice(traced=True, cache=cache)
    out, given = (device.allocate(4 * 64, name) for name in ("out", "given"))
    device.write(given, np.zeros(64, np.uint32))
    for body in (*before, PARTS):
        code = parse_ptx(module(kernel(body)), "module", target("sm_90"))
        args = pack(code.kernels["k"], [out, given])
        device.launch(code, "k", grid=(2, 1, 1), block=(32, 1, 1), args=args)
    both = READ | {128 + each for each in READ}
    assert {*np.flatnonzero(device.accessed(given)[0])} == both and not device.accessed(given)[1].any()
    assert {*np.flatnonzero(device.accessed(out)[1])} == WRITTEN and not device.accessed(out)[0].any()
