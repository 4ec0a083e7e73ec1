"""Instructions that only CDNA 4 (gfx950) has, compared with what AMD's and LLVM's manuals say about them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from test_workgroups import Workgroups

from parity.build.modules import build
from parity.emulator.amdgpu.device import AmdgpuDevice

HERE = Path(__file__).parent
LANES = np.arange(64)


@pytest.fixture(scope="module")
def run(cache):
    (built,) = build(HERE / "kernels", ["cdna4"], ["gfx950"], cache=cache)
    assert built.error is None, built.error
    return Workgroups(AmdgpuDevice(cache=cache, traced=True), built.code_object)


def words(count, seed=1):
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)


def test_rows_of_two_registers_are_swapped(run):
    x = words(128)
    a, b = x[:64], x[64:]
    found = run("swapped_rows", x, np.zeros(256, np.uint32), block=64)[-1].reshape(4, 64)
    for lanes, (first, second) in zip((16, 32), (found[:2], found[2:]), strict=True):
        is_odd = LANES & lanes != 0
        np.testing.assert_array_equal(first, np.where(is_odd, b[LANES ^ lanes], a))
        np.testing.assert_array_equal(second, np.where(is_odd, b, a[LANES ^ lanes]))


def test_bits_follow_from_truth_table(run):
    x = words(192)
    a, b, c = x.reshape(3, 64)
    found = run("bits", x, np.zeros(128, np.uint32), block=64)[-1]
    np.testing.assert_array_equal(found[:64], b & ~a | (b ^ c) & a)
    np.testing.assert_array_equal(found[64:], (a & b | c) & 0xFFFF)


def test_pairs_of_numbers_are_rounded_and_scaled(run):
    x = (words(128).view(np.int32) / np.float32(1 << 26)).astype(np.float32)
    x[:4] = np.nan, np.inf, -0.0, 3e38
    found = run("narrowed", x, np.zeros(256, np.uint32), block=64)[-1].reshape(4, 64)
    halves = found.view(np.uint16).reshape(4, 64, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        half = x.astype(np.float16)
        expected = (
            (found[0], half),
            (found[1], x.astype(ml_dtypes.bfloat16)),
            (halves[2, :, 0], (x / 4).astype(ml_dtypes.float8_e4m3fn)),
            (halves[2, :, 1], x.astype(ml_dtypes.float8_e5m2)),
            (halves[3, :, 1], (half.astype(np.float32) * 2).astype(ml_dtypes.float8_e4m3fn)),
        )
    for got, wanted in expected:
        numbers = np.ascontiguousarray(got).view(wanted.dtype)
        np.testing.assert_array_equal(numbers.astype(np.float32), wanted.astype(np.float32))
    assert not halves[3, :, 0].any()  # the other half is kept


@pytest.mark.parametrize(("part", "kind"), [(0, np.uint16), (1, np.uint8)])
def test_sixteen_lanes_exchange_rows_for_columns(part, kind, run):
    x = words(128)
    found = run("transposed", x.view(np.uint64), np.zeros(128, np.uint64), block=64)[-1]
    got = found.reshape(2, 4, 16)[part].view(kind).reshape(4, 16, -1)
    rows = x.view(kind).reshape(4, -1, 16)  # 16 lanes read rows of 16 numbers
    np.testing.assert_array_equal(got, rows.transpose(0, 2, 1))


def test_loads_write_to_shared_memory(run):
    x = np.arange(1, 257, dtype=np.uint32)
    found = run("copied", x, np.zeros(320, np.uint32), block=64)[-1]
    np.testing.assert_array_equal(found[:256].reshape(64, 4), x.reshape(64, 4)[LANES ^ 1])
    np.testing.assert_array_equal(found[256:], np.where(LANES < 25, x[:64], 0))  # 100 bytes are in range


def test_products_have_the_sums_of_all_elements(run):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-8, 9, (16, 32)) for _ in "ab")
    c, d = (rng.integers(-8, 9, (16, 128)) for _ in "cd")

    def lanes(matrix, kind):  # a lane has consecutive elements of a row
        return np.ascontiguousarray(matrix.reshape(16, 4, -1).transpose(1, 0, 2)).astype(kind).view(np.uint8).ravel()

    given = [lanes(each, np.float16) for each in (a, b)]
    given += [lanes(c, ml_dtypes.float8_e4m3fn), lanes(d, ml_dtypes.float8_e5m2)]
    found = run("multiplied", *given, np.zeros(512, np.float32), block=64)[-1]
    for got, wanted in zip(found.reshape(2, 4, 16, 4), (a @ b.T, c @ d.astype(ml_dtypes.float8_e5m2).T), strict=True):
        np.testing.assert_array_equal(got.transpose(0, 2, 1).reshape(16, 16), wanted.astype(np.float32))


def test_scaled_products_of_narrow_numbers(run):
    """A scale is a power of two for 32 elements of a row. A lane has 32 elements, in case of f8 in two parts of 16."""
    rng = np.random.default_rng(5)
    wide = rng.integers(-8, 9, (16, 128)).astype(ml_dtypes.float8_e4m3fn)
    narrow = rng.integers(0, 16, (16, 128), dtype=np.uint8)
    six = rng.integers(0, 64, (2, 16, 128), dtype=np.uint8)
    scales = rng.integers(124, 130, (2, 64, 4), dtype=np.uint8)

    def packed(matrix, bits):  # consecutive elements of a row in each lane
        rows = matrix.reshape(len(matrix), -1, 32).transpose(1, 0, 2).reshape(64, 32)
        found = np.zeros((64, 32), np.uint8)
        places = np.unpackbits(rows[:, :, None], axis=2, bitorder="little")[:, :, :bits].reshape(64, -1)
        found[:, : 4 * bits] = np.packbits(places, axis=1, bitorder="little")
        return found

    parts = wide.view(np.uint8).reshape(16, 2, 4, 16).transpose(2, 0, 1, 3).reshape(64, 32)
    a, b = np.stack([parts, packed(six[0], 6)]), np.stack([packed(narrow, 4), packed(six[1], 6)])
    found = run("scaled", a.ravel(), b.ravel(), scales.ravel().view(np.uint32), np.zeros(1536, np.float32), block=64)[
        -1
    ]

    def factor(which, byte, rows=16):  # rows x elements
        return np.repeat(2.0 ** (scales[which, :, byte].astype(float) - 127).reshape(-1, rows).T, 32, axis=1)

    f4, f6, bf6 = (kind.astype(float) for kind in (
        narrow.view(ml_dtypes.float4_e2m1fn), six[0].view(ml_dtypes.float6_e2m3fn), six[1].view(ml_dtypes.float6_e3m2fn)
    ))  # fmt: skip
    wanted = [
        (wide.astype(float) * factor(0, 1)) @ (f4 * factor(1, 2)).T,
        (f6 * factor(0, 0)) @ (bf6 * factor(1, 3)).T,
    ]
    for got, each in zip(found[:512].reshape(2, 4, 16, 4), wanted, strict=True):
        np.testing.assert_array_equal(got.transpose(0, 2, 1).reshape(16, 16), each.astype(np.float32))
    # The same registers as a matrix of 32 rows: lanes 0 to 31 have the first 32 elements of each row.
    large = f4.reshape(16, 4, 32).transpose(1, 0, 2).reshape(2, 32, 32).transpose(1, 0, 2).reshape(32, 64)
    got = found[512:].reshape(4, 2, 32, 4).transpose(0, 1, 3, 2).reshape(32, 32)
    np.testing.assert_array_equal(got, ((large * factor(0, 0, 32)) @ (large * factor(1, 0, 32)).T).astype(np.float32))
