"""``parity mutate``: output, files, errors, and recall in the matrix."""

from __future__ import annotations

import json
import shutil

import pytest

COMMAND = (
    "mutate",
    "fill.fill",
    "--dtype",
    "f32",
    "--in",
    "instruction",
    "--search",
    "0",
    "-j",
    "1",
    "--examples",
    "3",
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "mutants"


def test_mutate_prints_and_stores_results(parity, folder):
    result = parity(*COMMAND, "--count", "5", "--output", folder)
    assert result.code == 0, result.err
    assert "5 faults in 1 kernel on gfx1100, " in result.out and "recall" in result.out
    assert {path.name for path in folder.iterdir()} == {"mutants.jsonl", "recall.json", "recall.md"}
    again = json.loads(parity(*COMMAND, "--count", "5", "--output", folder, "--json").out)
    assert len(again["mutants"]) == 5 and again["recall"]["format"] == "parity recall, version 1"
    assert "5 known from before" in parity(*COMMAND, "--count", "5", "--output", folder).out


def test_run_shows_recall_of_project(parity, folder, tmp_path, kernels):
    assert parity(*COMMAND, "--count", "2", "--output", folder).code == 0
    cases = tmp_path / "cases"
    cases.mkdir()
    shutil.copy("cases/fill.py", cases)
    project = ("--kernels", kernels, "--cases", cases)
    run = ("run", "-vv", "fill_f32", "--target", "gfx1100", "--examples", "1", *project)
    assert "recall:" not in parity(*run).out
    shutil.copy(folder / "recall.json", tmp_path)
    assert " faults that were planted in these kernels on gfx1100 were caught" in parity(*run).out
    assert "faults that were planted" not in parity(*run[:-4], "--kernels", "kernels", "--cases", cases).out
    (tmp_path / "recall.json").write_text("{")
    result = parity(*run)
    assert result.code == 0 and "recall is not shown" in result.err


@pytest.mark.thorough
def test_mutate_without_reference_uses_cuda(parity, library, edit, folder):
    edit(library("declared") / "cases" / "tables.py", "reference=weighted_value,", "")
    result = parity("mutate", "tables.weighted", "--count", "6", "--search", "0", "--output", folder, "-j", "1")
    caught = [json.loads(line) for line in (folder / "mutants.jsonl").read_text().splitlines()[1:]]
    assert result.code == 0 and any(each["verdict"] == "value" for each in caught)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kind", "bariers"), "did you mean barrier"),
        (("--count", "0"), "not a number of at least 1"),
        (("--search", "-1"), "is not a number"),
        (("--target", "sm_90"), "sm_90"),
    ],
)
def test_mutate_wrong_usage_is_explained(parity, folder, arguments, said):
    result = parity(*COMMAND, "--output", folder, *arguments)
    assert result.code in (2, 3) and said in result.err and "Traceback" not in result.err
