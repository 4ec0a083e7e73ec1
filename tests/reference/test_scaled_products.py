"""Scaled matmul: any order and truncated sums pass, as matrix cores compute; a missing term or wrong beta fails."""

from __future__ import annotations

import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import dtype

F32 = dtype("f32")


def drawn(kind, whole=False, k=47):
    rng = np.random.default_rng(1)
    shapes = (2, 5, k), (2, k, 7), (7,), (2, 5, 7)
    types = (kind, kind, F32, F32)
    make = (lambda shape: rng.integers(-4, 5, shape)) if whole else (lambda shape: rng.normal(size=shape))
    return [make(shape).astype(each.numpy) for shape, each in zip(shapes, types, strict=True)]


def device(a, b, bias, c, alpha, beta, *, order=slice(None), cut=False):
    """Simulate a sum of products in f32; ``cut`` truncates every sum instead of rounding it."""
    total = np.zeros((a.shape[0], a.shape[1], b.shape[2]), np.float32)
    for k in range(a.shape[2])[order]:
        exact = total + a[:, :, k, None].astype(float) * b[:, None, k].astype(float)
        near = exact.astype(np.float32)
        total = np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near) if cut else near
    return np.float32(alpha) * total + np.float32(beta) * c + bias


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("how", [{}, {"order": slice(None, None, -1)}, {"cut": True}], ids=str)
def test_scaled_matmul_in_any_order_or_truncated_passes(kind, how):
    a, b, bias, c = drawn(dtype(kind))
    passes(reference.scaled_matmul(a, b, bias, c, 2, 1, F32), device(a, b, bias, c, 2, 1, **how), "cuda")


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_scaled_matmul_of_whole_numbers_allows_no_error(kind):
    a, b, bias, c = drawn(dtype(kind), whole=True)
    expected = reference.scaled_matmul(a, b, bias, c, 2, 1, F32)
    got = device(a, b, bias, c, 2, 1)
    passes(expected, got)
    fails(expected, np.nextafter(got, np.float32(np.inf)))
    fails(expected, device(a, b, bias, c, 2, 1, order=slice(1, None)))


def test_scaled_matmul_with_zero_beta_ignores_c():
    a, b, bias, c = drawn(dtype("f16"))
    passes(reference.scaled_matmul(a, b, bias, np.full_like(c, np.nan), 1, 0, F32), device(a, b, bias, c, 1, 0))
    fails(reference.scaled_matmul(a, b, bias, c, 1, 0, F32), device(a, b, bias, c, 1, 1))


def test_scaled_matmul_of_integers_wraps():
    a, b = np.full((1, 1, 9), -128, np.int8), np.full((1, 9, 1), -128, np.int8)
    c = np.full((1, 1, 1), 2**31 - 1, np.int32)
    expected = reference.scaled_matmul(a, b, None, c, 1, 1, dtype("i32"))
    assert expected.value.item() == 9 * 2**14 + 2**31 - 1 - 2**32
