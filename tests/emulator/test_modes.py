"""Sources compiled for other modes: flushed subnormal numbers, wave64, no optimization."""

from __future__ import annotations

import numpy as np
import pytest
from array_runs import Run

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.emulator.amdgpu.device import AmdgpuDevice

SOURCE = """
extern "C" __global__ void scaled(int n, const float* x, float* out) {
    int i = threadIdx.x;
    if (i < n) out[i] = x[i] * 0.5f;
}
extern "C" __global__ void quotient(int n, const float* x, const float* y, float* out) {
    int i = threadIdx.x;
    if (i < n) out[i] = x[i] / y[i] + x[i] * 0.5f;
}
extern "C" __global__ void from_40(int n, const int* x, int* out) {
    out[threadIdx.x] = 1000 * warpSize + __shfl(x[threadIdx.x], 40, 64);
}
"""
PRODUCTS = """
extern "C" __global__ void dot2(int n, const unsigned* x, const unsigned* y, unsigned* out) {
    int i = threadIdx.x;
    if (i >= n) return;
    unsigned found = 0;
    asm volatile("v_dot2_bf16_bf16 %0, %1, %2, 0" : "+v"(found) : "v"(x[i]), "v"(y[i]));
    out[i] = found;
}
"""
TINY = np.float32(1e-40)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, cache):
    """Return a runner of the kernels, compiled for a target with these flags."""
    folder = tmp_path_factory.mktemp("modes")
    (folder / "modes.cu").write_text(SOURCE)

    def make(name: str, *flags: str) -> Run:
        (built,) = build(
            folder, ["modes"], [name], cache=cache, settings=BuildSettings(Sides.both(CompileOptions(flags=flags)))
        )
        assert built.error is None, built.error
        return Run(AmdgpuDevice(cache=cache, traced=True, instruction_budget=5_000_000), built.code_object)

    return make


@pytest.mark.parametrize("target", ["gfx1100", "gfx90a"])
def test_flush_mode_applies_to_its_kernel_only(compiled, target):
    x = np.array([TINY, 3e-38, -TINY, 1.0], np.float32)
    flushing = compiled(target, "-fgpu-flush-denormals-to-zero")
    halves = flushing("scaled", x, out=np.float32)
    assert halves.tolist() == [0.0, np.float32(1.5e-38), 0.0, 0.5] and np.signbit(halves[2])
    assert np.float32(TINY) * np.float32(0.5) > 0  # the host does not flush after the launch
    # A division enables subnormal numbers while it executes; the code after it flushes them again.
    y = np.array([TINY, 2.0, 3.0, 3.0], np.float32)
    assert flushing("quotient", x, y, out=np.float32)[3] == np.float32(1 / 3) + np.float32(0.5)
    assert compiled(target)("scaled", x, out=np.float32)[0] == TINY * np.float32(0.5)


def test_bf16_dot_product_rounds_toward_zero(tmp_path, cache):
    """As measured on gfx1200: 41 % of products are an ULP too small (triton-lang/triton #11217)."""
    (tmp_path / "products.cu").write_text(PRODUCTS)
    (built,) = build(tmp_path, ["products"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    run = Run(AmdgpuDevice(cache=cache, traced=True, instruction_budget=5_000_000), built.code_object)
    x = np.random.default_rng(2).normal(size=(2, 32)).astype(np.float32).view(np.uint32) & 0xFFFF0000
    products = x[0].view(np.float32).astype(np.float64) * x[1].view(np.float32)
    cut = products.astype(np.float32).view(np.uint32) >> 16
    assert run("dot2", x[0] >> 16, x[1] >> 16, out=np.uint32).tolist() == cut.tolist()


@pytest.mark.thorough
def test_gfx11_wave64_exchanges_within_halves(compiled):
    run = compiled("gfx1100", "-mwavefrontsize64", "-D__GFX7__")
    x = np.arange(64, dtype=np.int32)
    assert run("from_40", x, out=np.int32).tolist() == [64008] * 32 + [64040] * 32


@pytest.mark.thorough
def test_spill_of_unwritten_register_is_not_fault(compiled):
    run = compiled("gfx1100", "-O0")
    x = np.arange(40, dtype=np.float32)
    assert run("scaled", x, out=np.float32).tolist() == (x / 2).tolist()


SATURATING = """
extern "C" __global__ void convert(int n, const float* x, unsigned* out) {
    MODE
    unsigned half, byte = 0;
    int i = threadIdx.x;
    if (i >= n) return;
    asm volatile("v_cvt_f16_f32 %0, %1" : "=v"(half) : "v"(x[i]));
    asm volatile("v_cvt_pk_fp8_f32 %0, %1, %1" : "+v"(byte) : "v"(x[i]));
    out[i] = byte << 16 | (half & 0xffff);
}
"""


@pytest.mark.parametrize(("target", "register"), [("gfx942", "HW_REG_MODE"), ("gfx1201", "HW_REG_WAVE_MODE")])
def test_overflow_mode_keeps_results_of_finite_numbers_finite(target, register, tmp_path, cache):
    """Triton sets MODE.FP16_OVFL in kernels that convert to fp8."""
    mode = f'asm volatile("s_setreg_imm32_b32 hwreg({register}, 23, 1), 1");'
    x = np.array([1e6, -1e6, np.inf, 1.0], np.float32)
    found = []
    for name, text in (("plain", ""), ("saturating", mode)):
        (tmp_path / f"{name}.cu").write_text(SATURATING.replace("MODE", text))
        (built,) = build(tmp_path, [name], [target], cache=cache)
        assert built.error is None, built.error
        out = Run(AmdgpuDevice(cache=cache), built.code_object)("convert", x, out=np.uint32)
        found.append(
            ((out & 0xFFFF).astype(np.uint16).view(np.float16).tolist(), [hex(each >> 16 & 0xFF) for each in out])
        )
    (halves, bytes_), (saturated, saturated_bytes) = found
    infinity = bytes_[2]  # NaN: both formats lack an infinity
    assert halves == [np.inf, -np.inf, np.inf, 1.0] and saturated == [65504.0, -65504.0, np.inf, 1.0]
    largest = {"gfx942": ["0x7f", "0xff"], "gfx1201": ["0x7e", "0xfe"]}[target]
    assert bytes_[0] == infinity and saturated_bytes == [*largest, infinity, bytes_[3]]
