"""The size of the cache: what goes, what stays, and who says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parity.errors import UsageError
from parity.platform import cache_eviction
from parity.platform.cache import Cache, digest
from parity.platform.cache_eviction import folder_size, limit

BYTES = 10**5


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path))
    return tmp_path


def entry(root: Path, number: int, part: str = "build") -> Path:
    """An entry of ``BYTES`` bytes, which is made if it is not there."""
    return Cache(root / part).get(digest(str(number)), lambda folder: (folder / "file").write_bytes(bytes(BYTES)))[0]


def process(root: Path, code: str, allowed: int | str = "none") -> subprocess.Popen[str]:
    """Another process, in which this module is there by its names."""
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from {Path(__file__).stem} import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", f"{start}root = Path({str(root)!r})\n{code}"],
        env={**os.environ, cache_eviction.LIMIT: str(allowed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def grows(root: Path, allowed: int) -> None:
    """Another process makes another entry, with a limit."""
    with process(root, "entry(root, 9)", f"{allowed}B") as other:
        assert other.wait(60) == 0


def test_what_was_not_used_for_longest_goes_first(root):
    code = "for age in range(6): os.utime(entry(root, age) / cache_eviction.SEAL, (1e9 - age, 1e9 - age))"
    with process(root, f"{code}\nentry(root, 5)") as other:  # the oldest is used again
        assert other.wait(60) == 0
    entries = [Cache(root / "build").folder(digest(str(number))) for number in range(6)]
    grows(root, 5 * BYTES)
    assert [path.is_dir() for path in entries] == [True, True, False, False, False, True]
    assert folder_size(root) < 5 * BYTES


@pytest.mark.parametrize("ended", [False, True])
def test_what_a_running_process_uses_stays(root, ended):
    waits = "path = entry(root, 0); print(path, flush=True); sys.stdin.read(); print(len((path / 'file').read_bytes()))"
    with process(root, waits) as other:
        used = Path(other.stdout.readline().strip())
        if ended:
            other.kill()
            other.wait()
        grows(root, BYTES)
        assert used.is_dir() is not ended
        assert other.communicate("")[0] == ("" if ended else f"{BYTES}\n")


def test_headers_and_a_cache_without_a_limit_stay(root, monkeypatch):
    with process(root, "for number in range(3): entry(root, number, 'headers')") as other:
        assert other.wait(60) == 0
    grows(root, BYTES)
    assert len(list((root / "headers").glob("??/*"))) == 3
    monkeypatch.setenv(cache_eviction.LIMIT, "none")
    assert limit() is None


def test_what_a_killed_process_left_goes(root):
    left = root / "build" / "aa" / f"{cache_eviction.SCRATCH}x"
    left.mkdir(parents=True)
    (left / "file").write_bytes(bytes(BYTES))
    os.utime(left, (0, 0))
    grows(root, BYTES)
    assert not left.exists()


@pytest.mark.parametrize(
    ("text", "bytes_"), [("2G", 2 << 30), ("1.5 MiB", 3 << 19), ("300kB", 300 << 10), ("7B", 7), ("", 5 << 30)]
)
def test_a_limit_is_a_size(monkeypatch, text, bytes_):
    monkeypatch.setenv(cache_eviction.LIMIT, text)
    assert limit() == bytes_


@pytest.mark.parametrize("text", ["much", "-1", "5 apples", "20000"])
def test_what_is_no_size_is_said(monkeypatch, text):
    monkeypatch.setenv(cache_eviction.LIMIT, text)
    with pytest.raises(UsageError, match=r"PARITY_CACHE_LIMIT is .* say \"10G\""):
        limit()
