"""Measures the emulator as ratios to NumPy doing the same work in the same run, on one core.

``python -m benchmarks.emulator [SELECTOR...] [--target T,..]``. The result of every launch is compared with NumPy's
once. No assertion depends on time.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from threadpoolctl import threadpool_limits

from parity.build.modules import build
from parity.compilers.targets import DEFAULT_TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.stats import LaunchStats
from parity.errors import ParityError
from parity.model.code_object import CodeObject
from parity.model.launch import Pointer, Scalar
from parity.op import Call
from parity.platform.cache import Cache, default_root
from parity.suite.loading import Suite, find_suite
from parity.suite.options import names, positive

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).parents[1]
REPEATS = 7
TOLERANCE = 1e-5
"""Largest difference from NumPy's result, as a share of its largest element: what f32 sums in another order may lose,
and less than any difference of the integers here."""


@dataclass(frozen=True)
class Benchmark:
    """A case and what NumPy does instead; ``count`` is the work of one launch, in elements unless the title says so."""

    title: str
    case: str
    numpy: Callable[..., Array]
    count: int

    def call(self, suite: Suite) -> Call:
        case = suite.parse(self.case)
        return suite.op(case.op).call(case)


def softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e


def columns(src: Array) -> Array:
    """Windows of 3x3 with a padding of 1, shape (batch, height, width, channels, 3, 3)."""
    padded = np.pad(src, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.ascontiguousarray(sliding_window_view(padded, (3, 3), (2, 3)).transpose(0, 2, 3, 1, 4, 5))


def convolve(src: Array, weight: Array) -> Array:
    """A matrix product of BLAS, shape (batch, channels out, height, width)."""
    windows = sliding_window_view(src, weight.shape[2:], (2, 3))
    return np.tensordot(windows, weight, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def multiply_blocks(w: Array, y: Array) -> Array:
    """Rows of q8_0 times rows of q8_1, in floats, shape (rows of y, rows of w)."""
    weights, activations = (
        (each["d"].astype(np.float32)[..., None] * each["qs"]).reshape(len(each), -1) for each in (w, y)
    )
    return np.asarray(activations @ weights.T)


BENCHMARKS = (
    Benchmark("exp of 1e6", "unary.exp[f32](x=1000x1000~normal@0 null-info)", np.exp, 1_000_000),
    Benchmark(
        "block reduce, 97 x 1000",
        "reduce.sum[f32](x=97x1000~normal@0 reduced=1)",
        lambda x: np.sum(x, axis=1),
        97 * 1000,
    ),
    Benchmark("softmax, 97 x 1000", "reduce.softmax[f32](x=97x1000~normal@0)", softmax, 97 * 1000),
    Benchmark("argsort, 5 x 1000", "sort.argsort_asc[f32](x=5x1000~unit@0)", lambda x: np.argsort(x, axis=1), 5 * 1000),
    Benchmark(
        "im2col, 8 x 64 x 64, 3 x 3",
        "conv.im2col[f32](src=1x8x64x64~normal@0 h_k=3 w_k=3 stride=1 padding=1 dilation=1)",
        columns,
        64 * 64 * 8 * 9,
    ),
    Benchmark(
        "conv2d, multiply-adds",
        "conv.conv2d[f32](src=1x8x66x66~normal@0 weight=8x8x3x3~normal@0 stride=1 padding=0 dilation=1)",
        convolve,
        8 * 64 * 64 * 8 * 9,
    ),
    Benchmark(
        "q8_0 times a vector, mult.-adds",
        "quantized.mul_mat_vec_1[q8_0](w=256x64~normal@0 y=1x64~normal@0 out=1x256)",
        multiply_blocks,
        256 * 64 * 32,
    ),
    Benchmark(
        "q8_0 in tiles, multiply-adds",
        "quantized.mul_mat_q5_q8[q8_0](w=64x16~normal@0 y=128x16~normal@0 out=128x64)",
        multiply_blocks,
        64 * 128 * 16 * 32,
    ),
)
# One thread per element, as hosts launch it; or few threads, each of which goes round the grid-stride loop.
LAYOUTS = tuple(
    Benchmark(f"exp of 1e6, {title}", f"unary.exp[f32]({items})", np.exp, 1_000_000)
    for title, items in (
        ("row-major", "x=1000x1000~normal@0"),
        ("row-major, 16 blocks", "x=1000x1000~normal@0 launch=16x1024"),
        ("transposed", "x=1000x1000:1,1000~normal@0"),
    )
)
LATENCY = Benchmark("exp of 256", "unary.exp[f32](x=256~normal@0 null-info launch=1x256)", np.exp, 256)
COLD = ("unary", "uexp_f32", 18), ("reduce", None, 24)
"""Module and kernel (None: all of them) whose translation and compilation is measured, and width of the column."""

TINYGRAD = """
import sys, time
import numpy as np
from tinygrad import Tensor
x = np.random.default_rng(1).standard_normal(65536).astype(np.float32)
source, expected, times = Tensor(x).realize(), np.exp(x), []
for _ in range(int(sys.argv[1]) + 1):
    start = time.perf_counter()
    result = source.exp().contiguous().realize()
    got = result.numpy()
    times.append(time.perf_counter() - start)
np.testing.assert_allclose(got, expected, rtol=1e-4)
print(min(times[1:]))
"""
"""Through tinygrad's own kernel; the first repetition compiles."""


def best(action: Callable[[], object], repeats: int) -> float:
    """Shortest of several durations, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


class Emulated:
    """A call on an emulated device that holds nothing else: allocated and written, to be launched and read."""

    def __init__(self, device: AmdgpuDevice, code: CodeObject, call: Call) -> None:
        device.reset()
        self._device, self._code, self._call = device, code, call
        self._places = {name: device.allocate(buffer.data.nbytes, name) for name, buffer in call.buffers.items()}
        for name, buffer in call.buffers.items():
            defined = None if buffer.defined is None else np.repeat(buffer.defined, buffer.dtype.itemsize)
            device.write(self._places[name], buffer.data, defined, constant=not buffer.writable)
        self._args = pack(code.kernels[call.launch.kernel], [self._argument(arg) for arg in call.launch.args])

    def _argument(self, arg: Pointer | Scalar) -> int | bytes | None:
        if not isinstance(arg, Pointer):
            return arg.bytes
        if arg.buffer is None:
            return None
        return self._places[arg.buffer].address + arg.offset * self._call.buffers[arg.buffer].dtype.itemsize

    def launch(self) -> LaunchStats:
        launch = self._call.launch
        return self._device.launch(
            self._code, launch.kernel, grid=launch.grid, block=launch.block, args=self._args,
            shared_bytes=launch.shared_bytes,
        )  # fmt: skip

    def read(self) -> Array:
        """The output as a tensor."""
        out = self._call.output
        return self._call.layout.view(self._device.read(self._places[out]).view(self._call.buffers[out].dtype.numpy))


def compare(benchmark: Benchmark, target: str, got: Array, expected: Array) -> None:
    """Refuse to measure what does not compute the same."""
    scale = float(np.abs(expected).max())
    what = f"{benchmark.case} on {target}"
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=what)


def heading(title: str, unit: str, *more: str) -> None:
    print(f"\n{title:32}{'numpy':>9}{'checked':>28}{'unchecked':>28}")
    figures = "".join(f"{name:>9}" for name in (unit, *more, "x numpy"))
    print(f"{'':32}{unit:>9}{figures:>28}{figures:>28}", flush=True)


def throughput(benchmark: Benchmark, suite: Suite, target: str, code: CodeObject, cache: Cache, repeats: int) -> None:
    """Print the line of a benchmark: the launch alone, on data that is there."""
    call = benchmark.call(suite)
    inputs = tuple(call.inputs.values())
    expected = benchmark.numpy(*inputs)
    numpy = best(lambda: benchmark.numpy(*inputs), repeats)
    line = f"{benchmark.title:32}{numpy * 1e3:9.2f}"
    for checked in (True, False):
        work = Emulated(AmdgpuDevice(checked=checked, cache=cache), code, call)
        work.launch()
        compare(benchmark, target, work.read(), expected)
        seconds = best(work.launch, repeats)
        line += f" {seconds * 1e3:9.2f}{benchmark.count / seconds / 1e6:9.1f}{seconds / numpy:9.2f}"
    print(line, flush=True)


def latency(suite: Suite, target: str, code: CodeObject, cache: Cache, repeats: int) -> None:
    """Print the line of a small launch from allocation to result."""
    call = LATENCY.call(suite)
    (x,) = call.inputs.values()
    numpy = best(lambda: np.exp(x), repeats)
    line = f"{LATENCY.title + ', ' + target:32}{numpy * 1e6:9.1f}"
    for checked in (True, False):
        device = AmdgpuDevice(checked=checked, cache=cache)

        def case(device: AmdgpuDevice = device) -> Array:
            work = Emulated(device, code, call)
            work.launch()
            return work.read()

        compare(LATENCY, target, case(), np.exp(x))
        seconds = best(case, repeats)
        line += f" {seconds * 1e6:18.1f}{seconds / numpy:9.2f}"
    print(line, flush=True)


def cold(target: str, codes: dict[str, CodeObject]) -> None:
    """Print how long it takes to translate and compile, with nothing in the cache; the first has the runtime to do."""
    for traced in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            device = AmdgpuDevice(traced=traced, cache=Cache(Path(folder)))
            line = f"{target + (', traced' if traced else ', untraced'):32}"
            for module, kernel, width in COLD:
                kernels = [kernel] if kernel else list(codes[module].kernels)
                start = time.perf_counter()
                device.prepare(codes[module], kernels, workers=1)
                line += f"{time.perf_counter() - start:{width}.2f}"
            print(line, flush=True)


def tinygrad(repeats: int) -> None:
    """Print how fast tinygrad's emulator of AMD GPUs computes exp, if it can be imported.

    It is not part of tinygrad's wheel but a test module of its repository, found when a checkout is on ``PYTHONPATH``.
    """
    try:
        found = importlib.util.find_spec("test.mockgpu.amd.emu")
    except ModuleNotFoundError:
        found = None
    if not found:
        print("\ntinygrad's AMD emulator is not installed: put a checkout of tinygrad on PYTHONPATH to compare with it")
        return
    environment = {**os.environ, "DEV": "MOCKKFD+AMD", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", TINYGRAD, str(repeats)], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"\ntinygrad's AMD emulator failed: {reason}")
        return
    x = np.random.default_rng(1).standard_normal(65536).astype(np.float32)
    seconds, numpy = float(done.stdout.split()[-1]), best(lambda: np.exp(x), repeats)
    print(f"\ntinygrad's AMD emulator, exp of 65536: {seconds * 1e3:.2f} ms, {seconds / numpy:.0f} x numpy")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser("python -m benchmarks.emulator", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR", help="modules, ops or kernels; default: all")
    usual = f"default: {' '.join(DEFAULT_TARGETS)}"
    parser.add_argument("--target", type=names, default=DEFAULT_TARGETS, metavar="T,..", help=usual)
    parser.add_argument("--repeats", type=positive, default=REPEATS, metavar="N", help="default: %(default)s")
    parser.add_argument("--no-cold", action="store_true", help="do not measure compilation, which takes minutes")
    options = parser.parse_args()
    suite = find_suite(ROOT)
    cache = Cache(default_root() / "emulator")
    entries = suite.select(options.selectors).entries
    chosen, layouts = (
        [b for b in table if suite.entry(suite.parse(b.case)) in entries] for table in (BENCHMARKS, LAYOUTS)
    )
    modules = [m for m in suite.modules if m in {"unary", "reduce"} | {b.case.partition(".")[0] for b in chosen}]
    codes: dict[str, dict[str, CodeObject]] = {target: {} for target in options.target}
    for built in build(suite.kernels, modules, options.target):
        if not built.code_object:
            raise built.error or ParityError(f"{built.module} was not built for {built.target}")
        codes[built.target][built.module] = built.code_object
    with threadpool_limits(1):
        for target in options.target:
            heading(f"{target}, f32, one core", "ms", "M/s")
            for benchmark in (*chosen, *(layouts if target == options.target[0] else ())):
                module = benchmark.case.partition(".")[0]
                throughput(benchmark, suite, target, codes[target][module], cache, options.repeats)
        heading("allocate, write, launch, read", "us")
        for target in options.target:
            latency(suite, target, codes[target]["unary"], cache, 30 * options.repeats)
    tinygrad(options.repeats)
    if not options.no_cold:
        whole = f"reduce, {len(codes[options.target[0]]['reduce'].kernels)} kernels"
        print(f"\n{'translate and compile, s, cold':32}{'runtime, uexp_f32':>18}{whole:>24}")
        for target in options.target:
            cold(target, codes[target])


if __name__ == "__main__":
    try:
        main()
    except ParityError as error:
        sys.exit(str(error))
