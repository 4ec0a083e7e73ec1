"""The injected library, in a program whose CUDA driver is a library of the test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from parity.captures import injection
from parity.captures.file import read_capture
from parity.captures.injection import Limits, capture_program, library, recover
from parity.compilers import zig
from parity.errors import MissingTool, UsageError

SOURCE = Path(__file__).with_name("fake_cuda.c")


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    """Return a folder with ``program``, and the driver that it is linked with."""
    folder = tmp_path_factory.mktemp("fake")
    driver, program = folder / "libcuda.so.1", folder / "program"
    for arguments in (
        ("-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", SOURCE, "-o", driver),
        ("-DPROGRAM", SOURCE, driver, f"-Wl,-rpath,{folder}", "-o", program),
    ):
        done = zig.run(["cc", "-w", *arguments, "-ldl"])
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def capture(fake, tmp_path, monkeypatch):
    """Return a function that captures the program."""
    monkeypatch.setattr(injection, "cupti", lambda: fake / "libcuda.so.1")

    def call(*arguments, limits=None):
        return capture_program([str(fake / "program"), *arguments], tmp_path / "a.capture", limits or Limits())

    return call


def contents(found, launch, *, after):
    """Return the content of the first allocation of a launch."""
    (part,) = found.allocation(launch.allocations[0], after=after)
    return part


def test_capture_records_arguments_and_memory(capture):
    found, status = capture()
    assert status == 0
    assert [process.device for process in found.processes] == ["Fake GPU"]
    first, second, _ = found.launches
    assert (first.kernel, first.grid, first.block) == ("_Z5scalePffi", (1, 1, 1), (128, 1, 1))
    assert [offset for offset, _ in first.parameters] == [0, 8, 12]
    assert int.from_bytes(bytes.fromhex(first.parameters[0][1]), "little") == first.allocations[0].address
    assert first.allocations[0].size == 400
    assert contents(found, first, after=True) == contents(found, second, after=False)
    assert contents(found, first, after=True) != contents(found, first, after=False)
    assert any("program" in frame for frame in first.frames)


def test_capture_limit_of_launches_counts_the_others(capture):
    found, _ = capture()
    assert len(found.launches) == 3
    (skipped,) = found.skipped
    assert (skipped.count, skipped.reason) == (2, "limit of launches of one shape")


def test_capture_limit_of_shapes_counts_the_others(capture):
    found, _ = capture("shapes", limits=Limits(launches=1, shapes=3))
    assert [launch.grid[0] for launch in found.launches] == [1, 2, 3]
    assert sum(each.count for each in found.skipped if each.reason == "limit of shapes") == 5


def test_capture_limit_of_bytes_stops(capture):
    found, _ = capture(limits=Limits(bytes=1000))
    assert len(found.launches) == 2
    assert [each.reason for each in found.skipped] == ["limit of bytes"]


def test_capture_kernel_pattern_selects(capture):
    found, _ = capture(limits=Limits(kernel="*other*"))
    assert not found.launches


def test_capture_large_allocation_keeps_a_part(capture):
    found, _ = capture("large", limits=Limits(allocation=1 << 14))
    allocation = found.launches[0].allocations[0]
    assert allocation.size == 1 << 20
    assert not allocation.is_whole
    (part,) = allocation.ranges
    assert part.start <= 4096 < part.start + part.size
    assert part.size == 1 << 14


def test_capture_large_allocation_keeps_changes_beyond_the_limit(capture):
    found, _ = capture("far", limits=Limits(allocation=1 << 14))
    window, changed = found.launches[0].allocations[0].ranges
    assert window.size == 1 << 14
    assert changed.start + changed.size >= 40000  # the kernel changes 10,000 elements


def test_capture_killed_program_keeps_its_launches(capture, tmp_path):
    found, status = capture("crash")
    assert status == -9
    assert len(found.launches) == 3
    assert not (tmp_path / "a.capture.parts").exists()


def test_capture_program_that_fails_returns_its_status(capture):
    _, status = capture("status")
    assert status == 7


def test_capture_unknown_program_is_refused(capture, tmp_path):
    with pytest.raises(UsageError, match="no program"):
        capture_program(["nonexistent-program"], tmp_path / "a.capture", Limits())


def test_capture_folder_of_an_interrupted_capture_can_be_recovered(fake, capture, tmp_path):
    folder = tmp_path / "a.capture.parts"
    folder.mkdir()
    variables = {
        **os.environ, "CUDA_INJECTION64_PATH": str(library()), "PARITY_CAPTURE_FOLDER": str(folder),
        "PARITY_CAPTURE_CUPTI": str(fake / "libcuda.so.1"),
    }  # fmt: skip
    subprocess.run([fake / "program"], env=variables, check=True)
    with pytest.raises(UsageError, match="--recover"):
        capture()
    assert len(recover(folder, tmp_path / "b.capture").launches) == 3
    assert not folder.exists()


def test_capture_in_python_records_only_the_context(fake, tmp_path):
    program = f"""
import ctypes, json
from pathlib import Path
import parity
from parity.captures import injection
fake = ctypes.CDLL({str(fake / "libcuda.so.1")!r}, mode=ctypes.RTLD_GLOBAL)
injection.cupti = lambda: Path({str(fake / "libcuda.so.1")!r})
class Function(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("run", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("parameters", ctypes.c_int), ("sizes", ctypes.c_size_t * 4)]
def launch(name):
    function = Function(name, Function._fields_[1][1](lambda _: None), 0)
    fake.fake_launch(ctypes.byref(function), 1, 32, None)
launch(b"before")
for name in (b"first", b"second"):
    with parity.capture(f"{tmp_path}/{{name.decode()}}.capture"):
        launch(name)
launch(b"after")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("first", "second"):
        assert [each.kernel for each in read_capture(tmp_path / f"{name}.capture").launches] == [name]


def test_cupti_not_installed_names_the_extra(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))
    with pytest.raises(MissingTool, match="capture"):
        injection.cupti()


def test_lines_of_the_library_are_json(fake, capture, tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    variables = {
        **os.environ, "CUDA_INJECTION64_PATH": str(library()), "PARITY_CAPTURE_FOLDER": str(folder),
        "PARITY_CAPTURE_CUPTI": str(fake / "libcuda.so.1"),
    }  # fmt: skip
    subprocess.run([fake / "program", 'a "quoted"\\ \x01 word'], env=variables, check=True)
    lines = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert lines[0]["program"].endswith('a "quoted"\\ \x01 word')
