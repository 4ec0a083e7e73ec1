"""The history of runs and the badge."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from parity.cli import main
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord, Column, Provenance
from parity.errors import UsageError
from parity.report.document import IssueEntry, document
from parity.report.history import add_summary, flaky_kernels, history_content, read_history, summarize_run
from parity.report.html.page import render_badge
from parity.report.matrix import make_matrix

GFX = Column("emulated", "gfx1100")
HERE = {"sources": {"unary.py": "cases"}, "code objects": {"unary gfx1100 emulated": "code"}}
PASS, FAIL = Verdict(Status.PASS, total=1, budget=0.25, allowed=True), Verdict(Status.FAIL, "value")
ISSUE = IssueEntry(
    "known.toml, line 3", ("unary.exp",), "rounding", "", datetime.date(2026, 1, 20), 1, ("gfx1100",), ""
)


@pytest.fixture(scope="module")
def run(suite):
    """Return a function that returns the matrix of a run in which the named kernels failed."""

    def matrix(*failing, seed=7, complete=True):
        entries = suite.select(["unary.exp"]).entries
        records = [CaseRecord.of(e, GFX, "case", FAIL if e.kernel in failing else PASS) for e in entries]
        return document(make_matrix(entries, [GFX], records, provenance=Provenance(2.0, seed, 5, complete)))

    return matrix


def history(*matrices, here=HERE):
    return [summarize_run(each, here, f"c{n}", f"2026-01-0{n + 1}T00:00:00+00:00") for n, each in enumerate(matrices)]


def test_summaries_are_read_oldest_first(run, tmp_path):
    first, second = history(run(), run("uexp_f32"))
    first = replace(first, recall=0.9)
    assert add_summary(tmp_path / "new", second) != add_summary(tmp_path / "new", first)
    add_summary(tmp_path / "new", replace(first, recall=None))  # the same run again, loaded from its files
    assert read_history(tmp_path / "new") == [first, second]
    assert first.columns["gfx1100 emulated"].budget == 0.25


def test_invalid_history_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        read_history(tmp_path / "none")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(UsageError, match="not a summary"):
        read_history(tmp_path)


def test_kernel_with_same_code_and_other_state_is_flaky(run):
    (found,) = flaky_kernels(history(run(), run("uexp_f32"), run()))
    assert (found.kernel, found.column, found.states) == ("uexp_f32", "gfx1100 emulated", ("pass", "fail", "pass"))


@pytest.mark.parametrize("changed", ["code objects", "sources", "seed"])
def test_kernel_with_changed_code_cases_or_seed_is_not_flaky(run, changed):
    other = {**HERE, changed: dict.fromkeys(HERE.get(changed, ()), "other")}
    before = history(run())
    after = history(run("uexp_f32", seed=8 if changed == "seed" else 7), here=other)
    assert flaky_kernels([*before, *after]) == []


def test_history_content_has_states_budgets_and_expiring_issues(run):
    late = replace(ISSUE, expires=datetime.date(2027, 1, 1))
    matrices = run(), replace(run("uexp_f32"), known_issues=(late, ISSUE))
    found = history_content(history(*matrices))
    assert [each["states"] for each in found["runs"]] == [{"pass": 5}, {"pass": 4, "fail": 1}]
    assert found["runs"][0]["budgets"] == {"gfx1100 emulated": 0.25} and found["flaky"][0]["kernel"] == "uexp_f32"
    assert [each["expires"] for each in found["expiring"]] == ["2026-01-20"]


@pytest.mark.parametrize(
    ("failing", "complete", "says"),
    [((), True, "5 kernels passed"), (["uexp_f32"], True, "1 of 5 kernels failed"), ((), False, "interrupted")],
)
def test_badge_shows_result(run, failing, complete, says):
    text = render_badge(run(*failing, complete=complete))
    assert f"parity: {says}<" in text and ElementTree.fromstring(text).tag.endswith("svg")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"problems": ("the runner 'rocm' cannot work here",)}, "incomplete"),
        ({"known_issues": (replace(ISSUE, complaint="expired"),)}, "1 known issue to review"),
    ],
    ids=["unavailable runner", "complaint"],
)
def test_badge_of_run_with_problems_does_not_say_passed(run, change, says):
    assert f"parity: {says}<" in render_badge(replace(run(), **change))


@pytest.mark.parametrize("state", ["not judged", "could not run"])
def test_badge_counts_kernels_without_verdict(run, state):
    matrix = run()
    first, *others = matrix.kernels
    first = replace(first, cells=(*first.cells, replace(first.cells[0], state=state)))
    assert "parity: 1 of 5 kernels not judged<" in render_badge(replace(matrix, kernels=(first, *others)))


def test_run_with_unavailable_runner_has_badge_incomplete(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    runners = ["--runner", "emulated", "--runner", "cuda"]
    assert main(["run", "fill_f32", *runners, "--target", "gfx1100", "--examples", "1", "-o", str(tmp_path)]) == 3
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "again.html")]) == 0
    assert "parity: incomplete<" in (tmp_path / "badge.svg").read_text()


def test_run_is_added_to_history_once(tmp_path, data_of, monkeypatch):
    monkeypatch.setenv("GITHUB_SHA", "abcdef0123456789")
    out, kept = tmp_path / "out", tmp_path / "history"
    arguments = ["run", "fill_f32", "--target", "gfx1100", "--examples", "1", "--output", str(out)]
    assert main([*arguments, "--history", str(kept)]) == 0
    assert main(["report", str(out), "--history", str(kept)]) == 0
    (run,) = data_of((out / "report.html").read_text())["history"]["runs"]
    assert run["commit"] == "abcdef0123456789" and run["states"] == {"pass": 1}
    (path,) = kept.iterdir()  # one file, because both commands add the same run
    assert re.fullmatch(r"2\d{3}-.*-abcdef012345\.json", path.name)
    assert (out / "badge.svg").exists()
