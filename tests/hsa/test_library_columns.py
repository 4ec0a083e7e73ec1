"""AMD's libraries as columns, on AMD's HIP runtime and an emulated GPU. Missing libraries are skipped."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

from parity.hsa.library import hip_runtime

CASES = {
    "hipblas": "gemm.matmul[f32](a=5x7~small@0 b=7x3~small@0)",
    "hipblaslt": "gemm.matmul[f32](a=5x7~small@0 b=7x3~small@0)",  # its kernel calls code in the kernel
    "rocblas": "gemm.strided_batched[f32](a=2x5x7~small@0 b=2x7x3~small@0)",
    "miopen": "reduce.softmax[f32](x=3x7~normal@0)",
    "hipcub": "scan.sum[f32](x=100~small@0)",
    "rocthrust": "sort.argsort_desc[f32](x=3x70~normal@0)",
    "rocrand": "rng.philox[u32](seed=7 offset=3 n=9)",
}

pytestmark = pytest.mark.skipif(
    not (shutil.which("hipcc") and hip_runtime() and importlib.util.find_spec("hip")),
    reason="needs hipcc, libamdhip64.so.7 of ROCm 7 and hip-python; nox -s amd-runtime has them",
)


@pytest.mark.parametrize(("name", "case"), CASES.items())
def test_library_passes_case(name, case, tmp_path):
    command = [sys.executable, "-m", "parity", "exec", "--target", "gfx90a", "--check", "initialized", "--"]
    command += [sys.executable, "-m", "parity", "run", case, "--runner", name, "-j", "1", "--json"]
    # Debian's MIOpen lacks the sources of some solutions of convolutions.
    settings = {"MIOPEN_DEBUG_CONV_IMPLICIT_GEMM": "0", "MIOPEN_DEBUG_CONV_WINOGRAD": "0"}
    ran = subprocess.run(
        [*command, "--output", tmp_path], capture_output=True, text=True, env={**os.environ, **settings}
    )
    if "-dev)" in ran.stderr:
        pytest.skip(f"{name} is not installed")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (kernel,) = json.loads(ran.stdout)["kernels"]
    assert [(cell["state"], cell["passed"]) for cell in kernel["cells"]] == [("pass", 1)]
