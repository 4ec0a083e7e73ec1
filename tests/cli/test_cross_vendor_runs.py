"""Runs with a CUDA recording and emulated AMD targets: comparison, and which side is wrong."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parity.engine.record_file import read_record
from parity.runners.recording_file import read_recording, write_recording

ROOT = Path(__file__).parents[2]
KERNEL = "affine_f32"
DEVICE = "NVIDIA Pretend"
AMD = ("--runner", "emulated", "--target", "gfx1100")


def rewritten(source: Path, path: Path, change=lambda case: case, more=()) -> Path:
    """Write a copy of the recording that names a CUDA device as its origin, with changed or additional cases."""
    kept = read_recording(source)
    cases = [change(replace(case, target="sm_90")) for case in (*kept.cases, *more)]
    head = {**kept.head, "runner": "cuda", "vendor": "cuda", "evidence": "hardware", "device": {"gpu": DEVICE}}
    write_recording(path, head, [replace(code, target="sm_90") for code in kept.code().values()], cases)
    return path


@pytest.fixture(scope="module")
def emulated(tmp_path_factory):
    """Record one kernel on the emulator."""
    from parity.cli import main

    path = tmp_path_factory.mktemp("side") / "emulated.zip"
    assert main(["record", "-o", str(path), KERNEL, *AMD, "--examples", "3"]) == 0
    return path


@pytest.fixture(scope="module")
def cuda(emulated):
    """Return a recording with the same values that names a CUDA device as its origin."""
    return rewritten(emulated, emulated.with_name("cuda.zip"))


def beside(parity, recording, *arguments, targets=AMD):
    return parity("run", "-v", KERNEL, "--examples", "2", *targets, "--runner", f"recorded={recording}", *arguments)


def cells(result):
    (kernel,) = json.loads(result.out)["kernels"]
    return {cell["target"]: cell for cell in kernel["cells"]}


def test_recording_and_three_targets_agree(parity, cuda, tmp_path):
    result = parity("run", "-v", KERNEL, "--examples", "6", "--runner", "emulated", "--runner", f"recorded={cuda}")
    assert result.code == 0
    heads = ["sm_90 recorded", "gfx1030 emulated", "gfx1100 emulated", "gfx90a emulated", "vs CUDA"]
    assert re.search(r" +".join(heads), result.out)
    recorded = len(read_recording(cuda).cases)
    assert f"{3 * recorded} results compared with CUDA: {3 * recorded} identical" in result.out
    record = read_record(tmp_path / "out" / "record.jsonl")
    assert record.environment["runners"] == [f"recorded={cuda}", "emulated"]
    assert len({case.case for case in record.records if case.target == "sm_90"}) == recorded
    compared = [case for case in record.records if case.against]
    assert len(compared) == 3 * recorded
    assert {case.against.column for case in compared} == {f"sm_90 (recorded on {DEVICE})"}


def test_drawn_and_recorded_cases_run_on_both_columns(parity, cuda, suite):
    recorded, drawn = (cells(beside(parity, cuda, "--seed", seed, "--json")) for seed in ("0", "11"))
    named = len(suite.op("affine.affine").named_cases(("f32",)))
    assert recorded["sm_90"]["run"] == drawn["sm_90"]["run"] == named + 3
    assert recorded["gfx1100"]["run"] == named + 3  # including the two drawn cases
    assert drawn["gfx1100"]["run"] > recorded["gfx1100"]["run"]  # the recorded cases and others
    assert drawn["sm_90"]["unsupported"] == 0
    assert drawn["gfx1100"]["against"]["conclusions"] == {"identical": named + 3}


def test_fault_in_amd_kernel_blames_amd(parity, cuda, kernels):
    path = kernels / "affine.cu"
    path.write_text(path.read_text().replace("AFFINE(T, x * mul + add)", "AFFINE(T, x * mul - add)"))
    result = beside(parity, cuda, "--kernels", kernels)
    assert result.code == 1
    assert "affine.cu changed since the recording" in result.err
    assert re.search(rf"gfx1100 is wrong: .*sm_90 \(recorded on {DEVICE}\) gives \S+", result.out)
    assert "AMD wrong x" in result.out
    assert "CUDA wrong" not in result.out
    assert "FAIL  affine_f32 on sm_90" not in result.out


def one_more(case):
    """Return the case with every stored float moved 7 ULP away from zero."""
    buffers = {name: (np.frombuffer(data, np.uint32) + 7).tobytes() for name, data in case.buffers.items()}
    return replace(case, buffers=buffers)


def test_fault_in_recorded_values_blames_cuda(parity, cuda, emulated, tmp_path):
    result = beside(parity, rewritten(emulated, tmp_path / "wrong.zip", one_more))
    assert result.code == 1
    assert re.search(r"sm_90 is wrong: gfx1100 \(emulated\) gives \S+, as expected", result.out)
    assert "CUDA wrong x" in result.out
    assert "AMD wrong" not in result.out
    assert "FAIL  affine_f32 on gfx1100" not in result.out


def test_fault_in_reference_suspects_reference(parity, cuda, affine_cases):
    path = affine_cases / "affine.py"
    text = path.read_text().replace("reference.affine", "lambda x, mul, add: reference.affine(x, mul, 2 * add)")
    path.write_text(text)
    result = beside(parity, cuda, "--cases", affine_cases)
    assert result.code == 1
    assert f"the reference is suspect: in the case as found, sm_90 (recorded on {DEVICE}) fails as well" in result.out
    assert "FAIL  affine_f32 on gfx1100" in result.out
    assert "FAIL  affine_f32 on sm_90" in result.out
    assert "reference? x" in result.out
    assert "AMD wrong" not in result.out
    assert "CUDA wrong" not in result.out


def test_faults_on_both_sides_blame_both(parity, emulated, kernels, tmp_path):
    path = kernels / "affine.cu"
    path.write_text(path.read_text().replace("AFFINE(T, x * mul + add)", "AFFINE(T, x * mul - add)"))
    result = beside(parity, rewritten(emulated, tmp_path / "wrong.zip", one_more), "--kernels", kernels)
    assert result.code == 1
    assert "both wrong x" in result.out
    assert f"sm_90 (recorded on {DEVICE}) are wrong, and differ" in result.out


def test_reproduction_command_names_runners(parity, emulated, tmp_path):
    path = rewritten(emulated, tmp_path / "wrong.zip", one_more)
    again = next(line for line in beside(parity, path).out.splitlines() if "again" in line).split("again")[1]
    command = shlex.split(again)
    assert command[3:] == ["--target", "gfx1100", "--runner", "emulated", "--runner", f"recorded={path}"]
    assert parity(*command[1:]).code == 1


def test_outdated_recorded_cases_are_named_and_omitted(parity, cuda, emulated, tmp_path):
    (first, *_) = read_recording(emulated).cases
    stale = [replace(first, case=f"affine.affine[f32](x=2~renamed@{n} mul=1.0 add=1.0)") for n in range(5)]
    result = beside(parity, rewritten(emulated, tmp_path / "stale.zip", more=stale))
    assert result.code == 0
    said = " ".join(result.err.split())
    assert "affine.affine[f32](x=2~renamed@0 mul=1.0 add=1.0) is left out" in said
    assert "unknown data 'renamed'" in said
    assert "2 other recorded cases are left out, too" in said


def test_recorded_cases_with_other_launch_are_omitted(parity, emulated, tmp_path):
    first, *rest = read_recording(emulated).cases
    path = rewritten(
        emulated,
        tmp_path / "other.zip",
        lambda case: replace(case, launch="0" * 64) if case.case == first.case else case,
    )
    result = beside(parity, path, "--json")
    assert result.code == 0
    assert "1 recorded case means a different launch or different inputs now" in " ".join(result.err.split())
    assert cells(result)["sm_90"]["run"] == len(rest)


def test_unrecorded_kernel_runs_on_other_columns(parity, cuda):
    result = parity("run", KERNEL, "affine_u8", "--examples", "1", *AMD, "--runner", f"recorded={cuda}", "-vv")
    assert result.code == 0
    (line,) = [line for line in result.out.splitlines() if "affine_u8" in line]
    assert "not recorded" in line
    assert "pass" in line


def test_unrecorded_case_runs_on_other_columns(parity, cuda):
    result = parity(
        "run", "-v", "affine.affine[f32](x=7~normal@9 mul=2.0 add=1.0)", *AMD, "--runner", f"recorded={cuda}"
    )
    assert result.code == 0
    assert "not recorded" in result.out
    assert "1 case, 1 passed" in result.out


def test_targets_missing_in_recording_keep_its_column(parity, cuda):
    result = beside(parity, cuda, targets=("--runner", "emulated", "--target", "gfx90a"))
    assert re.search(r"sm_90 recorded +gfx90a emulated +vs CUDA", result.out)


def test_two_recordings_are_compared_with_each_other(parity, cuda, emulated, tmp_path):
    def compare(*recordings):
        return parity("run", "-v", KERNEL, *(word for each in recordings for word in ("--runner", f"recorded={each}")))

    cases = len(read_recording(cuda).cases)
    result = compare(emulated, cuda)
    assert result.code == 0
    assert re.search(r"sm_90 recorded +gfx1100 recorded +vs CUDA", result.out)
    assert f"{cases} results compared with CUDA: {cases} identical" in result.out
    result = compare(rewritten(emulated, tmp_path / "wrong.zip", one_more), emulated)
    assert result.code == 1
    assert re.search(r"sm_90 is wrong: gfx1100 \(recorded\) gives \S+, as expected", result.out)
    assert "AMD wrong" not in result.out


@pytest.mark.parametrize("option", ["--seed", "--examples"])
def test_options_for_drawn_cases_with_only_recording_are_refused(parity, cuda, option):
    result = parity("run", "-v", "--runner", f"recorded={cuda}", option, "7")
    assert (result.code, result.out) == (2, "")
    assert "add --runner emulated" in " ".join(result.err.split())


def test_two_runners_of_one_column_are_refused(parity, cuda, emulated, tmp_path):
    other = rewritten(emulated, tmp_path / "again.zip")
    result = parity("run", "-v", "--runner", f"recorded={cuda}", "--runner", f"recorded={other}")
    assert (result.code, result.out) == (2, "")
    assert "both give sm_90 recorded" in " ".join(result.err.split())
