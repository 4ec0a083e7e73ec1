"""Data streams: reproducible values, windows, and the properties of each stream."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from parity.data.streams import STREAMS, elements, quiet
from parity.data.values import special_values
from parity.errors import UsageError
from parity.model.dtypes import DTYPES, NUMBERS

POINTS = (0.5, 1e10, float("nan"))
USED = [d for d in NUMBERS.values() if d.name != "u64"]


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("dtype", USED, ids=str)
def test_elements_window_matches_whole_stream(stream, dtype):
    whole = elements(stream, dtype, 100, 300, "x", POINTS)
    assert whole.dtype == dtype.numpy
    for start, count in ((100, 1), (137, 5), (399, 1)):
        piece = elements(stream, dtype, start, count, "x", POINTS)
        assert piece.tobytes() == whole[start - 100 : start - 100 + count].tobytes()


@pytest.mark.parametrize("stream", [s for s in STREAMS if s not in ("points", "sorted", "runs", "extreme", "lowest")])
@pytest.mark.parametrize("dtype", USED, ids=str)
def test_elements_window_is_not_constant(stream, dtype):
    for start in (0, 1000, 123456):
        assert len(np.unique(elements(stream, dtype, start, 64, "x", POINTS).view(dtype.bits))) > 1


def test_listed_numbers_repeat_from_the_start_of_the_tensor():
    assert elements("values.0.-3.7", DTYPES["i32"], 2, 5).tolist() == [0, -3, 7, 0, -3]
    with pytest.raises(UsageError, match=r"values\.A\.B\.C"):
        elements("values.", DTYPES["i32"], 0, 1)


def test_elements_differ_between_tensors():
    lhs, rhs = (elements("normal", DTYPES["f32"], 0, 64, name) for name in ("lhs", "rhs"))
    assert (lhs != rhs).mean() > 0.9


def test_streams_match_recorded_digests():
    # Records name data by (stream, start), so a change here changes the meaning of every stored case text.
    streams = ("normal", "unit", "special", "points", "near", "mixed", "bits")
    dtypes = [DTYPES[name] for name in ["u8", "u32", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]]
    data = b"".join(elements(s, d, 12345, 257, "x", POINTS).tobytes() for s in streams for d in dtypes)
    assert hashlib.sha256(data).hexdigest() == "fd591360dffab491f4c702c79dcc33259f6f1b073c6c7ea7aee28151f28a0e58"
    data = b"".join(elements("small", d, 12345, 257, "x").tobytes() for d in dtypes)
    assert hashlib.sha256(data).hexdigest() == "17c0de1ef12350cf9c1f77c583128c7f79787a384578496143b0317545fe44f3"


@pytest.mark.parametrize("name", ["i8", "i32", "i64"])
def test_limits_of_two_tensors_pair_minimum_with_minus_one(name):
    dtype = DTYPES[name]
    lhs, rhs = (elements("limits", dtype, 0, 2048, tensor) for tensor in ("lhs", "rhs"))
    assert ((lhs == dtype.min) & (rhs == -1)).any()
    powers = {(1 << k) + move for k in range(1, 8 * dtype.itemsize - 1) for move in (-1, 0, 1)}
    assert len(powers & {abs(int(n)) for n in lhs}) > 0.75 * len(powers)


@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
def test_limits_of_floats_span_every_magnitude(name):
    dtype = DTYPES[name]
    found = np.abs(quiet(elements("limits", dtype, 0, 2048, "x"), dtype).astype(np.float64))
    assert np.isnan(found).any() and np.isinf(found).any() and (found == 0).any() and dtype.max in found
    finite = np.log2(found[np.isfinite(found) & (found > 0)])
    assert finite.min() < dtype.emin and finite.max() > -dtype.emin


def test_lowest_is_minus_infinity_or_minimum():
    assert set(elements("lowest", DTYPES["f16"], 3, 70, "x").tolist()) == {-np.inf}
    assert set(elements("lowest", DTYPES["i32"], 3, 70, "x").tolist()) == {-(2**31)}


def test_points_holds_each_value_in_order():
    assert elements("points", DTYPES["f32"], 0, 3, "x", (1.0, -2.0, 3.5)).tolist() == [1.0, -2.0, 3.5]
    assert elements("points", DTYPES["u8"], 0, 3, "x", (1.0, -2.0, 300.0)).tolist() == [1, 0, 255]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_special_values_contain_hard_floats(name):
    dtype = DTYPES[name]
    values = special_values(dtype).astype(np.float64)
    tiny = 2.0 ** (dtype.emin - dtype.precision + 1)
    for wanted in (0.5, 2.5, float(dtype.max), np.inf, -np.inf, tiny, -tiny, 2.0**dtype.emin, 2.0**dtype.emin - tiny):
        assert wanted in values
    assert np.isnan(values).any()
    assert any(v == 0 and np.signbit(v) for v in values)


def test_patterns_holds_every_f8_in_order():
    values = elements("patterns", DTYPES["f8_e4m3"], 0, 256)
    assert values.view(np.uint8).tolist() == list(range(256))
    assert elements("patterns", DTYPES["f16"], 65535, 2).view(np.uint16).tolist() == [65535, 0]


def test_stored_f8_saturates():
    f8 = DTYPES["f8_e4m3"]
    values = special_values(f8).astype(np.float64)
    assert np.isnan(values).sum() == 1  # infinities are not NaN
    assert {448.0, -448.0, 2.0**-9, -(2.0**-9), 2.0**-6} <= set(values)
    assert elements("points", f8, 0, 3, "x", POINTS).astype(float)[:2].tolist() == [0.5, 448]
    assert f8.convert([np.inf, -1e9, 17]).astype(float).tolist() == [448, -448, 16]


def test_normal_has_documented_spread():
    x = elements("normal", DTYPES["f64"], 0, 20000, "x")
    assert abs(x.mean()) < 0.1
    assert 2.9 < x.std() < 3.1


@pytest.mark.parametrize("dtype", USED, ids=str)
def test_small_sums_are_exact(dtype):
    values = elements("small", dtype, 0, 400, "x").astype(np.float64)
    assert set(values) == set(range(0 if dtype.kind == "uint" else -4, 5))


def test_extreme_has_runs_in_ascending_order():
    f32 = elements("extreme", DTYPES["f32"], 0, 9 * 64)
    assert f32[:64].tolist() == [-np.inf] * 64 and np.isnan(f32[4 * 64 : 5 * 64]).all()
    tiny = 2.0**-149
    assert f32[::64].tolist()[5:] == [np.inf, DTYPES["f32"].max, tiny, 0.0] and f32[2 * 64] == -tiny
    assert elements("extreme", DTYPES["u8"], 0, 3 * 64)[::64].tolist() == [0, 255, 0]
    assert elements("extreme", DTYPES["f8_e4m3"], 0, 1).astype(float).tolist() == [-448]


def test_runs_holds_special_values_in_order():
    special = special_values(DTYPES["f16"])
    runs = elements("runs", DTYPES["f16"], 0, 64 * len(special))
    assert runs.tobytes() == np.repeat(special, 64).tobytes()


@pytest.mark.parametrize(("of", "by", "to"), [("f64", "f32", "f16"), ("f32", "f16", "f8_e4m3")])
def test_halfway_reveals_double_rounding(of, by, to):
    values = elements("halfway", DTYPES[of], 0, 2000)
    once, twice = DTYPES[to].convert(values), DTYPES[to].convert(DTYPES[by].convert(values))
    assert (once != twice).mean() > 0.01
    usual = elements("normal", DTYPES[of], 0, 2000)
    assert (DTYPES[to].convert(usual) != DTYPES[to].convert(DTYPES[by].convert(usual))).mean() < 0.01


@pytest.mark.parametrize("name", ["f8_e4m3", "bf16", "f16", "f32"])
def test_convert_rounds_once(name):
    kind = DTYPES[name]
    tiny, largest = 2.0 ** (kind.emin - kind.precision + 1), float(kind.max)
    grid = np.array([0, tiny, 2 * tiny, 3 * tiny, 1, 1 + 2.0 ** (1 - kind.precision), 1 + 2.0 ** (2 - kind.precision)])
    ties = (grid[:-1] + grid[1:]) / 2
    near = [ties * (1 - 2.0**-50), ties, ties * (1 + 2.0**-50)]
    below, even, above = (kind.convert(each).astype(np.float64) for each in near)
    # The even neighbour of a tie is alternately the lower and the upper one; 1 is even.
    for low, high, got in zip(grid[:-1], grid[1:], np.array([below, even, above]).T, strict=True):
        if high < 4 * tiny or low >= 1:
            assert got[0] == low and got[2] == high and got[1] in (low, high)
    assert even[[0, 1, 2, 4, 5]].tolist() == [0, 2 * tiny, 2 * tiny, 1, 1 + 2.0 ** (2 - kind.precision)]
    beyond = largest if kind.saturates else np.inf
    assert kind.convert([largest * (1 + 2.0**-40), -np.inf, 2 * largest]).astype(float).tolist() == [
        largest, -beyond, beyond,
    ]  # fmt: skip
    assert np.isnan(kind.convert(np.nan))


@pytest.mark.parametrize("name", ["i64", "u32", "i32"])
def test_halfway_integers_are_float_ties_and_neighbours(name):
    values = elements("halfway", DTYPES[name], 0, 2000)
    apart = [int(value) - int(np.float32(value)) for value in values.tolist()]
    nearest = [int(np.spacing(np.float32(value))) // 2 for value in values.tolist()]
    assert {0, 1} <= {half - abs(error) for half, error in zip(nearest, apart, strict=True)}


def test_elements_unknown_stream_raises():
    with pytest.raises(UsageError, match=r"unknown data 'norml'.*did you mean normal"):
        elements("norml", DTYPES["f32"], 0, 1)


@np.errstate(invalid="ignore")
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_quiet_changes_signalling_nans_only(name):
    kind = DTYPES[name]
    x = elements("bits" if name in ("f32", "f64") else "patterns", kind, 0, 1 << 16)
    quieted = quiet(x, kind)
    bits, before = quieted.view(kind.bits), x.view(kind.bits)
    changed = bits != before
    assert changed.any() and np.isnan(x[changed]).all()
    assert (bits[changed] == before[changed] | kind.bits.type(1 << (kind.precision - 2))).all()
    assert not (np.isnan(quieted) & (bits & kind.bits.type(1 << (kind.precision - 2)) == 0)).any()


@pytest.mark.parametrize("name", ["i32", "f8_e4m3", "q4_0"])
def test_quiet_keeps_integers_bytes_and_blocks(name):
    kind = DTYPES[name]
    x = elements("mixed" if kind.is_block else "special", kind, 0, 64)
    assert quiet(x, kind) is x
