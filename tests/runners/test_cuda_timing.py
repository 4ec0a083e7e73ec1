"""Timing on NVIDIA GPUs with a replacement of CuPy on host memory, whose stream has a simulated clock."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.model.dtypes import dtype
from parity.model.launch import POISON, Fault, Launch, Pointer, Scalar, Tiled
from parity.runners import cuda, timing
from parity.runners.cuda import CudaDevice

PTX = """
.visible .entry add(
	.param .u64 add_param_0,
	.param .u64 .ptr .global .align 4 add_param_1,
	.param .u64 .ptr .global .align 4 add_param_2
)
"""
L2 = 3 << 20


class CudaError(RuntimeError):
    """The runtime error that the replacement of CuPy raises."""


class OutOfMemoryError(MemoryError):
    """The memory error that the replacement of CuPy raises."""


class Memory:
    def __init__(self, gpu, array):
        self.gpu, self.array, self.ptr = gpu, array, array.ctypes.data

    def __add__(self, offset):
        return Memory(self.gpu, self.array[offset:])

    def memset_async(self, value, size, stream=None):
        def set_bytes():
            self.array[:size] = value
            if size >= 2 * L2:
                self.gpu.cold = True

        self.gpu.do(set_bytes, 50e-6 if size >= 2 * L2 else 1e-6)

    def copy_from_host_async(self, pointer, size, stream=None):
        data = np.frombuffer((ctypes.c_uint8 * size).from_address(pointer.value), np.uint8).copy()
        self.gpu.do(lambda: self.array.__setitem__(slice(size), data), 1e-6)

    def copy_from_device_async(self, source, size, stream=None):
        self.gpu.do(lambda: self.array.__setitem__(slice(size), source.array[:size].copy()), 1e-6)


class Event:
    def __init__(self, gpu):
        self.gpu, self.at = gpu, None

    def record(self, stream):
        self.gpu.do(lambda: setattr(self, "at", self.gpu.now), 0)


class Gpu:
    """Runs enqueued work when the stream is synchronized. A launch takes 100 us cold and 20 us hot."""

    def __init__(self, kernel, memory=1 << 32):
        self.kernel, self.memory = kernel, memory
        self.now, self.cold, self.queue, self.captured, self.launches = 0.0, True, [], None, 0
        self.allocated = 0
        self.cuda = SimpleNamespace(
            Device=self.device,
            Stream=lambda non_blocking: self,
            Event=lambda: Event(self),
            alloc=self.alloc,
            get_elapsed_time=lambda start, end: 1e3 * (end.at - start.at),
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            runtime=SimpleNamespace(
                CUDARuntimeError=CudaError,
                getDeviceCount=lambda: 1,
                deviceSynchronize=lambda: None,
                deviceGetPCIBusId=lambda device: "0000:00:00.0",
            ),
            driver=SimpleNamespace(CUDADriverError=CudaError),
        )

    def device(self, place=0):
        return SimpleNamespace(compute_capability="90", use=lambda: None, id=place, attributes={"L2CacheSize": L2})

    def alloc(self, size):
        if size > self.memory:
            raise OutOfMemoryError(f"Out of memory allocating {size} bytes")
        self.allocated += size
        return Memory(self, np.full(size, 0xEE, np.uint8))

    def do(self, action, seconds):
        (self.queue if self.captured is None else self.captured).append((action, seconds))

    def RawModule(self, path):  # noqa: N802 - CuPy's name
        def launch(grid, block, args, shared_mem):
            self.do(lambda: self.run(args), 0)

        return SimpleNamespace(get_function=lambda name: launch)

    def run(self, args):
        self.kernel(*args)
        self.now += 100e-6 if self.cold else 20e-6
        self.cold, self.launches = False, self.launches + 1

    def begin_capture(self):
        self.captured = []

    def end_capture(self):
        work, self.captured = self.captured, None
        return SimpleNamespace(launch=lambda stream: self.queue.extend(work))

    def synchronize(self):
        for action, seconds in self.queue:
            action()
            self.now += seconds
        self.queue = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def add(n, x, out):
    """Out += x."""
    read, written = ((ctypes.c_float * int(n)).from_address(int(p)) for p in (x, out))
    np.frombuffer(written, np.float32)[:] += np.frombuffer(read, np.float32)


@pytest.fixture
def opened(monkeypatch):
    monkeypatch.setattr(timing, "FLUSH_BYTES", 0)
    monkeypatch.setattr(cuda, "throttling", lambda bus: [])

    def do(kernel=add, **more):
        gpu = Gpu(kernel, **more)
        monkeypatch.setitem(sys.modules, "cupy", gpu)
        return CudaDevice("sm_90", True), gpu

    return do


def times(device, tmp_path, *, hot=False, count=1000, out=None):
    f32 = dtype("f32")
    buffers = {
        "x": Tiled(f32, np.arange(1, 8, dtype=np.float32), count),
        "out": Tiled(f32, np.zeros(0, np.float32) if out is None else out, count, writable=True),
    }
    code = parse_ptx(PTX, "module", target("sm_90"), binary=tmp_path / "module.cubin")
    launch = Launch("add", (1, 1, 1), (32, 1, 1), (Scalar(dtype("u64"), count), Pointer("x"), Pointer("out")))
    return device.time(code, launch, buffers, hot=hot, seconds=0.5)


def test_cold_launch_flushes_cache_and_hot_launch_does_not(opened, tmp_path):
    timings = times(opened()[0], tmp_path, hot=True)
    assert timings.cold.median == pytest.approx(100e-6)
    assert timings.hot.median == pytest.approx(20e-6, rel=0.1)
    assert (timings.cold.repetitions >= 20, timings.cold.error) == (True, pytest.approx(0, abs=1e-9))
    assert timings.host > 0


def test_hot_timing_is_measured_on_request_only(opened, tmp_path):
    assert times(opened()[0], tmp_path).hot is None


def test_tiled_buffer_is_repeated_and_output_is_poisoned(opened, tmp_path):
    seen = {}

    def look(n, x, out):
        read, written = ((ctypes.c_uint8 * (4 * int(n))).from_address(int(p)) for p in (x, out))
        seen.setdefault("x", np.frombuffer(read, np.float32).copy())
        seen.setdefault("out", np.frombuffer(written, np.uint8).copy())

    times(opened(look)[0], tmp_path, count=1000)
    assert np.array_equal(seen["x"], np.resize(np.arange(1, 8, dtype=np.float32), 1000))
    assert set(seen["out"]) == {POISON}


def test_updated_buffer_is_restored_before_each_repetition(opened, tmp_path):
    largest = []

    def watch(n, x, out):
        add(n, x, out)
        written = (ctypes.c_float * int(n)).from_address(int(out))
        largest.append(float(np.max(np.frombuffer(written, np.float32))))

    times(opened(watch)[0], tmp_path, out=np.zeros(5, np.float32))
    assert len(largest) > 20
    assert set(largest) == {7.0}


def test_hot_graph_restores_updated_buffer_each_time(opened, tmp_path):
    largest = []

    def watch(n, x, out):
        add(n, x, out)
        written = (ctypes.c_float * int(n)).from_address(int(out))
        largest.append(float(np.max(np.frombuffer(written, np.float32))))

    times(opened(watch)[0], tmp_path, hot=True, out=np.zeros(5, np.float32))
    assert max(largest) <= 7.0 * timing.HOT_LAUNCHES


def test_insufficient_memory_is_fault(opened, tmp_path):
    fault = times(opened(memory=1 << 10)[0], tmp_path)
    assert isinstance(fault, Fault)
    assert fault.kind == "out of memory"


def test_device_error_while_timing_is_fault(opened, tmp_path):
    def fail(n, x, out):
        raise CudaError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    fault = times(opened(fail)[0], tmp_path)
    assert (fault.kind, fault.lost) == ("cudaErrorIllegalAddress", False)


def test_flush_buffer_is_twice_cache_size(opened, tmp_path):
    device, gpu = opened()
    times(device, tmp_path)
    assert gpu.allocated >= 2 * L2


def test_throttling_without_nvml_is_empty(monkeypatch):
    def missing(name):
        raise OSError

    monkeypatch.setattr(cuda.ctypes, "CDLL", missing)
    assert cuda.throttling("0000:00:00.0") == []


def test_throttling_names_reasons_of_lowered_clocks(monkeypatch):
    def reasons(handle, found):
        found._obj.value = 0x44
        return 0

    nvml = SimpleNamespace(
        nvmlInit_v2=lambda: 0,
        nvmlDeviceGetHandleByPciBusId_v2=lambda bus, handle: 0,
        nvmlDeviceGetCurrentClocksThrottleReasons=reasons,
    )
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: nvml)
    assert cuda.throttling("0000:00:00.0") == ["power cap", "hardware thermal slowdown"]
