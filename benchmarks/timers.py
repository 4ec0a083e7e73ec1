"""Compares three timers: ``python -m benchmarks.timers [--save FILE.md]``, with CuPy, PyTorch and Triton.

Kernels of 5 us to 5 ms, each launched by the same call: cold, with the timers of ``parity bench`` and
``triton.testing.do_bench`` (both flush the L2 cache and use a median), and hot, with the timers of ``parity bench
--hot`` and ``cupyx.profiler.benchmark`` on the same CUDA graph of launches. parity measures before and after the
other timer, and ratios relate to the mean of the two. Exit code: 1 if a ratio differs from 1 by more than 3 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import open_gpu
from parity.report.bench import si
from parity.report.tables import markdown

LIMIT = 0.03
CASES = (
    "unary.neg[f32](x=1048576~normal@0 null-info)",
    "unary.gelu[f32](x=16777216~normal@0 null-info)",
    "binary.add[f32](lhs=67108864~normal@0 rhs=67108864~normal@0 null-info)",
    "reduce.softmax[f32](x=262144x1024~normal@0)",
    "unary.copy[f32](x=2684354560~normal@0 null-info)",
)


@dataclass(frozen=True)
class Row:
    """Seconds of one kernel; parity's are measured before and after the other timer."""

    case: str
    cold: tuple[float, float]
    triton: float
    hot: tuple[float, float]
    cupy: float
    launches: int

    @property
    def ratios(self) -> tuple[float, float]:
        """Of parity's cold time to Triton's, and of its hot time to CuPy's."""
        return sum(self.cold) / 2 / self.triton, sum(self.hot) / 2 / self.cupy


def table(rows: Sequence[Row]) -> str:
    """The rows as a GitHub table."""
    head = ["case", "parity, cold", "do_bench", "ratio", "parity, hot", "cupyx benchmark", "launches", "ratio"]
    lines = []
    for row in rows:
        cold, hot = (" / ".join(si(each, "s") for each in both) for both in (row.cold, row.hot))
        first, second = (f"{ratio:.3f}" for ratio in row.ratios)
        triton, cupy = si(row.triton, "s"), si(row.cupy, "s")
        lines.append([f"`{row.case}`", cold, triton, first, hot, cupy, str(row.launches), second])
    return markdown(head, lines) + "\n"


def agree(rows: Sequence[Row]) -> bool:
    """Whether every ratio lies within the limit."""
    return all(abs(ratio - 1) <= LIMIT for row in rows for ratio in row.ratios)


def measure(gpu: Any, case: str) -> Row:
    """Time one case in all ways."""
    from cupyx.profiler import benchmark
    from triton.testing import do_bench

    placed, _ = gpu.place(case)
    before = gpu.time(placed, hot=True)
    triton = do_bench(placed.launch, warmup=50, rep=300, return_mode="median") * 1e-3
    with gpu.stream:
        work, launches = gpu.stopwatch.repeated(placed.launch, before.cold.median)
        found = benchmark(work, n_repeat=200, n_warmup=20, max_duration=2.0)
    cupy = float(np.median(found.gpu_times)) / launches
    after = gpu.time(placed, hot=True)
    return Row(
        case, (before.cold.median, after.cold.median), triton, (before.hot.median, after.hot.median), cupy, launches
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, compare."""
    parser = argparse.ArgumentParser("python -m benchmarks.timers", description=__doc__)
    parser.add_argument("--save", type=Path, metavar="FILE.md", help="write the table to a file too")
    options = parser.parse_args(arguments)
    gpu = open_gpu()
    rows = []
    for case in CASES:
        rows.append(measure(gpu, case))
        gpu.free()
        print(table(rows[-1:]).splitlines()[2], flush=True)
    text = f"{gpu.name}\n\n{table(rows)}"
    print(f"\n{text}")
    if options.save:
        options.save.parent.mkdir(parents=True, exist_ok=True)
        options.save.write_text(text)
    if not agree(rows):
        print(f"a ratio differs by more than {100 * LIMIT:.0f} %")
    return 0 if agree(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
