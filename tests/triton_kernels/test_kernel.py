"""Declarations of Triton kernels."""

from __future__ import annotations

import subprocess

import pytest

from parity.application.bisecting import prepare_case
from parity.errors import UsageError
from parity.op import Entry, Op, triton
from parity.suite.loading import load_suite
from parity.triton_kernels.compilation import _linker

FIELDS = {
    "types": ("f32", "bf16"),
    "inputs": {"x": "T"},
    "shapes": "x: r c; out: r c",
    "args": "out x n=c",
    "grid": "r",
    "choices": {"c": (3, 64, 100)},
}


def declared(**given: object) -> Op:
    return Op("soft.row", triton("soft.py:rows", **given), **FIELDS)  # type: ignore[arg-type]


def test_specializations_cover_values_of_expressions():
    entry = Entry(declared(BLOCK="bit_ceil(c)", num_warps=2), ("bf16",))
    assert entry.kernel == "rows_bf16"
    assert entry.kernels == ("rows_bf16_BLOCK4", "rows_bf16_BLOCK64", "rows_bf16_BLOCK128")
    first = entry.specializations[0]
    assert first.signature == ("*bf16", "*bf16", "i32") and first.aligned == (0, 1)
    assert first.constants == {"BLOCK": 4} and first.options == {"num_warps": 2}


def test_choices_become_parameters_of_cases():
    op = declared(BLOCK=128, MODE=("", "relu"), num_warps=(1, 4))
    assert op.params == {"MODE": "i32", "num_warps": "i32"}
    case = op.parse("soft.row[f32](x=2x3~normal@0 MODE=1 num_warps=4)")
    assert op.call(case).launch.kernel == "rows_f32_MODErelu_num_warps4"


def test_bisecting_compiler_options_is_refused(tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/soft.py").write_text("import triton\n\n@triton.jit\ndef rows(out, x, n, BLOCK):\n    pass\n")
    op = f"Op('soft.row', triton('soft.py:rows', BLOCK=128), **{FIELDS})"
    (tmp_path / "cases/soft.py").write_text(f"from parity.op import Op, triton\n\nrows = {op}\n")
    suite = load_suite(tmp_path / "kernels", tmp_path / "cases")
    with pytest.raises(UsageError, match="is a Triton function, whose compiler has other options than clang and nvcc"):
        prepare_case(suite, "soft.row[f32](x=2x3~normal@0)")


def test_case_without_compiled_kernel_is_refused():
    op = declared(BLOCK="bit_ceil(c)")
    with pytest.raises(UsageError, match="no kernel is compiled for BLOCK=512; add such extents to choices"):
        op.parse("soft.row[f32](x=2x500~normal@0)")


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        ("soft.rows", {}, "write FILE.py:FUNCTION"),
        ("soft.py:rows", {"BLOCK": [None, object()]}, "is not a number"),
        ("soft.py:rows", {"BLOCK": ()}, "has no values to choose from"),
    ],
    ids=["function", "value", "no values"],
)
def test_triton_with_wrong_form_is_refused(function, given, message):
    with pytest.raises(UsageError, match=message):
        triton(function, **given)


def test_expression_with_unknown_name_is_refused():
    with pytest.raises(UsageError, match="unknown name 'columns'"):
        declared(BLOCK="bit_ceil(columns)")


def test_kernel_with_global_scratch_memory_is_refused_by_name():
    from parity.triton_kernels.compilation import _Kernel

    assert "1024 bytes of global scratch memory" in _Kernel(scratch=1024).problem
    assert not _Kernel().problem and _Kernel(error="text", scratch=1).problem == "text"


def test_linker_for_versions_of_triton_without_one(tmp_path):
    done = subprocess.run([_linker(tmp_path), "-flavor", "gnu", "--version"], capture_output=True, text=True)
    assert done.stdout.startswith("LLD ")
