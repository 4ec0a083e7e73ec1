"""``parity run --captured``: launches that programs made on an H100, replayed on emulated AMD GPUs."""

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

CAPTURES = Path(__file__).parents[1] / "captures" / "h100"
TARGETS = "gfx90a,gfx1100"


@pytest.fixture
def replay(parity, tmp_path):
    """Return a function that replays a capture on its kernels, in which ``old`` is replaced by ``new``."""
    folder = Path(shutil.copytree(CAPTURES / "kernels", tmp_path / "port"))

    def call(name, *arguments, old="", new=""):
        if old:
            source = folder / f"{name}.cu"
            text = source.read_text()
            assert text.count(old) == 1
            source.write_text(text.replace(old, new))
        capture = CAPTURES / f"{name}.capture"
        return parity("run", *arguments, "--captured", capture, "--kernels", folder, "--target", TARGETS)

    return call


@pytest.mark.parametrize(
    ("name", "cases"), [("convolution", 2), ("particles", 12), ("saxpy", 4)], ids=["variables", "pointers", "templates"]
)
def test_run_captured_launches_pass(replay, name, cases):
    result = replay(name)
    assert result.code == 0, result.err
    assert f"{cases} cases, {cases} passed, 0 failed" in result.out


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("convolution", "c_filter[i + RADIUS]", "c_filter[RADIUS - i]"),
        ("convolution", "max(x + i, 0)", "max(x + i, 1)"),
        ("particles", "p.v[i] * p.dt", "p.v[i] * p.dt * 1.001f"),
        ("particles", "d * d + 0.01f", "d * d + 0.02f"),
        ("saxpy", "if (i < n)", "if (i < n - 1)"),
        ("stencil", "/ 6.0f", "* 0.16666f"),
        ("stencil", "i >= nx - 1", "i >= nx"),
    ],
)
def test_run_captured_planted_bug_is_found_on_both_targets(replay, name, old, new):
    result = replay(name, "--json", old=old, new=new)
    assert result.code == 1
    failures = json.loads(result.out)["failures"]
    assert {each["target"] for each in failures} == {"gfx90a", "gfx1100"}
    assert {each["verdict"]["kind"] for each in failures} == {"value"}


def test_run_captured_failure_names_launch_and_command(replay):
    result = replay("saxpy", old="if (i < n)", new="if (i < n - 1)")
    assert "saxpy.axpy_float[f32](launch=0 saxpy.capture)" in result.out
    assert f"--captured {CAPTURES / 'saxpy.capture'}" in result.out


def test_run_captured_case_text_selects_the_launch(replay):
    result = replay("particles", "particles.step[u8](launch=2 particles.capture)")
    assert result.code == 0, result.err
    assert "2 cases, 2 passed" in result.out


def test_run_captured_cooperative_launch_is_not_judged(replay):
    result = replay("stencil")
    assert result.code == 3
    assert "4 passed, 0 failed, 2 not judged" in result.out
    assert "synchronization of a whole grid" in result.err


def test_run_captured_launches_that_change_nothing_are_not_judged(parity, tmp_path):
    folder = Path(shutil.copytree(CAPTURES / "kernels", tmp_path / "port"))
    source = folder / "saxpy.cu"
    source.write_text(source.read_text().replace("if (i < n)", "if (i < 0)"))
    capture = tmp_path / "idle.capture"
    with zipfile.ZipFile(CAPTURES / "saxpy.capture") as old, zipfile.ZipFile(capture, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, re.sub(rb'"after":"\w*"', b'"after":""', content) if "jsonl" in name else content)
        new.comment = old.comment
    result = parity("run", "--captured", capture, "--kernels", folder, "--target", TARGETS)
    assert (result.code, "no captured launch of this kernel changes memory" in result.err) == (3, True), result.err


def test_run_captured_other_signature_is_not_judged(replay):
    result = replay("saxpy", old="int n, T a,", new="long n, T a,")
    assert result.code == 3
    assert "have [4, 8, 8, 8] bytes, but the arguments of this one [8, 8, 8, 8]" in result.err


def test_run_captured_kernel_without_source_is_named(replay, tmp_path):
    (tmp_path / "port" / "particles.cu").unlink()
    result = replay("particles")
    assert result.code == 2
    assert "6 launches of the capture cannot be replayed: no source in" in result.err
    assert "step, move" in result.err


def test_run_captured_outside_a_project_names_the_option(parity, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = parity("run", "--captured", CAPTURES / "stencil.capture", "--target", TARGETS)
    assert result.code == 2
    assert "--kernels FOLDER" in result.err


def test_run_captured_some_kernels_without_source_is_incomplete(replay):
    result = replay("particles", old="void move(", new="void move_renamed(")
    assert result.code == 3
    assert "3 launches of the capture cannot be replayed" in result.err
    assert "6 cases, 6 passed" in result.out


def test_run_captured_kernel_in_two_modules_must_be_chosen(replay, tmp_path):
    shutil.copy(tmp_path / "port" / "saxpy.cu", tmp_path / "port" / "other.cu")
    result = replay("saxpy")
    assert result.code == 2
    assert "name the module that the program used" in result.err
    assert replay("saxpy", "saxpy").code == 0


def test_run_captured_unknown_launch_is_refused(replay):
    result = replay("saxpy", "saxpy.axpy_float[f32](launch=9 saxpy.capture)")
    assert result.code == 2
    assert "is not a launch of saxpy.axpy_float" in result.err


def test_run_captured_damaged_file_is_refused(parity, tmp_path):
    path = tmp_path / "damaged.capture"
    path.write_bytes((CAPTURES / "saxpy.capture").read_bytes()[:4000])
    result = parity("run", "--captured", path)
    assert result.code == 2
    assert "is not a capture, or it was truncated or altered" in result.err


def test_list_captured_prints_launches_without_sources(parity):
    result = parity("list", "--captured", CAPTURES / "particles.capture")
    assert result.code == 0
    assert "step" in result.out
    assert "<<<4x1x1, 32x1x1>>>" in result.out
    assert "NVIDIA H100 80GB HBM3, sm_90" in result.out
    assert "2 launches were not recorded (limit of launches of one shape): step, move" in result.out


def test_capture_without_program_is_refused(parity, tmp_path):
    result = parity("capture", "--output", tmp_path / "a.capture")
    assert result.code == 2
    assert "name a program after --" in result.err


@pytest.mark.parametrize("name", ["saxpy", "convolution"], ids=["template", "plain"])
def test_run_captured_kernel_in_an_included_header_is_found(replay, tmp_path, name):
    port = tmp_path / "port"
    text = (port / f"{name}.cu").read_text()
    (port / "device").mkdir()
    (port / "device" / "kernels.cuh").write_text("#pragma once\n" + text)
    for module in (name, "other"):  # both contain the kernels of the header
        (port / f"{module}.cu").write_text('#include "device/kernels.cuh"\n')
    result = replay(name)
    assert result.code == 0, result.err
    assert "0 failed" in result.out


@pytest.fixture
def declare(parity, tmp_path, monkeypatch):
    """Return a function that declares the kernels of a capture, and returns the folder and the result."""

    def call(name):
        shutil.copytree(CAPTURES / "kernels", tmp_path / "app")
        monkeypatch.chdir(tmp_path / "app")
        return parity("init", "--kernels", ".", "--captured", CAPTURES / f"{name}.capture")

    return call


@pytest.mark.parametrize(
    ("name", "declared", "old", "new"),
    [
        (
            "saxpy",
            ['shapes="x: n; y: n"', 'choices={"n": (1000, 999, 1001', "block=256"],
            "if (i < n)",
            "if (i < n - 1)",
        ),
        ("particles", ["p_x: count; v: count; mass: count", "block=32"], "p.v[i] * p.dt", "p.v[i] * p.dt * 1.001f"),
        ("stencil", ["nx ny nz", "ceil(nx/8), ceil(ny/4), ceil(nz/4)"], "/ 6.0f", "* 0.16666f"),
        ("convolution", ["c_filter: 9", "ceil(w/32), ceil(h/8)"], "c_filter[i + RADIUS]", "c_filter[RADIUS - i]"),
    ],
    ids=["templates", "structures", "three axes", "constants"],
)
def test_init_captured_declarations_pass_and_find_a_planted_bug(parity, declare, tmp_path, name, declared, old, new):
    result = declare(name)
    assert result.code == 0, result.err
    assert [path.name for path in Path("cases").glob("*.py")] == [f"{name}.py"]
    text = Path("cases", f"{name}.py").read_text()
    assert [each for each in declared if each not in text] == []
    assert parity("run", "--target", "gfx1100", "--examples", 5).code == 0
    port = tmp_path / "port"
    port.mkdir()
    source = Path(f"{name}.cu").read_text()
    assert old in source
    (port / f"{name}.hip").write_text(
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n" + source.replace(old, new)
    )
    assert parity("run", "--target", "gfx1100", "--hip", port, f"{name}").code == 1


def test_init_captured_without_a_source_is_refused(parity, declare, tmp_path):
    shutil.rmtree(tmp_path / "empty", ignore_errors=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "other.cu").write_text('extern "C" __global__ void other(float *x) { *x = 1; }\n')
    result = parity("init", tmp_path, "--kernels", "empty", "--captured", CAPTURES / "saxpy.capture")
    assert result.code == 2
    assert "defines a kernel of the capture" in result.err


@pytest.mark.parametrize(
    ("new", "code"), [("p.v[i] * p.dt", 0), ("p.v[i] * p.dt * 1.001f", 1)], ids=["right", "planted bug"]
)
def test_reproduce_captured_case_has_the_recorded_result(parity, tmp_path, new, code):
    port = shutil.copytree(CAPTURES / "kernels", tmp_path / "port")
    source = port / "particles.cu"
    source.write_text(source.read_text().replace("p.v[i] * p.dt", new))
    case = "particles.move[u8](launch=1 particles.capture)"
    capture = ("--captured", CAPTURES / "particles.capture", "--kernels", port, "--target", "gfx1100")
    result = parity("reproduce", case, *capture, "-o", tmp_path / "folder", "--check")
    assert result.code == code, result.err
    assert "NVIDIA H100" in (tmp_path / "folder" / "README.md").read_text()
