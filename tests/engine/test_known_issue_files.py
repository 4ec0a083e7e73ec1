"""Files of known issues: covered cases, matching failures, and errors in the file."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from itertools import product

import pytest

from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord, Column
from parity.engine.known_issues import load_known_issues

CASE = "affine.affine[f32](x=3~normal@5 mul=2.0 add=0.5)"
COLUMNS = tuple(Column(runner, target) for runner, target in product(("emulated", "cuda"), ("gfx1100", "gfx90a")))
TODAY = datetime.date(2026, 11, 21)
ISSUE = {
    "cases": "'affine'",
    "failure": "'value'",
    "ulps": "4",
    "reason": "'rounds'",
    "expires": "2026-11-21",
}


def toml(**changes):
    """Return an entry of the file; a change to None omits a key."""
    pairs = {key: value for key, value in {**ISSUE, **changes}.items() if value is not None}
    return "\n".join(["[[issue]]", *(f"{key} = {value}" for key, value in pairs.items()), ""])


@pytest.fixture
def read(suite, tmp_path):
    """Return a function that reads known issues for COLUMNS from a text."""

    def known(text):
        path = tmp_path / "known.toml"
        path.write_text(text)
        return load_known_issues(replace(suite, known=path), COLUMNS, TODAY)

    return known


def record(verdict=None, case=CASE, kernel="affine_f32", runner="emulated", target="gfx1100"):
    verdict = verdict or value(1)
    return CaseRecord(case, "affine.affine", kernel, "affine", runner, target, "emulated", verdict)


def value(ulps, *more):
    return Verdict(Status.FAIL, "value", kinds=("value", *more), ulps=ulps)


def knows(known, *verdicts):
    return [bool(known.mark(record(verdict)).known) for verdict in verdicts]


def test_project_without_file_has_no_known_issues(suite):
    assert not load_known_issues(suite, COLUMNS).issues
    assert not load_known_issues(suite, COLUMNS).mistakes


def test_value_beyond_ulps_is_not_known(read):
    assert knows(read(toml()), value(4), value(5), value(math.inf)) == [True, False, False]


def test_issue_requires_all_wrong_elements_in_its_class(read):
    both = value(1, "sign of zero")
    assert knows(read(toml()), both) == [False]
    assert knows(read(toml(failure="['value', 'sign of zero']")), both, value(9, "sign of zero")) == [True, False]


def test_issue_may_state_direction_of_nan(read):
    gives, takes = (Verdict(Status.FAIL, "nan", kinds=(f"{way}",)) for way in ("nan for a number", "a number for nan"))
    assert knows(read(toml(failure="'nan'", ulps=None)), gives, takes, value(1)) == [True, True, False]
    assert knows(read(toml(failure="'nan for a number'", ulps=None)), gives, takes) == [True, False]


def test_says_distinguishes_faults_by_message(read):
    faults = [Verdict(Status.CRASH, "crash", detail=f"exit code {code}") for code in (7, 8)]
    assert knows(read(toml(failure="'crash'", ulps=None, says="'code 7'")), *faults) == [True, False]


def test_passing_or_skipped_case_is_not_known(read):
    assert knows(read(toml()), Verdict(Status.PASS), Verdict(Status.UNSUPPORTED, "value")) == [False, False]


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({}, "emulated/gfx1100 emulated/gfx90a cuda/gfx1100 cuda/gfx90a"),
        ({"runner": "'cuda'"}, "cuda/gfx1100 cuda/gfx90a"),
        ({"runner": "['cu*', 'torch']", "target": "'gfx9*'"}, "cuda/gfx90a"),
        ({"target": "'gfx942'"}, ""),
        ({"toolchain": "['numpy >1', 'hypothesis >=6']", "target": "'gfx90a'"}, "emulated/gfx90a cuda/gfx90a"),
        ({"toolchain": "['numpy >1', 'hypothesis <6']"}, ""),
        ({"toolchain": "'no-such-package'"}, ""),
        ({"toolchain": "'driver >=580'"}, "cuda/gfx1100 cuda/gfx90a"),
    ],
    ids=str,
)
def test_runner_target_and_toolchain_select_columns(read, monkeypatch, changes, places):
    from parity.runners.cuda import CudaRunner

    monkeypatch.setattr(CudaRunner, "describe", lambda self: {"driver": "580.1 open"})
    known = read(toml(**changes))
    assert not known.mistakes
    found = [c for c in COLUMNS if known.mark(record(runner=c.runner, target=c.target)).known]
    assert [f"{c.runner}/{c.target}" for c in found] == places.split()


def test_ops_with_shared_kernel_have_separate_issues(read):
    assert not read(toml()).mark(replace(record(), op="affine.other")).known


def test_issue_is_valid_on_its_expiry_date(read):
    assert knows(read(toml(expires="2026-11-21")), value(1)) == [True]
    known = read(toml(expires="2026-11-20"))
    assert knows(known, value(1)) == [False]
    (late,) = known.review([record()], ())
    assert "expired on 2026-11-20: 1 case failed" in late.complaint


def test_issue_is_reviewed_only_if_its_cases_ran(read):
    known = read(toml(expires="2020-01-01"))
    assert known.review([record(kernel="uneg_f32"), record(Verdict(Status.UNSUPPORTED))], {"affine_f32"}) == ()


def test_failure_known_to_other_entry_is_not_signature_change(read):
    known = read(toml() + toml(failure="'nan'", ulps=None))
    records = [known.mark(record(verdict)) for verdict in (value(1), Verdict(Status.FAIL, "nan", kinds=("nan",)))]
    assert [(each.cases, each.complaint) for each in known.review(records, ())] == [(1, ""), (1, "")]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (toml(cases="'afine'"), "line 2", "did you mean affine"),
        (toml(cases="['affine', 'affine.affin[f32](x=1~mixed@0)']"), "line 2", "did you mean affine.affine"),
        (toml(cases="[]"), "line 2", "not a text or a list of texts"),
        (toml(resaon="'typo'"), "line 7", "did you mean reason"),
        (toml(expires="'2027-06-30'"), "line 6", "not a date; write it as"),
        (toml(expires="2027-06-30T10:00:00"), "line 6", "not a date; write it as"),
        (toml(expires="2027-02-30"), "line 6, column 11", "no known issue applies"),
        (toml(reason=None), "line 1", "reason is missing"),
        (toml(reason="''"), "line 5", "which is blank"),
        (toml(ulps=None), "line 3", "needs 'ulps'"),
        (toml(ulps="-1"), "line 4", "ulps is -1, not a number above 0"),
        (toml(ulps="nan"), "line 4", "ulps is nan, not a number above 0"),
        (toml(target="['gfx1100', 3]"), "line 7", "target[1] is 3, not"),
        (toml(failure="'error'"), "line 3", "needs 'says'"),
        (toml(toolchain="'ziglang 0.17 to 0.18'"), "line 7", "write it like"),
        ("\n\n[[isue]]\n", "line 3", "did you mean issue"),
        ("# mine\n[issue]\ncases = 'affine'\n", "line 2", "two brackets"),
        ("issue = 7\n", "line 1", "two brackets"),
        ("issue = [3]\n", "line 1", "two brackets"),
        ("[[issue]]\ncases = 'affine\n", "line 2, column 16", "no known issue applies"),
        ("issue = [{ cases = 'afine' }]\n", "line 1", "failure is missing"),
        ('[[issue]]\nreason = """\n[[issue]]\n"""\n', "line 1", "cases is missing"),
    ],
    ids=range(22),
)
def test_invalid_file_error_names_line(read, text, place, message):
    """A valid entry follows the invalid one, unless the text is not TOML."""
    inline = text.startswith(("issue", "# mine"))
    known = read(text if inline else f"{text}\n{toml()}")
    (mistake,) = known.mistakes
    assert f"known.toml, {place}: " in mistake
    assert message in mistake
    assert len(known.issues) == (0 if inline or "no known issue" in message else 1)
