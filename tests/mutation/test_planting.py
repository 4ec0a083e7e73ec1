"""The tables of faults: each operator makes the expected edit, and only in code."""

from __future__ import annotations

import pytest

from parity.mutation.instruction_faults import instruction_edits
from parity.mutation.operators import INSTRUCTIONS, SOURCE, CapturedText
from parity.mutation.source_faults import apply_edit, source_edits

FUNCTION = "__device__ float f(const float* a, int n, int s, int i, bool c) {{\n{}\n}}\n"

#: A line of source, the operator, and the line with its edit.
OF_SOURCE = [
    ("int y = n + s;", "+ to -", "int y = n - s;"),
    ("n *= s;", "*= to +=", "n += s;"),
    ("float y = -a[0];", "- dropped", "float y = (a[0]);"),
    ("int y = n << 3;", "<< to >>", "int y = n >> 3;"),
    ("bool y = i < n;", "< to <=", "bool y = i <= n;"),
    ("bool y = i == n;", "== to !=", "bool y = i != n;"),
    ("bool y = c && i < n;", "&& to ||", "bool y = c || i < n;"),
    ("bool y = !c;", "! dropped", "bool y = (c);"),
    ("int y = 63u;", "constant + 1", "int y = 64u;"),
    ("int y = 0xff;", "constant - 1", "int y = 0xfe;"),
    ("float y = 0.5f;", "constant + 1", "float y = 0.50048828125f;"),
    ("for (int k = 0; k < n; k += s) {}", "loop begins late", "for (int k = (0) + 1; k < n; k += s) {}"),
    ("for (int k = 0; k < n; k += s) {}", "loop ends early", "for (int k = 0; k < (n) - 1; k += s) {}"),
    ("for (int k = 0; k < n; k += s) {}", "loop steps far", "for (int k = 0; k < n; k += (s) + 1) {}"),
    ("float y = a[i];", "index + 1", "float y = a[(i) + 1];"),
    ("float y = a[i * s + n];", "first term of an index", "float y = a[i * s];"),
    ("float y = a[i * s + n];", "last term of an index", "float y = a[n];"),
    ("float y = a[i * s + n];", "stride dropped", "float y = a[i + n];"),
    ("double y = a[i];", "double to float", "float y = a[i];"),
    ("float y = (float)n;", "float to _Float16 in a cast", "float y = (_Float16)n;"),
    ("size_t y = n;", "size_t to unsigned", "unsigned y = n;"),
    ("__syncthreads();", "barrier dropped", ";"),
    ("group.sync();", "group not synchronized", ";"),
    ("n = __shfl_xor_sync(m, n, 16);", "mask halved", "n = __shfl_xor_sync((m) >> 1, n, 16);"),
    ("n = __shfl_xor_sync(m, n, 16);", "lane beside it", "n = __shfl_xor_sync(m, n, (16) + 1);"),
    ("bool y = isnan(a[i]);", "NaN not asked for", "bool y = false;"),
    ("float y = fmaxf(a[0], a[1]);", "maximum by comparison", "float y = ((a[0]) > (a[1]) ? (a[0]) : (a[1]));"),
    ("float y = -INFINITY;", "NaN and infinity to 0", "float y = -0;"),
    ("if (i < n) s = 1;", "if always", "if (true) s = 1;"),
    ("int y = c ? n : s;", "second choice always", "int y = false ? n : s;"),
    ("n = pick(i, s);", "arguments swapped", "n = pick(s, i);"),
    ("s = n;", "assignment dropped", ";"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "operator", "changed"), OF_SOURCE, ids=lambda each: each if " " in each else None)
def test_source_operator_makes_expected_edit(line, operator, changed):
    text = FUNCTION.format(line)
    edits = (each for each in source_edits(text, {2}) if each.operator.name == operator)
    found = [apply_edit(text, each.start, each.old, each.new) for each in edits]
    assert FUNCTION.format(changed) in found


def test_source_operator_classes_have_examples():
    named = {operator for _, operator, _ in OF_SOURCE}
    assert {each.kind for each in SOURCE} == {each.kind for each in SOURCE if each.name in named}


def test_source_faults_skip_comments_strings_directives_and_other_lines():
    text = FUNCTION.format(
        '// n + 1\n/* n + 1 */ const char* y = "n + 1";\n#if n + 1\n#endif\nn = s;\nint other = n + 1;'
    )
    assert [(edit.line, edit.old) for edit in source_edits(text, range(2, 7))] == [(6, "n = s;")]
    assert not list(source_edits(text, ()))


def test_template_brackets_are_not_comparisons():
    text = FUNCTION.format("n = pick<int>(i);\nn = i < s;")
    assert [edit.line for edit in source_edits(text, {2, 3}) if edit.operator.kind == "boundary"] == [3]


#: An instruction, the operator, and the instruction with its edit.
OF_INSTRUCTIONS = [
    ("v_add_f32_e32 v1, v2, v3", "v_add to sub", "v_sub_f32_e32 v1, v2, v3"),
    ("v_dual_mul_f32 v1, v2, v3 :: v_dual_add_f32 v4, v5, v6", "v_add to sub",
     "v_dual_mul_f32 v1, v2, v3 :: v_dual_sub_f32 v4, v5, v6"),
    ("v_cmp_lt_u32_e32 vcc_lo, v1, v2", "v_cmp_lt to le", "v_cmp_le_u32_e32 vcc_lo, v1, v2"),
    ("v_cmp_lt_u32_e32 vcc_lo, v1, v2", "v_cmp_u to i", "v_cmp_lt_i32_e32 vcc_lo, v1, v2"),
    ("s_cbranch_scc0 .LBB0_2", "s_cbranch_scc0 to scc1", "s_cbranch_scc1 .LBB0_2"),
    ("global_load_u8 v1, v0, s[2:3]", "global_load_u8 to i8", "global_load_i8 v1, v0, s[2:3]"),
    ("v_lshlrev_b32_e32 v1, 2, v0", "immediate + 1", "v_lshlrev_b32_e32 v1, 3, v0"),
    ("v_and_b32_e32 v1, 0xff, v0", "immediate - 1", "v_and_b32_e32 v1, 0xfe, v0"),
    ("v_fma_f32 v1, v2, v3, 1.0", "float doubled", "v_fma_f32 v1, v2, v3, 2.0"),
    ("ds_load_b32 v1, v0 offset:252", "offset + 4", "ds_load_b32 v1, v0 offset:256"),
    ("s_load_b32 s4, s[0:1], 0x10", "scalar offset + 4", "s_load_b32 s4, s[0:1], 0x14"),
    ("ds_load_b32 v1, v0 offset:252", "offset dropped", "ds_load_b32 v1, v0"),
    ("v_add3_u32 v1, v2, v3, v4", "operand to 0", "v_add3_u32 v1, 0, v3, v4"),
    ("v_add_nc_u32_e32 v1, v2, v3", "last operand to 0", "v_add_nc_u32_e32 v1, v2, 0"),
    ("s_add_u32 s2, s3, s4", "scalar operand to 0", "s_add_u32 s2, 0, s4"),
    ("v_cndmask_b32_e64 v1, v2, v3, s0", "operands swapped", "v_cndmask_b32_e64 v1, v3, v2, s0"),
    ("v_fma_f32 v1, -v2, |v3|, v4", "- dropped", "v_fma_f32 v1, v2, |v3|, v4"),
    ("v_fma_f32 v1, -v2, |v3|, v4", "|| dropped", "v_fma_f32 v1, -v2, v3, v4"),
    ("v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf", "lane beside it",
     "v_mov_b32_dpp v1, v2 row_shr:2 row_mask:0xf bank_mask:0xf"),
    ("s_barrier", "barrier dropped", "s_nop 0"),
    ("s_waitcnt vmcnt(0)", "wait dropped", "s_nop 0"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "operator", "after"), OF_INSTRUCTIONS)
def test_instruction_operator_makes_expected_edit(before, operator, after):
    assert after in [text for each, _, text in instruction_edits(before) if each.name == operator]


def test_every_immediate_is_edited_separately():
    found = [text for each, _, text in instruction_edits("v_bfe_u32 v1, v0, 4, 8") if each.name == "immediate + 1"]
    assert found == ["v_bfe_u32 v1, v0, 5, 8", "v_bfe_u32 v1, v0, 4, 9"]
    assert not [
        each.name for each, _, _ in instruction_edits("s_load_b32 s4, s[0:1], 0x10") if each.kind == "immediate"
    ]


def test_instruction_operator_classes_have_examples():
    named = {operator for _, operator, _ in OF_INSTRUCTIONS}
    assert {each.kind for each in INSTRUCTIONS} == {each.kind for each in INSTRUCTIONS if each.name in named}


@pytest.mark.parametrize("operators", [SOURCE, INSTRUCTIONS])
def test_operator_names_are_unique(operators):
    # Rows of instructions may share a name, so the pattern and the replacement are part of the key.
    assert len({(each.name, each.pattern, each.replacement) for each in operators}) == len(operators)
    assert all(each.says and each.kind for each in operators)


@pytest.mark.parametrize(
    ("number", "how", "changed"),
    [
        ("7", "+1", "8"),
        ("0", "-1", "-1"),
        ("0xffu", "+1", "0x100u"),
        ("1e-3", "-1", "0.0009990234375000001"),
        ("1.0", "next", "2.0"),
    ],
)
def test_changed_number_keeps_its_notation(number, how, changed):
    assert format(CapturedText(number), how) == changed


@pytest.mark.parametrize(("number", "how"), [("0u", "-1"), ("n", "+1"), ("0x1p-9f", "+1")])
def test_invalid_number_raises_value_error(number, how):
    with pytest.raises(ValueError):
        format(CapturedText(number), how)
