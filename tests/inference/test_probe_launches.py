"""Launches that reach farther than the emulator traces."""

from __future__ import annotations

import pytest

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.ptx.device import PtxDevice
from parity.inference.probe_launches import LARGE_BUDGET, LaunchConfig, ProbeLaunches
from parity.inference.spec import KernelArgument
from parity.model.dtypes import NUMBERS

FAR = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry far(.param .u64 far_0)
{
    .reg .b64 %d<4>; .reg .b32 %r<2>;
    ld.param.u64 %d0, [far_0]; mov.u32 %r0, 1;
    st.global.u32 [%d0+4194304], %r0;
    ret;
}
"""


@pytest.mark.parametrize("grows", [False, True])
def test_only_launches_that_grow_are_repeated_with_larger_allocations(cache, grows):
    device = PtxDevice(traced=True, instruction_budget=LARGE_BUDGET, cache=cache)
    code = parse_ptx(FAR, "module", target("sm_90"))
    args = [KernelArgument("x", NUMBERS["f32"], is_pointer=True)]
    launches = ProbeLaunches(device, code, "far", args, 1, budget=LARGE_BUDGET, grows=grows)
    observed = launches.observe(LaunchConfig({}, (1, 1, 1), (32, 1, 1), 0))
    assert (observed is not None) == grows and (not observed or observed["x"].end > 1 << 20)


@pytest.mark.parametrize("inside", [False, True])
def test_access_before_a_field_of_a_structure_may_be_due_to_its_other_fields(cache, inside):
    text = FAR.replace("+4194304", "+-8").replace(".u64 far_0", ".align 8 .b8 far_0[16]" if inside else ".u64 far_0")
    args = [KernelArgument("x", NUMBERS["f32"], is_pointer=True)]
    args += [KernelArgument("dims", NUMBERS["i32"], is_pointer=False, key=(0, 8))] if inside else []
    device = PtxDevice(traced=True, instruction_budget=LARGE_BUDGET, cache=cache)
    launches = ProbeLaunches(device, parse_ptx(text, "module", target("sm_90")), "far", args, 1)
    assert launches.observe(LaunchConfig({"dims": 2} if inside else {}, (1, 1, 1), (32, 1, 1), 0)) is None
    assert launches.before is not inside and "out-of-bounds write" in launches.fault
