"""The project with a kernel for each of CUDA's device functions."""

import subprocess
import sys

from benchmarks.device_functions import ROUNDINGS, functions, main

MODULES = ("bfloat16", "conversions", "float32", "float64", "half", "integers", "simd")


def test_every_function_is_one_kernel_and_one_op():
    found = list(functions())
    assert tuple(sorted({module for module, _, _ in found})) == MODULES
    calls = [kernel.rpartition(" = ")[2].partition("(")[0] for _, kernel, _ in found]
    assert {f"__float2int_{way}" for way in ROUNDINGS} <= {*calls} and calls.count("__dp4a") == 2
    assert len({kernel for _, kernel, _ in found}) == len({op for _, _, op in found}) == len(found) > 500


def test_written_project_runs(tmp_path, with_nvcc):
    main(tmp_path)
    for path in (*(tmp_path / "src").iterdir(), *(tmp_path / "cases").iterdir()):
        if path.stem != "simd":
            path.unlink()
    options = ("--target", "gfx1100", "--examples", "3")
    command = (sys.executable, "-m", "parity", "run", "simd.of___vadd4", "simd.of___vmaxs2", *options)
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0 and "2 kernels" in result.stdout, result.stdout + result.stderr
