"""Copies and adjacent accesses: how many instructions remain, and that results and faults stay the same."""

import numpy as np
import pytest
from ptx_runs import kernel, module, run

from parity.emulator.faults import KernelFault
from parity.emulator.ptx.pipeline import optimized_functions

X = np.arange(64, dtype=np.uint32) * 3 % 17
ROW = "mul.wide.u32 %d1, %t, 16; add.s64 %d2, %b1, %d1;"
FOUR = "ld.global.u32 %r2, [%d2]; ld.global.u32 %r4, [%d2+8]; ld.global.u32 %r3, [%d2+4]; ld.global.u32 %r5, [%d2+12];"
SUM = "shl.b32 %r6, %r3, 8; or.b32 %r7, %r2, %r6; shl.b32 %r6, %r4, 16; or.b32 %r8, %r7, %r6; add.u32 %r1, %r8, %r5;"


def loads(body, begin="ld.global"):
    (function,) = optimized_functions(module(kernel(body)), "k")
    instructions = [item.mnemonic for item in function.items if not isinstance(item, str)]
    return [each for each in instructions if each.startswith(begin)]


def result(cache, body, threads=16, grid=1):
    y = X.copy()
    (found, after), _ = run(
        module(kernel(body)), cache, np.zeros(threads * grid, np.uint32), y, block=threads, grid=grid
    )
    return found, after


@pytest.mark.parametrize("cut", [4, 2, 1], ids=["four", "two", "one"])
def test_adjacent_loads_are_joined(cache, cut):
    """Loads ``cut`` neighbours without a store between them."""
    parts = FOUR.replace("; ", ";|").split("|")
    body = ROW + " st.global.u32 [%x], 1; ".join("".join(parts[i : i + cut]) for i in range(0, 4, cut))
    found, _ = result(cache, f"{body} {SUM} st.global.u32 [%x], %r1;")
    a, b, c, d = X.reshape(16, 4).T
    np.testing.assert_array_equal(found, (a | b << 8 | c << 16) + d)
    joined = {4: ["ld.global.apart.v4.u32"], 2: ["ld.global.u32"] * 4, 1: ["ld.global.u32"] * 4}
    assert loads(body + SUM) == joined[cut]


def test_adjacent_loads_of_bytes_and_longs_are_joined(cache):
    small = "".join(f"ld.global.u8 %h{i}, [%d2+{i}];" for i in range(4))
    body = f"{ROW} {small} add.u16 %h5, %h0, %h1; add.u16 %h6, %h2, %h3; shl.b16 %h7, %h6, 4; add.u16 %h8, %h5, %h7;"
    assert loads(body) == ["ld.global.apart.v4.u8"]
    found, _ = result(cache, f"{body} cvt.u32.u16 %r1, %h8; st.global.u32 [%x], %r1;")
    np.testing.assert_array_equal(found, X[::4])
    wide = f"{ROW} ld.global.u64 %d3, [%d2]; ld.global.u64 %d4, [%d2+8]; add.s64 %d5, %d3, %d4;"
    assert loads(wide) == ["ld.global.apart.v2.u64"]
    found, _ = result(cache, f"{wide} shr.u64 %d6, %d5, 32; cvt.u32.u64 %r1, %d6; st.global.u32 [%x], %r1;")
    np.testing.assert_array_equal(found, X[1::4] + X[3::4])


IN_SHARED = ".shared .align 4 .b8 s[64]; mov.u32 %r9, s; mad.lo.u32 %r10, %t, 4, %r9; mad.lo.u32 %r11, %t, 16, %r9;"
FOUR_SHARED = FOUR.replace("global", "shared").replace("%d2", "%r11")


def test_adjacent_loads_of_shared_memory_are_joined(cache):
    body = f"{IN_SHARED} ld.global.u32 %r1, [%y]; st.shared.u32 [%r10], %r1; bar.sync 0; setp.gt.u32 %p1, %t, 3;"
    body += f"@%p1 bra END; {FOUR_SHARED} {SUM} st.global.u32 [%x], %r1; END:"
    assert loads(body, "ld.shared") == ["ld.shared.apart.v4.u32"]
    found, _ = result(cache, body)
    a, b, c, d = X[:16].reshape(4, 4).T
    np.testing.assert_array_equal(found[:4], (a | b << 8 | c << 16) + d)


@pytest.mark.parametrize("block", [16, 48])
def test_joined_load_names_unwritten_shared_word(cache, block):
    body = f"{IN_SHARED} setp.eq.u32 %p2, %t, 6; setp.gt.u32 %p3, %t, 15; or.pred %p2, %p2, %p3; @%p2 bra ALL;"
    body += "st.shared.u32 [%r10], 1; ALL: bar.sync 0; setp.gt.u32 %p1, %t, 3;"
    body += f"@%p1 bra END; {FOUR_SHARED} {SUM} st.global.u32 [%x], %r1; END:"
    assert loads(body, "ld.shared") == ["ld.shared.apart.v4.u32"]
    with pytest.raises(KernelFault, match=r"never-written read of 4 bytes(?s:.*)lane 1\b"):
        result(cache, body, threads=block)


STORES = "add.u32 %r2, %t, 1; add.u32 %r3, %t, 2; " + " ".join(
    f"st.global.u32 [%d2+{4 * i}], %{name};" for i, name in enumerate(("t", "r2", "r3", "t"))
)


def test_adjacent_stores_are_joined(cache):
    assert loads(ROW + STORES, "st") == ["st.global.apart.v4.u32"]
    text = module(kernel(ROW + STORES))
    (_, after), _ = run(text, cache, np.zeros(16, np.uint32), np.zeros(64, np.uint32), block=16)
    t = np.arange(16)
    np.testing.assert_array_equal(after.reshape(16, 4), np.stack([t, t + 1, t + 2, t], axis=1))


def test_adjacent_stores_of_bytes_and_longs_are_joined(cache):
    body = "cvt.u16.u32 %h1, %t; st.global.u8 [%y], %h1; st.global.u8 [%y+1], 7; st.global.u8 [%y+2], %h1;"
    body += "st.global.u8 [%y+3], 9;"
    assert loads(body, "st") == ["st.global.apart.v4.u8"]
    _, after = result(cache, body)
    t = np.arange(16)
    np.testing.assert_array_equal(
        after.view(np.uint8)[:64].reshape(16, 4), np.stack([t, 0 * t + 7, t, 0 * t + 9], axis=1)
    )
    wide = f"{ROW} cvt.u64.u32 %d3, %t; st.global.u64 [%d2], %d3; st.global.u64 [%d2+8], 5;"
    assert loads(wide, "st") == ["st.global.apart.v2.u64"]
    _, after = result(cache, wide)
    np.testing.assert_array_equal(after.view(np.uint64).reshape(16, 2), np.stack([t, 0 * t + 5], axis=1))


@pytest.mark.parametrize("size", [15, 13])
def test_joined_stores_fault_names_the_invalid_store(cache, size):
    text = module(kernel(ROW + STORES))
    expected = rf"write of 4 bytes(?s:.*)\[%d2\+{4 * (size - 12)}\](?s:.*)lane 3.* 0 bytes past the end"
    with pytest.raises(KernelFault, match=expected):
        run(text, cache, np.zeros(4, np.uint32), np.zeros(size, np.uint32), block=4)


def test_joined_stores_to_other_threads_addresses_are_race(cache):
    body = STORES.replace("%d2", "%y")
    assert loads(body, "st") == ["st.global.apart.v4.u32"]
    with pytest.raises(KernelFault, match=r"race in a warp(?s:.*)\[%y\+8\](?s:.*)\[%y\+12\]"):
        run(module(kernel(body)), cache, np.zeros(8, np.uint32), np.zeros(16, np.uint32), block=8)


def test_load_after_store_is_not_joined(cache):
    body = "ld.global.u32 %r2, [%y]; st.global.u32 [%y], 7; ld.global.u32 %r3, [%y]; sub.u32 %r1, %r3, %r2;"
    found, _ = result(cache, f"{body} st.global.u32 [%x], %r1;")
    np.testing.assert_array_equal(found, np.uint32(7) - X[:16])
    again = body.replace("st.global.u32 [%y], 7;", "")
    assert (loads(body), loads(again)) == (["ld.global.u32"] * 2, ["ld.global.u32"])


def test_loads_with_changed_address_are_not_joined(cache):
    body = f"{ROW} ld.global.u32 %r2, [%d2]; add.s64 %d2, %d2, 4; ld.global.u32 %r3, [%d2+4]; sub.u32 %r1, %r3, %r2;"
    found, _ = result(cache, f"{body} st.global.u32 [%x], %r1;")
    np.testing.assert_array_equal(found, X[2::4] - X[::4])


@pytest.mark.parametrize("size", [15, 13])
def test_joined_loads_fault_names_the_invalid_load(cache, size):
    """The last thread's row of four numbers is too short. The fault names the first invalid load with its bytes."""
    text = module(kernel(f"{ROW} {FOUR} {SUM} st.global.u32 [%x], %r1;"))
    with pytest.raises(KernelFault, match=r"read of 4 bytes(?s:.*)lane 3.* 0 bytes past the end"):
        run(text, cache, np.zeros(4, np.uint32), X[:size].copy(), block=4)


def test_copies_are_removed(cache):
    body = (
        "ld.global.u32 %r1, [%y]; mov.b32 %f1, %r1; add.f32 %f2, %f1, %f1; mov.b32 %r2, %f2; st.global.u32 [%x], %r2;"
    )
    (function,) = optimized_functions(module(kernel(body)), "k")
    assert not [item.text for item in function.items if "mov.b32" in getattr(item, "text", "")]
    found, _ = result(cache, body)
    np.testing.assert_array_equal(found, (X[:16].view(np.float32) * np.float32(2)).view(np.uint32))


def test_copy_of_previous_iteration_is_kept(cache):
    body = """
    ld.global.u32 %r1, [%y]; mov.u32 %r7, 0; mov.u32 %r8, 0;
    AGAIN: add.u32 %r2, %r1, %r7; setp.eq.u32 %p1, %r7, 0; @%p1 bra FIRST;
    sub.u32 %r9, %r2, %r3; add.u32 %r8, %r8, %r9;
    FIRST: mov.u32 %r3, %r2; add.u32 %r7, %r7, 1; setp.lt.u32 %p2, %r7, 5; @%p2 bra AGAIN;
    st.global.u32 [%x], %r8;
    """
    found, _ = result(cache, body)
    np.testing.assert_array_equal(found, np.full(16, 4))


@pytest.mark.parametrize("guard", ["%p1", "!%p1"])
def test_branch_over_branch_is_inverted(cache, guard):
    body = f"""
    setp.lt.u32 %p1, %t, 5; @{guard} bra SOME; bra.uni OTHERS;
    SOME: mov.u32 %r1, 7; bra.uni END;
    OTHERS: add.u32 %r1, %t, 50;
    END: st.global.u32 [%x], %r1;
    """
    (function,) = optimized_functions(module(kernel(body)), "k")
    branches = [item for item in function.items if not isinstance(item, str) and item.mnemonic.startswith("bra")]
    assert [(each.modifiers, each.operands) for each in branches] == [
        ((f"@{'%p1' if guard == '!%p1' else '!%p1'}",), ("OTHERS",)),
        ((), ("END",)),
    ]
    found, _ = result(cache, body)
    t = np.arange(16)
    np.testing.assert_array_equal(found, np.where((t < 5) == (guard == "%p1"), 7, t + 50))
