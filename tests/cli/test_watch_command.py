"""``parity watch`` runs only changed kernels again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from parity.cli import main

KERNELS = """
extern "C" __global__ void twice(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
extern "C" __global__ void thrice(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = FACTOR * x[i];
}
"""
CASES = """
import numpy as np
from parity import reference
from parity.op import Op
from factors import FACTORS

for name, factor in FACTORS.items():
    globals()[name] = Op(
        f"products.{name}", kernel=name, types=("f32",), args="x out numel:i32", inputs={"x": "T"}, grid_stride=False,
        reference=lambda x, to, factor=factor: reference.within(0.5, factor * x.astype(np.float64), to),
    )
"""
RUN = ("watch", "--target", "gfx1100", "--examples", "3", "-j", "1")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Create a project with two kernels, a header with a factor, and a helper module for the cases."""
    for folder in ("kernels", "cases", "modules"):
        (tmp_path / folder).mkdir()
    (tmp_path / "kernels" / "products.cu").write_text('#include "factor.cuh"\n' + KERNELS)
    (tmp_path / "kernels" / "factor.cuh").write_text("#define FACTOR 3.0f\n")
    path = "import sys, os; sys.path.insert(0, os.path.dirname(__file__))\n"
    (tmp_path / "cases" / "products.py").write_text(path + CASES)
    (tmp_path / "cases" / "factors").mkdir()
    (tmp_path / "cases" / "factors" / "__init__.py").write_text("FACTORS = {'twice': 2, 'thrice': 3}\n")
    (tmp_path / "pyproject.toml").write_text('[tool.parity]\nkernels = "kernels"\ncases = "cases"\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def watching_outside(project, request):
    """Let the cases import a module and read a file outside of their folder, and start a watching run."""
    for folder in ("lib", "data"):
        (project / folder).mkdir()
    (project / "lib" / "budget.py").write_text("OFFSET = 0.0\n")
    (project / "data" / "offset.csv").write_text("0.0")
    outside = "import sys, pathlib\nROOT = pathlib.Path(__file__).parents[1]\nsys.path.insert(0, str(ROOT / 'lib'))\n"
    outside += "from budget import OFFSET\nOFFSET += float((ROOT / 'data' / 'offset.csv').read_text())\n"
    file = project / "cases" / "products.py"
    file.write_text(
        outside + file.read_text().replace("factor * x.astype(np.float64)", "OFFSET + factor * x.astype(np.float64)")
    )
    return request.getfixturevalue("watching")


@pytest.fixture
def watching(project):
    """Start a watching run; return it and a function that waits for new text on its standard error."""
    with (project / "said").open("wb") as said:
        command = [sys.executable, "-m", "parity", *RUN]
        process = subprocess.Popen(command, stderr=said, stdout=subprocess.DEVNULL, start_new_session=True)
    begin = 0

    def until(text: str) -> str:
        nonlocal begin
        while text not in (now := (project / "said").read_text()[begin:]):
            assert process.poll() is None, now
            time.sleep(0.02)
        begin += len(now)
        return now

    yield process, until
    process.kill()
    process.wait()


def states(project):
    kernels = json.loads((project / "parity-out" / "matrix.json").read_text())["kernels"]
    return {each["kernel"]: each["cells"][0]["state"] for each in kernels}


def test_watch_runs_only_changed_kernels(project, watching):
    process, until = watching
    until("waiting for a change")
    assert states(project) == {"twice": "pass", "thrice": "pass"}
    (project / "kernels" / "factor.cuh").write_text("#define FACTOR 4.0f\n")
    said = until("waiting for a change")
    assert "changed: kernels/factor.cuh" in said and "1 of 2 kernels changed" in said
    assert states(project) == {"twice": "pass", "thrice": "fail"}
    (project / "cases" / "factors" / "__init__.py").write_text("FACTORS = {'twice': 2, 'thrice': 4.0}\n")
    assert "2 of 2 kernels changed" in until("waiting for a change")
    assert states(project) == {"twice": "pass", "thrice": "pass"}
    source = project / "kernels" / "products.cu"
    source.write_text("// a comment moves all lines\n" + source.read_text())
    assert "0 of 2 kernels changed" in until("waiting for a change")
    source.write_text("nonsense")
    until("waiting for a change")
    assert set(states(project).values()) == {"compile error"}
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130


def test_watch_notices_files_outside_of_the_cases(project, watching_outside):
    _, until = watching_outside
    until("waiting for a change")
    assert states(project) == {"twice": "pass", "thrice": "pass"}
    (project / "lib" / "budget.py").write_text("from pathlib import Path\nOFFSET = 100.0\n")
    said = until("waiting for a change")
    assert "changed: lib/budget.py" in said and "2 of 2 kernels changed" in said
    assert states(project) == {"twice": "fail", "thrice": "fail"}
    (project / "data" / "offset.csv").write_text("-100.0")
    assert "changed: data/offset.csv" in until("waiting for a change")
    assert states(project) == {"twice": "pass", "thrice": "pass"}


def test_watch_notices_headers_of_other_folders(project, request):
    (project / "include").mkdir()
    header = (project / "kernels" / "factor.cuh").rename(project / "include" / "factor.cuh")
    _, until = request.getfixturevalue("watching")
    until("waiting for a change")
    header.write_text("#define FACTOR 4.0f\n")
    said = until("waiting for a change")
    assert "changed: include/factor.cuh" in said and "1 of 2 kernels changed" in said
    assert states(project) == {"twice": "pass", "thrice": "fail"}


def test_watch_refuses_incompatible_options(project, capsys):
    assert main([*RUN, "--failed"]) == 2
    assert "unrecognized arguments: --failed" in capsys.readouterr().err
