"""The class of a case does not depend on the cases that ran before it in the same worker."""

import textwrap
from dataclasses import replace

import pytest

from parity.build.modules import build
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.engine.worker import Worker
from parity.runners import runner
from parity.suite.loading import load_suite

KERNELS = """
#include <stdint.h>
#define KERNEL extern "C" __global__ void
__device__ uint32_t launches;

/** x in the first launch of the module, x + 1 in later launches. */
KERNEL first_launch_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    const uint32_t earlier = launches;
    __syncthreads();
    if (threadIdx.x < numel) out[threadIdx.x] = x[threadIdx.x] + (earlier != 0);
    if (threadIdx.x == 0) launches = 1;
}
/** What an earlier launch left in shared memory. Tensors of an even size are written to it first. */
KERNEL leftover_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    __shared__ uint32_t kept[256];
    if (numel % 2 == 0) kept[threadIdx.x] = threadIdx.x < numel ? x[threadIdx.x] : 0;
    __syncthreads();
    if (threadIdx.x < numel) out[threadIdx.x] = kept[threadIdx.x];
}
/** Writes behind its output if there are five elements, and nothing if there are six. */
KERNEL careless_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    const size_t end = numel == 5 ? 4096 : numel;
    for (size_t i = threadIdx.x; i < end && numel != 6; i += blockDim.x) out[i] = i < numel ? x[i] : 0;
}
"""
CASES = """
from parity.op import Op
from parity.reference import Expected

def op(name):
    return Op(f"order.{name}", kernel=f"{name}_u32", types=("u32",), args="numel x out", inputs={"x": "u32"},
              outputs={"out": "u32"}, shapes="x: n; out: n", grid=1, block=256, grid_stride=False, reference=Expected)

first_launch, leftover, careless = map(op, ("first_launch", "leftover", "careless"))
"""
KINDS = {
    "first_launch": dict.fromkeys((4, 5, 6, 7), "earlier launch"),
    "leftover": {4: "", 5: "never-written read", 6: "", 7: "never-written read"},
    "careless": {4: "", 5: "out-of-bounds write", 6: "unwritten", 7: ""},
}


@pytest.mark.parametrize("name", KINDS)
def test_class_of_case_does_not_depend_on_earlier_cases(name, tmp_path):
    for folder, file, text in (("kernels", "order.cu", KERNELS), ("cases", "order.py", CASES)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(textwrap.dedent(text))
    suite = load_suite(tmp_path / "kernels", tmp_path / "cases")
    (column,) = runner_columns(runner("emulated"), ["gfx1100"])
    (built,) = build(suite.kernels, ["order"], ["gfx1100"])
    assert built.code_object, built.error
    texts = {numel: f"order.{name}[u32](x={numel}~small@1)" for numel in KINDS[name]}

    def kinds(*sizes):
        """Return the class of each case, of cases that run in this order in one worker."""
        (task,) = make_tasks(suite.select([texts[each] for each in sizes]), [column])
        task = replace(task, shrink=False)
        worker = Worker(Plan.of(suite, (task,), {("order", column): built.code_object}, examples=1), suite)
        return {r.case: "" if r.verdict.passed else r.verdict.kind for r in worker.run(task)}

    expected = {texts[numel]: kind for numel, kind in KINDS[name].items()}
    assert kinds(4, 5, 6, 7) == kinds(7, 6, 5, 4) == expected
    assert {case: kind for numel in KINDS[name] for case, kind in kinds(numel).items()} == expected
