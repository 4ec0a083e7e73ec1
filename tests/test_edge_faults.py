"""Faults in a small project that only edge cases catch."""

from __future__ import annotations

import pytest

from parity.application.run import Run
from parity.suite.loading import load_suite

KERNELS = """
template <bool RIGHT, int OF> __device__ void row_max(const size_t* info, const float* x, float* out) {
    const size_t cols = info[1], pitch = info[2], step = info[3];
    const float* row = x + blockIdx.x * pitch;
    float best = OF == 1 && !RIGHT ? -3.402823466e+38f : -INFINITY;
    bool vectors = step == 1 && cols % 4 == 0 && (size_t)x % 16 == 0;
    if (OF == 0 && RIGHT) vectors = vectors && pitch % 4 == 0;
    if (OF == 0 && vectors) {
        for (size_t i = 0; i < cols / 4; ++i) {
            const float4 v = ((const float4*)row)[i];
            best = fmaxf(fmaxf(best, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
        }
    } else {
        for (size_t i = 0; i < cols; ++i) best = row[i * step] > best ? row[i * step] : best;
    }
    out[blockIdx.x] = best;
}
#define ENTRY(name, of, right) extern "C" __global__ void name(const size_t* info, const float* x, float* out) {\\
    row_max<right, of>(info, x, out); }
ENTRY(gaps_right, 0, true) ENTRY(gaps_wrong, 0, false) ENTRY(ends_right, 1, true) ENTRY(ends_wrong, 1, false)
"""
CASES = """
import numpy as np
from parity.op import Op
from parity.reference.expected import Expected

for name in ("gaps_right", "gaps_wrong", "ends_right", "ends_wrong"):
    globals()[name] = Op(
        f"rows.{name}", kernel=name, types=("f32",), args="info x out", inputs={"x": "f32"}, outputs={"out": "f32"},
        shapes="x: rows cols; out: rows", where="32 <= cols and cols % 4 == 0 and 0 < rows", grid="rows", block=1,
        grid_stride=False, info="x.shape x.strides", strides={"out": "dense"},
        data={"x": ("normal",) if name.startswith("gaps") else ("normal", "special")},
        reference=lambda x: Expected(np.max(np.where(np.isnan(x), np.float32(-np.inf), x), axis=1)),
    )
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name, text in (("kernels/rows.cu", KERNELS), ("cases/rows.py", CASES)):
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    suite = load_suite(folder / "kernels", folder / "cases")
    return list(Run.of(suite=suite, targets=("gfx1100",)).build().execute().records)


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("gaps", {"rows with gaps", "more than 2^33 elements, of which a sample is computed"}),
        ("ends", {"rows of one extreme value each", "only the lowest value"}),
    ],
)
def test_edge_case_catches_fault_that_other_cases_miss(records, name, titles):
    right, wrong = ([r for r in records if r.kernel == f"{name}_{which}"] for which in ("right", "wrong"))
    assert len(right) > 20 and all(record.verdict.passed for record in right)
    assert {record.title for record in wrong if not record.verdict.passed} == titles
