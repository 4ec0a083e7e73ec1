"""Cache eviction: order, protected entries and the size limit."""

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
    """Get or build an entry of ``BYTES`` bytes."""
    return Cache(root / part).get(digest(str(number)), lambda folder: (folder / "file").write_bytes(bytes(BYTES)))[0]


def process(root: Path, code: str, allowed: int | str = "none") -> subprocess.Popen[str]:
    """Run code in another process that imports all names of this module."""
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from {Path(__file__).stem} import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", f"{start}root = Path({str(root)!r})\n{code}"],
        env={**os.environ, cache_eviction.LIMIT: str(allowed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def grows(root: Path, allowed: int) -> None:
    """Add an entry in another process with a size limit."""
    with process(root, "entry(root, 9)", f"{allowed}B") as other:
        assert other.wait(60) == 0


def test_cache_over_limit_evicts_least_recently_used(root):
    code = "for age in range(6): os.utime(entry(root, age) / cache_eviction.SEAL, (1e9 - age, 1e9 - age))"
    with process(root, f"{code}\nentry(root, 5)") as other:  # uses the oldest entry again
        assert other.wait(60) == 0
    entries = [Cache(root / "build").folder(digest(str(number))) for number in range(6)]
    grows(root, 5 * BYTES)
    assert [path.is_dir() for path in entries] == [True, True, False, False, False, True]
    assert folder_size(root) < 5 * BYTES


def test_texts_over_limit_are_evicted(root):
    code = (
        "for number in range(6):\n"
        "    Cache(root / 'cases').note(digest(str(number)), os.urandom(BYTES // 2).hex())\n"
        "    os.utime(Cache(root / 'cases').folder(digest(str(number))), (1e9 + number, 1e9 + number))\n"
        "Cache(root / 'cases').noted(digest('0'))"  # uses the oldest text again
    )
    with process(root, code) as other:
        assert other.wait(60) == 0
    grows(root, 3 * BYTES)
    found = [Cache(root / "cases").noted(digest(str(number))) is not None for number in range(6)]
    assert found[0] and not any(found[1:3]) and found[5]
    assert folder_size(root) < 3 * BYTES


@pytest.mark.parametrize("ended", [False, True])
def test_entries_of_running_process_are_kept(root, ended):
    waits = "path = entry(root, 0); print(path, flush=True); sys.stdin.read(); print(len((path / 'file').read_bytes()))"
    with process(root, waits) as other:
        used = Path(other.stdout.readline().strip())
        if ended:
            other.kill()
            other.wait()
        grows(root, BYTES)
        assert used.is_dir() is not ended
        assert other.communicate("")[0] == ("" if ended else f"{BYTES}\n")


def test_headers_and_unlimited_cache_are_kept(root, monkeypatch):
    with process(root, "for number in range(3): entry(root, number, 'headers')") as other:
        assert other.wait(60) == 0
    grows(root, BYTES)
    assert len(list((root / "headers").glob("??/*"))) == 3
    monkeypatch.setenv(cache_eviction.LIMIT, "none")
    assert limit() is None


def test_leftovers_of_killed_process_are_removed(root):
    left = root / "build" / "aa" / f"{cache_eviction.SCRATCH}x"
    left.mkdir(parents=True)
    (left / "file").write_bytes(bytes(BYTES))
    os.utime(left, (0, 0))
    grows(root, BYTES)
    assert not left.exists()


@pytest.mark.parametrize(
    ("text", "bytes_"), [("2G", 2 << 30), ("1.5 MiB", 3 << 19), ("300kB", 300 << 10), ("7B", 7), ("", 5 << 30)]
)
def test_limit_parses_sizes(monkeypatch, text, bytes_):
    monkeypatch.setenv(cache_eviction.LIMIT, text)
    assert limit() == bytes_


@pytest.mark.parametrize("text", ["much", "-1", "5 apples", "20000"])
def test_limit_invalid_size_raises(monkeypatch, text):
    monkeypatch.setenv(cache_eviction.LIMIT, text)
    with pytest.raises(UsageError, match=r"PARITY_CACHE_LIMIT is .* set \"10G\""):
        limit()
