"""Ops on quantized blocks: exact values, any order of summation, special values, and defects that must fail."""

from fractions import Fraction

import gguf
import numpy as np
import pytest
from verdicts import fails, passes

from parity import reference
from parity.model.dtypes import DTYPES, dtype
from parity.reference import Limits, blocks

INF, NAN = np.inf, np.nan
F32, F16 = dtype("f32"), dtype("f16")
WEIGHTS = [d for d in DTYPES.values() if d.is_block and d.name not in ("q8_1", "q8_K")]
BY_SUM = {False: ("q4_0", "q4_1", "q5_0", "q5_1"), True: ("q4_0", "q4_1", "q5_1", "q4_K", "q5_K")}
by_format = pytest.mark.parametrize("kind", WEIGHTS, ids=str)
tiled_or_not = pytest.mark.parametrize("tiled", [False, True], ids=["matvec", "tiled"])


def scales_of(kind):
    return [name for name in ("d", "m", "dmin", "s") if name in kind.numpy.names]


def made(kind, *shape, seed=0, whole=False):
    """Return blocks with random quants and small scales; ``whole`` makes the scales whole numbers."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape)) * kind.itemsize
    found = rng.integers(0, 256, count, np.uint8).view(kind.numpy).reshape(shape).copy()
    for name in scales_of(kind):
        found[name] = rng.integers(1, 4, shape) if whole else rng.normal(0, 1, shape)
    if kind.name == "q8_1" and whole:
        found["qs"] = rng.integers(-4, 5, found["qs"].shape)
        found["s"] = rng.integers(5, 90, shape)
    return found


def operands(kind, columns=512, rows=3, inputs=2, seed=0, whole=False):
    y = made(dtype("q8_1"), inputs, columns // 32, seed=seed + 1, whole=whole)
    return made(kind, rows, columns // kind.values, seed=seed, whole=whole), y


def product(w, y, tiled=False):
    function = reference.matmul_q8_1 if tiled else reference.matvec_q8_1
    return function(w, y, (len(y), len(w)))


def terms(row, y, tiled, number=Fraction):
    """Yield the terms that a kernel adds, one per block of activations, with the correction for minima."""
    kind = next(d for d in DTYPES.values() if d.numpy == row.dtype)
    for i, block in enumerate(row):
        w = blocks.decode(block[None])
        d, m = number(float(w.d[0])), number(float(w.m[0]))
        q, size = w.q[0], w.q.shape[-1]
        for g in range(w.groups):
            first = i * kind.values + g * size
            each = y[first // 32]
            a = [int(n) for n in each["qs"][first % 32 : first % 32 + size]]
            d8, s8 = number(float(each["d"])), number(float(each["s"]))
            dot = sum(int(p) * n for p, n in zip(q[g], a, strict=True))
            steps, mins = number(int(w.steps[0, g])), number(int(w.mins[0, g]))
            if kind.name == "q4_0":
                yield d * (d8 * number(dot) - number(8) * s8)
            elif kind.name == "q5_0" and tiled:
                yield d * d8 * number(dot - 16 * sum(a))
            elif kind.name == "q5_0":
                yield d * (d8 * number(dot) - number(16) * s8)
            elif kind.name in ("q4_1", "q5_1"):
                yield d * d8 * number(dot) + m * s8
            elif tiled and kind.name in ("q4_K", "q5_K"):
                yield d * (d8 * (steps * number(dot))) + m * (s8 * mins)
            else:
                yield d * (d8 * (steps * number(dot))) + m * (d8 * (mins * number(sum(a))))


def exactly(row, y, tiled):
    return sum(terms(row, y, tiled))


def simulated(w, y, tiled, order):
    """Simulate a kernel that rounds every operation to f32."""
    found = np.zeros((len(y), len(w)), np.float32)
    for j, r in np.ndindex(found.shape):
        each = list(terms(w[r], y[j], tiled, np.float32))
        for i in order(len(each)):
            found[j, r] += each[i]
    return found


ORDERS = {
    "forwards": range,
    "backwards": lambda n: range(n)[::-1],
    "striding": lambda n: [i for first in range(4) for i in range(first, n, 4)],
    "shuffled": lambda n: np.random.default_rng(n).permutation(n),
}


@by_format
@pytest.mark.parametrize("to", [F32, F16], ids=str)
def test_dequantize_matches_gguf_and_allows_no_error(kind, to):
    x = made(kind, 6, 3)
    their_type = gguf.GGMLQuantizationType[kind.name.upper()]
    theirs = gguf.quants.dequantize(x.view(np.uint8), their_type).astype(to.numpy)
    expected = reference.dequantize(x, to)
    assert expected.value.dtype == to.numpy
    np.testing.assert_array_equal(expected.value, theirs)
    passes(expected, theirs)
    fails(expected, np.nextafter(theirs, to.numpy.type(INF)))


def test_dequantize_q8_k_to_f16_rounds_through_f32():
    x = np.zeros(1, dtype("q8_K").numpy)
    # 3 d lies slightly above a tie of f16; rounded to f32 it is the tie, whose even neighbour is the lower one.
    x["d"], x["qs"][0, 0] = (1 + 9 * 2.0**-11 + 2.0**-25) / 3, 3
    exact = float(x["d"][0]) * 3
    assert exact == 1 + 9 * 2.0**-11 + 2.0**-25
    assert np.float16(exact) == 1 + 5 * 2.0**-10
    assert reference.dequantize(x, F32).value[0] == 1 + 9 * 2.0**-11
    assert reference.dequantize(x, F16).value[0] == 1 + 4 * 2.0**-10


def test_dequantize_infinite_scale_accepts_infinity_and_nan():
    x = np.zeros(1, dtype("q4_0").numpy)
    x["d"] = INF
    expected = reference.dequantize(x, F32)
    passes(expected, np.full(32, -INF, np.float32))
    passes(expected, np.full(32, NAN, np.float32))
    fails(expected, np.full(32, INF, np.float32), "infinity")
    fails(expected, np.full(32, 65504, np.float32), "infinity")


@by_format
def test_get_rows_of_blocks_dequantizes_selected_rows(kind):
    table, ids = made(kind, 5, 2), np.array([4, 0, 0, 3], np.uint32)
    expected = reference.get_rows(table, ids)
    np.testing.assert_array_equal(expected.value, reference.dequantize(table, F32).value[[4, 0, 0, 3]])
    assert expected.value.shape == (4, 2 * kind.values)
    fails(expected, reference.dequantize(table, F32).value[[4, 0, 1, 3]])


@pytest.mark.parametrize("name", ["f32", "f16", "bf16"])
def test_get_rows_of_floats_checks_sign_of_zero(name):
    table = np.array([[1.5, -0.0], [0.1, INF], [NAN, 3e-7]]).astype(dtype(name).numpy)
    expected = reference.get_rows(table, np.array([1, 0, 2], np.uint32))
    right = table[[1, 0, 2]].astype(np.float32)
    passes(expected, right)
    right[1, 1] = 0
    fails(expected, right, "sign of zero")


@by_format
@tiled_or_not
def test_q8_1_product_value_is_exact_sum(kind, tiled):
    w, y = operands(kind)
    value = product(w, y, tiled).value
    for j, r in np.ndindex(value.shape):
        assert value[j, r] == np.float32(float(exactly(w[r], y[j], tiled)))


@by_format
@tiled_or_not
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_q8_1_product_in_any_order_passes(kind, tiled, order):
    w, y = operands(kind, columns=1024, seed=5)
    passes(product(w, y, tiled), simulated(w, y, tiled, order))


@by_format
@tiled_or_not
def test_q8_1_product_of_whole_numbers_allows_no_error(kind, tiled):
    w, y = operands(kind, whole=True)
    expected = product(w, y, tiled)
    right = simulated(w, y, tiled, ORDERS["shuffled"])
    np.testing.assert_array_equal(expected.value, right)
    passes(expected, right)
    for end in (INF, -INF):
        fails(expected, np.nextafter(right, np.float32(end)))


def without_a_group_of_four(w, y):
    y["qs"][:, -1, 8:12] = 0


def scale_of_the_neighbour(w, y):
    w["d"][:, 0] += 1


def scale_of_another_input(w, y):
    y["d"][:, 0] += 1


def without_the_last_block(w, y):
    y[:, -1] = np.zeros((), y.dtype)


def codes_of_another_row(w, y):
    y["qs"] = y["qs"][::-1].copy()


DAMAGES = (
    without_a_group_of_four,
    scale_of_the_neighbour,
    scale_of_another_input,
    without_the_last_block,
    codes_of_another_row,
)


@by_format
@tiled_or_not
@pytest.mark.parametrize("damage", DAMAGES)
def test_q8_1_product_with_defect_fails(kind, tiled, damage):
    w, y = operands(kind, whole=True)
    expected = product(w, y, tiled)
    damage(w, y)
    verdict = fails(expected, product(w, y, tiled).value)
    assert verdict.wrong > verdict.total / 2


@by_format
@tiled_or_not
def test_q8_1_product_uses_stored_sum_where_kernel_does(kind, tiled):
    w, y = operands(kind, whole=True)
    expected = product(w, y, tiled)
    y["s"] = y["d"] * y["qs"].astype(np.float16).sum(axis=-1)
    swapped = product(w, y, tiled).value
    if kind.name in BY_SUM[tiled]:
        assert fails(expected, swapped).wrong == swapped.size
    else:
        passes(expected, swapped)


@pytest.mark.parametrize("name", ["q5_0", "q4_K", "q5_K"])
def test_q8_1_tiled_product_differs_from_matvec(name):
    w, y = operands(dtype(name), whole=True)
    fails(product(w, y, tiled=True), product(w, y).value)
    fails(product(w, y), product(w, y, tiled=True).value)


@by_format
@tiled_or_not
def test_q8_1_product_bound_detects_one_missing_product(kind, tiled):
    w, y = operands(kind, columns=256)
    expected = product(w, y, tiled)
    bounds = expected.bounds(Limits("amd"))
    assert (bounds.above > 0).all()
    positive = sum(abs(t) for t in terms(w[0], y[0], tiled))
    assert bounds.above[0, 0] >= 23 * 2.0**-24 * float(positive)
    # the terms of a random sum are not much larger than the sum
    assert (bounds.above < 23 * 2.0**-24 * 1e4 * np.abs(bounds.centre).max()).all()
    # One missing product of 256 is detected, even for the quant with the least weight.
    y["qs"][:, 3, 5] = np.where(y["qs"][:, 3, 5] > 0, 0, 127)
    assert fails(expected, product(w, y, tiled).value).wrong >= expected.value.size // 2


@by_format
@tiled_or_not
def test_q8_1_product_ignores_padding_and_additional_rows(kind, tiled):
    w, y = operands(kind, columns=256)
    expected = product(w, y, tiled)
    padding = np.full((2, 8), -1, np.int8).repeat(36, axis=-1).view(dtype("q8_1").numpy)
    further = made(kind, 2, w.shape[1], seed=9)
    further["d"] = NAN
    function = reference.matmul_q8_1 if tiled else reference.matvec_q8_1
    again = function(np.concatenate([w, further]), np.concatenate([y, padding], axis=1), (2, 3))
    np.testing.assert_array_equal(again.value, expected.value)
    np.testing.assert_array_equal(again.bounds(Limits("amd")).above, expected.bounds(Limits("amd")).above)


@by_format
@tiled_or_not
def test_q8_1_product_with_nan_scale_is_nan_in_its_row(kind, tiled):
    for name in scales_of(kind):
        w, y = operands(kind)
        right = product(w, y, tiled).value
        w[name][1, -1] = NAN
        expected = product(w, y, tiled)
        fails(expected, right, "nan")
        right[:, 1] = NAN
        passes(expected, right)
        right[0, 0] = NAN
        fails(expected, right, "nan")


@by_format
@tiled_or_not
@pytest.mark.parametrize("field", ["d", "s"])
@pytest.mark.parametrize("special", [NAN, INF])
def test_q8_1_product_propagates_special_activations_that_it_uses(kind, tiled, field, special):
    w, y = operands(kind)
    right = product(w, y, tiled).value
    y[field][1, 2] = special
    expected = product(w, y, tiled)
    if field == "s" and kind.name not in BY_SUM[tiled]:
        passes(expected, right)
        return
    assert not np.isfinite(expected.value[1]).any()
    assert np.isfinite(expected.value[0]).all()
    right[1] = special
    passes(expected, right)


@by_format
def test_q8_1_product_with_infinite_scale_accepts_any_non_finite_value(kind):
    for name in scales_of(kind):
        w, y = operands(kind)
        right = product(w, y).value
        w[name][0, 0] = -INF
        expected = product(w, y)
        for other in (INF, -INF, NAN):
            right[:, 0] = other
            passes(expected, right)
        right[:, 0] = 3e38
        fails(expected, right, "infinity")
        w["d"][0, -1] = NAN
        right[:, 0] = INF
        fails(product(w, y), right, "nan")


@by_format
def test_moe_q8_1_selects_experts_by_id(kind):
    stack = made(kind, 4, 3, 2)
    ids = np.array([[3, 0], [1, 1]], np.uint32)
    columns = 2 * kind.values
    for inputs in (1, 2):
        y = made(dtype("q8_1"), 2, inputs, columns // 32 + 3, seed=3)
        expected = reference.moe_q8_1(stack, y, ids)
        assert expected.value.shape == (2, 2, 3)
        for b, t in np.ndindex(2, 2):
            row = y[b, t % inputs][None]
            one = reference.matvec_q8_1(stack[ids[b, t]], row, (1, 3))
            np.testing.assert_array_equal(expected.value[b, t], one.value[0])
            mine, theirs = (e.bounds(Limits("amd")).above for e in (expected, one))
            np.testing.assert_array_equal(mine[b, t], theirs[0])


# Products with activations in f32.


def lanes(w, y):
    """Simulate a kernel with 32 threads per row: each adds every 32nd product, and a tree adds their sums."""
    found = []
    for row in blocks.decode(w).rows.astype(np.float32):
        partial = np.zeros(32, np.float32)
        for first in range(0, len(y), 32):
            partial += row[first : first + 32] * y[first : first + 32]
        while len(partial) > 1:
            partial = partial[: len(partial) // 2] + partial[len(partial) // 2 :]
        found.append(partial[0])
    return np.array(found)


def by_super_block(w, y):
    """Simulate a kernel that multiplies quants by activations first and applies the scales last."""
    parts = blocks.decode(w)
    a = y.reshape(1, *parts.q.shape[1:])
    products = ((parts.q - parts.zero).astype(np.float32) * a).sum(axis=-1, dtype=np.float32)
    sums = np.broadcast_to(a.sum(axis=-1, dtype=np.float32), products.shape)
    d = (products * parts.steps.astype(np.float32)).sum(axis=-1, dtype=np.float32) * parts.d.astype(np.float32)
    m = (sums * parts.mins.astype(np.float32)).sum(axis=-1, dtype=np.float32) * parts.m.astype(np.float32)
    return (d + m).sum(axis=-1, dtype=np.float32)


@by_format
def test_matvec_of_f32_activations_in_any_order_passes(kind):
    w = made(kind, 5, 768 // kind.values)
    y = np.random.default_rng(7).normal(0, 1, 768).astype(np.float32)
    expected = reference.matvec(w, y, (4,))
    exact = [sum(map(Fraction, map(float, row * y.astype(np.float64)))) for row in blocks.decode(w[:4]).rows]
    np.testing.assert_array_equal(expected.value, np.array([float(e) for e in exact]).astype(np.float32))
    passes(expected, lanes(w[:4], y))
    passes(expected, by_super_block(w[:4], y))
    y[100] = 0
    fails(expected, lanes(w[:4], y))


@by_format
def test_matvec_of_whole_f32_activations_allows_no_error(kind):
    w = made(kind, 4, 512 // kind.values, whole=True)
    y = np.random.default_rng(8).integers(-4, 5, 512).astype(np.float32)
    expected = reference.matvec(w, y, (4,))
    right = lanes(w, y)
    passes(expected, right)
    passes(expected, by_super_block(w, y))
    for end in (INF, -INF):
        fails(expected, np.nextafter(right, np.float32(end)))


@by_format
def test_matvec_propagates_special_f32_activations(kind):
    w = made(kind, 2, 1)
    y = np.ones(kind.values, np.float32)
    for special, allowed in ((NAN, [NAN]), (INF, [NAN, INF, -INF])):
        y[3] = special
        expected = reference.matvec(w, y, (2,))
        for result in (NAN, INF, -INF, 1.0):
            got = np.full(2, result, np.float32)
            if result in allowed or (np.isnan(result) and np.isnan(allowed[0])):
                passes(expected, got)
            else:
                fails(expected, got, "nan" if np.isnan(special) else "infinity")


def test_matvec_accepts_overflow_before_small_scale():
    w = np.zeros((1, 1), dtype("q8_0").numpy)
    w["d"], w["qs"] = 2.0**-14, 127
    y = np.full(32, 3e37, np.float32)
    expected = reference.matvec(w, y, (1,))
    assert np.isfinite(expected.value).all()
    passes(expected, expected.value)
    passes(expected, np.array([INF], np.float32))
    fails(expected, expected.value * np.float32(1.01))


def test_matvec_accepts_overflow_in_group_with_zero_scale():
    w = made(dtype("q6_K"), 1, 1)
    w["scales"][..., 0] = 0
    y = np.zeros(256, np.float32)
    y[0], y[255] = -3e38, 1
    w["ql"], w["qh"] = 0, 0  # every q is -32
    expected = reference.matvec(w, y, (1,))
    assert np.isfinite(expected.value).all()
    passes(expected, expected.value)
    passes(expected, np.array([np.nan], np.float32))
    fails(expected, expected.value + np.float32(1))


def test_matvec_of_smallest_subnormals_passes():
    w = made(dtype("q6_K"), 3, 1)
    y = np.random.default_rng(2).integers(-9, 9, 256).astype(np.float32) * np.float32(2.0**-149)
    passes(reference.matvec(w, y, (3,)), lanes(w, y))


# Values from candle's tests: Q4_0 weights quantized from 0, 1, ..., 255, times the same vector.


def test_products_match_values_of_candle():
    x = np.arange(256, dtype=np.float32)
    kind = dtype("q4_0")
    w = gguf.quants.quantize(x, gguf.GGMLQuantizationType.Q4_0).view(kind.numpy)[None]
    y = reference.quantize_q8_1(x[None], (1, 16)).value
    passes(reference.matvec_q8_1(w, y, (1, 1)), np.array([[5561664.5]], np.float32))
    passes(reference.matvec(w, x, (1,)), np.array([5561851.0], np.float32))
    fails(reference.matvec_q8_1(w, y, (1, 1)), np.array([[5561851.0]], np.float32))
    fails(reference.matvec(w, x, (1,)), np.array([5561664.5], np.float32))


# Quantization of activations to q8_1.


def quantizes(x, got, nb=None):
    expected = reference.quantize_q8_1(x, (len(x), nb or -(-x.shape[1] // 512) * 16))
    return expected.accepts(got)


def by_hand(x, nb):
    """Quantize to q8_1 and round every operation to f32."""
    v = np.zeros((len(x), nb * 32), np.float32)
    v[:, : x.shape[1]] = x
    v = v.reshape(len(x), nb, 32)
    amax = np.abs(v).max(axis=-1)
    d = amax / np.float32(127)
    found = np.zeros(amax.shape, dtype("q8_1").numpy)
    quotient = v / np.where(d == 0, np.float32(1), d)[..., None]
    found["qs"] = np.sign(quotient) * np.floor(np.abs(quotient).astype(np.float64) + 0.5)
    found["d"], found["s"] = d, v.cumsum(axis=-1, dtype=np.float32)[..., -1]
    return found


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 500, 512])
@pytest.mark.parametrize("scale", [1e-30, 1e-4, 1.0, 3e3, 1e30])
def test_quantize_q8_1_accepts_f32_arithmetic_and_rejects_changed_fields(columns, scale):
    x = (np.random.default_rng(columns).normal(0, 1, (3, columns)) * scale).astype(np.float32)
    expected = reference.quantize_q8_1(x, (3, 16))
    right = by_hand(x, 16)
    assert expected.value.shape == right.shape
    assert expected.accepts(right).all()
    assert expected.accepts(expected.value).all()
    assert not expected.value["qs"][:, -(-columns // 32) :].any()
    for field, change in (("d", 1), ("s", 3)):
        wrong = right.copy()
        wrong[field] = (wrong[field].view(np.uint16) + np.uint16(change)).view(np.float16)
        assert not expected.accepts(wrong)[:, 0].any()
    wrong = right.copy()
    wrong["qs"][:, :, 0] ^= 1
    assert not expected.accepts(wrong)[:, 0].any()


def test_quantize_q8_1_accepts_two_codes_only_next_to_tie():
    x = np.zeros((1, 32), np.float32)
    x[0, :6] = 127, 2.5, -3.5, np.nextafter(np.float32(4.5), np.float32(0)), 5.4, 0.5
    right = by_hand(x, 1)
    assert right["qs"][0, 0, :6].tolist() == [127, 3, -4, 4, 5, 1]
    assert quantizes(x, right, 1).all()
    for place, code, accepted in ((1, 2, False), (2, -3, False), (3, 5, True), (4, 6, False), (5, 0, False)):
        other = right.copy()
        other["qs"][0, 0, place] = code
        assert quantizes(x, other, 1).all() == accepted


def test_quantize_q8_1_scale_by_reciprocal_is_rejected():
    x = np.full((1, 32), 127.06201934814453, np.float32)
    right = by_hand(x, 1)
    assert quantizes(x, right, 1).all()
    product = x[0, 0] * (np.float32(1) / np.float32(127))
    assert right["d"] != np.float16(product)
    right["d"] = product
    assert not quantizes(x, right, 1).any()


def test_quantize_q8_1_sum_of_codes_is_rejected():
    x = np.full((1, 32), 0.3, np.float32)
    x[0, 0] = 100
    right = by_hand(x, 1)
    wrong = right.copy()
    wrong["s"] = right["d"] * right["qs"].astype(np.float32).sum()
    assert quantizes(x, right, 1).all()
    assert not quantizes(x, wrong, 1).any()


def test_quantize_q8_1_sum_overflows_to_infinity():
    x = np.full((1, 32), -3000, np.float32)
    right = by_hand(x, 1)
    assert right["s"] == -INF
    assert quantizes(x, right, 1).all()
    right["s"] = -65504
    assert not quantizes(x, right, 1).any()


def test_quantize_q8_1_accepts_intermediate_overflow_of_sum():
    x = np.zeros((1, 32), np.float32)
    x[0, :3] = 3e38, 3e38, -3e38
    right = by_hand(x, 1)
    for s, accepted in ((INF, True), (-INF, False), (NAN, False)):
        right["s"] = s
        assert quantizes(x, right, 1).all() == accepted
    x[0, 3] = -3e38
    right["qs"][0, 0, 3] = -127
    for s in (INF, -INF, NAN, 0):
        right["s"] = s
        assert quantizes(x, right, 1).all()
    x[0, :2], x[0, 2:4] = 1e12, -1e12  # far below the maximum of f32, although the sum may exceed the maximum of f16
    right = by_hand(x, 1)
    assert quantizes(x, right, 1).all()
    right["s"] = NAN
    assert not quantizes(x, right, 1).any()


def test_quantize_q8_1_of_nan_checks_only_the_sum():
    x = np.ones((1, 64), np.float32)
    x[0, 40] = NAN
    got = by_hand(x[:, :32], 2)
    got["s"][0, 1] = NAN
    got["qs"][0, 1], got["d"][0, 1] = 5, 77
    assert quantizes(x, got, 2).all()
    got["s"][0, 1] = 1
    assert quantizes(x, got, 2).tolist() == [[True, False]]


@pytest.mark.parametrize(("others", "sums"), [((), [INF]), ((-INF,), [NAN])])
def test_quantize_q8_1_of_infinity_checks_scale_and_sum(others, sums):
    x = np.arange(32, dtype=np.float32)[None]
    x[0, 5] = INF
    x[0, 6 : 6 + len(others)] = others
    got = np.zeros((1, 1), dtype("q8_1").numpy)
    got["d"], got["s"] = INF, sums[0]
    got["qs"][0, 0, 5] = 99
    assert quantizes(x, got, 1).all()
    for field, value in (("s", 1.0), ("d", 65504), ("s", -INF)):
        wrong = got.copy()
        wrong[field] = value
        assert not quantizes(x, wrong, 1).any()
    got["qs"][0, 0, 20] = 1
    assert not quantizes(x, got, 1).any()


def test_quantize_q8_1_with_underflowing_scale_accepts_any_codes():
    x = np.zeros((1, 64), np.float32)
    x[0, 3] = 1e-44  # divided by 127 this is 0
    got = np.zeros((1, 2), dtype("q8_1").numpy)
    got["qs"][0, 0] = 77
    assert quantizes(x, got, 2).all()
    got["qs"][0, 1, 0] = 1
    assert quantizes(x, got, 2).tolist() == [[True, False]]


def test_quantize_q8_1_of_zeros_is_zero_block():
    x = np.array([[0.0, -0.0] * 16], np.float32)
    got = np.zeros((1, 16), dtype("q8_1").numpy)
    assert quantizes(x, got).all()
    got["s"] = -0.0
    assert quantizes(x, got).all()
    got["d"] = 1
    assert not quantizes(x, got).any()
