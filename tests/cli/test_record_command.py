"""``parity record`` and the replay of recordings."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from parity.application import columns
from parity.application.columns import changed_sources
from parity.runners import recording_file as module
from parity.runners.recording_file import read_recording, write_recording

SELECTORS = ("unary.neg", "unary.exp")
NEG_KERNELS, KERNELS = 5, 10
EMULATED = ("--runner", "emulated", "--target", "gfx1100", "--examples", "3")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record two ops on the emulator."""
    from parity.cli import main

    path = tmp_path_factory.mktemp("recorded") / "some.zip"
    assert main(["record", "-o", str(path), *SELECTORS, *EMULATED]) == 0
    return path


def replay(parity, path, *arguments):
    return parity("run", "-v", "--runner", f"recorded={path}", *arguments)


def rewritten(source: Path, path: Path, change) -> Path:
    """Write a copy of the zip file in which ``change`` replaces the data of the members and the comment."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)), zipfile.ZIP_LZMA)
        new.comment = change("comment", old.comment)
    return path


def test_replay_has_verdicts_of_run(parity, recorded):
    there = json.loads(parity("run", *SELECTORS, *EMULATED, "--json").out)
    here = json.loads(replay(parity, recorded, *SELECTORS, "--json").out)
    assert [c["evidence"] for c in here["columns"]] == ["recorded"]
    assert (here["examples"], here["seed"]) == (3, 0)
    numbers = ("passed", "run", "budget", "divergences", "state")

    def cells(document):
        return [[{n: c.get(n) for n in numbers} for c in row["cells"]] for row in document["kernels"]]

    assert cells(here) == cells(there)
    assert len(cells(here)) == KERNELS


def test_replay_recorded_wrong_value_fails(parity, recorded, tmp_path):
    kept = read_recording(recorded)
    spoilt = [
        module.RecordedCase(**{**vars(c), "buffers": {n: bytes(len(d)) for n, d in c.buffers.items()}})
        for c in kept.cases
    ]
    write_recording(tmp_path / "wrong.zip", kept.head, kept.code().values(), spoilt)
    result = replay(parity, tmp_path / "wrong.zip", "uexp_f32")
    assert result.code == 1
    assert "FAIL  uexp_f32 on gfx1100 (recorded)" in result.out


def test_replay_prints_origin(recorded):
    head = read_recording(recorded).head
    assert (head["runner"], head["vendor"], head["evidence"]) == ("emulated", "amd", "emulated")
    assert len(head["environment"]["sources"]["unary.cu"]) == 64
    assert read_recording(recorded).targets == ("gfx1100",)


def test_record_same_run_writes_same_file(parity, recorded, tmp_path):
    again = tmp_path / "again.zip"
    assert parity("record", "-o", again, *SELECTORS, *EMULATED).code == 0
    assert again.read_bytes() == recorded.read_bytes()


HELD = """
import os, time
from parity.runners import emulated

class Emulated(emulated.EmulatedRunner):
    def open(self, target, *, checked=True):
        session = super().open(target, checked=checked)
        execute = session._execute  # recording draws no results either

        def held(request, **options):
            while request.launch.kernel.startswith(os.environ.get("HELD", "none")):
                time.sleep(1)
            return execute(request, **options)

        session._execute = held
        return session
"""


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Return a function that starts a recording and waits until it blocks at the kernels of ``unary.exp``."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "held.py").write_text(textwrap.dedent(HELD))
    patch = 'from parity.runners import registry\nregistry.BUILT_IN["emulated"] = "held:Emulated"\n'
    (folder / "sitecustomize.py").write_text(patch)
    started = []

    def start(path, *arguments):
        partial = path.with_name(f"{path.name}.partial")
        before = {**os.environ, "HELD": "uexp_", "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        command = [sys.executable, "-m", "parity", "record", "-o", str(path), *SELECTORS, *EMULATED, *arguments]
        process = subprocess.Popen([*command, "-j", "1"], env=before, stderr=subprocess.PIPE, text=True)
        started.append(process)
        while not partial.is_file() or partial.read_bytes().count(b"\n") < 1 + NEG_KERNELS:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        return process, partial

    yield start
    for process in started:
        process.kill()
        process.communicate(timeout=300)


@pytest.mark.thorough
def test_record_killed_resumes_with_same_file(parity, recorded, held, tmp_path):
    path = tmp_path / "killed.zip"
    process, partial = held(path)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=300)  # returns after the worker processes have ended as well
    assert process.returncode == -signal.SIGKILL
    assert not path.exists()
    with partial.open("ab") as file:
        file.write(b"0123 a line that was cut o")
    result = parity("record", "-o", path, *SELECTORS, *EMULATED)
    assert result.code == 0
    assert f"resuming: {NEG_KERNELS} of {KERNELS} kernels are done" in result.err
    assert path.read_bytes() == recorded.read_bytes()
    assert list(tmp_path.glob("*killed*")) == [path]


@pytest.mark.parametrize(
    ("number", "code"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.thorough), (signal.SIGTERM, 143)]
)
def test_record_interrupt_explains_how_to_resume(parity, recorded, held, tmp_path, number, code):
    path = tmp_path / "interrupted.zip"
    process, partial = held(path)
    process.send_signal(number)
    _, told = process.communicate(timeout=300)
    assert process.returncode == code
    match = re.search(rf"(\d+) of {KERNELS} kernels are in {re.escape(str(partial))}; the same command continues", told)
    assert match, told
    assert int(match[1]) == NEG_KERNELS
    anew = parity("record", "-o", path, *SELECTORS, *EMULATED, "--seed", "1")
    assert "belongs to another recording, which differs in seed (0 there, 1 here)" in anew.err
    assert read_recording(path).head["seed"] == 1
    assert not partial.exists()


def test_record_folder_is_refused_before_run(parity, tmp_path):
    result = parity("record", "-o", tmp_path, *SELECTORS, *EMULATED)
    assert result.code == 2
    assert "is a folder" in result.err


def test_replay_compiles_nothing(parity, recorded, monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    assert replay(parity, recorded, "uneg_f32").code == 0
    assert not (tmp_path / "cache").exists()


def test_replay_unrecorded_kernel_is_not_a_failure(parity, recorded):
    result = replay(parity, recorded, "unary.neg", "unary.abs")
    assert result.code == 0
    assert "not recorded" in result.out
    assert "FAIL" not in result.out


def test_replay_unrecorded_case_was_not_run(parity, recorded):
    result = replay(parity, recorded, "unary.neg[f32](x=7~normal@12345)")
    assert result.code == 3
    assert "nothing was run" in result.err


def test_replay_reports_changed_sources(parity, recorded, kernels):
    with (kernels / "unary.cu").open("a") as file:
        file.write("// changed\n")
    result = replay(parity, recorded, "unary.neg", "--kernels", kernels)
    assert result.code == 0
    assert "unary.cu changed since the recording, whose values come from the old kernels; record again" in result.err
    assert "binary.cu" not in result.err


def test_strict_replay_looks_at_changed_sources_once(parity, recorded, kernels, monkeypatch):
    with (kernels / "unary.cu").open("a") as file:
        file.write("// changed\n")
    looked = []
    monkeypatch.setattr(columns, "changed_sources", lambda *given: looked.append(1) or changed_sources(*given))
    strict = replay(parity, recorded, "unary.neg", "--kernels", kernels, "--strict")
    assert strict.code == 3 and "INCOMPLETE" in strict.out
    assert len(looked) == 1


@pytest.mark.parametrize(("setting", "place"), [("", "include/factor.cuh"), ('include = ["inc"]', "inc/factor.hxx")])
def test_replay_reports_changed_headers_of_other_folders(parity, mine, edit, setting, place):
    (mine / place).parent.mkdir()
    (mine / place).write_text("#define FACTOR 1.0f\n")
    edit(mine / "pyproject.toml", "[tool.parity]", f"[tool.parity]\n{setting}")
    edit(mine / "kernels/leaky_relu.cu", "alpha * x[i]", "FACTOR * alpha * x[i]")
    edit(mine / "kernels/leaky_relu.cu", "extern", f'#include "{Path(place).name}"\nextern')
    assert parity("record", "-o", "old.zip", "--runner", "emulated", "--target", "gfx1100", "--examples", "2").code == 0
    strict = ("run", "--runner", "recorded=old.zip", "--strict")
    assert parity(*strict).code == 0
    (mine / place).write_text("#define FACTOR 1.5f\n")
    result = parity(*strict)
    assert (result.code, f"../{place} changed since the recording" in result.err) == (3, True), result.err


def flipped(name, data):
    return bytes([data[0] ^ 1]) + data[1:] if name.startswith("outputs/") else data


def unsealed(name, data):
    return data.replace(b'"seed": 0', b'"seed": 1') if name == "head.json" else data


def newer(name, data):
    return data.replace(b"version 1", b"version 2") if name == "comment" else data


def without_comment(name, data):
    return b"" if name == "comment" else data


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (flipped, "was altered: outputs/gfx1100/unary.bin does not match its checksum"),
        (unsealed, "was altered: its head.json does not match its seal"),
        pytest.param(newer, "has version 2 of the format", marks=pytest.mark.thorough),
        pytest.param(without_comment, "not a recording of parity", marks=pytest.mark.thorough),
    ],
)
def test_replay_altered_file_is_refused(parity, recorded, tmp_path, change, says):
    result = replay(parity, rewritten(recorded, tmp_path / "altered.zip", change))
    assert result.code == 2
    assert says in " ".join(result.err.split())


@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_replay_truncated_file_is_refused(parity, recorded, tmp_path, share):
    data = recorded.read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: int(len(data) * share)])
    result = replay(parity, tmp_path / "cut.zip")
    assert result.code == 2
    assert "truncated" in result.err


def test_replay_altered_byte_of_values_is_detected(parity, recorded, tmp_path):
    with zipfile.ZipFile(recorded) as file:
        start = file.getinfo("outputs/gfx1100/unary.bin").header_offset + 100
    data = bytearray(recorded.read_bytes())
    data[start] ^= 1
    (tmp_path / "altered.zip").write_bytes(data)
    result = replay(parity, tmp_path / "altered.zip")
    assert result.code == 2
    assert "altered" in result.err


def test_replay_missing_file_is_refused(parity, tmp_path):
    assert replay(parity, tmp_path / "none.zip").code == 2
    result = parity("run", "-v", "--runner", "recorded")
    assert result.code == 3
    assert "--runner recorded=FILE" in result.err


SAME = """
__global__ void same(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * FACTOR;
}
"""
SAME_OP = """
from parity.op import Op

same = Op(
    "MODULE.same", kernel="same", types=("f32",), args="x y n:i32", shapes="x: n; y: n", inputs={"x": "f32"},
    outputs={"y": "f32"}, grid="ceil(n/64)", block=64, grid_stride=False,
)
"""


def test_recording_tells_kernels_of_the_same_name_apart(parity, tmp_path, monkeypatch, with_nvcc):
    for folder in ("src", "cases"):
        (tmp_path / folder).mkdir()
    for name, factor in (("one", "2"), ("two", "3")):
        (tmp_path / "src" / f"{name}.cu").write_text(SAME.replace("FACTOR", factor))
        (tmp_path / "cases" / f"{name}.py").write_text(SAME_OP.replace("MODULE", name))
    monkeypatch.chdir(tmp_path)
    folders = ("--kernels", "src", "--cases", "cases", "--examples", "3")
    assert parity("record", "-o", "same.zip", "--runner", "ptx", *folders).code == 0
    result = parity("run", "--runner", "recorded=same.zip", "--runner", "emulated", "--target", "gfx1100", *folders)
    assert result.code == 0 and "2 kernels, 6 cases, 6 passed" in result.out, result.out + result.err
