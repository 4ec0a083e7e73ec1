"""Convolution, im2col, col2im and pooling against loops over the definition, with padding and special values."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import dtype

INF, NAN = np.inf, np.nan
FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
HALVES, WIDE = FLOATS[:2], FLOATS[2:]
by_kind = pytest.mark.parametrize
small = st.integers(1, 3)


@st.composite
def calls(draw, rank):
    """Draw integer source and weight, stride, padding, dilation, and compute the shape of the output."""
    batch, channels_in, channels_out = draw(small), draw(small), draw(small)
    stride, padding, dilation = draw(small), draw(st.integers(0, 3)), draw(small)
    taps = [draw(st.integers(1, 4)) for _ in range(rank)]
    sizes = [max(draw(st.integers(1, 6)), dilation * (k - 1) + 1 - 2 * padding) for k in taps]
    out = [(n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(sizes, taps, strict=True)]
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    src = rng.integers(-9, 10, (batch, channels_in, *sizes)).astype(np.float32)
    weight = rng.integers(-9, 10, (channels_out, channels_in, *taps)).astype(np.float32)
    return src, weight, stride, padding, dilation, (batch, channels_out, *out)


def looped(src, weight, stride, padding, dilation, shape):
    """Compute a convolution by its definition, product by product."""
    out = np.zeros(shape)
    taps = list(itertools.product(*map(range, weight.shape[2:])))
    for b, o, *place in np.ndindex(*shape):
        for c, tap in itertools.product(range(src.shape[1]), taps):
            at = [p * stride + k * dilation - padding for p, k in zip(place, tap, strict=True)]
            if all(0 <= i < n for i, n in zip(at, src.shape[2:], strict=True)):
                out[b, o, *place] += float(src[b, c, *at]) * float(weight[o, c, *tap])
    return out


@given(call=calls(1))
def test_conv1d_matches_definition(call):
    np.testing.assert_array_equal(reference.conv1d(*call).value, looped(*call))


@given(call=calls(2))
def test_conv2d_matches_definition(call):
    np.testing.assert_array_equal(reference.conv2d(*call).value, looped(*call))


@by_kind("rank", [1, 2])
@given(data=st.data())
def test_conv_transpose_is_adjoint_of_conv(rank, data):
    """<conv(x), y> = <x, conv_transpose(y)>. Rows that no window covers are output padding."""
    src, weight, stride, padding, dilation, shape = data.draw(calls(rank))
    forward, backward = (
        (reference.conv1d, reference.conv_transpose1d),
        (reference.conv2d, reference.conv_transpose2d),
    )[rank - 1]
    y = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 10, shape).astype(np.float32)
    image = forward(src, weight, stride, padding, dilation, shape=shape).value
    back = backward(y, weight, stride, padding, 0, dilation, shape=src.shape).value
    assert (image * y).sum() == (src * back).sum()


@given(call=calls(2))
def test_im2col_times_weight_equals_conv2d(call):
    src, weight, stride, padding, dilation, (batch, channels, *out) = call
    shape = (batch, *out, src.shape[1], *weight.shape[2:])
    columns = reference.im2col(src, *weight.shape[2:], stride, padding, dilation, shape=shape).value
    assert columns.shape == shape
    product = columns.reshape(batch, -1, weight[0].size) @ weight.reshape(channels, -1).T
    np.testing.assert_array_equal(product.swapaxes(1, 2).reshape(batch, channels, *out), looped(*call))


@given(call=calls(1))
def test_im2col1d_times_weight_equals_conv1d(call):
    src, weight, stride, padding, dilation, (batch, _, length) = call
    shape = (batch, length, src.shape[1], weight.shape[2])
    columns = reference.im2col1d(src, weight.shape[2], stride, padding, dilation, shape=shape).value
    assert columns.shape == shape
    np.testing.assert_array_equal(np.einsum("blck,ock->bol", columns, weight), looped(*call))


@given(data=st.data())
def test_col2im1d_is_adjoint_of_im2col1d(data):
    batch, length, channels, taps, stride = (data.draw(small) for _ in range(5))
    src = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 10, (batch, length, channels, taps))
    shape = (batch, channels, (length - 1) * stride + taps)
    x = np.arange(np.prod(shape)).reshape(shape).astype(np.float64)
    columns = reference.im2col1d(x, taps, stride, 0, 1, shape=src.shape).value
    added = reference.col2im1d(src.astype(np.float64), stride, shape=shape).value
    assert (columns * src).sum() == (x * added).sum()


@by_kind("kind", FLOATS, ids=str)
def test_col2im1d_rounds_every_addition_in_order(kind):
    src = np.random.default_rng(6).standard_normal((1, 6, 2, 5)).astype(kind.numpy)
    expected = reference.col2im1d(src, 1, shape=(1, 2, 10))
    total = kind.numpy.type(0)
    for k in range(5):
        total = kind.numpy.type(total + src[0, 5 - k, 1, k])
    assert expected.value[0, 1, 5] == total
    backwards = reference.col2im1d(src[:, ::-1, :, ::-1], 1, shape=(1, 2, 10)).value[:, :, ::-1]
    fails(expected, backwards)


@by_kind("kind", FLOATS, ids=str)
def test_conv1d_skips_padding_for_infinite_weight(kind):
    src = np.ones((1, 1, 2), kind.numpy)
    weight = np.array([[[INF, 1, 2]]], kind.numpy)
    expected = reference.conv1d(src, weight, 1, 1, 1, shape=(1, 1, 2))
    passes(expected, np.array([[[3, INF]]], kind.numpy))
    fails(expected, np.array([[[NAN, INF]]], kind.numpy), "nan")


def test_conv1d_dilation_spaces_taps_only():
    src = np.arange(9, dtype=np.float32).reshape(1, 1, 9)
    weight = np.ones((1, 1, 2), np.float32)
    expected = reference.conv1d(src, weight, 1, 0, 3, shape=(1, 1, 6))
    passes(expected, np.array([[[3, 5, 7, 9, 11, 13]]], np.float32))
    fails(expected, np.array([[[3, 9, 15, 0, 0, 0]]], np.float32))


def pooled(src, sizes, strides):
    view = np.lib.stride_tricks.sliding_window_view(src, sizes, (2, 3))[:, :, :: strides[0], :: strides[1]]
    return view.reshape(*view.shape[:4], -1)


@given(data=st.data())
def test_pooling_matches_definition(data):
    sizes, strides = ([data.draw(small) for _ in range(2)] for _ in range(2))
    extents = [data.draw(st.integers(k, 7)) for k in sizes]
    src = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 10, (2, 2, *extents)).astype(np.float32)
    windows = pooled(src, sizes, strides)
    shape = windows.shape[:4]
    largest = reference.max_pool2d(src, *sizes, *strides, shape=shape)
    np.testing.assert_array_equal(largest.value, windows.max(axis=-1))
    scaled = windows.sum(axis=-1) * np.float32(1 / windows.shape[-1])
    np.testing.assert_array_equal(reference.avg_pool2d(src, *sizes, *strides, shape=shape).value, scaled)


@by_kind("kind", FLOATS, ids=str)
def test_max_pool2d_propagates_nan_only_for_half_types(kind):
    src = np.array([NAN, 1, 2, NAN, NAN, NAN, -INF, -3], kind.numpy).reshape(1, 1, 4, 2)
    expected = reference.max_pool2d(src, 1, 2, 1, 1, shape=(1, 1, 4, 1))
    numbers = [NAN, NAN, NAN, -3] if kind in HALVES else [1, 2, NAN, -3]
    passes(expected, np.array(numbers, kind.numpy).reshape(1, 1, 4, 1))
    fails(expected, np.array([1, NAN, NAN, -3], kind.numpy).reshape(1, 1, 4, 1), "nan")


def test_avg_pool2d_of_integers_wraps_and_truncates():
    src = np.array([200, 100, 255, 255], np.uint8).reshape(1, 1, 2, 2)
    assert reference.avg_pool2d(src, 1, 2, 1, 1, shape=(1, 1, 2, 1)).value.ravel().tolist() == [22, 127]
    assert reference.max_pool2d(src, 2, 1, 1, 1, shape=(1, 1, 1, 2)).value.ravel().tolist() == [255, 255]


@by_kind("kind", WIDE, ids=str)
def test_conv2d_of_strided_operands_equals_contiguous(kind):
    base = np.random.default_rng(7).standard_normal((3, 2, 6, 5)).astype(kind.numpy)
    weight = np.broadcast_to(base[:1, :, :2, :1], (2, 2, 2, 3))
    for src in (base[::2, :, 1::2], base.swapaxes(2, 3), np.broadcast_to(base[:1, :, :3, :1], (2, 2, 3, 4))):
        shape = (len(src), 2, src.shape[2] - 1, src.shape[3] - 2)
        strided = reference.conv2d(src, weight, 1, 0, 1, shape=shape).value
        dense = reference.conv2d(src.copy(), weight.copy(), 1, 0, 1, shape=shape).value
        assert strided.tobytes() == dense.tobytes()
