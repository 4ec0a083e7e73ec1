"""The gallery of bugs in public ports: each project fails before its fix, without a reference, and passes after it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import parity
from gallery.__main__ import HERE, Bug, Outcome, bugs, execute, main, mistake
from parity.errors import display_path

PAGE = HERE.parent / "docs" / "gallery.md"
BUGS = {bug.name: bug for bug in bugs()}
CHEAP = ("subwarp-mask", "launch-bounds")
PROJECTS = [
    pytest.param(bug, id=name, marks=() if name in CHEAP else pytest.mark.thorough) for name, bug in BUGS.items()
]


@pytest.mark.parametrize("state", ["before", "after"])
@pytest.mark.parametrize("bug", PROJECTS)
def test_project_fails_before_fix_and_passes_after(bug: Bug, state: str) -> None:
    outcome = execute(bug, state, parity.Settings(examples=4 if bug.name in CHEAP else None))
    assert not mistake(bug, state, outcome), outcome.said
    if bug.failure and state == "before":
        shown = (bug.folder / "README.md").read_text().partition("```\n")[2].partition("\n```")[0]
        said = _without_addresses(outcome.said.replace(f"{display_path(bug.folder)}/", ""))
        missing = [line for line in _without_addresses(shown).splitlines() if line.removesuffix(" ...") not in said]
        assert shown and not missing


def _without_addresses(text: str) -> str:
    """Leave out addresses in device memory, which depend on what else the process has mapped."""
    return re.sub(r"\b0x7[0-9a-f]{8,}", "0x7", text)


def test_table_lists_every_project_with_its_files() -> None:
    folders = sorted(path.parent.name for path in HERE.glob("*/pyproject.toml"))
    assert folders == sorted(BUGS)
    for bug in BUGS.values():
        (module,) = (path.stem for path in (bug.folder / "cuda").iterdir())
        files = {path.relative_to(bug.folder).as_posix() for path in bug.folder.rglob("*") if path.is_file()}
        expected = {f"before/{module}.hip", f"after/{module}.hip", f"cuda/{module}.cu", f"{module}.py", "README.md"}
        assert {name for name in files if not name.endswith(".pyc")} == {*expected, "pyproject.toml"}
        assert bug.link in (bug.folder / "README.md").read_text()


def test_page_lists_every_project_with_its_report() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| [")]
    told = [(row.partition("]")[0][3:], row) for row in rows if "(../gallery/" in row]
    assert [name for name, _ in told] == list(BUGS)
    for name, row in told:
        assert f"(../gallery/{name}/README.md)" in row and BUGS[name].link in row
        assert (BUGS[name].failure or "not found") in row


BUG = Bug("one", "kind", "link", "what", ("gfx90a",), ("gfx1100",), "value", "correct only")
FOUND = Outcome(
    {
        "sm_90": frozenset({"baseline"}),
        "gfx90a": frozenset({"FAIL", "value"}),
        "gfx1100": frozenset({"pass"}),
    },
    "... correct only at width 32",
)


def test_mistake_of_expected_outcome_is_empty() -> None:
    assert mistake(BUG, "before", FOUND) == ""


@pytest.mark.parametrize(
    ("target", "cell", "says"),
    [
        ("gfx90a", {"pass"}, "gfx90a pass, expected: value"),
        ("gfx90a", {"FAIL", "nan"}, "gfx90a nan, expected: value"),
        ("gfx1100", {"FAIL", "value"}, "gfx1100 value, expected: pass"),
        ("sm_90", {"FAIL", "LDS limit"}, "sm_90 LDS limit, expected: baseline"),
    ],
)
def test_mistake_of_different_outcome_names_target_and_states(target: str, cell: set[str], says: str) -> None:
    assert mistake(BUG, "before", replace(FOUND, cells={**FOUND.cells, target: frozenset(cell)})) == says


def test_mistake_reports_missing_target_and_missing_text() -> None:
    assert mistake(BUG, "before", replace(FOUND, cells={})) == "gfx90a nothing, expected: value"
    assert mistake(BUG, "before", replace(FOUND, said="")) == "it does not say: correct only"


def test_mistake_reports_failure_after_fix() -> None:
    assert mistake(BUG, "after", FOUND) == "gfx90a value, expected: pass"


def test_main_with_unknown_project_lists_projects(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gallery", "lcok"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "no project is named 'lcok'; there are rms-norm" in capsys.readouterr().err
