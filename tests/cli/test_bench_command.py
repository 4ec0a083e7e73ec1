"""``parity bench``: output, files and exit codes."""

from __future__ import annotations

import csv
import io
import json

import pytest

TIMED = ("bench", "--runner", "stopwatch", "--target", "gfx1100")


@pytest.fixture
def baseline(parity, stopwatch, tmp_path):
    path = tmp_path / "base.json"
    assert parity(*TIMED, "uneg_f32", "uabs_f32", "--save", path).code == 0
    return path


def test_bench_prints_line_per_kernel_with_share(parity, stopwatch):
    stopwatch(uneg_f32=1.36e-4, badd_f32=2.8e-4)
    result = parity(*TIMED, "uneg_f32", "badd_f32")
    assert result.code == 0
    assert "gfx1100 (an invented GPU): copy 4.29 TB/s, f32 57.3 TFLOPS, f64 28.6 TFLOPS" in result.out
    assert "a launch costs the host 6.00 us and, empty, the device 2.00 us" in result.out
    assert "unary on gfx1100 (hardware)\n  kernel    case" in result.out
    assert "\n  uneg_f32  contiguous" in result.out
    assert "136 us  ±0.1 %  3.95 TB/s  92 % of copy" in result.out
    assert "2 kernels, 4 cases measured" in result.out


def test_bench_emulated_target_counts_instructions(parity):
    result = parity("bench", "affine_f32", "--runner", "emulated", "--target", "gfx1100,gfx90a")
    assert result.code == 0
    assert "affine on gfx90a (emulated)" in result.out
    assert "valu" in result.out
    assert "which do not measure speed" in " ".join(result.out.split())
    assert "us" not in result.out.replace("contiguous", "")


def test_bench_default_runner_is_best_available(parity, stopwatch, monkeypatch):
    from parity.runners import registry

    for name in ("cuda", "rocm"):  # a real GPU would be preferred to the emulator
        monkeypatch.delitem(registry.BUILT_IN, name)
    watch = stopwatch()
    assert "(hardware)" in parity("bench", "uneg_f32", "--target", "gfx1100").out
    assert watch.probes == 1
    monkeypatch.delitem(registry.BUILT_IN, "stopwatch")
    assert "(emulated)" in parity("bench", "uneg_f32", "--target", "gfx1100").out


def test_bench_missing_gpu_is_refused(parity):
    from parity.runners import runner

    if runner("cuda").probe().available:
        pytest.skip("there is one")
    result = parity("bench", "--runner", "cuda")
    assert result.code == 3
    assert "install it with" in result.err


def test_bench_save_writes_three_formats(parity, stopwatch, tmp_path):
    files = [tmp_path / f"bench.{kind}" for kind in ("json", "md", "csv")]
    result = parity(*TIMED, "uneg_f32", "--hot", *(part for file in files for part in ("--save", file)))
    data, markdown, table = (file.read_text() for file in files)
    assert json.loads(data)["measurements"][0]["share"] == pytest.approx(0.625)
    assert "| unary | gfx1100 hardware | `uneg_f32` | contiguous | 200 us |" in " ".join(markdown.split())
    (row,) = csv.DictReader(io.StringIO(table))
    assert (row["kernel"], row["cold_median"], row["hot_median"], row["share"]) == (
        "uneg_f32", "0.0002", "0.0001", "0.6250",
    )  # fmt: skip
    assert f"saved: {' '.join(map(str, files))}" in result.out


def test_bench_json_is_only_output(parity, stopwatch):
    document = json.loads(parity(*TIMED, "uneg_f32", "--json").out)
    assert (document["complete"], document["devices"]) == (True, {"gfx1100": "an invented GPU"})


@pytest.mark.parametrize(("seconds", "verdict", "code"), [(2e-4, "SAME", 0), (3e-4, "SLOWER", 1), (1e-4, "FASTER", 0)])
def test_bench_exit_code_depends_on_result(parity, stopwatch, baseline, seconds, verdict, code):
    stopwatch(uneg_f32=seconds)
    result = parity(*TIMED, "uneg_f32", "--baseline", baseline)
    assert result.code == code
    assert f"since the baseline: 1 {verdict}" in result.out
    assert "of the baseline, 1 measurement not repeated" in result.out


def test_bench_reports_cases_missing_in_baseline(parity, stopwatch, baseline):
    result = parity(*TIMED, "uneg_f32", "uceil_f32", "--baseline", baseline)
    assert result.code == 0
    assert "1 not in the baseline" in result.out


def test_bench_baseline_of_other_device_is_not_compared(parity, stopwatch, baseline):
    stopwatch(gpu="another GPU", uneg_f32=9e-4)
    result = parity(*TIMED, "uneg_f32", "--baseline", baseline)
    assert result.code == 3
    assert "1 another device" in result.out
    assert "the baseline was measured on an invented GPU" in result.out
    assert "nothing could be compared" in result.err


def test_bench_interrupt_keeps_measurements(parity, stopwatch, tmp_path, monkeypatch):
    from stopwatch import Session

    usual = Session.time

    def interrupted(self, code, launch, buffers, **options):
        if launch.kernel == "uabs_f32":
            raise KeyboardInterrupt
        return usual(self, code, launch, buffers, **options)

    monkeypatch.setattr(Session, "time", interrupted)
    path = tmp_path / "part.json"
    result = parity(*TIMED, "uneg_f32", "uabs_f32", "--save", path)
    assert result.code == 130
    assert "interrupted: 1 kernel, 1 case measured" in result.out
    document = json.loads(path.read_text())
    assert (document["complete"], len(document["measurements"])) == (False, 1)


def test_bench_lost_device_keeps_measurements(parity, stopwatch):
    from parity.model.launch import Fault

    stopwatch(copy=[5e-4, 5e-4, 5e-4, Fault("cudaErrorDevicesUnavailable", "busy", True)])
    result = parity(*TIMED, "uneg_f32", "uabs_f32")
    assert result.code == 3
    assert "1 kernel, 1 case measured" in result.out
    assert "cudaErrorDevicesUnavailable" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--save", "results.txt"), "does not end in .json or .md or .csv"),
        (("--seconds", "0"), "is not a number above 0"),
        (("--baseline", "nowhere.json"), "cannot read nowhere.json"),
        (("--save", "/dev/null/x.json"), "cannot write /dev/null/x.json"),
    ],
)
def test_bench_wrong_usage_is_refused(parity, stopwatch, arguments, message):
    result = parity(*TIMED, "uneg_f32", *arguments)
    assert result.code == 2
    assert message in result.err


def test_bench_baseline_compares_instruction_counts(parity, tmp_path):
    path, command = tmp_path / "base.json", ("bench", "uneg_f32", "--runner", "emulated", "--target", "gfx1100")
    assert parity(*command, "--save", path).code == 0
    assert "since the baseline: 1 SAME" in parity(*command, "--baseline", path).out
    data = json.loads(path.read_text())
    data["measurements"][0]["instructions"] = {"valu": 1}
    path.write_text(json.dumps(data))
    result = parity(*command, "--baseline", path)
    assert result.code == 0
    assert "since the baseline: 1 more instructions" in result.out
