"""Inputs of unusual size."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

RUN = ("run", "--target", "gfx1100", "--examples", "1")
RIGHTS = "-dac_override,-dac_read_search"
EXPRESSION = "x[i] > 0.0f ? x[i] : alpha * x[i]"


@pytest.mark.parametrize(
    ("depth", "statement", "code", "text"),
    [
        (2000, True, 0, " 0 failed"),
        (5000, True, 1, "leaky_relu.cu:7:2066: fatal error: bracket nesting level"),
        (5000, False, 0, " 0 failed"),
    ],
)
def test_nested_parentheses_are_a_compile_error_or_left_out(parity, mine, edit, depth, statement, code, text):
    """Host code that clang cannot parse is left out."""
    kernel, opening, closing = mine / "kernels" / "leaky_relu.cu", "(" * depth, ")" * depth
    if statement:
        edit(kernel, EXPRESSION, f"{opening}{EXPRESSION}{closing}")
    else:
        edit(kernel, "extern", f"int x = {opening}1{closing};\nextern")
    result = parity(*RUN)
    assert result.code == code and text in result.out and "Traceback" not in result.err, result.err[-3000:]


def test_name_of_source_that_compilers_cannot_lengthen_is_refused(parity, mine):
    name = "k" * 250
    (mine / "kernels" / "leaky_relu.cu").rename(mine / "kernels" / f"{name}.cu")
    (mine / "cases" / "leaky_relu.py").write_text(
        (mine / "cases" / "leaky_relu.py").read_text().replace("leaky_relu.leaky_relu", f"{name}.leaky_relu")
    )
    for command in (RUN, ("build",)):
        result = parity(*command)
        assert result.code == 2 and f"rename {mine / 'kernels' / name}.cu: " in result.err


@pytest.fixture
def without_rights(tmp_path):
    """Return the beginning of a command that runs without the right of root to open all files."""
    words = f"setpriv --bounding-set {RIGHTS} --inh-caps {RIGHTS} " * (os.getuid() == 0)
    (tmp_path / "closed").mkdir(mode=0)
    tried = subprocess.run(f"{words}ls {tmp_path / 'closed'}", shell=True, capture_output=True, text=True)
    if "Permission denied" not in tried.stderr:
        pytest.skip("this system does not take rights from root")
    return words.split()


@pytest.mark.parametrize(("command", "code"), [(RUN, 3), (("build",), 3), (("doctor",), 0), (("list", "--cases"), 0)])
def test_cache_below_folder_without_permission_is_unavailable(mine, tmp_path, without_rights, command, code):
    environment = {
        **os.environ,
        "PARITY_CACHE": str(tmp_path / "closed" / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    words = [*without_rights, sys.executable, "-m", "parity", *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == code, done.stderr
    assert "set PARITY_CACHE to a writable folder" in done.stderr + done.stdout or command[0] == "list"
