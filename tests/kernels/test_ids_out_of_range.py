"""Kernels treat an id out of range, which is a caller error, as "none" and do not access memory out of bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from entry_table import KERNELS

from parity.build.modules import build
from parity.compare.comparison import compare
from parity.data.streams import elements
from parity.model.code_object import CodeObject
from parity.model.dtypes import DTYPES
from parity.runners import Session, runner

BEFORE, ROWS, COUNT, AFTER = 2, 5, 40, 3
INDEXED, PICKED = f"{BEFORE}x{ROWS}x{AFTER}", f"{BEFORE}x{COUNT}x{AFTER}"
CASES = {
    "index_select": f"ids={COUNT}~index@0 inp={INDEXED}~normal@0",
    "gather": f"ids={PICKED}~index@0 inp={INDEXED}~normal@0",
    "index_add": f"ids={COUNT}~index@0 inp={PICKED}~normal@0 out={INDEXED}~normal@0",
    "scatter_add": f"ids={PICKED}~index@0 inp={PICKED}~normal@0 out={INDEXED}~normal@0",
    "scatter": f"ids={PICKED}~index@0 inp={PICKED}~normal@0 out={INDEXED}~normal@0",
}


@pytest.fixture(scope="module")
def code() -> CodeObject:
    (built,) = build(KERNELS, ["indexing"], ["gfx1100"])
    assert built.code_object, built.error
    return built.code_object


@pytest.fixture(scope="module")
def session() -> Session:
    return runner("emulated").open("gfx1100")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("types", ["u8,f32", "u32,u8", "i64,f16", "i16,f8_e4m3", "i32,f8_e4m3"])
def test_indexing_kernel_treats_id_out_of_range_as_none(suite, code, session, name, types):
    op = suite.op(f"indexing.{name}")
    if types not in op.types:
        types = "i64,f64"
    case = op.parse(f"indexing.{name}[{types}]({CASES[name]} dim=1)")
    call = op.call(case)
    kind = DTYPES[types.partition(",")[0]]
    ids = call.buffers["ids"].data
    wild = elements("special", kind, 0, ids.size, "ids")  # negative, equal to the number of rows, very large
    assert ((wild < 0) | (wild.astype(np.uint64) >= ROWS)).any() and (wild == ROWS).any()
    buffers = {**call.buffers, "ids": replace(call.buffers["ids"], data=wild)}
    outcome = session.execute(code, call.launch, buffers)
    assert outcome.fault is None

    right = np.where((wild >= 0) & (wild.astype(np.uint64) < ROWS), wild, kind.numpy.type(kind.max))
    inputs = [right.reshape(call.inputs["ids"].shape) if n == "ids" else x for n, x in call.inputs.items()]
    verdict = compare(op.reference(*inputs, 1), call.layout.view(outcome.buffers["out"]), vendor="amd")
    assert verdict.passed, verdict
