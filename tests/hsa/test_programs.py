"""Programs that hipcc builds run on AMD's HIP runtime, with emulated GPUs. ``nox -s amd-runtime`` runs these tests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parity.hsa.library import hip_runtime

HIPCC = shutil.which("hipcc")
PROGRAMS = Path(__file__).parent / "programs"
LIBRARIES = {"compiled": ("-lhiprtc",), "random": ("-lrocrand",)}
NAMES = (
    *("launch", "copies", "streams", "graphs", "several", "compiled", "random", "cooperative", "primitives"),
    *("textures", "mapped"),
)
TARGETS = {"several": "gfx90a,gfx1100"}

pytestmark = pytest.mark.skipif(
    not (HIPCC and hip_runtime()), reason="needs hipcc and libamdhip64.so.7 of ROCm 7; nox -s amd-runtime has them"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a function that builds a program."""
    folder = tmp_path_factory.mktemp("programs")

    def build(name, *options):
        program = folder / f"{name}{''.join(options)}"
        if not program.exists():
            flags = ["-O2", "-g", "--offload-arch=gfx90a", "--offload-arch=gfx1100", *LIBRARIES.get(name, ()), *options]
            subprocess.run([HIPCC, PROGRAMS / f"{name}.hip", "-o", program, *flags], check=True)
        return program

    return build


def run(program, *arguments, options=(), target="gfx90a"):
    command = [sys.executable, "-m", "parity", "exec", "--target", target, *options, "--", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("name", NAMES)
def test_program_gives_the_right_values(built, name, target):
    ran = run(built(name), target=TARGETS.get(name, target))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_c_program_compiles_its_kernel_with_hiprtc(tmp_path, target):
    compiler = shutil.which("cc") or pytest.skip("needs a C compiler")
    program, flags = tmp_path / "axpy", ("-std=c11", "-Wall", "-D__HIP_PLATFORM_AMD__", "-lamdhip64", "-lhiprtc")
    subprocess.run([compiler, PROGRAMS / "hiprtc.c", "-o", program, *flags], check=True)
    ran = run(program, target=target)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("kind", ["hostcall", "buffered"])
def test_kernels_print_and_allocate(built, kind):
    ran = run(built("printing", f"-mprintf-kind={kind}"), *(("allocate",) if kind == "hostcall" else ()))
    printed = ["thread 5 of hello: 1.50 low", "thread 37 of hello: 1.50 high", "done"]
    assert (ran.returncode, ran.stdout.splitlines(), ran.stderr) == (0, printed, "")


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_missing_wait_in_cooperative_launch_is_race(built, target):
    ran = run(built("cooperative"), "missing", target=target)
    assert ran.returncode
    assert "data race in kernel 'rotate'" in ran.stderr
    assert "cooperative.hip:12" in ran.stderr


def test_program_runs_unchecked(built):
    assert run(built("launch"), options=("--check", "none")).stdout == "done\n"


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_result_does_not_depend_on_the_number_of_threads(built, target):
    one, several = (run(built("cores"), target=target, options=("--check", "none", "-j", n)) for n in ("1", "4"))
    assert (one.returncode, several.returncode, one.stdout) == (0, 0, several.stdout)


def test_first_fault_of_several_threads_is_reported(built):
    one, several = (run(built("cores"), "fault", options=("--check", "none", "-j", n)) for n in ("1", "4"))
    message = [line for line in one.stderr.splitlines() if not line.startswith(":")]  # AMD's runtime prints times
    assert "out-of-bounds write of 4 bytes in kernel 'mixed'" in message[0]
    assert "workgroup (51, 0, 0)" in message[2]
    assert message == [line for line in several.stderr.splitlines() if not line.startswith(":")]
    assert one.returncode == several.returncode != 0


def test_fault_of_kernel_fails_the_program_and_is_reported(built, tmp_path):
    ran = run(built("launch"), "fault", options=("--report", tmp_path))
    assert ran.returncode
    assert "hipErrorIllegalAddress" in ran.stdout
    assert "out-of-bounds read of 4 bytes in kernel 'scale'" in ran.stderr
    assert "launch.hip:8" in ran.stderr
    assert "0 bytes past the end of buffer 'allocation" in ran.stderr
    (file,) = tmp_path.glob("findings-*.json")
    report = json.loads(file.read_text())
    (finding,) = report["findings"]
    assert finding["kind"] == "out-of-bounds read"
    assert report["kernels"][finding["kernel"]]["launches"] == 1


@pytest.mark.parametrize(("arguments", "buffer"), [((), "LDS"), (("global",), "buffer 'allocation")])
def test_read_of_unwritten_bytes_is_a_fault_unless_all_count_as_written(built, arguments, buffer):
    ran = run(built("unwritten"), *arguments)
    assert ran.returncode == 1
    assert "never-written read of 4 bytes in kernel 'shift'" in ran.stderr
    assert buffer in ran.stderr
    ran = run(built("unwritten"), *arguments, options=("--check", "initialized"))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")


def test_memory_limit_is_the_size_of_the_gpu(built):
    ran = run(built("launch"), options=("--memory", "6K"))
    assert ran.returncode == 2
    assert "hipErrorOutOfMemory" in ran.stdout


def test_program_ends_with_an_error_if_the_emulator_does(built, tmp_path):
    (tmp_path / "ml_dtypes.py").write_text("raise ImportError('planted')")
    ran = run("env", f"PYTHONPATH={tmp_path}", built("launch"))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "ImportError: planted" in ran.stderr
    assert ran.stderr.endswith("the process that executes their kernels ended with exit status 1\n")


def test_program_has_no_gpu_if_the_emulator_does_not_start(built):
    start = "import sys; from parity.cli import main; sys.executable = '/no/python'; main(sys.argv[1:])"
    ran = subprocess.run([sys.executable, "-c", start, "exec", "--", built("launch")], capture_output=True, text=True)
    assert ran.returncode
    assert "parity: cannot start /no/python, which executes the kernels of emulated GPUs: No such file" in ran.stderr
