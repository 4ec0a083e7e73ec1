"""Upsampling of images: positions, weights, truncation, contraction and conversions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import dtype

KINDS = [dtype(name) for name in ("u8", "u32", "f16", "bf16", "f32", "f64")]
FLOATS = KINDS[2:]
ALL = pytest.mark.parametrize("kind", KINDS, ids=str)
BOTH = pytest.mark.parametrize("align_corners", [0, 1])


def image(kind, rows, columns, seed=0):
    values = np.random.default_rng(seed).standard_normal((2, 2, rows, columns)) * 40
    return (values if kind.is_float else np.abs(values)).astype(kind.numpy)


def bilinear(src, rows, columns, align_corners=0, scale_h=None, scale_w=None):
    given_scales = [v for scale in (scale_h, scale_w) for v in (scale is not None, scale or 0.0)]
    return reference.upsample_bilinear2d(src, columns, rows, align_corners, *given_scales)


@ALL
@given(data=st.data())
def test_upsample_nearest2d_matches_definition(kind, data):
    rows, columns, w_out, h_out = (data.draw(st.integers(1, 6)) for _ in range(4))
    scales = rows / w_out, columns / h_out
    src = image(kind, rows, columns)
    expected = reference.upsample_nearest2d(src, w_out, h_out, *scales)
    assert expected.value.shape == (2, 2, w_out, h_out)
    for y, x in np.ndindex(w_out, h_out):
        at = [min(int(o * s), n - 1) for o, s, n in zip((y, x), scales, (rows, columns), strict=True)]
        np.testing.assert_array_equal(expected.value[:, :, y, x], src[:, :, *at])


def test_upsample_nearest2d_computes_positions_in_f64():
    src = np.array([1.0, 2.0]).reshape(1, 1, 2, 1)
    expected = reference.upsample_nearest2d(src, 98, 1, 2 / 98, 1.0)
    assert expected.value.ravel()[49] == 1  # 49 * (2 / 98) rounds to less than 1


@BOTH
@ALL
def test_upsample_bilinear2d_to_same_size_allows_no_error(kind, align_corners):
    src = image(kind, 5, 4)
    expected = bilinear(src, 5, 4, align_corners)
    passes(expected, src)
    wrong = src.copy()
    wrong[1, 1, 3, 2] = (
        src[1, 1, 3, 2] + 1 if kind.kind == "uint" else np.nextafter(src[1, 1, 3, 2], src.dtype.type(np.inf))
    )
    fails(expected, wrong)


def sampled(src, y, x):
    """Interpolate a plane at real coordinates, clamped to its extents."""
    y, x = (min(max(v, 0.0), n - 1.0) for v, n in zip((y, x), src.shape, strict=True))
    i, j = min(int(y), max(src.shape[0] - 2, 0)), min(int(x), max(src.shape[1] - 2, 0))
    k, m = min(i + 1, src.shape[0] - 1), min(j + 1, src.shape[1] - 1)
    rows = [(1 - (x - j)) * float(src[r, j]) + (x - j) * float(src[r, m]) for r in (i, k)]
    return (1 - (y - i)) * rows[0] + (y - i) * rows[1]


@BOTH
@pytest.mark.parametrize("kind", FLOATS, ids=str)
@given(data=st.data())
def test_upsample_bilinear2d_matches_definition(kind, align_corners, data):
    rows, columns, h_out, w_out = (data.draw(st.integers(1, 6)) for _ in range(4))
    factors = [data.draw(st.none() | st.sampled_from([2.0, 0.5, 1.7, 0.3])) for _ in range(2)]
    src = image(kind, rows, columns)
    expected = bilinear(src, h_out, w_out, align_corners, *factors)

    def position(o, n, m, factor):
        if align_corners:
            return o * (n - 1) / (m - 1) if m > 1 else 0.0
        return (o + 0.5) * (1 / factor if factor else n / m) - 0.5

    got = np.empty((2, 2, h_out, w_out))
    for b, c, y, x in np.ndindex(*got.shape):
        at = position(y, rows, h_out, factors[0]), position(x, columns, w_out, factors[1])
        got[b, c, y, x] = sampled(src[b, c], *at)
    np.testing.assert_allclose(expected.value.astype(float), got, rtol=2.0 ** (1 - kind.precision), atol=1e-12)
    if kind.name != "f64":
        passes(expected, got.astype(np.float32).astype(kind.numpy))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("contracted", [False, True])
def test_upsample_bilinear2d_accepts_contracted_coordinates(kind, contracted):
    src, differ = image(kind, 3, 5), 0
    got = np.empty((2, 2, 9, 11))
    for y, x in np.ndindex(9, 11):
        at = []
        for o, scale in ((y, 3 / 9), (x, 5 / 11)):
            separate = scale * (o + 0.5) - 0.5
            once = float(Fraction(scale) * (o + Fraction(1, 2)) - Fraction(1, 2))
            differ += separate != once
            at.append(once if contracted else separate)
        got[:, :, y, x] = [[sampled(plane, *at) for plane in planes] for planes in src]
    assert differ
    passes(bilinear(src, 9, 11), got.astype(kind.numpy))


def test_upsample_bilinear2d_of_integers_truncates():
    src = np.array([0, 255], np.uint8).reshape(1, 1, 1, 2)
    expected = bilinear(src, 1, 4)
    passes(expected, np.array([0, 63, 191, 255], np.uint8).reshape(1, 1, 1, 4))
    fails(expected, np.array([0, 64, 191, 255], np.uint8).reshape(1, 1, 1, 4))


def test_upsample_bilinear2d_of_constant_integers_allows_small_error():
    src = np.full((1, 1, 1, 3), 5, np.uint8)
    expected = bilinear(src, 1, 7)
    passes(expected, np.full((1, 1, 1, 7), 5, np.uint8))
    fails(expected, np.full((1, 1, 1, 7), 3, np.uint8))


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_upsample_bilinear2d_zero_weight_times_infinity_is_nan(kind):
    src = np.array([[1, math.inf], [1, math.inf]], kind.numpy).reshape(1, 1, 2, 2)
    expected = bilinear(src, 1, 3)
    passes(expected, np.array([math.nan, math.inf, math.inf], kind.numpy).reshape(1, 1, 1, 3))
    fails(expected, np.array([1, math.inf, math.inf], kind.numpy).reshape(1, 1, 1, 3), "nan")


def test_upsample_bilinear2d_of_f16_accepts_rounding_through_f32():
    src = np.array([1, 1 + 2.0**-10], np.float16).reshape(1, 1, 1, 2)
    # the exact result lies slightly above a tie of f16; f32 cannot represent the difference
    expected = bilinear(src, 1, 1, 0, None, 1 / (2 + 2.0**-28))
    single, double = np.float16(1 + 2.0**-10), np.float16(1)
    for rounded in (single, double):
        passes(expected, np.array(rounded).reshape(1, 1, 1, 1))


WRONG = {
    "corners": lambda src: bilinear(src, 9, 7, 1).value,
    "half a position": lambda src: bilinear(src, 9, 7, 0, 9 / 5.001).value,
    "the other axis": lambda src: bilinear(src.swapaxes(2, 3), 7, 9).value.swapaxes(2, 3)[:, :, ::-1],
    "the nearest": lambda src: reference.upsample_nearest2d(src, 9, 7, 5 / 9, 4 / 7).value,
}


@pytest.mark.parametrize("kind", [k for k in FLOATS if k.name in ("f32", "f64")], ids=str)
@pytest.mark.parametrize("name", WRONG)
def test_upsample_bilinear2d_with_defect_fails(name, kind):
    src = image(kind, 5, 4)
    fails(bilinear(src, 9, 7), WRONG[name](src))
