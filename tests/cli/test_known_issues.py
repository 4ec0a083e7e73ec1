"""Known issues: the failures that they cover, and errors in their files."""

from __future__ import annotations

import json
import re

import pytest

from parity.engine.record_file import read_record

RUN = ("run", "-v", "affine_f32", "affine_f16", "--target", "gfx1100", "-j", "1")
CASE = "affine.affine[f32](x=3~normal@5 mul=2.0 add=0.5)"
ISSUE = {
    "cases": "affine_f32",
    "failure": ["value", "infinity"],
    "ulps": "1e18",
    "reason": "subtracts",
    "link": "https://example.org/7",
    "expires": "9999-12-31",
}


def toml(**changes):
    """Return an entry of the file; None omits a key."""
    pairs = {key: value for key, value in {**ISSUE, **changes}.items() if value is not None}
    bare = ("ulps", "expires")
    lines = (f"{key} = {value if key in bare else json.dumps(value)}" for key, value in pairs.items())
    return "\n".join(["[[issue]]", *lines, "", ""])


def spoiled(kernels, expression):
    """Edit the kernels so that only affine_f32 is wrong."""
    path = kernels / "affine.cu"
    text = path.read_text()
    assert "AFFINE_FLOAT(f32)" in text
    path.write_text(text.replace("AFFINE_FLOAT(f32)", f"AFFINE(f32, {expression})"))
    return kernels


@pytest.fixture
def faulty(kernels):
    return spoiled(kernels, "x * mul - add")


@pytest.fixture
def known(parity, tmp_path):
    """Return a function that runs affine with the given text as the file of known issues."""

    def run(text, *arguments, command=RUN):
        path = tmp_path / "known.toml"
        path.write_text(text)
        return parity(*command, "--known-issues", path, *arguments)

    return run


def test_known_issue_does_not_fail_run(known, faulty, tmp_path):
    result = known(toml(), "--kernels", faulty, "-vv")
    assert result.code == 0
    assert "FAIL" not in result.out.partition("\n\nFAIL  ")[0]
    (line,) = [line for line in result.out.splitlines() if line.startswith("  affine_f32")]
    assert line.split()[2] == "known"
    assert " 0 failed, 2" in result.out  # both failures are known
    assert f"{tmp_path / 'known.toml'}, line 1: affine_f32, " in result.out
    assert "on gfx1100 emulated: subtracts (https://example.org/7); until 9999-12-31" in result.out
    out = tmp_path / "out"
    cases = [case for case in read_record(out / "record.jsonl").records if case.known]
    assert {case.kernel for case in cases} == {"affine_f32"}
    assert {case.minimal for case in cases} == {None}
    data = json.loads((out / "matrix.json").read_text())
    assert (data["failed"], data["known"]) == (0, len(cases))
    assert data["cases"] == data["passed"] + data["known"]
    assert [(each["known"], each["complaint"]) for each in data["known_issues"]] == [(len(cases), "")]
    (cell,) = (k["cells"][0] for k in data["kernels"] if k["kernel"] == "affine_f32")
    assert (cell["state"], cell["failed"], sum(cell["known"].values())) == ("known", 0, len(cases))
    assert "https://example.org/7" in (out / "matrix.md").read_text()
    assert f"affine_f32 value: parity run '{cases[0].case}'" in (out / "failures.txt").read_text()
    assert json.loads(known(toml(), "--kernels", faulty, "--json").out)["failures"] == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ulps": "4"}, "ULP, more than 4"),
        pytest.param({"failure": "nan"}, "value, not nan", marks=pytest.mark.thorough),
        pytest.param({"failure": ["out-of-bounds read"]}, "not out-of-bounds read", marks=pytest.mark.thorough),
        pytest.param({"says": "some message"}, "does not contain 'some message'", marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_known_issue_with_other_signature_fails_run(known, faulty, changes, message):
    result = known(toml(**changes), "--kernels", faulty)
    assert result.code == 1
    assert "FAIL  affine_f32 on gfx1100" in result.out
    (line,) = [line for line in result.out.splitlines() if "known.toml, line 1: " in line]
    assert "has another signature on gfx1100: " in line
    assert message in line
    assert "1 known issue to look at" in result.out


@pytest.mark.thorough
def test_known_issue_case_does_not_replace_unknown_failure(known, kernels, tmp_path):
    """Elements above 2 are off by 1000 ULP and others by 1 ULP, so the simplest failing case is a known failure."""
    off = "__float_as_uint(x * mul + add) + (x > 2.0f ? 1000u : 1u)"
    spoiled(kernels, f"__uint_as_float({off})")
    result = known(toml(failure=["value", "nan"], ulps="1"), "--kernels", kernels)
    assert result.code == 1
    cases = read_record(tmp_path / "out" / "record.jsonl").records
    assert any(case.known for case in cases)
    failed = [case for case in cases if case.failed]
    assert min(case.verdict.ulps for case in failed if case.verdict.kind == "value") > 1
    minimal = [case.minimal.verdict for case in failed if case.minimal]
    assert min(each.ulps for each in minimal if each.kind == "value") > 1


def test_known_issue_expired_fails_run(known, faulty):
    result = known(toml(expires="2020-02-29"), "--kernels", faulty)
    assert result.code == 1
    assert "line 1: affine_f32 expired on 2020-02-29: " in result.out
    assert "FAIL  affine_f32" in result.out
    assert known(toml(expires="2020-02-29")).code == 1  # an expired issue fails even a passing run


def test_known_issue_that_no_longer_fails_is_error(known):
    result = known(toml() + toml(cases="affine_u8"))
    assert result.code == 1
    (line,) = [line for line in result.out.splitlines() if "known.toml" in line]
    assert "line 1: affine_f32 no longer fails on gfx1100 emulated: " in line
    assert "FAIL" not in result.out.partition("\n\nFAIL  ")[0]


def test_known_issue_in_partial_run_is_not_stale(known):
    of_others = toml() + toml(cases="affine")
    assert known(toml(), "--examples", "2").code == 0
    assert known(of_others, command=("run", CASE, "affine_f16", "--target", "gfx1100", "-j", "1")).code == 0


def test_known_issue_case_is_always_run(known, faulty, tmp_path):
    result = known(toml(cases=[CASE, "affine_f32"]), "--kernels", faulty, "--examples", "1")
    assert result.code == 0
    assert CASE in {case.case for case in read_record(tmp_path / "out" / "record.jsonl").records if case.known}
    assert known(toml(cases=CASE), "--kernels", faulty, "--examples", "1").code == 1  # other cases fail as well
    result = known(toml(cases=[CASE, "affine_f32"]), "--examples", "1")
    assert result.code == 1
    assert "no longer fails" in result.out


@pytest.mark.thorough
def test_known_issue_applies_to_its_runner(known, parity, faulty, tmp_path):
    few = ("--kernels", faulty, "--examples", "1")
    assert parity("record", "-o", tmp_path / "a.zip", *RUN[2:], "--runner", "emulated", *few).code == 0
    both = ("--runner", "emulated", "--runner", f"recorded={tmp_path / 'a.zip'}", *few)
    result = known(toml(runner="recorded", target="gfx11*", toolchain="ziglang >=0.1"), *both, "-vv")
    assert result.code == 1
    (line,) = [line for line in result.out.splitlines() if line.startswith("  affine_f32")]
    assert re.search(r" FAIL .* known ", line)
    assert "FAIL  affine_f32 on gfx1100 (emulated)" in result.out
    assert "FAIL  affine_f32 on gfx1100 (recorded)" not in result.out


def test_known_issues_file_mistake_names_line(known):
    result = known(toml(cases="afine") + toml(cases="affine_f16"), "--examples", "1")
    said = " ".join(result.err.split())
    assert result.code == 2
    assert "known.toml, line 2: 'afine' names no op, module or kernel entry; did you mean affine" in said
    assert "Traceback" not in said
    assert "2 kernels, " in result.out
    assert " 0 failed" in result.out


def test_known_issues_file_of_project_is_used_and_missing_file_is_refused(
    parity, faulty, affine_cases, tmp_path, monkeypatch
):
    settings = f'[tool.parity]\nkernels = "{faulty}"\ncases = "{affine_cases}"\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    (tmp_path / "known-issues.toml").write_text(toml())
    monkeypatch.chdir(tmp_path)
    run = ("run", "-v", "affine_f32", "--target", "gfx1100", "--examples", "1", "-j", "1")
    assert parity(*run).code == 0
    (tmp_path / "pyproject.toml").write_text(f'{settings}known-issues = "ours.toml"\n')
    assert "cannot read the known issues ours.toml" in parity(*run, "--dtype", "f32").err


def test_known_issue_covers_compile_error(known, kernels):
    path = kernels / "fill.cu"
    path.write_text(path.read_text() + "\n__device__ int broken = undeclared;\n")
    run = (
        "run",
        "-v",
        "fill.fill",
        "affine_u8",
        "--target",
        "gfx1100",
        "--examples",
        "1",
        "-j",
        "1",
        "--kernels",
        kernels,
    )
    issue = {"cases": "fill", "failure": "compile error", "ulps": None}
    result = known(toml(**issue, says="identifier 'undeclared'"), command=run)
    assert result.code == 0
    assert "COMPILE ERROR" not in result.out
    assert "line 1: fill, " in result.out
    result = known(toml(**issue, says="another error"), command=run)
    assert result.code == 1
    assert "COMPILE ERROR" in result.out
    assert "has another signature on gfx1100: its message does not contain 'another error'" in result.out
