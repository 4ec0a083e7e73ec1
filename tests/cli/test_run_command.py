"""``parity run``: exit codes, output and files."""

from __future__ import annotations

import csv
import json
import re
import shlex

import pytest

from parity.application.columns import default_runners
from parity.engine.execution import execute_plan as execute
from parity.engine.record_file import read_record
from parity.runners.emulated import EmulatedRunner

ONE = ("--target", "gfx1100")


def test_run_passing_kernels_exits_with_0(parity, tmp_path, conforms):
    result = parity("run", "affine", "fill.fill", "--examples", "2", "-j", "1", *ONE)
    assert result.code == 0
    assert "gfx1100 emulated" in result.out
    assert "18 kernels, " in result.out
    assert " 0 failed" in result.out
    assert "\x1b" not in result.out
    assert result.out.isascii()
    files = {path.name for path in (tmp_path / "out").iterdir()}
    matrix = {f"matrix.{kind}" for kind in ("txt", "md", "json", "csv")}
    assert files == {"record.jsonl", *matrix, "failures.txt", "junit.xml", "report.html", "badge.svg"}
    record = read_record(tmp_path / "out" / "record.jsonl")
    assert record.complete
    data = json.loads((tmp_path / "out" / "matrix.json").read_text())
    assert data["cases"] == len(record.records) > 18
    assert conforms("matrix", data)
    lines = (tmp_path / "out" / "record.jsonl").read_text().splitlines()
    assert all(conforms("record", json.loads(line)) for line in lines)
    assert len(list(csv.DictReader((tmp_path / "out" / "matrix.csv").open()))) == 18


def test_run_matrix_fits_terminal_and_files_are_complete(parity, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "45")
    result = parity("run", "-v", "fill.fill", "--examples", "1", "-j", "1", "--target", "gfx1100,gfx90a")
    assert result.code == 0
    header, _, table = result.out.partition("\n\n      ")
    assert "n/n: passed" in header
    lines = f"      {table}".splitlines()
    assert max(map(len, lines[:5])) <= 45
    assert lines[:3] == [
        "                  gfx1100 gfx90a",
        "fill              emulated",
        "  fill  8 dtypes  pass  33/33  exact",
    ]
    assert lines[4].startswith("left out to fit 45 characters (")
    whole = (tmp_path / "out" / "matrix.txt").read_text().splitlines()
    start = next(i for i, line in enumerate(whole) if line.startswith("fill "))
    assert "gfx1100 emulated" in whole[start] and "f64 f8_e4m3  pass" in whole[start + 1]


def test_run_library_op_is_not_a_failure(parity):
    alone = parity("run", "-v", "gemm", *ONE)
    assert alone.code == 3
    assert re.search(r"matmul +f16 bf16 f32 f64 +not run", alone.out)
    beside = parity("run", "-v", "gemm", "affine_f32", "--examples", "1", *ONE)
    assert beside.code == 0
    assert "1 kernel, " in beside.out


@pytest.mark.thorough
def test_run_same_seed_gives_same_matrix(parity, tmp_path):
    for jobs in "12":
        parity("run", "-v", "affine", "--examples", "3", "--seed", "5", "-j", jobs, "--output", tmp_path / jobs)
    assert len({(tmp_path / jobs / "matrix.csv").read_text() for jobs in "12"}) == 1


def test_run_json_is_only_output(parity):
    result = parity("run", "affine_f32", "--examples", "1", "-j", "1", *ONE, "--json")
    data = json.loads(result.out)
    assert [kernel["kernel"] for kernel in data["kernels"]] == ["affine_f32"]
    assert data["failures"] == []


def test_run_selects_case_by_text(parity):
    result = parity("run", "unary.neg[f32](x=3~normal@0)", "-j", "1", *ONE)
    assert result.code == 0
    assert "1 kernel, 1 case, 1 passed" in result.out


def test_run_selects_dtypes(parity):
    result = parity("run", "affine", "--dtype", "f16,u8", "--examples", "1", "-j", "1", *ONE, "-vv")
    assert "affine_f16" in result.out
    assert "affine_f32" not in result.out


@pytest.fixture
def only_gfx1100(monkeypatch):
    """Limit the emulator to a single target."""
    monkeypatch.setattr(EmulatedRunner, "targets", lambda self: ("gfx1100",))


@pytest.mark.usefixtures("only_gfx1100")
def test_run_target_without_runner_is_compiled_only(parity):
    result = parity("run", "-v", "affine_f32", "--examples", "1", "-j", "1", "--target", "gfx1100,gfx90a")
    assert result.code == 0
    assert "gfx90a compiled only" in result.out


def test_run_planted_fault_prints_reproduction_command(parity, kernels, tmp_path):
    path = kernels / "affine.cu"
    path.write_text(path.read_text().replace("extern", "\nextern"))
    shared = kernels / "elementwise.cuh"
    text = shared.read_text()
    assert "i < numel; i += step" in text
    shared.write_text(text.replace("i < numel; i += step", "i + 1 < numel; i += step"))
    result = parity("run", "-v", "affine_f32", "--examples", "5", "-j", "1", *ONE, "--kernels", kernels)
    assert result.code == 1
    for part in ("FAIL", "affine_f32", "unwritten", "expected", "got", "only"):
        assert part in result.out
    again = next(line for line in result.out.splitlines() if "again" in line).split("again")[1]
    command = shlex.split(again)
    assert command[:2] == ["parity", "run"]
    assert command[3:] == [*ONE, "--kernels", str(kernels)]
    assert "more failing" in result.out
    assert command[2] in (tmp_path / "out" / "failures.txt").read_text()
    assert parity(*command[1:], "-j", "1").code == 1
    failures = json.loads(parity(*command[1:], "-j", "1", "--json").out)["failures"]
    assert command[2] in failures[0]["reproduce"]


def test_run_compile_error_affects_only_its_module(parity, kernels):
    path = kernels / "fill.cu"
    path.write_text(path.read_text() + "\n__device__ int broken = undeclared;\n")
    result = parity("run", "-v", "fill", "affine_f32", "--examples", "1", "-j", "1", *ONE, "--kernels", kernels)
    assert result.code == 1
    assert "COMPILE ERROR" in result.out
    assert f"{path}:" in result.out
    assert "use of undeclared identifier 'undeclared'" in result.out
    assert "24 compile error" in result.out
    assert "1 kernel, " in result.out


def test_run_missing_kernel_fails(parity, kernels):
    path = kernels / "ternary.cu"
    path.write_text("#include <cuda_runtime.h>\n" + 'extern "C" __global__ void other(float* x) { *x = 1; }\n')
    result = parity("run", "-v", "where_u8_f32", "--examples", "1", "-j", "1", *ONE, "--kernels", kernels)
    assert result.code == 1
    assert "MISSING KERNEL" in result.out


def test_run_interrupt_writes_results(parity, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        results = execute(*arguments, **options)
        yield next(results)
        results.close()
        raise KeyboardInterrupt

    monkeypatch.setattr("parity.application.run.stream", interrupted)
    result = parity("run", "-v", "affine", "--examples", "2", "-j", "1", *ONE)
    assert result.code == 130
    assert "interrupted" in result.out
    assert "NOT RUN" in result.out
    record = read_record(tmp_path / "out" / "record.jsonl")
    assert len(record.records) == 1
    assert not record.complete


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["unary.gelo"], 2, "did you mean unary.gelu"),
        (["ugelu_f23"], 2, "did you mean ugelu_f32"),
        (["unary.gelo[f32](x=1~mixed@0)"], 2, "did you mean unary.gelu"),
        (["unary.gelu[f32](x=1~mixed@0"], 2, "is not a case"),
        (["unary.gelu[f32](y=1~mixed@0)"], 2, "has no 'y'"),
        (["unary.gelu[u8](x=1~mixed@0)"], 2, "does not exist for [u8]"),
        (["unary.gelu[f32](x=1~mixd@0)"], 2, "mixd"),
        (["affine", "--dtype", "f23"], 2, "did you mean f32"),
        (["unary.gelu", "--dtype", "u8"], 2, "has no kernel for dtype u8"),
        (["--target", "gfx1110"], 2, "did you mean gfx1100"),
        (["--runner", "emulate"], 2, "did you mean emulated"),
        (["--examples", "0"], 2, "at least 1"),
        (["--examples", "many"], 2, "at least 1"),
        (["-j", "0"], 2, "at least 1"),
        (["--no-such-option"], 2, "--no-such-option"),
        (["--exampels", "3"], 2, "parity run: error: unrecognized arguments: --exampels; did you mean --examples"),
        (["-J"], 2, "unrecognized arguments: -J; see parity run --help"),
        (["--launches", "hots"], 2, "did you mean host"),
        (["nothing-like-it"], 2, "names no op, module or kernel entry; parity list shows all"),
        (["--hip", "nowhere"], 2, "the folder of the port nowhere does not exist"),
        (["--kernels", "nowhere"], 2, "nowhere does not exist"),
        (["--cases", "nowhere"], 2, "nowhere does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_run_wrong_usage_is_explained(parity, arguments, code, message):
    result = parity("run", "-v", *arguments)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert "Traceback" not in result.err


@pytest.mark.usefixtures("only_gfx1100")
def test_run_only_target_without_runner_is_refused(parity):
    result = parity("run", "-v", "affine_f32", "--target", "gfx90a")
    assert (result.code, result.out) == (3, "")
    assert "cannot run gfx90a" in result.err


def test_run_only_cuda_targets_uses_ptx(suite):
    entries = suite.select(["affine_f32"]).entries
    assert default_runners(entries, ["sm_90", "sm_80"]) == ("ptx",)
    assert default_runners(entries, ["sm_90", "gfx1100"]) == default_runners(entries) == ("emulated",)


def test_run_three_targets_have_three_columns(parity):
    result = parity("run", "-v", "affine_u8", "--examples", "1", "-j", "1")
    heads = [f"{name} emulated" for name in ("gfx1030", "gfx1100", "gfx90a")]
    assert [head for head in heads if head in result.out] == heads
    assert " 0 failed" in result.out


def test_run_empty_or_broken_folder_is_refused(parity, tmp_path, affine_cases):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no *.cu" in parity("run", "-v", "--kernels", empty).err
    assert "holds no *.py" in parity("run", "-v", "--cases", empty).err
    path = affine_cases / "affine.py"
    path.write_text("from parity.op import Op\n\nnumber = 1 / 0\n")
    result = parity("run", "-v", "--cases", affine_cases)
    assert result.code == 2
    assert f"{path}:3: ZeroDivisionError" in result.err
    path.write_text("def broken(:\n")
    assert f"{path}:1: " in parity("run", "-v", "--cases", affine_cases).err


def test_run_missing_compiler_is_explained(parity, monkeypatch):
    from parity.compilers import zig

    zig.zig.cache_clear()
    monkeypatch.setattr(zig, "package_folders", lambda name: ())
    monkeypatch.setattr(zig, "cached_files", lambda wheel: None)
    monkeypatch.setattr(zig, "optional_files", lambda wheel: None)
    result = parity("run", "-v", "affine_f32")
    zig.zig.cache_clear()
    assert result.code == 3
    assert "pip install 'ziglang" in result.err


def test_run_unwritable_folder_is_refused(parity, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    result = parity("run", "-v", "affine_f32", "--output", tmp_path / "file" / "out")
    assert result.code == 2
    assert "--output" in result.err
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "file" / "cache"))
    result = parity("run", "-v", "affine_f32")
    assert result.code == 3
    assert "PARITY_CACHE" in result.err


def test_run_rebuilds_damaged_cache_entry(parity, tmp_path, monkeypatch):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    assert parity("build", "fill", *ONE).code == 0
    for listing in (tmp_path / "cache" / "build").rglob("*.s.z"):
        listing.write_text("spoiled")
    result = parity("build", "fill", *ONE)
    assert result.code == 0
    assert "was damaged" in result.err
    assert " compiled" in result.out
