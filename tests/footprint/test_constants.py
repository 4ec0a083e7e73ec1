"""The constants in comparisons of machine code, and the source lines of coverage points."""

from parity.footprint.basic_blocks import point_places
from parity.footprint.compared_constants import kernel_constants
from parity.model.code_object import CodeObject

LISTING = """
k:
\t.loc\t1 7 5                          ; mine.cu:7:5
\ts_cmp_lg_u32 s2, 0x1003
\ts_cbranch_scc1 .LBB0_2
\t.loc\t1 8 5                          ; mine.cu:8:5
\tv_cmp_eq_f32_e32 vcc_lo, 0x4640e600, v1
\tv_cmp_lt_f64_e32 vcc_lo, 2.0, v[2:3]
\tv_cmp_gt_i32_e32 vcc_lo, 0xfffffff9, v1
.LBB0_2:
\tv_lshrrev_b32_e32 v1, 12, v1
\tv_mov_b32_e32 v2, 0x10000
\ts_endpgm
\t.amdhsa_kernel k
\t.end_amdhsa_kernel
.Lfunc_end0:
"""
CODE = CodeObject("mine", "gfx1100", LISTING, {}, "digest")


def test_kernel_constants_lists_typed_comparisons_first():
    found = kernel_constants(CODE, ["k"])
    assert found.whole == (4099, -7, 12, 4096, 65536)
    assert found.real[:2] == (12345.5, 2.0)
    assert {4098, 4099, 4100, 4097, 65537} <= {*found.extents}
    assert min(found.extents) >= 0


def test_point_places_lists_blocks_then_branch_directions():
    assert point_places(CODE, ["k"]) == ("mine.cu:7", "mine.cu:8", "mine.cu:8", "mine.cu:7", "mine.cu:7")
