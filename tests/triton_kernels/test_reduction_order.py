"""Elements that depend on the order of a reduction: CUDA's code with other numbers of warps explains them."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from parity.build.modules import with_other_warps
from parity.cli import main
from parity.compare.cuda_oracle import explained_by_orders
from parity.suite.loading import load_suite

# Rows with an even number have positive weights, so that no order changes their means by more than roundings do.
KERNEL = """import triton
import triton.language as tl
from triton.language.target_info import current_target

@triton.jit
def merge(mean, weight, other_mean, other_weight):
    both = weight + other_weight
    share = tl.where(both == 0, 0.0, other_weight / both)
    return mean + (other_mean - mean) * share, both

@triton.jit
def means(out, x, w, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = row * BLOCK + tl.arange(0, BLOCK)
    weight = tl.load(w + places)
    weight = tl.where(row % 2 == 0, tl.abs(weight), weight)
    mean, _ = tl.reduce((tl.load(x + places), weight), 0, merge)
    tl.store(out + row, RESULT)
"""
CASES = """from parity.op import Op, triton

op = Op("means.op", triton("means.py:means", BLOCK=64), ("f32",), inputs={"x": "T", "w": "T"},
        shapes="x: 4 64; w: 4 64; out: 4", args="out x w", grid="4",
        data={"x": ("1..9",), "w": ("values.1.-1.2.-2",)})
"""
FAULT = "mean + 0.25 if current_target().backend == 'hip' else mean"


def project(folder, result):
    """Write a project. Return its folders of kernels and cases."""
    for name, text in (("kernels", KERNEL.replace("RESULT", result)), ("cases", CASES)):
        (folder / name).mkdir()
        (folder / name / "means.py").write_text(text)
    (folder / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    return folder / "kernels", folder / "cases"


def failures(folder, result, monkeypatch):
    """Run the kernel. Return the exit code, and the coordinates of the first wrong element of each failing case."""
    project(folder, result)
    monkeypatch.chdir(folder)
    code = main(["run", "--target", "gfx942", "--examples", "4", "-j", "1", "--output", "out"])
    verdicts = [json.loads(line).get("verdict", {}) for line in (folder / "out/record.jsonl").read_text().splitlines()]
    return code, {tuple(each["first"]["coordinates"]) for each in verdicts if each.get("first")}


@pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")
class TestRuns:
    def test_weights_that_cancel_in_some_orders_pass(self, tmp_path, monkeypatch):
        assert failures(tmp_path, "mean", monkeypatch) == (0, set())

    def test_fault_in_rows_that_no_order_changes_is_found(self, tmp_path, monkeypatch):
        code, first = failures(tmp_path, FAULT, monkeypatch)
        assert code == 1 and first == {(0,)}

    @pytest.mark.parametrize(("result", "built"), [("mean", True), ("mean * tl.extra.cuda.num_warps()", False)])
    def test_number_of_warps_that_the_kernel_uses_is_not_changed(self, result, built, tmp_path):
        suite = load_suite(*project(tmp_path, result))
        assert bool(list(with_other_warps(suite, suite.kernel_entries[0], "sm_89", "means_f32"))) is built


class TestExplainedByOrders:
    def test_element_that_orders_move_as_far(self):
        oracle, other = np.float32([1, 1, 1]), np.float32([3, 1, 1])
        got = np.float32([2.5, 2.5, 1])
        assert explained_by_orders(oracle, [other], got).tolist() == [True, False, False]

    def test_element_that_is_a_number_in_some_orders(self):
        oracle, other = np.float32([1, 1]), np.float32([np.nan, 1])
        assert explained_by_orders(oracle, [other], np.float32([9, np.nan])).tolist() == [True, False]

    def test_integer_between_those_of_other_orders(self):
        oracle, other = np.int32([4, 4]), np.int32([7, 4])
        assert explained_by_orders(oracle, [other], np.int32([6, 5])).tolist() == [True, False]
