"""Ops that select and update rows by ids, against loops; rounding of additions and the id that means "none"."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.data.indices import ids as index_stream
from parity.data.streams import elements
from parity.model.dtypes import DTYPES, NUMBERS, dtype

VALUES = [d for name, d in NUMBERS.items() if name not in ("u64", "i16", "i32")]
IDS = [dtype(name) for name in ("u8", "u32", "i16", "i32", "i64")]
SHAPE, COUNT = (2, 3, 5, 2), 7
by_value = pytest.mark.parametrize("kind", VALUES, ids=str)
by_dim = pytest.mark.parametrize("dim", range(len(SHAPE)))


def data(kind, shape, name, stream="normal"):
    return elements(stream, kind, 3, int(np.prod(shape)), name).reshape(shape)


def picked(dim):
    return (*SHAPE[:dim], COUNT, *SHAPE[dim + 1 :])


def ids(kind, shape, dim, stream="sentinel"):
    return index_stream(stream, kind, 1, int(np.prod(shape)), "ids", SHAPE[dim]).reshape(shape)


def placed(place, dim, j):
    return (*place[:dim], int(j), *place[dim + 1 :])


def is_none(index):
    return index == np.iinfo(index.dtype).max


@by_value
@by_dim
@pytest.mark.parametrize("index", IDS, ids=str)
def test_index_select_and_gather_match_loops(kind, index, dim):
    inp, line, whole = data(kind, SHAPE, "inp"), ids(index, (COUNT,), dim), ids(index, picked(dim), dim)
    selected, gathered = reference.index_select(line, inp, dim).value, reference.gather(whole, inp, dim).value
    assert selected.dtype == gathered.dtype == kind.numpy
    assert selected.shape == gathered.shape == picked(dim)
    for place in np.ndindex(picked(dim)):
        for result, at in ((selected, line[place[dim]]), (gathered, whole[place])):
            assert result[place] == (0 if is_none(at) else inp[placed(place, dim, at)])


@by_value
@by_dim
@pytest.mark.parametrize("stream", ["sentinel", "repeat"])
def test_index_add_and_scatter_update_in_ascending_order(kind, dim, stream):
    inp, out = data(kind, picked(dim), "inp"), data(kind, SHAPE, "out")
    line, whole = (ids(dtype("u32"), shape, dim, stream) for shape in ((COUNT,), picked(dim)))
    added, scattered, put = out.copy(), out.copy(), out.copy()
    for place in np.ndindex(picked(dim)):  # ascending along every dim
        for result, at in ((added, line[place[dim]]), (scattered, whole[place])):
            if not is_none(at):
                target = placed(place, dim, at)
                result[target] = total(result[target], inp[place], kind)
        if not is_none(whole[place]):
            put[placed(place, dim, whole[place])] = inp[place]
    passes(reference.index_add(line, inp, out, dim), added)
    passes(reference.scatter_add(whole, inp, out, dim), scattered)
    passes(reference.scatter(whole, inp, out, dim), put)


def total(x, y, kind):
    """Add two numbers with a single rounding."""
    if kind.is_float:
        return kind.convert(float(Fraction(float(x)) + Fraction(float(y))))
    return (np.array([x]) + np.array([y]))[0]


@pytest.mark.parametrize(
    ("kind", "terms", "rounded", "at_once"),
    [
        ("f16", (2048.0, 1.0, 1.0), 2048.0, 2050.0),
        ("bf16", (256.0, 1.0, 1.0), 256.0, 258.0),
        ("f32", (2.0**24, 1.0, 1.0), 2.0**24, 2.0**24 + 2),
        ("f64", (2.0**53, 1.0, 1.0), 2.0**53, 2.0**53 + 2),
        ("f8_e4m3", (16.0, 1.0, 1.0), 16.0, 18.0),
        ("f8_e4m3", (448.0, 448.0, -448.0), 0.0, 448.0),
        ("f16", (65504.0, 65504.0, -65504.0), np.inf, 65504.0),
    ],
)
def test_index_add_rounds_every_addition(kind, terms, rounded, at_once):
    numbers = np.array(terms, DTYPES[kind].numpy)
    expected = reference.index_add(np.zeros(2, np.uint8), numbers[1:], numbers[:1], 0)
    passes(expected, np.array([rounded], numbers.dtype))
    fails(expected, np.array([at_once], numbers.dtype), kind="infinity" if np.isinf(rounded) else "value")


def test_scatter_add_of_integers_wraps():
    expected = reference.scatter_add(np.zeros(3, np.int64), np.full(3, 100, np.uint8), np.zeros(1, np.uint8), 0)
    assert expected.value.tolist() == [300 - 256]


def test_index_select_checks_sign_of_zero():
    expected = reference.index_select(np.array([0], np.uint8), np.array([-0.0], np.float32), 0)
    fails(expected, np.array([0.0], np.float32), kind="sign of zero")


@pytest.mark.parametrize(("index", "rows"), [*itertools.product(["u8", "i64"], [0, 1, 300])])
def test_index_none_selects_no_row_for_any_number_of_rows(index, rows):
    none = np.full(2, DTYPES[index].max, DTYPES[index].numpy)
    table = np.ones((rows, 3), np.float32)
    assert not reference.index_select(none, table, 0).value.any()
    assert np.array_equal(reference.index_add(none, np.ones((2, 3), np.float32), table, 0).value, table)


def test_scatter_does_not_modify_operands():
    out = np.zeros((2, 2), np.float32)
    reference.scatter(np.zeros((2, 2), np.uint8), np.ones((2, 2), np.float32), out, 0)
    assert not out.any()
