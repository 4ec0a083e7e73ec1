"""If-conversion: which branches become guards, and that results and coverage stay the same."""

import numpy as np
import pytest
from ptx_runs import kernel, module

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.ptx.device import PtxDevice
from parity.emulator.ptx.if_conversion import add_guards
from parity.emulator.ptx.pipeline import optimized_functions
from parity.model.coverage import Reached

X = np.arange(32, dtype=np.uint32) * 3 % 17
LESS = "setp.lt.u32 %p1, %r1, 8; setp.ne.u32 %p2, %r1, 3;"
SHORT = "add.u32 %r1, %r1, 5; shl.b32 %r1, %r1, 1;"
ROUNDS = """mov.u32 %r2, 0; AGAIN: setp.lt.u32 %p1, %r1, 8; @%p1 bra L; {step} L: add.u32 %r1, %r1, 3;
    setp.lt.u32 %p2, %r1, 40; @%p2 bra AGAIN; mov.u32 %r1, %r2;"""


def rounds(values):
    """Return how often each number is 8 or more before it reaches 40 in steps of 3."""
    return [sum(at >= 8 for at in range(x, 40, 3)) for x in values.tolist()]


@pytest.mark.parametrize(
    ("body", "expected", "ways", "reached"),
    [
        (f"{LESS} @%p1 bra L; {SHORT} L:", np.where(X < 8, X, 2 * X + 10), 1, "111 11"),
        (f"{LESS} @!%p1 bra L; {SHORT} L:", np.where(X < 8, 2 * X + 10, X), 1, "111 11"),
        # A diamond, and a diamond with a path that no thread takes.
        (f"{LESS} @%p1 bra L; {SHORT} bra M; L: mov.u32 %r1, 7; M:", np.where(X < 8, 7, 2 * X + 10), 1, "1111 11"),
        ("setp.lt.u32 %p1, %r1, 90; @%p1 bra L; mov.u32 %r1, 8; bra M; L: mov.u32 %r1, 7; M:", X * 0 + 7, 1, "1011 01"),
        # a || b, where b is not evaluated if a holds.
        (f"setp.lt.u32 %p1, %r1, 8; @%p1 bra L; setp.ne.u32 %p2, %r1, 9; @%p2 bra M; L: {SHORT} M:",
         np.where((X < 8) | (X == 9), 2 * X + 10, X), 2, "1111 1111"),
        ("setp.lt.u32 %p1, %r1, 90; @%p1 bra L; setp.ne.u32 %p2, %r1, 9; @%p2 bra M; L: mov.u32 %r1, 7; M:",
         X * 0 + 7, 2, "1011 0100"),
        # The second path overwrites an input of the first; a register of the previous iteration; the condition changes.
        (f"{LESS} @%p1 bra L; mov.u32 %r2, %r1; bra M; L: mov.u32 %r2, 1; M: add.u32 %r1, %r2, 1;",
         np.where(X < 8, 2, X + 1), 1, "1111 11"),
        (ROUNDS.format(step="add.u32 %r2, %r2, 1;"), rounds(X), 1, "11111 1111"),
        (f"{LESS} @%p1 bra L; setp.ge.u32 %p1, %r1, 99; mov.u32 %r1, 1; L: selp.u32 %r1, %r1, 50, %p1;",
         np.where(X < 8, X, 50), 1, "111 11"),
        # A path with memory accesses. Not converted: a longer path, a path with another entry, a barrier.
        (f"{LESS} @%p1 bra L; ld.global.u32 %r1, [%y]; st.global.u32 [%y], 5; L:", np.where(X < 8, X, X + 100), 1,
         "111 11"),
        (f"{LESS} @%p1 bra L; {3 * SHORT} L:", np.where(X < 8, X, 8 * X + 70), 0, "111 11"),
        (f"{LESS} @!%p2 bra N; @%p1 bra L; {SHORT} bra M; L: mov.u32 %r1, 7; bra M; N: mov.u32 %r1, 9; bra L; M:",
         np.where((X < 8) | (X == 3), 7, 2 * X + 10), 0, "111111 1111"),
        ("setp.lt.u32 %p1, %r1, 90; @%p1 bra L; bar.warp.sync -1; L:", X, 0, "101 01"),
    ],
)  # fmt: skip
def test_if_conversion_keeps_results_and_coverage(cache, body, expected, ways, reached):
    text = module(kernel(f"ld.global.u32 %r1, [%x]; {body} st.global.u32 [%x], %r1;"))
    (function,) = optimized_functions(text, "k")
    found = [item for item in add_guards(function).items if getattr(item, "mnemonic", "") == "ways"]
    assert len(found) == ways
    code = parse_ptx(text, "module", target("sm_90"))
    device = PtxDevice(traced=True, cache=cache)
    buffers = [device.allocate(128), device.allocate(128)]
    for buffer, array in zip(buffers, (X, X + np.uint32(100)), strict=True):
        device.write(buffer, array)
    device.launch(code, "k", grid=(1, 1, 1), block=(32, 1, 1), args=pack(code.kernels["k"], buffers))
    assert device.read(buffers[0]).view(np.uint32).tolist() == np.array(expected).tolist()
    blocks, directions = reached.split()
    assert device.take_reached(code, "k") == Reached.of(
        len(blocks), len(directions), int((blocks + directions)[::-1], 2)
    )
