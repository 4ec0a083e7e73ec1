"""Compiles a source for a target and executes its kernels on arrays, to test single device functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parity.build.modules import build
from parity.build.result import Built
from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.ptx.device import PtxDevice
from parity.platform.cache import Cache

THREADS = 128


@dataclass(frozen=True)
class Program:
    """A compiled source whose kernels can be executed."""

    built: Built
    cache: Cache

    def run(self, kernel: str, out: np.ndarray, *inputs: np.ndarray, block: int = THREADS) -> np.ndarray:
        """Execute a kernel with pointers to ``inputs`` and ``out`` as arguments, and return the content of ``out``.

        The launch has one thread per element of the first input.
        """
        code = self.built.code_object
        is_ptx = code.target.startswith("sm_")
        device = PtxDevice(traced=True, cache=self.cache) if is_ptx else AmdgpuDevice(cache=self.cache)
        arrays = [*inputs, out]
        buffers = [device.allocate(array.nbytes, str(number)) for number, array in enumerate(arrays)]
        for buffer, array in zip(buffers, arrays, strict=True):
            device.write(buffer, array)
        args = pack(code.kernels[kernel], buffers)
        device.launch(code, kernel, grid=(len(inputs[0]) // block, 1, 1), block=(block, 1, 1), args=args)
        return device.read(buffers[-1]).view(out.dtype).reshape(out.shape)


def program(folder: Path, text: str, target: str, cache: Cache, flags: Sequence[str] = ()) -> Program:
    """Compile a source for a target; fail the test if it does not compile."""
    (folder / "program.cu").write_text(text)
    settings = BuildSettings(Sides.both(CompileOptions(flags=tuple(flags))))
    (built,) = build(folder, ["program"], [target], settings=settings, cache=cache)
    assert built.error is None, built.error
    return Program(built, cache)


def calls(name: str, parameters: str, result: str, expressions: list[str]) -> str:
    """Return the source of a kernel that writes the values of expressions in ``a``, ``b`` and ``c``.

    ``parameters`` are the types of ``a``, ``b`` and ``c``, separated by commas. Value k of thread t is written to
    ``out[k * threads + t]``.
    """
    types = parameters.split(", ")
    pointers = ", ".join(f"const {kind}* {each}_" for kind, each in zip(types, "abc", strict=False))
    values = " ".join(f"const {kind} {each} = {each}_[t];" for kind, each in zip(types, "abc", strict=False))
    lines = "\n".join(f"    out[{k}ul * threads + t] = {text};" for k, text in enumerate(expressions))
    return (
        f'extern "C" __global__ void {name}({pointers}, {result}* out) {{\n'
        "    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;\n"
        f"    {values}\n{lines}\n}}\n"
    )
