"""Branches whose target address is computed."""

import pytest

from parity.compilers.jumps import jump

FORWARD = ("s_getpc_b64 s[4:5]", "s_add_i32 s6, {0}, 4", "s_add_u32 s4, s4, s6", "s_addc_u32 s5, s5, 0")
BACKWARD = (
    "s_getpc_b64 s[4:5]", "s_add_i32 s6, {0}, 4", "s_abs_i32 s6, s6", "s_sub_u32 s4, s4, s6", "s_subb_u32 s5, s5, 0",
)  # fmt: skip
EITHER = (
    "s_getpc_b64 s[4:5]", "s_add_i32 s6, {0}, 4", "s_cmp_ge_i32 s6, 0", "s_cbranch_scc1 4", "s_abs_i32 s6, s6",
    "s_sub_u32 s4, s4, s6", "s_subb_u32 s5, s5, 0", "s_setpc_b64 s[4:5]", "s_add_u32 s4, s4, s6",
    "s_addc_u32 s5, s5, 0",
)  # fmt: skip
COMPILED = ("s_getpc_b64 s[4:5]", "s_add_u32 s4, s4, {0}", "s_addc_u32 s5, s5, {1}")
START = 0xFFFF_FFF0


def placed(texts, distance=0):
    """Place instructions of 4 bytes each."""
    numbers = f"{distance:#x}", "-1" if distance < 0 else "0"
    return [(START + 4 * i, 4, text.format(*numbers)) for i, text in enumerate((*texts, "s_setpc_b64 s[4:5]"))]


@pytest.mark.parametrize(
    ("texts", "distance", "target"),
    [
        (FORWARD, 0x100, START + 8 + 0x100),
        (BACKWARD, -0x104, START + 4 - 0x100),
        (EITHER, 0x100, START + 8 + 0x100),
        (EITHER, -0x104, START + 4 - 0x100),
        (COMPILED, 0x100, START + 4 + 0x100),
        (COMPILED, -0x100, START + 4 - 0x100),
    ],
)
def test_jump_computes_the_target(texts, distance, target):
    code = placed(texts, distance)
    branch = code[7] if texts is EITHER and distance < 0 else code[-1]
    assert jump(code) == (branch[0], target)


@pytest.mark.parametrize(
    "text", ["s_load_dword s4, s[0:1], 0x0", "s_mov_b32 s5, s7", "s_endpgm", "s_branch 4", "s_setpc_b64 s[30:31]"]
)
def test_jump_does_not_guess(text):
    assert jump(placed((*FORWARD, text), 0x100)) is None
