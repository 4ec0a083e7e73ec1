"""Joining the code of several Triton kernels."""

from __future__ import annotations

from pathlib import Path

from parity.model.code_object import parse
from parity.triton_kernels.merging import Compiled, joint_listing, joint_ptx

AMD = """\t.amdgcn_target "amdgpu9.42-amd-amdhsa-unknown-gfx942"
\t.text
\t.globl\tadd
\t.type\tadd,@function
add:
.Lfunc_begin0:
\t.cfi_startproc
\t.file\t1 "/home/me/kernels" "add.py"
\t.loc\t1 7 0 ; add.py:7:0
.Ltmp0:
\ts_cbranch_scc0 .LBB0_2
.LBB0_2:
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel add
\t\t.amdhsa_inst_pref_size 2
\t.end_amdhsa_kernel
\t.set .Ladd.num_vgpr, 8
\t.section\t.debug_abbrev,"",@progbits
\t.byte\t1
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer}
      - {.offset: 8, .size: 8, .value_kind: global_buffer}
    .group_segment_fixed_size: 0
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .name: add
    .private_segment_fixed_size: 0
    .sgpr_count: 9
    .symbol: add.kd
    .vgpr_count: 8
    .wavefront_size: 64
amdhsa.target: amdgpu9.42-amd-amdhsa-unknown-gfx942
...
\t.end_amdgpu_metadata
"""
PTX = """.version 8.8
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry add(
\t.param .u64 .ptr .global .align 1 add_param_0
)
.reqntid 128
{
\t.loc\t1 7 0, function_name $L__info_string0, inlined_at 1 9 3
\tadd.f32 %r1, %r1, %r1;
\tld.param.b64 %rd1, [add_param_0];
\tret;
}
\t.file\t1 "/home/me/kernels/add.py"
"""


def shown(path: Path) -> str:
    return path.name


def test_joint_listing_has_unique_names_and_relative_files():
    parts = [Compiled("add_f32", "add", AMD, ("out",)), Compiled("add_f16", "add", AMD, ("out",))]
    listing = joint_listing(parts, "gfx942", shown)
    code = parse(listing, "add")
    assert list(code.kernels) == ["add_f32", "add_f16"] and code.target == "gfx942"
    assert [each.name for each in code.kernels["add_f16"].args] == ["out", ""]
    assert code.sources == (Path("add.py"),)
    assert ".name: !str out\n" in listing  # otherwise, some versions of LLVM read a name such as n as a truth value
    for absent in ("\nadd:", ".cfi", ".Ltmp", "debug", "/home", "inst_pref", ".Ladd."):
        assert absent not in listing
    assert listing.count(".LBB0_2:") == listing.count(".LBB1000_2:") == 1


def test_joint_ptx_renames_kernels_and_keeps_instructions_of_the_same_name():
    text = joint_ptx([Compiled("add_f32", "add", PTX), Compiled("add_f16", "add", PTX)], shown)
    assert text.count(".version") == text.count("global_smem[]") == 1
    assert ".entry add_f32(" in text and "[add_f16_param_0]" in text and text.count("\tadd.f32 ") == 2
    assert text.count('.file\t1 "add.py"') == 1
