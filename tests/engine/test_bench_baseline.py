"""Comparison of fabricated measurements with a baseline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.engine.bench import Measurement
from parity.engine.bench_baseline import BenchBaseline, BenchVerdict, compare_shares, read_baseline
from parity.errors import UsageError
from parity.report.bench import BenchResults, bench_json
from parity.runners.timing import Timing, Timings

CASE = "unary.neg[f32](x=1000~normal@0)"
GPU = {"sm_90": "NVIDIA H200"}


def measurement(seconds=1e-4, error=0.002, *, copy=4e12, drift=0.0, case=CASE):
    cold = Timing(seconds, seconds, seconds, error, 100)
    return Measurement(
        "unary", "unary.neg", ("f32",), "uneg_f32", "contiguous", case, "cuda", "sm_90", "hardware",
        bytes=200_000_000, operations=1, elements=1, timings=Timings(cold), copy=copy, drift=drift, rate=1e13,
    )  # fmt: skip


def baseline(*measurements):
    return BenchBaseline(GPU, {(m.target, m.case): m for m in measurements})


@pytest.mark.parametrize(
    ("seconds", "error", "verdict"),
    [
        (1.00e-4, 0.002, BenchVerdict.SAME),
        (1.03e-4, 0.002, BenchVerdict.SAME),
        (0.97e-4, 0.002, BenchVerdict.SAME),
        (1.10e-4, 0.002, BenchVerdict.SLOWER),
        (0.90e-4, 0.002, BenchVerdict.FASTER),
        (1.05e-4, 0.002, BenchVerdict.AMBIGUOUS),
        (0.95e-4, 0.002, BenchVerdict.AMBIGUOUS),
        (1.00e-4, 0.05, BenchVerdict.AMBIGUOUS),
        (1.10e-4, 0.05, BenchVerdict.AMBIGUOUS),
        (2.00e-4, 0.05, BenchVerdict.SLOWER),
        (0.50e-4, 0.05, BenchVerdict.FASTER),
        (1.00e-4, 1.0, BenchVerdict.AMBIGUOUS),
    ],
)
def test_change_of_share_gives_verdict(seconds, error, verdict):
    change = compare_shares(measurement(seconds, error), measurement(), 0.05)
    assert change.verdict is verdict
    assert change.ratio == pytest.approx(1e-4 / seconds)


def test_threshold_is_configurable():
    assert compare_shares(measurement(1.1e-4), measurement(), 0.2).verdict is BenchVerdict.SAME
    assert compare_shares(measurement(1.02e-4), measurement(), 0.01).verdict is BenchVerdict.SLOWER


def test_comparison_uses_shares_instead_of_seconds():
    """A slower device with a proportionally slower copy does not make the kernel slower."""
    assert compare_shares(measurement(1.1e-4, copy=4e12 / 1.1), measurement(), 0.05).verdict is BenchVerdict.SAME


def test_drift_increases_uncertainty():
    assert compare_shares(measurement(1.08e-4, drift=0.0), measurement(), 0.05).verdict is BenchVerdict.SLOWER
    assert compare_shares(measurement(1.08e-4, drift=0.06), measurement(), 0.05).verdict is BenchVerdict.AMBIGUOUS


def test_incomparable_measurements_get_their_own_verdict():
    stored = baseline(measurement())
    assert stored.change(measurement(case="another"), "NVIDIA H200", 0.05).verdict is BenchVerdict.NEW
    assert stored.change(measurement(), "AMD MI300", 0.05).verdict is BenchVerdict.OTHER
    failed = replace(measurement(), timings=None, problem="crash")
    assert stored.change(failed, "NVIDIA H200", 0.05).verdict is BenchVerdict.UNMEASURED
    assert baseline(failed).change(measurement(), "NVIDIA H200", 0.05).verdict is BenchVerdict.NEW


def test_saved_results_round_trip(tmp_path):
    hot = measurement(case="hot")
    hot = replace(hot, timings=replace(hot.timings, hot=hot.timings.cold, notes=("a",)), notes=("a", "b"))
    counted = replace(measurement(case="counted"), timings=None, instructions={"valu": 3})
    written = [measurement(), hot, counted]
    path = tmp_path / "base.json"
    path.write_text(bench_json(BenchResults(written, GPU)))
    read = read_baseline(path)
    assert list(read.measurements.values()) == written
    assert read.devices == GPU


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read"),
        ("{", "is not JSON"),
        ("[]", r"base.json: it is \[\], not an object"),
        ('{"format": "parity recording"}', "does not contain measurements"),
        ('{"format": "parity bench", "version": 99}', "has version 99"),
        ('{"format": "parity bench", "version": 1}', "base.json: devices is missing; write a baseline"),
        (
            '{"format": "parity bench", "version": 1, "devices": {}, "measurements": [{}]}',
            r"measurements\[0\]: module is missing",
        ),
    ],
)
def test_invalid_baseline_file_raises_usage_error(tmp_path, text, message):
    path = tmp_path / "base.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_baseline(path)
