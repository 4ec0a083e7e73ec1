"""Bugs that users of Triton reported, rebuilt in small kernels: parity finds each, and accepts the corrected kernel."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass

import pytest

from parity.cli import main

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

HEAD = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel({parameters}):\n{body}"
CASES = """import numpy as np
from parity.op import Op, triton
from parity.reference.expected import Expected

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
    assert failures(tmp_path / "right", bug, bug.right, monkeypatch) == (0, set())
