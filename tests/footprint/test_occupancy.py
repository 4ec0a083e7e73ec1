"""Occupancy: known values, and comparison with the vendors' calculators."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from marks import thorough

from parity.build.modules import build
from parity.compilers.targets import LIMITS, TARGETS, target
from parity.footprint.measure import footprints
from parity.footprint.occupancy import occupancy, resident_waves
from parity.runners import runner

# A program around NVIDIA's calculator, a header of the CUDA toolkit. It reads queries and prints blocks per SM.
CALCULATOR = """
#include <cuda_occupancy.h>
#include <stdio.h>
int main() {
    int major, minor, warps, kib, own, threads, registers, shared;
    while (scanf("%d %d %d %d %d %d %d %d", &major, &minor, &warps, &kib, &own, &threads, &registers, &shared) == 8) {
        cudaOccDeviceProp device;
        device.computeMajor = major, device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = 32 * warps;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.warpSize = 32, device.numSms = 1;
        device.sharedMemPerBlock = 49152, device.sharedMemPerMultiprocessor = kib * 1024;
        device.sharedMemPerBlockOptin = kib * 1024 - own, device.reservedSharedMemPerBlock = own;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = 1024, kernel.numRegs = registers, kernel.sharedSizeBytes = shared;
        cudaOccDeviceState state;
        cudaOccResult result;
        int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, 0);
        printf("%d\\n", error ? -1 : result.activeBlocksPerMultiprocessor);
    }
}
"""


@pytest.mark.parametrize(
    ("name", "threads", "vgprs", "shared", "share"),
    [
        # 64 Ki registers: two blocks of 1024 threads with 32 each, or one block with 64
        *[("sm_90", 1024, 32, 0, 1.0), ("sm_90", 1024, 33, 0, 0.5), ("sm_90", 1024, 40, 0, 0.5)],
        *[("sm_90", 1024, 64, 0, 0.5), ("sm_90", 1024, 65, 0, 0.0), ("sm_90", 256, 40, 0, 0.75)],
        # at most 32 blocks; 228 KiB in total, 1 KiB of which is reserved by the system
        *[("sm_90", 32, 32, 0, 0.5), ("sm_90", 1024, 32, 227 << 10, 0.5), ("sm_90", 1024, 32, 228 << 10, 0.0)],
        *[("sm_90a", 1024, 32, 0, 1.0), ("sm_86", 1024, 32, 0, 2 / 3)],
        # 16 wavefront slots on each of 4 SIMDs, 1024 or 1536 registers per lane
        *[("gfx1030", 1024, 64, 0, 1.0), ("gfx1030", 1024, 65, 0, 0.5), ("gfx1030", 256, 65, 0, 0.75)],
        *[("gfx1100", 1024, 96, 0, 1.0), ("gfx1100", 1024, 97, 0, 0.5), ("gfx1201", 256, 256, 0, 0.25)],
        *[("gfx1100", 256, 24, 32 << 10, 0.5), ("gfx1100", 1024, 24, 64 << 10, 1.0)],
        # 8 wavefront slots on each of 4 SIMDs, 512 registers per lane, 64 KiB of LDS
        *[("gfx90a", 1024, 64, 0, 1.0), ("gfx90a", 1024, 65, 0, 0.5), ("gfx90a", 256, 72, 0, 0.875)],
        *[("gfx942", 256, 512, 0, 0.125), ("gfx942", 256, 24, 16 << 10, 0.5), ("gfx90a", 64, 24, 0, 0.5)],
    ],
)
def test_occupancy_of_known_configurations(name, threads, vgprs, shared, share):
    assert occupancy(target(name), threads=threads, vgprs=vgprs, shared_bytes=shared) == pytest.approx(share)


def test_scalar_registers_limit_gfx9_only():
    shares = [occupancy(target("gfx90a"), threads=256, vgprs=24, sgprs=n) for n in (96, 97, 102)]
    assert shares == [1.0, 0.875, 0.875]
    assert occupancy(target("gfx1100"), threads=256, vgprs=24, sgprs=106) == 1.0


def test_occupancy_of_unknown_target_is_none():
    assert target("sm_52").limits is None
    assert occupancy(target("sm_52"), threads=256, vgprs=32) is None
    assert all(each.limits for each in TARGETS.values())


@pytest.fixture(scope="module")
def calculator(tmp_path_factory, with_nvcc):
    roots = [with_nvcc.resolve().parents[1], Path("/usr/local/cuda")]
    found = [root / "include" for root in roots if (root / "include" / "cuda_occupancy.h").is_file()]
    if not found:
        pytest.skip(f"cuda_occupancy.h is not next to {with_nvcc}")
    if not (compiler := shutil.which("c++")):
        pytest.skip("no host compiler c++")
    folder = tmp_path_factory.mktemp("calculator")
    (folder / "calculator.cpp").write_text(CALCULATOR)
    subprocess.run([compiler, "-w", f"-I{found[0]}", "calculator.cpp", "-o", "calculator"], cwd=folder, check=True)
    return folder / "calculator"


def test_occupancy_matches_nvidia_calculator(calculator):
    questions, ours = [], []
    for name in (name for name in LIMITS if name.startswith("sm_")):
        where, limits = target(name), LIMITS[name]
        major, minor = divmod(where.isa, 1000)
        warps, kib = limits.simds * limits.waves, limits.shared >> 10
        for threads, vgprs, shared in itertools.product(
            (32, 64, 128, 256, 384, 1024), (1, 24, 32, 33, 40, 64, 65, 128, 168, 255), (0, 100, 4096, 20000, 49152)
        ):
            questions.append(f"{major} {minor // 100} {warps} {kib} {limits.shared_own} {threads} {vgprs} {shared}\n")
            share = occupancy(where, threads=threads, vgprs=vgprs, shared_bytes=shared)
            ours.append(round(share * warps / (threads // 32)))
    done = subprocess.run([calculator], input="".join(questions), capture_output=True, text=True, check=True)
    theirs = list(map(int, done.stdout.split()))
    wrong = [(q.split(), a, b) for q, a, b in zip(questions, ours, theirs, strict=True) if a != b]
    assert not wrong, wrong[:5]
    assert len(set(theirs)) > 5


# Numbers of values that the kernels hold in registers.
HELD = (4, 60, 100, 150, 230)
HOLDING = """
template <int N> __device__ void hold(float* x) {
    float held[N];
    for (int i = 0; i < N; i++) held[i] = x[i * 64 + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < N; i++) x[i * 64 + threadIdx.x] = held[N - 1 - i] * held[i];
}
#define HOLD(N) extern "C" __global__ void __launch_bounds__(64) hold_##N(float* x) { hold<N>(x); }
"""


@pytest.mark.parametrize("name", [thorough("gfx1030"), "gfx1100", thorough("gfx90a")])
def test_resident_waves_match_compiler(tmp_path, name):
    """LLVM's listings state how many wavefronts a SIMD can hold."""
    (tmp_path / "holding.cu").write_text(HOLDING + "".join(f"HOLD({n})\n" for n in HELD))
    (built,) = build(tmp_path, ["holding"], [name])
    listing, estimates = built.code_object.listing, set()
    for kernel in built.code_object.kernels.values():
        estimate = re.search(r"; Occupancy: (\d+)", listing[listing.index(f"\n{kernel.name}:") :])
        assert resident_waves(LIMITS[name], kernel.vgprs, kernel.sgprs) == int(estimate[1]), kernel
        estimates.add(int(estimate[1]))
    assert len(estimates) >= 3


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["gfx1030", "gfx1100", "gfx90a"])
def test_resident_waves_match_compiler_for_suite(suite, name):
    """Skip kernels with more than 96 scalar registers: on gfx9, LLVM counts them in steps of 1, HIP in steps of 16."""
    limits, checked = LIMITS[name], 0
    for built in build(suite.kernels, ["reduce", "unary"], [name]):
        listing = built.code_object.listing
        for kernel in built.code_object.kernels.values():
            if limits.sgprs and kernel.sgprs > 96:
                continue
            estimate = re.search(r"; Occupancy: (\d+)", listing[listing.index(f"\n{kernel.name}:") :])
            assert resident_waves(limits, kernel.vgprs, kernel.sgprs) == int(estimate[1]), kernel
            checked += 1
    assert checked > 100


@pytest.fixture(scope="module")
def gpu():
    """CuPy and the target of the first GPU."""
    probe = runner("cuda").probe()
    if not probe.available:
        pytest.skip(probe.reason)
    cupy = pytest.importorskip("cupy")
    return cupy, f"sm_{cupy.cuda.Device(0).compute_capability}"


def test_footprints_match_gpu_driver(gpu, suite):
    """Compares registers, local and shared memory, and occupancy with the driver's figures."""
    cupy, name = gpu
    limits = LIMITS.get(name)
    if limits is None:
        pytest.skip(f"the limits of {name} are not known")
    with cupy.cuda.Device(0):
        for built in build(suite.kernels, ["affine", "conv", "reduce", "sort"], [name]):
            module = cupy.RawModule(path=str(built.code_object.binary))
            for one in footprints(built.code_object, built.entries):
                loaded = module.get_function(one.kernel)
                assert (loaded.num_regs, loaded.shared_size_bytes) == (one.vgprs, one.lds_bytes), one
                assert loaded.local_size_bytes >= one.scratch_bytes, one
                blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(loaded.kernel.ptr, one.threads, 0)
                share = blocks * (one.threads // 32) / (limits.simds * limits.waves)
                assert share == pytest.approx(one.occupancy), one
