"""A small project whose cases have gaps, for planting faults."""

from __future__ import annotations

from pathlib import Path

import pytest

KERNEL = """\
// Nothing is planted here: i < numel, x + 1
extern "C" __global__ void folded(const int* x, int* out, int numel) {
    __shared__ int there[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    there[threadIdx.x] = i < numel ? x[i] : 0;
    __syncthreads();
    int v = there[63 - threadIdx.x] * 3;
    if (numel > 5000000) atomicAdd(out, 7);  // no case has so many
    if (i < numel) out[i] = v + (1 | 1);
}

void on_the_host(int a, int b) { if (a < b) a = b + 1; }
"""

CASES = """\
import numpy as np
from parity.op import Op
from parity.reference.expected import Expected


def folded(x):
    padded = np.zeros(-(-x.size // 64) * 64, np.int32)
    padded[: x.size] = x
    with np.errstate(over="ignore"):
        return Expected((padded.reshape(-1, 64)[:, ::-1].ravel() * np.int32(3) + np.int32(1))[: x.size])


folded_op = Op(
    "fold.folded",
    kernel="folded",
    types=("i32",),
    args="x out numel:i32",
    inputs={"x": "T"},
    shapes="x: n; out: n",
    choices={"n": (1, 63, 64, 65, 200)},
    grid="ceil(n/64)",
    block="64",
    grid_stride=False,
    reference=folded,
)
"""


@pytest.fixture(scope="session")
def project(tmp_path_factory) -> Path:
    """Write the project and return its folder."""
    folder = tmp_path_factory.mktemp("folding")
    for name, text in (
        ("kernels/fold.cu", KERNEL),
        ("cases/fold.py", CASES),
        ("pyproject.toml", '[tool.parity]\nkernels = "kernels"\n'),
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder
