"""What a compilation reads besides the source: other headers, the environment, and parity's own code."""

import ast
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import parity
from parity.build.compilation import TOOLS, fingerprint
from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers import headers
from parity.compilers.compile_options import CompileOptions, Sides
from parity.compilers.targets import target
from parity.errors import ResourceExhausted, UsageError
from parity.platform.cache import Cache, default_root

ROOT = Path(parity.__file__).parent
SOURCE = """#ifdef MORE
#include MORE
#endif
extern "C" __global__ void k(float* x) { x[threadIdx.x] = FACTOR; }
"""
BOTH = pytest.mark.parametrize("name", ["gfx1100", "sm_90"])


@pytest.fixture
def compiled(tmp_path):
    """Build the kernel and return the result."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "k.cu").write_text(SOURCE)

    def run(name, *flags):
        settings = BuildSettings(Sides.both(CompileOptions.from_settings(folder, flags=flags)))
        (built,) = build(folder, ["k"], [name], settings=settings, cache=Cache(tmp_path / "cache"))
        return built

    return run


def test_changed_macros_file_rebuilds(compiled, tmp_path):
    macros = tmp_path / "my macros.h"
    for value, literal in (("3.0f", "0x40400000"), ("5.0f", "0x40a00000")):
        macros.write_text(f"#define FACTOR {value}\n")
        built = compiled("gfx1100", "-imacros", str(macros))
        assert built.error is None
        assert literal in built.code_object.listing and not built.cached
    assert compiled("gfx1100", "-imacros", str(macros)).cached


@pytest.mark.parametrize(("name", "flag"), [("gfx1100", "-fsanitize-ignorelist={}"), ("sm_90", "-ccbin={}")])
def test_changed_file_that_a_flag_names_rebuilds(compiled, tmp_path, name, flag):
    file = tmp_path / "file"
    for comment in ("# one", "# two"):
        file.write_text(f"{comment}\n" if "list" in flag else f'#!/bin/sh\n{comment}\nexec g++ "$@"\n')
        file.chmod(0o755)
        built = compiled(name, "-DFACTOR=3.0f", flag.format(file))
        assert built.error is None and not built.cached
    assert compiled(name, "-DFACTOR=3.0f", flag.format(file)).cached


def test_changed_header_with_computed_name_rebuilds(compiled, tmp_path):
    header = tmp_path / "factor.h"
    for value, literal in (("3.0f", "1077936128"), ("5.0f", "1084227584")):
        header.write_text(f"#define FACTOR {value}\n")
        built = compiled("sm_90", f'-DMORE="{header}"')
        assert literal in built.code_object.listing and not built.cached
    assert compiled("sm_90", f'-DMORE="{header}"').cached


@BOTH
@pytest.mark.parametrize("variable", ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"])
def test_compilers_do_not_search_folders_of_the_environment(compiled, name, variable, tmp_path, monkeypatch):
    (tmp_path / "only_there.h").write_text("#define FACTOR 3.0f\n")
    monkeypatch.setenv(variable, str(tmp_path))
    built = compiled(name, "-DMORE=<only_there.h>")
    assert "only_there.h" in str(built.error)


def test_compilers_ignore_options_of_the_environment(compiled, monkeypatch):
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "# +-UFACTOR +-DFACTOR=5.0f")
    assert "0x40400000" in compiled("gfx1100", "-DFACTOR=3.0f").code_object.listing


@pytest.mark.parametrize("variable", ["NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "NVCC_CCBIN", "SOURCE_DATE_EPOCH"])
def test_fingerprint_depends_on_settings_of_the_environment(variable, monkeypatch):
    before = fingerprint(target("sm_90"))
    monkeypatch.setenv(variable, "1")
    assert fingerprint(target("sm_90")) != before


def test_fingerprint_refuses_file_of_options_in_the_environment(monkeypatch):
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-lineinfo --options-file more")
    with pytest.raises(UsageError, match="the environment variable NVCC_APPEND_FLAGS: flags has '--options-file'"):
        fingerprint(target("sm_90"))


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system with 8 MiB of free space next to the headers and parts of wheels in the cache."""
    folder = tmp_path / "disk"
    folder.mkdir()
    used = sum(-(-path.stat().st_size // 4096) for path in (default_root() / "headers").rglob("*")) * 4
    mount = ["mount", "-t", "tmpfs", "-o", f"size={used + (8 << 10)}k", "tmpfs", folder]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("a file system cannot be mounted")
    try:
        shutil.copytree(default_root() / "headers", folder / "headers")
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_full_cache_disk_is_not_blamed_on_the_kernel(small_disk, compiled, tmp_path):
    command = [sys.executable, "-m", "parity", "build", "--kernels", tmp_path / "kernels", "--target", "gfx1100"]
    env = {**os.environ, "PARITY_CACHE": str(small_disk), "PARITY_TOOLCHAIN": "wheels"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 3
    assert f"the cache folder {small_disk} has " in done.stderr and "free some space" in done.stderr


def test_full_disk_of_headers_is_not_a_missing_header(tmp_path, monkeypatch):
    def fill(wheels, folder):
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "hip.h"))

    monkeypatch.setenv("PARITY_CACHE", str(tmp_path))
    monkeypatch.setattr(headers, "_fill", fill)
    with pytest.raises(
        ResourceExhausted, match=rf"cannot write the cache folder {tmp_path}/headers: No space left .*free"
    ):
        headers.available_headers.__wrapped__()


def imported(path):
    """Yield the files of parity that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parity."):
            whole = ROOT.parent / node.module.replace(".", "/")
            for each in (whole, *(whole / name.name for name in node.names)):
                yield from (file for file in (each.with_suffix(".py"), each / "__init__.py") if file.is_file())


def test_digest_of_tools_covers_everything_that_a_build_imports():
    covered = {file for pattern in TOOLS for file in ROOT.glob(pattern)}
    waiting, met = [ROOT / "build/compilation.py", ROOT / "build/variant_search.py"], set()
    while waiting:
        if (path := waiting.pop()) not in met:
            met.add(path)
            waiting += imported(path)
    assert len(met) > 60
    assert sorted(str(path.relative_to(ROOT)) for path in met - covered) == []
