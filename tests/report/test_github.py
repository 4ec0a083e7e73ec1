"""Annotations of GitHub Actions: at the line that a message names, and nothing in a text that ends one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.compare import Status, Verdict
from parity.engine import CaseRecord
from parity.report import Reproduction
from parity.report.github import github_annotations
from parity.report.html import SourceFolders

RACE = Verdict(Status.FAIL, "data race", detail="data race at deep.cuh:2, 100 %\nsecond, at deep.cuh:1")
RECORD = CaseRecord("unary.exp[f32](x=1)", "unary.exp", "uexp_f32", "unary", "emulated", "gfx1100", "emulated", RACE)


@pytest.fixture
def annotated(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "deep.cuh").write_text("one\ntwo\n")
    file = folder / "unary.cu"

    def lines(*records, root=tmp_path):
        return [*github_annotations(records, Reproduction(), SourceFolders((folder,)), lambda _: file, root)]

    return lines


def test_a_failure_is_annotated_at_the_line_that_its_message_names(annotated):
    (line,) = annotated(RECORD)
    place, _, text = line.removeprefix("::").partition("::")
    assert place == "error file=kernels/deep.cuh,line=2,title=uexp_f32 on gfx1100 (emulated)%3A data race"
    assert "\n" not in text and "100 %25%0A" in text and "parity run 'unary.exp[f32](x=1)'" in text


def test_a_wrong_value_is_annotated_at_the_file_of_its_kernel(annotated):
    (line,) = annotated(replace(RECORD, verdict=Verdict(Status.FAIL, "value")))
    assert line.startswith("::error file=kernels/unary.cu,line=1,title=")


def test_a_file_outside_of_the_checkout_is_not_named(annotated, tmp_path):
    (line,) = annotated(RECORD, root=tmp_path / "other")
    assert line.startswith("::error title=")


def test_no_more_are_written_than_are_shown(annotated):
    failing = [replace(RECORD, kernel=f"k{n}", verdict=replace(RACE, detail=str(n))) for n in range(14)]
    lines = annotated(*failing)
    assert len(lines) == 11 and "4 more failures" in lines[-1]
