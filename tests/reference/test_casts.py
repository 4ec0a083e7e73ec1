"""Casts: results measured on an H200 are the expected values, AMD's differing results are known divergences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity import reference
from parity.compare.comparison import compare
from parity.model.dtypes import NUMBERS, dtype

INPUTS = np.array([np.nan, np.inf, -np.inf, -1, 300, 3e9, 1e20, -1e20, 255.9, 256, -0.5, 4294967295, 2.0**63])
U32, I64 = 2**32 - 1, 2**63
MOST = 0x7FFFFFFF00000000  # only the high word saturates
MEASURED = {
    ("f32", "u8"): [0, 255, 0, 0, 44, 0, 255, 0, 255, 0, 0, 255, 255],
    ("f64", "u8"): [0, 255, 0, 0, 44, 0, 255, 0, 255, 0, 0, 255, 255],
    ("f32", "u32"): [0, U32, 0, 0, 300, 3000000000, U32, 0, 255, 256, 0, U32, U32],
    ("f64", "u32"): [2**31, U32, 0, 0, 300, 3000000000, U32, 0, 255, 256, 0, U32, U32],
    ("f32", "i64"): [-I64, I64 - 1, -I64, -1, 300, 3000000000, I64 - 1, -I64, 255, 256, 0, 2**32, I64 - 1],
    ("f64", "i64"): [-I64, I64 - 1, -I64, -1, 300, 3000000000, I64 - 1, -I64, 255, 256, 0, U32, I64 - 1],
}
# index of an input -> result of AMD's instructions, where it differs from CUDA's
AMD = {
    ("f32", "u8"): ("D5", {3: 255, 5: 255}),
    ("f64", "u8"): ("D5", {3: 255, 5: 255}),
    ("bf16", "u8"): ("D5", {3: 255, 5: 255}),
    ("f64", "u32"): ("D2", {0: 0}),
    ("f32", "i64"): ("D3", {0: 0, 1: -(2**32), 2: 2**32, 6: -(2**32), 7: 2**32, 12: -I64}),
    ("f64", "i64"): ("D4", {0: 0, 1: MOST, 6: MOST + 10**20 % 2**32, 7: -MOST - 10**20 % 2**32, 12: MOST}),
    ("f16", "u8"): ("D6", {3: 255}),
}


def fails(expected, got, kind="value"):
    verdict = compare(expected, got, vendor="amd")
    assert not verdict.passed
    assert verdict.kind == kind, verdict


def inputs(source):
    with np.errstate(all="ignore"):
        return INPUTS.astype(dtype(source).numpy)


@pytest.mark.parametrize(("source", "to"), MEASURED)
def test_cast_to_integer_matches_values_measured_on_cuda(source, to):
    expected = reference.cast(inputs(source), dtype(to))
    assert expected.value.tolist() == MEASURED[source, to]
    verdict = compare(expected, expected.value.copy(), vendor="cuda")
    assert verdict.passed
    assert verdict.divergences == ()


@pytest.mark.parametrize(("source", "to"), AMD)
def test_cast_to_integer_with_amd_result_is_known_divergence(source, to):
    expected = reference.cast(inputs(source), dtype(to))
    name, changes = AMD[source, to]
    got = expected.value.copy()
    for index, value in changes.items():
        got[index] = value
    verdict = compare(expected, got, vendor="amd")
    assert verdict.passed, verdict
    assert name in verdict.divergences
    got[4] += 1
    fails(expected, got)


def test_cast_out_of_range_has_d3_alternative_for_both_signs():
    x = np.array([2.0**64, -1, np.nan], np.float32)
    signed, unsigned = (reference.cast(x, dtype(name)) for name in ("i64", "u64"))
    assert signed.divergences["D3"].tolist() == [-(2**32), -1, 0]
    assert unsigned.divergences["D3"][1] == 0xFFFFFFFF
    assert unsigned.value.tolist() == [2**64 - 1, 0, 2**63]


@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_cast_to_u8_that_saturates_or_rounds_fails(source):
    x = np.array([300, 256, 1000, 3], np.float64).astype(dtype(source).numpy)
    expected = reference.cast(x, dtype("u8"))
    assert expected.value[0] == 44
    fails(expected, np.array([255, 255, 255, 3], np.uint8))
    fails(reference.cast(np.array([1.5, 2.5], x.dtype), dtype("u8")), np.array([2, 2], np.uint8))


def test_cast_f16_to_u8_accepts_both_amd_conversions():
    x = np.array([-1, 40000, -300], np.float16)
    expected = reference.cast(x, dtype("u8"))
    assert expected.value.tolist() == [0, 40000 & 255, 0]
    for rule, got in {"D5": [255, 64, 212], "D6": [255, 255, 212]}.items():
        verdict = compare(expected, np.array(got, np.uint8), vendor="amd")
        assert verdict.passed
        assert rule in verdict.divergences


@pytest.mark.parametrize("to", ["u8", "u32", "u64", "i16", "i32", "i64"])
@given(x=st.integers(-(2**63), 2**63 - 1))
def test_cast_between_integers_keeps_low_bits(to, x):
    kind = dtype(to)
    value = int(reference.cast(np.array([x], np.int64), kind).value[0])
    assert (value - x) % (1 << 8 * kind.itemsize) == 0


@given(x=st.floats(0, 2**31, width=32))
def test_cast_float_to_integer_truncates(x):
    for source in ("f32", "f64"):
        for to in ("u32", "i64"):
            assert reference.cast(np.array([x], dtype(source).numpy), dtype(to)).value[0] == int(x)
            if to == "i64":
                assert reference.cast(np.array([-x], dtype(source).numpy), dtype(to)).value[0] == -int(x)


def test_cast_integer_to_float_rounds_once():
    x = np.array([2**53 + 1, (1 << 24) + 1, (1 << 60) + (1 << 36) + 1, 2**63 - 1], np.int64)
    assert reference.cast(x, dtype("f64")).value.tolist() == [2**53, 2**24 + 1, 2**60 + 2**36, 2**63]
    assert reference.cast(x, dtype("f32")).value.astype(float).tolist() == [2**53, 2**24, 2**60 + 2**37, 2**63]
    u = np.array([65519, 65520, 257, (1 << 31) + (1 << 23) + 1], np.uint32)
    assert reference.cast(u, dtype("f16")).value.astype(float).tolist() == [65504, np.inf, 257, np.inf]
    assert reference.cast(u, dtype("bf16")).value.astype(float)[2:].tolist() == [256, 2**31 + 2**24]
    tie = np.array([(1 << 60) + (1 << 52) + 1], np.int64)
    assert float(reference.cast(tie, dtype("bf16")).value[0]) == 2**60 + 2**53


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_cast_f64_to_half_through_f32_fails(name):
    kind = dtype(name)
    unit = 2.0 ** (1 - kind.precision)
    x = np.array([1 + unit / 2 + 2.0**-40, 1 + unit / 2, 2.0])
    expected = reference.cast(x, kind)
    assert expected.value.astype(float).tolist() == [1 + unit, 1, 2]
    fails(expected, x.astype(np.float32).astype(kind.numpy))


@pytest.mark.parametrize(("source", "to"), [("f32", "f16"), ("f64", "f16"), ("f32", "bf16"), ("f64", "f32")])
def test_cast_to_narrower_float_keeps_special_values(source, to):
    kind = dtype(to)
    special = np.array([np.nan, np.inf, -np.inf, -0.0, kind.max, 2.0 ** (kind.emin - kind.precision)])
    expected = reference.cast(special.astype(dtype(source).numpy), kind)
    want = [np.nan, np.inf, -np.inf, -0.0, kind.max, 0.0]
    np.testing.assert_array_equal(expected.value.astype(float), want)
    fails(expected, np.array([*want[:3], 0.0, *want[4:]]).astype(kind.numpy), "sign of zero")
    fails(expected, np.array([0.0, *want[1:]]).astype(kind.numpy), "nan")


@pytest.mark.parametrize("source", ["f16", "bf16"])
def test_cast_half_to_wider_float_and_back_is_exact(source):
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype(source).numpy)
    for to in ("f16", "bf16", "f32", "f64"):
        value = reference.cast(x, dtype(to)).value
        assert (np.isnan(value) == np.isnan(x)).all()
        if to in ("f32", "f64"):
            assert reference.cast(value, dtype(source)).value[~np.isnan(x)].tobytes() == x[~np.isnan(x)].tobytes()


@pytest.mark.parametrize("to", NUMBERS.values(), ids=str)
@pytest.mark.parametrize("source", NUMBERS.values(), ids=str)
def test_cast_keeps_shape_and_small_integers(source, to):
    for shape in ((), (0,), (2, 3)):
        x = np.resize([0, 1, 2, 3, 72, 104], shape).astype(source.numpy)
        value = reference.cast(x, to).value
        assert (value.shape, value.dtype) == (shape, to.numpy)
        assert value.astype(float).tolist() == x.astype(float).tolist()
