"""Attention: a device simulated step by step passes; a device with a wrong key, head, mask or scale fails."""

from __future__ import annotations

import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import dtype

KINDS = pytest.mark.parametrize("kind", [dtype("f16"), dtype("bf16")], ids=str)
SCALE = np.float32(0.125)


def drawn(kind, batch=2, kv=2, group=3, m=20, n=130, d=64, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (batch, kv * group, m, d), (batch, kv, n, d), (batch, kv, n, d)
    return [rng.normal(size=shape).astype(kind.numpy) for shape in shapes]


def device(q, k, v, scale=SCALE, causal=False, block=64, first=0, late=0, heads=None):
    """Simulate a kernel that processes keys in blocks, in f32, and rounds the weights to the type of v.

    ``first``, ``late`` and ``heads`` introduce defects.
    """
    kind, f32 = q.dtype, np.float32
    group = q.shape[1] // k.shape[1]
    shared = np.arange(q.shape[1]) // group if heads is None else heads(np.arange(q.shape[1]), k.shape[1])
    k, v = k[:, shared], v[:, shared]
    largest = np.full((*q.shape[:3], 1), -np.inf, f32)
    total, sums = np.zeros_like(largest), np.zeros(q.shape, f32)
    for start in range(first, k.shape[2], block):
        keys = np.arange(start, min(start + block, k.shape[2]))
        scores = scale * (q.astype(f32) @ np.swapaxes(k[:, :, keys].astype(f32), -1, -2))
        if causal:
            scores = np.where(keys[None, :] <= np.arange(q.shape[2])[:, None] + late, scores, f32(-np.inf))
        grown = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        factor = np.where(grown == largest, f32(1), np.exp(largest - grown))
        weights = np.where(scores == -np.inf, f32(0), np.exp(scores - grown))
        total = total * factor + weights.sum(axis=-1, keepdims=True)
        sums = sums * factor + weights.astype(kind).astype(f32) @ v[:, :, keys].astype(f32)
        largest = grown
    return np.where(total > 0, sums / total, 0).astype(kind)


@KINDS
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("vendor", ["amd", "cuda"])
@pytest.mark.parametrize("scale", [0.125, 2.0, 0.0])
def test_attention_computed_in_blocks_passes(kind, causal, vendor, scale):
    given = drawn(kind)
    expected = reference.attention(*given, scale, causal, 64)
    passes(expected, device(*given, np.float32(scale), causal), vendor)
    if vendor == "amd":
        assert expected.value.shape == given[0].shape and expected.value.dtype == kind.numpy


@KINDS
def test_attention_value_matches_formula(kind):
    q, k, v = drawn(kind, batch=1, kv=1, group=1, m=3, n=5)
    scores = np.exp(0.125 * q[0, 0].astype(float) @ k[0, 0].astype(float).T)
    wanted = scores / scores.sum(axis=1, keepdims=True) @ v[0, 0].astype(float)
    assert (reference.attention(q, k, v, 0.125, False, 64).value[0, 0] == wanted.astype(kind.numpy)).all()


@KINDS
@pytest.mark.parametrize(
    "wrong", [{"first": 1}, {"late": 1}, {"late": -1}, {"heads": np.remainder}, {"scale": np.float32(0.13)}], ids=str
)
def test_attention_with_defect_fails(kind, wrong):
    given = drawn(kind)
    fails(reference.attention(*given, 0.125, True, 64), device(*given, **{"scale": SCALE, "causal": True, **wrong}))


@KINDS
def test_attention_over_equal_keys_detects_one_dropped_value(kind):
    """Equal scores have no rounding error, so one dropped value of 130 exceeds the error bound."""
    q, k, v = drawn(kind)
    k[:], v[:] = 0, np.rint(v.astype(float) * 4).astype(kind.numpy)
    expected = reference.attention(q, k, v, 0.125, False, 64)
    passes(expected, device(q, k, v))
    fails(expected, device(q, k, v, first=1))


def test_attention_without_keys_is_zero():
    q, k, v = drawn(dtype("f16"), n=0)
    expected = reference.attention(q, k, v, 0.125, False, 64)
    passes(expected, np.zeros_like(q))
    fails(expected, np.full_like(q, np.nan), "nan")


def test_truncated_result_of_equal_weights_fails():
    """Equal weights are 1 before the division, so only the result rounds to bf16."""
    given = drawn(dtype("bf16"))
    exact = device(*(each.astype(np.float32) for each in given), np.float32(0))
    truncated = (exact.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(given[0].dtype)
    fails(reference.attention(*given, 0.0, False, 64), truncated)
