"""An installed ROCm: discovery and selection with a simulated ROCm, compilation with a real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parity.build.modules import build
from parity.cli import main
from parity.cli.doctor import checks
from parity.compilers import rocm
from parity.compilers.targets import TARGETS
from parity.errors import MissingTool, UsageError
from parity.platform.cache import Cache

KERNELS = Path(__file__).parents[2] / "kernels"
# A hipcc that supports gfx1030 and gfx90a and prints the output of clang's -###.
HIPCC = """#!/bin/sh
case "$*" in
*gfx1030*|*gfx90a*) echo ' "/there/llvm/bin/clang" "-cc1" "-mlink" "/there/amdgcn/bitcode/ocml.bc"' >&2 ;;
*) echo "error: cannot find ROCm device library" >&2 ;;
esac
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Return a function that installs a simulated ROCm of a version and hides all others."""

    def install(version, program="hipcc"):
        root = tmp_path / f"rocm-{version}-{program}"
        (root / "bin").mkdir(parents=True)
        (root / "include" / "hip").mkdir(parents=True)
        (root / "bin" / program).write_text(HIPCC)
        (root / "bin" / program).chmod(0o755)
        numbers = zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True)
        header = "".join(f"#define HIP_VERSION_{part} {number}\n" for part, number in numbers)
        (root / "include" / "hip" / "hip_version.h").write_text(header)
        monkeypatch.setenv("ROCM_PATH", str(root))
        return root

    monkeypatch.delenv(rocm.VARIABLE, raising=False)
    return install


@pytest.fixture
def real():
    """Return the ROCm of this machine, or skip the test."""
    found = rocm.installed()
    if found is None:
        pytest.skip("no ROCm is installed (Debian: apt install hipcc)")
    return found


def test_installed_rocm_reports_version_clang_and_targets(stand_in):
    root = stand_in("6.4.1")
    found = rocm.find()
    assert (found.root, found.version, found.compiler) == (root, (6, 4, 1), root / "bin" / "hipcc")
    assert str(found.clang) == "/there/llvm/bin/clang" and str(found.library) == "/there/amdgcn/bitcode"
    assert [name for name, target in TARGETS.items() if found.supports(target)] == ["gfx1030", "gfx90a"]


def test_installed_rocm_without_hipcc_uses_clang(stand_in):
    root = stand_in("7.0.0", "amdclang++")
    assert rocm.find().compiler == root / "bin" / "amdclang++"


@pytest.mark.parametrize(
    ("version", "asked", "target", "used"),
    [
        ("6.4.1", None, "gfx1030", True),
        ("6.4.1", "auto", "gfx1201", False),  # it does not support that target
        ("6.4.1", "wheels", "gfx1030", False),
        ("5.2.3", None, "gfx1030", False),  # too old for auto
        ("5.2.3", "rocm", "gfx1030", True),
    ],
)
def test_chosen_toolchain_depends_on_version_and_target(stand_in, monkeypatch, version, asked, target, used):
    stand_in(version)
    if asked:
        monkeypatch.setenv(rocm.VARIABLE, asked)
    assert (rocm.chosen(TARGETS[target]) is not None) == used


@pytest.mark.parametrize(
    ("version", "asked", "used"),
    [
        ("6.4.1", "auto", "ROCm: gfx1030 gfx90a; wheels: gfx1100 gfx942 gfx950 gfx1201 (PARITY_TOOLCHAIN=auto)"),
        ("5.2.3", "rocm", "ROCm: gfx1030 gfx90a; not supported by this ROCm: gfx1100 gfx942 gfx950 gfx1201 "),
        ("5.2.3", "auto", "gfx1201; hipcc of HIP 5.2.3 is too old for auto, --toolchain rocm uses it (PARITY_T"),
    ],
)
def test_doctor_shows_compiler_of_each_target(stand_in, monkeypatch, version, asked, used):
    stand_in(version)
    monkeypatch.setenv(rocm.VARIABLE, asked)
    found = next(check.found for check in checks() if check.name == "used for AMD")
    assert used in found


def test_chosen_invalid_or_missing_toolchain_is_an_error(monkeypatch):
    monkeypatch.setenv(rocm.VARIABLE, "rokm")
    with pytest.raises(
        UsageError, match="PARITY_TOOLCHAIN=rokm is not a toolchain: auto wheels rocm; did you mean rocm"
    ):
        rocm.chosen(TARGETS["gfx1030"])
    monkeypatch.setenv(rocm.VARIABLE, "rocm")
    monkeypatch.setattr(rocm, "_is_rocm", lambda root: False)
    with pytest.raises(MissingTool, match=r"looked for \$ROCM_PATH, /opt/rocm, PATH, /usr.*apt install hipcc"):
        rocm.chosen(TARGETS["gfx1030"])


def test_installed_rocm_unsupported_target_is_an_error(stand_in, monkeypatch, tmp_path):
    stand_in("6.4.1")
    monkeypatch.setenv(rocm.VARIABLE, "rocm")
    (built,) = build(KERNELS, ["affine"], ["gfx1201"], cache=Cache(tmp_path / "cache"))
    assert built.error and "does not support gfx1201; use --toolchain wheels" in str(built.error)


def test_installed_rocm_code_runs_on_emulator(real, monkeypatch, capfd, tmp_path):
    target = next(name for name in ("gfx1030", "gfx90a") if real.supports(TARGETS[name]))
    monkeypatch.setenv(rocm.VARIABLE, "auto")  # --toolchain overrides it; monkeypatch restores it after the test
    monkeypatch.chdir(KERNELS.parent)
    code = main(["run", "-v", "affine", "sort.argsort_asc", "--dtype", "f32", "--target", target, "--toolchain", "rocm",
                 "--output", str(tmp_path / "out")])  # fmt: skip
    out = capfd.readouterr().out
    assert code == 0 and "argsort_asc  f32  pass" in out, out
    assert os.environ[rocm.VARIABLE] == "rocm"


def test_installed_rocm_error_names_original_source(real, monkeypatch, tmp_path):
    monkeypatch.setenv(rocm.VARIABLE, "rocm")
    (tmp_path / "bad.cu").write_text('extern "C" __global__ void bad(int* x) {\n    x[0] = nosuch;\n}\n')
    target = next(name for name in ("gfx1030", "gfx90a") if real.supports(TARGETS[name]))
    (built,) = build(tmp_path, ["bad"], [target], cache=Cache(tmp_path / "cache"))
    assert built.error
    (finding,) = built.error.findings
    assert (finding.name, finding.file, finding.line) == ("nosuch", str(tmp_path / "bad.cu"), 2)
