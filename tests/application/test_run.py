"""Runs through the Python interface: their steps, results and stored results."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

import parity
from parity.errors import UsageError
from parity.report.frames import CASE_TYPES, case_frame
from parity.suite import sample_cache

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def folder(suite, tmp_path_factory):
    """A folder with the suite's kernels and a fault in one of them."""
    folder = tmp_path_factory.mktemp("run")
    source = Path(shutil.copytree(suite.kernels, folder / "kernels"), "affine.cu")
    right = "wrapping::mul(x, mul), add)"
    assert right in source.read_text()
    source.write_text(source.read_text().replace(right, "wrapping::mul(x, mul), mul)"))
    return folder


@pytest.fixture(scope="module")
def run(suite, folder):
    return parity.Run.of(
        *("affine_f32", "affine_u8", "fill_f32"),
        suite=replace(suite, kernels=folder / "kernels"),
        targets=["gfx1100", "gfx90a"],
        settings=parity.Settings(examples=2, jobs=1),
    )


@pytest.fixture(scope="module")
def results(run, folder):
    return run.build().execute(record=folder / "record.jsonl", arguments=["of", "a test"])


def test_run_describes_its_scope_before_building(run):
    assert [entry.kernel for entry in run.entries] == ["affine_f32", "affine_u8", "fill_f32"]
    assert (run.modules, run.targets) == (["affine", "fill"], ["gfx1100", "gfx90a"])
    assert (run.seed, run.examples, [*run.notes]) == (0, 2, [])


def test_results_have_matrix_and_failures(results):
    assert results.complete and results.seconds > 0 and [*results.notes] == []
    states = {row.kernel: [cell.state for cell in row.cells] for row in results.matrix.rows}
    assert states == {"affine_f32": ["pass"] * 2, "affine_u8": ["FAIL"] * 2, "fill_f32": ["pass"] * 2}
    assert {each.records[0].kernel for each in results.failures} == {"affine_u8"}


def test_results_name_ops_with_few_cases_because_all_are_large(results, monkeypatch):
    monkeypatch.setattr(sample_cache, "_LARGE", -1)
    (note,) = results.notes
    assert note.startswith("few cases of") and note.endswith("all of them are large; --examples 21 runs more"), note


def test_results_frame_has_one_row_per_case(results):
    frame = results.frame()
    assert len(frame) == len(results.records) == results.matrix.executed
    failing = frame[frame.verdict == "fail"]
    assert set(failing.kernel) == {"affine_u8"} and set(failing.failure) == {"value"}
    assert failing.groupby("target", observed=True).size().to_dict() == {
        cell: sum(r.failed for r in results.records if r.target == cell) for cell in ("gfx1100", "gfx90a")
    }
    assert frame.instructions.dtype == "Int64" and frame.instructions.gt(0).sum() > len(frame) / 2
    categories = ["op", "module", "kernel", "dtypes", "runner", "target", "evidence", "verdict", "failure"]
    assert all(isinstance(frame.dtypes[name], pandas.CategoricalDtype) for name in categories)


def test_matrix_frame_has_one_row_per_kernel_and_column(results):
    frame = results.matrix.frame()
    states = frame.pivot(index="kernel", columns="target", values="state")
    assert states.to_dict("index")["affine_u8"] == {"gfx1100": "FAIL", "gfx90a": "FAIL"}
    assert frame.run.sum() == len(results.records) and (frame.passed + frame.failed == frame.run).all()
    assert frame[frame.kernel == "affine_u8"].failures.str.fullmatch(r"value x\d+").all()


def test_measure_frame_has_one_row_per_case_and_target(run):
    found = parity.measure(run.build())
    frame = found.frame()
    assert len(frame) == len(found.measurements) > 0
    assert {*frame.target} == {"gfx1100", "gfx90a"} and {*frame.evidence} == {"emulated"}
    assert frame.instructions.gt(0).all() and frame.share.isna().all()


def test_inspection_frame_has_one_row_per_kernel_and_target(run):
    found = parity.Inspection.of(
        run.suite, run.suite.select(["fill_f32", "affine_f32"]), ["gfx1100", "gfx90a"]
    ).inspect()
    frame = found.frame()
    assert frame.groupby("target", observed=True).size().to_dict() == {"gfx1100": 2, "gfx90a": 2}
    assert (frame.vgprs > 0).all() and (frame.vmem_store > 0).all() and frame.occupancy.between(0, 1).all()


def test_load_returns_stored_results(results, folder):
    for place in (folder, folder / "record.jsonl"):
        stored = parity.load(place)
        assert stored.complete and stored.environment["arguments"] == ["of", "a test"]
        assert list(stored.records) == list(results.records)
        pandas.testing.assert_frame_equal(stored.frame(), results.frame())
        assert [f.records for f in stored.failures] == [f.records for f in results.failures]


def test_differences_lists_changed_cases(results, suite, folder):
    assert parity.differences(results, parity.load(folder)) == []
    right = parity.Run.of("affine_u8", suite=suite, targets=["gfx1100"], settings=parity.Settings(2, jobs=1))
    found = parity.differences(results, right.build().execute())
    kinds = {kind: [each for each in found if each.kind == kind] for kind in ("mended", "removed", "broken")}
    assert sum(map(len, kinds.values())) == len(found)
    wrong = [each for each in results.records if each.failed and each.target == "gfx1100"]
    assert [each.before for each in kinds["mended"]] == wrong and kinds["broken"] == []
    assert {each.record.target for each in kinds["removed"]} == {"gfx1100", "gfx90a"}
    assert str(kinds["mended"][0]).endswith("on gfx1100 emulated: fail (value) -> pass")


def test_recording_is_replayed_and_judged(run, results, folder):
    recorded = parity.record(run.build(), folder / "wrong.zip")
    assert not recorded.stopped and len(recorded.cases) == len(results.records)
    replayed = parity.replay(recorded.file, "affine_u8", suite=run.suite)
    assert {each.records[0].kernel for each in replayed.failures} == {"affine_u8"}
    assert {each.evidence for each in replayed.records} == {"recorded"}


def test_measure_covers_every_kernel_and_target(run):
    measured = parity.measure(run.build())
    assert not measured.stopped
    kernels = [entry.kernel for entry in run.entries]
    assert {(m.kernel, m.target) for m in measured.measurements} == {*itertools.product(kernels, run.targets)}
    assert all(m.instructions or m.problem for m in measured.measurements)


def test_load_of_folder_without_record_raises_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"record.jsonl"):
        parity.load(tmp_path)


def test_closing_stream_ends_run(run):
    stream = run.build().stream()
    first = next(stream)
    stream.close()
    assert first.kernel in ("affine_f32", "affine_u8", "fill_f32")
    assert next(stream, None) is None


def test_interrupted_execute_returns_results_so_far(run):
    def interrupted(record):
        raise KeyboardInterrupt

    found = run.build().execute(each=interrupted)
    assert isinstance(found.stopped, KeyboardInterrupt)
    assert not found.complete and not found.matrix.provenance.complete and len(found.records) == 1


def test_empty_frame_has_all_columns():
    frame = case_frame([])
    assert len(frame) == 0 and [*frame] == [*CASE_TYPES]


def test_notebook_example_runs():
    command = [sys.executable, ROOT / "examples" / "notebook.py"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "\nfailures\nnone\n" in result.stdout and "affine_f16" in result.stdout


def test_public_names_are_sorted_and_documented():
    assert sorted(parity.__all__) == parity.__all__
    assert all(getattr(parity, name).__doc__ for name in parity.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        parity.nothing  # noqa: B018
