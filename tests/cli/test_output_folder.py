"""The output folder: reports of an earlier run do not survive a run that fails, and one command writes at a time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from parity.report.folder import REPORTS, output_folder

TARGET = ("--target", "gfx1100", "--examples", "1")
HOLD = """
from pathlib import Path
from parity.report.folder import output_folder
with output_folder(Path("out")):
    print("locked", flush=True)
    input()
"""


def reports(folder):
    return {path.name for path in folder.iterdir()} & set(REPORTS)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("leaky_relo",), 2),
        (("--runner", "unknown"), 2),
        (("--cluster", "nowhere.toml"), 2),
        (("--failed", "nowhere"), 2),
        (("--failed",), 3),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, tuple) else "",
)
def test_run_that_fails_leaves_no_earlier_report(parity, mine, arguments, code):
    out = mine / "out"
    assert parity("run", *TARGET, "--output", out).code == 0 and reports(out) == set(REPORTS)
    result = parity("run", *TARGET, *arguments, "--output", out)
    assert (result.code, reports(out)) == (code, set()), result.err
    assert (out / "record.jsonl").exists()  # for --resume and --failed


def test_run_of_broken_case_file_leaves_no_earlier_report(parity, mine, edit):
    assert parity("run", *TARGET, "--output", mine / "out").code == 0
    edit(mine / "cases" / "leaky_relu.py", "import numpy", "import(numpy")
    assert parity("run", *TARGET, "--output", mine / "out").code == 2
    assert not reports(mine / "out")


def test_case_file_changed_within_one_second_is_compiled_again(parity, mine, edit, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # PYTHONDONTWRITEBYTECODE
    path = mine / "cases" / "leaky_relu.py"
    for old, new, code in (("import numpy", "import numpy", 0), ("import numpy", "import(numpy", 2)):
        edit(path, old, new)
        os.utime(path, (1, 1))
        assert parity("run", *TARGET, "--output", mine / "out").code == code


def test_failed_option_reads_reports_before_their_removal(parity, mine, edit):
    edit(mine / "kernels" / "leaky_relu.cu", "if (i < n)", "if (i < m)")
    assert parity("run", *TARGET, "--output", mine / "out").code == 1
    edit(mine / "kernels" / "leaky_relu.cu", "if (i < m)", "if (i < n)")
    assert parity("run", *TARGET, "--output", mine / "out", "--failed").code == 0


def test_costs_option_reads_matrix_before_its_removal(parity, mine):
    assert parity("run", *TARGET, "--output", mine / "out").code == 0
    sharded = parity(
        "run", *TARGET, "--output", mine / "out", "--shard", "1/1", "--costs", mine / "out" / "matrix.json"
    )
    assert sharded.code == 0, sharded.err


@pytest.mark.parametrize(
    "command",
    [
        ("run", *TARGET),
        ("mutate", *TARGET, "--count", "1"),
        ("footprint", "--target", "gfx1100"),
        ("report", "out", "-o", "out/page.html"),
        ("merge", "out", "-o"),
    ],
    ids=lambda command: command[0],
)
def test_command_refuses_folder_that_another_writes_to(parity, mine, command):
    assert parity("run", *TARGET, "--output", "out").code == 0
    files = {path.name: path.read_bytes() for path in (mine / "out").iterdir()}
    output = {"report": (), "merge": ("out",)}.get(command[0], ("--output", "out"))
    with output_folder(mine / "out"):
        result = parity(*command, *output)
    assert result.code == 2 and "another process is writing to out; wait for it, or choose another" in result.err
    assert {path.name: path.read_bytes() for path in (mine / "out").iterdir()} == files


def test_killed_command_does_not_keep_the_folder_locked(parity, mine):
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    assert parity("run", *TARGET, "--output", "out").code == 2
    process.kill()
    process.wait()
    assert parity("run", *TARGET, "--output", "out").code == 0
