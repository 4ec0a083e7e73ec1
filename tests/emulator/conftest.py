"""Small HIP kernels, compiled once by the real compiler and executed by the emulator."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from parity import codeobject, emulator
from parity.cache import Cache
from parity.toolchain import build

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("emulator-cache"))


@pytest.fixture(scope="session")
def code(cache):
    (built,) = build(HERE / "kernels", ["small"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    return built.code_object


@pytest.fixture(scope="session")
def prepared(code, cache):
    for traced in (False, True):
        emulator.Device(cache=cache, traced=traced).prepare(code)
    return code


@pytest.fixture(params=[False, True], ids=["compiled", "threaded"])
def device(request, cache, prepared):
    return emulator.Device(cache=cache, traced=request.param, instruction_budget=5_000_000)


@dataclass
class Run:
    """Runs a kernel (n, inputs..., output) over whole arrays."""

    device: emulator.Device
    code: codeobject.CodeObject

    def __call__(self, kernel, *inputs, out, n=None, block=64, **options):
        self.device.reset()
        n = len(inputs[0]) if n is None else n
        buffers = []
        for i, array in enumerate(inputs):
            buffers.append(self.device.allocate(array.nbytes, f"in{i}"))
            self.device.write(buffers[-1], array)
        target = self.device.allocate(n * np.dtype(out).itemsize, "out")
        args = emulator.pack(self.code.kernels[kernel], [n, *buffers, target])
        self.device.launch(self.code, kernel, grid=(-(-n // block), 1, 1), block=(block, 1, 1), args=args, **options)
        return self.device.read(target).view(out)


@pytest.fixture
def run(device, code):
    return Run(device, code)
