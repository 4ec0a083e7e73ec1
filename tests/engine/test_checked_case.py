"""The inputs that a failure shows for its first wrong element."""

from __future__ import annotations

from dataclasses import replace

from parity.compare.verdict import Mismatch, Status, Verdict
from parity.engine.checked_case import wrong_inputs
from parity.op import Op


def test_inputs_of_wrong_element_have_the_shape_of_its_output():
    op = Op(
        "sums.sums", kernel="sums", types=("f32",), args="x scaled total", inputs={"x": "f32"},
        outputs={"scaled": "f32", "total": "f32"}, shapes="x: rows cols; scaled: rows cols; total: rows",
    )  # fmt: skip
    call = op.call(op.parse("sums.sums[f32](x=2x3~normal@0)"))
    wrong = Verdict(Status.FAIL, "value", first=Mismatch((1,), "1", "2", 1.0, 1.0), output="total")
    assert wrong_inputs(call, wrong) == {}
    assert wrong.first and wrong_inputs(
        call, replace(wrong, first=replace(wrong.first, coordinates=(1, 2)), output="scaled")
    )
