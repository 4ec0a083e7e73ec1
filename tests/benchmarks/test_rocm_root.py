"""The checks in a root with ROCm: every command runs, and the exit status shows a failure of any of them."""

import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import rocm_root


@pytest.fixture
def checks(monkeypatch):
    """Replace all checks by commands that run here, without an installation."""
    monkeypatch.setattr(rocm_root, "CHECKS", {"suite": ("exit 3", "true"), "rocm": ("echo only $PATH, $PYTHONPATH",)})
    monkeypatch.setattr(rocm_root, "make", lambda root: None)
    monkeypatch.setattr(rocm_root, "READY", "usr")
    monkeypatch.setattr(rocm_root.os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys, "argv", ["rocm_root", "--here"])


def test_all_checks_run_after_a_failure_and_are_listed(checks, capfd):
    assert rocm_root.main() == 3
    lines = capfd.readouterr().out.splitlines()[-3:]
    assert [(line.split()[0], line.rpartition("  ")[2]) for line in lines] == [
        ("FAILED", "exit 3"), ("ok", "true"), ("ok", "echo only $PATH, $PYTHONPATH"),
    ]  # fmt: skip


def test_single_check_runs_alone_in_the_environment_of_the_root(checks, capfd, monkeypatch):
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--check", "rocm"])
    assert rocm_root.main() == 0
    out = capfd.readouterr().out
    assert "only /opt/parity/bin:" in out and "exit 3" not in out
    assert out.endswith(f", {Path.cwd()}\n")


def test_make_installs_everything_that_tests_import(monkeypatch, tmp_path):
    commands = []
    monkeypatch.setattr(rocm_root.subprocess, "run", lambda *arguments, **options: None)
    monkeypatch.setattr(rocm_root, "inside", lambda root, command: commands.append(command))
    (tmp_path / "etc/apt/apt.conf.d").mkdir(parents=True)
    rocm_root.make(tmp_path)
    assert "--group test" in commands[-1] and (tmp_path / rocm_root.READY).exists()


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs dpkg")
def test_installed_packages_are_not_installed_again(checks, capfd, monkeypatch):
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--install", "dpkg coreutils", "echo", "after"])
    assert rocm_root.main() == 0
    assert capfd.readouterr().out == "$ echo after\nafter\n"
