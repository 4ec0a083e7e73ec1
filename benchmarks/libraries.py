"""Compares the kernels with the operations of PyTorch and CuPy: ``python -m benchmarks.libraries [-o FOLDER]``.

All use the same memory, run and timer (cold, median): first our kernel, then PyTorch's, then CuPy's. A ratio above 1
means that our kernel is faster by that factor. Operations that a library does not have in one call are left out. Each
result is first compared with ours. ``libraries.md`` and ``libraries.csv`` are written to the folder. Needs CuPy and
PyTorch; one of them may be missing.
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
from parity.report.bench import si
from parity.report.tables import markdown
from parity.runners.gpu import PlacedLaunch
from parity.runners.timing import Timings

Call = Callable[..., Any]
"""The library, then the tensors of the case by name (``out`` is fresh memory): writes ``out``, or returns a result."""

ROWS = 65536
SQUARE = "8192x8192"
TURNED = "8192x8192:1,8192"


@dataclass(frozen=True)
class Operation:
    """A case, and what the libraries have for it. ``sorts``: its result is an order, of which there may be several."""

    title: str
    case: str
    torch: Call
    cupy: Call | None = None
    sorts: bool = False


def line(op: str, dtypes: str = "f32", rest: str = "null-info", count: int = 2**26) -> str:
    """A case of one contiguous tensor."""
    return f"{op}[{dtypes}](x={count}~normal@0 {rest})"


def gelu(torch: Any, x: Any, out: Any) -> Any:
    return torch.nn.functional.gelu(x, approximate="tanh")


@functools.cache
def constant(torch: Any, value: float) -> Any:
    """A scalar on the device, made once and not at each call."""
    return torch.full((), value, device="cuda")


def affine(cupy: Any, x: Any, out: Any) -> None:
    cupy.multiply(x, x.dtype.type(1.5), out=out)
    cupy.add(out, x.dtype.type(0.5), out=out)


def add(library: Any, lhs: Any, rhs: Any, out: Any) -> None:
    library.add(lhs, rhs, out=out)


def exp(library: Any, x: Any, out: Any) -> None:
    library.exp(x, out=out)


def total(torch: Any, x: Any, out: Any) -> None:
    torch.sum(x, dim=1, out=out)


def total_cupy(cupy: Any, x: Any, out: Any) -> None:
    cupy.sum(x, axis=1, out=out)


def softmax_cupy(cupy: Any, x: Any, out: Any) -> Any:
    return importlib.import_module("cupyx.scipy.special").softmax(x, axis=1)


def convert(torch: Any, x: Any, out: Any) -> None:
    out.copy_(x)


def convert_cupy(cupy: Any, x: Any, out: Any) -> None:
    cupy.copyto(out, x, casting="unsafe")


def product(torch: Any, a: Any, b: Any, out: Any) -> Any:
    return torch.bmm(a, b, out_dtype=torch.float32)


def attention(torch: Any, q: Any, k: Any, v: Any, out: Any) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.125)


def heads(width: int) -> str:
    """Attention of 4 times 16 heads of so many elements, 2048 queries and keys."""
    tensors = " ".join(f"{name}=4x16x2048x{width}~normal@0" for name in "qkv")
    return f"matmul.attention_{width}[f16]({tensors} scale=0.125 causal=0)"


CUBE = "1x4096x4096~unit@0"
WEIGHTS = "alpha=1024~normal@0"
OPERATIONS = (
    Operation("copy", line("unary.copy"), convert, convert_cupy),
    Operation("exp", line("unary.exp"), exp, exp),
    Operation("gelu", line("unary.gelu"), gelu),
    Operation("gelu f16", line("unary.gelu", "f16", count=2**27), gelu),
    Operation(
        "affine",
        line("affine.affine", rest="mul=1.5 add=0.5 null-info"),
        lambda torch, x, out: torch.add(constant(torch, 0.5), x, alpha=1.5, out=out),
        affine,
    ),
    Operation("add", f"binary.add[f32](lhs={2**26}~normal@0 rhs={2**26}~normal@0 null-info)", add, add),
    Operation("add, one transposed", f"binary.add[f32](lhs={TURNED}~normal@0 rhs={SQUARE}~normal@0)", add, add),
    Operation("exp, transposed", f"unary.exp[f32](x={TURNED}~normal@0)", exp, exp),
    Operation("copy, transposed", f"unary.copy[f32](x={TURNED}~normal@0)", convert, convert_cupy),
    Operation("cast f32 to f16", line("cast.convert", "f32,f16"), convert, convert_cupy),
    Operation(
        "where",
        f"ternary.where[u8,f32](condition={2**26}~unit@0 on_true={2**26}~normal@0 on_false={2**26}~normal@0)",
        lambda torch, condition, on_true, on_false, out: torch.where(condition.view(torch.bool), on_true, on_false),
        lambda cupy, condition, on_true, on_false, out: cupy.where(condition.view(bool), on_true, on_false),
    ),
    Operation("sum, rows of 1024", f"reduce.sum[f32](x={ROWS}x1024~normal@0 reduced=1)", total, total_cupy),
    Operation("sum, rows of 8192", f"reduce.sum[f32](x={SQUARE}~normal@0 reduced=1)", total, total_cupy),
    Operation("sum, rows of 65536", f"reduce.sum[f32](x=1024x{ROWS}~normal@0 reduced=1)", total, total_cupy),
    Operation("sum, columns", f"reduce.sum[f32](x={ROWS}x1024:1,{ROWS}~normal@0 reduced=1)", total, total_cupy),
    Operation(
        "softmax",
        f"reduce.softmax[f32](x={ROWS}x1024~normal@0)",
        lambda torch, x, out: torch.softmax(x, dim=1),
        softmax_cupy,
    ),
    Operation(
        "rmsnorm",
        f"reduce.rmsnorm[f32](x={ROWS}x1024~normal@0 {WEIGHTS} eps=1e-05)",
        lambda torch, x, alpha, out: torch.nn.functional.rms_norm(x, (1024,), alpha, 1e-5),
    ),
    Operation(
        "layernorm",
        f"reduce.layernorm[f32](x={ROWS}x1024~normal@0 {WEIGHTS} beta=1024~normal@0 eps=1e-05)",
        lambda torch, x, alpha, beta, out: torch.nn.functional.layer_norm(x, (1024,), alpha, beta, 1e-5),
    ),
    Operation(
        "argsort",
        f"sort.argsort_asc[f32](x={ROWS}x1024~normal@0)",
        lambda torch, x, out: torch.argsort(x, dim=1),
        lambda cupy, x, out: cupy.argsort(x, axis=1),
        sorts=True,
    ),
    Operation(
        "index_select, rows of 1024",
        f"indexing.index_select[i64,f32](ids={ROWS}~index@0 inp={ROWS}x1024~normal@0 dim=0)",
        lambda torch, ids, inp, out: torch.index_select(inp, 0, ids, out=out),
        lambda cupy, ids, inp, out: cupy.take(inp, ids, axis=0, out=out),
    ),
    Operation(
        "gather, columns",
        "indexing.gather[i64,f32](ids=64x1024x1024~index@0 inp=64x1024x1024~normal@0 dim=1)",
        lambda torch, ids, inp, out: torch.gather(inp, 1, ids, out=out),
        lambda cupy, ids, inp, out: cupy.take_along_axis(inp, ids, axis=1),
    ),
    Operation(
        "matmul, 4096 cubes, f16",
        f"matmul.matmul[f16,f32](a={CUBE} b={CUBE} no-bias out={CUBE} alpha=1 beta=0)",
        product,
    ),
    Operation("attention, heads of 64, f16", heads(64), attention),
    Operation("attention, heads of 128, f16", heads(128), attention),
)


@dataclass(frozen=True)
class Result:
    """Timings of one operation by who computed it, with a note where there are none; ``best`` is the copy's time."""

    operation: Operation
    best: float
    timings: dict[str, Timings | str]

    def cells(self) -> list[str]:
        """Title, then time and share of each, and the ratio to ours."""
        ours = self.timings["parity"]
        assert isinstance(ours, Timings)
        cells = [self.operation.title, f"`{self.operation.case}`"]
        for name, timings in self.timings.items():
            if isinstance(timings, str):
                cells += [timings, ""] + [""] * (name != "parity")
                continue
            median = timings.cold.median
            cells += [si(median, "s"), f"{100 * self.best / median:.0f} %"]
            if name != "parity":
                cells.append(f"{median / ours.cold.median:.2f}")
        return cells


def measure(gpu: Gpu, operation: Operation, torch: Any) -> Result:
    """Time one operation in all ways; a library that cannot do it says why."""
    placed, case = gpu.place(operation.case)
    op, _ = gpu.op(operation.case)
    names = [name for name in (*op.inputs, "out") if name in placed.memory]
    arrays = {name: gpu.array(operation.case, placed, name) for name in names}
    timings: dict[str, Timings | str] = {"parity": gpu.time(placed)}
    best = op.work(case).bytes / gpu.ceilings.copy()
    for name, library, call in (("PyTorch", torch, operation.torch), ("CuPy", gpu.cupy, operation.cupy)):
        if library is None or call is None:
            timings[name] = "not installed" if library is None else ""
            continue
        try:
            timings[name] = _time(gpu, library, call, arrays, operation.sorts)
        except Exception as error:  # a library's refusal is a result too
            timings[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return Result(operation, best, timings)


def _time(gpu: Gpu, library: Any, call: Call, arrays: dict[str, Any], sorts: bool) -> Timings | str:
    cupy, is_torch = gpu.cupy, library is not gpu.cupy
    with gpu.stream:
        given = {**arrays, "out": cupy.empty_like(arrays["out"], dtype=cupy.int64 if sorts else None)}
    gpu.stream.synchronize()
    used = {name: library.as_tensor(each, device="cuda") for name, each in given.items()} if is_torch else given
    stream = contextlib.nullcontext()
    if is_torch:
        stream = library.cuda.stream(library.cuda.ExternalStream(gpu.stream.ptr))
    with stream, gpu.stream:
        result = call(library, **used)
        result = cupy.asarray(used["out"] if result is None else result)
        ours, theirs = arrays["out"], result
        if sorts:
            ours, theirs = (cupy.take_along_axis(arrays["x"], order.astype(cupy.int64), 1) for order in (ours, theirs))
        if not bool(cupy.allclose(ours, theirs, rtol=1e-2, atol=1e-2, equal_nan=True)):
            return "computes something else"
        del result, ours, theirs
        return gpu.time(PlacedLaunch(lambda: call(library, **used), lambda: None, {}))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, store."""
    parser = argparse.ArgumentParser("python -m benchmarks.libraries", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("parity-out"), metavar="FOLDER")
    parser.add_argument("titles", nargs="*", metavar="TITLE", help="only operations whose title begins so")
    options = parser.parse_args(arguments)
    gpu = open_gpu()
    torch = None
    with contextlib.suppress(ImportError):
        torch = importlib.import_module("torch")
    ceilings = gpu.ceilings.ceilings
    head = f"{gpu.name}: copy {si(ceilings.copy, 'B/s')}, by the driver's memcpy {si(_memcpy(gpu), 'B/s')}"
    print(head, flush=True)
    columns = ["operation", "case", "parity", "of copy"]
    columns += [word for name in ("PyTorch", "CuPy") for word in (name, "of copy", f"{name} / parity")]
    results = []
    for operation in OPERATIONS:
        if options.titles and not operation.title.startswith(tuple(options.titles)):
            continue
        results.append(measure(gpu, operation, torch))
        print("  ".join(cell for cell in results[-1].cells() if not cell.startswith("`")), flush=True)
        gpu.free()
        if torch is not None:
            torch.cuda.empty_cache()
    table = markdown(columns, [result.cells() for result in results])
    versions = f"CuPy {gpu.cupy.__version__}" + (f", PyTorch {torch.__version__}" if torch is not None else "")
    numbers = ["operation", "case", "by", "median", "low", "high", "error", "of_copy", "note"]
    rows = [row for result in results for row in _rows(result)]
    store(options.output, "libraries", f"{head}; {versions}\n\n{table}\n", numbers, rows)
    return 0


def _rows(result: Result) -> Iterator[list[str]]:
    for name, timings in result.timings.items():
        place = [result.operation.title, result.operation.case, name]
        if isinstance(timings, str):
            yield [*place, *[""] * 5, timings]
        else:
            cold = timings.cold
            numbers = (cold.median, cold.low, cold.high, cold.error, result.best / cold.median)
            yield [*place, *(f"{n:.6g}" for n in numbers), "; ".join(timings.notes)]


def _memcpy(gpu: Gpu) -> float:
    """Bytes per second, read and written, of the driver's copy of 1 GiB on the device."""
    size = 2**30
    with gpu.stream:
        source, destination = gpu.cupy.cuda.alloc(size), gpu.cupy.cuda.alloc(size)
        source.memset_async(1, size)
        copy = PlacedLaunch(lambda: destination.copy_from_device_async(source, size), lambda: None, {})
        return 2 * size / gpu.time(copy).cold.median


if __name__ == "__main__":
    sys.exit(main())
