"""Shell completion scripts; bash executes its script."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from parity.cli import main
from parity.cli.shared.parser import commands
from parity.compilers.targets import TARGETS
from parity.runners import runners


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    folder = tmp_path_factory.mktemp("completion")
    with (folder / "parity.bash").open("wb") as file:
        subprocess.run([sys.executable, "-m", "parity", "completion", "bash"], stdout=file, check=True)
    return folder / "parity.bash"


@pytest.fixture
def completed(script, tmp_path, capsys):
    """Return bash's completions for the last word; ``parity list`` is limited to one module."""
    assert main(["list", "unary"]) == 0
    listed = tmp_path / "parity"
    listed.write_text(f"#!/bin/sh\ncat << 'END'\n{capsys.readouterr().out}END\n")
    listed.chmod(0o755)
    environment = {**os.environ, "PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}

    def offered(*words):
        line = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_parity; printf "%s\\n" "${COMPREPLY[@]}"'
        command = ["bash", "--norc", "-c", line, str(script), "parity", *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
        return set(done.stdout.split())

    return offered


def test_completion_in_bash_offers_commands_options_and_values(completed):
    assert completed("") == {*commands()}
    assert completed("re") == {name for name in commands() if name.startswith("re")}
    assert {"--resume", "--runner"} <= completed("run", "--r")
    assert "--full" not in completed("doctor", "--")
    assert completed("run", "--target", "") == {*TARGETS}
    assert completed("run", "--runner", "e") == {name for name in runners() if name.startswith("e")}
    assert completed("run", "unary.e") == {"unary.elu", "unary.erf", "unary.exp"}


def test_completion_scripts_of_other_shells_are_printed(capsys):
    for shell, beginning in (("zsh", "#compdef parity"), ("fish", "")):
        assert main(["completion", shell]) == 0
        out = capsys.readouterr().out
        assert out.startswith(beginning) and "exec" in out
    assert main(["completion", "csh"]) == 2
