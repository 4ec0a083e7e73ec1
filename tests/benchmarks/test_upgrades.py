"""The joined report on an upgrade of HIP: totals and changed kernels of several projects."""

import sys

import pytest

from benchmarks import upgrades
from parity.report.upgrade import KernelUpgrade, markdown

VERSIONS = ("6.2", "7.2")
CHANGED = KernelUpgrade("gfx90a", VERSIONS, "k<a|b>", values="wrong", resources={"vgprs": (8, 16)})
SAME = KernelUpgrade("gfx90a", VERSIONS, "same", values="")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_joined_report_has_totals_and_changed_kernels_of_each_project(tmp_path, capsys):
    for name, found in (("one", [SAME]), ("two", [CHANGED, SAME])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "upgrade.md").write_text(markdown(found))
    assert upgrades.main([str(tmp_path / "one"), str(tmp_path / "two")]) == 0
    lines = [cells(line) for line in capsys.readouterr().out.splitlines() if line.startswith(("| one", "| two"))]
    assert lines == [
        ["one", "gfx90a, HIP 6.2 to 7.2", "1 kernel, nothing changes"],
        ["two", "gfx90a, HIP 6.2 to 7.2", "2 kernels, 1 wrong, 1 more VGPRs"],
        ["two", "gfx90a", "6.2 -> 7.2", "k<a\\", "b>", "", "wrong", "8 -> 16"],
    ]


@pytest.mark.parametrize("code", [0, 2])
def test_project_is_run_with_the_options(code, tmp_path, monkeypatch, capsys):
    def run(command, cwd, **_):
        assert command == [sys.executable, "-m", "parity", "run", "--rocm", "a,b", "--output", "parity-out"]
        (cwd / "parity-out").mkdir()
        (cwd / "parity-out" / "upgrade.md").write_text(markdown([SAME]))
        return upgrades.subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(upgrades.subprocess, "run", run)
    assert upgrades.main([str(tmp_path), "--", "--rocm", "a,b"]) == (1 if code else 0)
    printed = capsys.readouterr()
    assert ("nothing changes" in printed.out) == (not code)
    assert (f"no kernel was built or run: {tmp_path.name}" in printed.err) == bool(code)
