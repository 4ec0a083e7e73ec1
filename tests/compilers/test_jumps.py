"""Addresses of instructions that code computes."""

import pytest

from parity.compilers.jumps import CodeAddress, code_address

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


def placed(texts, distance, *rest):
    """Place instructions of 4 bytes each."""
    numbers = f"{distance:#x}", "-1" if distance < 0 else "0"
    return [(START + 4 * i, 4, text.format(*numbers)) for i, text in enumerate((*texts, *rest))]


CODES = [
    (FORWARD, 0x100, START + 8 + 0x100, (2, 3)),
    (BACKWARD, -0x104, START + 4 - 0x100, (3, 4)),
    (EITHER, 0x100, START + 8 + 0x100, (8, 9)),
    (EITHER, -0x104, START + 4 - 0x100, (5, 6)),
    (COMPILED, 0x100, START + 4 + 0x100, (1, 2)),
    (COMPILED, -0x100, START + 4 - 0x100, (1, 2)),
]


@pytest.mark.parametrize(("texts", "distance", "to", "halves"), CODES)
def test_branch_to_computed_address(texts, distance, to, halves):
    code = placed(texts, distance, "s_setpc_b64 s[4:5]")
    branch = code[7] if texts is EITHER and distance < 0 else code[-1]
    assert code_address(code) == CodeAddress((code[halves[0]][0], code[halves[1]][0]), to, branch[0])


@pytest.mark.parametrize("end", ["s_branch 4", "s_swappc_b64 s[30:31], s[4:5]", "s_setpc_b64 s[30:31]", "s_nop 0"])
@pytest.mark.parametrize(("texts", "distance", "to", "halves"), [code for code in CODES if code[0] is not EITHER])
def test_computed_address_that_is_kept(texts, distance, to, halves, end):
    code = placed(texts, distance, end)
    assert code_address(code) == CodeAddress((code[halves[0]][0], code[halves[1]][0]), to)


@pytest.mark.parametrize("text", ["s_load_dword s4, s[0:1], 0x0", "s_mov_b32 s5, s7", "s_endpgm"])
def test_changed_address_is_no_branch(text):
    found = code_address(placed((*FORWARD, text), 0x100, "s_setpc_b64 s[4:5]"))
    assert found is not None
    assert found.branch is None


@pytest.mark.parametrize(
    "text", ["s_add_u32 s4, s4, s9", "s_load_dword s6, s[0:1], 0x0", "s_add_u32 s4, s7, s6", "s_branch 4"]
)
def test_code_address_does_not_guess(text):
    assert code_address(placed((*FORWARD[:2], text, *FORWARD[2:]), 0x100, "s_branch 4")) is None


def test_several_sums_are_no_kept_address():
    code = placed((*FORWARD, "s_add_u32 s4, s4, 8", "s_addc_u32 s5, s5, 0"), 0x100)
    assert code_address([*code, (START + 24, 4, "s_branch 4")]) is None
    found = code_address([*code, (START + 24, 4, "s_setpc_b64 s[4:5]")])
    assert found is not None
    assert (found.to, found.branch) == (START + 8 + 0x100 + 8, START + 24)
