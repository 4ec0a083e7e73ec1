"""User projects: a new project, a third-party folder, and a fork of the kernels."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

TARGET = ("--target", "gfx1100")


@pytest.fixture
def foreign(library, parity):
    """Copy a folder of third-party kernels and change to the copy."""
    return library("activations")


def test_new_project_runs_and_detects_fault(parity, tmp_path, monkeypatch, edit):
    assert parity("init", tmp_path / "mine").code == 0
    monkeypatch.chdir(tmp_path / "mine")
    result = parity("run", "-v", *TARGET)
    assert result.code == 0 and "leaky_relu  f32  pass" in result.out and result.err == ""
    edit(Path("kernels/leaky_relu.cu"), "> 0.0f", "> 1e-3f")
    result = parity("run", "-v", *TARGET)
    assert result.code == 1 and "FAIL  leaky_relu_f32 on gfx1100 (emulated): value" in result.out


def test_build_accepts_path_outside_project(parity, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    for name in ("own", "other"):
        (tmp_path / "src" / f"{name}.cu").write_text("__global__ void k(int* x) { x[0] = 1; }\n")
    monkeypatch.chdir(tmp_path)
    (built,) = json.loads(parity("build", "src/own.cu", *TARGET, "--json").out)
    assert (built["module"], built["kernels"]) == ("own", ["_Z1kPi"])


def test_build_names_files_of_port(parity, tmp_path, monkeypatch):
    kernel = 'extern "C" __global__ void k(int* x) { static const int n = warpSize; *x = n; }\n'
    for folder, text in (("cuda/k.cu", kernel), ("hip/k.hip", f"#include <hip/hip_runtime.h>\n{kernel}")):
        (tmp_path / folder).parent.mkdir()
        (tmp_path / folder).write_text(text)
    monkeypatch.chdir(tmp_path)
    result = parity("build", "--kernels", "cuda", "--hip", "hip", "--target", "gfx90a")
    assert "\nhip/k.hip:2:61: warpSize: is 64 here" in result.out


def test_init_adds_settings_to_existing_pyproject(parity, tmp_path):
    config = tmp_path / "pyproject.toml"
    config.write_text('[project]\nname = "mine"\n')
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "own.cu").write_text("")
    result = parity("init", tmp_path, "--kernels", "src")
    assert result.code == 3 and "parity build" in result.out  # there is nothing to declare
    assert config.read_text().startswith('[project]\nname = "mine"\n') and 'kernels = "src"' in config.read_text()
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == [".gitignore", "own.cu", "pyproject.toml"]
    assert "has a [tool.parity] already" in parity("init", tmp_path).err


def test_init_existing_case_file_is_not_overwritten(parity, tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "leaky_relu.py").write_text("mine")
    assert "leaky_relu.py exists already" in parity("init", tmp_path).err
    assert (tmp_path / "cases" / "leaky_relu.py").read_text() == "mine"
    assert not (tmp_path / "pyproject.toml").exists()


def test_foreign_folder_is_tested_unchanged(parity, foreign):
    result = parity("run", "-v", *TARGET)
    assert result.code == 0, result.out + result.err
    matrix = result.out.split("\n\n")[2]  # below the heading and the legend
    assert [line.split()[:3] for line in matrix.splitlines()[1:4]] == [
        ["swiglu", "f32", "f16"],
        ["low", "f32", "pass"],
        ["high", "f32", "pass"],
    ]


def test_foreign_folder_faults_are_detected(parity, foreign, edit):
    source = foreign / "src" / "activations" / "swiglu-fused.v2.cu"
    edit(source, "expf(-gate)", "expf(-0.999f * gate)")
    edit(source, "hi[i] = fmaxf(x[i], 0.0f);", "hi[i] = fmaxf(x[i], 1e-30f);")
    result = parity("run", "-v", *TARGET)
    assert result.code == 1
    for kernel in ("ops::swiglu<float>", "minmax"):
        assert f"FAIL  {kernel} on gfx1100 (emulated): value" in result.out
    assert "and 1 kernel alike: ops::swiglu<__half>" in result.out
    assert "where     src/activations/swiglu-fused.v2.cu:" in result.out
    assert "low                  f32  pass" in result.out


def test_abi_mismatch_affects_only_its_op_and_names_declaration(parity, foreign, edit):
    edit(foreign / "parity" / "activations.py", 'rows:i32 cols:i32"', 'rows:i32"')
    result = parity("run", "-v", *TARGET)
    assert result.code == 1
    assert "takes 4 arguments, not 3: the first one missing is 'cols' (4 bytes at byte 20)" in result.out
    assert "declared  parity/activations.py:16" in result.out and "low                  f32  pass" in result.out


def test_missing_kernel_is_named_with_existing_kernels(parity, foreign, edit):
    edit(foreign / "parity" / "activations.py", '"ops::swiglu<{T}>"', '"swiglu<{T}>"')
    result = parity("run", "-v", *TARGET)
    assert result.code == 1 and "did you mean ops::swiglu<float>" in result.out
    assert "missing in src: swiglu<float> swiglu<__half>" in result.out


def test_case_file_error_affects_only_its_ops(parity, foreign):
    (foreign / "parity" / "broken.py").write_text("\nboom()\n")
    result = parity("run", "-v", "activations.high", *TARGET)
    assert result.code == 2 and re.search("high +f32 +pass", result.out)
    assert f"{Path('parity/broken.py').absolute()}:2: NameError" in result.err


def test_build_works_without_declared_ops(parity, foreign):
    shutil.rmtree(foreign / "parity")
    result = parity("build", "--signatures", *TARGET)
    assert result.code == 0
    assert "ops::swiglu<__half>(out: pointer, x: pointer, rows: 4 bytes, cols: 4 bytes)" in result.out


KERNEL = 'extern "C" __global__ void k(float* x, const int n) { if (threadIdx.x < n) x[threadIdx.x] = WHAT; }\n'
BROKEN = {
    "both": KERNEL.replace("WHAT", "nosuch"),
    "cuda": KERNEL.replace("WHAT", "\n#ifdef __HIP__\n1\n#else\nnosuch\n#endif\n"),
    "amd": KERNEL.replace("WHAT", "\n#ifdef __HIP__\nnosuch\n#else\n1\n#endif\n"),
}


def test_build_names_broken_side(parity, with_nvcc, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("parity.cli.build.DEFAULT_TARGETS", ("gfx1100",))
    for name, text in BROKEN.items():
        Path(f"{name}.cu").write_text(text)
    result = parity("build", "--kernels", ".", "--signatures")
    assert result.code == 1
    for said in (
        "both: the CUDA side is broken as well",
        "cuda: only the CUDA side is broken: it compiles for AMD",
        "amd: only the AMD side is broken: it compiles for CUDA",
    ):
        assert said in result.err
    assert 'both.cu:1:1: nosuch: identifier "nosuch" is undefined (error: sm_90)' in result.out
    # Each of the two modules with one broken side has a signature.
    assert len(re.findall(r"^k\(x: pointer.*, n: 4 bytes\)$", result.out, re.MULTILINE)) == 2
    assert parity("build", "cuda", "--kernels", ".").code == 0  # without --target, a broken CUDA side is not an error
    assert parity("build", "cuda", "--kernels", ".", "--target", "sm_90").code == 1


def test_build_without_nvcc_skips_cuda_side(parity, monkeypatch, tmp_path, hide_nvcc):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("parity.cli.build.DEFAULT_TARGETS", ("gfx1100",))
    hide_nvcc()
    Path("both.cu").write_text(BROKEN["both"])
    result = parity("build", "--kernels", ".")
    assert "sm_90" not in result.out and "CUDA side" not in result.err


def test_build_lists_errors_by_file_and_line(parity, foreign):
    (foreign / "src" / "bad.cu").write_text(
        "#include <cuda_runtime.h>\n"
        'extern "C" __global__ void bad(int* x) {\n'
        "    __pipeline_wait_prior(nosuch);\n    __cluster_barrier_wait();\n    __nanosleep(4);\n}\n"
    )
    result = parity("build", "bad", *TARGET, "--target", "gfx90a")
    assert result.code == 1
    lines = [line for line in result.out.splitlines() if line.startswith("src/bad.cu:")]
    assert "src/bad.cu:3:27: nosuch: use of undeclared identifier 'nosuch' (error)" in lines
    cluster = "src/bad.cu:4:5: __cluster_barrier_wait: AMD GPUs do not have block clusters"
    assert any(line.startswith(cluster) for line in lines)
    assert any("__nanosleep" in line and "your port needs this" in line for line in lines)
    document = json.loads(parity("build", "bad", *TARGET, "--json").out)
    assert {error["name"] for error in document[0]["errors"]} >= {"nosuch"}


def test_build_lists_macro_from_build_files_with_location(parity, foreign):
    (foreign / "src" / "tiled.cu").write_text('extern "C" __global__ void tiled(int* x) { x[0] = TILE; }\n')
    (foreign / "Makefile").write_text("NVCCFLAGS = -O3\nNVCCFLAGS += -DTILE=16\nsmall: -DTILE=8\n")
    result = parity("build", "tiled", *TARGET)
    said = "tiled: built with -DTILE=16, as Makefile:2 has it (elsewhere in it -DTILE=8); "
    said += 'to make this explicit: flags = ["-DTILE=16"] in [tool.parity]'
    assert (result.code, said in result.out.splitlines()) == (0, True)
    (document,) = json.loads(parity("build", "tiled", *TARGET, "--json").out)
    switch = {"flag": "-DTILE=16", "file": str(foreign / "Makefile"), "line": 2, "others": ["-DTILE=8"]}
    assert document["switches"] == [switch]


def test_build_uninstantiated_templates_uses_float_and_says_so(parity, foreign):
    (foreign / "src" / "tiled.cu").write_text("template <class T> __global__ void tiled(T* x) { x[0] = T(1); }\n")
    result = parity("build", "tiled", *TARGET)
    assert result.code == 0
    assert "no compiled code shows the template arguments of its kernels; built for tiled<float>" in " ".join(
        result.out.split()
    )


def test_build_names_kernels_without_code(parity, foreign):
    (foreign / "src" / "tiled.cu").write_text(
        "template <class T> __global__ void twice(T* x) { x[0] *= T(2); }\n"
        "__global__ void tiled(int* x) { x[0] = 1; }\n"
        "#ifdef NEVER\n__global__ void __launch_bounds__(64) never(int* x) { x[0] = 1; }\n#endif\n"
    )
    said = "tiled: no code of twice never for gfx1100: a template has no instance, or a condition"
    assert said in " ".join(parity("build", "tiled", *TARGET).out.split())


def test_build_names_undefined_macro_of_kernels(parity, foreign):
    (foreign / "src" / "tiled.cu").write_text("#ifdef TILED\n__global__ void tiled(int* x) { x[0] = 1; }\n#endif\n")
    result = parity("build", "tiled", *TARGET)
    said = "tiled: no kernel was built: its kernels need a build that defines TILED; if yours does, say so: flags = "
    assert (result.code, said + '["-DTILED"] in [tool.parity]' in result.out.splitlines()) == (0, True)


def test_build_lists_generated_header_with_template(parity, foreign):
    (foreign / "src" / "tiled.cu").write_text(
        '#include "tile.h"\nextern "C" __global__ void tiled(int* x) { x[0] = TILE; }\n'
    )
    (foreign / "tile.h.in").write_text("#cmakedefine USE_CUDA\n#define TILE @TILE@\n")
    result = parity("build", "tiled", *TARGET)
    assert "header tile.h comes from tile.h.in (with USE_CUDA)" in result.out.splitlines()
    assert result.code == 0


def test_build_finds_header_that_is_spelled_in_another_case(parity, foreign, with_nvcc):
    (foreign / "src" / "tiled.cu").write_text('#include "Tile.h"\n__global__ void tiled(int* x) { x[0] = TILE; }\n')
    (foreign / "src" / "tile.h").write_text("#define TILE 3\n")
    result = parity("build", "tiled", "--target", "gfx1100,sm_90")
    line = "header Tile.h comes from src/tile.h (Windows ignores case; correct the #include)"
    assert line in result.out.splitlines(), result.text
    assert result.code == 0 and "empty" not in result.out


def test_fork_runs_same_cases_and_lists_missing_kernels(parity, kernels, edit, tmp_path):
    (kernels / "sort.cu").unlink()
    edit(kernels / "affine.cu", "AFFINE_FLOAT(bf16)", "")
    few = ("--dtype", "bf16,f32,u8", "--examples", "1")
    result = parity("run", "-v", "affine", "sort.argsort_asc", "--kernels", kernels, *TARGET, *few)
    assert result.code == 1
    assert "f32 u8  pass" in result.out
    assert f"missing in {kernels}: affine_bf16 asort_asc_u8" in result.out
    assert f"there is no {kernels / 'sort.cu'}" in result.err and "cases/sort.py:" in result.err
    failures = (tmp_path / "out" / "failures.txt").read_text()
    assert "FAIL  sort for gfx1100: missing kernel\n  kernels   asort_asc_u8 " in failures
    assert f"  because   there is no {kernels / 'sort.cu'}\n" in failures and failures.count("sort.cu") == 1
    assert "FAIL  affine_bf16 on gfx1100 (emulated): missing kernel" in failures


@pytest.mark.parametrize("command", ["list", "footprint", "bench"])
def test_commands_report_missing_kernels_of_fork(parity, kernels, command):
    (kernels / "sort.cu").unlink()
    options = {"list": (), "footprint": TARGET, "bench": (*TARGET, "--runner", "emulated")}[command]
    result = parity(command, "affine", "sort", "--dtype", "f32", "--kernels", kernels, *options)
    assert result.code == 2 and f"there is no {kernels / 'sort.cu'}" in result.err
    assert ("affine.affine" if command == "list" else "affine_f32") in result.out


def test_missing_source_of_other_module_does_not_concern_a_selection(parity, kernels):
    (kernels / "sort.cu").unlink()
    result = parity("list", "affine", "--kernels", kernels)
    assert result.code == 0 and "there is no" not in result.err


def test_show_lists_each_output_with_limited_elements(parity, library):
    library("declared")
    (case, *_) = (line for line in parity("list", "--cases", "adam", "--examples", "5").out.splitlines() if "[" in line)
    result = parity("explain", case.partition("  #")[0], "--elements", "1")
    assert result.code == 0
    for name in ("p", "m", "v"):
        (own,) = re.findall(rf"output     {name}: .*?(?=output  |\Z)", result.out, re.DOTALL)
        assert "elements of f32" in own and "right if   inside the accepted interval" in own and "from" in own
        assert len([line for line in own.splitlines() if re.match(r" *[\d,()]+  ", line)]) == 1


def test_reference_with_fmin_of_signalling_nan_is_explained(parity, library):
    cases = library("activations") / "parity" / "activations.py"
    cases.write_text(cases.read_text().replace("np.where(x < 0, x, 0)", "np.fmin(x, 0)"))
    result = parity("run", "activations.low[f32](x=()~near@1217)", "--target", "gfx1100", "-j", "1")
    assert result.code == 1 and "an input of this element is a signalling NaN" in result.out


def test_kernels_in_python_strings_have_a_verdict_with_python_lines(parity, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    kernel = 'extern "C" __global__ void scale(const float* x, float* y, float a, int n) {'
    body = ["int i = blockIdx.x * blockDim.x + threadIdx.x;", "if (i < n) y[i] = a * x[i];", "}"]
    source = tmp_path / "src" / "ops.py"
    source.write_text("\n".join(('import cupy\n\nscale = cupy.RawKernel(r"""', kernel, *body, '""", "scale")\n')))
    computed = "# __global__ void k(int* x) { }\nRawKernel(f'{TEXT}', 'k')\n"
    (tmp_path / "src" / "computed.py").write_text(computed)
    monkeypatch.chdir(tmp_path)
    result = parity("init", "--kernels", "src")
    assert result.code == 0 and "src/computed.py:2: the CUDA code is computed" in result.err
    assert "src/computed.py:2:2: the CUDA code is computed" in parity("build", *TARGET).out
    result = parity("run", *TARGET, "--examples", "2")
    assert result.code == 0 and "computed.py" not in result.out
    source.write_text(source.read_text().replace("i < n", "i <= n"))
    result = parity("run", *TARGET, "--examples", "2")
    assert result.code == 1 and "out-of-bounds read" in result.out
    assert "src/ops.py:6   if (i <= n) y[i] = a * x[i];" in result.out
