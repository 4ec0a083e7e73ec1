"""The f8_e4m3 conversions of kernels/f8.cuh, run through the compiled casts, match ml_dtypes bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from entry_table import KERNELS

from parity.build.modules import build
from parity.model.dtypes import DTYPES, array_dtype
from parity.model.launch import Buffer, Launch, Pointer, Scalar, poisoned
from parity.runners import runner

EMULATED = runner("emulated")
F8 = ml_dtypes.float8_e4m3fn
EVERY_F8 = np.arange(256, dtype=np.uint8).view(F8)
EVERY_F16 = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


@pytest.fixture(scope="module", params=EMULATED.targets())
def convert(request):
    """Return a function that runs the kernel cast_<type of x>_<to> on a target."""
    (built,) = build(KERNELS, ["cast"], [request.param])
    session = EMULATED.open(request.param)

    def converted(x: np.ndarray, to: str) -> np.ndarray:
        source, result, size_t = array_dtype(x), DTYPES[to], DTYPES["u64"]
        buffers = {
            "x": Buffer(source, x),
            "out": Buffer(result, poisoned(result, x.size), np.zeros(x.size, np.bool_), writable=True),
        }
        args = (Scalar(size_t, x.size), Scalar(size_t, 1), Pointer(None), Pointer("x"), Pointer("out"))
        launch = Launch(f"cast_{source}_{to}", (-(-x.size // 1024), 1, 1), (1024, 1, 1), args)
        outcome = session.execute(built.code_object, launch, buffers)
        assert outcome.fault is None
        return outcome.buffers["out"]

    return converted


@np.errstate(all="ignore")
def saturated(x: np.ndarray) -> np.ndarray:
    """Return the bits of f8 values, saturated: ml_dtypes rounds to nearest even, but overflows to NaN.

    f32 must represent the values exactly.
    """
    bits = np.clip(x.astype(np.float32), -448, 448).astype(F8).view(np.uint8)
    return np.where(np.isnan(x), np.uint8(0x7F), bits)


def test_decode_f8_is_exact(convert):
    for to in ("f32", "f64", "f16", "bf16"):
        got = convert(EVERY_F8, to).astype(np.float64)
        np.testing.assert_array_equal(got, EVERY_F8.astype(np.float64))
        assert (np.signbit(got) == np.signbit(EVERY_F8)).all()


@pytest.mark.thorough
def test_decode_and_encode_every_f8_returns_same_bits(convert):
    for through in ("f32", "f64", "f16", "bf16"):
        bits = convert(convert(EVERY_F8, through), "f8_e4m3").view(np.uint8)
        assert bits.tolist() == [0x7F if b == 0xFF else b for b in range(256)]


@pytest.mark.thorough
def test_encode_every_f16_matches_ml_dtypes(convert):
    assert (convert(EVERY_F16, "f8_e4m3").view(np.uint8) == saturated(EVERY_F16)).all()


def test_encode_random_f32_matches_ml_dtypes(convert):
    random = np.random.default_rng(8)
    any_bits = random.integers(0, 1 << 32, 50_000, np.uint64).astype(np.uint32).view(np.float32)
    inside = np.exp2(random.uniform(-13, 10, 50_000)).astype(np.float32) * random.choice([-1, 1], 50_000)
    x = np.concatenate([any_bits, inside.astype(np.float32)])
    assert (convert(x, "f8_e4m3").view(np.uint8) == saturated(x)).all()


def test_encode_ties_rounds_to_even_and_neighbours_to_nearest(convert):
    values = EVERY_F8[:0x7F].astype(np.float32)
    ties = (values[:-1] + values[1:]) / 2
    for sign in (1, -1):
        for x in (ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(1000))):
            assert (convert(sign * x, "f8_e4m3").view(np.uint8) == saturated(sign * x)).all()
    assert (convert(ties, "f8_e4m3").view(np.uint8) % 2 == 0).all()


def test_encode_out_of_range_saturates(convert):
    x = np.array([448, 449, 464, 465, 1e9, np.inf, -448, -1e9, -np.inf, np.nan, -np.nan], np.float32)
    assert convert(x, "f8_e4m3").view(np.uint8).tolist() == [0x7E] * 6 + [0xFE] * 3 + [0x7F] * 2
