"""`parity init --triton` declares kernels that then run on both vendors. Skipped where Triton is not installed."""

from __future__ import annotations

import importlib.util

import pytest

from parity.cli import main

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

SOURCE = """import torch
import triton
import triton.language as tl
from some_missing_package import decorated

@triton.autotune(configs=[triton.Config({"BLOCK": n}, num_warps=2) for n in (128, 256)], key=["n"])
@triton.jit
def scaled(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * scale, mask=i < n)

@decorated
def host(x):
    out = torch.empty_like(x)
    scaled[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), 2.0)
    return out
"""


def test_file_without_other_packages_is_declared_and_runs(tmp_path, monkeypatch):
    (tmp_path / "ops.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--triton", "ops.py", "--limit", "600"]) == 0
    declared = (tmp_path / "cases" / "ops.py").read_text()
    assert '        "ops.py:scaled", num_warps=2, num_stages=3, BLOCK=128,\n' in declared
    assert "triton(  # one of 2 configurations; autotune=True, and a grid of their names, test all\n" in declared
    assert 'grid="ceil(n/128)"' in declared and 'shapes="x_ptr: n; out_ptr: n"' in declared
    assert main(["run", "--target", "sm_80,gfx942", "--examples", "2", "-j", "1"]) == 0


PLAIN = """import torch
import triton
import triton.language as tl

@triton.jit
def increment(x_ptr):
    i = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)

def profile(steps):
    for _ in range(unknown_object.count(steps)):
        increment[(128,)](torch.empty(128))
"""


def test_kernel_without_numbers_whose_host_code_does_not_run_is_declared(tmp_path, monkeypatch):
    """The launch in the source states a grid and no block."""
    (tmp_path / "ops.py").write_text(PLAIN)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--triton", "ops.py", "--limit", "600"]) == 0
    assert "To be completed" not in (tmp_path / "cases" / "ops.py").read_text()


JAGGED = """import torch
import triton
import triton.language as tl

@triton.jit
def numbered(x_ptr, out_ptr, starts, seq_lens, total, width, height, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < tl.load(seq_lens + row)
    place = tl.load(starts + row) + i
    tl.store(out_ptr + place, tl.load(x_ptr + place, mask=mask) * row + total + width + height, mask=mask)

def host(x, index, seq_lens):
    out = torch.empty_like(x)
    numbered[(index.shape[0],)](x, out, index, seq_lens, x.numel(), x.shape[0], x.shape[1], BLOCK=64)
    return out
"""


def test_positions_and_lengths_that_are_drawn_apart_give_way_to_those_of_a_launch(tmp_path, monkeypatch):
    """Rows that begin and end anywhere overlap: two blocks write the same elements."""
    (tmp_path / "ops.py").write_text(JAGGED)
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--triton", "ops.py", "--limit", "600"]) == 0
    declared = (tmp_path / "cases" / "ops.py").read_text()
    assert 'data={"starts": ("consecutive",), "seq_lens": ("1..1",)}' in declared and "To be completed" not in declared


def test_data_of_a_launch_replace_data_that_are_drawn_apart(tmp_path, monkeypatch):
    host = "index, seq_lens = index * 4, torch.full(index.shape, 4, dtype=torch.int32)\n    out = torch.empty_like(x)"
    (tmp_path / "ops.py").write_text(JAGGED.replace("out = torch.empty_like(x)", host))
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--triton", "ops.py", "--limit", "600"]) == 0
    declared = (tmp_path / "cases" / "ops.py").read_text()
    assert '"values.0.4.8.12.' in declared and '"seq_lens": ("4..4",)' in declared and "To be completed" not in declared
