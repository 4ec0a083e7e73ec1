"""Memory of all kinds, calls, printing, assertions, and invalid accesses."""

import numpy as np
import pytest
from ptx_runs import kernel, module, run, u32

from parity.emulator.faults import (
    FailedAssertion,
    LdsExceeded,
    MemoryFault,
    MisalignedAccess,
    Trapped,
    UnknownInstruction,
    UnsupportedFeature,
)
from parity.errors import ParityError

COPY = kernel(
    """
    .loc 1 12 5
    ld.global.u32 %r1, [%x+{offset}];
    .loc 1 13 5
    st.global.u32 [%y], %r1;
"""
)
FILE = '.file 1 "/home/me/copy.cu"\n'


def test_access_past_buffer_end_names_source_line(cache):
    x = np.arange(32, dtype=np.uint32)
    (_, y), _ = run(module(FILE, COPY.replace("{offset}", "0")), cache, x, np.zeros_like(x))
    assert y.tolist() == x.tolist()
    with pytest.raises(MemoryFault, match=r"out-of-bounds read of 4 bytes .* at /home/me/copy\.cu:12") as info:
        run(module(FILE, COPY.replace("{offset}", "8")), cache, x, np.zeros_like(x))
    assert "lane 30" in str(info.value)
    assert "ld.global.u32 %r1, [%x+8]" in str(info.value)
    with pytest.raises(MemoryFault, match=r"out-of-bounds write of 4 bytes in kernel 'k' at /home/me/copy\.cu:13"):
        run(module(FILE, COPY.replace("{offset}", "0")), cache, x, np.zeros(31, np.uint32))
    with pytest.raises(MisalignedAccess):
        run(module(FILE, COPY.replace("{offset}", "2")), cache, x, np.zeros_like(x))


def test_address_of_parameter_leads_to_arguments(cache):
    body = "mov.b64 %d1, k_0; ld.param.u64 %d2, [%d1+8]; cvta.param.u64 %d1, %d1; ld.u64 %d3, [%d1]; ld.u32 %r1, [%d3];"
    (_, y), _ = run(module(kernel(body + "st.u32 [%d2], %r1;")), cache, u32(7, 8), u32(0, 0))
    assert y.tolist() == [7, 0]


def test_reserved_shared_memory_begins_as_zeros_in_each_block(cache):
    body = """
    mov.u32 %r1, %reserved_smem_offset_1; ld.shared.u32 %r2, [%r1]; bar.sync 0; setp.ne.u32 %p1, %t, 0;
    @!%p1 st.shared.u32 [%r1], 7; bar.sync 0; ld.shared.u32 %r3, [%r1]; mad.lo.u32 %r2, %r2, 100, %r3;
    st.global.u32 [%x], %r2;
"""
    (x,), _ = run(module(kernel(body, params=1)), cache, np.zeros(64, np.uint32), grid=2)
    assert x.tolist() == [7] * 64


def test_reserved_shared_memory_orders_warps_without_barrier(cache):
    exchange = """
    mov.u32 %r1, {place}; setp.ne.u32 %p1, %t, 0; setp.ne.u32 %p2, %t, 32;
    @!%p1 st.shared.u32 [%r1], 5; @!%p2 ld.shared.u32 %r2, [%r1]; st.global.u32 [%x], %t;
"""
    x = np.zeros(64, np.uint32)
    run(module(kernel(exchange.format(place="%reserved_smem_offset_1"), params=1)), cache, x, block=64)
    with pytest.raises(ParityError, match="data race"):
        run(module(".shared .b32 s;", kernel(exchange.format(place="s"), params=1)), cache, x, block=64)


def test_vector_accesses_and_register_parts_move_bytes(cache):
    text = module(
        kernel(
            """
    mul.wide.u32 %d1, %t, 16; add.u64 %d2, %b0, %d1; add.u64 %d3, %b1, %d1;
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2];
    mov.b32 {%h1, %h2}, %r1; mov.b32 %r5, {%h2, %h1};
    mov.b64 %d4, {%r2, %r3}; mov.b64 {%r6, %r7}, %d4;
    st.global.v2.u16 [%d3+8], {%h2, %h1}; st.global.v2.b32 [%d3], {%r7, %r6};
    ld.global.s8 %r8, [%d2+12]; st.global.u8 [%d3+12], %r8; shr.s32 %r9, %r8, 8; st.global.u8 [%d3+13], %r9;
    cvt.u16.u32 %h3, %r4; st.global.u16 [%d3+14], %h3;
"""
        )
    )
    x = np.random.default_rng(1).integers(0, 256, (32, 16)).astype(np.uint8)
    (_, y), _ = run(text, cache, x, np.zeros_like(x))
    expected = np.concatenate([x[:, [8, 9, 10, 11, 4, 5, 6, 7, 2, 3, 0, 1, 12]], np.zeros((32, 3), np.uint8)], 1)
    expected[:, 13] = np.where(x[:, 12] > 127, 255, 0)
    expected[:, 14:] = x[:, 12:14]
    assert y.tolist() == expected.tolist()


def test_registers_of_inner_scope_hide_outer_registers(cache):
    """As in inline assembly, inner names hide outer names and need neither a percent sign nor a space."""
    text = module(
        kernel(
            """
    ld.global.u32 %r1, [%x];
    {.reg.b32 f;
     .reg .b32 %r1; mov.u32 f, 5; mov.u32 %r1,7; {.reg.pred p; setp.lt.u32 p, %t, 3; @p mov.u32 f, 9;}
     add.u32 %r2,f,%r1;}
    add.u32 %r1, %r1, %r2; st.global.u32 [%x], %r1;
""",
            1,
        )
    )
    (found,), _ = run(text, cache, np.arange(32, dtype=np.uint32))
    assert found.tolist() == [t + 7 + (9 if t < 3 else 5) for t in range(32)]


def test_module_variables_are_initialized(cache):
    text = module(
        ".const .align 4 .u32 table[4] = {10, 20, 0x1e, 40};",
        ".visible .global .align 8 .u64 place = table;",
        ".global .align 4 .f32 scale = 0f40000000;",
        kernel(
            """
    and.b32 %r1, %t, 3; mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, table; add.u64 %d2, %d2, %d1;
    ld.const.u32 %r2, [%d2];
    ld.global.u64 %d3, [place]; ld.u32 %r3, [%d3+4];
    ld.global.f32 %f1, [scale]; cvt.rzi.u32.f32 %r4, %f1;
    mad.lo.u32 %r5, %r2, %r4, %r3;
    st.global.u32 [%x], %r5;
""",
            1,
        ),
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32))
    assert found.tolist() == [2 * (10, 20, 30, 40)[t & 3] + 20 for t in range(32)]


def test_index_past_a_variable_does_not_read_the_next_one(cache):
    read = kernel("""
    mul.wide.u32 %d1, %t, 4; mov.u64 %d2, table; add.u64 %d2, %d2, %d1; ld.const.u32 %r2, [%d2];
    st.global.u32 [%x], %r2;
""", 1)  # fmt: skip
    text = module(".const .align 4 .u32 table[4] = {1, 2, 3, 4};", ".const .align 4 .u32 next[64];", read)
    (found,), _ = run(text, cache, np.zeros(4, np.uint32), block=4)
    assert found.tolist() == [1, 2, 3, 4]
    with pytest.raises(MemoryFault, match="out-of-bounds read of 4 bytes") as info:
        run(text, cache, np.zeros(5, np.uint32), block=5)
    assert "past the end of variable table" in str(info.value)


LOCAL = kernel(
    """
    .local .align 4 .b8 depot[32];
    mov.u64 %d1, depot; cvta.local.u64 %d2, %d1;
    and.b32 %r1, %t, 7; mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
    st.local.u32 [%d4{offset}], %t; ld.u32 %r2, [%d5]; st.global.u32 [%x], %r2;
""",
    1,
)


def test_local_memory_is_private_and_bounds_checked(cache):
    (found,), _ = run(module(LOCAL.replace("{offset}", "")), cache, np.zeros(64, np.uint32), block=64)
    assert found.tolist() == list(range(64))
    with pytest.raises(MemoryFault, match="0 bytes past the end of scratch of lane 6") as info:
        run(module(LOCAL.replace("{offset}", "+8")), cache, np.zeros(64, np.uint32), block=64)
    assert "out-of-bounds write of 4 bytes" in str(info.value)
    unwritten = LOCAL.replace("st.local.u32 [%d4{offset}], %t;", "")
    with pytest.raises(MemoryFault, match="never-written read of 4 bytes"):
        run(module(unwritten), cache, np.zeros(1, np.uint32), block=1)


def test_local_memory_is_fresh_in_every_block(cache):
    """The first two of three blocks write their local memory, the third does not."""
    text = module(
        LOCAL.replace("st.local.u32 [%d4{offset}], %t;", "setp.lt.u32 %p1, %g, 2; @%p1 st.local.u32 [%d4], %t;")
    )
    (found,), _ = run(text, cache, np.zeros(16, np.uint32), block=8, grid=2)
    assert found.tolist() == 2 * [*range(8)]
    with pytest.raises(MemoryFault, match="never-written read of 4 bytes"):
        run(text, cache, np.zeros(24, np.uint32), block=8, grid=3)


CALLS = """
.func (.param .b32 out) twice(.param .b32 a, .param .align 4 .b8 more[8])
{
    .reg .b32 %r<5>;
    ld.param.u32 %r1, [a]; ld.param.u32 %r2, [more+4];
    add.u32 %r3, %r1, %r1; add.u32 %r3, %r3, %r2;
    st.param.b32 [out], %r3;
    ret;
}
"""
CALL = """{{
    .param .b32 p0; st.param.b32 [p0], {a};
    .param .align 4 .b8 p1[8]; st.param.v2.b32 [p1], {{{a}, {b}}};
    .param .b32 r0;
    call.uni (r0), twice, (p0, p1);
    ld.param.b32 {to}, [r0];
    }}"""


@pytest.mark.parametrize("seed", range(4))
def test_calls_from_both_sides_of_branch_return_values(cache, seed):
    text = module(
        CALLS,
        kernel(
            "mov.u32 %r4, 100; and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;"
            + CALL.format(a="%t", b="%r4", to="%r5")
            + "bra.uni END; EVEN: add.u32 %r6, %t, 1;"
            + CALL.format(a="%r6", b="%t", to="%r5")
            + CALL.format(a="%r5", b="%r4", to="%r5")
            + "END: st.global.u32 [%x], %r5;",
            1,
        ),
    )
    (found,), _ = run(text, cache, np.zeros(32, np.uint32), seed=seed)
    assert found.tolist() == [2 * t + 100 if t & 1 else 2 * (2 * (t + 1) + t) + 100 for t in range(32)]


def test_printf_prints_formatted_text(cache):
    text = module(
        ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);",
        ".global .align 1 .b8 fmt[22] = {37,100,32,37,46,50,102,32,37,115,32,37,108,108,117,32,37,99,37,37,10,0};",
        ".global .align 1 .b8 word[4] = {97,98,99,0};",
        kernel(
            """
    .local .align 8 .b8 depot[40];
    setp.ne.u32 %p1, %t, 3; @%p1 bra END;
    mov.u64 %d1, depot; cvta.local.u64 %d2, %d1;
    st.local.u32 [%d1], -7; mov.f64 %e1, 0d3FF8000000000000; st.local.f64 [%d1+8], %e1;
    mov.u64 %d3, word; cvta.global.u64 %d4, %d3; st.local.u64 [%d1+16], %d4;
    mov.u64 %d5, 5000000000; st.local.u64 [%d1+24], %d5; st.local.u32 [%d1+32], 65;
    mov.u64 %d6, fmt; cvta.global.u64 %d7, %d6;
    { .param .b64 p0; st.param.b64 [p0], %d7; .param .b64 p1; st.param.b64 [p1], %d2; .param .b32 r0;
    call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r1, [r0]; }
END:
""",
            1,
        ),
    )
    _, printed = run(text, cache, u32(0))
    assert printed == "-7 1.50 abc 5000000000 A%\n"


def test_failed_assertions_and_traps_raise(cache):
    def text(value):
        return ", ".join(str(byte) for byte in (*value.encode(), 0))

    names = {"m": "n > 0", "f": "/somewhere/.build-xyz/cuda/sub/a.cu", "g": "void k()"}
    variables = [f".global .align 1 .b8 {n}[{len(v) + 1}] = {{{text(v)}}};" for n, v in names.items()]
    body = "setp.ne.u32 %p1, %t, 5; @%p1 bra END; {"
    for i, name in enumerate("mf"):
        body += f".param .b64 p{i}; mov.u64 %d1, {name}; cvta.global.u64 %d2, %d1; st.param.b64 [p{i}], %d2;"
    body += ".param .b32 p2; st.param.b32 [p2], 17; .param .b64 p3; mov.u64 %d1, g; cvta.global.u64 %d2, %d1;"
    body += "st.param.b64 [p3], %d2; .param .b64 p4; st.param.b64 [p4], 1;"
    body += "\n.loc 1 17 1\ncall.uni __assertfail, (p0, p1, p2, p3, p4); } END:"
    extern = ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);"
    with pytest.raises(FailedAssertion) as info:
        run(module(extern, *variables, kernel(body, 1), '.file 1 "sub/a.cu"'), cache, u32(0))
    assert "n > 0" in str(info.value)
    assert "at sub/a.cu:17, in void k()" in str(info.value)  # relative to the project, not to the build folder
    assert "thread (5, 0, 0)" in str(info.value)
    with pytest.raises(Trapped, match=r"thread \(9, 0, 0\)"):
        run(module(kernel("setp.eq.u32 %p1, %t, 9; @%p1 trap;", 1)), cache, u32(0))


@pytest.mark.parametrize("seed", [0, 5])
def test_atomics_update_global_memory(cache, seed):
    text = module(
        kernel(
            """
    red.global.add.u32 [%b0], %t;
    atom.global.max.s32 %r1, [%b0+4], %t;
    atom.global.inc.u32 %r2, [%b0+8], 9;
    cvt.rn.f32.u32 %f1, %t; red.global.add.f32 [%b0+12], %f1;
    atom.global.and.b32 %r3, [%b0+16], %t;
    st.global.u32 [%y], %r2;
"""
        )
    )
    (x, y), _ = run(text, cache, u32(5, 7, 0, 0, 0xFFFFFFFF), np.zeros(64, np.uint32), block=64, seed=seed)
    assert x.tolist() == [5 + 2016, 63, 64 % 10, int(np.float32(2016).view(np.uint32)), 0]
    assert sorted(y.tolist()) == sorted(i % 10 for i in range(64))


def test_dynamic_shared_memory_is_usable_and_bounds_checked(cache):
    text = module(
        ".extern .shared .align 16 .b8 dynamic[];",
        ".shared .align 4 .b8 fixed[12];",
        kernel(
            """
    mov.u32 %r1, dynamic; mov.u32 %r2, fixed; mov.u32 %r5, %dynamic_smem_size;
    mad.lo.u32 %r3, %t, 4, %r1; st.shared.u32 [%r3{offset}], %t; ld.shared.u32 %r4, [%r3];
    setp.gt.u32 %p1, %t, 2; @%p1 bra END; mad.lo.u32 %r6, %t, 4, %r2; st.shared.u32 [%r6], 0;
END:
    add.u32 %r4, %r4, %r5; st.global.u32 [%x], %r4;
""",
            1,
        ),
    )
    (found,), _ = run(text.replace("{offset}", ""), cache, np.zeros(32, np.uint32), shared=128)
    assert found.tolist() == [128 + t for t in range(32)]
    with pytest.raises(MemoryFault, match="out-of-bounds write"):
        run(text.replace("{offset}", "+4"), cache, np.zeros(32, np.uint32), shared=128)


def test_dynamic_shared_memory_is_limited_by_gpu(cache):
    text = module(
        ".extern .shared .align 16 .b8 dynamic[];",
        kernel(
            """
    mov.u32 %r1, dynamic; mov.u32 %r2, %dynamic_smem_size; add.u32 %r1, %r1, %r2; mad.lo.s32 %r3, %t, -4, %r1;
    st.shared.u32 [%r3{offset}], %t; ld.shared.u32 %r4, [%r3{offset}]; st.global.u32 [%x], %r4;
""",
            1,
        ),
    )
    most = 227 * 1024
    (found,), _ = run(text.replace("{offset}", "+-4"), cache, np.zeros(32, np.uint32), shared=most)
    assert found.tolist() == [*range(32)]
    with pytest.raises(MemoryFault, match="out-of-bounds write"):
        run(text.replace("{offset}", ""), cache, np.zeros(32, np.uint32), shared=most)
    with pytest.raises(LdsExceeded, match="sm_90 can have 232448"):
        run(text.replace("{offset}", "+-4"), cache, np.zeros(32, np.uint32), shared=most + 4)


@pytest.mark.parametrize(
    "body", ["ld.global.b128 %d1, [%d2];", "st.global.b128 [%d2], %d1;", "mov.b128 {%d1, %d2}, {%d3, %d4};"]
)
def test_value_of_128_bits_is_unsupported(body, cache):
    with pytest.raises(UnsupportedFeature, match="registers of 128 bits"):
        run(module(kernel(body, 1)), cache, u32(0))


def test_unknown_instruction_is_named(cache):
    with pytest.raises(UnknownInstruction, match="frobnicate"):
        run(module(kernel("frobnicate.u32 %r1, %r2;", 1)), cache, u32(0))
    with pytest.raises(UnknownInstruction, match="modifier"):
        run(module(kernel("mul.lo.sat.u32 %r1, %r2, %r3;", 1)), cache, u32(0))


def test_cache_hints_do_not_affect_accesses(cache):
    """As Triton writes loads and stores with an eviction policy."""
    body = """
    createpolicy.fractional.L2::evict_first.b64 %d1, 1.0;
    ld.global.L1::evict_first.L2::cache_hint.b32 {%r1}, [%x + 0], %d1;
    st.global.L1::evict_last.L2::cache_hint.b32 [%y + 0], {%r1}, %d1;
"""
    x = np.arange(32, dtype=np.uint32)
    (_, y), _ = run(module(kernel(body)), cache, x, np.zeros(32, np.uint32))
    assert (y == x).all()
