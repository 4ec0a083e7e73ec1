"""Programs get the sums that were measured on matrix cores, on AMD's HIP runtime and on parity's."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest

from parity.build.modules import build
from parity.hip.runtime import Runtime
from parity.hsa.executor import Executor
from parity.hsa.memory import BASE, SPACE, SharedMemory

KERNEL = """
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float sums4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void product(sums4* out) {
    const _Float16 one = threadIdx.x < 16, small = threadIdx.x < 16 ? 0x1p-12f : 0.0f;
    const half4 x = {one, small, small, small};
    out[threadIdx.x] = __builtin_amdgcn_mfma_f32_16x16x16f16(x, x, sums4{}, 0, 0, 0);
}
"""
BYTES = 64 * 16


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "product.cu").write_text(KERNEL)
    (built,) = build(folder, targets=["gfx90a"])
    return built.code_object.binary.read_bytes()


def on_amds_runtime(image):
    files = [os.memfd_create(name) for name in ("data", "state")]
    for file in files:
        os.truncate(file, SPACE)
    memory = SharedMemory(*files)
    executor = Executor(memory, ["gfx90a"], "none", None)
    memory.data[:8] = np.frombuffer(struct.pack("<Q", BASE + 4096), np.uint8)
    for action, values, data in (
        ("allocate", [BASE + 4096, BYTES, 1], b""),
        ("load", [1], image),
        ("launch", [1 << 32 | 1, BASE, 64, 1, 1, 64, 1, 1, 0, 0], b""),
    ):
        assert executor.perform(action, values, data)[0] == 0
    return memory.data[4096 : 4096 + BYTES].tobytes()


def on_own_runtime(image):
    runtime = Runtime(["gfx90a"], 1 << 20)

    def do(action, *arguments, data=b""):
        error, value, result = runtime.perform("", action, 0, [*arguments, *[0] * (12 - len(arguments))], data)
        assert error == 0
        return result or value

    out = do("allocate", BYTES)
    kernel = runtime.perform("", "find", 0, [do("load", data=image)], b"product")[1]
    do("launch", kernel, 1, 1, 1, 64, 1, 1, 0, 0, data=struct.pack("<Q", out))
    return do("download", out, BYTES)


@pytest.mark.parametrize("run", [on_amds_runtime, on_own_runtime])
def test_programs_get_the_measured_sums_of_matrix_cores(image, run):
    # 1 + 2^-24 is rounded to 1 before 2^-24 + 2^-24 is added. The exact sum would be rounded to 1 + 2^-22.
    assert set(np.frombuffer(run(image), np.float32)) == {np.float32(1 + 2.0**-23)}
