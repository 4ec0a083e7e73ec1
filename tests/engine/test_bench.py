"""Benchmarks on a runner with fabricated times and emulated values."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parity.build.modules import build
from parity.engine.bench import Ceilings, Measurement, bench
from parity.engine.plan import Plan, make_tasks, runnable_tasks, runner_columns
from parity.errors import NotAvailable
from parity.model.launch import Fault
from parity.runners import runner
from parity.runners.emulated import EmulatedSession


@pytest.fixture
def measured(suite):
    """Return a function that measures selected kernels; it measures the ceilings first."""

    def do(*selectors, spec="stopwatch", kernels=None, **options):
        selection = suite.select(selectors)
        columns = runner_columns(runner(spec), ["gfx1100"], spec)
        modules = sorted({e.op.module for e in selection.entries} | {c.op.partition(".")[0] for c in selection.cases})
        built = build(kernels or suite.kernels, modules, ["gfx1100"])
        code = {(b.module, columns[0]): b.code_object for b in built if b.code_object}
        tasks = runnable_tasks(make_tasks(selection, columns), suite, code)
        return list(bench(Plan.of(suite, tasks, code, examples=2), suite, **options))

    return do


def test_ceilings_equal_work_divided_by_time(stopwatch, measured):
    ceilings, *_ = measured("uneg_f32")
    assert isinstance(ceilings, Ceilings)
    assert ceilings.copy == pytest.approx(2 * 2**30 / 5e-4)
    assert ceilings.f32 == pytest.approx(2 * 2**14 * 256 * 512 * 8 / 6e-4)
    assert ceilings.f64 == pytest.approx(ceilings.f32 / 2)
    assert (ceilings.empty, ceilings.host) == (2e-6, 6e-6)


def test_share_of_memory_bound_kernel_follows_copy_rate(stopwatch, measured):
    stopwatch(uneg_f32=2 * 1.25e-4)
    _, m = measured("uneg_f32")
    assert (m.bytes, m.operations, m.elements) == (2**29, 2**26, 2**26)
    assert (m.bound, m.share) == ("copy", pytest.approx(0.5))


@pytest.mark.thorough
def test_bound_of_compute_heavy_kernel_is_flops(stopwatch, measured):
    stopwatch(conv2d_f64=1e-3)
    ceilings, m = measured("conv2d_f64")
    assert m.bound == "FLOPs"
    assert m.rate == ceilings.f64
    assert m.share == pytest.approx(m.operations / ceilings.f64 / 1e-3)


def test_each_measurement_runs_between_two_copies(stopwatch, measured):
    watch = stopwatch()
    measured("uneg_f32", "uabs_f32")
    assert watch.timed == ["nothing", "copy", "fma_f32", "fma_f64", "copy", "uneg_f32", "copy", "uabs_f32", "copy"]


def test_drift_during_measurement_repeats_it(stopwatch, measured):
    watch = stopwatch(copy=[5e-4, 5e-4, 6e-4], uneg_f32=[1e-3, 2e-4])
    _, m = measured("uneg_f32")
    assert watch.timed[-4:] == ["uneg_f32", "copy", "uneg_f32", "copy"]
    assert m.timings.cold.median == 2e-4
    assert (m.notes, m.drift) == ((), 0)
    assert m.copy == pytest.approx(2 * 2**30 / 6e-4)


def test_persistent_drift_adds_note(stopwatch, measured):
    stopwatch(copy=[5e-4, 5e-4, 6e-4, 8e-4])
    _, m = measured("uneg_f32")
    assert m.notes == ("the copies before and after differ by 25.0 %",)
    assert m.error > 0.12


@pytest.fixture
def wrong(suite, tmp_path):
    """A suite whose ``affine`` kernels are wrong."""

    def spoil(expression):
        folder = Path(shutil.copytree(suite.kernels, tmp_path / "kernels"))
        text = (folder / "affine.cu").read_text()
        assert "x * mul + add" in text
        (folder / "affine.cu").write_text(text.replace("x * mul + add", expression))
        return folder

    return spoil


def test_failing_kernel_is_not_timed(stopwatch, measured, wrong):
    watch = stopwatch()
    _, m = measured("affine_f32", kernels=wrong("x * add + mul"))
    assert (m.timings, m.share) == (None, None)
    assert m.problem == "not measured, because it fails here: value"
    assert "affine_f32" not in watch.timed


def test_fault_while_timing_becomes_problem_of_kernel(stopwatch, measured):
    stopwatch(uneg_f32=Fault("timeout", "no end within 62 s", True))
    _, neg, abs_ = measured("uneg_f32", "uabs_f32")
    assert (neg.problem, neg.timings) == ("timeout: no end within 62 s", None)
    assert abs_.share


def test_zero_elapsed_time_is_reported_as_problem(stopwatch, measured):
    stopwatch(uneg_f32=0.0)
    assert measured("uneg_f32")[1].problem == "no time passed between the events around the launch"


def test_failing_copy_raises_not_available(stopwatch, measured):
    stopwatch(copy=Fault("out of memory", "1 GiB"))
    with pytest.raises(NotAvailable, match="cannot be measured: copy: out of memory: 1 GiB"):
        measured("uneg_f32")


def test_hot_option_adds_hot_timings(stopwatch, measured):
    assert measured("uneg_f32")[1].timings.hot is None
    assert measured("uneg_f32", hot=True)[1].timings.hot.median == 1e-4


def test_explicit_case_is_measured_unchanged(stopwatch, measured):
    _, m = measured("unary.neg[f16](x=1000x1000:1,1000~unit@0)")
    assert (m.case, m.bytes) == ("unary.neg[f16](x=1000x1000:1,1000~unit@0)", 4_000_000)


def test_emulated_target_counts_instructions_without_timings(measured):
    (m,) = measured("uneg_f32", spec="emulated")
    assert isinstance(m, Measurement)
    assert (m.timings, m.share, m.copy) == (None, None, 0)
    assert m.elements == 16384
    assert sum(m.instructions.values()) > m.elements / 32
    assert m.case == "unary.neg[f32](x=16384~normal@0 null-info)"


def test_runner_without_timing_or_counting_raises_not_available(stopwatch, measured, monkeypatch):
    from stopwatch import Stopwatch, Untimed

    monkeypatch.setattr(
        Stopwatch, "open", lambda self, target, *, checked=True: Untimed(self, EmulatedSession(checked))
    )
    with pytest.raises(NotAvailable, match="can neither time nor count"):
        measured("uneg_f32")


def test_small_benchmark_case_is_judged_before_timing(stopwatch, measured, wrong):
    """Only one value reveals the fault."""
    watch = stopwatch()
    case = "affine.affine[f16](x=65536~patterns@0 mul=2.0 add=1.0)"
    _, m = measured(case, kernels=wrong("x * (x == T(42.0f) ? add : mul) + add"))
    assert m.problem == "not measured, because it fails here: value"
    assert m.case == case
    assert "affine_f16" not in watch.timed


def test_error_in_declaration_affects_one_kernel(stopwatch, measured, monkeypatch):
    from stopwatch import Session

    usual = Session.time

    def defective(self, code, launch, buffers, **options):
        if launch.kernel == "uneg_f32":
            raise ValueError("a defect")
        return usual(self, code, launch, buffers, **options)

    monkeypatch.setattr(Session, "time", defective)
    _, neg, abs_ = measured("uneg_f32", "uabs_f32")
    assert neg.problem == "ValueError: a defect"
    assert abs_.share
