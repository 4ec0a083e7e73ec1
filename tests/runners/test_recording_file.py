"""Recording files: reading a damaged file returns the recording or reports the damage."""

from __future__ import annotations

import copy
import hashlib
import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parity.errors import UsageError
from parity.model.code_object import Argument, CodeObject, Kernel
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Fault
from parity.runners import recording_file as module
from parity.runners.recording_file import RecordedCase, Recording, read_recording, write_recording

KERNEL = Kernel("uneg_f32", (Argument("n", 0, 8, "by_value"),), 8, 0, 12, 0, 0, 32)
CODE = CodeObject("unary", "sm_90", "", {"uneg_f32": KERNEL}, "digest")
HEAD = {
    "runner": "cuda",
    "vendor": "cuda",
    "evidence": "hardware",
    "device": {"gpu": "NVIDIA H200"},
    "seed": 0,
    "examples": 2,
    "environment": {"sources": {"unary.cu": "ab" * 32}},
}
BEFORE = {"x": Buffer(dtype("f32"), np.ones(3, np.float32)), "out": Buffer(dtype("f32"), np.zeros(3, np.float32))}


def case(number: int, fault: Fault | None = None) -> RecordedCase:
    out = {} if fault else {"out": np.full(3, -number, np.float32).tobytes()}
    return RecordedCase(
        f"unary.neg[f32](x=3~normal@{number})", "", "unary", "uneg_f32", "sm_90", f"{number}", out, fault
    )


CASES = (case(1), case(2), case(3, Fault("timeout", "no end", True)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A valid recording."""
    path = tmp_path_factory.mktemp("recordings") / "whole.zip"
    write_recording(path, HEAD, [CODE], CASES, {"timings.json": b"{}"})
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The path of the damaged recordings of these tests."""
    return tmp_path_factory.mktemp("recordings") / "spoilt.zip"


def sealed(whole, place, change_head=None, change_cases=None):
    """Write a recording with a changed head and changed lines, and with valid checksums and seal."""
    with zipfile.ZipFile(whole) as old:
        members = {name: old.read(name) for name in old.namelist()}
    head = json.loads(members.pop(module.HEAD))
    if change_cases:
        lines = [change_cases(json.loads(line)) for line in members[module.CASES].splitlines()]
        members[module.CASES] = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    head["members"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    text = json.dumps(change_head(head) if change_head else head).encode()
    with zipfile.ZipFile(place, "w") as new:
        for name, data in {module.HEAD: text, **members}.items():
            new.writestr(name, data)
        new.comment = module._seal(text)
    return place


def used(recording: Recording) -> None:
    """Use a recording as the replay runner does."""
    recording.code()
    for each in recording.cases:
        each.outcome(BEFORE)


def refused(path) -> bool:
    """True if a file is refused. The message must name the file."""
    try:
        used(read_recording(path))
    except UsageError as error:
        assert str(path) in str(error)
        return True
    return False


def test_written_recording_is_read_back(whole):
    back = read_recording(whole)
    assert back.cases == CASES
    assert back.attached == {"timings.json": b"{}"}
    assert back.head["device"] == HEAD["device"]
    assert back.code()["unary", "sm_90"].kernels == {"uneg_f32": KERNEL}
    assert back.cases[0].outcome(BEFORE).buffers["out"].tolist() == [-1, -1, -1]


spoiling = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@spoiling
@given(data=st.data())
def test_altered_bytes_are_refused_or_irrelevant(whole, place, data):
    original = whole.read_bytes()
    altered = bytearray(original)
    for at in data.draw(st.lists(st.integers(0, len(original) - 1), min_size=1, max_size=3)):
        altered[at] ^= data.draw(st.integers(1, 255))
    place.write_bytes(altered)
    assert refused(place) or read_recording(place) == read_recording(whole)


@spoiling
@given(data=st.data())
def test_truncated_or_joined_file_is_refused(whole, place, data):
    original = whole.read_bytes()
    start = data.draw(st.integers(0, len(original)))
    end = data.draw(st.integers(start, len(original)))
    place.write_bytes(original[:start] + original[end:])
    assert refused(place) or read_recording(place) == read_recording(whole)


def places_of(value, path=()):
    """Yield the path of every value inside a JSON value."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places_of(value[key], (*path, key))


ODD = st.sampled_from([None, True, -1, 10**9, 0.5, "", "x", [], [[]], {}, {"x": 1}])


def mutated(data, value):
    """Draw a JSON value in which one inner value is replaced or removed."""
    value = copy.deepcopy(value)
    *path, last = data.draw(st.sampled_from(list(places_of(value))))
    inside = value
    for key in path:
        inside = inside[key]
    if data.draw(st.booleans()):
        del inside[last]
    else:
        inside[last] = data.draw(ODD)
    return value


@spoiling
@given(data=st.data())
def test_sealed_random_head_is_refused_or_usable(whole, place, data):
    refused(sealed(whole, place, change_head=lambda head: mutated(data, head)))


@spoiling
@given(data=st.data())
def test_sealed_random_cases_are_refused_or_usable(whole, place, data):
    refused(sealed(whole, place, change_cases=lambda line: mutated(data, line)))


@pytest.mark.parametrize(
    "name", ["runner", "vendor", "evidence", "device", "seed", "examples", "environment", "modules", "members"]
)
def test_head_without_key_is_refused_with_its_name(whole, place, name):
    sealed(whole, place, change_head=lambda head: {n: v for n, v in head.items() if n != name})
    with pytest.raises(UsageError, match=f"spoilt.zip is malformed: head.json: {name} is missing"):
        read_recording(place)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"vendor": "intel"}, "vendor is 'intel', not amd or cuda"),
        ({"seed": True}, "seed is True, not a whole number"),
        ({"environment": {"sources": {"a.cu": "ab", "b.cu": 3}}}, "environment: sources: b.cu is 3, not a text"),
    ],
)
def test_head_with_wrong_value_is_refused_with_its_path(whole, place, change, says):
    sealed(whole, place, change_head=lambda head: {**head, **change})
    with pytest.raises(UsageError, match=f"spoilt.zip is malformed: head.json: {says}"):
        read_recording(place)


@pytest.mark.parametrize("name", ["case", "title", "module", "kernel", "target", "launch", "buffers", "fault"])
def test_case_without_key_is_refused_with_its_line(whole, place, name):
    sealed(whole, place, change_cases=lambda line: {n: v for n, v in line.items() if n != name})
    with pytest.raises(UsageError, match=f"spoilt.zip is malformed: cases.jsonl, line 1: {name} is missing"):
        read_recording(place)


def test_buffer_range_outside_of_file_is_refused(whole, place):
    for span in ([0, 1000], [-4, 8], [20, 12]):
        sealed(whole, place, change_cases=lambda line, span=span: {**line, "buffers": {"out": span}})
        with pytest.raises(UsageError, match=r"outside of the 24 bytes of outputs/sm_90/unary.bin"):
            read_recording(place)
    sealed(whole, place, change_cases=lambda line: {**line, "buffers": {"out": [8]}})
    with pytest.raises(UsageError, match=r"cases.jsonl, line 1: buffers: out is \[8\], not a list of length 2"):
        read_recording(place)


@pytest.mark.parametrize(
    ("buffers", "says"),
    [({"out": b"1234"}, "4 bytes of the buffer 'out', which has 12"), ({"y": b""}, "the launch does not have")],
)
def test_buffers_of_other_launch_are_fault_of_case(buffers, says):
    fault = RecordedCase(*("text",) * 6, buffers).outcome(BEFORE).fault
    assert fault.kind == "error"
    assert says in fault.message


def test_recording_of_15000_cases_is_read_back(tmp_path):
    many = tuple(case(number) for number in range(15_000))
    write_recording(tmp_path / "many.zip", HEAD, [CODE], many)
    assert read_recording(tmp_path / "many.zip").cases == many


def test_json_file_instead_of_recording_is_refused(place):
    place.write_bytes(b'{"format": "parity recording"}')
    assert refused(place)
