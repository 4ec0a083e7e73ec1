"""The content-addressed cache: complete entries or none."""

import threading

import pytest

from parity.cache import Cache, default_root, digest
from parity.errors import SystemLacks

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
    with pytest.raises(SystemLacks, match=r"cannot write the cache folder .*file.*PARITY_CACHE"):
        Cache(tmp_path / "file").get(KEY, writes("x"))


def test_an_entry_that_cannot_be_placed_is_an_error_not_a_damaged_result(tmp_path, monkeypatch):
    folder, _ = Cache(tmp_path).get(KEY, writes("x"))
    (folder / "sub" / "file").write_text("y")
    monkeypatch.setattr("parity.cache.shutil.rmtree", lambda *a, **k: None)
    with pytest.raises(SystemLacks, match="cannot write the cache folder"):
        Cache(tmp_path).get(KEY, writes("x"))


def test_concurrent_builds_of_one_key_agree(tmp_path):
    cache, results, gate = Cache(tmp_path), [], threading.Barrier(4)

    def build(folder):
        gate.wait(timeout=30)
        writes("x")(folder)

    threads = [threading.Thread(target=lambda: results.append(cache.get(KEY, build)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1
    assert len(results) == 4
    assert cache.get(KEY, refuses)[1]
    assert not list(tmp_path.rglob(".build-*"))


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
