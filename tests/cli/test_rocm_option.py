"""``--rocm`` with recordings and a cluster: each version is a separate column."""

import shutil

import pytest

from parity.compilers import toolchain
from parity.compilers.headers import available_headers


@pytest.fixture
def rocm(tmp_path, monkeypatch):
    """Return the option for two versions of HIP: the wheel's, and the same headers with another number."""
    folder = available_headers().folder
    for name in ("hip", "hsa"):
        shutil.copytree(folder / name, tmp_path / "rocm" / name)
    header = tmp_path / "rocm" / "hip" / "hip_version.h"
    header.write_text(header.read_text().replace("VERSION_MINOR 2", "VERSION_MINOR 9"))
    monkeypatch.setenv(toolchain.ROCM, "")  # the option sets it
    return "--rocm", f"wheels,{tmp_path / 'rocm'}"


KERNEL = ("affine", "--dtype", "f32")
ONE = ("--examples", "1")


def test_recorded_versions_are_replayed_as_columns(parity, rocm, tmp_path, monkeypatch):
    file = tmp_path / "two.zip"
    result = parity("record", "--runner", "emulated", "--target", "gfx1100", *rocm, *KERNEL, *ONE, "-o", file)
    assert result.code == 0, result.err
    monkeypatch.setenv(toolchain.ROCM, "")
    result = parity("run", "--runner", f"recorded={file}", *KERNEL)
    assert result.code == 0, result.out + result.err
    assert "gfx1100@6.2 gfx1100@6.9 recorded" in result.out and "not judged" not in result.err


def test_versions_are_columns_of_a_cluster(parity, rocm):
    pytest.importorskip("distributed")
    result = parity("run", "--cluster", "local:1", "--target", "gfx1100", *rocm, *KERNEL, *ONE)
    assert result.code == 0, result.out + result.err
    assert "gfx1100@6.2" in result.out and "gfx1100@6.9" in result.out
