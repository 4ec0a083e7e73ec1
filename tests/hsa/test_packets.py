"""A C program posts packets to the HSA runtime, which executes a kernel that parity built. ROCm is not needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from parity.build.modules import build
from parity.compilers import zig
from parity.hsa.library import environment, library

ROOT = Path(__file__).parents[2]
KERNEL = """
extern "C" __global__ void twice(const unsigned char* x, unsigned* out) { out[threadIdx.x] = 2 * x[threadIdx.x]; }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a function that runs the program with further arguments and environment variables."""
    folder = tmp_path_factory.mktemp("packets")
    (folder / "twice.cu").write_text(KERNEL)
    (built,) = build(folder, targets=["gfx1100"])
    program = folder / "packets"
    source = Path(__file__).with_name("packets.c")
    result = zig.run(["cc", "-g", source, library() / "libhsa-runtime64.so.1", "-o", program])
    assert result.returncode == 0, result.stderr
    settings = {**os.environ, **environment(folder, ("gfx1100", "gfx90a"), memory=32 << 20)}
    command = [program, built.code_object.binary]
    return lambda *arguments, **more: subprocess.run(
        [*command, *arguments], capture_output=True, text=True, env={**settings, **more}, timeout=300
    )


def test_packets_wait_for_their_signals(run):
    ran = run()
    refused = "parity: hsa_amd_ipc_memory_create is not supported on emulated GPUs: memory of other processes\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "gfx1100 gfx90a 2 4 6 400\n", refused)


def test_fault_of_kernel_stops_the_queue_and_fails_the_program(run):
    ran = run("fault")
    assert (ran.returncode, ran.stdout) == (1, "gfx1100 gfx90a fault\n")
    assert "out-of-bounds read of 1 bytes in kernel 'twice' at twice.cu:2" in ran.stderr
    assert "0 bytes past the end of buffer 'allocation 2 of 4 bytes (GPU 0)'" in ran.stderr


@pytest.mark.parametrize("at", ["emulator.amdgpu.device.AmdgpuDevice.launch", "hsa.memory.SharedMemory.adopt"])
def test_defect_of_parity_ends_the_program(run, tmp_path, at):
    module, owner, function = f"parity.{at}".rsplit(".", 2)
    defect = f"import {module}\n{module}.{owner}.{function} = lambda *_, **__: 1 / 0\n"
    (tmp_path / "sitecustomize.py").write_text(defect)
    ran = run(PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (ran.returncode, ran.stdout) == (1, "gfx1100 gfx90a ")
    assert "ZeroDivisionError" in ran.stderr
    assert "the emulated GPUs are lost: the process that executes their kernels ended with exit status 1" in ran.stderr
