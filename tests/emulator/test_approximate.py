"""Approximate instructions: values from AMD's manuals, and the other results that a GPU may give."""

import csv
import math
from pathlib import Path

import gmpy2
import numpy as np
import pytest
from array_runs import Run

from parity.build.modules import build
from parity.emulator.amdgpu import approximate
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.isa import table_entries
from parity.emulator.approximate import ApproximateResults
from parity.platform.cache import Cache

HERE = Path(__file__).parent
FLOATS = {"f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64)}
# RDNA3 and CDNA4 instruction set architecture, VOP1: "Functional examples" of each instruction.
EXAMPLES = """
exp_f32 ff800000 00000000  80000000 3f800000  7f800000 7f800000
log_f32 ff800000 ffc00000  bf800000 ffc00000  80000000 ff800000  00000000 ff800000  3f800000 00000000  7f800000 7f800000
rcp_f32 ff800000 80000000  c0000000 bf000000  80000000 ff800000  00000000 7f800000  7f800000 00000000
rsq_f32 ff800000 ffc00000  80000000 ff800000  00000000 7f800000  40800000 3f000000  7f800000 00000000
sqrt_f32 ff800000 ffc00000  80000000 80000000  00000000 00000000  40800000 40000000  7f800000 7f800000
sin_f32 ff800000 ffc00000  ff7fffff 00000000  80000000 80000000  3e800000 3f800000  7f800000 ffc00000
cos_f32 ff800000 ffc00000  ff7fffff 3f800000  80000000 3f800000  3e800000 00000000  7f800000 ffc00000
rcp_f16 fc00 8000  c000 b800  8000 fc00  0000 7c00  7c00 0000
sqrt_f16 fc00 fe00  8000 8000  0000 0000  4400 4000  7c00 7c00
rsq_f16 fc00 fe00  8000 fc00  0000 7c00  4400 3800  7c00 0000
log_f16 fc00 fe00  bc00 fe00  8000 fc00  0000 fc00  3c00 0000  7c00 7c00
exp_f16 fc00 0000  8000 3c00  7c00 7c00
sin_f16 fc00 fe00  fbff 0000  8000 8000  3400 3c00  7bff 0000  7c00 fe00
cos_f16 fc00 fe00  fbff 3c00  8000 3c00  3400 0000  7bff 3c00  7c00 fe00
"""
FUNCTIONS = [line.split()[0] for line in EXAMPLES.split("\n") if line]


@pytest.fixture(scope="module")
def code(cache):
    (built,) = build(HERE / "kernels", ["approximate"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    AmdgpuDevice(cache=cache, traced=True).prepare(built.code_object)
    return built.code_object


@pytest.fixture
def run(code, cache):
    return Run(AmdgpuDevice(cache=cache, traced=True), code)


def bits_of(run, function, operands):
    """Return the result of an instruction, with operands and result as bits."""
    floats, words = FLOATS[function[-3:]]
    given = np.array(operands, words)
    return run(function, given.view(floats), out=floats).view(words)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_approximate_function_matches_examples_of_manuals(run, function):
    line = next(line for line in EXAMPLES.split("\n") if line.startswith(function + " "))
    words = [int(word, 16) for word in line.split()[1:]]
    got = bits_of(run, function, words[::2])
    assert [f"{word:x}" for word in got] == [f"{word:x}" for word in words[1::2]]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_approximate_function_of_nan_quiets_and_keeps_payload(run, function):
    nans = [0x7C05, 0xFE0A] if function.endswith("f16") else [0x7FA12345, 0xFFC00777]
    quiet = 0x200 if function.endswith("f16") else 0x400000
    assert list(bits_of(run, function, nans)) == [nan | quiet for nan in nans]


def test_sine_and_cosine_do_not_flush_subnormal_numbers(run):
    tiny = np.array([0x1, 0x400000, 0x80000123], np.uint32)
    sines = bits_of(run, "sin_f32", tiny).view(np.float32).astype(float)
    assert sines == pytest.approx(tiny.view(np.float32).astype(float) * 2 * math.pi, abs=2.0**-149)
    assert list(bits_of(run, "cos_f32", tiny)) == [0x3F800000] * 3
    assert bits_of(run, "log_f32", tiny[:1])[0] == 0xFF800000


def test_quotient_next_to_smallest_subnormal_is_correctly_rounded(run):
    """Half of the smallest subnormal rounds to 0: v_div_scale_f32 must not scale what v_div_fmas_f32 scales back."""
    x, y = (np.array([float.fromhex(text)], np.float32) for text in ("0x1.fffffep-25", "0x1.fffffep+125"))
    assert run("quotient_f32", x, y, out=np.float32).tolist() == [0]
    rng = np.random.default_rng(5)
    for kernel, dtype, bottom, top in (
        ("quotient_f32", np.float32, -150, 126),
        ("quotient_f64", np.float64, -1075, 1022),
    ):
        count = 40_000
        fractions = 1 + rng.integers(0, 1 << 23, (2, count)) * 2.0**-23
        # at least half of the quotients divide equal fractions
        fractions[1] = np.where(rng.random(count) < 0.5, fractions[0], fractions[1])
        powers = rng.integers(-(top // 2), top, count)
        numerators = np.ldexp(fractions[0], np.clip(powers + bottom + rng.integers(-2, 30, count), bottom + 24, top))
        x, y = numerators.astype(dtype), np.ldexp(fractions[1], powers).astype(dtype)
        with np.errstate(all="ignore"):
            want = x / y
        got = run(kernel, x, y, out=dtype)
        wrong = np.flatnonzero(got != want)
        assert not wrong.size, f"{wrong.size} wrong: {x[wrong[0]]!r} / {y[wrong[0]]!r} gave {got[wrong[0]]!r}"


# --- results that are not the nearest numbers ------------------------------------------------------------------------

# Captured from gfx1100 and gfx1201 by AMD: ROCm/rocm-systems, emulation/rocjitsu, tests/transcendental_test.cpp.
CAPTURED = """
rcp_f32 3f800000 3f800000  3f800001 3f7ffffe  3f81ffff 3f7c0fc3  3f820000 3f7c0fc1  3f83ffff 3f783e12  3f840000 3f783e10
rcp_f32 3fc00000 3f2aaaaa  3fffffff 3f000001  3f802922 3f7fadd6  3f932edd 3f5ea262  3fb0333c 3f39f868  3ffff486 3f0005be
rcp_f32 00800000 7e800000  7f000000 00000000  00000001 7f800000  7fa12345 7fe12345  bfc00000 bf2aaaaa
rsq_f32 3f800001 3f7fffff  3f83ffff 3f7c1765  3f840000 3f7c1764  3f8040c4 3f7fbf55  3f80cab3 3f7f363d  3fbfffff 3f5105ec
rsq_f32 3fffffff 3f3504f3  40000000 3f3504f3  40000001 3f3504f2  4003ffff 3f32416a  403fffff 3f13cd3b  407fffff 3f000000
sqrt_f32 3f7a2707 3f7d0f30  3f800001 3f800000  3f800005 3f800002  3f80005f 3f800030  3f8015ee 3f800af7
sqrt_f32 3f823902 3f811b48  4006e699 3fb9d5ba  00800001 20000000  00ffffff 203504f3  7e800001 5f000000
log_f32 3f000000 bf800000  3f7bffff bcba1fa3  3f7c0000 bcba1f74  3f7dffec bc396b23  3f7e0000 bc3963dd  3f7ffffd b48a7fae
log_f32 3f800001 3438aa3b  3f800043 37415204  3f80ffff 3c37f1ce  3f810000 3c37f286  3f83ffff 3d35d66f  3f860001 3d8759db
exp_f32 337fffff 3f800000  b3800000 3f7fffff  42ffffff 7f7fffa7  c2fc0000 00800000  c2fc0001 00000000  3f0567ec 3fb7b03d
exp_f32 c114ed44 3acecc1e  35500000 3f800004  3e000090 3f8b95d0  3ec0001a 3fa5fedc  3f20002a 3fc56740  3f600022 3feac0dc
"""
EXACT = {
    "rcp": lambda x: 1 / x,
    "rsq": gmpy2.rec_sqrt,
    "sqrt": gmpy2.sqrt,
    "exp": gmpy2.exp2,
    "log": gmpy2.log2,
}
INEXACT = [
    f"{function}_{kind}"
    for kind in FLOATS
    for function in EXACT
    if (function, kind) not in {("exp", "f64"), ("log", "f64")}
]
DRAWS = [(ApproximateResults.GFX1100, 0), (ApproximateResults.DOCUMENTED, 1), (ApproximateResults.DOCUMENTED, 2)]


def operands(function, count=3000):
    """Return positive numbers from the whole range with normal results, and all numbers close to 1."""
    rng = np.random.default_rng(9)
    floats, _ = FLOATS[function[-3:]]
    top = {"f16": 14, "f32": 125, "f64": 1000}[function[-3:]]
    near = 1 + rng.integers(-500, 500, count // 4) * 2.0 ** (-10 if floats == np.float16 else -23)
    if function.startswith("exp"):
        return np.concatenate([rng.uniform(-top, top, count), near]).astype(floats)
    return np.concatenate([np.ldexp(rng.uniform(1, 2, count), rng.integers(-top, top, count)), near]).astype(floats)


@pytest.mark.parametrize("line", CAPTURED.strip().split("\n"), ids=lambda line: line[:16])
def test_gfx1100_approximate_results_match_captured_results(run, line):
    function, *words = line.split()
    numbers = [int(word, 16) for word in words]
    given = np.array(numbers[::2], np.uint32).view(np.float32)
    got = run(function, given, out=np.float32, results=ApproximateResults.GFX1100).view(np.uint32)
    assert [f"{word:08x}" for word in got] == words[1::2]


@pytest.mark.parametrize("function", INEXACT)
@pytest.mark.parametrize(("results", "draw"), DRAWS)
def test_approximate_results_are_within_documented_error(run, function, results, draw):
    x = operands(function)
    got = run(function, x, out=x.dtype, results=results, draw=draw)
    nearest = run(function, x, out=x.dtype)
    allowed = documented(function, 11)
    with gmpy2.context(precision=200):
        for a, r, n in zip(x.tolist(), got.tolist(), nearest.tolist(), strict=True):
            exact = EXACT[function[:-4]](gmpy2.mpfr(a))
            ulp = np.spacing(x.dtype.type(abs(float(exact))))
            error = float(abs(gmpy2.mpfr(r) - exact)) / float(ulp)
            assert error <= allowed * (1 + 1e-9), f"{function}({a!r}) gave {r!r}, {error} ULP away; nearest is {n!r}"
    assert np.any(got != nearest) or function.endswith("f16")


def documented(function, generation):
    rows = csv.DictReader((Path(approximate.__file__).parent / "approximate.csv").open())
    (row,) = (r for r in rows if r["instruction"] == f"v_{function}" and str(generation) in r["generations"].split())
    return float(row["ulps"])


def test_drawn_result_is_either_neighbour_and_repeats_for_same_operand(run):
    x = np.repeat(operands("rcp_f32", 500), 2)
    nearest = run("rcp_f32", x, out=np.float32)
    one, again, other = (
        run("rcp_f32", x, out=np.float32, results=ApproximateResults.DOCUMENTED, draw=draw) for draw in (5, 5, 6)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.array_equal(one[::2], one[1::2])
    assert 0.3 < np.mean(one != nearest) < 0.7


@pytest.mark.thorough
def test_drawn_results_apply_in_separately_compiled_functions(code, tmp_path):
    cache = Cache(tmp_path)
    AmdgpuDevice(cache=cache, traced=True).prepare(code, ["sqrt_f32"])  # most steps of rcp_f32, and not v_rcp_f32
    run, x = Run(AmdgpuDevice(cache=cache, traced=True), code), operands("rcp_f32", 500)
    drawn = run("rcp_f32", x, out=np.float32, results=ApproximateResults.DOCUMENTED, draw=5)
    assert np.any(drawn != run("rcp_f32", x, out=np.float32))


def test_division_and_root_with_drawn_results_are_correctly_rounded(run):
    """AMD documents correct rounding for division and reciprocal, although their instructions have errors."""
    rng = np.random.default_rng(4)
    for kind in ("f32", "f64"):
        floats, words = FLOATS[kind]
        bits, one = (23, 0x3F800000) if kind == "f32" else (52, 0x3FF0000000000000)
        fractions = rng.integers(0, 1 << bits, (2, 6000), dtype=np.uint64)
        fractions[:, ::3] = (1 << bits) - 1 - rng.integers(0, 3, (2, 2000), dtype=np.uint64)
        x, y = (fractions.astype(words) | words(one)).view(floats)
        for results, draw in DRAWS:
            options = {"out": floats, "results": results, "draw": draw}
            assert np.array_equal(run(f"quotient_{kind}", x, y, **options), x / y)
            assert np.array_equal(run(f"reciprocal_{kind}", y, **options), 1 / y)
            assert np.array_equal(run(f"root_{kind}", x, **options), np.sqrt(x))


def test_division_by_fraction_of_all_ones_needs_nearest_reciprocal(run, monkeypatch):
    """AMD's GPUs give the nearest number for a fraction of all ones; the table gives the reason."""
    rows = approximate.documented_errors(11)
    for kind, words, ones, other in (
        ("f32", np.uint32, 0x3FFFFFFF, 0x3FFFFFFE),
        ("f64", np.uint64, 0x3FFFFFFFFFFFFFFF, 0x3FFFFFFFFFFFFFFE),
    ):
        floats = FLOATS[kind][0]
        x = np.array([ones, other], words).view(floats)
        number = ("f16", "f32", "f64").index(kind)
        wrong = np.zeros(2, bool)
        monkeypatch.setattr(rows[number], "all_ones", 0)
        for draw in range(8):
            wrong |= run(f"reciprocal_{kind}", x, out=floats, results=ApproximateResults.DOCUMENTED, draw=draw) != 1 / x
        assert wrong.tolist() == [True, False]
        rows[number].all_ones = 1


def test_error_table_has_every_approximate_instruction():
    rows = list(csv.DictReader((Path(approximate.__file__).parent / "approximate.csv").open()))
    named = {row["instruction"] for row in rows}
    assert named == {
        e for e in table_entries() if e.startswith(("v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos"))
    }
    for name in named:
        generations = [g for row in rows if row["instruction"] == name for g in row["generations"].split()]
        assert sorted(generations, key=int) == ["9", "10", "11", "12"], name
    assert all("ISA" in row["source"] for row in rows)
    assert all(approximate.APPROXIMATE.search(row["instruction"]) for row in rows if row["ulps"])
