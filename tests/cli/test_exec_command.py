"""``parity exec``: a C program runs without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parity.build.modules import build
from parity.cli import main
from parity.compilers import zig
from parity.hip.library import library

PROGRAM = Path(__file__).parent.parent / "hip" / "program.c"
KERNEL = """__constant__ unsigned factor;
extern "C" __global__ void twice(const unsigned char* x, unsigned* out) { out[threadIdx.x] = factor * x[threadIdx.x]; }
"""


def test_exec_runs_c_program(tmp_path):
    (tmp_path / "twice.cu").write_text(KERNEL)
    (built,) = build(tmp_path, targets=["gfx1100"])
    program = tmp_path / "program"
    made = zig.run(["cc", "-O1", PROGRAM, "-o", program, "-L", library() / "lib", "-lamdhip64"])
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "parity", "exec", "--target", "gfx1100,gfx90a", "--", program]
    ran = subprocess.run([*command, built.code_object.binary], capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        "2 GPUs, the last is parity's emulator (gfx90a)",
        "2 4 6 400",
        "hipErrorIllegalAddress, hipErrorIllegalAddress, hipErrorIllegalAddress",
    ]
    assert "out-of-bounds write of 4 bytes in kernel 'twice' at twice.cu:2" in ran.stderr
    assert "0 bytes past the end of buffer 'allocation 2 of 16 bytes'" in ran.stderr


@pytest.mark.parametrize("code", [0, 7])
def test_exec_returns_exit_code_of_program(code):
    command = [sys.executable, "-m", "parity", "exec", "--", "sh", "-c", f"exit {code}"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (code, "")


def test_exec_prints_shell_environment(monkeypatch, capsys):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/some/where")
    monkeypatch.setenv("ROCM_PATH", "/opt/rocm")
    assert main(["exec", "--target", "gfx90a", "--memory", "64M", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    folder = str(library())
    assert found == {
        "LD_LIBRARY_PATH": f"{folder}/lib:/some/where",
        "ROCM_PATH": folder,
        "PARITY_HIP_TARGETS": "gfx90a",
        "PARITY_HIP_MEMORY": str(64 << 20),
    }
    assert main(["exec"]) == 0
    printed = capsys.readouterr()
    assert f"export ROCM_PATH={folder}" in printed.out.splitlines()
    assert "graphs" in printed.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "gfx9"], "'gfx9' is not an emulated target"),
        (["--fault", "hipMalloc=hipErrorOutOfMem"], "did you mean hipErrorOutOfMemory"),
        (["--rocm", "/no/rocm"], "libamdhip64.so.7"),
        (["--rocm", "/no/rocm", "--fault", "hipMalloc=hipErrorOutOfMemory"], "--rocm replaces"),
        (["--memory", "much"], "'much' is not a number of bytes"),
        (["--", "/no/such/program"], "no program '/no/such/program'"),
    ],
)
def test_exec_wrong_usage_is_explained(capsys, arguments, says):
    assert main(["exec", *arguments]) == 2
    assert says in capsys.readouterr().err.replace("\n", " ")
