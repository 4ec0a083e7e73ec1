"""``parity_check`` with a Triton function."""

from __future__ import annotations

import importlib.util

import pytest

from parity.errors import UsageError
from parity.testing.checking import ParityCheck
from parity.testing.failure import ParityFailure

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

SOURCE = """import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def scale(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2 MASK)
"""
FIELDS = {"inputs": {"x": "T"}, "shapes": "x: n; out: n", "args": "out x n", "grid": "ceil(n/BLOCK)", "where": "n > 0"}


@pytest.fixture
def scale(tmp_path):
    """Return a function that imports the kernel, with a mask for its store."""

    def load(mask):
        (tmp_path / "scaling.py").write_text(SOURCE.replace(" MASK", mask))
        spec = importlib.util.spec_from_file_location("scaling", tmp_path / "scaling.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.scale

    return load


def test_triton_function_runs_on_both_vendors(scale):
    records = ParityCheck()(scale(", mask=i < n"), **FIELDS, BLOCK=64, examples=3)
    assert {(each.runner, each.target) for each in records} == {("ptx", "sm_89"), ("emulated", "gfx942")}
    assert all(each.verdict.judged for each in records if each.target == "gfx942")


def test_triton_function_with_fault_fails_at_line_of_source(scale):
    with pytest.raises(ParityFailure, match=r"scaling.py:9"):
        ParityCheck()(scale(""), **FIELDS, BLOCK=64, examples=3)


def test_unknown_keyword_is_refused(scale):
    with pytest.raises(UsageError, match="scale has no parameter BLOK, and Op has no such field; did you mean BLOCK"):
        ParityCheck()(scale(""), **FIELDS, BLOK=64)


def test_keyword_of_declaration_needs_triton_function():
    with pytest.raises(UsageError, match="grid= is only for a Triton function"):
        ParityCheck()(op="unary.neg", grid="1")


def test_configurations_of_autotune_are_checked(scale):
    records = ParityCheck()(scale(", mask=i < n"), **FIELDS, autotune=True, examples=3)
    assert any(each.verdict.judged for each in records)
