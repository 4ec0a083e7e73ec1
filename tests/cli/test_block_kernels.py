"""Kernels with quantized blocks in all commands that handle values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

KERNEL = r"""
#include <cuda_fp16.h>

struct Block {
    __half d, s;
    signed char qs[32];
};

extern "C" __global__ void flip_q8_1(size_t blocks, const Block *x, Block *out) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < blocks; i += gridDim.x * blockDim.x) {
        out[i].d = x[i].d;
        out[i].s = x[i].s;
        for (int k = 0; k < 32; ++k) out[i].qs[k] = ~x[i].qs[k];
    }
}
"""
CASES = """
from parity.op import Op
from parity.reference import Expected


def flipped(x):
    out = x.copy()
    out["qs"] = ~x["qs"]
    return Expected(out)


flip = Op(
    "flip.flip", kernel="flip_{T}", types=("q8_1",), args="numel x out", inputs={"x": "T"}, reference=flipped,
    data=("normal", "small", "special", "mixed", "bits", "patterns", "equal"),
)
"""
EMULATED = ("--runner", "emulated", "--target", "gfx1100")
SOURCE = Path("kernels/flip.cu")


@pytest.fixture
def project(parity, tmp_path, monkeypatch):
    """Change to a project with block kernels."""
    for name, text in (("pyproject.toml", "[tool.parity]\n"), (SOURCE, KERNEL), ("cases/flip.py", CASES)):
        path = tmp_path / "blocks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path / "blocks")


def spoil(old, new):
    assert old in KERNEL
    SOURCE.write_text(KERNEL.replace(old, new))


def test_block_kernels_recording_has_same_verdicts(parity, project):
    run = parity("run", *EMULATED, "--json")
    assert run.code == 0 and json.loads(run.out)["passed"] > 20
    assert parity("record", "-o", "blocks.zip", *EMULATED).code == 0
    replayed = parity("run", "--runner", "recorded=blocks.zip", "--json")
    assert replayed.code == 0 and json.loads(replayed.out)["passed"] == json.loads(run.out)["passed"]


def test_block_kernels_are_measured_and_shown(parity, project):
    assert "1 case measured" in parity("bench", *EMULATED).out
    shown = parity("explain", "flip.flip[q8_1](x=3~patterns@1)").out
    assert "x: q8_1 x 3, read: d=1.0 s=2.0 qs=-107 -70 -33 " in shown
    assert "d=1.0 s=2.0 qs=106 69 32 " in shown


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("= ~x[i].qs[k]", "= ~x[i].qs[k] + (k == 9)", ["qs[9:]=", "apart     1 byte, no error is allowed"]),
        ("out[i].s = x[i].s", "out[i].s = x[i].d", ["  s="]),
        pytest.param("i < blocks", "i < blocks / 2 * 2", ["unwritten"], marks=pytest.mark.thorough),
        pytest.param(
            "out[i].d = x[i].d;",
            "const_cast<Block *>(x)[i].d = out[i].d = x[i].d + x[i].d;",
            ["input"],
            marks=pytest.mark.thorough,
        ),
        pytest.param("x[i].s;", "x[i + (i + 1 == blocks)].s;", ["out-of-bounds read"], marks=pytest.mark.thorough),
    ],
)
def test_fault_in_block_kernel_is_detected(parity, project, old, new, says):
    spoil(old, new)
    result = parity("run", *EMULATED)
    assert result.code == 1
    for text in ("FAIL  flip_q8_1 on gfx1100 (emulated)", *says):
        assert text in result.out, result.out


def test_block_kernels_unknown_stream_is_refused(parity, project):
    result = parity("run", "flip.flip[q8_1](x=5~unit@3)", *EMULATED)
    assert result.code == 2 and "unknown data of q8_1 'unit'; known: normal small special" in result.err
