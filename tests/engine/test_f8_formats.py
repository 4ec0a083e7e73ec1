"""Diagnosis of failures that mix up the OCP and FNUZ formats of 8-bit floats."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from parity.compare.verdict import Status, Verdict
from parity.engine.checked_case import CheckedCase, Implementation
from parity.engine.f8_formats import fnuz_mixups
from parity.model.code_object import CodeObject, Kernel
from parity.model.launch import Outcome
from parity.reference import Expected

FNUZ = ml_dtypes.float8_e4m3fnuz
PRODUCT = "matmul.matmul[f8_e4m3,f32](a=1x{m}x5~{data}@0 b=1x5x2~small@7 no-bias out=1x{m}x2~small@3 alpha=1 beta=0)"


def said(op, text, outputs, by=None):
    call = op.call(op.parse(text))
    got = outputs(**call.inputs)
    expected = {name: Expected(x) for name, x in got.items()}
    failing = CheckedCase(op.parse(text), Verdict(Status.FAIL, "value"), "", {}, outputs=got, expected=expected)
    return list(fnuz_mixups(call, failing, "amd", by))


@pytest.mark.parametrize(
    ("left", "right", "named"), [(FNUZ, FNUZ, "a and b"), (FNUZ, None, "a or b"), (None, FNUZ, "a or b")]
)
def test_inputs_read_as_fnuz_are_named(suite, left, right, named):
    def product(a, b, out):
        wide = (x.view(kind or x.dtype).astype(np.float32) for x, kind in ((a, left), (b, right)))
        return {"out": np.matmul(*wide)}

    (line,) = said(suite.op("matmul.matmul"), PRODUCT.format(m=3, data="small"), product)
    assert line.startswith(f"right if f8 is FNUZ's in {named}, not OCP's: ") and line.endswith("(D19)")


def test_other_failures_are_not_reported_as_format_mixup(suite):
    def product(a, b, out):
        return {"out": np.matmul(a.astype(np.float32), b.astype(np.float32)) + 1}

    assert said(suite.op("matmul.matmul"), PRODUCT.format(m=3, data="small"), product) == []
    # Half of the smallest f8 is not an f8, so the right result is unknown.
    assert said(suite.op("matmul.matmul"), PRODUCT.format(m=52, data="patterns"), product) == []


def test_outputs_written_as_fnuz_are_named(suite):
    """FNUZ values saturate at 240, OCP values at 448."""

    def square(x):
        read = x.astype(np.float32)
        return {"out": np.clip(read * read, -240, 240).astype(FNUZ).view(x.dtype)}

    (line,) = said(suite.op("unary.sqr"), "unary.sqr[f8_e4m3](x=90~1..30@0)", square)
    assert "FNUZ's in out, not OCP's" in line


@pytest.mark.parametrize("data", ["440..448", "30..40"])
def test_overflow_to_nan_is_not_reported_as_format_mixup(suite, data):
    """NaN in OCP's format has the bits of FNUZ's largest number."""

    def square(x):
        read = x.astype(np.float32)
        return {"out": (read * read).astype(ml_dtypes.float8_e4m3fn)}

    assert said(suite.op("unary.sqr"), f"unary.sqr[f8_e4m3](x=1~{data}@0)", square) == []


def test_mixup_without_reference_uses_cuda_oracle(suite):
    class Device:
        def execute(self, code, launch, buffers):
            out = buffers["x"].data.astype(np.float32)
            return Outcome({**{name: buffer.data.copy() for name, buffer in buffers.items()}, "out": out})

    op = replace(suite.op("cast.convert"), reference=None)
    text, name = "cast.convert[f8_e4m3,f32](x=9~small@0)", "cast_f8_e4m3_f32"
    code = CodeObject("cast", "sm_90", "", {name: Kernel(name, (), 0, 0, 0, 0, 0, 32)}, "digest")
    by = Implementation(Device(), "cuda", code, name="sm_90")
    (line,) = said(op, text, lambda x: {"out": x.view(FNUZ).astype(np.float32)}, by)
    assert "FNUZ's in x, not OCP's" in line
    assert said(op, text, lambda x: {"out": x.astype(np.float32) * 3}, by) == []
    assert said(op, text, lambda x: {"out": x.view(FNUZ).astype(np.float32)}) == []
