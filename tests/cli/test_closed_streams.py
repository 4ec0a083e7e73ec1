"""Closed and full standard streams, and folders outside of any project."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PARITY = f"{sys.executable} -m parity"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("command", "code"), [("list", 0), ("list nothing", 2), ("nothing", 2)])
def test_command_with_closed_streams_returns_its_code(mine, command, code, closed):
    done = shell(f"{PARITY} {command} {closed}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_run_with_closed_streams_writes_only_results_to_its_files(mine):
    (mine / "cases" / "leaky_relu.py").open("a").write("import os\nos.system('echo printed')\nprint('printed')\n")
    done = shell(f"{PARITY} run --target gfx1100 --examples 1 -j 1 <&- >&- 2>&-")
    assert done.returncode == 0
    lines = (mine / "parity-out" / "record.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["complete"] is True
    assert json.loads((mine / "parity-out" / "matrix.json").read_text())["passed"] == len(lines) - 2


@pytest.mark.parametrize("reader", ["2>/dev/full", "2>&1 >/dev/null | true"])
def test_message_that_stderr_does_not_accept_keeps_exit_code(mine, reader):
    redirection, *pipe = reader.partition(" | ")
    shell(f"({PARITY} list nothing; echo $? > code) {redirection}{''.join(pipe)}")
    assert (mine / "code").read_text() == "2\n"


def test_full_stdout_is_reported(mine):
    done = shell(f"{PARITY} list >/dev/full")
    assert done.returncode == 3 and "No space left on device" in done.stderr


def test_folder_outside_of_a_project_uses_the_suite_of_parity(parity, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = parity("list", "affine")
    assert result.code == 0 and "affine.affine" in result.out and "this is parity's own suite" in result.err


def test_checkout_of_parity_is_a_project(parity):
    assert parity("list", "affine").err == ""


def test_exit_handler_of_case_file_neither_prints_nor_decides(mine):
    with (mine / "cases" / "leaky_relu.py").open("a") as file:
        file.write("import atexit, os\natexit.register(os._exit, 0)\n")
    done = shell(f"{PARITY} list nothing")
    assert done.returncode == 2 and "names no op" in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("text", ["sys.stderr = None", "sys.stdout = None", "sys.stdout = sys.stderr = open('x', 'w')"])
def test_streams_that_case_file_replaces_are_restored(mine, text):
    with (mine / "cases" / "leaky_relu.py").open("a") as file:
        file.write(f"import sys; {text}\n")
    done = shell(f"{PARITY} list; {PARITY} list nothing")
    assert done.returncode == 2 and "leaky_relu" in done.stdout and "names no op" in done.stderr
