"""Slots of virtual registers, and which registers share a slot."""

import numpy as np
import pytest
from ptx_runs import kernel, module

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import UnsupportedFeature
from parity.emulator.ptx.device import PtxDevice
from parity.emulator.ptx.parse import size_of
from parity.emulator.ptx.pipeline import optimized_functions
from parity.emulator.ptx.register_slots import allocate_slots


@pytest.mark.parametrize(
    ("first", "second", "shares"),
    [
        (("f64", "%e1"), ("f64", "%e2"), True),
        (("b64", "%d1"), ("b64", "%d2"), True),
        (("b64", "%d1"), ("f64", "%e2"), False),  # an address is a subnormal number
        (("b32", "%r1"), ("f32", "%f2"), False),
        (("b32", "%r1"), ("b64", "%d2"), False),
    ],
)
def test_registers_of_one_kind_share_slot_unless_live_together(first, second, shares):
    (kind, one), (other, two) = first, second
    load = f"ld.global.{kind} {one}, [%x];", f"ld.global.{other} {two}, [%x+8];"
    store = f"st.global.{kind} [%x], {one};", f"st.global.{other} [%x+8], {two};"
    for order, share in (((load[0], store[0], load[1], store[1]), shares), ((*load, *store), False)):
        (function,) = optimized_functions(module(kernel(" ".join(order))), "k")
        places = allocate_slots(function, size_of).places
        assert (places[one] == places[two]) == share


def test_registers_of_a_kernel_with_thousands_fit_into_the_snapshot(cache):
    code = parse_ptx(module(_sum_of_loads(2200)), "module", target("sm_90"))
    device = PtxDevice(traced=True, cache=cache, instruction_budget=200_000)
    out = device.allocate(128, "out")
    device.write(out, np.arange(32, dtype=np.uint32))
    device.launch(code, "k", grid=(1, 1, 1), block=(32, 1, 1), args=pack(code.kernels["k"], [out]))
    assert device.read(out).view(np.uint32)[1] == 2200
    assert device._registers.size >= 2200 * 32 * 4


@pytest.mark.thorough
def test_registers_beyond_the_stack_are_refused(cache):
    code = parse_ptx(module(_sum_of_loads(6600)), "module", target("sm_90"))
    device = PtxDevice(traced=True, cache=cache)
    with pytest.raises(UnsupportedFeature, match=r"6,60\d registers per thread"):
        device.launch(code, "k", grid=(1, 1, 1), block=(32, 1, 1), args=bytes(8))


def _sum_of_loads(count):
    """The PTX of a kernel with ``count`` registers that are live together."""
    first = "\n".join(f"ld.volatile.global.u32 %q{i}, [%x];" for i in range(count))
    last = "\n".join(f"add.u32 %r1, %r1, %q{i};" for i in range(count))
    return kernel(f".reg .b32 %q<{count}>;\n{first}\nmov.u32 %r1, 0;\n{last}\nst.global.u32 [%x], %r1;", 1)
