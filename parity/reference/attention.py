"""Attention as a fused kernel computes it: ``softmax(scale * q k^T) v`` for each head.

Matrix cores compute both products in f32; their bounds are as in ``parity.reference.matmul``. Common factors of a
weight ``exp(score - largest)`` and of the sum of the weights cancel, so an error of the largest score does not matter.
An error ``d`` of a score is a relative error ``expm1(d)`` of its weight. Weights are rounded to the type of v. When the
largest score grows, the kernel scales its partial sums, at most once per block of keys.
"""

from __future__ import annotations

import numpy as np

from parity.model.dtypes import DTYPES, Array, array_dtype
from parity.reference.accuracy import accuracy
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.halves import hull_bounds
from parity.reference.matmul import of_subnormals
from parity.reference.rounding import SLACK, smallest, store, to_grid, unit_roundoff, wide

_F32 = DTYPES["f32"]


def attention(q: Array, k: Array, v: Array, scale: float, causal: bool, block: int) -> Expected:
    """``q`` (batch, heads, m, d), ``k`` and ``v`` (batch, shared heads, n, d), of one type; out (batch, heads, m, d).

    Neighbouring heads of q share a head of k and v. If ``causal``, query i sees the keys 0 to i. The result of a query
    without keys is 0. ``block`` is the number of keys after which partial sums may be scaled. Data must be finite.
    """
    dtype, group = array_dtype(q), q.shape[1] // max(k.shape[1], 1)
    keys, values = (np.repeat(x, group, axis=1) for x in (k, v))
    left, right, along = wide(q), np.swapaxes(wide(keys), -1, -2), wide(values)
    m, n, depth = q.shape[2], k.shape[2], q.shape[3]
    seen = np.tril(np.ones((m, n), bool)) if causal else np.ones((m, n), bool)
    scores = np.where(seen, scale * (left @ right), -np.inf)
    below = scores - np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    powers = np.where(seen, np.exp(below), 0)
    total = np.maximum(powers.sum(axis=-1, keepdims=True), 1)  # the largest is 1; without keys, any number
    weights = powers / total
    exact = weights @ along

    def bounds(limits: Limits) -> Bounds:
        flushed = limits.vendor == "amd"  # MI200 treats subnormal numbers as zeros: D25
        u, narrow, blocks = unit_roundoff(_F32), unit_roundoff(dtype), -(-n // block) + 1
        size = np.abs(left) @ np.abs(right)
        score = u * (size * (3 * depth + 2) + np.abs(left @ right))
        if flushed:
            score = score + of_subnormals(left, right, dtype)
        power = blocks * (2 * accuracy("exp", "f32", limits) + 2) * u
        apart = np.where(seen, np.expm1(np.abs(scale) * score + u * np.abs(below) + power), 0)
        lost = smallest(dtype) / 2 + 2.0**_F32.emin if not flushed else 2.0**dtype.emin
        lost_weights = np.minimum(np.where(seen, lost, 0), powers) / total
        parts = weights @ np.abs(along)
        # The largest weight is 1. If errors of its score make it another number, rounding at most doubles the distance.
        rounding = np.where(below == 0, np.minimum(apart, narrow), narrow)
        error = (
            (weights * (apart + rounding) + lost_weights) @ np.abs(along)
            + u * (3 * n + 2 * blocks + 2) * parts
            + np.abs(exact) * ((weights * apart).sum(axis=-1, keepdims=True) + (n + 2 * blocks + 4) * u)
        )
        if flushed:
            error = error + weights @ np.where(np.abs(along) < 2.0**dtype.emin, np.abs(along), 0)
        error = error * SLACK
        return hull_bounds(wide(store(exact, dtype)), to_grid(exact - error, dtype), to_grid(exact + error, dtype))

    return Expected(store(exact, dtype), bounds)
