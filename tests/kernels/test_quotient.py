"""The compiled quotient() of kernels/elementwise.cuh returns the floor of index / dim."""

from __future__ import annotations

import numpy as np
import pytest
from entry_table import KERNELS

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.compile_options import CompileOptions, Sides
from parity.model.dtypes import DTYPES
from parity.model.launch import Buffer, Launch, Pointer, Scalar, poisoned
from parity.runners import runner

EMULATED = runner("emulated")
KERNEL = """
#include "elementwise.cuh"

KERNEL quotients(const size_t numel, const size_t* index, const size_t* dim, size_t* out) {
    for_each_index(numel, [=](size_t i) { out[i] = quotient(index[i], dim[i]); });
}
"""
LIMIT = 2**48


def pairs() -> np.ndarray:
    """Return indices and dims of every magnitude, and indices next to multiples of a dim, where the floor changes."""
    draw = np.random.default_rng(1)
    index, dim = (2 ** draw.uniform(0, 48, (2, 20_000))).astype(np.uint64)
    multiple = index // dim * dim
    near = [(multiple + np.uint64(1) - np.uint64(d), dim) for d in (0, 1, 2)]
    edges = [2**32 - 1, 2**32, 2**32 + 1, LIMIT - 1]
    more = [np.array([(i, d) for i in edges for d in [1, 2, 3, *edges]], np.uint64).T]
    found = np.concatenate([np.array([index, dim]), *map(np.array, near), *more], axis=1)
    return found[:, found[0] < LIMIT]


@pytest.mark.parametrize("target", EMULATED.targets())
def test_quotient_below_2_to_the_48_is_exact(target, tmp_path):
    (tmp_path / "quotients.cu").write_text(KERNEL)
    (built,) = build(tmp_path, ["quotients"], [target], settings=BuildSettings(Sides.both(CompileOptions((KERNELS,)))))
    assert built.code_object, built.error
    index, dim = pairs()
    kind = DTYPES["u64"]
    buffers = {
        "index": Buffer(kind, index),
        "dim": Buffer(kind, dim),
        "out": Buffer(kind, poisoned(kind, index.size), np.zeros(index.size, np.bool_), writable=True),
    }
    args = (Scalar(kind, index.size), Pointer("index"), Pointer("dim"), Pointer("out"))
    launch = Launch("quotients", (40, 1, 1), (256, 1, 1), args)
    outcome = EMULATED.open(target).execute(built.code_object, launch, buffers)
    assert outcome.fault is None
    np.testing.assert_array_equal(outcome.buffers["out"], index // dim)
