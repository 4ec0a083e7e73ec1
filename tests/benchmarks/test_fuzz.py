"""Some inputs of ``nox -s robustness``, and regression tests for inputs that caused a traceback or a hang."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from benchmarks.fuzz import fuzz
from parity.cli import main
from parity.runners import recording_file

LEAKY = "leaky_relu.leaky_relu[f32]"


def test_fuzz_200_invalid_inputs_end_with_message_and_exit_code():
    wrong = [f"{attempt.what}\n{problem}" for _, attempt, problem in fuzz(200, 1)]
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Create a project with one kernel and make it the working directory."""
    assert main(["init", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


@pytest.fixture
def told(capsys):
    """Return a function that runs a command and returns its exit code and standard error."""

    def call(*arguments):
        capsys.readouterr()
        code = main(list(map(str, arguments)))
        return code, capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("case", "says"),
    [
        (f"{LEAKY}(x=3~normal@0 alpha=0.5 launch=²x32)", "launch=²x32 is not BLOCKSxTHREADS"),
        (f"{LEAKY}(x=3~normal@{'9' * 5000} alpha=0.5)", "the start of the data has 5000 digits"),
        (f"{LEAKY}(x=3:{'9' * 30}~normal@0 alpha=0.5)", "a number of the strides has 30 digits"),
        (f"{LEAKY}(x=3:999999999999999~normal@0 alpha=0.5)", "reaches further"),
        (f"{LEAKY}(x=٣~normal@0 alpha=0.5)", "is not a layout"),
        ("\udcff\udcfe", "is not UTF-8"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_show_invalid_case_reports_error(told, case, says):
    code, err = told("explain", case)
    assert (code, says in err) == (2, True), err


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (b"tool = 3", "tool = 3; it must be a table"),
        (b'a = "\xff"', "is not UTF-8"),
        (b'[tool.parity]\ninclude = ["a\\u0000b"]', "contains a NUL"),
        (b'[tool.parity]\nflags = ["-I\\u0000"]', "contains a NUL"),
        (b'[tool.parity]\nkernels = "\\u0000"', "contains a NUL"),
        (b"[tool.parity]\ncuda-arch = " + b"9" * 5000, "is not valid TOML"),
    ],
)
def test_list_with_invalid_settings_reports_error(mine, told, settings, says):
    (mine / "pyproject.toml").write_bytes(settings)
    code, err = told("list")
    assert (code, says in err) == (2, True), err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('kernel="leaky_relu_{T}"', "kernel=None", "kernel is None, not a text"),
        ('kernel="leaky_relu_{T}"', 'kernel="leaky_relu_{T"', "expected '}'"),
        ('params={"alpha": "T"}', 'params={"alpha": 3}', "params: alpha is 3, not a text"),
        ("grid_stride=False", "grid_stride=False, shape=lambda g: g.nothing", "leaky_relu.py:"),
        ("grid_stride=False", "grid_stride=False, operations=lambda g: 'x'", "not a whole number"),
        ("grid_stride=False", "grid_stride=False, named=3", "named is 3, not a list"),
        ("wide = x.astype(np.float64)", "raise RuntimeError('no')", "leaky_relu.py:11"),
    ],
)
def test_show_with_invalid_declaration_reports_error(mine, told, old, new, says):
    path = mine / "cases" / "leaky_relu.py"
    path.write_text(path.read_text().replace(old, new))
    code, err = told("explain", f"{LEAKY}(x=3~normal@0 alpha=0.5)")
    assert (code, says in err) == (2, True), err


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000])
@pytest.mark.usefixtures("mine")
def test_list_with_too_long_path_reports_error(told, name):
    code, err = told("list", "--kernels", name)
    assert (code, "File name too long" in err) == (2, True), err


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--runner", "recorded=PIPE"),
        ("run", "--runner", "recorded=/dev/zero"),
        ("bench", "--runner", "emulated", "--baseline", "PIPE"),
        ("bench", "--runner", "emulated", "--baseline", "/dev/zero"),
        ("bench", "--runner", "emulated", "--save", "PIPE.json"),
        ("list", "--cases-dir", "pipes"),
    ],
)
def test_command_with_pipe_or_device_reports_error_without_waiting(mine, told, command):
    (mine / "pipes").mkdir()
    for name in ("PIPE", "PIPE.json", "pipes/case.py"):
        os.mkfifo(mine / name)
    code, err = told(*command)
    assert (code, "and not a file" in err) == (2, True), err


def test_list_folder_with_pipe_and_folder_named_cu_reports_no_sources(mine, told):
    (mine / "kernels" / "leaky_relu.cu").rename(mine / "other.cu")
    os.mkfifo(mine / "kernels" / "pipe.cu")
    (mine / "kernels" / "folder.cu").mkdir()
    code, err = told("list")
    assert (code, "holds no *.cu" in err) == (2, True), err


def test_run_too_large_recording_is_rejected_before_unpacking(tmp_path, told, monkeypatch):
    source = Path(__file__).parents[2] / "reports" / "h200.zip"
    bomb = Path(shutil.copy(source, tmp_path / "bomb.zip"))
    with zipfile.ZipFile(bomb) as file:
        size = sum(member.file_size for member in file.infolist())
    monkeypatch.setattr(recording_file, "LARGEST", size - 1)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    code, err = told("run", "--runner", f"recorded={bomb}")
    assert (code, "unpacks to" in err, "but the limit is" in err) == (2, True, True), err


def test_run_recording_without_cases_reports_error(tmp_path, told, mine):
    head = {
        "runner": "cuda", "vendor": "cuda", "evidence": "hardware", "device": {}, "seed": 0, "examples": 1,
        "environment": {"sources": {}},
    }  # fmt: skip
    recording_file.write_recording(tmp_path / "empty.zip", head, [], [])
    code, err = told("run", "--runner", f"recorded={tmp_path / 'empty.zip'}")
    assert (code, "the recording has no case" in err) == (3, True), err


@pytest.mark.usefixtures("mine")
def test_show_case_of_4e8_elements_omits_values(capsys):
    assert main(["explain", f"{LEAKY}(x=400000000~normal@0 alpha=0.5)"]) == 0
    out = capsys.readouterr().out
    assert "x1x1 blocks of" in out
    assert "not shown: the tensors have 800000000 elements" in out


@pytest.mark.usefixtures("mine")
def test_show_without_disk_space_or_memory_reports_error(told, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "/somewhere")

    def small(*_, **__):
        raise MemoryError

    monkeypatch.setattr("parity.application.explanation.Op.call", full)
    assert told("explain", f"{LEAKY}(x=3~normal@0 alpha=0.5)") == (
        3,
        "parity: the system refuses /somewhere: No space left on device\n",
    )
    monkeypatch.setattr("parity.application.explanation.Op.call", small)
    assert told("explain", f"{LEAKY}(x=3~normal@0 alpha=0.5)") == (3, "parity: there is not enough memory for this\n")
