"""``parity run --failed`` and ``--github``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parity.application.stored_results import load
from parity.cli import main
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord, Column
from parity.engine.record_file import RecordWriter

CASES = ("fill.fill[f32](out=3 value=1.0)", "fill.fill[f32](out=2 value=1.0)", "fill.no_such_op[f32](out=1)")


@pytest.fixture
def failed(suite, tmp_path):
    """Store a run with a failed case, a passed case, and an outdated failed case of another kernel."""
    first, other = suite.select(["fill_f32", "fill_f64"]).entries
    column = Column("emulated", "gfx1100")
    verdicts = (Verdict(Status.FAIL, "value"), Verdict(Status.PASS, total=1), Verdict(Status.FAIL, "value"))
    with RecordWriter(tmp_path / "last" / "record.jsonl", {"sources": {}}) as writer:
        for case, entry, verdict in zip(CASES, (first, first, other), verdicts, strict=True):
            writer.add(CaseRecord.of(entry, column, case, verdict))
    return tmp_path / "last"


def run(out, *arguments):
    return main(["run", "--target", "gfx1100", "--examples", "1", "--output", str(out), *arguments])


def test_failed_option_runs_only_failed_cases(failed, tmp_path):
    assert run(tmp_path / "out", "fill_f32", "--failed", str(failed)) == 0
    assert [record.case for record in load(tmp_path / "out").records] == [CASES[0]]


def test_failed_option_outdated_case_runs_whole_kernel(failed):
    assert run(failed, "--failed") == 0  # refers to the last run in the output folder
    assert {record.kernel for record in load(failed).records} == {"fill_f32", "fill_f64"}


def test_failed_option_without_failures_is_refused(failed, tmp_path, capsys):
    assert run(tmp_path / "out", "affine", "--failed", str(failed)) == 3
    assert "no selected case failed in" in capsys.readouterr().err
    assert run(tmp_path / "out", "--failed", str(tmp_path / "none")) == 2


def test_github_option_appends_matrix_to_job_summary(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    assert run(tmp_path / "out", "fill_f32", "--github") == 0
    assert "fill" in (tmp_path / "summary.md").read_text() and "::error" not in capsys.readouterr().out
    assert run(tmp_path / "out", "fill_f32") == 0  # without --github, the summary is unchanged
    assert (tmp_path / "summary.md").read_text().count("seed 0") == 1


def test_github_option_prints_annotations(suite, tmp_path, monkeypatch, capsys):
    source = Path(shutil.copytree(suite.kernels, tmp_path / "kernels"), "fill.cu")
    source.write_text("// no kernel\n")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert run(tmp_path / "out", "fill_f32", "--kernels", str(source.parent), "--github") == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert line.startswith(
        "::error file=kernels/fill.cu,line=1,title=fill_f32 on gfx1100 (emulated)%3A missing kernel::"
    )
