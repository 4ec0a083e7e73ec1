"""Compare instruction families with NumPy and gmpy2, including special bit patterns."""

import gmpy2
import numpy as np
import pytest

RNG = np.random.default_rng(7)
WORD = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def patterns(dtype, n=4000):
    """Return random bit patterns and all pairs of the edges of the format."""
    dtype = np.dtype(dtype)
    bits = RNG.integers(0, 2 ** (8 * dtype.itemsize), n, dtype=np.uint64).astype(WORD[dtype.itemsize])
    info = np.finfo(dtype)
    edges = [
        0,
        info.smallest_subnormal,
        info.tiny,
        info.tiny - info.smallest_subnormal,
        1,
        1 + info.eps,
        1.5,
        2,
        3,
        info.max,
    ]
    edges = np.array([*edges, *(-np.array(edges)), np.inf, -np.inf, np.nan], dtype)
    return np.concatenate([bits.view(dtype), RNG.standard_normal(n).astype(dtype), edges]), edges


def pairs(dtype):
    x, edges = patterns(dtype)
    grid = np.meshgrid(edges, edges)
    return np.concatenate([x, grid[0].ravel()]), np.concatenate([RNG.permutation(x), grid[1].ravel()])


def same(got, want):
    word = WORD[got.dtype.itemsize]
    equal = (got.view(word) == want.view(word)) | (np.isnan(got) & np.isnan(want))
    bad = np.flatnonzero(~equal)
    assert not bad.size, f"{bad.size} differ, first {bad[0]}: {got[bad[0]]!r} instead of {want[bad[0]]!r}"


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.thorough
@pytest.mark.parametrize(("kernel", "dtype"), [("div_f32", np.float32), ("div_f64", np.float64)])
def test_division_is_correctly_rounded(run, kernel, dtype):
    a, b = pairs(dtype)
    same(run(kernel, a, b, out=dtype), a / b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_division_with_subnormal_quotient_is_correctly_rounded(run, dtype):
    info = np.finfo(dtype)
    a = (RNG.uniform(1, 2, 5000) * info.tiny * 4).astype(dtype)
    b = np.ldexp(RNG.uniform(1, 2, 5000), RNG.integers(0, info.nmant + 4, 5000)).astype(dtype)
    same(run("div_f32" if dtype == np.float32 else "div_f64", a, b, out=dtype), a / b)


@pytest.mark.parametrize(("kernel", "dtype"), [("sqrt_f32", np.float32), ("sqrt_f64", np.float64)])
def test_square_root_is_correctly_rounded(run, kernel, dtype):
    x, _ = patterns(dtype)
    same(run(kernel, x, out=dtype), np.sqrt(x))


def test_addition_equals_numpy(run):
    a, b = pairs(np.float32)
    same(run("add_f32", a, b, out=np.float32), a + b)


def test_maximum_of_number_and_nan_is_number(run):
    a, b = pairs(np.float32)
    got = run("max_f32", a, b, out=np.float32)
    assert np.array_equal(got, np.fmax(a, b), equal_nan=True)


def test_f16_multiplication_and_fma_round_once(run):
    a, b = pairs(np.float16)
    same(run("mul_f16", a, b, out=np.float16), a * b)
    got, bound = run("fma_f16", a, b, out=np.float16), np.isfinite(a) & np.isfinite(b)
    with gmpy2.context(precision=11, emin=-23, emax=16, subnormalize=True):
        want = np.array(
            [
                float(gmpy2.fma(gmpy2.mpfr(float(p)), float(q), float(q)))
                for p, q in zip(a[bound], b[bound], strict=True)
            ]
        )
    assert np.array_equal(got[bound].astype(float), want)


@pytest.mark.parametrize(
    ("kernel", "source", "target"),
    [
        ("half_of_double", np.float64, np.float16),
        ("half_of_float", np.float32, np.float16),
        ("float_of_half", np.float16, np.float32),
        ("float_of_double", np.float64, np.float32),
    ],
)
def test_float_conversions_equal_numpy(run, kernel, source, target):
    x, _ = patterns(source)
    if source == np.float64:
        x = np.concatenate([x, np.ldexp(RNG.standard_normal(4000), RNG.integers(-30, 20, 4000))])
    same(run(kernel, x, out=target), x.astype(target))


def test_integer_conversions_equal_numpy(run):
    i = RNG.integers(-(2**63), 2**63 - 1, 3000) >> RNG.integers(0, 63, 3000)
    same(run("float_of_i64", i, out=np.float32), i.astype(np.float32))
    same(run("double_of_i64", i, out=np.float64), i.astype(np.float64))
    f = np.ldexp(RNG.standard_normal(3000), RNG.integers(-5, 60, 3000)).astype(np.float32)
    assert np.array_equal(run("i64_of_float", f, out=np.int64), f.astype(np.int64))


def test_float_to_integer_saturates_and_maps_nan_to_zero(run):
    x = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 2**31 - 0.5, -(2**31) - 0.9, -1.9, 1.9])
    high, low = 2**31 - 1, -(2**31)
    assert run("i32_of_double", x, out=np.int32).tolist() == [0, high, low, high, low, high, low, -1, 1]


def test_integer_division_and_shifts_equal_numpy(run):
    a = RNG.integers(-(2**63), 2**63 - 1, 3000) >> RNG.integers(0, 63, 3000)
    b = RNG.integers(-(2**63), 2**63 - 1, 3000) >> RNG.integers(0, 62, 3000)
    b[b == 0] = 3
    want = [
        int(p) // int(q) if (p < 0) == (q < 0) else -(abs(int(p)) // abs(int(q))) for p, q in zip(a, b, strict=True)
    ]
    assert run("div_i64", a, b, out=np.int64).tolist() == want
    u, v = a.view(np.uint64), b.view(np.uint64)
    assert np.array_equal(run("mod_u64", u, v, out=np.uint64), u % v)
    assert np.array_equal(run("shl_u64", u, v, out=np.uint64), u << (v & np.uint64(63)))
    w = RNG.integers(0, 2**32, 1000, dtype=np.uint32) >> RNG.integers(0, 31, 1000, dtype=np.uint32)
    assert run("clz_u32", w, out=np.int32).tolist() == [32 - int(x | 1).bit_length() for x in w]


def test_less_than_with_nan_is_false(run):
    a, b = pairs(np.float64)
    assert np.array_equal(run("less_f64", a, b, out=np.uint8).astype(bool), a < b)


@pytest.mark.parametrize(
    ("kernel", "dtype", "low", "high", "exact"),
    [
        ("exp_f32", np.float32, -87, 88, "exp"),
        ("exp_f64", np.float64, -708, 709, "exp"),
        ("log_f32", np.float32, 1e-30, 1e30, "log"),
        ("sin_f32", np.float32, -1e8, 1e8, "sin"),
        ("sin_f64", np.float64, -1e300, 1e300, "sin"),
    ],
)
def test_math_library_is_within_two_ulp(run, kernel, dtype, low, high, exact):
    x = RNG.uniform(low, high, 400).astype(dtype)
    got = run(kernel, x, out=dtype)
    with gmpy2.context(precision=120):
        want = [getattr(gmpy2, exact)(gmpy2.mpfr(float(v))) for v in x]
        ulps = [
            abs(float((gmpy2.mpfr(float(g)) - w) / float(np.spacing(dtype(abs(float(w)))))))
            for g, w in zip(got, want, strict=True)
        ]
    assert max(ulps) <= 2.0
