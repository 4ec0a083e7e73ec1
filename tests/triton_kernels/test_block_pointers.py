"""Kernels with block pointers run with every version of Triton. Skipped where Triton is not installed."""

from __future__ import annotations

import importlib.util

import pytest

from parity.cli import main
from parity.compilers.targets import target
from parity.triton_kernels.compilation import compile_module
from parity.triton_kernels.kernel import Specialization

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

SOURCE = """import triton
import triton.language as tl

@triton.jit
def store(block, value):
    tl.store(block, value.to(block.dtype.element_ty), boundary_check=(0, 1))

@triton.jit
def sums(x, out, rows, columns, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(tl.cdiv(columns, BLOCK)):
        total += tl.sum(tl.load(block, boundary_check=(0, 1), padding_option="zero").to(tl.float32), axis=1)
        block = tl.advance(block, (0, BLOCK))
    store(tl.make_block_ptr(out, (1, rows), (rows, 1), (0, 0), (1, BLOCK), (1, 0)), total[None, :])
"""
CASES = """from parity.op import Op, triton
from parity.reference.expected import Expected

op = Op(
    "sums.op", triton("sums.py:sums", BLOCK=16), ("f32",), inputs={"x": "T"}, shapes="x: r c; out: r", grid="1",
    args="x out r c", where="0 < r <= 16 and c > 0", choices={"r": (1, 7, 16), "c": (1, 16, 37)}, data=("small",),
    reference=lambda x: Expected(x.sum(axis=1)),
)
"""


def test_block_pointers_with_a_loop_and_a_helper_give_the_exact_sums(tmp_path, monkeypatch):
    for folder, text in (("kernels", SOURCE), ("cases", CASES)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "sums.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--target", "sm_80,gfx942", "--examples", "4", "-j", "1"]) == 0


MATH = """import triton
import triton.language as tl

@triton.jit
def bent(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.math.tanh(tl.math.pow(tl.load(x + i), 2.0)) + tl.libdevice.erf(1.5))
"""


@pytest.mark.parametrize("name", ["sm_80", "gfx942"])
def test_functions_that_moved_to_a_library_compile_for_each_vendor(name, tmp_path):
    (tmp_path / "bent.py").write_text(MATH)
    one = Specialization("bent", "bent.py", "bent", ("*fp32", "*fp32"), (0, 1), {"BLOCK": 64}, {})
    (tmp_path / "out").mkdir()
    assert compile_module("bent", tmp_path, [one], target(name), tmp_path / "out").code.kernels["bent"]
