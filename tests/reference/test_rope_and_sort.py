"""Rotary position embedding against complex multiplication; argsort in any order of ties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import dtype
from parity.reference.rounding import fma

FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
ALL = pytest.mark.parametrize("kind", FLOATS, ids=str)


def angles(kind, *shape):
    turns = np.random.default_rng(1).uniform(-3, 3, shape)
    return np.cos(turns).astype(kind.numpy), np.sin(turns).astype(kind.numpy)


def turned(pairs, cos, sin):
    """Rotate complex pairs by multiplying them with complex angles."""
    return pairs * (cos.astype(float) + 1j * sin.astype(float))


@ALL
@pytest.mark.parametrize("batched", [False, True])
def test_rope_matches_complex_multiplication(kind, batched):
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 8)).astype(kind.numpy)  # batch, head, time, d
    cos, sin = angles(kind, *((2, 5, 4) if batched else (5, 4)))
    w = x.astype(float)
    c, s = (a[:, None] if batched else a for a in (cos, sin))
    tolerance = {"rtol": 4 * 2.0**-kind.precision, "atol": 12 * 2.0**-kind.precision}

    expected = turned(w[..., :4] + 1j * w[..., 4:], c, s)
    value = reference.rope(x, cos, sin).value.astype(float)
    np.testing.assert_allclose(value[..., :4] + 1j * value[..., 4:], expected, **tolerance)

    transposed = reference.rope_thd(np.ascontiguousarray(x.swapaxes(1, 2)), cos, sin).value
    assert np.array_equal(transposed.swapaxes(1, 2).astype(float), value)

    expected = turned(w[..., 0::2] + 1j * w[..., 1::2], c, s)
    value = reference.rope_interleaved(x, cos, sin).value.astype(float)
    np.testing.assert_allclose(value[..., 0::2] + 1j * value[..., 1::2], expected, **tolerance)


@ALL
def test_rope_accepts_contraction_of_either_product_only(kind):
    x = np.random.default_rng(0).normal(size=(1, 1, 50, 2)).astype(kind.numpy)
    cos, sin = angles(kind, 50, 1)
    expected = reference.rope(x, cos, sin)
    a, b, c, s = x[0, 0, :, 0], x[0, 0, :, 1], cos[:, 0], sin[:, 0]
    with_first = np.stack([fma(a, c, -(b * s), kind), fma(a, s, b * c, kind)], axis=-1)
    with_second = np.stack([fma(-b, s, a * c, kind), fma(b, c, a * s, kind)], axis=-1)
    separate = np.stack([a * c - b * s, a * s + b * c], axis=-1)
    for got in (with_first, with_second, separate):
        passes(expected, got.reshape(x.shape))
    assert not np.array_equal(with_first, separate)
    off = separate.reshape(x.shape).copy()
    off[0, 0, 7, 0] = np.nextafter(off[0, 0, 7, 0].astype(np.float32), 100, dtype=np.float32).astype(kind.numpy) * (
        kind.numpy.type(1 + 8 * 2.0**-kind.precision)
    )
    fails(expected, off)


def test_rope_in_opposite_direction_fails():
    x, (cos, sin) = np.ones((1, 1, 1, 2), np.float32), angles(FLOATS[2], 1, 1)
    passes(reference.rope(x, cos, sin), reference.rope(x, cos, sin).value)
    fails(reference.rope(x, cos, sin), reference.rope(x, cos, -sin).value)


KEYS = [
    np.array([[2, 2, 1, 1], [0, 3, 2, 1]], np.uint8),
    np.array([[2**62, 2**62 + 1, -1, 0], [0, 0, 0, 0]], np.int64),
    np.array([[1.5, -0.0, 0.0, -math.inf], [math.inf, 1, 1, -1]], np.float32),
]


@pytest.mark.parametrize("x", KEYS, ids=lambda x: str(x.dtype))
def test_argsort_accepts_any_order_of_equal_keys_only(x):
    for function, sign in ((reference.argsort_ascending, 1), (reference.argsort_descending, -1)):
        expected = function(x)
        assert expected.value.dtype == np.uint32
        passes(expected, expected.value)
        order = lambda row, ties, sign=sign: sorted(range(4), key=lambda i: (sign * row[i], ties * i))  # noqa: E731
        for ties in (1, -1):
            passes(expected, np.array([order(row.tolist(), ties) for row in x], np.uint32))
        swapped = expected.value.copy()
        swapped[0, [0, 3]] = swapped[0, [3, 0]]
        fails(expected, swapped)


def test_argsort_with_tie_order_of_sorting_network_passes():
    passes(reference.argsort_ascending(KEYS[0][:1]), np.array([[2, 3, 0, 1]], np.uint32))


@pytest.mark.parametrize("wrong", [[0, 0, 2, 3], [0, 1, 2, 4], [0, 1, 2, 2**32 - 1]])
def test_argsort_without_permutation_fails(wrong):
    x = np.array([[1, 1, 1, 1], [1, math.nan, 1, 2]], np.float32)
    for row in (0, 1):
        got = np.array([[0, 1, 2, 3], [0, 1, 2, 3]], np.uint32)
        got[row] = wrong
        assert fails(reference.argsort_ascending(x), got).wrong == 1


def test_argsort_of_row_with_nan_accepts_any_order():
    x = np.array([[3, math.nan, 1, 2]], np.float32)
    passes(reference.argsort_ascending(x), np.array([[0, 1, 2, 3]], np.uint32))
    passes(reference.argsort_descending(x), np.array([[2, 0, 3, 1]], np.uint32))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=20), st.randoms())
def test_argsort_of_shuffled_indices_passes_only_if_ordered(keys, random):
    x = np.array([keys], np.uint8)
    got = list(range(len(keys)))
    random.shuffle(got)
    ordered = all(keys[a] <= keys[b] for a, b in itertools.pairwise(got))
    (passes if ordered else fails)(reference.argsort_ascending(x), np.array([got], np.uint32))


def test_argsort_of_empty_rows_is_empty():
    passes(reference.argsort_ascending(np.zeros((2, 0), np.float32)), np.zeros((2, 0), np.uint32))
