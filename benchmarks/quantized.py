"""Products with quantized weights beside those of other libraries: ``python -m benchmarks.quantized [-o FOLDER]``.

As in a model, whose layers follow each other, every launch reads weights of its own: a CUDA graph launches one after the
other until 512 MiB are read, so that no cache holds them, and what counts is the time of the graph by launch. The copy
of a shape is the driver's, in such a graph, of as many bytes as the product has to move: half of them read, half
written. The libraries have weights of their own kinds, of the same shape. ``quantized.md`` and ``quantized.csv`` go to
the folder. Needs CuPy; PyTorch and bitsandbytes may be missing.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gpu import Gpu, open_gpu
from parity.dtypes import DTYPES
from parity.errors import UsageError
from parity.report.bench import si
from parity.runners.gpu import Placed

READ = 512 * 2**20
"""Bytes of weights that a graph reads: ten times what the L2 cache of an H200 holds."""

SHAPES = ((4096, 4096), (4096, 11008))
VECTORS = (1, 32)
FORMATS = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K")
Q8_1 = DTYPES["q8_1"]


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
    """Seconds of one product, and of a copy of the bytes it has to move."""

    product: Product
    by: str
    weights: str
    seconds: float
    copy: float
    bytes: int

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
    return gpu.time(Placed(graph, lambda: None, {})).cold.median / len(launches)


def copy_of(gpu: Gpu, nbytes: int) -> float:
    """Seconds that the driver takes to copy half as many bytes."""
    half, count = nbytes // 2, times(nbytes)
    with gpu.stream:
        memory = gpu.cupy.cuda.alloc(2 * half * count)
    launches = [
        (lambda place=memory + 2 * half * n: (place + half).copy_from_device_async(place, half)) for n in range(count)
    ]
    return per_launch(gpu, launches)


def ours(gpu: Gpu, product: Product) -> Iterator[tuple[str, str, int, float]]:
    """By whom, what weights, bytes to move, and seconds."""
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
        yield f"parity, {kernel}", name, moved, per_launch(gpu, [each.launch for each in placed])
        del placed
        gpu.free()


def of_torch(gpu: Gpu, torch: Any, product: Product) -> Iterator[tuple[str, str, int, float]]:
    """In f16, and with 4 bits in groups of 128 (what torchao calls tinygemm)."""
    rows, columns, n = product.rows, product.columns, product.vectors
    half = torch.randn(n, columns, device="cuda", dtype=torch.float16)
    out = torch.empty(n, rows, device="cuda", dtype=torch.float16)
    weights = 2 * rows * columns
    layers = [torch.randn(columns, rows, device="cuda", dtype=torch.float16) for _ in range(times(weights))]
    launches = [lambda w=w: torch.matmul(half, w, out=out) for w in layers]
    yield "PyTorch, matmul", "f16", product.moved(weights, 2), per_launch(gpu, launches)
    del layers, launches

    weights = rows * columns // 2 + rows * columns // 128 * 4
    raw = torch.randint(0, 256, (rows, columns // 2), device="cuda", dtype=torch.uint8)
    scales = torch.ones(columns // 128, rows, 2, device="cuda", dtype=torch.bfloat16)
    packed = [torch._convert_weight_to_int4pack(raw, 8) for _ in range(times(weights))]
    given = half.to(torch.bfloat16)
    launches = [lambda w=w: torch._weight_int4pack_mm(given, w, 128, scales) for w in packed]
    yield "PyTorch, _weight_int4pack_mm", "int4, groups of 128", product.moved(weights, 2), per_launch(gpu, launches)


def of_bitsandbytes(gpu: Gpu, torch: Any, product: Product) -> Iterator[tuple[str, str, int, float]]:
    """NF4 in blocks of 64: one kernel for one vector; for several it makes floats of the weights and multiplies these."""
    functional = importlib.import_module("bitsandbytes.functional")
    library = importlib.import_module("bitsandbytes")
    rows, columns, n = product.rows, product.columns, product.vectors
    half = torch.randn(n, columns, device="cuda", dtype=torch.float16)
    weights = rows * columns // 2 + rows * columns // 64 * 4
    dense = torch.randn(rows, columns, device="cuda", dtype=torch.float16)
    quantized = [functional.quantize_4bit(dense, blocksize=64, quant_type="nf4") for _ in range(times(weights))]
    launches = [lambda w=w, state=state: library.matmul_4bit(half, w.t(), quant_state=state) for w, state in quantized]
    yield "bitsandbytes, matmul_4bit", "nf4", product.moved(weights, 2), per_launch(gpu, launches)


def measure(gpu: Gpu, product: Product) -> Iterator[Result]:
    """The product in every way that is installed; a library that refuses it says so on the terminal."""
    yield from _results(gpu, product, ours(gpu, product))
    with contextlib.suppress(ImportError):
        torch = importlib.import_module("torch")
        for library in (of_torch, of_bitsandbytes):
            with torch.no_grad(), torch.cuda.stream(torch.cuda.ExternalStream(gpu.stream.ptr)):
                try:
                    yield from _results(gpu, product, library(gpu, torch, product))
                except (RuntimeError, AttributeError, ImportError) as error:
                    print(f"{library.__name__}, {product}: {type(error).__name__}: {str(error).splitlines()[0]}")
            torch.cuda.empty_cache()


def _results(gpu: Gpu, product: Product, found: Iterator[tuple[str, str, int, float]]) -> Iterator[Result]:
    for by, weights, moved, seconds in found:
        yield Result(product, by, weights, seconds, copy_of(gpu, moved), moved)
        gpu.free()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, store."""
    parser = argparse.ArgumentParser("python -m benchmarks.quantized", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("parity-out"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    gpu = open_gpu()
    ceiling = gpu.ceilings.copy()
    head = f"{gpu.name}: copy of large tensors {si(ceiling, 'B/s')}"
    print(head, flush=True)
    results = []
    for vectors in VECTORS:
        for rows, columns in SHAPES:
            for result in measure(gpu, Product(rows, columns, vectors)):
                results.append(result)
                print("  ".join(_cells(result, ceiling)), flush=True)
    columns_ = ["product", "by", "weights", "time", "bytes", "rate", "of the large copy", "of a copy of these bytes"]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (columns_, ["---"] * 8, *(_cells(r, ceiling) for r in results)))
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "quantized.md").write_text(f"{head}\n\n{table}\n")
    with (options.output / "quantized.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rows", "columns", "vectors", "by", "weights", "seconds", "bytes", "seconds_of_copy"])
        for each in results:
            product = (each.product.rows, each.product.columns, each.product.vectors)
            writer.writerow([*product, each.by, each.weights, f"{each.seconds:.4g}", each.bytes, f"{each.copy:.4g}"])
    print(f"written: {options.output / 'quantized.md'}, {options.output / 'quantized.csv'}")
    return 0


def _cells(result: Result, ceiling: float) -> list[str]:
    rate = result.bytes / result.seconds
    shares = (f"{100 * rate / ceiling:.0f} %", f"{100 * result.share:.0f} %")
    return [
        *(str(result.product), result.by, result.weights),
        *(si(result.seconds, "s"), si(result.bytes, "B"), si(rate, "B/s")),
        *shares,
    ]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UsageError as error:
        sys.exit(f"error: {error}")
