"""Approximate instructions: what AMD's manuals say of single values, and what a GPU may give beside that."""

import functools
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import Run

from parity import emulator
from parity.toolchain import build

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
def approximate(cache):
    (built,) = build(HERE / "kernels", ["approximate"], ["gfx1100"], cache=cache)
    assert built.error is None, built.error
    emulator.Device(cache=cache, traced=True).prepare(built.code_object)
    return built.code_object


@pytest.fixture
def run(approximate, cache):
    return Run(emulator.Device(cache=cache, traced=True), approximate)


def bits_of(run, function, operands):
    """The bits that an instruction gives for operands given as bits."""
    floats, words = FLOATS[function[-3:]]
    given = np.array(operands, words)
    return run(function, given.view(floats), out=floats).view(words)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_functional_examples_of_the_manuals(run, function):
    line = next(line for line in EXAMPLES.split("\n") if line.startswith(function + " "))
    words = [int(word, 16) for word in line.split()[1:]]
    got = bits_of(run, function, words[::2])
    assert [f"{word:x}" for word in got] == [f"{word:x}" for word in words[1::2]]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_nan_keeps_its_payload_and_becomes_quiet(run, function):
    nans = [0x7C05, 0xFE0A] if function.endswith("f16") else [0x7FA12345, 0xFFC00777]
    quiet = 0x200 if function.endswith("f16") else 0x400000
    assert list(bits_of(run, function, nans)) == [nan | quiet for nan in nans]


def test_sine_and_cosine_do_not_flush_subnormal_numbers(run):
    tiny = np.array([0x1, 0x400000, 0x80000123], np.uint32)
    sines = bits_of(run, "sin_f32", tiny).view(np.float32).astype(float)
    assert sines == pytest.approx(tiny.view(np.float32).astype(float) * 2 * math.pi, abs=2.0**-149)
    assert list(bits_of(run, "cos_f32", tiny)) == [0x3F800000] * 3
    assert bits_of(run, "log_f32", tiny[:1])[0] == 0xFF800000


def test_quotients_next_to_the_smallest_subnormal_number(run):
    """Halfway between 0 and it is 0, not it: v_div_scale_f32 must not scale what v_div_fmas_f32 scales back."""
    x, y = (np.array([float.fromhex(text)], np.float32) for text in ("0x1.fffffep-25", "0x1.fffffep+125"))
    assert run("quotient_f32", x, y, out=np.float32).tolist() == [0]
    rng = np.random.default_rng(5)
    for kernel, dtype, bottom, top in (("quotient_f32", np.float32, -150, 126), ("quotient_f64", np.float64, -1075, 1022)):
        count = 40_000
        fractions = 1 + rng.integers(0, 1 << 23, (2, count)) * 2.0**-23
        # a fraction over itself, or over one that is twice as far away
        fractions[1] = np.where(rng.random(count) < 0.5, fractions[0], fractions[1])
        powers = rng.integers(-(top // 2), top, count)
        numerators = np.ldexp(fractions[0], np.clip(powers + bottom + rng.integers(-2, 30, count), bottom + 24, top))
        x, y = numerators.astype(dtype), np.ldexp(fractions[1], powers).astype(dtype)
        with np.errstate(all="ignore"):
            want = x / y
        got = run(kernel, x, y, out=dtype)
        wrong = np.flatnonzero(got != want)
        assert not wrong.size, f"{wrong.size} wrong: {x[wrong[0]]!r} / {y[wrong[0]]!r} gave {got[wrong[0]]!r}"
