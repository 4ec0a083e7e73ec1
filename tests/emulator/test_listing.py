"""Instructions of inline assembly stand anywhere in a line; no line with code is lost."""

import pytest

from parity.compilers.targets import target
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.listing import kernel_code
from parity.emulator.amdgpu.threaded import thread
from parity.emulator.faults import UnknownInstruction

LISTING = """
k:
\ts_mov_b32 s0, 1
{}
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel k
\t.end_amdhsa_kernel
"""


def items(lines):
    code = kernel_code(LISTING.format(lines), "k")
    return [item if isinstance(item, str) else item.text for item in code.items][2:-2]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("\ts_nop 0", ["s_nop 0"]),
        ("s_nop 0", ["s_nop 0"]),
        (" s_nop 0\ns_nop 1", ["s_nop 0", "s_nop 1"]),
        ("again: s_nop 0 // comment", ["again", "s_nop 0"]),
        ("\tagain:\ts_nop 0 ; comment", ["again", "s_nop 0"]),
        ("one: two:", ["one", "two"]),
        ("\t;;#ASMSTART\n\n\t; s_nop 0\n// s_nop 1", []),
        ("\tv_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v3", ["v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v3"]),
        ("\t.p2align\t6", []),
    ],
)
def test_items_of_lines(lines, expected):
    assert items(lines) == expected


@pytest.mark.parametrize("line", ["\t.long 0xbf800000", ".set x, 1"])
def test_code_that_is_not_instruction_is_refused(line):
    listing = LISTING.format(line)
    with pytest.raises(UnknownInstruction, match=r"unknown instruction \.(long|set)"):
        thread(kernel_code(listing, "k"), target("gfx1100"), data_image(listing).places)
