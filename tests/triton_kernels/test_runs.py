"""Triton kernels in whole runs, without a GPU. Skipped where Triton is not installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from parity import Run
from parity.build.modules import build_suite
from parity.cli import main
from parity.suite.loading import load_suite

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
SOFTMAX = """def rows(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + places, mask=places < n, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + places, powers / tl.sum(powers, axis=0), mask=places < n)
"""
OP = """from parity.op import Op, triton
from parity.reference.expected import Expected

def largest(x):
    return Expected((-abs(x)).max(axis=1))

op = Op(
    "rows.op", triton("rows.py:rows", BLOCK="bit_ceil(c)"), ("f32",), inputs={"x": "T"}, shapes="SHAPES",
    where="r > 0 and c > 0", choices={"r": (1, 3), "c": (5, 100)}, args="out x n=c", grid="r", MORE
)
"""
MAXIMUM = """def rows(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + places, mask=places < n, other=OTHER)
    tl.store(out + row, tl.max(-tl.abs(values), axis=0))
"""
SIGMOID = """def rows(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(y + i, mask=i < n) * tl.sigmoid(tl.load(x + i, mask=i < n)) - 0.5, mask=i < n)
"""
SIGMOID_OP = """from parity.op import Op, triton

op = Op("rows.sigmoid", triton("rows.py:rows", BLOCK=256), ("f32",), inputs={"x": "T", "y": "T"},
        shapes="x: n; y: n; out: n", args="out x y n", where="n > 0", grid="ceil(n/BLOCK)",
        data={"x": ("8e-8..8.1e-8",), "y": ("1.0000002..1.0000003",)}, choices={"n": (1, 2, 3, 4, 5, 6, 7, 8)})
"""
COUNTED = """def rows(count, x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(count, tl.load(count) + 1)
    tl.store(out + i, tl.load(x + i) * 2)
"""
COUNTED_OP = """from parity.op import Op, triton
from parity.reference.expected import Expected

op = Op("rows.counted", triton("rows.py:rows", BLOCK=256), ("i32",), inputs={"x": "T"}, outputs={"out": "T"},
        updates={"count": "T"}, args="count x out", grid="1", shapes="count: 1; x: 256; out: 256",
        data={"x": ("1..9",)}, reference=lambda x, count: {"count": Expected(count + 1), "out": Expected(x * 3)})
"""
OUTSIDE = SOFTMAX.replace("powers / tl.sum(powers, axis=0), mask=places < n", "powers / tl.sum(powers, axis=0)")
COPY = "x: r c; out: r c"
ROW = "x: r c; out: r"
JUDGED = 'reference=largest, data=("normal",)'


def project(folder: Path, source: str, shapes: str = COPY, more: str = "") -> Path:
    for name in ("kernels", "cases"):
        (folder / name).mkdir()
    (folder / "kernels" / "rows.py").write_text(HEAD + source)
    (folder / "cases" / "rows.py").write_text(OP.replace("SHAPES", shapes).replace("MORE", more))
    (folder / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    return folder


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, targets: str) -> tuple[int, set[str]]:
    """Run the project. Return the exit code, and the classes of the failures."""
    monkeypatch.chdir(folder)
    code = main(["run", "--target", targets, "--examples", "4", "-j", "1", "--output", "out"])
    lines = [json.loads(line) for line in (folder / "out" / "record.jsonl").read_text().splitlines()]
    return code, {each["verdict"]["kind"] for each in lines if each.get("verdict", {}).get("status") == "fail"}


def test_softmax_agrees_on_both_vendors(tmp_path, monkeypatch):
    assert run(project(tmp_path, SOFTMAX), monkeypatch, "sm_80,gfx942,gfx1201") == (0, set())


def test_approximation_that_only_the_manual_allows_does_not_make_port_less_precise(tmp_path, monkeypatch):
    """The difference magnifies an error of 1 ULP in the exponential or the reciprocal, which no GPU may have."""
    folder = project(tmp_path, SIGMOID)
    (folder / "cases" / "rows.py").write_text(SIGMOID_OP)
    assert run(folder, monkeypatch, "gfx90a") == (0, set())


def test_race_without_effect_is_not_a_cause_of_wrong_values(tmp_path, monkeypatch):
    folder = project(tmp_path, COUNTED)
    (folder / "cases" / "rows.py").write_text(COUNTED_OP)
    assert run(folder, monkeypatch, "sm_80") == (1, {"value"})
    assert "race" not in (folder / "out" / "failures.txt").read_text()


def test_file_may_also_embed_cuda_code(tmp_path, monkeypatch):
    text = 'CUDA = r"""\nextern "C" __global__ void f(int *x) { *x = 0; }\n"""\nMODULE = SourceModule(CUDA)\n\n'
    folder = project(tmp_path, SOFTMAX)
    (folder / "kernels" / "rows.py").write_text(text + HEAD + SOFTMAX)
    assert run(folder, monkeypatch, "gfx1100") == (0, set())


def test_usual_target_of_cuda_is_one_that_the_emulator_knows(tmp_path):
    folder = project(tmp_path, SOFTMAX)
    suite = load_suite(folder / "kernels", folder / "cases")
    assert Run.of(suite=suite, targets=["gfx1100"]).targets == ["sm_89", "gfx1100"]


def test_code_has_kernels_metadata_and_lines_of_the_source(tmp_path):
    folder = project(tmp_path, SOFTMAX)
    suite = load_suite(folder / "kernels", folder / "cases")
    built = build_suite(suite, ["rows"], ["gfx1100", "sm_80"], jobs=1)
    amd, cuda = (each.code_object for each in built)
    assert list(amd.kernels) == list(cuda.kernels) == ["rows_f32_BLOCK8", "rows_f32_BLOCK128"]
    kernel = amd.kernels["rows_f32_BLOCK128"]
    assert kernel.max_threads == 128 and kernel.dynamic_lds > 0 and len(kernel.args) == 5
    assert [each.name for each in kernel.args[:3]] == ["out", "x", "n"]
    assert "; rows.py:9:" in amd.listing and str(folder) not in amd.listing + cuda.listing


@pytest.mark.parametrize("other", ["0.0", "float('inf')"], ids=["tail wins", "neutral"])
def test_maximum_over_masked_tail_needs_neutral_value(other, tmp_path, monkeypatch):
    """Negative numbers have the maximum 0 if masked elements count as 0."""
    folder = project(tmp_path, MAXIMUM.replace("OTHER", other), ROW, JUDGED)
    code, kinds = run(folder, monkeypatch, "gfx942")
    assert (code, kinds) == ((1, {"value"}) if other == "0.0" else (0, set()))


def test_store_without_mask_is_out_of_bounds(tmp_path, monkeypatch):
    code, kinds = run(project(tmp_path, OUTSIDE), monkeypatch, "sm_80,gfx1100")
    assert code == 1 and "out-of-bounds write" in kinds


def test_error_of_triton_names_function_and_line(tmp_path, monkeypatch, capsys):
    code = main_in(project(tmp_path, SOFTMAX.replace("tl.exp(", "tl.no_such_function(")), monkeypatch)
    assert code == 1 and "no_such_function" in capsys.readouterr().err


def test_name_that_the_project_computes_is_not_needed(tmp_path, monkeypatch):
    folder = project(tmp_path, SOFTMAX)
    source = folder / "kernels" / "rows.py"
    head = HEAD.replace("@triton.jit", "@triton.jit(repr=make_repr())")
    source.write_text("from missing_package import make_repr\n" + head + SOFTMAX)
    assert main_in(folder, monkeypatch) == 0


def main_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    return main(["build", "--target", "gfx942", "-j", "1"])


def test_ptx_in_kernel_is_refused_on_amd(tmp_path, monkeypatch, capsys):
    """Triton ignores the error of LLVM and returns a kernel without this value."""
    assembly = 'tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [values], tl.float32, True, 1)'
    assert main_in(project(tmp_path, SOFTMAX.replace("tl.exp(values - tl.max(values, axis=0))", assembly)), monkeypatch)
    assert "LLVM: could not allocate output register for constraint 'f'" in capsys.readouterr().err


ADDRESSES = """def rows(outs, lists, sizes, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    out = tl.load(outs + row).to(tl.pointer_type(tl.float32))
    x = tl.load(lists + row).to(tl.pointer_type(tl.float32))
    mask = places < tl.load(sizes + row)
    tl.store(out + places, 2 * tl.load(x + places, mask=mask), mask=mask)
"""
ADDRESSES_OP = """from parity.op import Op, triton
from parity.reference.expected import Expected

op = Op("rows.lists", triton("rows.py:rows", BLOCK=64), ("f32",), inputs={"x": "T", "y": "T"},
        outputs={"out": "T", "more": "T"}, shapes="x: n; y: m; out: n; more: m", args="outs lists sizes", grid="2",
        structs={"*outs": "out more", "*lists": "x y", "*sizes": "n:i64=n m:i64=m"}, where="n > 0 and m > 0",
        choices={"n": (1, 50), "m": (33, 64)}, reference=lambda x, y: {"out": Expected(2 * x), "more": Expected(2 * y)})
"""


def test_addresses_of_tensors_are_structures(tmp_path, monkeypatch):
    folder = project(tmp_path, ADDRESSES)
    (folder / "cases" / "rows.py").write_text(ADDRESSES_OP)
    assert run(folder, monkeypatch, "sm_80,gfx1100") == (0, set())
