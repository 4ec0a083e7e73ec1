r"""Runs every PTX instruction on deterministic operands: the forms, their operands, and a kernel for each form.

A row of ``forms.csv`` has several forms: ``<a|b>`` stands for one row with ``a`` and one with ``b``, and ``\1`` in the
other columns for the choice made in the first such place. A form is an instruction, the types of its results
(registers ``%d %e %f``) and of its sources (``%a %b %c %g``), and its operands as written (default: the results, then
the sources). ``[%m]`` is a memory cell that initially holds ``%a`` and is the last result. ``lanes`` is the mask of the
executing lanes; all other lanes keep 0.

A kernel runs a form on ``TUPLES`` tuples of operands, one per thread. This file only needs NumPy, because it also runs
on the machine with the GPU.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "BLOCK",
    "CHUNK",
    "SAMPLE",
    "TUPLES",
    "Form",
    "Recording",
    "Words",
    "differences",
    "dtype_of",
    "forms",
    "module",
    "operands",
]

TUPLES, BLOCK = 2048, 128
# A recorded result: its first values, and a checksum of each further chunk.
SAMPLE, CHUNK = 128, 96

Words = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Form:
    """An instruction with its modifiers and the types of its operands. ``kernel`` is the name of its kernel."""

    kernel: str
    instruction: str
    results: tuple[str, ...]
    sources: tuple[str, ...]
    operands: str
    lanes: str

    @property
    def base(self) -> str:
        """The instruction without modifiers."""
        return self.instruction.split(".")[0]

    @property
    def text(self) -> str:
        return f"{self.instruction} {self.operands}"

    def __str__(self) -> str:
        types = " ".join(self.sources) or "no sources"
        return f"{self.text} ({types})" + (f" in lanes {self.lanes}" if self.lanes else "")


# --- forms ---


def _expanded(row: dict[str, str]) -> Iterator[tuple[str, ...]]:
    columns = ("instruction", "operands", "lanes", "results", "sources")
    parts = re.split(r"<([^<>]*\|[^<>]*)>", "\t".join(row[c] for c in columns))
    choices = [part.split("|") for part in parts[1::2]]
    for chosen in product(*choices):
        text = "".join(a + b for a, b in zip(parts[::2], (*chosen, ""), strict=True))
        yield tuple(re.sub(r"\\(\d)", lambda m: chosen[int(m[1]) - 1].strip("."), text).split("\t"))  # noqa: B023


def forms() -> list[Form]:
    """Return all forms in the order of the table."""
    found: list[Form] = []
    with (Path(__file__).parent / "forms.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for instruction, given, lanes, results, sources in _expanded(row):
                outs, ins = (
                    tuple(r.split(".")[0] for r in results.split()),
                    tuple(s.split(".")[-1] for s in sources.split()),
                )
                named = "|".join(f"%{r}" for _, r in zip(outs, "def", strict=False))
                text = given or ", ".join([named, *(f"%{s}" for _, s in zip(ins, "abcg", strict=False))])
                found.append(Form(f"form{len(found)}", instruction, outs, ins, text, lanes))
    return found


# --- operands ---

_TRUTHS = ("pred", "rare", "often")
_WIDTH = {"8": 16, "16": 16, "32": 32, "64": 64}
_FLOATS = {"f16": (10, 5), "bf16": (7, 8), "f32": (23, 8), "f64": (52, 11)}


def _bits(kind: str) -> int:
    """Return the register size of a type in bits. An 8-bit type uses 16 bits; a predicate is stored in 32."""
    if kind.endswith("x2"):
        return 32
    digits = re.search(r"\d+$", kind)
    return _WIDTH[digits[0]] if digits else 32


def _register(kind: str) -> str:
    """Return the register class for a type."""
    return "pred" if kind in _TRUTHS else kind if kind in ("f32", "f64") else f"b{_bits(kind)}"


def dtype_of(kind: str) -> np.dtype[Any]:
    """Return the unsigned type in which values of a type are stored."""
    return np.dtype(f"u{_bits(kind) // 8}")


def _hash(*numbers: Any) -> Words:
    """Hash arrays of numbers to 64 bits (splitmix64; Steele, Lea and Flood, 2014)."""
    x = np.uint64(0)
    with np.errstate(over="ignore"):
        for number in numbers:
            x = (x ^ np.asarray(number, np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
    return np.asarray(x)


def _special_floats(kind: str) -> list[int]:
    fraction, exponent = _FLOATS[kind]
    sign, one, top = (
        1 << (fraction + exponent),
        ((1 << (exponent - 1)) - 1) << fraction,
        ((1 << exponent) - 1) << fraction,
    )
    step = 1 << fraction
    positive = [
        0, 1, step // 2 + 1, step - 1, step, one, one + 1, one - 1, one + step // 2, one + step, top - 1, top,
    ]  # fmt: skip
    nans = [top + step // 2, top + step - 1, top + 1, top + step // 4 + 5]
    return [value | bit for value in positive + nans for bit in (0, sign)]


def _floats(kind: str, i: Words, position: int) -> Words:
    """Return floats of several kinds: random bits, magnitudes near 1, and multiples of 1/4, which tie when rounded."""
    fraction, exponent = _FLOATS[kind]
    h, g = _hash(i, position, 11), _hash(i, position, 12)
    bias, bits = (1 << (exponent - 1)) - 1, 1 + fraction + exponent
    random = h & np.uint64((1 << bits) - 1)
    near = np.minimum(bias, np.where(g >> np.uint64(8) & np.uint64(1), 4, 40)).astype(np.uint64)
    close = (g >> np.uint64(16)) % (2 * near) + np.uint64(bias) - near + np.uint64(1)
    moderate = h & np.uint64((1 << (bits - 1)) - 1 ^ ((1 << exponent) - 1) << fraction) | close << np.uint64(fraction)
    few = moderate & ~np.uint64((1 << max(fraction - 6, 0)) - 1)  # few bits of fraction
    sign = (h >> np.uint64(63)) << np.uint64(bits - 1)
    which = g % np.uint64(4)
    return np.where(which == 0, random, np.where(which == 1, few | sign, moderate | sign))


def _special_integers(bits: int) -> list[int]:
    top = 1 << (bits - 1)
    return [
        0,
        1,
        2,
        3,
        7,
        bits - 1,
        bits,
        0x55 * (1 << bits) // 0xFF,
        0x80,
        0xFF,
        top - 1,
        top,
        top + 1,
        2 * top - 2,
        2 * top - 1,
    ]


def _one(kind: str, i: Words, position: int) -> Words:
    """Return values of one type, in 64 bits each."""
    h = _hash(i, position, 21)
    if kind in _TRUTHS:
        true = h % np.uint64(64 if kind != "pred" else 2) == 0
        return (~true if kind == "often" else true).astype(np.uint64)
    if kind.startswith(("few", "same")):
        among = _hash(h % np.uint64(3), 1)
        warp = i // np.uint64(32)
        return np.where(warp % np.uint64(2) == 0, _hash(warp), among) if kind.startswith("same") else among
    if kind == "lane":
        return np.where(h % np.uint64(8) == 0, h >> np.uint64(8), h >> np.uint64(8) & np.uint64(31))
    if kind == "near":
        return (h % np.uint64(67)) - np.uint64(33)
    if kind == "count":
        return np.where(h % np.uint64(4) == 0, h >> np.uint64(8), (h >> np.uint64(8)) % np.uint64(72))
    bits = _bits(kind)
    special = _special_floats(kind) if kind in _FLOATS else _special_integers(bits)
    # all pairs of special values come in the first two sources
    chosen = i if position == 0 else i // np.uint64(len(special)) if position == 1 else h
    values = np.array(special, np.uint64)[chosen % np.uint64(len(special))]
    if kind in _FLOATS:
        other = _floats(kind, i, position)
    else:
        other = np.where(
            h >> np.uint64(3) & np.uint64(1), h >> np.uint64(4), (h >> np.uint64(4)) >> (h >> np.uint64(58))
        )
    pairs = len(special) ** 2 if len(special) ** 2 < TUPLES * 3 // 4 else TUPLES // 2
    return np.where((i < pairs) | (h % np.uint64(16) == 0), values, other)


def operands(kind: str, position: int) -> Words:
    """Return the ``TUPLES`` values of source number ``position``, as unsigned words of the register's size."""
    i = np.arange(TUPLES, dtype=np.uint64)
    if not kind.startswith("same"):
        i = i * np.uint64(487) % np.uint64(TUPLES)  # permuted, so that the first values form a sample
    if kind.endswith("x2"):
        half = kind.removesuffix("x2")
        words = _one(half, i, position) & np.uint64(0xFFFF) | _one(half, i[::-1], position + 4) << np.uint64(16)
    else:
        words = _one(kind, i, position)
    return np.ascontiguousarray((words & np.uint64((1 << _bits(kind)) - 1)).astype(dtype_of(kind)))


# --- kernels ---


def module(wanted: Sequence[Form]) -> str:
    """Return a PTX module with a kernel per form. Parameters point to the sources, then to the results."""
    return "\n".join([".version 8.6", ".target sm_90", ".address_size 64", "", *map(_kernel, wanted)])


def _kernel(form: Form) -> str:
    names = dict(zip("abcg", form.sources, strict=False))
    outs = dict(zip("def", form.results, strict=False))
    cell = "%m" in form.operands
    last = form.results[-1]
    shared = cell and ".shared" in form.instruction
    params = ",\n".join(f"\t.param .u64 .ptr .align 8 {form.kernel}_param_{i}" for i in range(len(names) + len(outs)))
    lines = [".reg .b32 %thread, %size, %group, %i, %lane, %word<8>;", ".reg .b64 %at, %p<8>;", ".reg .pred %guard;"]
    lines += [f".reg .{_register(kind)} %{name};" for name, kind in (names | outs).items()]
    if shared:
        lines += [f".shared .align 8 .b8 cells_{form.kernel}[{8 * BLOCK}];", ".reg .b32 %m;"]
    elif cell:
        lines.append(".reg .b64 %m;")
    lines += [
        "mov.u32 %thread, %tid.x;",
        "mov.u32 %size, %ntid.x;",
        "mov.u32 %group, %ctaid.x;",
        "mad.lo.s32 %i, %group, %size, %thread;",
    ]
    for i, kind in enumerate((names | outs).values()):
        lines += [
            f"ld.param.u64 %p{i}, [{form.kernel}_param_{i}];",
            f"cvta.to.global.u64 %p{i}, %p{i};",
            f"mul.wide.u32 %at, %i, {_bits(kind) // 8};",
            f"add.s64 %p{i}, %p{i}, %at;",
        ]
    for i, (name, kind) in enumerate(names.items()):
        if kind in _TRUTHS:
            lines += [f"ld.global.b32 %word{i}, [%p{i}];", f"setp.ne.b32 %{name}, %word{i}, 0;"]
        else:
            lines.append(f"ld.global.{_register(kind)} %{name}, [%p{i}];")
    for name, kind in outs.items():
        if not (cell and name == "def"[len(outs) - 1]):
            zero = {
                "pred": "setp.ne.b32 %{}, 0, 0;",
                "f32": "mov.f32 %{}, 0f00000000;",
                "f64": "mov.f64 %{}, 0d0000000000000000;",
            }
            lines.append(zero.get(_register(kind), f"mov.{_register(kind)} %{{}}, 0;").format(name))
    at = len(names) + len(outs) - 1
    if shared:
        lines += [f"mov.u32 %m, cells_{form.kernel};", "shl.b32 %word7, %thread, 3;", "add.u32 %m, %m, %word7;"]
        lines.append(f"st.shared.{_register(last)} [%m], %a;")
    elif cell:
        lines += [f"mov.u64 %m, %p{at};", f"st.global.{_register(last)} [%m], %a;"]
        if ".global" not in form.instruction:
            lines.append("cvta.global.u64 %m, %m;")
    guard = ""
    if form.lanes:
        lines += ["mov.u32 %lane, %laneid;", f"shr.u32 %lane, {form.lanes}, %lane;", "and.b32 %lane, %lane, 1;"]
        lines.append("setp.ne.b32 %guard, %lane, 0;")
        guard = "@%guard "
    lines.append(f"{guard}{form.text};")
    if shared:
        name = "def"[len(outs) - 1]
        lines.append(f"ld.shared.{_register(last)} %{name}, [%m];")
    for i, (name, kind) in enumerate(outs.items(), len(names)):
        if kind == "pred":
            lines += [f"selp.b32 %word{i}, 1, 0, %{name};", f"st.global.b32 [%p{i}], %word{i};"]
        elif shared or not (cell and i == at):
            lines.append(f"st.global.{_register(kind)} [%p{i}], %{name};")
    body = "\n".join("\t" + line for line in [*lines, "ret;"])
    return f"// {form}\n.visible .entry {form.kernel}(\n{params}\n)\n{{\n{body}\n}}\n"


# --- results ---


class Recording:
    """Recorded results: for each result of a form, a sample and the checksums of its chunks."""

    def __init__(self, texts: Sequence[str], samples: Words, checksums: Words, recorded_on: str) -> None:
        self._texts, self._samples, self._checksums, self.recorded_on = list(texts), samples, checksums, recorded_on

    @staticmethod
    def of(wanted: Sequence[Form], results: Sequence[Sequence[Words]], recorded_on: str) -> Recording:
        """Record the results of forms, which are arrays of ``TUPLES`` words."""
        flat = [array for arrays in results for array in arrays]
        samples = np.frombuffer(b"".join(array[:SAMPLE].tobytes() for array in flat), np.uint8)
        checksums = np.array([_checksums(array) for array in flat])
        return Recording([str(form) for form in wanted], samples, checksums, recorded_on)

    @staticmethod
    def load(path: Path) -> Recording:
        with np.load(path) as stored:
            recorded_on, *texts = bytes(stored["texts"]).decode().split("\n")
            return Recording(texts, stored["samples"], stored["checksums"], recorded_on)

    def save(self, path: Path) -> None:
        texts = np.frombuffer("\n".join([self.recorded_on, *self._texts]).encode(), np.uint8)
        np.savez_compressed(path, texts=texts, samples=self._samples, checksums=self._checksums)

    def of_forms(self, wanted: Sequence[Form]) -> dict[str, list[tuple[Words, Words]]]:
        """Return sample and checksums of each result, by the kernel of a form.

        Raises:
            ValueError: The recording has other forms than the table.
        """
        if [str(form) for form in wanted] != self._texts:
            raise ValueError("forms.csv has other forms than the recording; record it again on a GPU: record.py")
        at, number, found = 0, 0, {}
        for form in wanted:
            found[form.kernel] = []
            for kind in form.results:
                size = SAMPLE * dtype_of(kind).itemsize
                found[form.kernel].append((self._samples[at : at + size].view(dtype_of(kind)), self._checksums[number]))
                at, number = at + size, number + 1
        return found


def differences(got: Words, sample: Words, checksums: Words) -> list[int]:
    """Return the differing indices of the sample, and the first indices of differing chunks."""
    wrong = np.flatnonzero(got[:SAMPLE] != sample).tolist()
    return wrong + [SAMPLE + CHUNK * int(k) for k in np.flatnonzero(_checksums(got) != checksums)]


def _checksums(array: Words) -> Words:
    return np.array([zlib.crc32(chunk.tobytes()) for chunk in array[SAMPLE:].reshape(-1, CHUNK)], np.uint32)
