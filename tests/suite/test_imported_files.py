"""The files that case files import and read: recorded, and imported again when they change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.application.columns import changed_sources
from parity.engine.plan import Plan
from parity.engine.record_file import environment
from parity.suite.loading import load_suite

CASES = """
import sys
from pathlib import Path
import numpy, parity.reference
from parity.op import Op
sys.path.append(str(Path(__file__).parent.parent / "lib"))
from budgets_of_{name} import LIMIT
LIMIT += eval((Path(__file__).parent.parent / "limits.txt").read_text())
op = Op("{name}.op", kernel="k", types=("f32",), args="x out numel:i32", inputs={{"x": "T"}}, block=LIMIT)
"""


@pytest.fixture
def load(tmp_path, request):
    """Return a function that loads a project whose case file imports a module and reads a file."""
    name = f"m{abs(hash(request.node.name)) % 10**8}"  # modules stay in sys.modules
    for folder in ("kernels", "cases", "lib"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "kernels" / f"{name}.cu").write_text('extern "C" __global__ void k(float* x, float* out, int n) {}')
    (tmp_path / "cases" / f"{name}.py").write_text(CASES.format(name=name))
    (tmp_path / "lib" / f"budgets_of_{name}.py").write_text("LIMIT = 1\n")
    (tmp_path / "limits.txt").write_text("1")

    def load():
        return load_suite(tmp_path / "kernels", tmp_path / "cases")

    load.module = tmp_path / "lib" / f"budgets_of_{name}.py"
    load.data = tmp_path / "limits.txt"
    load.case_file = tmp_path / "cases" / f"{name}.py"
    load.op = f"{name}.op"
    return load


def test_imported_files_are_recorded_without_installed_packages(load):
    assert set(load().imported) == {load.case_file, load.module, load.data}
    assert set(load().imported) == {load.case_file, load.module, load.data}  # from the module in memory


@pytest.mark.parametrize(("file", "text"), [("module", "LIMIT = 10\n"), ("data", "10")])
def test_change_of_imported_file_imports_case_file_again(load, file, text):
    first = load()
    assert load().op(load.op) is first.op(load.op)
    getattr(load, file).write_text(text)
    assert load().op(load.op).block == 11


@pytest.mark.parametrize(("file", "text"), [("module", "LIMIT = 1 * 1\n"), ("data", "1 + 0")])
def test_change_of_imported_file_changes_environment(load, file, text):
    def sources():
        return environment(Plan.of(load(), (), {}, examples=1))["sources"]

    before = sources()
    getattr(load, file).write_text(text)
    name = f"../lib/{load.module.name}" if file == "module" else "../limits.txt"
    assert {key for key, digest in sources().items() if before[key] != digest} == {name}


def test_headers_and_port_are_sources_of_run(load):
    """Shards with different ports would otherwise be merged, and a replay would not name a changed header."""
    folder = load.data.parent
    (folder / "hip").mkdir()
    header, port = folder / "kernels" / "factor.h", folder / "hip" / "k.hip"
    suite = replace(load(), sides=replace(load().sides, ported=folder / "hip"))
    for path, name in ((header, "factor.h"), (port, "../hip/k.hip")):
        path.write_text("#define FACTOR 1\n")
        sources = environment(Plan.of(suite, (), {}, examples=1))["sources"]
        assert name in sources and not list(changed_sources(sources, suite))
        path.write_text("#define FACTOR 2\n")
        assert list(changed_sources(sources, suite)) == [name]
