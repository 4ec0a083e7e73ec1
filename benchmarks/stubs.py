"""Compares each stub with the real library: the same kernels, compiled with both, must compute the same bits.

    python -m benchmarks.stubs [LIBRARY...] [--target gfx1100]

``libraries.csv`` says where real libraries are looked for, unless ``$PARITY_ROCM`` names a ROCm. A library that is not
found, or does not compile for the device, is named and left out; it is an error if none is compared. The kernels run on
the emulator. Their inputs are small integers, so that every order of additions gives the same result.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from parity.build.modules import build
from parity.build.result import Built
from parity.compilers.targets import target
from parity.compilers.toolchain import chosen
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.model.code_object import CodeObject
from parity.platform.cache import Cache, default_root
from parity.porting.stubs import POLICY, Library, libraries

KERNELS = Path(__file__).with_name("stub_kernels")
SAMPLES = {
    "Eigen": "eigen",
    "GLM": "glm",
    "hipCUB": "hipcub",
    "hipRAND's device functions": "hiprand",
    "PyTorch": "torch",
    "rocWMMA": "rocwmma",
    "Thrust": "thrust",
}
"""The file of sample kernels of each library that ``libraries.csv`` has a place for."""

THREADS, VALUES = 64, 64
"""The threads of a launch, and the values that each thread reads and writes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the stubs; return 1 if a bit differs or nothing was compared."""
    parser = argparse.ArgumentParser("python -m benchmarks.stubs", description=__doc__)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help=f"default: all of {', '.join(SAMPLES)}")
    parser.add_argument("--target", default="gfx1100")
    options = parser.parse_args(arguments)
    rocm = chosen(target(options.target)).libraries
    compared = wrong = 0
    for library in libraries():
        if library.name not in (options.libraries or SAMPLES):
            continue
        if not (path := library.search_path(rocm)):
            print(f"{library.name}: not found in {library.place}; not compared", flush=True)
            continue
        try:
            problems = list(compare(library, options.target))
        except NotComparable as error:
            print(f"{library.name}: found in {path[0]}; not compared: {error}", flush=True)
            continue
        compared += 1
        wrong += bool(problems)
        print(f"{library.name}: found in {path[0]}; {'; '.join(problems) or 'same bits'}", flush=True)
    if not compared:
        print("no stub was compared; on Debian: apt install libeigen3-dev libglm-dev")
    return 1 if wrong or not compared else 0


class NotComparable(Exception):
    """The real headers do not compile for the device."""


def compare(library: Library, target: str) -> Iterator[str]:
    """Compile and run the sample kernels with the stub and with the real library; generate the differences."""
    module = SAMPLES[library.name]
    with tempfile.TemporaryDirectory(prefix="parity-stubs-") as folder:
        stub, real = (build_sample(module, target, Path(folder, policy), policy) for policy in ("always", "auto"))
        if real.translation and real.translation.stubbed:
            raise NotComparable("; ".join(each.advice for each in real.translation.stubbed))
        for side, built in (("stub", stub), ("real library", real)):
            if built.error:
                yield f"the samples do not compile with the {side}: {built.error.first}"
        if stub.error or real.error:
            return
        assert stub.code_object and real.code_object
        for kernel in stub.code_object.kernels:
            one, other = (run(code, kernel) for code in (stub.code_object, real.code_object))
            if differing := np.argwhere(one.view(np.uint32) != other.view(np.uint32)).tolist():
                thread, value = differing[0]
                yield (
                    f"{kernel}: {len(differing)} values differ, first value {value} of thread {thread}:"
                    f" {one[thread, value]!r} with the stub, {other[thread, value]!r} with the real library"
                )


def build_sample(module: str, target: str, folder: Path, policy: str) -> Built:
    """Build the sample kernels of a module with a policy for stubs."""
    os.environ[POLICY] = policy
    folder.mkdir()
    (folder / f"{module}.cu").write_bytes((KERNELS / f"{module}.cu").read_bytes())
    (built,) = build(folder, [module], [target], cache=Cache(default_root()))
    return built


def run(code: CodeObject, kernel: str) -> np.ndarray:
    """Return what a kernel makes of random small integers: a row for each thread."""
    given = np.random.default_rng(7).integers(-8, 9, (THREADS, VALUES)).astype(np.float32)
    device = AmdgpuDevice()
    buffers = [device.allocate(given.nbytes, name) for name in ("in", "out")]
    device.write(buffers[0], given)
    device.write(buffers[1], np.zeros_like(given))
    arguments = pack(code.kernels[kernel], buffers)
    device.launch(code, kernel, grid=(1, 1, 1), block=(THREADS, 1, 1), args=arguments)
    return device.read(buffers[1]).view(np.float32).reshape(THREADS, VALUES)


if __name__ == "__main__":
    sys.exit(main())
