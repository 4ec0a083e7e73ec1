"""``parity list``, ``show``, ``build`` and ``doctor``, and the exit code and output of the process."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parity as package
from parity.build.result import Built
from parity.cli import build as build_command
from parity.cli.run import _build_line
from parity.cli.shared.terminal import print_json
from parity.platform.installation import install_command
from parity.runners import Probe

ROOT = Path(__file__).parents[2]


def process(*arguments, **options):
    command = [sys.executable, "-m", "parity", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, **options)


def test_list_prints_ops(parity, suite):
    result = parity("list")
    assert result.code == 0
    assert f"{len(suite.kernel_entries)} kernels" in result.out
    assert all(name in result.out for name in suite.ops)
    assert "\x1b" not in result.out


def test_list_applies_selection(parity):
    assert "1 module, 1 op, 2 kernels" in parity("list", "unary.gelu", "--dtype", "f16,f64").out


def test_list_cases_match_run(parity, tmp_path):
    arguments = ("affine_f32", "--examples", "4", "--seed", "3")
    listed = [line.partition("  #")[::2] for line in parity("list", "--cases", *arguments).out.splitlines()]
    assert parity("run", "-v", *arguments, "-j", "1", "--target", "gfx1100").code == 0
    lines = [json.loads(line) for line in (tmp_path / "out" / "record.jsonl").read_text().splitlines()]
    cases = [line for line in lines if "case" in line]
    assert [line["case"] for line in cases] == [case for case, _ in listed]
    about = [line["case"] for line in cases if line["divergence"] == "D10"]
    assert about == [case for case, note in listed if "(D10)" in note] and len(about) == 1


def test_show_explains_case(parity):
    result = parity("explain", "unary.exp[f32](x=2x2:1,3+1~normal@0 launch=2x64)")
    assert result.code == 0
    for part in ("uexp_f32<<<2x1x1, 64x1x1>>>", "unary.cu", "strides (1, 3)", "offset 1", "expected", "from", "1,1"):
        assert part in result.out


def test_explain_option_launches_of_a_failing_run_is_accepted(parity):
    case = "unary.exp[f32](x=2~normal@0)"
    assert parity("explain", "--launches", "host", case).out == parity("explain", case).out


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("unary.neg[f32](x=3~normal@0)", "exactly the expected value"),
        ("unary.exp[f32](x=3~normal@0)", "inside the accepted interval"),
        ("quantized.quantize_q8_1[f32](x=1x3~normal@0)", "the reference accepts it; one of several accepted values is"),
    ],
)
def test_show_prints_acceptance_rule(parity, case, rule):
    assert f"right if   {rule}" in parity("explain", case).out


def test_show_prints_limits_of_both_vendors(parity):
    shown = parity("explain", "unary.exp[f32](x=16~points@0)").out
    assert "about      D14: exp of f32 below -103.28: CUDA gives a subnormal number" in shown
    assert "limits     CUDA: exp: 2.5 ULP of f32 (CUDA C++ Programming Guide 13.0" in shown
    assert "\n           AMD: exp: 3 ULP of f32 (OpenCL full profile" in shown
    heads, _, line, *_ = (row.split() for row in shown.partition("\nelement")[2].splitlines())
    assert heads == ["x", "expected", "CUDA", "from", "CUDA", "to", "AMD", "from", "AMD", "to", "(D14)"]
    _, _, expected, *ends, _ = map(float, line)
    assert ends[2] < ends[0] < expected < ends[1] < ends[3]
    assert (ends[3] - ends[2]) / (ends[1] - ends[0]) == pytest.approx(3 / 2.5, rel=1e-2)


def test_show_tanh_f16_uses_f32_limits(parity):
    shown = parity("explain", "unary.tanh[f16](x=3~points@3)").out
    assert "CUDA: tanh: 2.5 ULP of f32" in shown and "AMD: tanh: 5 ULP of f32" in shown
    assert shown.partition("\nelement")[2].split()[:4] == ["x", "expected", "from", "to"]  # rounding leaves one number


def test_show_explains_divergence(parity):
    result = parity("explain", "D14")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == ["divergence", "what", "CUDA", "AMD", "source"]
    assert "below -103.28" in result.out and "ocml" in result.out
    unknown = parity("explain", "D8")
    assert unknown.code == 2 and "the register has D1, D2" in unknown.err


@pytest.mark.parametrize("entry", ["unary.neg[f16]", "unary.silu[f32]", "cast.convert[f32,u8]", "affine.affine[bf16]"])
def test_show_accepts_each_listed_case(parity, entry):
    for line in parity("list", "--cases", entry, "--examples", "2").out.splitlines():
        assert parity("explain", line.partition("  #")[0]).code == 0


def test_show_invalid_case_is_refused(parity):
    result = parity("explain", "unary.exp")
    assert result.code == 2
    assert "is not a case" in result.err


def test_build_prints_table(parity):
    result = parity("build", "affine", "fill", "--target", "gfx1100,gfx90a")
    assert result.code == 0
    assert len([line for line in result.out.splitlines() if line.startswith(("affine ", "fill "))]) == 4
    data = json.loads(parity("build", "affine", "--target", "gfx1100", "--json").out)
    assert [(d["module"], d["target"], d["entries"], d["cached"]) for d in data] == [("affine", "gfx1100", 10, True)]
    assert data[0]["vgprs"] > 0


def test_build_lists_errors_and_unmapped_names(parity, kernels):
    (kernels / "affine.cu").write_text('extern "C" __global__ void affine_f32(float* x) { *x = y; }\n')
    fill = kernels / "fill.cu"
    fill.write_text(fill.read_text() + "\n// below\n__device__ void unused() { cudaGraphicsNoSuchThing(); }\n")
    result = parity("build", "affine", "fill", "--target", "gfx1100", "--kernels", kernels)
    assert result.code == 1
    assert "COMPILE ERROR" in result.out
    assert "use of undeclared identifier 'y'" in result.err
    assert "Traceback" not in result.err


def test_build_names_kernels_that_do_not_compile_and_builds_the_others(parity, kernels):
    fill = kernels / "fill.cu"
    fill.write_text(fill.read_text() + "\n__global__ void broken(float* x) { *x = nosuch; }\n")
    result = parity("build", "fill", "--target", "gfx1100", "--kernels", kernels)
    assert result.code == 1
    assert "COMPILED IN PART" in result.out
    assert "device code left out: broken (use of undeclared identifier 'nosuch')" in result.out
    assert "module 'fill' compiles for gfx1100 only without broken; the first error: " in result.err
    (one,) = json.loads(parity("build", "fill", "--target", "gfx1100", "--kernels", kernels, "--json").out)
    assert ([each["name"] for each in one["errors"]], one["error"]) == (["broken"], None)
    assert "fill_f32" in str(one["kernels"])


def test_build_unknown_module_shows_some_names(parity, kernels):
    result = parity("build", "fil", "--target", "gfx1100", "--kernels", kernels)
    assert result.code == 2 and "did you mean fill" in result.err and " more" in result.err


def test_build_limits_similar_findings(parity, tmp_path, monkeypatch):
    macros = "".join(f"#define VENDOR_{i} cudaGraphicsNoSuchThing{i}()\n" for i in range(12))
    (tmp_path / "k.cu").write_text(macros + "__global__ void k(float* x) { *x = 1; }\n")
    monkeypatch.chdir(tmp_path)
    result = parity("build", "--kernels", ".", "--target", "gfx1100")
    lines = [line for line in result.out.splitlines() if "could not be mapped" in line]
    assert result.code == 0 and len(lines) == 9
    assert lines[-1] == "k.cu: 4 more places like these (could not be mapped to HIP); --json lists them all"
    (built,) = json.loads(parity("build", "--kernels", ".", "--target", "gfx1100", "--json").out)
    assert len(built["unmapped"]) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["afine"], "did you mean affine"), (["--target", "gfx1200"], "unknown target"), (["-j", "x"], "at least 1")],
)
def test_build_wrong_usage_is_explained(parity, arguments, message):
    result = parity("build", *arguments)
    assert result.code == 2
    assert message in result.err


def test_doctor_prints_tools_and_devices(parity):
    result = parity("doctor")
    assert result.code == 0
    for part in (
        "Python",
        "ziglang",
        "device libraries",
        "nvcc",
        "NVIDIA",
        "AMD",
        "numpy",
        "cache",
        "emulated",
        "cases",
    ):
        assert part in result.out
    data = json.loads(parity("doctor", "--json").out)
    assert all(finding["found"] or finding["advice"] for finding in data)


def test_doctor_shows_nvcc_or_how_to_install_it(parity, monkeypatch, tmp_path, hide_nvcc):
    def nvcc():
        return next(fact for fact in json.loads(parity("doctor", "--json").out) if fact["name"] == "nvcc")

    for name, value in (("PATH", str(tmp_path)), ("PARITY_TOOLCHAIN", "auto")):
        monkeypatch.setenv(name, value)
    (tmp_path / "nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.7, V13.7.21'\n")
    (tmp_path / "nvcc").chmod(0o755)
    assert nvcc()["found"] == f"13.7.21, {tmp_path}/nvcc (on PATH)"
    hide_nvcc()
    assert nvcc()["advice"].startswith(f"only for CUDA targets: {install_command('nvcc')}")


def test_doctor_shows_cache_size(parity, monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path))
    for part in ("one", "two/three"):
        (tmp_path / part).mkdir(parents=True)
        (tmp_path / part / "file").write_bytes(bytes(3 << 19))
    (tmp_path / "away").symlink_to("nowhere")
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator" / "file").write_bytes(bytes(1 << 19))
    facts = {fact["name"]: fact for fact in json.loads(parity("doctor", "--json").out) if fact["group"] == "cache"}
    assert facts["folder"]["found"] == str(tmp_path)
    assert facts["size"]["found"].startswith("3.5 MiB, at most 5120 MiB") and facts["size"]["ok"]
    assert facts["size: emulator"]["found"] == "0.5 MiB, kernels compiled for this processor"
    monkeypatch.setenv("PARITY_CACHE_LIMIT", "much")
    assert 'PARITY_CACHE_LIMIT is "much"' in " ".join(parity("doctor").out.split())


def test_doctor_shows_size_of_environment(parity):
    (found,) = (fact["found"] for fact in json.loads(parity("doctor", "--json").out) if fact["name"] == "environment")
    total, parts = re.fullmatch(r"(\d+) MiB in \S+: (.*)", found).groups()
    sizes = {name: int(size) for name, size in (part.split() for part in parts.split(", "))}
    assert {"numpy", "ziglang"} <= sizes.keys()
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True) and sum(sizes.values()) <= int(total) + 1


def test_doctor_shows_install_commands(parity, monkeypatch):
    from parity.runners.emulated import EmulatedRunner

    monkeypatch.setattr(
        EmulatedRunner, "probe", lambda self: Probe(False, "no compiler", "python -m pip install ziglang")
    )
    result = parity("doctor")
    assert result.code == 0
    assert "no compiler; python -m pip install ziglang" in result.out


def test_doctor_shows_device_and_software_of_runner(parity, h200):
    lines = [line.split() for line in parity("doctor").out.splitlines()]
    assert ["ok", "emulated:", "gpu", "NVIDIA", "H200"] in lines
    assert ["ok", "emulated:", "driver", "580.1"] in lines


def test_doctor_unwritable_cache_is_reported(parity, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "file" / "cache"))
    result = parity("doctor")
    assert result.code == 0
    assert "set PARITY_CACHE" in result.out


def test_version_and_help_are_printed(parity):
    assert parity("--version").out.strip() == f"parity {package.__version__}"
    assert "doctor" in parity("--help").out


@pytest.mark.parametrize("command", ["run", "coverage", "exec", "explain"])
def test_help_fits_terminal(parity, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    result = parity(command, "--help")
    indented = [line for line in result.out.splitlines() if line.startswith("    parity ")]
    assert max(len(line) for line in result.out.splitlines() if line not in indented) <= 80


@pytest.mark.parametrize(
    "command",
    ["", "merge", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("run", "report", "exec"))],
)
def test_help_in_pipe_matches_terminal(command):
    def shown(**environment: str) -> str:
        program = "import sys; from parity.cli import main; main(sys.argv[1:]); print('rich' in sys.modules)"
        usual = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
        arguments = [sys.executable, "-c", program, *filter(None, [command]), "--help"]
        run = {**usual, "COLUMNS": "100", **environment}
        return subprocess.run(arguments, capture_output=True, text=True, check=True, env=run).stdout

    plain, coloured = shown(), shown(FORCE_COLOR="1", TERM="xterm")
    assert "\x1b[" in coloured
    assert plain.splitlines()[:-1] == re.sub(r"\x1b\[[\d;]*m", "", coloured).splitlines()[:-1]
    assert coloured.endswith("True\n") and plain.endswith("False\n") == (not command)


def test_misspelled_command_gets_suggestion(parity):
    result = parity("rnu")
    assert result.code == 2 and "did you mean run?" in result.err and result.err.count("\n") == 1


def test_output_escapes_unencodable_characters(tmp_path):
    (tmp_path / "größe").mkdir()
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from parity.cli.shared.terminal import output; output().print({str(tmp_path / 'größe')!r})",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert result.returncode == 0 and r"gr\xf6\xdfe" in result.stdout, result.stderr


def test_json_output_is_utf_8(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    print_json({"folder": "größe"})
    sys.stdout.flush()
    assert json.loads(sys.stdout.buffer.getvalue()) == {"folder": "größe"}


def test_closed_pipe_is_not_an_error():
    command = f"{sys.executable} -m parity list --cases unary --examples 50 | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.stdout.startswith("unary.")
    assert result.stderr == ""


def test_parity_process_exits_with_documented_code(tmp_path):
    result = process("run", "affine_f32", "--examples", "1", "--target", "gfx1100", "--output", str(tmp_path))
    assert result.returncode == 0
    assert result.stderr == ""
    assert process("run", "nothing-like-it", "--output", str(tmp_path)).returncode == 2
    assert process().returncode == 2


def test_parity_outside_project_uses_its_own_suite(tmp_path):
    """A wheel contains a suite for use outside of projects; a checkout has its own."""
    result = subprocess.run(
        [sys.executable, "-m", "parity", "list"], capture_output=True, text=True, cwd=tmp_path, check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    assert result.returncode == 0 and "affine.affine" in result.stdout
    assert "this is parity's own suite" in result.stderr


@pytest.mark.parametrize(("color", "coloured"), [("always", True), ("never", False), ("auto", False)])
def test_color_option_decides_about_escape_codes(color, coloured, tmp_path):
    command = [sys.executable, "-m", "parity", "doctor", "--color", color]
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert ("\x1b[" in done.stdout + done.stderr) == coloured


@pytest.mark.parametrize("json_output", [False, True], ids=["table", "json"])
def test_build_interrupted_prints_finished_builds(parity, tmp_path, monkeypatch, json_output):
    for name in ("one", "two"):
        (tmp_path / f"{name}.cu").write_text(f'extern "C" __global__ void {name}(float *x) {{ *x = 1; }}\n')
    complete = build_command.build

    def interrupted(folder, modules, targets, **options):
        complete(folder, {"one": modules["one"]}, targets, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(build_command, "build", interrupted)
    arguments = ("build", "--kernels", tmp_path, "--target", "gfx1100", *(["--json"] if json_output else []))
    result = parity(*arguments)
    assert result.code == 130
    assert "1 of 2 builds are done" in result.err
    assert "one" in result.out and "gfx1100" in result.out and "two" not in result.out


@pytest.mark.parametrize(("slowest", "shown"), [(True, "9 s of compilation: b 5 s, a 4 s"), (False, "2 modules built")])
def test_build_line_without_cases_names_the_slowest_modules(slowest, shown):
    built = [
        Built(module, target, seconds) for module, target, seconds in (("a", "x", 3), ("b", "x", 5), ("a", "y", 1))
    ]
    line = _build_line(built, slowest=slowest)
    assert shown in line
    assert ("of compilation" in line) is slowest
