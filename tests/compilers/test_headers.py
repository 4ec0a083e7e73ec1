"""AMD's and cuRAND's headers from wheels: download, verification, extraction and fallback."""

import hashlib
import logging
import zipfile

import pytest

from parity.compilers import device_library, headers, toolchain, zig
from parity.compilers.clang import Clang
from parity.compilers.headers import Wheel
from parity.compilers.targets import target
from parity.compilers.unit import Unit
from parity.errors import MissingTool

VERSION = "#define HIP_VERSION_MAJOR 9\n#define HIP_VERSION_MINOR 8\n#define HIP_VERSION_PATCH 7\n"
CONTENT = {"big/include/hip/hip_version.h": VERSION, "big/include/hip/sub/a.h": "// a", "big/library.so": "much"}
PLACES = {"big/include/hip/": "hip/"}


@pytest.fixture(autouse=True)
def forgotten():
    """Reset the caches of the process before and after a test."""
    headers.available_headers.cache_clear()
    yield
    headers.available_headers.cache_clear()


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Return a wheel in a folder that pip uses instead of the network."""
    folder = tmp_path / "index"
    folder.mkdir()
    file = folder / "big-1.0-py3-none-any.whl"
    dist = {
        "big-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: big\nVersion: 1.0\n",
        "big-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "big-1.0.dist-info/RECORD": "",
    }
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in {**CONTENT, **dist}.items():
            archive.writestr(name, text)
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    wheel = Wheel("big", "1.0", hashlib.sha256(file.read_bytes()).hexdigest(), 1, "3.12", PLACES, "AMD's HIP headers")
    monkeypatch.setattr(headers, "WHEELS", (wheel,))
    return file


def test_available_headers_extracts_only_headers(index, tmp_path, caplog):
    caplog.set_level(logging.INFO, "parity")
    assert headers.cached_headers() is None
    found = headers.available_headers()
    assert found is not None and str(found) == "HIP 9.8.7"
    names = sorted(p.relative_to(found.folder).as_posix() for p in found.folder.rglob("*") if p.is_file())
    assert names == ["SHA256SUMS", "hip/hip_version.h", "hip/sub/a.h"]
    assert headers.cached_headers() == found
    assert "big 1.0 (1 MiB, once)" in caplog.text


def test_available_headers_are_downloaded_once(index):
    headers.available_headers()
    index.unlink()
    headers.available_headers.cache_clear()
    assert headers.available_headers() is not None


def test_available_headers_with_wrong_digest_are_refused(index, caplog):
    with zipfile.ZipFile(index, "a") as archive:
        archive.writestr("big/more", "changed")
    assert headers.available_headers() is None
    assert "pip could not get big 1.0" in caplog.text
    assert "HASH" in caplog.text.upper()
    assert headers.cached_headers() is None


@pytest.fixture
def libraries(monkeypatch):
    """Keep AMD's device libraries, which may only be in the cache that ``index`` replaces."""
    files = device_library.library_files()
    monkeypatch.setattr(device_library, "library_files", lambda: files)


def test_available_headers_without_network_warns_of_fallback(libraries, index, tmp_path, caplog):
    index.unlink()
    source = tmp_path / "k.hip"
    # CUDA's mask has 32 bits. It is ignored, as with AMD's headers.
    line = "x[threadIdx.x] += __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1, 8);"
    source.write_text(f'#include <hip/hip_runtime.h>\nextern "C" __global__ void k(float* x) {{ {line} }}\n')
    for _ in range(2):
        Clang(target("gfx1100"), toolchain.wheels()).compile_listing(Unit(source), tmp_path / "k.s")
    assert "k.kd" in (tmp_path / "k.s").read_text()
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert "AMD's HIP headers are not available: pip could not get big 1.0" in warning
    assert "parity's own headers are used instead" in warning
    assert toolchain.wheels().described.endswith("headers of parity")


def test_wheels_have_pinned_versions_and_digests():
    assert all(len(wheel.sha256) == 64 and wheel.version in str(wheel) for wheel in headers.WHEELS)


def test_files_of_wheel_are_extracted_once(index, tmp_path, monkeypatch):
    holds = {"big/include/hip/sub/": ""}
    wheel = Wheel(**{**vars(headers.WHEELS[0]), "places": holds})
    headers.optional_files.cache_clear()
    assert headers.cached_files(wheel) is None
    folder = headers.optional_files(wheel)
    headers.optional_files.cache_clear()
    assert folder is not None and (folder / "a.h").read_text() == "// a"
    index.unlink()
    assert headers.optional_files(wheel) == headers.cached_files(wheel) == folder
    headers.optional_files.cache_clear()


@pytest.fixture
def no_compiler(index, monkeypatch):
    """Replace the compiler's wheel by one with a script, in an environment and a cache without a compiler."""
    folder = index.parent
    names = ("METADATA", "WHEEL", "RECORD")
    with zipfile.ZipFile(index) as archive:
        dist = {name: archive.read(f"big-1.0.dist-info/{name}").decode().replace("big", "zigs") for name in names}
    file = folder / "zigs-1.0-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        program = zipfile.ZipInfo("zigs/zig")
        program.external_attr = 0o100755 << 16
        archive.writestr(program, '#!/bin/sh\necho "clang version 22, $*"\n')
        archive.writestr("zigs/lib/mingw.h", "")
        for name, text in dist.items():
            archive.writestr(f"zigs-1.0.dist-info/{name}", text)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    wheel = Wheel("zigs", "1.0", digest, 1, "3.12", {"zigs/zig": "zig"}, "clang")
    monkeypatch.setattr(zig, "COMPILER", wheel)
    monkeypatch.setattr(zig, "package_folders", lambda name: ())
    caches = (zig.zig, zig.version, headers.optional_files)
    for each in caches:
        each.cache_clear()
    yield file
    for each in caches:
        each.cache_clear()


def test_compiler_is_extracted_when_first_used(no_compiler):
    zig.check_obtainable()
    assert zig.present() is None
    assert zig.version() == "clang version 22, clang --version"
    assert zig.present() == zig.zig() and {path.name for path in zig.zig().parent.iterdir()} == {"SHA256SUMS", "zig"}


def test_compiler_without_pip_and_package_is_missing(no_compiler, monkeypatch):
    monkeypatch.setattr(zig, "can_download", lambda wheel: False)
    with pytest.raises(MissingTool, match="ziglang"):
        zig.check_obtainable()
    no_compiler.unlink()
    with pytest.raises(MissingTool, match="ziglang"):
        zig.zig()
