"""Prints the shares of the error bounds that results use, by family of ops: ``python -m benchmarks.budgets RECORD...``.

A record is ``parity-out/record.jsonl``. For every passing case of f32 and f64 with a nonzero error bound, the largest
share that an element used counts. The median shows how tight the bounds are, the largest share how close they are to
a false alarm. If a bound is proven for the worst case and errors cancel, as in long sums, results use a few percent
of it. Narrower types are left out: their results are one of few neighbours, and the share is 0 or 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from parity.engine.case_records import CaseRecord
from parity.engine.record_file import read_record
from parity.report.tables import markdown

FAMILIES = {
    "functions": ("exp", "log", "sin", "cos", "tanh", "erf", "normcdf", "powf"),
    "activations": ("gelu", "gelu_erf", "silu", "sigmoid", "elu"),
    "sums": ("sum", "sum_onto"),
    "softmax": ("softmax",),
    "norms": ("rmsnorm", "layernorm"),
    "convolutions": ("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"),
    "pools, resampling": ("avg_pool2d", "upsample_bilinear2d"),
}
QUANTIZED = {"mul_vec": "quantized times f32", "mul_mat_vec": "quantized times q8_1", "mul_mat": "quantized in tiles"}
NARROW = ("f16", "bf16", "f8_e4m3")


def family(record: CaseRecord) -> str:
    """The family of a case, or an empty string: of narrow types, and of ops that are exact."""
    module, _, op = record.op.partition(".")
    if module == "quantized":
        return next((name for start, name in QUANTIZED.items() if op.startswith(start)), "quantized times q8_1")
    dtypes = record.case.partition("[")[2].partition("]")[0].split(",")
    return "" if dtypes[-1] in NARROW else next((name for name, ops in FAMILIES.items() if op in ops), "")


def shares(records: Iterable[CaseRecord]) -> dict[tuple[str, str], list[float]]:
    """The share that each case used, by family and column."""
    found: dict[tuple[str, str], list[float]] = {}
    for record in records:
        if record.verdict.passed and record.verdict.allowed and (name := family(record)):
            found.setdefault((name, record.column), []).append(record.verdict.budget)
    return found


def table(records: Iterable[CaseRecord]) -> str:
    """A line for every family and column: cases, median and largest share in percent."""
    found = shares(records)
    order = [*FAMILIES, *QUANTIZED.values()]
    lines = [
        (name, column, str(len(each)), f"{100 * median(each):.1f}", f"{100 * max(each):.0f}")
        for (name, column), each in sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    ]
    return markdown(("family", "column", "cases", "median used, %", "largest, %"), lines)


if __name__ == "__main__":
    print(table(record for path in sys.argv[1:] for record in read_record(Path(path)).records))
