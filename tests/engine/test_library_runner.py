"""Library runners: judged like kernels, but without a build. Uses a plug-in runner."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Status
from parity.engine.case_records import Column
from parity.engine.execution import execute_plan
from parity.engine.plan import Plan, make_tasks
from parity.engine.pool import Workers
from parity.runners import Evidence

PLUGIN = '''
import os
import numpy as np
from parity.runners import Evidence, Probe, Unsupported

class Numbers:
    """Negates, but for some numbers of elements."""
    name, evidence, vendor = "numbers", Evidence.LIBRARY, "host"
    def probe(self): return Probe(True)
    def targets(self): return ("here",)
    def compute(self, target, asked):
        if asked.op != "unary.neg" or asked.dtypes != ("f32",):
            raise Unsupported(f"numbers have no {asked.op} for {asked.dtypes[0]}")
        x = asked.inputs["x"]
        if x.size == 3: os._exit(7)
        if x.size == 4: return -x.astype(np.float64)
        if x.size == 5: raise RuntimeError("five")
        if x.size == 6: return -x[1:]
        if x.size == 7: x[3] = 4
        return x.copy() if x.size > 100 else -x
'''
LIBRARY = Column("numbers", "here", Evidence.LIBRARY, "host", "numbers")


@pytest.fixture
def plugin(installed):
    installed("numbers_runner", PLUGIN, numbers="Numbers")


def plan(suite, *selectors):
    tasks = make_tasks(suite.select(selectors), [LIBRARY])
    return replace(Plan.of(suite, tasks, {}, examples=5), seconds=20)


@pytest.mark.usefixtures("plugin")
def test_library_crash_affects_one_case(suite):
    sizes = [1, 3, 4, 5, 6, 7, "2x3:1,2+1"]
    records = list(
        execute_plan(plan(suite, *(f"unary.neg[f32](x={size}~special@0)" for size in sizes)), suite, Workers(1))
    )
    verdicts = [record.verdict for record in records]
    assert [(v.status, v.kind) for v in verdicts] == [
        (Status.PASS, ""),
        (Status.CRASH, "crash"),
        (Status.FAIL, "dtype"),
        (Status.ERROR, "error"),
        (Status.FAIL, "shape"),
        (Status.FAIL, "input modified"),
        (Status.FAIL, "shape"),
    ]
    assert verdicts[2].detail == "the output has the dtype float64 instead of float32"
    assert "five" in verdicts[3].detail
    assert str(LIBRARY) == "numbers here"


@pytest.mark.usefixtures("plugin")
def test_library_failure_is_shrunk_and_missing_op_is_unsupported(suite):
    texts = "unary.neg[f32](x=200~normal@0)", "unary.neg[f16](x=2~normal@0)"
    wrong, lacking = execute_plan(plan(suite, *texts), suite, Workers(1))
    assert wrong.verdict.kind == "value"
    assert re.fullmatch(r"unary\.neg\[f32\]\(x=101~\w+@0\)", wrong.minimal.case)
    assert (lacking.verdict.status, lacking.verdict.detail) == (
        Status.UNSUPPORTED,
        "numbers have no unary.neg for f16",
    )


@pytest.mark.usefixtures("plugin")
def test_library_is_excluded_from_cross_vendor_comparison(suite):
    from parity.compare.arbitration import SideResult
    from parity.compare.verdict import Verdict
    from parity.engine.cross_vendor import compare_vendors

    cuda, amd = Column("cuda", "sm_90", vendor="cuda"), Column("emulated", "gfx1100")
    theirs = Column("numbers", "cuda:0", Evidence.LIBRARY, "cuda")
    witnesses = {column: SideResult(Verdict(Status.FAIL, "crash")) for column in (theirs, amd)}
    assert compare_vendors(witnesses) == {}
    assert compare_vendors({**witnesses, cuda: SideResult(Verdict(Status.PASS))})[amd].conclusion is Conclusion.AMD
