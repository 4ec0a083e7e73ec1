"""Opens an NVIDIA GPU in this process, for programs that compare parity's kernels and timer with others."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from parity.build.modules import build
from parity.engine.bench import Timer
from parity.model.case import Case
from parity.model.code_object import CodeObject
from parity.model.dtypes import resolve_dtype
from parity.op import Op
from parity.runners import available
from parity.runners.cuda import CudaDevice, CudaDriver
from parity.runners.gpu import GpuDevice, PlacedLaunch
from parity.runners.timing import Stopwatch, Timings
from parity.suite.loading import Suite, find_suite

__all__ = ["Gpu", "open_gpu"]


@dataclass(eq=False)
class Gpu:
    """An open device with the suite's kernels; nothing is isolated here, so a broken kernel ends the program."""

    cupy: Any
    device: GpuDevice
    target: str
    suite: Suite
    name: str

    @property
    def stream(self) -> Any:
        assert isinstance(self.device.driver, CudaDriver)
        return self.device.driver.stream

    @functools.cached_property
    def stopwatch(self) -> Stopwatch:
        return Stopwatch(self.device.driver)

    @functools.cached_property
    def ceilings(self) -> Timer:
        """What the device can do at most; its ``copy`` measures that again."""
        return Timer(self.device, self.target, False, 1.0)

    @functools.cache  # noqa: B019 - one object for the whole program
    def code(self, module: str) -> CodeObject:
        (built,) = build(self.suite.kernels, [module], [self.target])
        if built.error:
            raise built.error
        assert built.code_object is not None
        return built.code_object

    def place(self, text: str) -> tuple[PlacedLaunch, Case]:
        """A case in the device's memory."""
        op, case = self.op(text)
        launch, buffers = op.timed(case)
        with self.stream:
            placed = self.device.place(self.code(op.module), launch, buffers)
        self.stream.synchronize()
        return placed, case

    def op(self, text: str) -> tuple[Op, Case]:
        case = self.suite.parse(text)
        return self.suite.op(case.op), case

    def time(self, placed: PlacedLaunch, *, hot: bool = False) -> Timings:
        """The timings of a placed launch, or of another function that enqueues on CuPy's current stream."""
        with self.stream:
            return self.stopwatch.time(placed.launch, placed.restore, hot=hot, seconds=1.0)

    def array(self, text: str, placed: PlacedLaunch, name: str) -> Any:
        """A tensor of a case as an array of CuPy, in the memory where it was placed; only types that NumPy has."""
        op, case = self.op(text)
        dtype = resolve_dtype(op.kinds[name], op.bind(case.dtypes)).numpy
        shape = op.view(case).shape
        strides = None
        if name in case.layouts:
            layout = case.layouts[name]
            shape, strides = layout.shape, tuple(s * dtype.itemsize for s in layout.strides)
        return self.cupy.ndarray(shape, dtype, memptr=placed.memory[name], strides=strides)

    def free(self) -> None:
        """Give memory that nothing uses back to the driver, for the other libraries."""
        self.stream.synchronize()
        self.cupy.get_default_memory_pool().free_all_blocks()


def open_gpu() -> Gpu:
    """The first GPU of this machine.

    Raises:
        NotAvailable: there is none, or CuPy or nvcc is missing.
    """
    runner = available("cuda")
    target = runner.targets()[0]
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return Gpu(cupy, CudaDevice(target, False), target, find_suite(), name)
