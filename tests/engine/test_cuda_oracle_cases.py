"""Judging ops without a reference by CUDA's results, without an emulator for the code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parity.compare.verdict import Status
from parity.engine.checked_case import Implementation
from parity.engine.cuda_oracle import CudaOracle, ExecutableCode
from parity.engine.judging import not_judged_verdict, run_and_judge
from parity.errors import Unreferenced
from parity.model.code_object import CodeObject, Kernel
from parity.model.launch import Fault, Outcome


class Device:
    """A device that adds a constant to the result and cannot change rounding."""

    def __init__(self, more=0.0, instructions=None, budget=None):
        self.more, self.instructions, self.budget = more, instructions, budget

    def execute(self, code, launch, buffers):
        if self.budget and self.instructions > self.budget and not launch.ended:
            return Outcome({}, Fault("timeout", "it executed too many instructions"))
        out = -buffers["x"].data + np.float32(self.more)
        others = {name: buffer.data.copy() for name, buffer in buffers.items()}
        return Outcome({**others, "out": out}, instructions=self.instructions)


def code(target):
    return CodeObject("unary", target, "", {"uneg_f32": Kernel("uneg_f32", (), 0, 0, 0, 0, 0, 32)}, "digest")


@pytest.fixture
def op(suite):
    return replace(suite.op("unary.neg"), reference=None)


def judged(op, mine, theirs=None):
    by = Implementation(theirs, "cuda", code("sm_90"), name="sm_90") if theirs else None
    case = op.parse("unary.neg[f32](x=4~normal@0)")
    return run_and_judge(op, case, Implementation(mine, "amd", code("gfx9999"), by)).verdict


def test_equal_bits_pass_without_emulator(op):
    verdict = judged(op, Device(), Device())
    assert (verdict.status, verdict.by) == (Status.PASS, "sm_90")


@pytest.mark.parametrize(("theirs", "status"), [(40_000_000, Status.PASS), (4_000, Status.TIMEOUT)])
def test_side_may_need_more_instructions_than_its_budget_if_cuda_needs_many(op, theirs, status):
    verdict = judged(op, Device(instructions=90_000_000, budget=50_000_000), Device(instructions=theirs))
    assert verdict.status is status


def test_case_without_cuda_result_is_not_judged(op):
    verdict = judged(op, Device())
    assert (verdict.status, verdict.kind, verdict.by) == (Status.NOT_JUDGED, "no reference", "")


def test_different_bits_without_emulator_are_not_judged(op):
    with pytest.raises(Unreferenced, match="no emulator runs gfx9999"):
        judged(op, Device(1.0), Device())
    call = op.call(op.parse("unary.neg[f32](x=4~normal@0)"))
    right = {"out": -call.inputs["x"]}
    standard = CudaOracle(call, right, ExecutableCode(Device(), code("gfx9999")))
    assert standard.expected(right)["out"].bounds is None
    with pytest.raises(Unreferenced) as raised:
        standard.expected({"out": right["out"] + 1})
    assert not_judged_verdict(raised.value).status is Status.NOT_JUDGED
