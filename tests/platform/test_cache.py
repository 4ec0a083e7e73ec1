"""The content-addressed cache: complete entries, concurrent builds and damaged entries."""

import errno
import os
import shutil
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


def test_get_existing_entry_does_not_build(tmp_path):
    cache = Cache(tmp_path)
    first, hit = cache.get(KEY, writes("x"))
    assert not hit
    assert cache.get(KEY, refuses) == (first, True)
    assert (first / "sub" / "file").read_text() == "x"


@pytest.mark.parametrize("damage", ["change", "truncate", "delete", "add", "seal", "seal bytes", "other entry"])
def test_get_damaged_entry_rebuilds_with_warning(tmp_path, caplog, damage):
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
        case "other entry":
            other, _ = cache.get(KEY[::-1], writes("other"))
            shutil.rmtree(folder)
            other.rename(folder)
    again, hit = cache.get(KEY, writes("content"))
    assert (again, hit) == (folder, False)
    assert file.read_text() == "content"
    assert "damaged" in caplog.text
    assert cache.get(KEY, refuses)[1]


def test_get_ignores_bytecode_in_entry(tmp_path, caplog):
    folder, _ = Cache(tmp_path).get(KEY, writes("x"))
    (folder / "sub" / "__pycache__").mkdir()
    (folder / "sub" / "__pycache__" / "file.cpython-311.pyc").write_bytes(b"code")
    assert Cache(tmp_path).get(KEY, refuses) == (folder, True)
    assert not caplog.text


def test_get_failed_build_leaves_no_files(tmp_path):
    def fails(folder):
        (folder / "half").write_text("")
        raise ValueError("no")

    cache = Cache(tmp_path)
    with pytest.raises(ValueError, match="no"):
        cache.get(KEY, fails)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    assert cache.get(KEY, writes("x"))[1] is False


def test_get_unwritable_root_names_variable(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceExhausted, match=r"cannot write the cache folder .*file.*PARITY_CACHE"):
        Cache(tmp_path / "file").get(KEY, writes("x"))


@pytest.fixture
def in_child():
    """Return a function that calls a function in a child process without rights, because tests may run as root."""

    def call(function):
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            try:
                if os.getuid() == 0:
                    os.setuid(65534)
                result = repr(function())
            except BaseException as error:
                result = f"{type(error).__name__}: {error}"
            os.write(writing, result.encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writing)
        with os.fdopen(reading) as stream:
            return stream.read()

    return call


def test_get_below_folder_without_permission_names_variable(tmp_path, in_child):
    (tmp_path / "locked").mkdir(mode=0)
    message = in_child(lambda: Cache(tmp_path / "locked" / "cache").get(KEY, writes("x")))
    assert message.startswith(f"ResourceExhausted: cannot write the cache folder {tmp_path}")
    assert "Permission denied; set PARITY_CACHE to a writable folder" in message


def test_folder_without_permission_has_no_entries(tmp_path, in_child, caplog):
    (tmp_path / "locked").mkdir(mode=0)
    cache = Cache(tmp_path / "locked" / "cache")
    assert in_child(lambda: (cache.existing(KEY), cache.noted(KEY), caplog.text)) == "(None, None, '')"


def test_get_entry_that_cannot_be_renamed_raises(tmp_path, monkeypatch):
    folder, _ = Cache(tmp_path).get(KEY, writes("x"))
    (folder / "sub" / "file").write_text("y")
    monkeypatch.setattr("parity.platform.cache.shutil.rmtree", lambda *a, **k: None)
    with pytest.raises(ResourceExhausted, match="cannot write the cache folder"):
        Cache(tmp_path).get(KEY, writes("x"))


def at_once(count, function):
    """Call a function in several threads and return the results."""
    with ThreadPoolExecutor(count) as pool:
        return [future.result(60) for future in [pool.submit(function) for _ in range(count)]]


def test_get_concurrent_callers_build_once(tmp_path):
    built = []

    def build(folder):
        built.append(folder)
        time.sleep(0.2)
        writes("x")(folder)

    found = at_once(4, lambda: Cache(tmp_path).get(KEY, build))
    assert len(built) == 1 and len({folder for folder, _ in found}) == 1
    assert sorted(there for _, there in found) == [False, True, True, True]
    assert [p.name for p in tmp_path.rglob(".*")] == []


def test_get_waiting_callers_build_after_failed_build(tmp_path):
    first, together = threading.Event(), threading.Barrier(3)

    def build(folder):
        if not first.is_set():
            first.set()
            time.sleep(0.2)
            raise ValueError("no")
        together.wait(30)  # fails if the callers build one after the other
        writes("x")(folder)

    def attempt():
        try:
            return Cache(tmp_path).get(KEY, build)[0]
        except ValueError:
            return None

    found = at_once(4, attempt)
    assert found.count(None) == 1 and len(set(found)) == 2
    assert not list(tmp_path.rglob(".build-*"))


def test_get_stops_waiting_for_suspended_builder(tmp_path, monkeypatch):
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


def test_get_does_not_wait_for_killed_builder(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from parity.platform.cache import Cache\n"
        f"Cache(Path(sys.argv[1])).get({KEY!r}, lambda folder: os.kill(os.getpid(), 9))"
    )
    assert subprocess.run([sys.executable, "-c", script, tmp_path]).returncode == -9
    assert list(tmp_path.rglob(".lock-*"))
    assert Cache(tmp_path).get(KEY, writes("x"))[1] is False
    assert not list(tmp_path.rglob(".lock-*"))


def test_digest_different_lists_differ():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a") == digest(b"a")


def test_default_root_follows_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("PARITY_CACHE")
    assert default_root().name == "parity"


def test_note_is_kept_until_forgotten_or_damaged(tmp_path):
    cache = Cache(tmp_path)
    assert cache.noted(KEY) is None and not any(tmp_path.iterdir())
    cache.note(KEY, "kept")
    assert cache.noted(KEY) == "kept"
    cache.forget(KEY)
    assert cache.noted(KEY) is None
    cache.note(KEY, "kept " * 1000)
    file = cache.folder(KEY)
    assert file.stat().st_size < 100
    for damage in (b"", b"spoiled", file.read_bytes()[:-1], file.read_bytes()[:-9] + bytes(9)):
        cache.note(KEY, "kept " * 1000)
        file.write_bytes(damage)
        assert cache.noted(KEY) is None
        assert not file.exists()
    (file / "of another version").mkdir(parents=True)
    assert cache.noted(KEY) is None
    cache.note(KEY, "kept")
    assert (cache.noted(KEY), KEY in cache) == ("kept", False)


def test_get_full_disk_names_cache_folder(tmp_path):
    def build(folder):
        raise OSError(errno.ENOSPC, "No space left on device")  # without a file name, as ``write`` raises it

    with pytest.raises(
        ResourceExhausted, match=rf"cannot write the cache folder {tmp_path}: No space left on device .* MiB free"
    ):
        Cache(tmp_path).get("ab12", build)
