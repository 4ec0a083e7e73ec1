"""The content-addressed cache: complete entries or none."""

import errno
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from parity.errors import ResourceExhausted
from parity.platform.cache import Cache, default_root, digest

KEY = digest("some", "key")


def writes(text, calls=None):
    def build(folder):
        if calls is not None:
            calls.append(text)
        (folder / "sub").mkdir()
        (folder / "sub" / "file").write_text(text)

    return build


def refuses(folder):
    raise AssertionError("built although the entry exists")


def test_the_second_get_builds_nothing(tmp_path):
    cache = Cache(tmp_path)
    first, hit = cache.get(KEY, writes("x"))
    assert not hit
    assert cache.get(KEY, refuses) == (first, True)
    assert (first / "sub" / "file").read_text() == "x"


@pytest.mark.parametrize("damage", ["change", "truncate", "delete", "add", "seal", "seal bytes"])
def test_a_damaged_entry_is_built_again_with_a_warning(tmp_path, caplog, damage):
    cache = Cache(tmp_path)
    folder, _ = cache.get(KEY, writes("content"))
    file, seal = folder / "sub" / "file", folder / "SHA256SUMS"
    match damage:
        case "change":
            file.write_text("c0ntent")
        case "truncate":
            file.write_text("")
        case "delete":
            file.unlink()
        case "add":
            (folder / "extra").write_text("")
        case "seal":
            seal.unlink()
        case "seal bytes":
            seal.write_bytes(b"\xff\xfe")
    again, hit = cache.get(KEY, writes("content"))
    assert (again, hit) == (folder, False)
    assert file.read_text() == "content"
    assert "damaged" in caplog.text
    assert cache.get(KEY, refuses)[1]


def test_bytecode_that_python_leaves_there_is_no_damage(tmp_path, caplog):
    folder, _ = Cache(tmp_path).get(KEY, writes("x"))
    (folder / "sub" / "__pycache__").mkdir()
    (folder / "sub" / "__pycache__" / "file.cpython-311.pyc").write_bytes(b"code")
    assert Cache(tmp_path).get(KEY, refuses) == (folder, True)
    assert not caplog.text


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def fails(folder):
        (folder / "half").write_text("")
        raise ValueError("no")

    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match="no"):
        cache.get(KEY, fails)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    assert cache.get(KEY, writes("x"))[1] is False


def test_a_cache_that_cannot_be_written_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceExhausted, match=r"cannot write the cache folder .*file.*PARITY_CACHE"):
        Cache(tmp_path / "file").get(KEY, writes("x"))


def test_an_entry_that_cannot_be_placed_is_an_error_not_a_damaged_result(tmp_path, monkeypatch):
    folder, _ = Cache(tmp_path).get(KEY, writes("x"))
    (folder / "sub" / "file").write_text("y")
    monkeypatch.setattr("parity.platform.cache.shutil.rmtree", lambda *a, **k: None)
    with pytest.raises(ResourceExhausted, match="cannot write the cache folder"):
        Cache(tmp_path).get(KEY, writes("x"))


def at_once(count, function):
    """What a function returned in each of so many threads."""
    with ThreadPoolExecutor(count) as pool:
        return [future.result(60) for future in [pool.submit(function) for _ in range(count)]]


def test_of_those_who_want_a_key_at_a_time_one_builds_it(tmp_path):
    built = []

    def build(folder):
        built.append(folder)
        time.sleep(0.2)
        writes("x")(folder)

    found = at_once(4, lambda: Cache(tmp_path).get(KEY, build))
    assert len(built) == 1 and len({folder for folder, _ in found}) == 1
    assert sorted(there for _, there in found) == [False, True, True, True]
    assert [p.name for p in tmp_path.rglob(".*")] == []


def test_after_a_build_that_failed_the_others_try_together(tmp_path):
    first, together = threading.Event(), threading.Barrier(3)

    def build(folder):
        if not first.is_set():
            first.set()
            time.sleep(0.2)
            raise ValueError("no")
        together.wait(30)  # would break if they built one after the other
        writes("x")(folder)

    def attempt():
        try:
            return Cache(tmp_path).get(KEY, build)[0]
        except ValueError:
            return None

    found = at_once(4, attempt)
    assert found.count(None) == 1 and len(set(found)) == 2
    assert not list(tmp_path.rglob(".build-*"))


def test_nobody_waits_for_ever_for_one_that_is_suspended(tmp_path, monkeypatch):
    monkeypatch.setattr("parity.platform.cache.BUILD_WAIT", 0.1)
    begun, end = threading.Event(), threading.Event()

    def suspended(folder):
        begun.set()
        end.wait(60)
        writes("x")(folder)

    thread = threading.Thread(target=lambda: Cache(tmp_path).get(KEY, suspended))
    thread.start()
    begun.wait(30)
    assert Cache(tmp_path).get(KEY, writes("x"))[1] is False
    end.set()
    thread.join()
    assert Cache(tmp_path).get(KEY, refuses)[1]


def test_nobody_waits_for_one_that_was_killed(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from parity.platform.cache import Cache\n"
        f"Cache(Path(sys.argv[1])).get({KEY!r}, lambda folder: os.kill(os.getpid(), 9))"
    )
    assert subprocess.run([sys.executable, "-c", script, tmp_path]).returncode == -9
    assert list(tmp_path.rglob(".lock-*"))
    assert Cache(tmp_path).get(KEY, writes("x"))[1] is False
    assert not list(tmp_path.rglob(".lock-*"))


def test_digests_of_different_lists_differ():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a") == digest(b"a")


def test_the_root_is_the_users_choice(monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("PARITY_CACHE")
    assert default_root().name == "parity"


def test_a_text_is_kept_until_it_is_forgotten_or_damaged(tmp_path):
    cache = Cache(tmp_path)
    assert cache.noted(KEY, "text") is None and not any(tmp_path.iterdir())
    cache.note(KEY, "text", "kept")
    assert (cache.noted(KEY, "text"), cache.noted(KEY)) == ("kept", "")
    cache.forget(KEY)
    assert cache.noted(KEY) is None
    cache.note(KEY, "text", "kept")
    (cache.folder(KEY) / "text").write_text("spoiled")
    assert cache.noted(KEY, "text") is None


def test_a_full_disk_is_said_to_be_that_of_the_cache(tmp_path):
    def build(folder):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a write without a name does

    with pytest.raises(
        ResourceExhausted, match=rf"cannot write the cache folder {tmp_path}: No space left on device; set"
    ):
        Cache(tmp_path).get("ab12", build)
