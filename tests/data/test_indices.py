"""Index streams: range of ids, duplicates, sentinels and windows."""

from __future__ import annotations

import numpy as np
import pytest

from parity.data.indices import INDEX_STREAMS, ids, is_sentinel
from parity.model.dtypes import DTYPES

WHOLE = ("offsets", "parts", "starts", "lengths", "segments", "consecutive")
"""Streams whose elements depend on the number of elements, or on the start of the tensor."""
KINDS = [DTYPES[name] for name in ("u8", "u32", "i16", "i32", "i64")]


@pytest.mark.parametrize("stream", [each for each in INDEX_STREAMS if each != "segments"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("bound", [1, 2, 3, 7, 255, 256, 300, 70000])
def test_ids_are_in_range_or_sentinel(stream, kind, bound):
    values = ids(stream, kind, 5, 2000, "ids", bound)
    assert values.dtype == kind.numpy
    none = is_sentinel(values, kind)
    assert ((values >= 0) & (values < bound) | none).all()
    assert (400 < none.sum() < 600) if stream == "sentinel" else not none.any()


@pytest.mark.parametrize("stream", [each for each in INDEX_STREAMS if each not in WHOLE])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_ids_window_matches_whole_stream(stream, kind):
    whole = ids(stream, kind, 100, 300, "ids", 11)
    assert np.array_equal(ids(stream, kind, 137, 5, "ids", 11), whole[37:42])


def test_ids_have_properties_of_stream():
    u32 = DTYPES["u32"]
    assert set(ids("index", u32, 0, 500, "ids", 20)) == set(range(20))
    assert set(ids("repeat", u32, 0, 500, "ids", 20)) == {0, 9, 19}
    assert ids("ramp", u32, 0, 7, "ids", 3).tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert ids("consecutive", u32, 5, 7, "ids", 4).tolist() == [0, 1, 2, 3, 0, 1, 2]  # wherever the window begins
    assert ids("index", u32, 0, 9, "ids", 20).tolist() != ids("index", u32, 0, 9, "other", 20).tolist()


@pytest.mark.parametrize(("rows", "bound"), [(1, 1), (2, 8), (7, 3), (300, 2000), (2000, 301)])
def test_offsets_ascend_from_zero_to_bound(rows, bound):
    values = ids("offsets", DTYPES["i32"], 5, rows + 1, "begin", bound)
    lengths = np.diff(values)
    assert values[0] == 0 and values[-1] in (bound - 1, 0) and (lengths >= 0).all()
    assert rows < 300 or (values[-1] == bound - 1 and (lengths == 0).any() and lengths.max() > lengths.mean())


@pytest.mark.parametrize(("count", "entries"), [(0, 4), (1, 4), (2, 1), (8, 9), (8, 3), (301, 2000), (2001, 301)])
def test_parts_ascend_and_are_not_empty_if_there_are_enough_entries(count, entries):
    values = ids("parts", DTYPES["i32"], 5, count, "begin", entries + 1)
    lengths = np.diff(values)
    assert len(values) == count and (count < 2 or (values[0], values[-1]) == (0, entries))
    assert (lengths >= (count <= entries + 1)).all()


@pytest.mark.parametrize(("parts", "entries"), [(1, 0), (1, 1), (1, 9), (7, 9), (7, 3), (300, 2000), (2000, 301)])
def test_starts_and_lengths_divide_all_entries(parts, entries):
    starts = ids("starts", DTYPES["i32"], 5, parts, "begin", entries + 1)
    lengths = ids("lengths", DTYPES["i32"], 88, parts, "count", entries + 1)
    filled = lengths > 0
    assert starts[0] == 0 and lengths.sum() == entries and (filled.all() or parts > entries)
    assert np.array_equal((starts + lengths)[filled], np.cumsum(lengths)[filled]) and starts.max() <= max(
        0, entries - 1
    )


@pytest.mark.parametrize(("rows", "entries"), [(0, 4), (1, 0), (1, 9), (7, 9), (7, 3), (300, 2000), (2000, 301)])
def test_segments_are_rows_of_number_start_and_length(rows, entries):
    values = ids("segments", DTYPES["i64"], 5, 3 * rows, "rays", entries + 1).reshape(rows, 3)
    number, start, length = values.T
    assert number.tolist() == [*range(rows)][::-1] and (rows > entries or (length > 0).all())
    assert np.array_equal(start + length, np.cumsum(length)) and length.sum() == entries * (rows > 0)
