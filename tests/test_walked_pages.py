"""Executes the walkthrough pages: writes and edits their files, runs their commands and compares the output."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

from parity.cli import main
from parity.compilers.cuda_toolkit import nvcc
from parity.errors import MissingTool

DOCS = Path(__file__).parent.parent / "docs"
FENCED = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
PROGRESS = re.compile(r"^parity: \w+ \d+ of \d+.*\n", re.MULTILINE)
"""A line that a command prints every ten seconds."""


@pytest.fixture
def walk(tmp_path, monkeypatch, capfd):
    """Return a function that follows a page in an empty folder, which becomes the working directory.

    A block with a title is appended to the file of that name; a diff edits the file. In a ``console`` block, a line
    that begins with ``$`` is a command, followed by its expected output, in which ``...`` matches any text.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PARITY_COMMAND", raising=False)

    def check(command, shown):
        name, *arguments = shlex.split(command)
        assert name == "parity"
        capfd.readouterr()
        code = main(arguments)
        out, err = capfd.readouterr()
        got = f"{PROGRESS.sub('', err)}{out}" + (f"exit code {code}\n" if code else "")
        assert doctest.OutputChecker().check_output(shown, got, doctest.ELLIPSIS), f"{command} prints\n{got}"

    def edit(path, text):
        lines = [(line[:1] or " ", line[1:]) for line in text.splitlines()]
        before, after = ("".join(f"{line}\n" for sign, line in lines if sign in kept) for kept in (" -", " +"))
        assert path.read_text().count(before) == 1, f"{path} has not, or more than once\n{before}"
        path.write_text(path.read_text().replace(before, after))

    def follow(page):
        for language, title, text in FENCED.findall((DOCS / page).read_text()):
            path = tmp_path / title
            if language == "console":
                for command, shown in COMMAND.findall(text):
                    check(command, shown)
            elif language == "diff":
                edit(path, text)
            elif title:
                path.parent.mkdir(exist_ok=True)
                with path.open("a") as file:
                    file.write(text)

    return follow


@pytest.mark.parametrize("page", ["tutorial.md", "porting.md"])
def test_page_commands_print_shown_output(walk, page):
    try:
        nvcc()
    except MissingTool as error:
        pytest.skip(str(error))
    walk(page)


def test_declarations_page_commands_print_shown_output(walk):
    walk("declarations.md")


FAULTS = {
    "scale": ("float(x[i]) * float(alpha)", "float(x[i]) + float(alpha)"),
    "row_max": ("float most = -INFINITY", "float most = 0.0f"),
    "clamp": ("max(x[i], low)", "min(x[i], low)"),
    "momentum": ("p[i] = p[i] - how.rate", "p[i] = p[i] + how.rate"),
    "negate_rows": ("x[r * pitch + c]", "x[r * cols + c]"),
    "copy_any": ("info[dims + d]", "info[dims]"),
    "weigh": ("squares[i % 8]", "squares[i % 7]"),
    "bucket": ("edges[middle] <= 8", "edges[middle] < 1 + 8"),
    "permute": ("(bias ? bias[c] : 0.0f)", "0.0f"),
    "sparse_product": ("i < m.begin[r + 1]", "i < m.begin[r + 1] - 1"),
    "total": ("i < parts; i += blockDim.x", "i < 1; i += blockDim.x"),
    "dequantize": ("qs[threadIdx.x]", "qs[threadIdx.x / 2]"),
}


@pytest.mark.thorough
def test_declarations_page_kernels_with_faults_fail(walk, tmp_path, capfd):
    walk("declarations.md")
    path = tmp_path / "kernels" / "kinds.cu"
    text = path.read_text()
    for old, new in FAULTS.values():
        assert text.count(old) == 1
        text = text.replace(old, new)
    path.write_text(text)
    assert main(["run", "--target", "gfx1100", "--examples", "8"]) == 1
    kernels = json.loads((tmp_path / "parity-out" / "matrix.json").read_text())["kernels"]
    states = {kernel["op"].partition(".")[2]: kernel["cells"][0]["state"] for kernel in kernels}
    assert states == dict.fromkeys(FAULTS, "fail")
