"""The cache of translated kernels: a warm device compiles nothing, and evicted entries are created again."""

import shutil

import numpy as np
import pytest
from array_runs import Run

from parity.compilers import zig
from parity.emulator.amdgpu import language
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.errors import ResourceExhausted
from parity.platform.cache import Cache

KERNEL = "reversed"
X = np.arange(5, dtype=np.int32)


@pytest.fixture(scope="module")
def once(code, tmp_path_factory):
    """A cache with one kernel."""
    folder = tmp_path_factory.mktemp("once")
    AmdgpuDevice(cache=Cache(folder), traced=True).prepare(code, [KERNEL])
    return folder


@pytest.fixture
def warm(once, tmp_path):
    return Cache(shutil.copytree(once, tmp_path / "warm"))


def ran(code, cache):
    return Run(AmdgpuDevice(cache=cache, traced=True), code)(KERNEL, X, out=np.int32).tolist()


def test_warm_device_does_not_compile_or_parse(code, warm, monkeypatch):
    def none(*arguments, **options):
        raise AssertionError("although everything is there")

    monkeypatch.setattr(zig, "run", none)
    monkeypatch.setattr(language.Amdgpu, "parts", none)
    monkeypatch.setattr(language, "function_bodies", none)
    assert ran(code, warm) == X[::-1].tolist()


@pytest.mark.parametrize("kind", ["folders", "files"])
def test_evicted_entries_are_rebuilt(code, warm, kind):
    folders = [path.parent for path in warm.root.rglob("kernels.so")]
    files = [path for path in warm.root.rglob("*") if path.is_file() and not path.with_name("SHA256SUMS").exists()]
    assert folders and len(files) > 1
    for folder in folders if kind == "folders" else ():
        shutil.rmtree(folder)
    for file in files if kind == "files" else ():
        file.unlink()
    assert ran(code, warm) == ran(code, warm) == X[::-1].tolist()


def test_functions_that_a_full_disk_kept_from_compiling_are_tried_once(code, tmp_path, monkeypatch):
    tried = []

    def full(arguments, **options):
        tried.append(arguments)
        raise ResourceExhausted("no space")

    monkeypatch.setattr(zig, "run", full)
    device = AmdgpuDevice(cache=Cache(tmp_path), traced=True)
    for _ in range(2):
        with pytest.raises(ResourceExhausted, match="no space"):
            device.prepare(code, [KERNEL])
    assert len(tried) == 1
