"""The corpus of cases next to a case file."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from parity.engine.case_records import Column, Task
from parity.engine.plan import Plan
from parity.op import Entry
from parity.suite.corpus import SUFFIX, add_to_corpus
from parity.suite.loading import load_suite

CASE = "affine.affine[f32](x=4099~normal@0 mul=1.0 add=0.0)"
LAUNCHED = "affine.affine[f32](x=7~normal@0 mul=1.0 add=0.0 launch=3x64)"


@pytest.fixture
def folders(suite, tmp_path):
    """Return the folder of the kernels and a folder with the case file of affine."""
    cases = tmp_path / "cases"
    cases.mkdir()
    shutil.copy(suite.cases / "affine.py", cases)
    return suite.kernels, cases


def drawn(suite, also=()):
    plan = Plan.of(suite, [], {}, examples=1)
    task = Task("affine.affine", ("f32",), (Column("emulated", "gfx1100"),), also=also)
    return plan.draw(suite, task)


def test_added_cases_are_in_every_plan(folders):
    path = folders[1] / "affine.py"
    assert add_to_corpus(path, [("reaches affine.cu:9", CASE)]) == 1
    assert add_to_corpus(path, [("again", CASE), ("another", LAUNCHED)]) == 1
    suite = load_suite(*folders)
    assert suite.problems == ()
    cases = drawn(suite)
    assert cases[-2:] == [("reaches affine.cu:9", CASE), ("another", LAUNCHED)]
    assert suite.found_cases(Entry(suite.op("affine.affine"), ("f16",))) == []


def test_found_cases_that_are_also_recorded_run_once(folders):
    add_to_corpus(folders[1] / "affine.py", [("", CASE)])
    suite = load_suite(*folders)
    assert drawn(suite, also=(("recorded", CASE), ("recorded", LAUNCHED))) == [*drawn(suite), ("recorded", LAUNCHED)]


def test_host_launches_exclude_cases_with_launch(folders):
    add_to_corpus(folders[1] / "affine.py", [("", CASE), ("", LAUNCHED)])
    suite = dataclasses.replace(load_suite(*folders), launches="host")
    assert [text for _, text in suite.found_cases(Entry(suite.op("affine.affine"), ("f32",)))] == [CASE]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("affine.affine[f32](x=5~normal@0 mul=1.0)", "'add' is missing"),
        ("affine.other[f32](x=5)", "there is no op 'affine.other'"),
        ("what is this", "is not a case"),
    ],
)
def test_invalid_case_is_reported_and_skipped(folders, line, said):
    file = (folders[1] / "affine.py").with_suffix(SUFFIX)
    file.write_text(f"# a comment\n\n{line}\n{CASE}  # stays\n")
    suite = load_suite(*folders)
    (problem,) = suite.problems
    assert f"{file}:3: the case is left out" in problem and said in problem
    assert drawn(suite)[-1] == ("stays", CASE)
