"""``parity run --resume``: a resumed run has the results of an uninterrupted run, and no kernel runs twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from negating import NEGATING
from sealing import sealed

from parity.application.stored_results import load
from parity.cli import main
from parity.compare.verdict import Status
from parity.engine.record_file import RecordWriter

RUN = ("unary.neg", "--dtype", "f16,bf16,f32,f64", "--examples", "1", "--seed", "5", "-j", "1")
SLOW = (
    NEGATING
    + """
from pathlib import Path

class Slow(Negating):
    name = "slow"
    def execute(self, code, launch, buffers):
        kernel = launch.sequence[0].kernel
        with open("executed", "a") as file: print(kernel, file=file)
        while Path("hold").exists() and kernel == Path("hold").read_text(): time.sleep(0.01)
        return super().execute(code, launch, buffers)
"""
)
"""A runner that always negates, lists the kernels that it executes in a file, and waits on request."""


@pytest.fixture
def slow(installed, suite, tmp_path, monkeypatch):
    """Return the command of a run on the slow runner; change to an empty folder."""
    installed("slow", SLOW, slow="Slow")
    monkeypatch.chdir(tmp_path)
    folders = ("--kernels", str(suite.kernels), "--cases", str(suite.cases))
    return ["run", *RUN, "--runner", "slow", *folders]


@pytest.fixture
def killed(slow, tmp_path):
    """Kill a run during its third kernel and return its output folder."""
    hold, executed = tmp_path / "hold", tmp_path / "executed"
    hold.write_text("uneg_f32")
    process = subprocess.Popen([sys.executable, "-m", "parity", *slow, "--output", "killed"])
    while not (executed.exists() and "uneg_f32" in executed.read_text()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    hold.unlink()
    return tmp_path / "killed"


def records(folder: Path) -> list[str]:
    lines = [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()[1:]]
    return sorted(json.dumps({**line, "sha256": ""}) for line in lines)


def untimed(folder: Path) -> dict:
    return {key: value for key, value in json.loads((folder / "matrix.json").read_text()).items() if key != "seconds"}


def test_resume_killed_run_has_same_results(killed, slow, tmp_path, capsys):
    executed = tmp_path / "executed"
    before = {record.kernel for record in load(killed).records}
    assert before == {"uneg_f16", "uneg_bf16"} and not load(killed).complete
    executed.unlink()
    assert main([*slow, "--output", str(killed), "--resume"]) == 1
    assert f"of 2 kernels are in {killed}" in capsys.readouterr().err
    assert set(executed.read_text().split()) == {"uneg_f32", "uneg_f64"}

    assert main([*slow, "--output", "whole", "--resume"]) == 1
    assert "there is no whole/record.jsonl to resume: starting a new run" in capsys.readouterr().err
    assert records(killed) == records(Path("whole")) and load(killed).complete
    assert untimed(killed) == untimed(Path("whole"))
    for name in ("failures.txt", "matrix.csv"):
        assert (killed / name).read_text() == Path("whole", name).read_text()
    executed.unlink()
    lines = (killed / "record.jsonl").read_bytes().splitlines(keepends=True)
    (killed / "record.jsonl").write_bytes(b"".join(lines[:-2]) + lines[-2][:50])  # cut off in the last kernel
    assert main([*slow, "--output", str(killed), "--resume"]) == 1
    assert set(executed.read_text().split()) == {"uneg_f64"} and records(killed) == records(Path("whole"))
    executed.unlink()
    assert main([*slow, "--output", "elsewhere", "--resume", "whole"]) == 1  # a complete run
    assert not executed.exists() and records(Path("elsewhere")) == records(Path("whole"))


def test_resume_other_run_is_refused_and_unjudged_cases_run_again(slow, capsys):
    folder = Path("out")
    assert main([*slow, "--output", "out"]) == 1

    def told(*options):
        capsys.readouterr()
        assert main([*slow, *options, "--output", "out", "--resume"]) == 2
        return capsys.readouterr().err

    before = (folder / "record.jsonl").read_bytes()
    assert "it differs in seed (5 in out, 6 now)" in told("--seed", "6")
    assert "examples (1 in out, 3 now)" in told("--examples", "3")
    assert "entries" in told("--dtype", "f8_e4m3")
    assert "columns" in told("--runner", "emulated", "--target", "gfx1100")
    assert "settings: launches (any in out, host now)" in told("--launches", "host")
    head, _, rest = before.partition(b"\n")
    for old, new in ((b'"parity":"', b'"parity":"0.0.'), (b'"unary.cu":"', b'"unary.cu":"0')):
        assert old in head
        (folder / "record.jsonl").write_bytes(sealed(head.replace(old, new, 1) + b"\n" + rest))
        assert ("versions: parity" if b"parity" in old else "sources: unary.cu") in told()
    (folder / "record.jsonl").write_bytes(before)
    assert main([*slow, "--resume", "affine"]) == 2
    assert "there is no affine/record.jsonl to resume" in capsys.readouterr().err

    # The run repeats kernels with cases that were not judged and keeps the results of the others.
    stored = load(folder)
    (folder / "record.jsonl").unlink()
    lost = stored.records[0]
    changed = vars(lost) | {"verdict": type(lost.verdict)(Status.NOT_JUDGED, "no memory")}
    with RecordWriter(folder / "record.jsonl", stored.environment) as writer:
        for record in (type(lost)(**changed), *stored.records[1:]):
            writer.add(record)
    Path("executed").unlink()
    assert main([*slow, "--output", "out", "--resume"]) == 1
    assert set(Path("executed").read_text().split()) == {lost.kernel}
    assert load(folder).complete and not [
        each for each in load(folder).records if each.verdict.status is Status.NOT_JUDGED
    ]


def test_resume_other_selection_is_refused(slow, capsys):
    cases = [[*slow[:1], f"unary.neg[f32](x={n}~normal@0)", *slow[2:], "--output", "out"] for n in (3, 4)]
    assert main(cases[0]) == 0
    assert main([*cases[1], "--resume"]) == 2
    assert "it differs in settings: selection; resume" in capsys.readouterr().err
