"""Softmax, RMS norm and layer norm: exact values, simulated devices, special rows and tight error bounds."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import dtype
from parity.model.launch import Grid
from parity.reference import Limits

INF, NAN = math.inf, math.nan
FLOATS = [dtype(name) for name in ("f16", "bf16", "f32", "f64")]
ALL = pytest.mark.parametrize("kind", FLOATS, ids=str)
ROW = Grid((3, 1, 1), (1, 32, 1))
BLOCK = Grid((3, 1, 1), (32, 1, 1))
EPS = np.float32(1e-5)


def normal(kind, *shape, mean=0.0, seed=0):
    return np.random.default_rng(seed).normal(mean, 1, shape).astype(kind.numpy)


def device_softmax(x):
    """Simulate a kernel that rounds every step to x's type and sums half types in f32."""
    kind, wide = x.dtype, np.float64 if x.dtype == np.float64 else np.float32
    powers = np.exp((x - x.max(axis=1, keepdims=True)).astype(wide)).astype(kind)
    return powers * (1 / powers.astype(wide).sum(axis=1, keepdims=True)).astype(kind)


def device_rms(x, alpha, eps=EPS):
    w = x.astype(np.float32)
    scale = 1 / np.sqrt((w * w).mean(axis=1, keepdims=True) + eps)
    return (w * scale * alpha.astype(np.float32)).astype(x.dtype)


def device_layer(x, alpha, beta, eps=EPS):
    w = x.astype(np.float32)
    deviation = w - w.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((deviation * deviation).mean(axis=1, keepdims=True) + eps)
    return (deviation * scale * alpha.astype(np.float32) + beta.astype(np.float32)).astype(x.dtype)


@ALL
@pytest.mark.parametrize("columns", [1, 2, 33, 1000])
def test_normalization_by_simulated_device_passes(kind, columns):
    for seed in range(3):
        x, alpha, beta = (normal(kind, *shape, seed=seed) for shape in ((3, columns), (columns,), (columns,)))
        passes(reference.softmax(x, ROW), device_softmax(x))
        passes(reference.rms_norm(x, alpha, EPS, BLOCK), device_rms(x, alpha))
        passes(reference.layer_norm(x, alpha, beta, EPS, BLOCK), device_layer(x, alpha, beta))


@ALL
def test_softmax_value_is_exact_to_twice_the_precision(kind):
    x = normal(kind, 1, 7)
    with localcontext() as context:
        context.prec = 60
        powers = [(Decimal(float(v)) - Decimal(float(x.max()))).exp() for v in x[0]]
        exact = [power / sum(powers) for power in powers]
    expected = reference.softmax(x, ROW)
    bounds = expected.bounds(Limits("amd"))
    if kind.itemsize < 4:
        for p, value in zip(exact, expected.value[0], strict=True):
            assert abs(p - Decimal(float(value))) < p * Decimal(2) ** (2 - kind.precision)
    else:
        residual = np.broadcast_to(bounds.residual, x.shape)
        for p, centre, rest in zip(exact, bounds.centre[0], residual[0], strict=True):
            assert abs(p - Decimal(float(centre)) - Decimal(float(rest))) < p * Decimal(2) ** -(2 * kind.precision)


@ALL
def test_softmax_of_rows_with_nan_or_infinity_follows_formula(kind):
    x = np.array([[1, NAN, 2], [-INF, -INF, -INF], [INF, 1, 2], [-INF, 1, 1]], kind.numpy)
    expected = reference.softmax(x, ROW)
    value = np.array([[NAN] * 3, [NAN] * 3, [NAN] * 3, [0, 0.5, 0.5]], kind.numpy)
    passes(expected, value)
    assert np.array_equal(expected.value, value, equal_nan=True)


def test_softmax_of_one_column_is_one():
    assert reference.softmax(np.array([[5.0], [-1e30]], np.float32), ROW).value.tolist() == [[1], [1]]


@ALL
def test_softmax_with_missing_term_fails(kind):
    x = normal(kind, 3, 64)
    x[0, 5] = x[0].max()
    got = device_softmax(np.where(np.arange(64) == 5, kind.numpy.type(-100), x))
    fails(reference.softmax(x, ROW), got)


def test_softmax_of_bf16_rounded_once_fails():
    x = normal(FLOATS[1], 3, 200)
    once = device_softmax(x.astype(np.float32)).astype(x.dtype)
    fails(reference.softmax(x, ROW), once)


@ALL
def test_rms_norm_of_any_dtype_is_computed_in_f32(kind):
    x, alpha = normal(kind, 3, 100), normal(kind, 100, seed=1)
    value = reference.rms_norm(x, alpha, EPS, BLOCK).value
    assert np.array_equal(value, value.astype(np.float32).astype(kind.numpy))
    if kind.name == "f64":
        w = x.astype(np.float64)
        exact = w / np.sqrt((w * w).mean(axis=1, keepdims=True) + float(EPS)) * alpha
        assert not np.array_equal(value, exact)
        np.testing.assert_allclose(value, exact, rtol=1e-6)


@ALL
@pytest.mark.parametrize("mistake", ["a term", "eps", "count"])
def test_rms_norm_with_defect_fails(kind, mistake):
    x, alpha = normal(kind, 3, 65), np.ones(65, kind.numpy)
    x[:, -1] = 2
    w = x.astype(np.float32)
    squares = {
        "a term": (w[:, :-1] ** 2).sum(axis=1, keepdims=True) / 65 + EPS,
        "eps": (w**2).mean(axis=1, keepdims=True) + np.float32(0.1),
        "count": (w**2).sum(axis=1, keepdims=True) / 64 + EPS,
    }[mistake]
    fails(reference.rms_norm(x, alpha, EPS, BLOCK), (w / np.sqrt(squares)).astype(x.dtype))


def test_normalization_without_weights_passes():
    x, ones, zeros = normal(FLOATS[2], 3, 9), np.ones(9, np.float32), np.zeros(9, np.float32)
    passes(reference.rms_norm(x, None, EPS, BLOCK), device_rms(x, ones))
    passes(reference.layer_norm(x, None, None, EPS, BLOCK), device_layer(x, ones, zeros))


def test_layer_norm_with_cancelling_variance_fails():
    x = normal(FLOATS[2], 3, 100, mean=1000)
    ones, zeros = np.ones(100, np.float32), np.zeros(100, np.float32)
    expected = reference.layer_norm(x, None, None, EPS, BLOCK)
    passes(expected, device_layer(x, ones, zeros))
    mean = x.mean(axis=1, keepdims=True)
    variance = (x * x).mean(axis=1, keepdims=True) - mean * mean
    fails(expected, (x - mean) / np.sqrt(variance + EPS))


@pytest.mark.parametrize("kind", FLOATS[2:], ids=str)
def test_rms_norm_with_overflowing_squares_is_zero(kind):
    x = np.array([[1e30, 1, 2], [1, NAN, 2], [INF, 1, 0]], kind.numpy)
    value = np.array([[0, 0, 0], [NAN, NAN, NAN], [NAN, 0, 0]], kind.numpy)
    passes(reference.rms_norm(x, None, EPS, BLOCK), value)
    fails(reference.rms_norm(x[:1], None, EPS, BLOCK), np.array([[1.7, 0, 0]], kind.numpy))


@pytest.mark.parametrize("kind", FLOATS[2:], ids=str)
def test_layer_norm_of_rows_with_nan_or_infinity_is_nan(kind):
    x = np.array([[INF, 1, 2], [1, NAN, 2], [5, 5, 5]], kind.numpy)
    passes(reference.layer_norm(x, None, None, EPS, BLOCK), np.array([[NAN] * 3, [NAN] * 3, [0] * 3], kind.numpy))


def test_layer_norm_of_constant_row_without_eps_accepts_anything():
    x = np.full((1, 3), 0.1, np.float32)
    for got in (NAN, 1, -1, 0):
        passes(reference.layer_norm(x, None, None, np.float32(0), BLOCK), np.full((1, 3), got, np.float32))


def test_layer_norm_overflow_before_bias_passes():
    x = np.array([[3, -1, -1, -1]], np.float32)
    alpha, beta = np.full(4, 3e38, np.float32), np.array([-3e38, 0, 0, 0], np.float32)
    expected = reference.layer_norm(x, alpha, beta, EPS, BLOCK)
    passes(expected, device_layer(x, alpha, beta))
    assert device_layer(x, alpha, beta)[0, 0] == INF
    assert math.isfinite(expected.value[0, 0])
    passes(expected, expected.value)


def test_normalization_of_empty_rows_is_empty():
    x, none = np.zeros((2, 0), np.float32), np.zeros(0, np.float32)
    for expected in (
        reference.softmax(x, ROW),
        reference.rms_norm(x, none, EPS, BLOCK),
        reference.layer_norm(x, none, None, EPS, BLOCK),
    ):
        passes(expected, x)
