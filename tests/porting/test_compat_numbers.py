"""Compatibility functions of half, bfloat16, float and 8-bit floats: results have the same bits as exact models."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from execution import THREADS, calls, program

from parity.porting import compat

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

EXECUTED = ("gfx1100", "gfx90a")  # one target for each wavefront size
BF16 = ml_dtypes.bfloat16
N = 4 * THREADS
INCLUDES = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"


@pytest.fixture(scope="module", params=EXECUTED)
def target(request):
    return request.param


def rounded(exact: Fraction, precision: int, least: int, largest: int, how: str) -> float | None:
    """Round ``exact`` to ``precision`` bits in the direction ``how`` (rn, rz, rd or ru).

    ``least`` and ``largest`` are the exponents of the smallest and the largest normal number. Return None for zero,
    because an exact zero does not have a sign.
    """
    if exact == 0:
        return None
    magnitude = abs(exact)
    exponent = max(magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1, least)
    while magnitude >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - precision + 1)
    steps, rest = divmod(magnitude, step)
    away = {
        "rn": rest * 2 > step or (rest * 2 == step and steps % 2 == 1),
        "rz": False,
        "rd": rest > 0 and exact < 0,
        "ru": rest > 0 and exact > 0,
    }[how]
    value = (steps + away) * step
    if value >= Fraction(2) ** (largest + 1):
        return math.copysign(math.inf, exact)  # callers correct this for roundings toward zero
    return math.copysign(float(value), exact)


def as_float(exact: Fraction, how: str) -> float | None:
    return rounded(exact, 24, -126, 127, how)


def as_bfloat16(exact: Fraction, how: str) -> float | None:
    return rounded(exact, 8, -126, 127, how)


# --- bfloat16 and half: bits in, bits out -----------------------------------------------------------------------------

EDGES16 = [
    *(0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x3F80, 0xBF80, 0x3F00, 0x4000, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1),
    *(0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x0400, 0x03FF, 0x4F00, 0x5F00, 0xDF00, 0x4B00),
]


def patterns(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(EDGES16, N // 2), rng.integers(0, 1 << 16, N // 2)]).astype(np.uint16)


P, Q, R = patterns(1), patterns(2), patterns(3)


def same_bits(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Assert equal bits; all NaNs count as equal."""
    kind = expected.dtype
    got = got.view(kind)
    nan = np.isnan(expected.astype(np.float32))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float32)), nan, what)
    np.testing.assert_array_equal(got.view(np.uint16)[~nan], expected.view(np.uint16)[~nan], what)


def exact_sum(*terms: float) -> float:
    """Sum in float64, rounding to odd, so that a second rounding to 16 bits is correct even if the sum is inexact."""
    if not all(map(math.isfinite, terms)):
        return sum(terms)
    exact = sum(map(Fraction, terms))
    near = sum(terms)
    if exact == 0 or Fraction(near) == exact:
        return near
    bits = np.float64(near).view(np.uint64)
    if abs(Fraction(near)) > abs(exact):
        bits -= np.uint64(1)
    return float((bits | np.uint64(1)).view(np.float64))


def to_kind(values: list[float], kind: type) -> np.ndarray:
    """Convert float64 to 16 bits with a single rounding; the bfloat16 cast of ml_dtypes goes through float32."""
    if kind is np.float16:
        return np.array(values, np.float64).astype(np.float16)
    words = np.array(values, np.float64)
    out = np.empty(len(values), BF16)
    for k, value in enumerate(words.tolist()):
        if not math.isfinite(value) or value == 0:
            out[k] = value
        else:
            out[k] = as_bfloat16(Fraction(value), "rn")
    return out


def maximum(x, y, keep_nan, sign):
    """Return the elementwise maximum (``sign`` 1) or minimum (``sign`` -1)."""
    out = np.empty_like(x)
    for k, (a, b) in enumerate(zip(x.astype(np.float64), y.astype(np.float64), strict=True)):
        if math.isnan(a) or math.isnan(b):
            out[k] = math.nan if keep_nan or (math.isnan(a) and math.isnan(b)) else b if math.isnan(a) else a
        elif a == b == 0:
            zeros = sorted([math.copysign(1, a), math.copysign(1, b)], reverse=sign > 0)
            out[k] = math.copysign(0, zeros[0])
        else:
            out[k] = max(a, b) if sign > 0 else min(a, b)
    return out


def arithmetic(function: Callable[..., float], kind: type, *arrays: np.ndarray) -> np.ndarray:
    columns = (array.astype(np.float64).tolist() for array in arrays)
    return to_kind([function(*values) for values in zip(*columns, strict=True)], kind)


def saturated(x: float) -> float:
    return min(x, 1.0) if x > 0 else 0.0


def relu(values: np.ndarray) -> np.ndarray:
    return maximum(values, np.zeros_like(values), True, 1)


def models(kind: type) -> dict[str, Callable[..., np.ndarray]]:
    """Return the elementwise model of each function for a 16-bit type."""

    def fma(a, b, c):
        return exact_sum(a * b, c)

    return {
        "__hmax_nan": lambda a, b, c: maximum(a, b, True, 1),
        "__hmin_nan": lambda a, b, c: maximum(a, b, True, -1),
        "__hadd_rn": lambda a, b, c: arithmetic(lambda x, y: exact_sum(x, y), kind, a, b),
        "__hsub_rn": lambda a, b, c: arithmetic(lambda x, y: exact_sum(x, -y), kind, a, b),
        "__hmul_rn": lambda a, b, c: arithmetic(lambda x, y: x * y, kind, a, b),
        "__hadd_sat": lambda a, b, c: arithmetic(lambda x, y: saturated(exact_sum(x, y)), kind, a, b),
        "__hsub_sat": lambda a, b, c: arithmetic(lambda x, y: saturated(exact_sum(x, -y)), kind, a, b),
        "__hmul_sat": lambda a, b, c: arithmetic(lambda x, y: saturated(x * y), kind, a, b),
        "__hfma_sat": lambda a, b, c: arithmetic(lambda x, y, z: saturated(fma(x, y, z)), kind, a, b, c),
        "__hfma_relu": lambda a, b, c: relu(arithmetic(fma, kind, a, b, c)),
    }


MASKS = {
    "eq": lambda x, y: x == y, "ne": lambda x, y: (x < y) | (x > y), "le": lambda x, y: x <= y,
    "ge": lambda x, y: x >= y, "lt": lambda x, y: x < y, "gt": lambda x, y: x > y,
}  # fmt: skip
SATURATING = ("__hadd_sat", "__hsub_sat", "__hmul_sat", "__hfma_sat")
FORMATS = {"half": ("__half", np.float16), "bfloat16": ("__nv_bfloat16", BF16)}


def arguments(name: str) -> str:
    return "a, b, c" if "fma" in name or "cmadd" in name else "a" if "tanh" in name else "a, b"


@pytest.mark.parametrize("which", FORMATS)
def test_arithmetic_16_bit_matches_model(target, cache, tmp_path, which):
    spelled, kind = FORMATS[which]
    # AMD's saturating functions of half propagate NaN, so the test skips them.
    names = [name for name in models(kind) if which == "bfloat16" or name not in SATURATING]
    one = calls("one", f"{spelled}, {spelled}, {spelled}", spelled, [f"{name}({arguments(name)})" for name in names])
    pair = spelled + "2"
    twos = [name.replace("__hmax", "__hmax2").replace("__hmin", "__hmin2") for name in names[:2]]
    twos += [f"{name[:6]}2{name[6:]}" for name in names[2:]]
    two = calls("two", f"{pair}, {pair}, {pair}", pair, [f"{name}({arguments(name)})" for name in twos])
    code = program(tmp_path, INCLUDES + one + two, target, cache)
    expected = [models(kind)[name](*(x.view(kind) for x in (P, Q, R))) for name in names]
    for kernel, inputs in (("one", (P, Q, R)), ("two", tuple(x.view(np.uint32) for x in (P, Q, R)))):
        blank = np.zeros((len(names), len(inputs[0])), inputs[0].dtype)
        for name, values, wanted in zip(names, code.run(kernel, blank, *inputs), expected, strict=True):
            same_bits(values.view(np.uint16), wanted, f"{kernel}: {name}")


@pytest.mark.parametrize("which", FORMATS)
def test_comparisons_16_bit_match_model(target, cache, tmp_path, which):
    spelled, kind = FORMATS[which]
    names = [f"__h{name}{u}2_mask" for name in MASKS for u in ("", "u")]
    numbers = [f"__h{name}u2" for name in MASKS if which == "bfloat16"]
    text = calls("masks", f"{spelled}2, {spelled}2", "unsigned", [f"{name}(a, b)" for name in names])
    text += calls("numbers", f"{spelled}2, {spelled}2", f"{spelled}2", [f"{name}(a, b)" for name in numbers])
    code = program(tmp_path, INCLUDES + text, target, cache)
    x, y = P.view(kind).astype(np.float32), Q.view(kind).astype(np.float32)
    unordered = np.isnan(x) | np.isnan(y)
    inputs = P.view(np.uint32), Q.view(np.uint32)
    got = iter(code.run("masks", np.zeros((len(names), N // 2), np.uint32), *inputs))
    for name, holds in MASKS.items():
        for value in (holds(x, y), holds(x, y) | unordered):
            np.testing.assert_array_equal(next(got).view(np.uint16) == 0xFFFF, value, name)
    if numbers:
        for name, values in zip(MASKS, code.run("numbers", np.zeros((6, N // 2), np.uint32), *inputs), strict=True):
            np.testing.assert_array_equal(values.view(np.uint16) == 0x3F80, MASKS[name](x, y) | unordered, name)


@pytest.mark.parametrize("which", FORMATS)
def test_complex_product_and_tanh_16_bit_match_model(target, cache, tmp_path, which):
    spelled, kind = FORMATS[which]
    pair = spelled + "2"
    text = calls("products", f"{pair}, {pair}, {pair}", pair, ["__hcmadd(a, b, c)", "h2tanh(a)", "h2tanh_approx(a)"])
    text += calls("tangents", spelled, spelled, ["htanh(a)", "htanh_approx(a)"])
    code = program(tmp_path, INCLUDES + text, target, cache)
    got = code.run("products", np.zeros((3, N // 2), np.uint32), *(x.view(np.uint32) for x in (P, Q, R)))
    a, b, c = (x.view(kind).reshape(-1, 2) for x in (P, Q, R))

    def fma(x, y, z):
        return arithmetic(lambda p, q, r: exact_sum(p * q, r), kind, x, y, z)

    real = fma(-a[:, 1], b[:, 1], fma(a[:, 0], b[:, 0], c[:, 0]))
    imaginary = fma(a[:, 1], b[:, 0], fma(a[:, 0], b[:, 1], c[:, 1]))
    same_bits(got[0].view(np.uint16), np.stack([real, imaginary], 1).reshape(-1), "__hcmadd")
    ones = code.run("tangents", np.zeros((2, N), np.uint16), P)
    tangents = np.tanh(P.view(kind).astype(np.float64)).astype(np.float32)
    for values in (got[1].view(np.uint16), got[2].view(np.uint16), *ones):
        ulp = np.abs(values.view(np.int16).astype(int) - tangents.astype(kind).view(np.int16).astype(int))
        assert ulp[~np.isnan(tangents)].max() <= 1


def test_half_min_max_and_conversions_match_model(target, cache, tmp_path):
    text = calls("choices", "__half2, __half2", "__half2", ["__hmax2(a, b)", "__hmin2(a, b)"])
    text += calls("chars", "__half", "int", ["__half2char_rz(a)", "__half2uchar_rz(a)"])
    text += calls("doubles", "double", "__half", ["__double2half(a)"])
    code = program(tmp_path, INCLUDES + text, target, cache)
    got = code.run("choices", np.zeros((2, N // 2), np.uint32), P.view(np.uint32), Q.view(np.uint32))
    for values, sign in zip(got, (1, -1), strict=True):
        same_bits(values.view(np.uint16), maximum(P.view(np.float16), Q.view(np.float16), False, sign), "choice")
    x = np.nan_to_num(np.trunc(P.view(np.float16).astype(np.float64)), nan=0, posinf=1e9, neginf=-1e9)
    chars = code.run("chars", np.zeros((2, N), np.int32), P)
    assert chars.tolist() == [np.clip(x, -128, 127).tolist(), np.clip(x, 0, 255).tolist()]
    doubles = np.random.default_rng(1).normal(size=N) * 10.0 ** np.random.default_rng(2).integers(-9, 6, N)
    doubles[: N // 2] = (P.view(np.float16)[: N // 2]).astype(np.float64) * (1 + 2.0**-11 + 2.0**-40)
    same_bits(code.run("doubles", np.zeros(N, np.uint16), doubles), doubles.astype(np.float16), "__double2half")


INTEGERS = {
    "short": ("short", np.int16), "ushort": ("unsigned short", np.uint16), "int": ("int", np.int32),
    "uint": ("unsigned", np.uint32), "ll": ("long long", np.int64), "ull": ("unsigned long long", np.uint64),
}  # fmt: skip
ROUNDINGS = ("rn", "rz", "rd", "ru")
TO_INTEGER = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}


def test_bfloat16_conversions_round_in_requested_direction(target, cache, tmp_path):
    text = calls("of_float", "float", "__nv_bfloat16", [f"__float2bfloat16_{how}(a)" for how in ROUNDINGS])
    text += calls("pairs", "float, float", "__nv_bfloat162", ["__floats2bfloat162_rn(a, b)", "__float2bfloat162_rn(a)",
        "make_bfloat162(__float2bfloat16_rn(a), __float2bfloat16_rn(b))"])  # fmt: skip
    for name, (spelled, _) in INTEGERS.items():
        text += calls(f"of_{name}", spelled, "__nv_bfloat16", [f"__{name}2bfloat16_{how}(a)" for how in ROUNDINGS])
        text += calls(f"to_{name}", "__nv_bfloat16", spelled, [f"__bfloat162{name}_{how}(a)" for how in ROUNDINGS])
    text += calls("to_char", "__nv_bfloat16", "int", ["__bfloat162char_rz(a)", "__bfloat162uchar_rz(a)"])
    code = program(tmp_path, INCLUDES + text, target, cache)

    rng = np.random.default_rng(7)
    floats = rng.integers(0, 1 << 32, N, np.uint32)
    floats[: N // 4] = (floats[: N // 4] & 0xFFFF0000) | rng.choice([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], N // 4)
    x = floats.view(np.float32)
    rows = dict(zip(ROUNDINGS, code.run("of_float", np.zeros((4, N), np.uint16), x), strict=True))
    for how, row in rows.items():
        same_bits(row, bfloat16s(x.astype(np.float64).tolist(), how), how)
    pairs = code.run("pairs", np.zeros((3, N), np.uint32), x, x[::-1].copy()).view(np.uint16).reshape(3, N, 2)
    nearest = bfloat16s(x.astype(np.float64).tolist(), "rn")
    for row, second in zip(pairs, (nearest[::-1], nearest, nearest[::-1]), strict=True):
        same_bits(row[:, 0].copy(), nearest, "low")
        same_bits(row[:, 1].copy(), second.copy(), "high")

    for name, (_, kind) in INTEGERS.items():
        bounds = np.iinfo(kind)
        values = [int(v) % (2 ** rng.integers(1, bounds.bits + 1)) for v in rng.integers(0, 2**63, N).tolist()]
        values = [(v * 2 + k % 2 + bounds.min * (k % 2)) for k, v in enumerate(values)]
        array = np.array([min(max(v, bounds.min), bounds.max) for v in values], kind)
        array[:4] = [bounds.min, bounds.max, bounds.max // 3, bounds.max - bounds.max // 512]
        for how, row in zip(ROUNDINGS, code.run(f"of_{name}", np.zeros((4, N), np.uint16), array), strict=True):
            same_bits(row, bfloat16s(array.tolist(), how), f"{name} {how}")
        for how, row in zip(ROUNDINGS, code.run(f"to_{name}", np.zeros((4, N), kind), P), strict=True):
            wanted = [integer(float(v), kind, how) for v in P.view(BF16).astype(np.float64)]
            assert row.tolist() == wanted, (name, how)
    chars = code.run("to_char", np.zeros((2, N), np.int32), P)
    for row, kind in zip(chars, (np.int8, np.uint8), strict=True):
        assert row.tolist() == [integer(float(v), kind, "rz") for v in P.view(BF16).astype(np.float64)]


def bfloat16s(values: list, how: str) -> np.ndarray:
    out = np.empty(len(values), BF16)
    for k, value in enumerate(values):
        special = isinstance(value, float) and (not math.isfinite(value) or value == 0)
        exact = value if special else as_bfloat16(Fraction(value), how)
        # A value that overflows but is rounded toward zero becomes the largest finite number.
        if not special and exact is not None and math.isinf(exact) and how != "rn":
            away = how == ("ru" if value > 0 else "rd")
            exact = exact if away else math.copysign(float(ml_dtypes.finfo(BF16).max), value)
        out[k] = 0.0 if exact is None else exact
    return out


def integer(value: float, kind: type, how: str) -> int:
    bounds = np.iinfo(kind)
    if math.isnan(value):
        return (-(2**63) if bounds.min else 2**63) if bounds.bits == 64 else 0
    if math.isinf(value):
        return bounds.max if value > 0 else bounds.min
    return min(max(TO_INTEGER[how](value), bounds.min), bounds.max)


# --- float ------------------------------------------------------------------------------------------------------------

OPERATIONS = {
    "__fadd": ("a, b", lambda x, y, z: x + y),
    "__fsub": ("a, b", lambda x, y, z: x - y),
    "__fmul": ("a, b", lambda x, y, z: x * y),
    "__fdiv": ("a, b", lambda x, y, z: x / y if y else None),
    "__fmaf": ("a, b, c", lambda x, y, z: x * y + z),
    "__fmaf_ieee": ("a, b, c", lambda x, y, z: x * y + z),
    "__frcp": ("a", lambda x, y, z: 1 / x if x else None),
}


def float_patterns(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    near_one = rng.uniform(1, 2, N // 4).astype(np.float32)
    ends = np.array([2.0**-149, 2.0**-126, np.finfo(np.float32).max, 1.0, 1 + 2.0**-23, 2.0**-24, 3.0], np.float32)
    return np.concatenate([
        rng.integers(0, 1 << 32, N // 4, np.uint32).view(np.float32),
        near_one * rng.choice([-1, 1], N // 4).astype(np.float32),
        rng.choice(ends, N // 4) * rng.choice([-1, 1], N // 4).astype(np.float32),
        near_one[::-1] * np.float32(2) ** rng.integers(-30, 30, N // 4).astype(np.float32),
    ])  # fmt: skip


def test_float_arithmetic_rounds_in_requested_direction(target, cache, tmp_path):
    names = [f"{name}_{how}" for name in OPERATIONS for how in ROUNDINGS]
    text = calls("operations", "float, float, float", "float", [f"{n}({OPERATIONS[n[:-3]][0]})" for n in names])
    text += calls("roots", "float", "float", [f"__fsqrt_{how}(a)" for how in ROUNDINGS])
    text += calls("pairs", "float2, float2", "float2", [
        f"{name}_{how}(a, b{', a' if 'fma' in name else ''})"
        for name in ("__fadd2", "__fmul2", "__ffma2") for how in ROUNDINGS
    ])  # fmt: skip
    code = program(tmp_path, text, target, cache)
    a, b, c = float_patterns(1), float_patterns(2), float_patterns(3)
    a[:8], b[:8] = [0.0, -0.0, 0.0, -0.0, 1.5, -1.5, np.inf, -np.inf], [0.0, 0.0, -0.0, -0.0, -1.5, 1.5, 1, 1]
    got = dict(zip(names, code.run("operations", np.zeros((len(names), N), np.float32), a, b, c), strict=True))
    for name, values in got.items():
        _, exact = OPERATIONS[name[:-3]]
        check(values, exact, name, a, b, c)
    signs = {how: [bool(s) for s in np.signbit(got[f"__fadd_{how}"][:6])] for how in ROUNDINGS}
    down = [False, True, True, True, True, True]
    assert signs == {"rn": [False] * 3 + [True] + [False] * 2, "rz": [False] * 3 + [True] + [False] * 2, "rd": down,
                     "ru": [False] * 3 + [True] + [False] * 2}  # fmt: skip
    for how, values in zip(ROUNDINGS, code.run("roots", np.zeros((4, N), np.float32), abs(a)), strict=True):
        for x, value in zip(abs(a).tolist(), values.tolist(), strict=True):
            if math.isfinite(x) and x > 0:
                assert value == root(Fraction(x), how), (how, x)
    two = code.run("pairs", np.zeros((12, N // 2, 2), np.float32), a.view(np.uint64), b.view(np.uint64))
    flat = two.reshape(3, 4, N)
    for rows, exact in zip(
        flat, (lambda x, y, z: x + y, lambda x, y, z: x * y, lambda x, y, z: x * y + x), strict=True
    ):
        for how, values in zip(ROUNDINGS, rows, strict=True):
            check(values, exact, f"2_{how}", a, b, c)


def check(values: np.ndarray, exact, name: str, *arrays: np.ndarray) -> None:
    how = name[-2:]
    for *given, value in zip(*(array.tolist() for array in (*arrays, values)), strict=True):
        if not all(map(math.isfinite, given)):
            continue
        result = exact(*map(Fraction, given))
        if result is None:
            continue
        expected = as_float(result, how)
        if expected is not None and math.isinf(expected) and how in ("rz", "rd" if result > 0 else "ru"):
            expected = math.copysign(float(np.finfo(np.float32).max), result)
        if expected is None:
            assert value == 0, (name, given)
        else:
            assert value == expected, (name, [x.hex() for x in given], value.hex(), expected.hex())


def root(x: Fraction, how: str) -> float:
    scaled = x * 4**200
    floor = Fraction(math.isqrt(scaled.numerator // scaled.denominator), 2**200)
    exact = floor if floor * floor == x else floor + Fraction(1, 2**210)
    return as_float(exact, how)


def test_other_math_functions_match_numpy(target, cache, tmp_path):
    text = calls("singles", "float, float", "float", [
        "__tanhf(a)", "[&] { float s, c; sincos(a, &s, &c); return s; }()",
        "[&] { float s, c; sincospi(a, &s, &c); return c; }()", "float(fdivide(double(a), double(b)))",
        "float(umin(unsigned(a), 3u)) + float(llmax(-5ll, (long long)a))",
    ])  # fmt: skip
    text += (
        'extern "C" __global__ void pauses(const float* x, float* o) { __nanosleep(9); if (*x < 0) __trap(); *o = 1; }'
    )
    code = program(tmp_path, text, target, cache)
    a = np.linspace(0, 6, N).astype(np.float32)
    b = np.linspace(1, 2, N).astype(np.float32)
    got = code.run("singles", np.zeros((5, N), np.float32), a, b)
    expected = [np.tanh(a), np.sin(a), np.cos(a * np.float32(np.pi)), a / b, np.minimum(a // 1, 3) + a // 1]
    np.testing.assert_allclose(got, np.array(expected), rtol=3e-6, atol=3e-6)


# --- 8-bit floats -----------------------------------------------------------------------------------------------------

F8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("which", F8)
def test_8_bit_floats_match_ocp_specification(target, cache, tmp_path, which):
    name, kind, form = f"__nv_fp8_{which}", F8[which], f"__NV_{which.upper()}"
    largest = float(ml_dtypes.finfo(kind).max)
    text = calls("widen", name, "float", ["float(a)", "__half2float(__half(a))", "__bfloat162float(__nv_bfloat16(a))",
        "float(double(a))", f"__half2float(__half(__nv_cvt_fp8_to_halfraw(a.__x, {form})))"])  # fmt: skip
    narrowed = f"__nv_cvt_float_to_fp8(a, __NV_SATFINITE, {form})", f"__nv_cvt_float_to_fp8(a, __NV_NOSAT, {form})"
    text += calls("narrow", "float", "unsigned char", [f"{name}(a).__x", *narrowed, f"{name}(double(a)).__x"])
    text += calls("narrow_half", "__half", "unsigned char", [f"{name}(a).__x"])
    text += calls("narrow_bfloat16", "__nv_bfloat16", "unsigned char", [f"{name}(a).__x"])
    text += calls(
        "integers", name, "int", ["int(a)", "(unsigned char)(a)", "(signed char)(a)", "bool(a)", "int(short(a))"]
    )
    text += calls("two", "float2", "float2", [f"float2(__nv_fp8x2_{which}(a))"])
    text += calls("four", "float4", "float4", [f"float4(__nv_fp8x4_{which}(a))"])
    text += calls(
        "doubles", "double", "unsigned char", [f"{name}(a).__x", f"__nv_cvt_double_to_fp8(a, __NV_NOSAT, {form})"]
    )
    code = program(tmp_path, INCLUDES + text, target, cache)

    every = np.arange(256, dtype=np.uint8)
    wide = every.view(kind).astype(np.float32)
    for row in code.run("widen", np.zeros((5, 256), np.float32), every):
        np.testing.assert_array_equal(row, wide)
        number = ~np.isnan(wide)
        np.testing.assert_array_equal(np.signbit(row)[number], np.signbit(wide)[number])
    trunc = np.nan_to_num(np.trunc(wide.astype(np.float64)), nan=0, posinf=1e30, neginf=-1e30)
    got = code.run("integers", np.zeros((5, 256), np.int32), every)
    limits = [(-(2**31), 2**31 - 1), (0, 255), (-128, 127), (None, None), (-(2**15), 2**15 - 1)]
    for row, (low, high) in zip(got, limits, strict=True):
        wanted = np.clip(trunc, low, high) if high else wide != 0
        assert row.tolist() == [int(v) for v in wanted]

    # All values and midpoints, the floats next to them, and values beyond the range.
    values = np.unique(wide[np.isfinite(wide)])
    middles = (values[1:] + values[:-1]) / 2
    around = np.concatenate([values, middles])
    edge = np.array([largest * 2, 464, 480, 61440, 65536, np.inf, -np.inf, np.nan, -np.nan, 1e-30, -1e-30], np.float32)
    dense = np.concatenate(
        [around, np.nextafter(around, np.float32(1e9)), np.nextafter(around, np.float32(-1e9)), edge]
    )
    dense = np.resize(dense.astype(np.float32), -(-len(dense) // THREADS) * THREADS)
    clipped = np.clip(dense, -largest, largest).astype(kind).view(np.uint8)
    clipped[np.isnan(dense)] = 0x7F
    with np.errstate(all="ignore"):
        plain = dense.astype(kind).view(np.uint8)
    plain[np.isnan(dense)] = 0x7F
    got = code.run("narrow", np.zeros((4, len(dense)), np.uint8), dense)
    number = ~np.isnan(dense)
    assert got[0].tolist() == got[1].tolist() == clipped.tolist()
    assert got[2].tolist() == plain.tolist()
    assert got[3][number].tolist() == clipped[number].tolist()
    for kernel, source in (("narrow_half", np.float16), ("narrow_bfloat16", BF16)):
        x = np.arange(1 << 16, dtype=np.uint16)
        number = x.view(source).astype(np.float32)
        wanted = np.clip(number, -largest, largest).astype(kind).view(np.uint8)
        wanted[np.isnan(number)] = 0x7F
        np.testing.assert_array_equal(code.run(kernel, np.zeros(1 << 16, np.uint8), x), wanted)
    # Doubles that a conversion to float would round to a midpoint.
    fine = np.resize(
        np.concatenate([m.astype(np.float64) * (1 + s * 2.0**-40) for m in [middles] for s in (-1, 1)]), 512
    )
    exact = [float(values[np.argmin(abs(values.astype(np.float64) - v))]) for v in fine]
    got = code.run("doubles", np.zeros((2, 512), np.uint8), fine)
    for row in got:
        assert row.view(kind).astype(np.float64).tolist() == exact
    x = np.resize(dense[np.isfinite(dense)], 4 * THREADS)
    wanted = np.clip(x, -largest, largest).astype(kind).astype(np.float32)
    np.testing.assert_array_equal(code.run("two", np.zeros(len(x), np.float32), x.view(np.uint64)), wanted)
    np.testing.assert_array_equal(code.run("four", np.zeros(len(x), np.float32), x.reshape(-1, 4)), wanted)


# --- atomics of 16 bits, cache hints, C++ library, groups -------------------------------------------------------------

OTHERS = (
    INCLUDES
    + """
#include <cuda/std/limits>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
extern "C" __global__ void add_half(const __half* x, __half* out) { atomicAdd(out + threadIdx.x % 3, x[threadIdx.x]); }
extern "C" __global__ void add_bfloat16(const __nv_bfloat16* x, __nv_bfloat16* out) {
    atomicAdd(out + threadIdx.x % 3, x[threadIdx.x]);
}
extern "C" __global__ void add_half2(const __half2* x, __half2* out) { atomicAdd(out, x[threadIdx.x]); }
extern "C" __global__ void add_bfloat162(const __nv_bfloat162* x, __nv_bfloat162* out) {
    atomicAdd(out, x[threadIdx.x]);
}
extern "C" __global__ void hints(const float4* x, float4* out) {
    const int t = threadIdx.x, n = blockDim.x;
    out[t] = __ldg(x + t);
    __stcs(out + n + t, __ldcs(x + t));
    __stcg(out + 2 * n + t, __ldcg(x + t));
    __stwb(out + 3 * n + t, __ldca(x + t));
    __stwt(out + 4 * n + t, __ldcv(x + t));
    __stcs((float*)(out + 5 * n + t), 0);
    __stcs((__half*)(out + 5 * n + t) + 2, __ldlu((const __half*)(x + t) + 2));
    __stcs((unsigned char*)(out + 5 * n + t) + 6, __ldcv((const unsigned char*)(x + t) + 6));
}
extern "C" __global__ void library(const float* x, float* out) {
    static_assert(cuda::std::is_same<cuda::std::remove_const_t<const int>, int>::value, "");
    const auto pair = cuda::std::make_tuple(x[threadIdx.x], 2.0f);
    out[threadIdx.x] = cuda::std::get<0>(pair) * cuda::std::get<1>(pair) + cuda::std::numeric_limits<float>::epsilon();
    if (threadIdx.x == 0) out[blockDim.x] = -cuda::std::numeric_limits<float>::infinity();
}
namespace cg = cooperative_groups;
extern "C" __global__ void groups(const int* x, int* out) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int v = x[threadIdx.x], n = blockDim.x, t = threadIdx.x;
    out[t] = cg::reduce(tile, v, cg::plus<int>());
    out[n + t] = cg::reduce(tile, v, cg::less<int>());
    out[2 * n + t] = cg::reduce(tile, v, cg::greater<int>());
    out[3 * n + t] = int(cg::reduce(tile, double(v), cg::plus<double>()));
    out[4 * n + t] = cg::inclusive_scan(tile, v);
    out[5 * n + t] = cg::exclusive_scan(tile, v, cg::plus<int>());
    out[6 * n + t] = cg::reduce(tile, v, [](int a, int b) { return a ^ b; });
}
extern "C" __global__ void tile_sum(const float* x, float* out) {
    out[threadIdx.x] = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), x[threadIdx.x], cg::plus<float>());
}
"""
)


@pytest.fixture(scope="module")
def others(target, cache, tmp_path_factory):
    return program(tmp_path_factory.mktemp("others"), OTHERS, target, cache)


@pytest.mark.parametrize(("name", "kind"), [("half", np.float16), ("bfloat16", BF16)])
def test_atomic_add_16_bit_sums_every_thread(others, name, kind):
    x = (np.arange(THREADS) % 4).astype(kind)  # every partial sum is exact
    got = others.run(f"add_{name}", np.array([1, 2, 3, 99], kind), x)
    assert got.astype(int).tolist() == [*(k + 1 + int(x[k::3].astype(int).sum()) for k in range(3)), 99]
    got = others.run(f"add_{name}2", np.array([1, 2], kind), np.stack([x, x[::-1]], 1).view(np.uint32).reshape(-1))
    assert got.astype(int).tolist() == [1 + int(x.astype(int).sum()), 2 + int(x.astype(int).sum())]


def test_cache_hints_preserve_values(others):
    x = np.random.default_rng(3).normal(size=(THREADS, 4)).astype(np.float32)
    got = others.run("hints", np.zeros((6, THREADS, 4), np.float32), x)
    for row in got[:5]:
        np.testing.assert_array_equal(row, x)
    np.testing.assert_array_equal(got[5][:, 0], 0)
    halves, bytes_ = got[5].view(np.uint16), got[5].view(np.uint8)
    np.testing.assert_array_equal(halves[:, 2], x.view(np.uint16)[:, 2])
    np.testing.assert_array_equal(bytes_[:, 6], x.view(np.uint8)[:, 6])


def test_cuda_std_library_matches_host_library(others):
    x = np.arange(THREADS, dtype=np.float32)
    got = others.run("library", np.zeros(THREADS + 1, np.float32), x)
    np.testing.assert_array_equal(got, np.append(x * 2 + np.finfo(np.float32).eps, -np.inf).astype(np.float32))


def test_tile_reduction_adds_in_order_of_cuda(others):
    x = np.random.default_rng(5).normal(size=THREADS).astype(np.float32)
    lanes, wanted = np.arange(THREADS), x
    for mask in (16, 8, 4, 2, 1):
        wanted = wanted + wanted[lanes ^ mask]
    np.testing.assert_array_equal(others.run("tile_sum", np.zeros(THREADS, np.float32), x), wanted)


def test_group_reductions_and_scans_match_numpy(others):
    x = np.random.default_rng(4).integers(-1000, 1000, THREADS).astype(np.int32)
    got = others.run("groups", np.zeros((7, THREADS), np.int32), x)
    tiles = x.reshape(-1, 16)
    sums = tiles.cumsum(1)
    every = [tiles.sum(1), tiles.min(1), tiles.max(1), tiles.sum(1)]
    for row, expected in zip(got, every, strict=False):
        np.testing.assert_array_equal(row, expected.repeat(16))
    np.testing.assert_array_equal(got[4], sums.reshape(-1))
    np.testing.assert_array_equal(got[5], (sums - tiles).reshape(-1))
    np.testing.assert_array_equal(got[6], np.bitwise_xor.reduce(tiles, 1).repeat(16))


# --- functions that the source defines -------------------------------------------------------------------------------

OWN = (
    INCLUDES
    + """
__device__ int __dp4a(int a, int b, int c) { return 4; }
static __device__ __forceinline__ unsigned __vadd4(unsigned a, unsigned b) { return 5; }
static __device__ __forceinline__ int __vsubss4(const int a, const int b) { return 6; }
__device__ __nv_bfloat162 __hmax2_nan(__nv_bfloat162 a, __nv_bfloat162 b) { return a; }
__device__ __nv_bfloat16 __hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) { return b; }
__device__ __half atomicAdd(__half* address, __half value) { return value; }
__device__ unsigned short atomicCAS(unsigned short* address, unsigned short a, unsigned short b) { return 7; }
template <typename T> __device__ T __shfl_xor_sync(unsigned mask, T v, int lane, int width = 32) { return v + 1; }
__device__ int __shfl_sync(unsigned mask, int v, int lane, int width = 32) { return 8; }
template <typename T> __device__ T __ldcs(const T* p) { return *p + 1; }
#define __ldcg(p) (*(p) + 2)
extern "C" __global__ void own(const int* x, int* out) {
    __half h = __half(1.0f);
    unsigned short s = 0;
    out[0] = __dp4a(x[0], x[1], x[2]);
    out[1] = int(__vadd4(1u, 2u));
    out[2] = __vsubss4(x[0], x[1]);
    out[3] = int(__low2float(__hmax2_nan(__nv_bfloat162(9.0f, 1.0f), __nv_bfloat162(10.0f, 1.0f))));
    out[4] = int(__bfloat162float(__hmax_nan(__float2bfloat16(1.0f), __float2bfloat16(10.0f))));
    out[5] = int(float(atomicAdd(&h, __half(11.0f))));
    out[6] = atomicCAS(&s, 1, 2);
    out[7] = __shfl_xor_sync(0xffffffffu, 11, 1);
    out[8] = __shfl_sync(0xffffffffu, 1, 1);
    out[9] = __ldcs(x) + __ldcg(x);
    out[10] = int(__vadd2(1u, 2u));  // from the compatibility header
}
"""
)


CONSTANTS = {
    "INF": 0x7C00,
    "NAN": 0x7FFF,
    "MIN_DENORM": 0x0001,
    "MAX_NORMAL": 0x7BFF,
    "NEG_ZERO": 0x8000,
    "ZERO": 0x0000,
    "ONE": 0x3C00,
}


def test_half_constants_have_documented_bits(tmp_path, cache):
    lines = (f"put(y + {i}, CUDART_{name}_FP16);\n" for i, name in enumerate(CONSTANTS))
    text = f"""{INCLUDES}template <typename T> const T most = T();
template <> const __half most<__half>{{CUDART_MAX_NORMAL_FP16}};
__device__ void put(unsigned short* y, __half x) {{ *y = *(const unsigned short*)&x; }}
extern "C" __global__ void k(const int* x, unsigned short* y) {{
{"".join(lines)}
}}
"""
    kernels = program(tmp_path, text, "gfx1100", cache)
    found = kernels.run("k", np.zeros(len(CONSTANTS), np.uint16), np.zeros(1, np.int32), block=1)
    assert found.tolist() == list(CONSTANTS.values())


def test_functions_defined_by_source_take_precedence(target, cache, tmp_path):
    code = program(tmp_path, OWN, target, cache)
    got = code.run("own", np.zeros(11, np.int32), np.full(THREADS, 20, np.int32))
    assert got.tolist() == [4, 5, 6, 9, 10, 11, 7, 12, 8, 43, 3]


def test_port_that_includes_compat_header_compiles(target, cache, tmp_path):
    (tmp_path / "port.hip").write_text(
        "#include <hip/hip_runtime.h>\n#include <parity/compat/simd.h>\n"
        "__global__ void k(unsigned* out) { *out = __vadd4(1, 2); }\n"
    )
    from parity.build.modules import build

    (built,) = build(tmp_path, ["port"], [target], cache=cache)
    assert built.error is None, built.error
    assert not built.changes.needs  # a HIP source is compiled without forced headers


def test_every_header_in_table_exists():
    from parity.compilers.include import COMPAT

    headers = {row.header for rows in compat.rules().values() for row in rows if row.header}
    assert all((COMPAT / header).is_file() for header in headers)
