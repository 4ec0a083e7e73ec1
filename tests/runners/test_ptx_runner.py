"""The runner ``ptx``, which executes the CUDA side of kernels on the CPU."""

from dataclasses import replace

import numpy as np
import pytest

from parity.build.modules import build
from parity.errors import MissingTool
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Launch, Pointer
from parity.runners import SupportsCounting, SupportsDefaultTargets, SupportsExplanation, SupportsNearest, runner
from parity.runners import ptx as module


@pytest.fixture(scope="module")
def session():
    return runner("ptx").open("sm_90")


@pytest.fixture(scope="module")
def code(suite, with_nvcc):
    (built,) = build(suite.kernels, ["affine"], ["sm_90"])
    assert built.error is None, built.error
    return built.code_object


def outcome(suite, session, code, text, **change):
    case = suite.parse(text)
    call = suite.entry(case).op.call(case)
    launch = replace(call.launch, **change)
    return call, session.execute(code, launch, call.buffers)


def test_default_target_is_measured_architecture():
    ptx = runner("ptx")
    assert isinstance(ptx, SupportsDefaultTargets)
    assert ptx.default_targets() == ("sm_90",)
    assert {"sm_80", "sm_90", "sm_100"} <= set(ptx.targets())
    assert (ptx.evidence, ptx.vendor) == ("emulated", "cuda")


def test_probe_without_nvcc_states_installation(monkeypatch):
    def missing():
        raise MissingTool("nvcc", "PATH", "python -m pip install nvidia-cuda-nvcc")

    monkeypatch.setattr(module, "nvcc", missing)
    probe = runner("ptx").probe()
    assert (probe.available, probe.reason) == (False, "nvcc not found")
    assert "pip install nvidia-cuda-nvcc" in probe.install


def test_session_explains_but_does_not_count_or_draw(session):
    assert isinstance(session, SupportsExplanation)
    assert not isinstance(session, SupportsCounting | SupportsNearest)


def test_kernels_match_gpu_recording(suite, session, code):
    """ptxas fuses product and sum. With two roundings, 37 of these 200 elements would differ."""
    call, after = outcome(suite, session, code, "affine.affine[f16](x=200~normal@0 mul=1.099609375 add=-0.5)")
    assert after.fault is None
    x = call.inputs["x"].astype(np.float64)
    fused = (x * 1.099609375 - 0.5).astype(np.float16)
    assert after.buffers["out"].tobytes() == fused.tobytes()
    assert (fused != (x * 1.099609375).astype(np.float16) - np.float16(0.5)).sum() == 37


def test_kernel_error_is_fault_with_source_line(suite, session, code):
    text = "affine.affine[f32](x=100~normal@0 mul=2.0 add=1.0 null-info)"
    call, _ = outcome(suite, session, code, text)
    long = (type(call.launch.args[0])(call.launch.args[0].dtype, 101), *call.launch.args[1:])
    fault = outcome(suite, session, code, text, args=long)[1].fault
    assert fault.kind == "out-of-bounds read"
    for word in ("affine_f32", "elementwise.cuh", "lane 4", "'x'", "ld.global"):
        assert word in fault.message


WARP_SUM = """
__device__ float in_warp(float* part, int lane) {
    for (int other = 16; other; other /= 2) {
        if (lane < other) part[lane] += part[lane + other];
        __syncwarp();
    }
    return part[0];
}
extern "C" __global__ void sums(const float* x, float* out) {
    __shared__ float part[2][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    part[warp][lane] = x[threadIdx.x];
    __syncwarp();
    const float sum = in_warp(part[warp], lane);
    if (lane == 0) out[warp] = sum;
}
"""


@pytest.mark.parametrize("missing", [None, 0, 1])
def test_missing_warp_barrier_is_fault_with_source_line(session, tmp_path, missing, with_nvcc):
    parts = WARP_SUM.split("__syncwarp();")
    source = "".join(part + ("__syncwarp();" if i != missing and i < 2 else "") for i, part in enumerate(parts))
    (tmp_path / "sums.cu").write_text(source)
    (built,) = build(tmp_path, ["sums"], ["sm_90"])
    assert built.error is None, built.error
    x, out = np.arange(64, dtype=np.float32), np.zeros(2, np.float32)
    buffers = {"x": Buffer(dtype("f32"), x), "out": Buffer(dtype("f32"), out, np.zeros(2, bool), writable=True)}
    launch = Launch("sums", (1, 1, 1), (64, 1, 1), (Pointer("x"), Pointer("out")))
    after = session.execute(built.code_object, launch, buffers)
    if missing is None:
        assert after.fault is None
        assert after.buffers["out"].tolist() == [x[:32].sum(), x[32:].sum()]
    else:
        assert after.fault.kind == "data race in a warp"
        assert "two threads of one warp, one of them writes, no __syncwarp between them" in after.fault.message
        assert after.fault.message.count("sums.cu:4") + after.fault.message.count("sums.cu:12") == 2
