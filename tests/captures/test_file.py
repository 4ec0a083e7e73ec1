"""The file format of captures: incomplete files of the injected library, and altered captures."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from parity.captures.file import DATA, HEAD, LAUNCHES, pack, read_capture
from parity.errors import UsageError

STORED = Path(__file__).with_name("h100") / "particles.capture"


def parts(folder, *, lines=2, cut=0, size=8):
    """Write the files of a process with launches of 8 bytes, of which the last content may be shorter."""
    folder.mkdir()
    head = {"format": "parity capture", "version": 1, "device": "GPU", "compute": [9, 0], "driver": 13000}
    texts = [json.dumps({**head, "program": "app"}, separators=(",", ":"))]
    for i in range(lines):
        ranges = [[0, 4, 8 * i, 8 * i + 4]]
        launch = {"launch": i, "kernel": "scale", "api": "cuLaunchKernel", "grid": [1, 1, 1], "block": [32, 1, 1]}
        launch |= {"shared": 0, "parameters": [[0, "0010000000000000"]]}
        launch |= {"allocations": [{"address": 4096, "size": 4, "ranges": ranges}]}
        texts.append(json.dumps(launch, separators=(",", ":")))
    text = "\n".join(texts) + "\n"
    (folder / "1.jsonl").write_text(text[: len(text) - cut])
    (folder / "1.bin").write_bytes(bytes(range(8 * lines))[: 8 * (lines - 1) + size])
    return folder


def altered(tmp_path, change):
    """Return a copy of a stored capture whose members ``change`` has altered."""
    path = tmp_path / "altered.capture"
    with zipfile.ZipFile(STORED) as old, zipfile.ZipFile(path, "w") as new:
        members = {name: old.read(name) for name in old.namelist()}
        new.comment = change(members) or old.comment
        for name, data in members.items():
            new.writestr(name, data)
    return path


def test_pack_two_launches_keeps_memory_before_and_after(tmp_path):
    capture = pack(parts(tmp_path / "a.parts"), tmp_path / "a.capture")
    assert [launch.launch for launch in capture.launches] == [0, 1]
    (allocation,) = capture.launches[1].allocations
    assert list(capture.allocation(allocation, after=False)) == [(0, bytes(range(8, 12)))]
    assert list(capture.allocation(allocation, after=True)) == [(0, bytes(range(12, 16)))]


@pytest.mark.parametrize("broken", [{"cut": 20}, {"size": 5}])
def test_pack_program_was_killed_keeps_complete_launches(tmp_path, broken):
    capture = pack(parts(tmp_path / "a.parts", **broken), tmp_path / "a.capture")
    assert [launch.launch for launch in capture.launches] == [0]


def test_pack_equal_contents_are_stored_once(tmp_path):
    capture = read_capture(STORED)
    names = {part.before for launch in capture.launches for each in launch.allocations for part in each.ranges}
    with zipfile.ZipFile(STORED) as file:
        stored = [name for name in file.namelist() if name.startswith(DATA)]
    assert len(stored) == len(set(stored)) < sum(len(launch.allocations) for launch in capture.launches) * 2
    assert {DATA + name for name in names} <= set(stored)


def edited(**changes):
    """Return a change of the first launch."""

    def change(members):
        first, *others = members[LAUNCHES].splitlines()
        members[LAUNCHES] = b"\n".join([json.dumps({**json.loads(first), **changes}).encode(), *others])

    return change


def of_head(members):
    members[HEAD] = b'{"format": 1}'


def without_data(members):
    del members[next(name for name in members if name.startswith(DATA))]


def longer_data(members):
    members[next(name for name in members if name.startswith(DATA))] += b"x"


def without_launches(members):
    del members[LAUNCHES]


OVERLAPPING = [{"address": 1, "size": 8, "ranges": [{"start": 4, "size": 8, "before": "", "after": ""}]}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of_head, "head.json"),
        (without_data, "is missing or has another size"),
        (longer_data, "is missing or has another size"),
        (without_launches, "is not a capture, or it was truncated or altered"),
        (edited(grid=[1, 1]), "line 1"),
        (edited(number=7), "the numbers of launch and process are wrong"),
        (edited(process=3), "the numbers of launch and process are wrong"),
        (edited(parameters=[[0, "xy"]]), "an argument is not hexadecimal"),
        (edited(parameters=[[8, "00"], [0, "00"]]), "the arguments overlap or are too large"),
        (edited(parameters=[[1 << 40, "00"]]), "the arguments overlap or are too large"),
        (edited(allocations=OVERLAPPING), "the ranges of an allocation overlap or exceed it"),
        (lambda members: b"parity capture, version 9", "has version 9 of the format"),
        (lambda members: b"something", "but not a capture"),
    ],
)
def test_read_altered_capture_names_the_problem(tmp_path, change, message):
    path = altered(tmp_path, change)
    with pytest.raises(UsageError, match=message) as error:
        read_capture(path)
    assert str(path) in str(error.value)


def test_content_with_other_bytes_is_refused(tmp_path):
    def change(members):
        name = next(name for name in members if name.startswith(DATA))
        members[name] = bytes(len(members[name]))

    capture = read_capture(altered(tmp_path, change))
    with pytest.raises(UsageError, match="does not match its checksum"):
        for launch in capture.launches:
            for allocation in launch.allocations:
                list(capture.allocation(allocation, after=False))


@pytest.mark.parametrize("size", [0, 40, 3000])
def test_read_truncated_capture_is_refused(tmp_path, size):
    path = tmp_path / "cut.capture"
    path.write_bytes(STORED.read_bytes()[:size])
    with pytest.raises(UsageError, match="is not a capture, or it was truncated or altered"):
        read_capture(path)


def test_read_missing_capture_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"none\.capture"):
        read_capture(tmp_path / "none.capture")


def test_read_copied_capture_is_the_same(tmp_path):
    path = shutil.copy(STORED, tmp_path)
    assert read_capture(Path(path)).launches == read_capture(STORED).launches
