"""Run kernels over whole arrays."""

from dataclasses import dataclass

import numpy as np

from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.launch_options import LaunchOptions
from parity.model import code_object


@dataclass
class Run:
    """Runs a kernel (n, inputs..., output) over whole arrays."""

    device: AmdgpuDevice
    code: code_object.CodeObject

    def __call__(self, kernel, *inputs, out, n=None, block=64, **options):
        self.device.reset()
        n = len(inputs[0]) if n is None else n
        buffers = []
        for i, array in enumerate(inputs):
            buffers.append(self.device.allocate(array.nbytes, f"in{i}"))
            self.device.write(buffers[-1], array)
        target = self.device.allocate(n * np.dtype(out).itemsize, "out")
        args = pack(self.code.kernels[kernel], [n, *buffers, target])
        self.device.launch(
            self.code,
            kernel,
            grid=(-(-n // block), 1, 1),
            block=(block, 1, 1),
            args=args,
            options=LaunchOptions(**options),
        )
        return self.device.read(target).view(out)
