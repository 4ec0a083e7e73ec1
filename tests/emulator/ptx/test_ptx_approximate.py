"""Approximate PTX instructions match an H200 bit for bit, and the errors in their table are correct."""

import csv
import ctypes
import math
import zlib
from pathlib import Path

import numpy as np
import pytest
from sweep import Recording, differences, forms, operands

from parity.compilers import zig
from parity.emulator import jit
from parity.emulator.jit import host_features
from parity.platform.cache import digest

HERE, EMULATOR = Path(__file__).parent, Path(jit.__file__).parent
RUNTIME = EMULATOR / "runtime"
FLAGS = "-x c++ -std=c++20 -O2 -fPIC -ffreestanding -nostdinc -ffp-contract=off -fno-math-errno -fno-strict-aliasing -w"
CHUNK, LOWER = 1 << 20, 2654435761  # as in record_approximate.py
EXACT = {
    "rcp": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "div": np.divide,
}
CHECKSUMS = np.load(HERE / "approximate.npz")
ROWS = list(csv.DictReader((EMULATOR / "ptx" / "approximate.csv").open(encoding="utf-8")))
FORMS = [form for form in forms() if {"approx", "full"} & set(form.text.split()[0].split("."))]
DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
HALF = ("f16", "bf16")


@pytest.fixture(scope="session")
def library(cache):
    """The functions of ``approximate.cpp``."""
    sources = [HERE / "approximate.cpp", RUNTIME / "ptx_approximate.h", RUNTIME / "lanes.h"]
    features = host_features()
    key = digest("approximate instructions of PTX", features, zig.version(), *(path.read_bytes() for path in sources))

    def build(folder):
        machine = [] if features == "aarch64" else ["-march=native"]
        flags = [*FLAGS.split(), *machine, "-Xclang", "-ffloat16-excess-precision=none", "-I", RUNTIME]
        for arguments in (
            ["clang", *flags, "-c", sources[0], "-o", folder / "approximate.o"],
            ["ld.lld", "-shared", folder / "approximate.o", "-o", folder / "approximate.so"],
        ):
            done = zig.run(arguments)
            assert done.returncode == 0, done.stderr

    folder, _ = cache.get(key, build)
    return ctypes.CDLL(str(folder / "approximate.so"))


def run(library, instruction, x, y=None):
    """Run an instruction on operands given as bits. Their number must be a multiple of 32."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(x if y is None else y)
    results = np.empty_like(x)
    function = getattr(library, instruction.replace(".", "_"))
    function(ctypes.c_uint64(x.size), *(ctypes.c_void_p(array.ctypes.data) for array in (x, y, results)))
    return results


@pytest.mark.parametrize("instruction", CHECKSUMS.files)
def test_sampled_results_match_h200(library, instruction):
    recorded = CHECKSUMS[instruction]
    # A power of two has 8 chunks. Includes the chunks at the ends and at 1, and some further chunks.
    chosen = {0, 0x3F8, 0x3FF, 0x400, 0x7F8, 0xBF8, *range(5, len(recorded), 579)}
    wrong = [k for k in sorted(chosen) if k < len(recorded) and checksum(library, instruction, k) != recorded[k]]
    assert not wrong, f"{instruction} differs for operands from {[hex(k * CHUNK) for k in wrong]} on"


def checksum(library, instruction, chunk):
    if instruction.endswith(HALF):
        return zlib.crc32(run(library, instruction, np.arange(1 << 16, dtype=np.uint16)))
    x = np.arange(chunk * CHUNK, (chunk + 1) * CHUNK, dtype=np.uint64)
    if instruction.endswith("f64"):
        words = run(library, instruction, x << np.uint64(32) | x * np.uint64(LOWER) & np.uint64(0xFFFFFFFF))
        return zlib.crc32((words >> np.uint64(32) | words).astype(np.uint32))
    return zlib.crc32(run(library, instruction, x.astype(np.uint32)))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.instruction)
def test_approximate_forms_of_sweep_match_h200(library, form):
    recorded = Recording.load(HERE / "recorded.npz").of_forms(forms())
    given = [operands(kind, position) for position, kind in enumerate(form.sources)]
    pairs = form.sources[0].endswith("x2")
    words = [array.view(np.uint16) if pairs else array for array in given]
    got = run(library, form.instruction.removesuffix("x2"), *words).view(given[0].dtype)
    ((sample, checksums),) = recorded[form.kernel]
    assert not differences(got, sample, checksums)


def test_table_has_error_of_every_approximate_form():
    assert {form.instruction.removesuffix("x2") for form in FORMS} == {row["instruction"] for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['instruction']} {row['where']}")
def test_errors_do_not_exceed_table(library, row):
    base, kind = row["instruction"].split(".")[0], row["instruction"].split(".")[-1]
    given = [numbers(row, position) for position in range(2 if base == "div" else 1)]
    words = run(library, row["instruction"], *(bits_of(x, kind) for x in given))
    got, values = value_of(words, kind), [value_of(bits_of(x, kind), kind) for x in given]
    exact = EXACT[base](*values)
    assert np.isfinite(got).all()
    scale = {"absolute": 1, "relative": np.abs(exact), "ulp": np.ldexp(1.0, np.frexp(exact)[1] - DIGITS[kind])}
    worst = float((np.abs(got - exact) / scale[row["error"]]).max())
    assert float(row["measured"]) / 20 < worst <= float(row["measured"])


def numbers(row, position):
    """Return operands in the range of a table row; only positive operands if others have NaN results."""
    rng = np.random.default_rng(position)
    ranges = {"0.5 to 2": (0.5, 2), "-2 pi to 2 pi": (-2 * math.pi, 2 * math.pi)}
    ranges |= {"-100 pi to 100 pi": (-100 * math.pi, 100 * math.pi)}
    if row["where"] in ranges or row["instruction"].startswith(("ex2", "tanh")):
        return rng.uniform(*ranges.get(row["where"], (-13.9, 13.9)), 1 << 16)
    found = np.ldexp(rng.uniform(1, 2, 1 << 16), rng.integers(-30, 30, 1 << 16))
    return np.where(found < 2, found / 4, found) if row["where"] == "elsewhere" else found


def bits_of(x, kind):
    if kind == "bf16":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(f"f{int(kind[1:]) // 8}").view(f"u{int(kind[1:]) // 8}")


def value_of(words, kind):
    if kind == "bf16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(np.longdouble)
    return words.view(f"f{words.itemsize}").astype(np.longdouble)


def test_table_names_errors_larger_than_documented():
    """Only cosine exceeds its bound, if the manual's bound includes both ends of the interval."""
    power = [row["documented"].removeprefix("2^") for row in ROWS]
    bounds = [
        2 ** float(p) if "^" in row["documented"] else float(p or "inf") for p, row in zip(power, ROWS, strict=True)
    ]
    # half a unit in the last place of the bound itself
    larger = [
        row["instruction"] for bound, row in zip(bounds, ROWS, strict=True) if float(row["measured"]) > bound * 1.001
    ]
    assert larger == ["cos.approx.f32", "cos.approx.ftz.f32"]
