"""Reads of memory that nothing has written are notes if their value reaches no output."""

import numpy as np
import pytest

from parity.build.modules import build
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Launch, Pointer, poisoned
from parity.runners import runner

HALF, BLOCK, BLOCKS = 32, 64, 3
SOURCE = """
__device__ inline float mirrored(const float* x) {
    volatile __shared__ float row[64];
    if (threadIdx.x < 32) row[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    return row[63 - threadIdx.x];
}
#define OUT out[blockIdx.x * 64 + threadIdx.x]
extern "C" __global__ void discarded(const float* x, float* out) {
    float value = mirrored(x);
    OUT = threadIdx.x < 32 ? 5 : value;
}
extern "C" __global__ void stored(const float* x, float* out) { OUT = mirrored(x); }
extern "C" __global__ void zero_times(const float* x, float* out) { OUT = x[0] + 0 * mirrored(x); }
extern "C" __global__ void counted(const float* x, float* out) {
    int n = __float_as_int(mirrored(x)) & 7;
    for (int i = 0; i < n; i++) __syncthreads();
    OUT = 5;
}
extern "C" __global__ void placed(const float* x, float* out) {
    int n = __float_as_int(mirrored(x)) & 1;
    if (threadIdx.x < 32) out[blockIdx.x * 64 + 2 * threadIdx.x + n] = 5;
}
extern "C" __global__ void padded(const volatile float* x, float* out) {
    float value = x[threadIdx.x];
    OUT = threadIdx.x < 32 ? value : 5;
}
extern "C" __global__ void half_of(const float* x, float* out) {
    float value = mirrored(x);
    if (threadIdx.x >= 32) OUT = value;
}
"""


@pytest.fixture(scope="module", params=["gfx1100", "gfx90a", "sm_90"])
def execute(request, tmp_path_factory):
    if request.param == "sm_90":
        request.getfixturevalue("with_nvcc")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "reads.cu").write_text(SOURCE)
    (built,) = build(folder, ["reads"], [request.param])
    assert built.error is None, built.error
    session = runner("ptx" if request.param == "sm_90" else "emulated").open(request.param)

    def run(kernel):
        f32, count = dtype("f32"), BLOCK * BLOCKS
        x = np.arange(BLOCK, dtype=np.float32)
        buffers = {
            "x": Buffer(f32, x, defined=np.arange(BLOCK) < HALF),
            "out": Buffer(f32, poisoned(f32, count), defined=np.zeros(count, bool), writable=True),
        }
        launch = Launch(kernel, (BLOCKS, 1, 1), (BLOCK, 1, 1), (Pointer("x"), Pointer("out")))
        return session.execute(built.code_object, launch, buffers), buffers

    return run


@pytest.mark.parametrize(
    ("kernel", "row"),
    [
        ("discarded", [5] * HALF + [*range(HALF)][::-1]),
        ("padded", [*range(HALF)] + [5] * HALF),
    ],
)
def test_read_whose_value_reaches_no_output_is_note(execute, kernel, row):
    found, buffers = execute(kernel)
    assert found.fault is None and found.unused_read.startswith("never-written read of 4 bytes")
    assert found.buffers["out"].tolist() == row * BLOCKS
    assert found.buffers["x"].tolist() == buffers["x"].data.tolist()


def test_elements_that_nothing_writes_remain_poisoned(execute):
    found, _ = execute("half_of")
    assert found.fault is None and found.unused_read
    rows = found.buffers["out"].reshape(BLOCKS, BLOCK)
    assert rows[:, :HALF].tobytes() == poisoned(dtype("f32"), HALF * BLOCKS).tobytes()
    assert (rows[:, HALF:] == np.arange(HALF)[::-1]).all()


@pytest.mark.parametrize("kernel", ["stored", "zero_times", "counted", "placed"])
def test_read_whose_value_matters_is_fault(execute, kernel):
    found, _ = execute(kernel)
    assert found.fault and found.fault.kind == "never-written read", found.unused_read
