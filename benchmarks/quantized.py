"""Compares products with quantized weights with other libraries: ``python -m benchmarks.quantized [-o FOLDER]``.

Every launch reads different weights, like the layers of a model: a CUDA graph launches one product after the other
until 512 MiB are read, so that no cache holds them, and the time of the graph is divided by its launches. Two further
graphs give lower limits: a copy that moves as many bytes as the product, half of them read and half written, by a
simple kernel or by the driver, whichever is faster; and a grid with as many blocks as the product that does nothing,
which is the cost of the launch rule. The libraries use weights of their formats, of the same shape. ``quantized.md``
and ``quantized.csv`` are written to the folder. Needs CuPy; PyTorch and bitsandbytes may be missing.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu import Gpu, open_gpu
from benchmarks.tables import store
from parity.errors import UsageError
from parity.model.dtypes import DTYPES
from parity.model.launch import Launch
from parity.report.bench import si
from parity.report.tables import markdown
from parity.runners.gpu import PlacedLaunch

READ = 512 * 2**20
"""Bytes of weights that a graph reads: ten times what the L2 cache of an H200 holds."""

SHAPES = ((4096, 4096), (4096, 11008))
VECTORS = (1, 32)
FORMATS = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K")
Q8_1 = DTYPES["q8_1"]

KERNELS = r"""
extern "C" __global__ void copy(const uint4* from, uint4* to, long long count) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}
extern "C" __global__ void nothing() {}
"""
VECTOR_BYTES, COPY_THREADS = 16, 256


@dataclass(frozen=True)
class Product:
    """Rows and columns of weights, and the number of vectors."""

    rows: int
    columns: int
    vectors: int

    def moved(self, weights: int, per_activation: float) -> int:
        """Bytes to move at least: the weights, the vectors with so many bytes per element, and results in f32."""
        return weights + int(self.vectors * self.columns * per_activation) + 4 * self.vectors * self.rows

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}, {self.vectors} vector{'s' * (self.vectors > 1)}"


@dataclass(frozen=True)
class Result:
    """Seconds of one product, of a copy of the bytes it has to move, and of an empty grid like its (0 if unknown)."""

    product: Product
    by: str
    weights: str
    seconds: float
    bytes: int
    copy: float
    grid: float

    @property
    def share(self) -> float:
        return self.copy / self.seconds


def times(nbytes: int) -> int:
    """Launches of a graph whose launches read so many bytes each."""
    return max(2, READ // nbytes)


def per_launch(gpu: Gpu, launches: Sequence[Callable[[], object]]) -> float:
    """Seconds of a launch where each follows another, as a graph."""

    def enqueue() -> None:
        for launch in launches:
            launch()

    with gpu.stream:
        enqueue()  # what a library does once, and must not do while a graph is captured
        graph = gpu.device.driver.repeated(enqueue, 1)
    return gpu.time(PlacedLaunch(graph, lambda: None, {})).cold.median / len(launches)


@dataclass(frozen=True, eq=False)
class Measured:
    """Seconds of one product by somebody, with the bytes that it has to move, and the launch if it is ours."""

    by: str
    weights: str
    bytes: int
    seconds: float
    launch: Launch | None = None


class Yardsticks:
    """The lower limits of a GPU, measured with graphs like the graphs of the products."""

    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu
        module = gpu.cupy.RawModule(code=KERNELS)
        self._kernel, self._nothing = module.get_function("copy"), module.get_function("nothing")
        self._blocks = 16 * gpu.cupy.cuda.Device().attributes["MultiProcessorCount"]

    def copy(self, nbytes: int) -> float:
        """Seconds of copying half as many bytes."""
        half, count = nbytes // (2 * VECTOR_BYTES) * VECTOR_BYTES, times(nbytes)
        with self._gpu.stream:
            memory = self._gpu.cupy.cuda.alloc(2 * half * count)
        places = [(memory + 2 * half * n, memory + 2 * half * n + half) for n in range(count)]
        vectors = half // VECTOR_BYTES
        blocks = min(self._blocks, -(-vectors // COPY_THREADS))
        by_kernel = [
            lambda a=a, b=b: self._kernel((blocks,), (COPY_THREADS,), (a.ptr, b.ptr, vectors)) for a, b in places
        ]
        by_driver = [lambda a=a, b=b: b.copy_from_device_async(a, half) for a, b in places]
        return min(per_launch(self._gpu, by_kernel), per_launch(self._gpu, by_driver))

    @functools.cache  # noqa: B019 - one object for the whole program
    def grid(self, grid: tuple[int, ...], block: tuple[int, ...]) -> float:
        """Seconds of a launch with that geometry whose threads do nothing."""
        return per_launch(self._gpu, [lambda: self._nothing(grid, block, ())] * 100)


def ours(gpu: Gpu, product: Product) -> Iterator[Measured]:
    """For every format."""
    n = product.vectors
    for name in FORMATS:
        dtype = DTYPES[name]
        blocks, used = product.columns // dtype.values, product.columns // Q8_1.values
        padded = -(-used // 16) * 16
        kernel = f"mul_mat_{name}" if n > 8 else f"mul_mat_vec_{name}_q8_1_cuda{n}"
        (entry,) = gpu.suite.select([kernel]).entries
        text = (
            f"{entry.name}(w={product.rows}x{blocks}~normal@0 y={n}x{used}:{padded},1~normal@7 out={n}x{product.rows})"
        )
        weights = product.rows * blocks * dtype.itemsize
        placed = [gpu.place(text)[0] for _ in range(times(weights))]
        moved = product.moved(weights, Q8_1.itemsize / Q8_1.values)
        seconds = per_launch(gpu, [each.launch for each in placed])
        yield Measured(f"parity, {kernel}", name, moved, seconds, entry.op.timed(gpu.op(text)[1])[0])
        del placed
        gpu.free()


def of_torch(gpu: Gpu, torch: Any, product: Product) -> Iterator[Measured]:
    """In f16, and with 4 bits in groups of 128 (what torchao calls tinygemm)."""
    rows, columns, n = product.rows, product.columns, product.vectors
    half = torch.randn(n, columns, device="cuda", dtype=torch.float16)
    out = torch.empty(n, rows, device="cuda", dtype=torch.float16)
    weights = 2 * rows * columns
    layers = [torch.randn(columns, rows, device="cuda", dtype=torch.float16) for _ in range(times(weights))]
    launches = [lambda w=w: torch.matmul(half, w, out=out) for w in layers]
    yield Measured("PyTorch, matmul", "f16", product.moved(weights, 2), per_launch(gpu, launches))
    del layers, launches

    weights = rows * columns // 2 + rows * columns // 128 * 4
    raw = torch.randint(0, 256, (rows, columns // 2), device="cuda", dtype=torch.uint8)
    scales = torch.ones(columns // 128, rows, 2, device="cuda", dtype=torch.bfloat16)
    packed = [torch._convert_weight_to_int4pack(raw, 8) for _ in range(times(weights))]
    given = half.to(torch.bfloat16)
    launches = [lambda w=w: torch._weight_int4pack_mm(given, w, 128, scales) for w in packed]
    moved = product.moved(weights, 2)
    yield Measured("PyTorch, _weight_int4pack_mm", "int4, groups of 128", moved, per_launch(gpu, launches))


def of_bitsandbytes(gpu: Gpu, torch: Any, product: Product) -> Iterator[Measured]:
    """NF4 in blocks of 64: one kernel for one vector; for several it multiplies floats that it makes of the weights."""
    functional = importlib.import_module("bitsandbytes.functional")
    library = importlib.import_module("bitsandbytes")
    rows, columns, n = product.rows, product.columns, product.vectors
    half = torch.randn(n, columns, device="cuda", dtype=torch.float16)
    weights = rows * columns // 2 + rows * columns // 64 * 4
    dense = torch.randn(rows, columns, device="cuda", dtype=torch.float16)
    quantized = [functional.quantize_4bit(dense, blocksize=64, quant_type="nf4") for _ in range(times(weights))]
    launches = [lambda w=w, state=state: library.matmul_4bit(half, w.t(), quant_state=state) for w, state in quantized]
    yield Measured("bitsandbytes, matmul_4bit", "nf4", product.moved(weights, 2), per_launch(gpu, launches))


def measure(gpu: Gpu, yardsticks: Yardsticks, product: Product) -> Iterator[Result]:
    """The product in every way that is installed; a library that refuses it says so on the terminal."""

    def results(found: Iterator[Measured]) -> Iterator[Result]:
        for each in found:
            copy = yardsticks.copy(each.bytes)
            grid = yardsticks.grid(each.launch.grid, each.launch.block) if each.launch else 0.0
            yield Result(product, each.by, each.weights, each.seconds, each.bytes, copy, grid)
            gpu.free()

    yield from results(ours(gpu, product))
    with contextlib.suppress(ImportError):
        torch = importlib.import_module("torch")
        for library in (of_torch, of_bitsandbytes):
            with torch.no_grad(), torch.cuda.stream(torch.cuda.ExternalStream(gpu.stream.ptr)):
                try:
                    yield from results(library(gpu, torch, product))
                except (RuntimeError, AttributeError, ImportError) as error:
                    print(f"{library.__name__}, {product}: {type(error).__name__}: {str(error).splitlines()[0]}")
            torch.cuda.empty_cache()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, store."""
    parser = argparse.ArgumentParser("python -m benchmarks.quantized", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("parity-out"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    gpu = open_gpu()
    ceiling = gpu.ceilings.copy()
    head = f"{gpu.name}: copy of large tensors {si(ceiling, 'B/s')}"
    print(head, flush=True)
    results, yardsticks = [], Yardsticks(gpu)
    for vectors in VECTORS:
        for rows, columns in SHAPES:
            for result in measure(gpu, yardsticks, Product(rows, columns, vectors)):
                results.append(result)
                print("  ".join(_cells(result, ceiling)), flush=True)
    names = ["product", "by", "weights", "time", "bytes", "rate", "of a large copy", "of such a copy", "empty grid"]
    table = markdown(names, [_cells(result, ceiling) for result in results])
    numbers = ["rows", "columns", "vectors", "by", "weights", "seconds", "bytes", "copy", "grid"]
    store(options.output, "quantized", f"{head}\n\n{table}\n", numbers, [_row(result) for result in results])
    return 0


def _row(each: Result) -> list[object]:
    seconds, copy, grid = (f"{number:.4g}" for number in (each.seconds, each.copy, each.grid))
    product = each.product
    return [product.rows, product.columns, product.vectors, each.by, each.weights, seconds, each.bytes, copy, grid]


def _cells(result: Result, ceiling: float) -> list[str]:
    rate = result.bytes / result.seconds
    shares = (f"{100 * rate / ceiling:.0f} %", f"{100 * result.share:.0f} %")
    return [
        *(str(result.product), result.by, result.weights),
        *(si(result.seconds, "s"), si(result.bytes, "B"), si(rate, "B/s")),
        *(*shares, si(result.grid, "s") if result.grid else ""),
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        sys.exit(f"error: {error}")
