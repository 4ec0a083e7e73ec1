"""Classification of unreached code."""

from parity.footprint.basic_blocks import basic_blocks
from parity.footprint.unreached_code import GapKind, find_gaps
from parity.model.code_object import CodeObject
from parity.model.coverage import Reached

LISTING = """
k:
\t.loc\t1 7 5                          ; mine.cu:7:5
\tv_cmp_gt_u32_e32 vcc_lo, s3, v0
\ts_and_saveexec_b32 s5, vcc_lo
\ts_xor_b32 s5, exec_lo, s5
\ts_cbranch_execz .LBB0_2
\t.loc\t1 8 5                          ; mine.cu:8:5
\tv_mov_b32_e32 v1, 2
\ts_or_saveexec_b32 s5, s5
\ts_waitcnt vmcnt(0)
\ts_branch .LBB0_3
.LBB0_2:
\ts_or_saveexec_b32 s5, s5
\ts_xor_b32 exec_lo, exec_lo, s5
.LBB0_3:
\ts_mov_b32 s6, 1
\ts_endpgm
\t.amdhsa_kernel k
\t.end_amdhsa_kernel
.Lfunc_end0:
"""
CODE = CodeObject("mine", "gfx1100", LISTING, {}, "digest")


def test_control_flow_block_does_not_compute():
    first = {block.instructions[0].text: block.computes for block in basic_blocks(CODE, "k")}
    assert first == {
        "v_cmp_gt_u32_e32 vcc_lo, s3, v0": True,
        "s_xor_b32 s5, exec_lo, s5": False,
        "v_mov_b32_e32 v1, 2": True,
        "s_waitcnt vmcnt(0)": False,
        "s_or_saveexec_b32 s5, s5": False,
        "s_xor_b32 exec_lo, exec_lo, s5": False,
        "s_mov_b32 s6, 1": True,
    }


def test_gaps_distinguish_branches_from_lines():
    blocks = basic_blocks(CODE, "k")
    kinds = [gap.kind for (gap,) in find_gaps(CODE, ["k"], Reached.of(len(blocks), 2, 1))]
    assert kinds == [GapKind.BRANCH, GapKind.LINE, GapKind.BRANCH, GapKind.BRANCH, GapKind.BRANCH, GapKind.LINE]
