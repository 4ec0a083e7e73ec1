"""Slots of virtual registers, and which registers share a slot."""

import pytest
from ptx_runs import kernel, module

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
