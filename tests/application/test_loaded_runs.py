"""Loading, joining and comparing runs from folders, records, archives and recordings."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace

import pytest

from parity.application.loaded_run import LoadedRun
from parity.cli import main
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import CaseRecord, Column, Provenance
from parity.engine.record_file import RecordWriter, records_without_code
from parity.errors import UsageError
from parity.report.changes import compare_runs
from parity.report.failures import Reproduction
from parity.report.folder import write_reports
from parity.report.matrix import make_matrix

GFX = (Column("emulated", "gfx1100"), Column("emulated", "gfx90a"))
HERE = {
    "versions": {},
    "arguments": ["run", "unary.exp", "--target", "gfx1100"],
    "seed": 7,
    "examples": 5,
    "sources": {},
}
PASS = Verdict(Status.PASS, budget=0.25, ulps=1.0, total=3, allowed=True)
FAIL = Verdict(Status.FAIL, "value", budget=3.0, total=3, wrong=1)


@pytest.fixture(scope="module")
def entries(suite):
    return suite.select(["unary.exp"]).entries


@pytest.fixture
def written(entries, tmp_path):
    """Return a function that writes an output folder with failed kernels; ``changes`` sets other verdicts."""

    def write(name, failing=(), columns=GFX, changes=None, only=None, uncompiled=False):
        verdicts = dict.fromkeys(failing, FAIL) | (changes or {})
        records = [
            CaseRecord.of(
                entry, column, f"{entry.op.name}[{entry.dtypes[0]}](x=3~mixed@{n})", verdicts.get(entry.kernel, PASS)
            )
            for entry in entries
            if only is None or entry.kernel in only
            for column in columns
            for n in range(2)
        ]
        absent = (
            records_without_code(entries, columns, {("unary", "gfx90a"): "unary.cu:1:1: error"}) if uncompiled else []
        )
        folder = tmp_path / name
        with RecordWriter(folder / "record.jsonl", HERE) as writer:
            for record in records:
                writer.add(record)
        matrix = make_matrix(entries, columns, [*records, *absent], provenance=Provenance(2.0, 7, 5))
        write_reports(folder, matrix, records, Reproduction())
        return folder

    return write


def test_output_folder_round_trips(written):
    found = LoadedRun.read(written("one", ["uexp_f32"]))
    assert len(found.matrix.kernels) == 5 and len(found.records) == 20
    assert {c.state for k in found.matrix.kernels for c in k.cells} == {"pass", "fail"} and found.date


def without_end(folder):
    """Remove the matrix and the last line of the record, as if the run had been killed; return the folder."""
    (folder / "matrix.json").unlink()
    record = folder / "record.jsonl"
    record.write_text("".join(record.read_text().splitlines(keepends=True)[:-1]))
    return folder


def test_killed_run_gets_matrix_from_record(written):
    folder = written("killed", ["uexp_f32"])
    whole = LoadedRun.read(folder).matrix
    found = LoadedRun.read(without_end(folder)).matrix
    assert not found.complete and [k.cells for k in found.kernels] == [k.cells for k in whole.kernels]
    assert (found.seed, found.examples, found.columns[0].vendor) == (7, 5, "amd")


def test_matrix_of_older_version_is_read(written):
    folder = written("older")
    path = folder / "matrix.json"
    text = json.loads(path.read_text())
    for kernel in text["kernels"]:
        for cell in kernel["cells"]:
            del cell["unreferenced"], cell["baseline"], cell["by"]
    path.write_text(json.dumps(text))
    assert LoadedRun.read(folder).matrix.kernels[0].cells[0].baseline == 0


def test_zip_of_output_folder_is_read(written, tmp_path):
    folder = written("one")
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"parity-out/{path.name}")
    assert LoadedRun.read(tmp_path / "one.zip").matrix == LoadedRun.read(folder).matrix
    with zipfile.ZipFile(tmp_path / "one.zip", "a") as archive:
        archive.write(folder / "record.jsonl", "other/record.jsonl")
    with pytest.raises(UsageError, match="has several runs"):
        LoadedRun.read(tmp_path / "one.zip")


def test_damaged_zip_of_output_folder_raises_usage_error(written, tmp_path):
    path = tmp_path / "one.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(written("one") / "record.jsonl", "record.jsonl")
    path.write_bytes(path.read_bytes().replace(b"versions", b"Versions", 1))
    with pytest.raises(UsageError, match=r"one\.zip is not a ZIP file of a run .* truncated or altered \(Bad CRC"):
        LoadedRun.read(path)


@pytest.mark.parametrize("name", ["none", "empty", "text.jsonl"])
def test_invalid_run_raises_usage_error(name, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.jsonl").write_text("text\n")
    with pytest.raises(UsageError, match=r"there is no|has no record|not a record"):
        LoadedRun.read(tmp_path / name)


def test_joined_runs_have_columns_of_all(written):
    one, other = written("one", columns=GFX[:1]), written("other", ["uexp_f16"], columns=GFX[1:], only=["uexp_f16"])
    found = LoadedRun.joined([LoadedRun.read(one), LoadedRun.read(other)])
    states = {k.kernel: [c.state for c in k.cells] for k in found.matrix.kernels}
    assert states["uexp_f16"] == ["pass", "fail"] and states["uexp_f32"] == ["pass", "could not run"]
    assert (found.matrix.cases, found.matrix.failed, len(found.records)) == (12, 2, 12)


def test_joined_runs_use_later_result(written):
    one, other = written("one", ["uexp_f32"]), written("again", only=["uexp_f32"])
    found = LoadedRun.joined([LoadedRun.read(one), LoadedRun.read(other)])
    assert {c.state for k in found.matrix.kernels for c in k.cells} == {"pass"}
    assert len(found.records) == 20 and not any(record.verdict.failed for record in found.records)


def changes_of(one, other):
    found = compare_runs(LoadedRun.read(one), LoadedRun.read(other))
    return {(each.kernel, each.column): each.kind for each in found.changed}, found


def test_comparison_lists_kernels_and_cases(written):
    moved = {"uexp_f64": replace(PASS, budget=0.5), "uexp_bf16": replace(PASS, ulps=2.0)}
    one, other = written("one", ["uexp_f16"]), written("other", ["uexp_f32"], changes=moved)
    kinds, found = changes_of(one, other)
    assert {kernel: kind for (kernel, _), kind in kinds.items()} == {
        "uexp_f16": "mended",
        "uexp_f32": "broken",
        "uexp_f64": "changed",
        "uexp_bf16": "changed",
    }
    assert next(iter(kinds.values())) == "broken" and found.worse
    assert found.counts == {"broken": 2, "mended": 2, "changed": 4, "unchanged": 2, "added": 0, "removed": 0}
    assert sorted(each.kind for each in found.cases) == ["broken"] * 4 + ["mended"] * 4


def test_columns_and_kernels_of_one_run_are_added_or_removed(written):
    one, other = written("one", columns=GFX[:1]), written("other", only=["uexp_f32"], columns=GFX)
    kinds, found = changes_of(one, other)
    assert kinds["uexp_f32", "gfx90a emulated"] == "added" and kinds["uexp_f16", "gfx1100 emulated"] == "removed"
    assert not found.worse  # a kernel or column that was not requested is not a regression


def test_kernel_that_stops_compiling_is_broken(written):
    one, other = written("one", columns=GFX[1:]), written("other", columns=GFX[1:], only=[], uncompiled=True)
    kinds, found = changes_of(one, other)
    assert set(kinds.values()) == {"broken"} and found.worse


def test_compare_command_exit_code_reports_regressions(written, capsys):
    one, other = written("one"), written("other", ["uexp_f32"])
    assert main(["compare", str(one), str(other)]) == 1
    text = capsys.readouterr().out
    assert "broken  uexp_f32  gfx1100 emulated  pass -> fail" in text and "worse: kernels in columns: 2 broken" in text
    assert main(["compare", str(other), str(one)]) == 0
    assert "2 mended" in capsys.readouterr().out
    assert text.isascii() and "broken: unary.exp[f32](x=3~mixed@0) on gfx1100 emulated: pass -> fail (value)" in text
    fewer = written("fewer", only=["uexp_f32"])
    assert main(["compare", str(one), str(fewer)]) == 0
    assert "removed: " not in (text := capsys.readouterr().out) and "16 cases have another outcome" in text
    assert main(["compare", str(one), str(fewer), "--full"]) == 0
    assert capsys.readouterr().out.count("removed: ") == 16
    assert main(["compare", str(one), str(other), "--markdown"]) == 1
    assert "| broken   | `uexp_f32` |" in capsys.readouterr().out
    assert main(["compare", str(one), str(other), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["worse"], found["counts"]["broken"]) == (True, 2) and found["kernels"][0]["after"]["state"] == "fail"
    assert main(["compare", str(one), str(one / "none")]) == 2


def test_compare_command_does_not_pass_without_complete_comparison(written, capsys):
    one, apart = written("one", columns=GFX[:1]), written("apart", columns=GFX[1:])
    assert main(["compare", str(one), str(apart)]) == 3
    assert "have no kernel in a common column, so nothing was compared" in capsys.readouterr().err
    early = written("early", columns=GFX[:1])
    assert main(["compare", str(one), str(early / "record.jsonl")]) == 0
    assert main(["compare", str(one), str(without_end(early))]) == 3
    assert "early ended early" in capsys.readouterr().err


def test_report_reproduces_with_options_of_run(written, data_of, capsys):
    folder = written("one", ["uexp_f32"])
    (folder / "report.html").unlink()
    assert main(["report", str(folder), "--against", str(written("before"))]) == 0
    assert capsys.readouterr().out == f"report: {folder / 'report.html'}\n"
    data = data_of((folder / "report.html").read_text())
    assert data["failures"][0]["again"] == "parity run 'unary.exp[f32](x=3~mixed@0)' --target gfx1100"
    assert data["comparison"]["counts"]["broken"] == 2
    shutil.rmtree(folder)
    assert main(["report", str(folder)]) == 2 and "there is no" in capsys.readouterr().err


def test_recording_is_judged_when_loaded(tmp_path):
    small = tmp_path / "small.zip"
    assert (
        main(
            ["record", "affine_f32", "--runner", "emulated", "--examples", "1", "--target", "gfx1100", "-o", str(small)]
        )
        == 0
    )
    found = LoadedRun.read(small)
    states = {k.kernel: k.cells[0].state for k in found.matrix.kernels if k.cells[0].run}
    assert states == {"affine_f32": "pass"}
