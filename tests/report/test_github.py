"""GitHub annotations: locations and escaping."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord
from parity.op import Op
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction
from parity.report.github import github_annotations
from parity.suite.loading import Suite

RACE = Verdict(Status.FAIL, "data race", detail="data race at deep.cuh:2, 100 %\nsecond, at deep.cuh:1")
exp = Op("unary.exp", kernel="uexp_{T}", types=("f32",), args="x out", inputs={"x": "T"})
RECORD = CaseRecord("unary.exp[f32](x=1)", "unary.exp", "uexp_f32", "unary", "emulated", "gfx1100", "emulated", RACE)


@pytest.fixture
def annotated(tmp_path):
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "deep.cuh").write_text("one\ntwo\n")
    (folder / "unary.cu").write_text("// uexp_f32 is defined here:\nOP(float, uexp_f32)\n")
    sources = SourceFolders.of(Suite(folder, tmp_path, {"unary.exp": exp}))

    def lines(*records, root=tmp_path):
        return [*github_annotations(records, Reproduction(), sources, root)]

    return lines


def test_annotation_uses_line_named_by_message(annotated):
    (line,) = annotated(RECORD)
    place, _, text = line.removeprefix("::").partition("::")
    assert place == "error file=kernels/deep.cuh,line=2,title=uexp_f32 on gfx1100 (emulated)%3A data race"
    assert "\n" not in text and "100 %25%0A" in text and "parity run 'unary.exp[f32](x=1)'" in text


def test_annotation_of_wrong_value_uses_line_of_kernel(annotated):
    (line,) = annotated(replace(RECORD, verdict=Verdict(Status.FAIL, "value")))
    assert line.startswith("::error file=kernels/unary.cu,line=2,title=")


def test_annotation_outside_checkout_has_no_file(annotated, tmp_path):
    (line,) = annotated(RECORD, root=tmp_path / "other")
    assert line.startswith("::error title=")


def test_annotations_are_limited_to_githubs_maximum(annotated):
    failing = [replace(RECORD, kernel=f"k{n}", verdict=replace(RACE, detail=str(n))) for n in range(14)]
    lines = annotated(*failing)
    assert len(lines) == 11 and "4 more failures" in lines[-1]
