"""Measurements in the matrix, from ``--time`` or from a recording."""

from __future__ import annotations

import json

from parity.runners.recording_file import MEASUREMENTS, read_recording, write_recording

FEW = ("--target", "gfx1100", "--examples", "2")


def test_time_option_emulated_column_shows_instructions(parity):
    result = parity("run", "-v", "uneg_f32", *FEW, "--time")
    assert result.code == 0
    assert " instr.\n" in result.out
    assert "instr.: instructions issued by wavefronts per element" in " ".join(result.out.split())
    assert "of copy" not in result.out


def test_run_without_time_option_measures_nothing(parity):
    assert "instr." not in parity("run", "-v", "uneg_f32", *FEW).out


def test_replay_shows_recorded_measurements(parity, tmp_path):
    path = tmp_path / "timed.zip"
    assert parity("record", "-o", path, "uneg_f32", "--runner", "emulated", *FEW, "--time").code == 0
    recording = read_recording(path)
    (measurement,) = json.loads(recording.attached[MEASUREMENTS])["measurements"]
    (row,) = json.loads(parity("run", "--runner", f"recorded={path}", "uneg_f32", "--json").out)["kernels"]
    (cell,) = row["cells"]
    assert (cell["evidence"], cell["share"]) == ("recorded", None)
    total = sum(measurement["instructions"].values())
    assert cell["instructions_per_element"] == total / measurement["elements"]

    spoilt = tmp_path / "spoilt.zip"
    write_recording(spoilt, recording.head, recording.code().values(), recording.cases, {MEASUREMENTS: b"{}"})
    result = parity("run", "-v", "--runner", f"recorded={spoilt}", "uneg_f32")
    assert result.code == 0
    assert "the recorded measurements are not shown: bench.json of recorded=" in result.err
    assert "instr." not in result.out


def test_replay_without_measurements_shows_none(parity, tmp_path):
    path = tmp_path / "untimed.zip"
    assert parity("record", "-o", path, "uneg_f32", "--runner", "emulated", *FEW).code == 0
    assert read_recording(path).attached == {}
    assert "instr." not in parity("run", "-v", "--runner", f"recorded={path}", "uneg_f32").out
