"""Results as JUnit XML."""

from __future__ import annotations

import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord, Column
from parity.engine.known_issues import Issue, IssueDeclaration, KnownIssues
from parity.engine.record_file import records_without_code
from parity.report.failures import Reproduction
from parity.report.junit import junit
from parity.report.matrix import make_matrix

COLUMNS = (Column("emulated", "gfx1100"), Column("recorded", "sm_90", "recorded", "cuda", "recorded=a.zip"))
AGAIN = Reproduction("parity run")


def record(entry, verdict, **more):
    return CaseRecord.of(entry, COLUMNS[0], "unary.neg[f32](x=1~mixed@0)", verdict, **more)


@pytest.fixture
def suites(suite):
    """Return a function that writes one record per kernel of unary.neg as JUnit XML and returns the suites by name."""
    entries = suite.select(["unary.neg"]).entries

    def read(*made, known=None, drawn=(), errors=None, missing=None):
        records = [
            record(entry, *each) if isinstance(each, tuple) else each(entry)
            for entry, each in zip(entries, made, strict=False)
        ]
        absent = records_without_code(entries, COLUMNS, errors or {}, missing)
        issues = known.review(records, drawn) if known else ()
        matrix = make_matrix(entries, COLUMNS, [*records, *absent], issues=issues)
        root = ElementTree.fromstring(junit(matrix, records, AGAIN))
        assert root.tag == "testsuites"
        return {each.get("name"): each for each in root}

    return read


def counts(suite):
    return {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}


def test_junit_shows_states_of_kernels(suites):
    fault = Verdict(Status.FAIL, "out-of-bounds read", detail="of 4 bytes\x00 \x1b[31m <here> & there")
    found = suites((Verdict(Status.PASS, total=1),), (fault,), (Verdict(Status.MISSING, "missing kernel"),))
    assert list(found) == ["gfx1100 emulated", "sm_90 recorded"]
    emulated = found["gfx1100 emulated"]
    tests = emulated.findall("testcase")
    assert counts(emulated) == {"tests": len(tests), "failures": 1, "errors": 1, "skipped": len(tests) - 3}
    assert {test.get("classname") for test in tests} == {"unary.neg"}
    assert len({test.get("name") for each in found.values() for test in each.findall("testcase")}) == 2 * len(tests)
    passed, failed, missing, *rest = tests
    assert list(passed) == []
    failure = failed.find("failure")
    assert failure.get("message") == "FAIL: out-of-bounds read x1"
    assert r"of 4 bytes\x00 \x1b[31m <here> & there" in failure.text
    assert "parity run 'unary.neg[f32](x=1~mixed@0)'" in failure.text
    assert missing.find("error").get("message") == "MISSING KERNEL: missing kernel x1"
    assert {test.find("skipped").get("message") for test in rest} == {"NOT RUN: no case of it could be executed"}
    assert [each.get("value") for each in found["sm_90 recorded"].iter("property")] == ["recorded=a.zip", "0"]


def test_junit_contains_compiler_message(suites):
    found = suites(errors={("unary", "gfx1100"): "unary.cu:3:5: error: no such thing"})["gfx1100 emulated"]
    assert counts(found)["errors"] == counts(found)["tests"] > 1
    error = found.find("testcase/error")
    assert error.get("message") == "COMPILE ERROR" and "unary.cu:3:5: error: no such thing" in error.text


def test_junit_missing_module_is_error_with_file(suites):
    found = suites(missing={"unary": Path("src/unary.cu")})
    assert counts(found["gfx1100 emulated"])["errors"] == counts(found["gfx1100 emulated"])["tests"] > 1
    error = found["gfx1100 emulated"].find("testcase/error")
    assert error.get("message") == "MISSING KERNEL: missing kernel x1" and "there is no src/unary.cu" in error.text
    assert counts(found["sm_90 recorded"])["errors"] == 0


def test_junit_known_issue_is_skipped_unless_it_has_complaint(suites, suite):
    met, mended = suite.select(["unary.neg"]).entries[:2]
    columns = frozenset({("emulated", "gfx1100")})
    issues = tuple(
        Issue(f"known.toml, line {line}",
              IssueDeclaration(entry.name, "value", "why", datetime.date(2030, 1, 1)), False,
              kernels=frozenset({(entry.op.name, entry.kernel)}), columns=columns)
        for line, entry in ((1, met), (9, mended))
    )  # fmt: skip
    found = suites(
        lambda entry: record(entry, Verdict(Status.FAIL, "value"), known=issues[0].location),
        (Verdict(Status.PASS, total=1),),
        known=KnownIssues(issues),
        drawn={mended.kernel},
    )
    first = found["gfx1100 emulated"].find("testcase")
    assert first.find("skipped").get("message") == "known: value x1 (known.toml, line 1)"
    assert counts(found["gfx1100 emulated"])["failures"] == 0
    assert counts(found["known issues"]) == {"tests": 2, "failures": 1, "errors": 0, "skipped": 1}
    assert "no longer fails" in found["known issues"].find(".//failure").get("message")
