"""Calls through pointers and recursive calls of PTX."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_runs import kernel, module, run

from parity.emulator.faults import Trapped
from parity.emulator.ptx.calls import DEEPEST, kernel_functions

ADD = """
.func (.param .b32 sum) add(.param .b32 a, .param .b64 b)
{
    .reg .b32 %r<4>; .reg .b64 %d;
    ld.param.b32 %r1, [a]; ld.param.b64 %d, [b]; cvt.u32.u64 %r2, %d;
    add.u32 %r3, %r1, %r2; st.param.b32 [sum+0], %r3;
    ret;
}
"""
SUB = ADD.replace("add(", "sub(").replace("add.u32", "sub.u32")
OTHER = """
.func (.param .b32 same) other(.param .b32 a) { .reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 [same], %r; ret; }
"""
BY_POINTER = """
    ld.global.u32 %r0, [%x];
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p0, %r1, 0;
    mul.wide.u32 %d0, %r1, 8;
    mov.u64 %d1, table;
    add.s64 %d2, %d1, %d0;
    ld.const.u64 %d3, [%d2];
    mov.u64 %d4, 0x500000003;
    {
    .param .b32 param0;
    st.param.b32 [param0+0], %r0;
    .param .b64 param1;
    st.param.b64 [param1+0], %d4;
    .param .b32 retval0;
    prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
    call (retval0),
    %d3,
    (
    param0,
    param1
    )
    , prototype_0;
    ld.param.b32 %r2, [retval0+0];
    }
    st.global.u32 [%y], %r2;
"""
FIB = """
.func (.param .b32 value) fib(.param .b32 n)
{
    .reg .b32 %r<9>; .reg .pred %p;
    ld.param.b32 %r1, [n];
    setp.lt.u32 %p, %r1, 2;
    mov.u32 %r5, %r1;
    @%p bra done;
    sub.u32 %r2, %r1, 1;
    { .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0;
    call.uni (retval0),
    fib,
    (param0); ld.param.b32 %r3, [retval0+0]; }
    sub.u32 %r2, %r1, 2;
    { .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0; call.uni (retval0), fib, (param0);
    ld.param.b32 %r4, [retval0+0]; }
    add.u32 %r5, %r3, %r4;
done:
    st.param.b32 [value+0], %r5;
    ret;
}
"""
CALL_OF_FIB = """
    ld.global.u32 %r0, [%x];
    { .param .b32 param0; st.param.b32 [param0+0], %r0; .param .b32 retval0; call.uni (retval0), fib, (param0);
    ld.param.b32 %r1, [retval0+0]; }
    st.global.u32 [%y], %r1;
"""
TABLE = ".const .align 8 .u64 table[2] = {add, sub};"


def called(text, cache, x):
    """Return what the kernel writes for the numbers ``x``."""
    (_, found), _ = run(text, cache, x, np.zeros(32, np.uint32), budget=9_000_000)
    return found


def test_threads_call_different_functions_through_pointers(cache):
    x = np.arange(100, 132, dtype=np.uint32)
    found = called(module(ADD, SUB, OTHER, TABLE, kernel(BY_POINTER)), cache, x)
    np.testing.assert_array_equal(found, np.where(np.arange(32) % 2, x - 3, x + 3))


@pytest.mark.parametrize("table", [".const .align 8 .u64 table[2] = {0, sub};", TABLE.replace("sub", "other")])
def test_pointer_to_no_function_with_these_parameters_is_a_trap(cache, table):
    with pytest.raises(Trapped):
        called(module(ADD, SUB, OTHER, table, kernel(BY_POINTER)), cache, np.zeros(32, np.uint32))


def test_generated_functions_keep_the_numbers_of_lines(cache):
    text = module(ADD, SUB, OTHER, TABLE, kernel(BY_POINTER))
    direct = kernel_functions(text, "k")
    assert {each.name for each in direct} == {"k", "add", "sub", "call_by_pointer_4_of_4_8"}
    before = text[text.index(".visible .entry") :]
    assert direct[0].text.count("\n") == before.rstrip().count("\n")


def test_threads_recurse_to_different_depths(cache):
    x = np.arange(32, dtype=np.uint32) % 11
    fib = np.array([0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55])
    np.testing.assert_array_equal(called(module(FIB, kernel(CALL_OF_FIB)), cache, x), fib[x])


def test_recursion_that_is_too_deep_is_a_trap(cache):
    x = np.full(32, DEEPEST + 1, np.uint32)
    with pytest.raises(Trapped):
        called(module(FIB, kernel(CALL_OF_FIB)), cache, x)
