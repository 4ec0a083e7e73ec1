"""``pytest --parity`` in a separate project."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from parity.report.folder import output_folder

ROOT = Path(__file__).parents[2]
INSTALLED = any(point.value == "parity.pytest_plugin" for point in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "parity.pytest_plugin")
PROFILE = """
from hypothesis import settings
settings.register_profile("few", max_examples=2)
"""


@pytest.fixture
def project(tmp_path):
    """Return a function that runs pytest in a project with the ``affine`` kernels and cases and one ordinary test."""
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    for folder in ("kernels", "cases", "tests"):
        (tmp_path / folder).mkdir()
    for source in (ROOT / "kernels").glob("*.cuh"):
        shutil.copy(source, tmp_path / "kernels")
    shutil.copy(ROOT / "kernels" / "affine.cu", tmp_path / "kernels")
    shutil.copy(ROOT / "cases" / "affine.py", tmp_path / "cases")
    (tmp_path / "tests" / "test_own.py").write_text("def test_own(): pass\n")
    (tmp_path / "conftest.py").write_text(PROFILE)

    def run(*arguments: str, examples=("--parity-examples", "2")) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", *PLUGIN, "--parity-target", "gfx1100", *examples]
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        return done.returncode, done.stdout + done.stderr

    run.folder = tmp_path
    return run


@pytest.fixture
def collected(project, pytester, monkeypatch):
    """Return a function that runs pytest in this process, which is faster, for tests that end before a build.

    pytester would remove the modules that the run imports. Modules that stay would refer to them, and later tests in
    this process would import them again and have two versions of their classes.
    """

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.chdir(project.folder)
        before = set(sys.modules)
        with monkeypatch.context() as patch:
            patch.setattr("_pytest.pytester.SysModulesSnapshot.restore", lambda snapshot: None)
            done = pytester.runpytest_inprocess(*PLUGIN, "--parity", "--parity-target", "gfx1100", *arguments)
        for name in sys.modules.keys() - before:
            if str(project.folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
        return done.ret, f"{done.stdout}\n{done.stderr}"

    return run


def test_run_in_this_process_keeps_its_modules(collected):
    collected("--collect-only")
    values = (
        value for name in [*sys.modules] if name.startswith("parity") for value in vars(sys.modules[name]).values()
    )
    modules = {value for value in values if isinstance(value, ModuleType) and value.__name__.startswith("parity.")}
    assert modules and not [each.__name__ for each in modules if sys.modules.get(each.__name__) is not each]


def test_plugin_without_option_imports_and_collects_nothing(project):
    (project.folder / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure():\n"
        "    print('heavy:', [m for m in ('numpy', 'hypothesis', 'rich', 'parity.op') if m in sys.modules])\n"
    )
    code, out = project("-p", "no:hypothesispytest", "-s")
    assert code == 0
    assert "1 passed" in out
    assert "heavy: []" in out


def test_plugin_collects_kernels_and_prints_matrix(project, suite):
    code, out = project("--parity", "-v", "-k", "f16 or own", "--hypothesis-profile", "few", examples=())
    assert code == 0
    assert "tests/test_own.py::test_own PASSED" in out
    assert re.search(r"cases/affine.py::affine.affine\[f16-gfx1100\] PASSED", out)
    assert "3 passed" in out
    matrix = out[out.index("= parity =") :]
    assert re.search(r"affine +gfx1100 emulated\n  affine  f16 bf16  pass +\d+/\d+", matrix)
    named = sum(len(suite.op("affine.affine").named_cases([kind])) for kind in ("f16", "bf16"))
    assert f"2 kernels, {named + 2 * 2} cases" in out
    assert "again" not in out


def test_plugin_warns_about_sources_that_changed_since_the_recording(project):
    options = ("--runner", "emulated", "--target", "gfx1100", "--examples", "1", "--dtype", "f32", "-o", "all.zip")
    subprocess.run([sys.executable, "-m", "parity", "record", "affine", *options], cwd=project.folder, check=True)
    replay = ("--parity", "-k", "f32", "--parity-runner", "recorded=all.zip")
    code, out = project(*replay, examples=())
    assert code == 0 and "since the recording" not in out, out
    source = project.folder / "kernels" / "affine.cu"
    source.write_text(source.read_text().replace("x * mul + add", "x * add + mul"))
    code, out = project(*replay, examples=())
    assert "parity: affine.cu changed since the recording, whose values come from the old kernels" in out, out


def test_plugin_removes_reports_of_earlier_run_and_refuses_locked_folder(project, collected):
    out = project.folder / "out"
    out.mkdir()
    for name in ("matrix.json", "junit.xml", "record.jsonl"):
        (out / name).touch()
    with output_folder(out):
        code, said = collected("--parity-output", str(out))
    assert code == 4 and f"another process is writing to {out}" in said
    assert collected("--parity-output", str(out), "--collect-only")[0] == 0 and len(list(out.iterdir())) == 3
    assert collected("--parity-output", str(out), "--parity-runner", "unknown")[0] == 4 and not list(out.iterdir())


def test_plugin_selects_kernel_by_id_and_refuses_unknown(collected):
    code, out = collected("--collect-only", "cases/affine.py::affine.affine[f32-gfx1100]")
    assert (code, "1 test collected" in out) == (0, True), out
    code, out = collected("cases/affine.py::affine.affine[f32-gfx90a]")
    assert (code, "not found" in out) == (4, True)


def test_plugin_kernel_with_only_empty_cases_fails(project):
    (project.folder / "cases" / "affine.py").write_text(
        "from parity.op import Op\n"
        "from parity.reference import Expected\n"
        "op = Op('affine.copy', kernel='affine_f32', types=('f32',), args='x out n:i32', inputs={'x': 'T'},\n"
        "        shapes='x: n; out: n', where='n == 0', grid_stride=False, reference=Expected)\n"
    )
    (project.folder / "kernels" / "affine.cu").write_text(
        'extern "C" __global__ void affine_f32(const float* x, float* out, int n) { if (n) out[0] = 1.0f; }\n'
    )
    code, out = project("--parity", "-k", "copy")
    assert code == 1 and "nothing was compared" in out, out


def test_plugin_fault_is_shown_with_xdist_and_rerun_by_lf(project):
    source = project.folder / "kernels" / "affine.cu"
    text = source.read_text()
    source.write_text(text.replace("x * mul + add", "x * add + mul"))
    code, out = project("--parity", "-n", "2", "-k", "f32 or own", "--junitxml", "junit.xml")
    assert code == 1
    assert "1 failed, 1 passed" in out
    assert "FAIL  affine_f32 on gfx1100 (emulated): value" in out
    assert "again     parity run 'affine.affine[f32](" in out
    assert re.search(r"affine_f32  f32  FAIL .* value x\d+", out)
    (failure,) = ElementTree.parse(project.folder / "junit.xml").iter("failure")
    assert failure.get("message").startswith("FAIL  affine_f32 on gfx1100 (emulated): value")
    assert "Traceback" not in out
    (project.folder / "known-issues.toml").write_text(
        '[[issue]]\ncases = "affine_f32"\nfailure = ["value", "nan", "infinity"]\nulps = 1e18\n'
        'reason = "planted"\nexpires = 2999-01-01\n'
    )
    code, out = project("--parity", "--lf", "-rx", "cases")
    assert (code, "= 1 xfailed in" in out) == (0, True), out
    assert "XFAIL cases/affine.py::affine.affine[f32-gfx1100]" in out
    source.write_text(text)
    code, out = project("--parity", "-k", "f32-", examples=("--parity-examples", "20"))
    assert (code, "1 passed" in out, "no longer fails" in out) == (1, True, True)


@pytest.mark.thorough
def test_plugin_compile_error_fails_with_message(project):
    source = project.folder / "kernels" / "affine.cu"
    source.write_text(source.read_text() + "\n__device__ int broken = nothing_of_that_name;\n")
    code, out = project("--parity", "-k", "f16", "-x")
    assert (code, "stopping after 1 failures" in out) == (1, True)
    assert "nothing_of_that_name" in out
    assert "COMPILE ERROR" in out
    (project.folder / "known-issues.toml").write_text(
        "[[issue]]\ncases = 'affine'\nfailure = 'compile error'\nsays = 'nothing_of_that_name'\n"
        "reason = 'not ported'\nexpires = 9999-12-31\n"
    )
    code, out = project("--parity", "-k", "f16", "-rx")
    assert (code, "2 xfailed" in out, "COMPILE ERROR" in out) == (0, True, False), out
    assert "does not compile, a known issue" in out
    assert "not ported; until 9999-12-31" in out


@pytest.mark.thorough
def test_plugin_toolchain_option_is_used(project, monkeypatch):
    rocm = project.folder / "rocm"
    for name, text in (("bin/hipcc", "#!/bin/sh\nexit 1\n"), ("include/hip/hip_version.h", "")):
        (rocm / name).parent.mkdir(parents=True)
        (rocm / name).write_text(text)
    (rocm / "bin" / "hipcc").chmod(0o755)
    monkeypatch.setenv("ROCM_PATH", str(rocm))
    code, out = project("--parity", "--parity-toolchain", "rocm", "-k", "f32-")
    assert code == 1
    assert f"hipcc of HIP 0.0.0, {rocm}/bin/hipcc does not support gfx1100" in out


def test_plugin_rocm_option_makes_each_version_a_column(collected, tmp_path):
    header = tmp_path / "rocm" / "hip" / "hip_version.h"
    header.parent.mkdir(parents=True)
    header.write_text("".join(f"#define HIP_VERSION_{part} 9\n" for part in ("MAJOR", "MINOR", "PATCH")))
    code, out = collected("--collect-only", "-q", "--parity-rocm", f"wheels,{tmp_path / 'rocm'}", "-k", "f32")
    assert code == 0, out
    assert "f32-gfx1100@6.2]" in out and "f32-gfx1100@9.9]" in out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--parity-rocm", "nowhere"], "nowhere does not exist; name a folder with HIP headers"),
        (["--parity-runner", "emulate"], "unknown runner 'emulate'.* did you mean emulated"),
        (["--parity-cases", "nowhere"], "the cases folder nowhere does not exist"),
        (["--parity-hipify", "litteral"], "PARITY_HIPIFY=litteral is not a translator: .* did you mean literal"),
        (["--parity-toolchain", "rokm"], "'rokm' is not a toolchain; known: auto wheels rocm; did you mean rocm"),
    ],
)
def test_plugin_wrong_usage_prints_one_line(collected, options, says):
    code, out = collected(*options)
    assert code == 4
    assert re.search(f"^ERROR: --parity: .*{says}", out, re.MULTILINE)
    assert "Traceback" not in out


def test_plugin_sigterm_interrupts_with_exit_code(project):
    (project.folder / "tests" / "test_own.py").write_text(
        "import os, signal\n"
        "def test_before(): pass\n"
        "def test_own(): os.kill(os.getpid(), signal.SIGTERM)\n"
        "def test_after(): pass\n"
    )
    code, out = project("--parity", "tests/test_own.py")
    assert code == 143
    assert "KeyboardInterrupt" in out
    assert "1 passed" in out


def test_plugin_ctrl_c_at_end_loses_nothing(project):
    (project.folder / "tests" / "test_own.py").write_text("def test_own(): pass\n")
    (project.folder / "conftest.py").write_text(
        "import os, signal\ndef pytest_sessionfinish(): os.kill(os.getpid(), signal.SIGINT)\n"
    )
    code, out = project("--parity", "tests/test_own.py")
    assert (code, "KeyboardInterrupt" in out) == (0, False)
    assert "1 passed" in out


@pytest.mark.thorough
def test_plugin_xdist_lock_file_is_anonymous(project, monkeypatch):
    scratch = project.folder / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    (project.folder / "tests" / "test_own.py").write_text(
        f"import pathlib\ndef test_own(): assert not list(pathlib.Path({str(scratch)!r}).glob('*.lock'))\n"
    )
    code, out = project("--parity", "-n", "1", "tests/test_own.py")
    assert code == 0, out
