"""Several threads execute the blocks of a launch with the results of one, unless the blocks depend on each other."""

import re

import numpy as np
import pytest
from execution import program

from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.amdgpu.language import Amdgpu
from parity.emulator.faults import InstructionBudgetExceeded, MemoryFault
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.workgroups import TRIAL

BLOCKS, THREADS, BUDGET = 300, 128, 1 << 25
SOURCE = """
// The order of the wavefronts changes the sum. Each thread has its own array, and each block its own LDS.
extern "C" __global__ void mixed(const float* x, float* out, int rounds) {
    __shared__ float sum;
    float own[100];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 100; i++) own[(i + rounds) % 100] = x[at] * i;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        own[i % 100] += own[(at + i) % 100] * 0.37f;
        if (threadIdx.x % 61 == 0) atomicAdd(&sum, own[i % 100]);
        __syncthreads();
    }
    out[at] = sum + own[at % 100];
}
extern "C" __global__ void counted(const float* x, float* out, int rounds) {
    for (int i = 0; i < rounds; i++) atomicAdd((unsigned*)out, 1u);
}
// Each block waits for the one before it.
extern "C" __global__ void chained(const float* x, float* out, int rounds) {
    volatile float* flags = out;
    float sum = 0;
    for (int i = 0; i < rounds; i++) sum += x[i];
    while (blockIdx.x && flags[blockIdx.x - 1] == 0) {}
    if (threadIdx.x == 0) flags[blockIdx.x] = blockIdx.x ? flags[blockIdx.x - 1] + 1 + 0 * sum : 1;
}
extern "C" __global__ void timed(const float* x, float* out, int rounds) {
    for (int i = 0; i < rounds; i++) out[blockIdx.x] += (float)clock64();
}
// The last blocks have an address far outside of memory, LDS or scratch memory.
extern "C" __global__ void faulty(const float* x, float* out, int rounds, int first, long far) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < rounds; i++) sum += x[at] * i;
    out[at + (blockIdx.x >= first ? far : 0)] = sum;
}
extern "C" __global__ void faulty_lds(const float* x, float* out, int rounds, int first, long far) {
    extern __shared__ float lds[];
    lds[threadIdx.x + (blockIdx.x >= first ? (int)far : 0)] = x[threadIdx.x];
    __syncthreads();
    for (int i = 0; i < rounds; i++) out[blockIdx.x * blockDim.x + threadIdx.x] += lds[(threadIdx.x + i) % blockDim.x];
}
extern "C" __global__ void endless(const float* x, float* out, int rounds) {
    float sum = 0;
    for (long i = 0; i < (blockIdx.x < 250 ? rounds : 1l << 40); i++) sum = sum * 0.5f + x[i & 127];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
DEPENDENT = {"counted", "chained", "timed"}


@pytest.fixture(scope="module")
def built(tmp_path_factory, cache):
    return program(tmp_path_factory.mktemp("cores"), SOURCE, "gfx90a", cache)


def run(built, kernel, *rest, cores, grid=BLOCKS, rounds=300):
    """Return the output of a launch and the number of executed instructions."""
    device, code = AmdgpuDevice(checked=False, cache=built.cache, cores=cores), built.built.code_object
    x = np.random.default_rng(0).uniform(1, 2, BLOCKS * THREADS).astype(np.float32)
    places = [device.allocate(x.nbytes, name) for name in ("x", "out")]
    device.write(places[0], x)
    device.write(places[1], np.zeros_like(x))
    args = pack(code.kernels[kernel], [*places, rounds, *rest])
    options = LaunchOptions(seed=7, in_order=True, instructions=BUDGET)
    stats = device.launch(
        code, kernel, grid=(grid, 1, 1), block=(THREADS, 1, 1), args=args, shared_bytes=1024, options=options
    )
    return device.read(places[1]).view(np.float32), stats.instructions


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"])
def test_kernels_whose_blocks_depend_on_each_other_are_known(target, tmp_path, cache):
    code = program(tmp_path, SOURCE, target, cache).built.code_object
    assert {name for name in code.kernels if not Amdgpu().traits(code.listing, name).independent} == DEPENDENT


def test_independent_blocks_give_the_same_bits(built):
    one, several = (run(built, "mixed", cores=cores) for cores in (1, 4))
    assert one[1] == several[1] > 2 * TRIAL
    assert np.array_equal(one[0].view(np.uint32), several[0].view(np.uint32))


def test_blocks_that_count_with_atomics_count_all(built):
    assert run(built, "counted", cores=4, rounds=30)[0].view(np.uint32)[0] == 30 * BLOCKS * THREADS


def test_blocks_may_wait_for_earlier_ones(built):
    assert np.array_equal(run(built, "chained", cores=4)[0][:BLOCKS], 1 + np.arange(BLOCKS))


def test_clocks_do_not_depend_on_cores(built):
    assert np.array_equal(run(built, "timed", cores=1)[0], run(built, "timed", cores=4)[0])


@pytest.mark.parametrize(("kernel", "far"), [("faulty", 1 << 40), ("faulty_lds", 1 << 28)])
@pytest.mark.parametrize("first", [0, 200, BLOCKS - 1])
def test_first_fault_is_reported(built, kernel, far, first):
    messages = []
    for cores in (1, 4):
        with pytest.raises(MemoryFault) as caught:
            run(built, kernel, first, far, cores=cores)
        messages.append(re.sub(r"address 0x7f60bf[0-9a-f]{6}", "address in LDS", str(caught.value)))
    assert messages[0] == messages[1]
    assert f"workgroup ({first}, 0, 0)" in messages[0]


def test_endless_loop_ends(built):
    with pytest.raises(InstructionBudgetExceeded, match=r"timeout: kernel 'endless'.*workgroup \(25\d, 0, 0\)"):
        run(built, "endless", cores=4)
