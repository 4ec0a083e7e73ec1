"""Matrix instructions that broadcast a block of A to all blocks (cbsz, abid), with the right and with the wrong
block.
"""

import pytest

from parity.build.modules import build
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.engine.worker import Worker
from parity.runners import runner
from parity.suite.loading import load_suite

KERNEL = """
typedef _Float16 halves __attribute__((ext_vector_type(4)));
typedef float floats __attribute__((ext_vector_type(4)));

/** The fifth of 16 matrices times each of 16 others: a lane has 4 elements of a row, and of a column. */
extern "C" __global__ void blocks_f16(const halves* a, const halves* b, floats* out) {
    const unsigned lane = threadIdx.x;
    out[lane] = __builtin_amdgcn_mfma_f32_4x4x4f16(a[lane], b[lane], floats{}, 4, 4, 0);
}
"""
CASES = """
import numpy as np
from parity.op import Op
from parity.reference import Expected

def product(a, b):  # columns of b and of the result are rows here
    return Expected(np.einsum("ik,bjk->bji", a[4].astype(np.float32), b.astype(np.float32)))

blocks = Op(
    "blocks.blocks", kernel="blocks_{T}", types=("f16",), args="a b out", inputs={"a": "T", "b": "T"},
    outputs={"out": "f32"}, shapes="a: 16 4 4; b: 16 4 4; out: 16 4 4", strides={"a": "dense", "b": "dense"},
    grid=1, block=64, grid_stride=False, reference=product, data=("small",),
)
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
@pytest.mark.parametrize(
    ("modifiers", "wrong"),
    [
        ("4, 4, 0", None),
        ("3, 4, 0", 8),  # blocks 8 to 15 get A of block 12
        ("4, 3, 0", 0),
        ("0, 0, 0", 0),
        ("4, 4, 1", 8),  # blgp: the upper lanes read B from the lower lanes
    ],
)
def test_wrong_broadcast_block_shows_in_first_wrong_element(target, modifiers, wrong, tmp_path):
    for name, text in (("kernels/blocks.cu", KERNEL.replace("4, 4, 0", modifiers)), ("cases/blocks.py", CASES)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    suite = load_suite(tmp_path / "kernels", tmp_path / "cases")
    (built,) = build(suite.kernels, ["blocks"], [target])
    assert built.code_object, built.error
    (column,) = runner_columns(runner("emulated"), [target])
    case = "blocks.blocks[f16](a=16x4x4~small@0 b=16x4x4~small@7)"
    (task,) = make_tasks(suite.select([case]), [column])
    plan = Plan.of(suite, (task,), {("blocks", column): built.code_object}, examples=1)
    (record,) = Worker(plan, suite).run(task)
    assert (record.verdict.first.coordinates[0] if record.verdict.failed else None) == wrong, record.verdict
