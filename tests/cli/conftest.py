"""Fixtures that call the command line in this process."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from parity.cli import main
from parity.cli.shared import terminal
from parity.compilers import cuda_toolkit

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """The exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def hide_nvcc(monkeypatch):
    """Return a function after which no nvcc is found."""
    return lambda: monkeypatch.setattr(cuda_toolkit, "toolkit_programs", lambda name, wheels=False: [])


@pytest.fixture
def parity(capfd, tmp_path, monkeypatch):
    """Return a function that runs the command line with a fresh output folder."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("PARITY_COMMAND", raising=False)
    monkeypatch.setattr(terminal, "INTERVAL", threading.TIMEOUT_MAX)  # stderr does not depend on time
    monkeypatch.setenv("COLUMNS", "1000")  # tables are complete

    def call(*arguments):
        capfd.readouterr()
        output = ["--output", str(tmp_path / "out")] if arguments[0] == "run" and "--output" not in arguments else []
        code = main([*map(str, arguments), *output])
        return Result(code, *capfd.readouterr())

    return call


@pytest.fixture
def kernels(tmp_path):
    """Return a copy of the kernels that the test may change."""
    return Path(shutil.copytree(ROOT / "kernels", tmp_path / "kernels"))


@pytest.fixture
def affine_cases(tmp_path):
    """Return a folder with only the case file of affine."""
    folder = tmp_path / "cases"
    folder.mkdir()
    shutil.copy(ROOT / "cases" / "affine.py", folder)
    return folder


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Return a function that copies a library of ``tests/foreign`` and changes to the copy."""

    def copy(name):
        folder = Path(shutil.copytree(ROOT / "tests" / "foreign" / name, tmp_path / name))
        monkeypatch.chdir(folder)
        return folder

    return copy


@pytest.fixture
def mine(parity, tmp_path, monkeypatch):
    """Create a project with ``parity init`` and change to it."""
    folder = tmp_path / "mine"
    assert parity("init", folder).code == 0
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def inferred(parity, tmp_path, monkeypatch, with_nvcc):
    """Return a function that runs ``parity init`` for a source and returns the text of the case file."""

    def case_file(source: str) -> str:
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "kernels.cu").write_text(source)
        monkeypatch.chdir(tmp_path)
        assert parity("init", "--kernels", "src").code == 0
        return (tmp_path / "cases" / "kernels.py").read_text()

    return case_file


@pytest.fixture
def edit():
    """Return a function that replaces a text in a file; the file must contain it."""

    def replace(path, old, new):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return replace


@pytest.fixture
def run_kernels(parity, tmp_path, monkeypatch):
    """Return a function that runs a project, which it writes: a file of kernels, and a case file of the same name."""

    def run(name, kernels, cases, *selected, target="gfx1100"):
        for file, text in ((f"src/{name}.cu", kernels), (f"cases/{name}.py", cases)):
            (tmp_path / file).parent.mkdir()
            (tmp_path / file).write_text(text)
        monkeypatch.chdir(tmp_path)
        options = "--kernels", "src", "--cases", "cases", "--target", target, "--examples", "12"
        return parity("run", *selected, *options)

    return run
