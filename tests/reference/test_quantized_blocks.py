"""Decoding of quantized blocks, against the gguf package and against the definition of the formats."""

import struct

import gguf
import numpy as np
import pytest

from parity.model.dtypes import DTYPES, dtype
from parity.reference import blocks

BLOCKS = [d for d in DTYPES.values() if d.is_block]
IN_GGUF = [d for d in BLOCKS if d.name not in ("q8_1", "q8_K")]
by_format = pytest.mark.parametrize("kind", BLOCKS, ids=str)


def random_blocks(kind, *shape, seed=0):
    """Return blocks of random bits."""
    count = int(np.prod(shape)) * kind.itemsize
    return np.random.default_rng(seed).integers(0, 256, count, np.uint8).view(kind.numpy).reshape(shape)


@pytest.mark.parametrize("kind", IN_GGUF, ids=str)
def test_decode_matches_gguf(kind):
    x = random_blocks(kind, 40, 5)
    quantization = gguf.GGMLQuantizationType[kind.name.upper()]
    theirs = gguf.quants.dequantize(np.ascontiguousarray(x).view(np.uint8), quantization)
    ours = blocks.decode(x).rows
    assert ours.dtype == np.float64
    assert ours.shape == (40, 5 * kind.values)
    np.testing.assert_array_equal(ours.astype(np.float32), theirs)


@pytest.mark.parametrize(("name", "scale", "first"), [("q8_1", "<e", 4), ("q8_K", "<f", 4)])
def test_decode_q8_1_and_q8_k_multiplies_bytes_by_scale(name, scale, first):
    kind = dtype(name)
    for block in random_blocks(kind, 50):
        raw = block.tobytes()
        (d,) = struct.unpack_from(scale, raw)
        q = struct.unpack_from(f"<{kind.values}b", raw, first)
        np.testing.assert_array_equal(blocks.decode(block[None]).rows, [d * n for n in q])


@by_format
def test_decode_parts_have_consistent_shapes(kind):
    x = random_blocks(kind, 3, 7, 2, seed=1)
    found = blocks.decode(x)
    assert found.q.shape[:3] == x.shape
    assert found.groups * found.q.shape[-1] == kind.values
    assert found.d.shape == found.m.shape == x.shape
    assert found.steps.shape == found.mins.shape == (*x.shape, found.groups)
    assert found.q.dtype == found.steps.dtype == found.mins.dtype == np.int32


@by_format
def test_decode_does_not_depend_on_position_in_array(kind):
    x = random_blocks(kind, 4, 3, seed=2)
    whole = blocks.decode(x).rows.reshape(4, 3, kind.values)
    for index in np.ndindex(x.shape):
        np.testing.assert_array_equal(blocks.decode(x[index][None]).rows, whole[index])
    np.testing.assert_array_equal(blocks.decode(x[::2, 1:]).rows, whole[::2, 1:].reshape(2, -1))
    assert blocks.decode(x[:, :0]).rows.shape == (4, 0)


def test_decode_infinite_scale_is_nan_only_for_zero_quants():
    x = np.zeros(1, dtype("q4_0").numpy)
    x["d"] = np.inf
    x["qs"][0, 0] = 0x89
    values = blocks.decode(x).rows
    assert values[0] == np.inf  # 9 - 8
    assert np.isnan(values[16])  # 8 - 8
    assert (np.delete(values, [0, 16]) == -np.inf).all()


@pytest.mark.parametrize("name", ["q2_K", "q4_K", "q5_K"])
def test_decode_infinite_scale_and_minimum_is_nan(name):
    x = np.zeros(1, dtype(name).numpy)
    for field in ("scales", "qs"):
        x[field] = 0xFF
    x["d"] = x["dmin"] = np.inf
    assert np.isnan(blocks.decode(x).rows).all()
    x["dmin"] = 1
    assert (blocks.decode(x).rows == np.inf).all()
    x["d"], x["dmin"] = 1, np.inf
    assert (blocks.decode(x).rows == -np.inf).all()
