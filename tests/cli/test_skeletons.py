"""Skeletons of ops: what parity init makes of kernels that are there."""

from __future__ import annotations

import ast
import shutil

from parity.suite import load_suite

KERNELS = """
extern "C" __global__ void scale_f32(float* x, float alpha, int n) { if (threadIdx.x < n) x[threadIdx.x] *= alpha; }
extern "C" __global__ void add_f32(const float* a, const float* b, float* out, size_t numel) { out[0] = a[0] + b[0]; }
extern "C" __global__ void add_f64(const double* a, const double* b, double* out, size_t numel) { out[0] = a[0]; }
"""


def test_a_kernel_runs_and_is_judged_once_its_reference_is_there(parity, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "plain.cu").write_text(
        'extern "C" __global__ void twice_f32(const float* x, float* out, int n) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = 2.0f * x[i];\n}\n"
    )
    monkeypatch.chdir(tmp_path)
    result = parity("init", "--kernels", "src")
    assert (
        result.code == 0
        and "wrote cases/plain.py" in result.out
        and "look through cases, then parity run" in result.out
    )
    result = parity("run", "--target", "gfx1100", "--examples", "3")
    assert result.code == 3 and "only memory checked x3" in result.out, result.out + result.err
    path = tmp_path / "cases" / "plain.py"
    text = path.read_text().replace("# reference=...", "reference=lambda x: Expected(x * 2)")
    path.write_text(
        text.replace("from parity.op import Op", "from parity.op import Op\nfrom parity.reference import Expected")
    )
    result = parity("run", "--target", "gfx1100", "--examples", "3")
    assert result.code == 0 and "twice  f32  pass" in result.out, result.out + result.err


def test_kernels_that_differ_in_their_dtypes_are_one_op(parity, tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "more.cu").write_text(KERNELS)
    assert parity("init", tmp_path).code == 0
    text = (tmp_path / "cases" / "more.py").read_text()
    ast.parse(text)
    assert 'kernel="add_{T}",\n    types=("f32", "f64"),\n    args="a b out numel:u64",' in text
    assert 'kernel="scale_{T}"' in text and 'args="x alpha n:i32=numel"' in text and 'params={"alpha": "T"}' in text
    assert max(map(len, text.splitlines())) <= 120


def test_types_of_c_linkage_are_guessed_and_those_of_cpp_known(parity, library):
    folder = library("activations")
    shutil.rmtree(folder / "parity")
    assert "wrote" in parity("init").out  # the settings are there already; what is missing is written
    (path,) = (folder / "parity").glob("*.py")
    text = path.read_text()
    assert 'source="activations/swiglu-fused.v2.cu"' in text and 'outputs={"lo": "f32", "hi": "f32"}' in text
    assert 'kernel="ops::swiglu<{T}>"' in text and 'spelling={"f32": "float", "f16": "__half"}' in text
    assert "has a [tool.parity] already" in parity("init").err


def test_every_kernel_of_the_suite_has_a_skeleton_that_is_a_declaration(parity, kernels, tmp_path):
    for path in kernels.glob("*.cu"):
        if path.stem not in ("sort", "ternary", "affine"):
            path.unlink()
    assert parity("init", tmp_path).code == 0
    suite = load_suite(kernels, tmp_path / "cases")
    assert {"asort_asc_bf16", "where_u8_f32", "affine_i64"} <= {entry.kernel for entry in suite.entries}
