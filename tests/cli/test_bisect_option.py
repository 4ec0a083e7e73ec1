"""``parity explain --bisect`` finds planted causes and names the compiler option and line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from parity.bisect import compiler_options
from parity.compilers.headers import available_headers

KERNELS = """\
extern "C" __global__ void squares_f32(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] * a[i]
            - b[i] * b[i];
}
extern "C" __global__ void tiny_f32(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] / b[i] * 1e-39f;
}
extern "C" __global__ void shared_i32(const int* a, int* out, int n) {
    __shared__ int slot[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        slot[threadIdx.x % 32] = a[i];
        out[i] = slot[threadIdx.x % 32] + 1;
    }
}
extern "C" __global__ void wrong_i32(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + 2;
}
extern "C" __global__ void levels_i32(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(__HIPCC__) && defined(__OPTIMIZE__)
    i += n / 8;
#endif
    if (i < n) out[i] = a[i] + 1;
}
"""
CASES = """\
import numpy as np
from parity.op import Op
from parity.reference import Expected, within

def op(name, function, types, inputs="a"):
    names = inputs.split()
    return Op(f"mine.{name}", kernel=name + "_{T}", types=types, args=f"{inputs} out n:i32=numel",
              inputs=dict.fromkeys(names, "T"), reference=function, block=64, grid_stride=False)

def squares(a, b, to):
    return Expected(a * a - b * b)

def tiny(a, b):
    with np.errstate(all="ignore"):
        return Expected(a / b * np.float32(1e-39))

def one_more(a):
    with np.errstate(all="ignore"):
        return Expected(a + np.int32(1))

squares_op = op("squares", squares, ("f32",), "a b")
tiny_op = op("tiny", tiny, ("f32",), "a b")
shared_op = op("shared", one_more, ("i32",))
wrong_op = op("wrong", one_more, ("i32",))
levels_op = op("levels", None, ("i32",))
"""
SQUARES = "mine.squares[f32](a=1~mixed@0 b=1~mixed@0)"
ON = ("--target", "gfx1100", "--runner", "emulated")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes the project with the given settings and changes to it."""

    def write(settings: str = "") -> Path:
        for name, text in (("kernels/mine.cu", KERNELS), ("cases/mine.py", CASES)):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text(text)
        (tmp_path / "pyproject.toml").write_text(f"[tool.parity]\n{settings}\n")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    return write


@pytest.fixture
def only(monkeypatch):
    """Return a function that limits the compiler options by name or flag, because each costs a compilation."""

    def leave(*wanted: str) -> None:
        left = tuple(each for each in compiler_options.COMPILER_OPTIONS if {each.name, *each.flags} & {*wanted})
        monkeypatch.setattr(compiler_options, "COMPILER_OPTIONS", left)

    return leave


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of the table by flag, each as the list of the words after the flag."""
    lines = [line.split() for line in text.partition("\noption ")[2].splitlines()[1:]]
    return {line[1]: line[2:] for line in lines}


def test_why_names_contraction_with_line_and_cost(parity, project, only):
    project()
    only("-ffp-contract=off", "atomics")
    result = parity("explain", "--bisect", SQUARES, *ON)
    assert result.code == 0, result.out + result.err
    first = result.out.splitlines()[0]
    assert first.startswith("Contraction: with -ffp-contract=off the case passes on gfx1100; line ")
    assert "; line 5 of mine.cu: v_fma_f32 " in first and first.endswith(" instructions.")
    found = rows(result.out)
    assert found["-ffp-contract=off"][:2] == ["gfx1100", "pass"]
    assert found["-munsafe-fp-atomics"] == ["gfx1100", "same", "code"]


def test_why_narrow_terminal_moves_flags_below_option(parity, project, only, monkeypatch):
    project()
    only("-ffp-contract=off")
    monkeypatch.setenv("COLUMNS", "60")
    result = parity("explain", "--bisect", SQUARES, *ON)
    table = result.out.partition("option ")[2].splitlines()
    assert table[0].split() == ["side", "verdict", "error", "instructions"]
    assert any(line.startswith("    -ffp-contract=off: mine.cu:5: ") for line in table)
    assert max(map(len, table)) <= 60


@pytest.mark.thorough
def test_why_names_flush_flags(parity, project, only):
    project('flags = ["-fgpu-flush-denormals-to-zero"]')
    only("subnormals")  # a flag of the project matches one of these options
    result = parity("explain", "--bisect", "mine.tiny[f32](a=40~normal@0 b=40~mixed@0)", *ON)
    assert result.code == 0, result.out + result.err
    first, line, *_ = result.out.splitlines()
    assert first.startswith("Subnormals: without -fgpu-flush-denormals-to-zero the case passes on gfx1100; line 9 of")
    assert "2 s_denorm_mode less" in first and line == "  mine.cu:9: if (i < n) out[i] = a[i] / b[i] * 1e-39f;"


@pytest.mark.thorough
def test_why_reveals_race_hidden_by_optimization(parity, project, only):
    project()
    only("-O0")
    result = parity("explain", "--bisect", "mine.shared[i32](a=64~mixed@0)", *ON, "--json")
    assert result.code == 0, result.out + result.err
    found = json.loads(result.out)
    assert found["state"] == "same" and found["knob"]["with"] == "-O0"
    assert found["answer"].startswith("Optimization: with -O0 the case, which passes as built, fails (data race)")
    assert "; line 15 of mine.cu: " in found["answer"]
    built, unoptimized, *_ = found["turns"]
    assert built["verdict"] == "pass" and built["instructions"] > 0
    assert (unoptimized["class"], unoptimized["effect"]) == ("data race", "fails")
    assert unoptimized["changed"][0]["line"] == "mine.cu:15" and not unoptimized["error"]


def test_why_source_mistake_is_not_blamed_on_build(parity, project, only):
    project()
    only("wavefront")
    result = parity("explain", "--bisect", "mine.wrong[i32](a=1~mixed@0)", *ON)
    assert result.code == 1, result.out + result.err
    assert result.out.startswith("No compiler option makes the failure disappear: ")
    assert "the source does not compute the expected values" in result.out
    assert rows(result.out)["-mwavefrontsize64"][1:4] == ["gfx1100", "FAIL", "value"]


@pytest.mark.usefixtures("with_nvcc")
def test_why_passing_case_compares_both_sides(parity, project, only):
    """Both sides are right but round differently; the AMD side is rebuilt until its bits match the CUDA side."""
    folder = project('cuda-flags = ["--fmad=false"]')
    case = folder / "cases" / "mine.py"
    case.write_text(case.read_text().replace("return Expected(a * a - b * b)", LOOSE))
    only("contraction")
    result = parity("explain", "--bisect", "mine.squares[f32](a=64~normal@0 b=64~normal@0)", "--target", "gfx1100")
    assert result.code == 0, result.out + result.err
    first = result.out.splitlines()[0]
    assert first.startswith("Contraction: with -ffp-contract=off both sides give the same bits on gfx1100; line ")
    assert " pass, within bounds " in result.out and " pass, identical " in result.out
    assert rows(result.out)["without"][:2] == ["--fmad=false", "sm_90"]


@pytest.mark.thorough
@pytest.mark.usefixtures("with_nvcc")
def test_why_without_reference_tries_both_sides(parity, project, only):
    folder = project('cuda-flags = ["--fmad=false"]')
    case = folder / "cases" / "mine.py"
    case.write_text(case.read_text().replace("reference=function, ", ""))
    only("contraction")
    result = parity("explain", "--bisect", "mine.squares[f32](a=64~normal@0 b=64~normal@0)", "--target", "gfx1100")
    assert result.code == 0, result.out + result.err
    assert "So it does without --fmad=false on sm_90 as well." in result.out
    assert " baseline, identical " in result.out
    alone = parity("explain", "--bisect", "mine.squares[f32](a=64~normal@0 b=64~normal@0)", *ON)
    assert alone.code == 3 and "the op has no reference" in alone.err


@pytest.mark.usefixtures("with_nvcc")
def test_why_without_reference_suspects_compiler_and_not_oracle(parity, project, only):
    project()
    only("-O0")
    result = parity("explain", "--bisect", "mine.levels[i32](a=64~normal@0)", "--target", "gfx1100")
    assert result.code == 0, result.out + result.err
    assert result.out.startswith("Optimization: with -O0 the case passes on gfx1100; ")
    assert "suspect a fault of the compiler" in result.out and "fails on sm_90" not in result.out


LOOSE = "return within(4096, a.astype(np.float64) ** 2 - b.astype(np.float64) ** 2, to)"


@pytest.mark.thorough
def test_why_tries_other_header_versions(parity, project, only, tmp_path, monkeypatch):
    """The simulated ROCm has AMD's headers with a different version number."""
    project()
    rocm = tmp_path / "rocm"
    shutil.copytree(available_headers().folder, rocm / "include", ignore=shutil.ignore_patterns("clang"))
    version = rocm / "include" / "hip" / "hip_version.h"
    version.write_text(version.read_text().replace("HIP_VERSION_MAJOR 6", "HIP_VERSION_MAJOR 5"))
    (rocm / "bin").mkdir()
    (rocm / "bin" / "hipcc").touch()
    monkeypatch.setenv("ROCM_PATH", str(rocm))
    monkeypatch.setenv("PARITY_TOOLCHAIN", "wheels")
    source = Path("kernels/mine.cu")
    added = "#ifdef __HIPCC__\n#include <hip/hip_version.h>\n#endif\n"
    text = KERNELS.replace("a[i] + 2", "a[i] + (HIP_VERSION_MAJOR == 5 ? 1 : 2)")
    source.write_text(added + text)
    only("headers")
    result = parity("explain", "--bisect", "mine.wrong[i32](a=1~mixed@0)", *ON)
    assert result.code == 0, result.out + result.err
    assert result.out.startswith("Headers: with headers of HIP 5.2.41134 the case passes on gfx1100; ")


def test_why_names_helpful_translation(parity, library, only):
    only("translation")
    ports = library("ports")
    source = ports / "cuda" / "warp.cu"
    source.write_text(source.read_text().replace("own, 0, GROUP)", "own, 0)"))
    case = "warp.from_first[f32](x=2x32~normal@0)"
    result = parity(
        "explain",
        "--bisect",
        case,
        "--target",
        "gfx90a",
        "--runner",
        "emulated",
        "--kernels",
        "cuda",
        "--cases",
        "parity",
    )
    assert result.code == 0, result.out + result.err
    assert result.out.startswith("Translation: with --hipify helpful the case passes on gfx90a; it reads warp.cu:")


def test_why_reports_option_that_does_not_compile(parity, project, only):
    project()
    source = Path("kernels/mine.cu")
    source.write_text("#if __AMDGCN_WAVEFRONT_SIZE == 64\n#error 32 lanes alone\n#endif\n" + KERNELS)
    only("wavefront")
    result = parity("explain", "--bisect", "mine.wrong[i32](a=1~mixed@0)", *ON)
    assert result.code == 1 and "does not compile" in result.out and "32 lanes alone" in result.out


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("mine.squares",), "mine.squares", 2),
        (("mine.nothing[f32](a=1~normal@0)",), "mine.nothing", 2),
        ((SQUARES, "--runner", "cuda"), "use emulated or ptx", 2),
    ],
)
def test_why_wrong_usage_is_explained(parity, project, arguments, said, code):
    project()
    result = parity("explain", "--bisect", *arguments)
    assert result.code == code and said in result.err and "Traceback" not in result.err


@pytest.mark.thorough
@pytest.mark.usefixtures("with_nvcc")
def test_why_table_has_row_per_option(parity, project):
    project()
    result = parity("explain", "--bisect", SQUARES, "--target", "gfx1100", "--runner", "emulated", "--runner", "ptx")
    found = rows(result.out)
    assert found["-ffp-contract=off"][:2] == ["gfx1100", "pass"] and found["--fmad=false"][:2] == ["sm_90", "pass"]
    assert {"-O0", "-O1", "-O2", "-mwavefrontsize64", "--hipify", "--ftz=true"} <= found.keys()
