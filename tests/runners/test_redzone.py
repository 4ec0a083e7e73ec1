"""The layout of buffers between red zones, with NumPy arrays as device memory."""

from __future__ import annotations

import re

import numpy as np
import pytest

from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Pointer
from parity.runners.redzone import ALIGNMENT, RED_BYTES, Arena


def buffer(name: str, values) -> Buffer:
    return Buffer(dtype(name), np.array(values, dtype(name).numpy))


@pytest.fixture
def arena() -> Arena:
    return Arena.of({"x": buffer("f32", range(10)), "empty": buffer("f64", []), "out": buffer("bf16", [1, 2, 3])})


def test_arena_aligns_and_separates_buffers(arena):
    end = 0
    for start, size in arena.ranges.values():
        assert start % ALIGNMENT == 0
        assert start - end >= RED_BYTES
        end = start + size
    assert len(arena.image) - end >= RED_BYTES


def test_unchanged_memory_contains_buffers_and_no_damage(arena):
    contents = arena.contents(arena.image.copy())
    assert {name: array.dtype for name, array in contents.items()} == {
        name: b.dtype.numpy for name, b in arena.buffers.items()
    }
    assert contents["x"].tolist() == list(range(10))
    assert contents["out"].astype(float).tolist() == [1, 2, 3]
    assert contents["empty"].size == 0
    assert arena.damage(arena.image.copy()) == ""


def test_write_to_buffer_is_not_damage(arena):
    after = arena.image.copy()
    start, size = arena.ranges["x"]
    after[start : start + size] ^= 0xFF
    assert arena.damage(after) == ""


@pytest.mark.parametrize(
    ("name", "offset", "says"),
    [
        ("x", 40, r"byte 40 \(element 10\) of 'x', which has 40 bytes \(10 elements\): 0 bytes behind its end"),
        ("x", -1, r"byte -1 \(element -1\) of 'x'.*1 bytes before its start"),
        ("out", 6, r"byte 6 \(element 3\) of 'out', which has 6 bytes"),
        ("empty", 8, r"byte 8 \(element 1\) of 'empty', which has 0 bytes"),
        ("out", 6 + RED_BYTES - 1, "of 'out'"),
    ],
)
def test_changed_red_zone_byte_names_nearest_buffer(arena, name, offset, says):
    after = arena.image.copy()
    after[arena.ranges[name][0] + offset] ^= 1
    message = arena.damage(after)
    assert message.startswith("bytes changed outside of the buffers: 1;")
    assert re.search(says, message)


def test_write_of_any_constant_to_red_zone_is_damage(arena):
    start, size = arena.ranges["x"]
    for value in range(256):
        after = arena.image.copy()
        after[start + size : start + size + 8] = value
        assert "of 'x'" in arena.damage(after)


def test_arena_without_red_zones_is_not_empty():
    assert len(Arena.of({}, 0).image) > 0
    assert Arena.of({"x": buffer("u8", [1] * 256)}, 0).contents(np.zeros(256, np.uint8))["x"].sum() == 0


def test_addresses_are_in_image_and_zero_in_contents():
    bytes_of = np.arange(16, dtype=np.uint8)
    bytes_of[8:] = 0
    held = Buffer(dtype("u8"), bytes_of, pointers=((8, Pointer("x", 2)),))
    arena = Arena.of({"x": buffer("f32", range(4)), "held": held})
    image = arena.linked(lambda pointer: 0x1000 + 4 * pointer.offset)
    start, size = arena.ranges["held"]
    assert image[start + 8 : start + size].view(np.uint64)[0] == 0x1008
    assert not arena.damage(image)
    np.testing.assert_array_equal(arena.contents(image)["held"], held.data)
