"""Bugs that users of Triton reported, rebuilt in small kernels: parity finds each, and accepts the corrected kernel."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass

import pytest

from parity.cli import main

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel({parameters}):\n{body}"
CASES = """import ml_dtypes
import numpy as np
from parity.op import Op, triton
from parity import reference
from parity.reference.expected import Expected

def saturated(x):
    return Expected(np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn))

def largest(x):
    return Expected(x.max(axis=1))

op = Op("bug.op", triton("bug.py:kernel", {constants}), {more})
"""


@dataclass(frozen=True)
class Bug:
    """A kernel with ``wrong`` in it, and ``right`` in its place.

    ``kinds`` are the classes of the failure on ``targets``. ``op`` has further arguments of the declaration.
    """

    parameters: str
    body: str
    wrong: str
    right: str
    targets: str
    kinds: set[str]
    op: str
    constants: str = "BLOCK=256"


ROWS = (
    '("f32",), inputs={"x": "T"}, shapes="x: r c; out: r", where="r > 0 and c > 0",'
    ' choices={"r": (1, 3), "c": (5, 100)}, args="out x n=c", grid="r", reference=largest, data=("-9..-1",)'
)
ASSEMBLY = 'tl.inline_asm_elementwise("{}", "{}", [{}], tl.uint32, True, 1)'
BUGS = {
    "a load of what another wavefront stored": Bug(  # triton #9887
        "out, room, x, BLOCK: tl.constexpr",
        "    i = tl.arange(0, BLOCK)\n    tl.store(room + i, tl.load(x + i))\n    {}\n"
        "    tl.store(out + i, tl.load(room + (BLOCK - 1 - i)))\n",
        "",
        "tl.debug_barrier()",
        "gfx942",
        {"never-written read"},  # a wavefront reads before another one writes
        '("f32",), inputs={"x": "T"}, outputs={"out": "T"}, workspace={"room": "T"},'
        ' shapes="x: 256; out: 256; room: 256", args="out room x", grid="1"',
    ),
    "a scalar that all wavefronts use and one of them increments": Bug(  # without the use, the order has no effect
        "count, x, out, BLOCK: tl.constexpr",
        "    i = tl.arange(0, BLOCK)\n    before = tl.load(count)\n    tl.store(count, before + 1)\n"
        "    tl.store(out + i, tl.load(x + i) + {})\n",
        "before",
        "1",
        "sm_80,gfx1100",
        {"data race"},
        '("i32",), inputs={"x": "T"}, outputs={"out": "T"}, updates={"count": "T"}, args="count x out", grid="1",'
        ' shapes="count: 1; x: 256; out: 256"',
    ),
    "a maximum of a masked load without other": Bug(
        "out, x, n, BLOCK: tl.constexpr",
        "    row = tl.program_id(0)\n    i = tl.arange(0, BLOCK)\n"
        "    tl.store(out + row, tl.max(tl.load(x + row * n + i, mask=i < n{}), axis=0))\n",
        "",
        ", other=-float('inf')",
        "gfx1100",
        {"value"},
        ROWS,
    ),
    "a maximum over a tail of zeros": Bug(
        "out, x, n, BLOCK: tl.constexpr",
        "    row = tl.program_id(0)\n    i = tl.arange(0, BLOCK)\n"
        "    tl.store(out + row, tl.max(tl.where(i < n, tl.load(x + row * n + i, mask=i < n, other=0), {}), axis=0))\n",
        "0.0",
        "-float('inf')",
        "sm_80",
        {"value"},
        ROWS,
    ),
    "a product of bf16 that is truncated": Bug(  # triton #11217, whose instruction later versions do not use
        "out, x, y, n, BLOCK: tl.constexpr",
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    x_ = tl.load(x + i, mask=i < n)\n"
        "    y_ = tl.load(y + i, mask=i < n)\n"
        "    left = x_.to(tl.uint16, bitcast=True).to(tl.uint32)\n"
        "    right = y_.to(tl.uint16, bitcast=True).to(tl.uint32)\n"
        "    tl.store(out + i, {}, mask=i < n)\n",
        f"{ASSEMBLY.format('v_dot2_bf16_bf16 $0, $1, $2, 0', '=v,v,v', 'left, right')}"
        ".to(tl.uint16).to(tl.bfloat16, bitcast=True)",
        "x_ * y_",
        "gfx1100",
        {"value"},
        '("bf16",), inputs={"x": "T", "y": "T"}, shapes="x: n; y: n; out: n", where="n > 0", args="out x y n",'
        ' grid="ceil(n/BLOCK)", reference=reference.mul, data=("normal",)',
    ),
    "a conversion to fp8 that does not saturate": Bug(
        "out, x, n, BLOCK: tl.constexpr",
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    x_ = tl.load(x + i, mask=i < n)\n"
        f"    byte = {ASSEMBLY.format('v_cvt_pk_fp8_f32 $0, $1, $1', '=v,v', '{}')}\n"
        "    tl.store(out + i, (byte & 255).to(tl.uint8).to(tl.float8e4nv, bitcast=True), mask=i < n)\n",
        "x_",
        "tl.clamp(x_, -448.0, 448.0)",
        "gfx1201",
        {"nan"},
        '("f32",), inputs={"x": "T"}, outputs={"out": "f8_e4m3"}, shapes="x: n; out: n", where="n > 0",'
        ' args="out x n", grid="ceil(n/BLOCK)", reference=saturated, data=("-900..900",)',
    ),
    "a product of matrices with tf32": Bug(
        "out, a, b, BLOCK: tl.constexpr",
        "    i = tl.arange(0, BLOCK)\n    place = i[:, None] * BLOCK + i[None, :]\n"
        "    tl.store(out + place, tl.dot(tl.load(a + place), tl.load(b + place){}))\n",
        ", input_precision='tf32'",
        "",
        "sm_80",
        {"value"},
        '("f32",), inputs={"a": "T", "b": "T"}, shapes="a: 16 16; b: 16 16; out: 16 16", args="out a b", grid="1",'
        ' reference=reference.matmul, data=("normal",)',
        "BLOCK=16",
    ),
}


def failures(folder, bug, word, monkeypatch):
    """Run the kernel with a word in it. Return the exit code and the classes of failures."""
    for name in ("kernels", "cases"):
        (folder / name).mkdir(parents=True)
    (folder / "kernels/bug.py").write_text(HEAD.format(parameters=bug.parameters, body=bug.body.format(word)))
    (folder / "cases/bug.py").write_text(CASES.format(constants=bug.constants, more=bug.op))
    (folder / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    monkeypatch.chdir(folder)
    code = main(["run", "--target", bug.targets, "--examples", "6", "-j", "1", "--output", "out"])
    lines = [json.loads(line) for line in (folder / "out/record.jsonl").read_text().splitlines()]
    return code, {each["verdict"]["kind"] for each in lines if each.get("verdict", {}).get("status") == "fail"}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_bug_is_found_and_corrected_kernel_passes(bug, tmp_path, monkeypatch):
    assert failures(tmp_path / "wrong", bug, bug.wrong, monkeypatch) == (1, bug.kinds)
    report = (tmp_path / "wrong/out/failures.txt").read_text()
    assert ("add tl.debug_barrier() between" in report) == ("data race" in bug.kinds)
    assert failures(tmp_path / "right", bug, bug.right, monkeypatch) == (0, set())
