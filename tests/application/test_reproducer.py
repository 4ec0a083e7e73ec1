"""The C program of a reproducer judges every element like parity."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from parity.application.reproducer import render_template
from parity.application.reproducer_expectations import output_tables
from parity.compare.comparison import accepted_elements
from parity.compilers import rocm, zig
from parity.compilers.clang_flags import HIP_FLAGS
from parity.hip.hipcc import FLAGS
from parity.model.dtypes import NUMBERS, array_dtype
from parity.model.launch import Buffer
from parity.model.layout import contiguous
from parity.reference import Bounds, Expected
from parity.reference.sort import argsort_ascending

PROGRAM = """
static const long long shape[] = {{{shape}}}, strides[] = {{{strides}}};
static const char *const also[] = {{{also}0}}, *const divergences[] = {{{divergences}0}};
size_t wrong_of(const char *place, size_t count, const unsigned char *before, const unsigned char *after) {{
    static const struct result result = {{
        "out", {type}, 2, shape, strides, 0, 1, {interval:d}, {sorts:d}, also, divergences}};
    folder = place;
    return compare(&result, "hip", count, before, after);
}}
"""


@dataclass(frozen=True)
class Judge:
    """Runs the comparison of a reproducer's C program for one result."""

    call: object
    folder: bytes

    def wrong(self, got):
        """Return the number of wrong elements of a contiguous result."""
        data = np.ascontiguousarray(got)
        pointer = ctypes.c_char_p(data.tobytes())
        return self.call(self.folder, ctypes.c_size_t(data.size), pointer, pointer)


@pytest.fixture
def judge(tmp_path):
    """Return a function that compiles the comparison of a reproducer for an expected value."""

    def compiled(expected):
        value, kind = expected.value, array_dtype(expected.value)
        call = SimpleNamespace(outputs={"out": contiguous(value.shape)}, buffers={"out": Buffer(kind, value.ravel())})
        (result,), files = output_tables(call, {"out": expected}, ["hip"])
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        lists = {what: "".join(f'".{each}", ' for each in result[what]) for what in ("also", "divergences")}
        sizes = {what: ", ".join(map(str, result[what])) for what in ("shape", "strides")}
        text = render_template("reproduce.h.j2", most=4, poison="0xA5").decode()
        (tmp_path / "judge.c").write_text(text + PROGRAM.format(**{**result, **lists, **sizes}))
        made = zig.run(
            [
                "cc",
                "-shared",
                "-fPIC",
                "-O1",  # without optimization, zig adds a sanitizer
                "-Wall",
                "-Wno-unused-function",
                tmp_path / "judge.c",
                "-lm",
                "-o",
                tmp_path / "judge.so",
            ]
        )
        assert not made.returncode and not made.stderr, made.stderr
        found = ctypes.CDLL(str(tmp_path / "judge.so")).wrong_of
        found.restype = ctypes.c_size_t
        return Judge(found, bytes(tmp_path))

    return compiled


def values(name, count, seed):
    """Return random bit patterns of a type and special values."""
    kind = NUMBERS[name]
    found = np.random.default_rng(seed).integers(0, 256, count * kind.itemsize, np.uint8).view(kind.numpy)
    if kind.is_float:
        found[:8] = kind.convert([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, kind.max])
    return found.reshape(4, -1)


@pytest.mark.parametrize("name", ["f8_e4m3", "bf16", "f64", "i16", "u64"])
def test_program_and_parity_agree_on_every_element(judge, name):
    value, kind = values(name, 64, 1), NUMBERS[name]
    flags = np.random.default_rng(2).random((3, *value.shape)) < 0.3
    other = np.where(flags[0], values(name, 64, 3), value)
    bounds = None
    if kind.is_float:
        centre = value.astype(np.float64)
        size = np.where(np.isfinite(centre), np.abs(centre), 1)

        def bounds(limits):
            return Bounds(centre, 0.0, 0.2 * size, 0.05 * size + 0.01)

    expected = Expected(
        value, bounds, sign_of_zero=flags[1], nan_allowed=flags[2], divergences={"D14": other},
        alternatives=(values(name, 64, 4),), unspecified=np.arange(64).reshape(value.shape) % 7 == 3,
    )  # fmt: skip
    judged = judge(expected)
    near = value.view(kind.bits) + np.random.default_rng(5).integers(-2, 3, value.shape).astype(kind.bits)
    found = [value, other, values(name, 64, 4), values(name, 64, 6), near.view(value.dtype)]
    found += [np.where(flags[2], other, value)]
    if kind.is_float:
        found += [-value, np.where(flags[0], kind.convert(np.nan), value), kind.convert(0.9 * centre)]
    for got in found:
        with np.errstate(all="ignore"):
            right = accepted_elements(expected, got, "amd")
        assert judged.wrong(got) == (~right).sum()


def test_sort_program_accepts_any_order_of_equal_elements(judge):
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 4, (3, 9)).astype(np.float32)
    keys[1, 4] = np.nan
    expected = argsort_ascending(keys)
    judged = judge(expected)
    ties = np.lexsort((rng.random(keys.shape), keys)).astype(np.uint32)
    assert judged.wrong(ties) == 0 and not (ties == expected.value).all()
    for _ in range(20):
        got = expected.value.copy()
        got[:, rng.integers(9)] = rng.integers(0, 11)
        got[:, [0, 3]] = got[:, [3, 0]]
        assert judged.wrong(got) == (~expected.accepts(got)).sum()


def test_hipcc_flags_equal_flags_of_builds():
    assert set(FLAGS) <= {*HIP_FLAGS} & {*rocm.HIP_FLAGS}
