"""The runner ``cuda`` with a replacement of CuPy on host memory and, if there is one, on a real GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from parity.build.modules import build
from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.engine.case_records import Column
from parity.engine.execution import execute_plan as execute
from parity.engine.plan import Plan, make_tasks
from parity.engine.pool import Workers
from parity.errors import MissingTool, NotAvailable
from parity.model.code_object import CodeObject, Kernel
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Launch, Pointer, Scalar
from parity.platform.cache import Cache
from parity.runners import Evidence, Runner, available, runner
from parity.runners import cuda as module
from parity.runners.cuda import CudaDevice, CudaRunner

PTX = """
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .u64 .ptr .global .align 2 scale_param_1,
	.param .u64 .ptr .global .align 2 scale_param_2,
	.param .align 2 .b8 scale_param_3[2]
)
"""


class CudaError(RuntimeError):
    """The error that the replacement of CuPy raises."""


class Memory:
    """Device memory, emulated in aligned host memory."""

    def __init__(self, size) -> None:
        memory = np.zeros(size + 256, np.uint8)
        self.array = memory[-memory.ctypes.data % 256 :][:size]
        self.ptr = self.array.ctypes.data

    def copy_from_host_async(self, pointer, size):
        ctypes.memmove(self.ptr, pointer, size)

    def copy_to_host_async(self, pointer, size):
        ctypes.memmove(pointer, self.ptr, size)


class Device:
    """A replacement of CuPy. A launch calls ``kernel`` with its arguments."""

    def __init__(self, kernel, lost: bool = False) -> None:
        self.kernel, self.lost, self.loads = kernel, lost, []
        self.cuda = SimpleNamespace(
            Device=self.device,
            Stream=lambda non_blocking: self,
            alloc=Memory,
            runtime=SimpleNamespace(
                CUDARuntimeError=CudaError, getDeviceCount=lambda: 2, deviceSynchronize=self.synchronize_device
            ),
            driver=SimpleNamespace(CUDADriverError=CudaError),
        )

    def device(self, place):
        return SimpleNamespace(compute_capability="90" if place else "80", use=lambda: None)

    def synchronize_device(self):
        if self.lost:
            raise CudaError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    def RawModule(self, path):  # noqa: N802 - CuPy's name
        self.loads.append(path)
        return SimpleNamespace(
            get_function=lambda name: lambda grid, block, args, shared_mem: self.kernel(*args),
        )

    def synchronize(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def scale(n, x, y, factor):
    values = (ctypes.c_uint16 * int(n)).from_address(int(x))
    results = (ctypes.c_uint16 * int(n)).from_address(int(y))
    factor = np.array([factor], np.uint16).view(np.float16)[0]
    results[:] = (np.array(values, np.uint16).view(np.float16) * factor).view(np.uint16).tolist()


def code(tmp_path) -> CodeObject:
    return parse_ptx(PTX, "module", target("sm_90"), binary=tmp_path / "module.cubin")


def run(device, code, *, n=4, args=None):
    half = dtype("f16")
    buffers = {
        "x": Buffer(half, np.arange(4, dtype=np.float16)),
        "out": Buffer(half, np.zeros(4, np.float16), writable=True),
    }
    args = args or (Scalar(dtype("u64"), n), Pointer("x"), Pointer("out"), Scalar(half, 3))
    return device.execute(code, Launch("scale", (1, 1, 1), (4, 1, 1), args), buffers)


@pytest.fixture
def opened(monkeypatch):
    def do(kernel, **more):
        stand_in = Device(kernel, **more)
        monkeypatch.setitem(sys.modules, "cupy", stand_in)
        return CudaDevice("sm_90", True), stand_in

    return do


def test_cuda_runner_has_hardware_evidence():
    assert isinstance(runner("cuda"), Runner)
    assert (runner("cuda").evidence, runner("cuda").vendor) == (Evidence.HARDWARE, "cuda")


def test_probe_without_cupy_states_installation(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert CudaRunner().targets() == ()
    with pytest.raises(
        NotAvailable, match="CuPy is not installed; install it with: python -m pip install cupy-cuda13x"
    ):
        available("cuda")


def test_probe_without_nvcc_states_installation(monkeypatch):
    def missing():
        raise MissingTool("nvcc", "PATH", "python -m pip install nvidia-cuda-nvcc")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "nvcc", missing)
    probe = CudaRunner().probe()
    assert (probe.available, probe.reason) == (False, "nvcc not found")
    assert "pip install nvidia-cuda-nvcc" in probe.install


@pytest.mark.parametrize(
    ("count", "says"),
    [(lambda: 0, "no NVIDIA GPU"), (lambda: 1 / 0, "finds no GPU"), (lambda: 2, "")],
    ids=["none", "no driver", "two"],
)
def test_probe_and_targets_follow_visible_gpus(monkeypatch, opened, count, says):
    _, stand_in = opened(scale)
    stand_in.cuda.runtime.getDeviceCount = count
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module, "nvcc", lambda: None)
    probe = CudaRunner().probe()
    assert probe.available is (not says)
    assert says in probe.reason
    assert CudaRunner().targets() == (() if says else ("sm_80", "sm_90"))


def test_describe_returns_device_and_software(monkeypatch, opened):
    _, stand_in = opened(scale)
    runtime = stand_in.cuda.runtime
    runtime.getDeviceProperties = lambda place: {"name": b"NVIDIA H200"}
    runtime.driverGetVersion, runtime.runtimeGetVersion = (lambda: 13000), (lambda: 12090)
    stand_in.__version__ = "14.0"
    monkeypatch.setattr(module, "nvcc_version", lambda: "nvcc: NVIDIA (R)\nBuild cuda_13.0\n")
    found = CudaRunner().describe()
    assert (found["gpu"], found["cupy"], found["nvcc"]) == ("NVIDIA H200", "14.0", "Build cuda_13.0")
    assert (found["driver's CUDA"], found["runtime"]) == ("13.0", "12.9")


@pytest.mark.parametrize(
    ("gib", "targets", "most"),
    [(8, ["sm_90"], 8), (141, ["sm_90"], 16), (141, ["sm_80", "sm_90"], 32), (0, ["sm_90"], 1)],
)
def test_max_workers_is_limited_by_gpu_memory(opened, gib, targets, most):
    _, stand_in = opened(scale)
    stand_in.cuda.runtime.getDeviceProperties = lambda place: {"totalGlobalMem": gib * 2**30}
    assert CudaRunner().max_workers(targets) == most


CUPY = """
import os, pathlib, time
from types import SimpleNamespace

LOG, WORKERS = pathlib.Path(os.environ["LOG"]), int(os.environ["WORKERS"])
VISIBLE = [int(number) for number in os.environ["CUDA_VISIBLE_DEVICES"].split(",")]

class Device:
    def __init__(self, place):
        self.number = VISIBLE[place]
        self.compute_capability = "80" if self.number == 0 else "90"
    def use(self):
        with LOG.open("a") as file:
            print(self.number, file=file)

def RawModule(path):
    while len(LOG.read_text().split()) < WORKERS:  # each process gets its first task before any gets a second
        time.sleep(0.01)
    raise RuntimeError("cudaErrorInvalidImage: this is a stand-in")

cuda = SimpleNamespace(
    Device=Device,
    Stream=lambda non_blocking: None,
    runtime=SimpleNamespace(
        CUDARuntimeError=RuntimeError, getDeviceCount=lambda: len(VISIBLE), deviceSynchronize=lambda: None
    ),
    driver=SimpleNamespace(CUDADriverError=RuntimeError),
)
"""


@pytest.mark.parametrize(
    ("visible", "gpus", "workers"), [("0,1,2", "12", [2, 2]), ("3,0,1,2", "123", [1, 1, 2]), ("2", "2", [4])]
)
def test_workers_spread_evenly_over_visible_gpus_of_target(suite, monkeypatch, tmp_path, visible, gpus, workers):
    (tmp_path / "cupy.py").write_text(CUPY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", None)  # restores the state after the test
    del sys.modules["cupy"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("WORKERS", "4")
    column = Column("cuda", "sm_90", Evidence.HARDWARE, "cuda", "cuda")
    selection = suite.select([f"unary.{op}[f32](x=1~normal@0)" for op in ("neg", "abs", "exp", "log")])
    tasks = [replace(task, shrink=False) for task in make_tasks(selection, [column])]
    kernels = {name: Kernel(name, (), 0, 0, 0, 0, 0, 32) for name in ("uneg_f32", "uabs_f32", "uexp_f32", "ulog_f32")}
    unary = CodeObject("unary", "sm_90", "", kernels, "digest", (), tmp_path / "unary.cubin")
    plan = Plan.of(suite, tasks, {("unary", column): unary}, examples=1)
    records = list(execute(plan, suite, Workers(4)))
    assert {record.verdict.kind for record in records} == {"cudaErrorInvalidImage"}
    used = Counter((tmp_path / "log").read_text().split())
    assert (sorted(used), sorted(used.values())) == (list(gpus), workers)


def test_device_without_gpu_of_target_is_not_available(opened):
    opened(scale)
    with pytest.raises(NotAvailable, match="no GPU here is sm_100"):
        CudaDevice("sm_100", True)


def test_execute_passes_argument_bytes_and_loads_module_once(opened, tmp_path):
    device, stand_in = opened(scale)
    for _ in range(2):
        outcome = run(device, code(tmp_path))
        assert outcome.fault is None
        assert outcome.buffers["out"].tolist() == [0, 3, 6, 9]
        assert outcome.buffers["x"].tolist() == [0, 1, 2, 3]
    assert stand_in.loads == [str(tmp_path / "module.cubin")]


def test_pointer_argument_is_null_or_offset_in_elements(opened, tmp_path):
    seen = []
    device, _ = opened(lambda *args: seen.append(args))
    half, n = dtype("f16"), Scalar(dtype("u64"), 1)
    run(device, code(tmp_path), args=(n, Pointer(None), Pointer("out"), Scalar(half, 1)))
    run(device, code(tmp_path), args=(n, Pointer("x", 2), Pointer("out"), Scalar(half, 1)))
    assert seen[0][1] == 0
    assert seen[1][1] % 256 == 4


def test_write_past_buffer_end_is_fault(opened, tmp_path):
    device, _ = opened(lambda n, x, y, factor: scale(n + np.uint64(1), x, y, factor))
    outcome = run(device, code(tmp_path))
    assert outcome.fault.kind == "out-of-bounds write"
    assert "byte 8 (element 4) of 'out'" in outcome.fault.message
    assert not outcome.fault.lost


@pytest.mark.parametrize("lost", [False, True])
def test_device_error_is_fault_with_its_name(opened, tmp_path, lost):
    def fail(*args):
        raise CudaError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    device, _ = opened(fail, lost=lost)
    fault = run(device, code(tmp_path)).fault
    assert fault.kind == "cudaErrorIllegalAddress"
    assert fault.message == "an illegal memory access was encountered"
    assert fault.lost is lost


def test_mismatched_arguments_are_reported_before_launch(opened, tmp_path):
    device, _ = opened(lambda *args: pytest.fail("was launched"))
    fault = run(device, code(tmp_path), args=(Scalar(dtype("u64"), 4), Pointer("x"), Pointer("out"))).fault
    assert fault.kind == "error"
    assert "takes 4 arguments, not 3" in fault.message
    swapped = (Scalar(dtype("u64"), 4), Scalar(dtype("u64"), 1), Pointer("out"), Scalar(dtype("f16"), 1))
    assert "is a pointer, not passed by value" in run(device, code(tmp_path), args=swapped).fault.message


KERNELS = """#include <cassert>
extern "C" __global__ void fill(unsigned n, float* out) {
    if (threadIdx.x < n) out[threadIdx.x] = 1.0f;
}
extern "C" __global__ void strict(unsigned n, float* out) { assert(n < 100); out[0] = 1.0f; }
extern "C" __global__ void wild(unsigned n, float* out) { *(float*)(n * 16ull) = 1.0f; }
"""


@pytest.fixture(scope="module")
def hardware(tmp_path_factory):
    """A session on a real GPU, and the code of the kernels above."""
    probe = CudaRunner().probe()
    if not probe.available:
        pytest.skip(f"needs an NVIDIA GPU: {probe.reason}; {probe.install}")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "some.cu").write_text(KERNELS)
    name = CudaRunner().targets()[0]
    (built,) = build(folder, targets=[name], cache=Cache(folder / "cache"))
    return CudaRunner().open(name), built.code_object


def on_hardware(hardware, kernel, n):
    session, code = hardware
    out = Buffer(dtype("f32"), np.zeros(8, np.float32), writable=True)
    launch = Launch(kernel, (1, 1, 1), (32, 1, 1), (Scalar(dtype("u32"), n), Pointer("out")))
    return session.execute(code, launch, {"out": out})


def test_gpu_computes_and_survives_sticky_errors(hardware):
    assert on_hardware(hardware, "fill", 8).buffers["out"].tolist() == [1] * 8
    assert "byte 32 (element 8) of 'out'" in on_hardware(hardware, "fill", 9).fault.message
    illegal = on_hardware(hardware, "wild", 1).fault
    assert (illegal.kind, illegal.lost) == ("cudaErrorIllegalAddress", True)
    failed = on_hardware(hardware, "strict", 100).fault
    assert (failed.kind, failed.lost) == ("cudaErrorAssert", True)
    assert "n < 100" in failed.message
    assert on_hardware(hardware, "fill", 3).buffers["out"].tolist() == [1] * 3 + [0] * 5
