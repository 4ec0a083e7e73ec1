"""``parity headers``: shows, installs and removes AMD's headers."""

import pytest

from parity.compilers import header_folders
from parity.compilers.headers import available_headers


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    wrappers = available_headers().folder
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(header_folders, "clang_wrappers", lambda: wrappers)


def test_headers_installs_shows_and_removes(parity, tmp_path):
    (tmp_path / "new" / "hip").mkdir(parents=True)
    lines = (f"#define HIP_VERSION_{name} {number}\n" for name, number in (("MAJOR", 7), ("MINOR", 2), ("PATCH", 4)))
    (tmp_path / "new" / "hip" / "hip_version.h").write_text("".join(lines))
    assert "none yet" in parity("headers").out
    result = parity("headers", "--install", str(tmp_path / "new"))
    assert result.code == 0 and "used: HIP 7.2.4" in " ".join(result.out.split())
    removed = parity("headers", "--remove")
    assert "removed HIP 7.2.4" in removed.out and "none yet" in removed.out


def test_headers_refuses_folder_without_headers(parity, tmp_path):
    result = parity("headers", "--install", str(tmp_path))
    assert result.code == 2 and "has no hip/hip_version.h" in " ".join(result.err.split())
