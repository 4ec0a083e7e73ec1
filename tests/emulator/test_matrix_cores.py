"""Compare each matrix instruction on each target with the definition of a matrix product."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ziglang
from elftools.elf.elffile import ELFFile
from isa_harness import _DESCRIPTOR, _FAMILIES, _HEAD, _METADATA, MACHINES, Machine, _library
from matrix_definition import (
    Modifiers,
    Registers,
    distance,
    elements,
    integer,
    measured,
    nearest,
    place_of_output,
    words,
)

from parity.compilers import zig
from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.amdgpu.matrix import SUMS, TYPE_BITS, MatrixInstruction, matrix_instructions, matrix_mnemonics
from parity.emulator.approximate import ApproximateResults
from parity.emulator.faults import UnknownInstruction
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.shadow_runs import ROUND_DOWN, shadow_seed
from parity.model import code_object

Array = np.ndarray[Any, Any]
MATRIX_TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")


def refused(target: str, lines: Sequence[str], folder: Any) -> dict[str, str]:
    """Return the lines that the assembler rejects, and its messages."""
    source = folder / f"{target}.s"
    source.write_text("".join(f"\t{line}\n" for line in lines))
    command = ["clang", "-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-c", source]
    found = re.findall(r"\.s:(\d+):\d+: error: (.*)", zig.run([*command, "-o", folder / "x.o"]).stderr)
    return {lines[int(line) - 1]: why for line, why in reversed(found)}


def names_that_llvm_has() -> set[str]:
    """Return the mnemonics of matrix instructions in the binary of the assembler."""
    assembler = Path(ziglang.__file__).with_name("zig").read_bytes()
    return {name.decode() for name in re.findall(rb"v_(?:mfma|smfmac|wmma|swmmac)_[a-z0-9_]+", assembler)}


def test_table_has_all_matrix_instructions_of_assembler(tmp_path):
    """Each instruction of the table assembles; other names in LLVM or a manual do not."""
    manuals = {n for f in _FAMILIES for n in _library(f) if re.match(r"v_(mfma|smfmac|wmma|swmmac)_", n)}
    named = manuals | names_that_llvm_has()
    assert len(named) > 150
    for target in MATRIX_TARGETS:
        known = matrix_mnemonics(target)
        assert not refused(target, [Use(row).text for row in matrix_instructions(target).values()], tmp_path)
        others = [f"{name} v[0:3], v[8:9], v[10:11], v[0:3]" for name in sorted(named - known.keys())]
        unknown = ("instruction not supported on this GPU", "invalid instruction", "not a valid")
        said = refused(target, others, tmp_path)
        for line in others:
            assert any(each in said.get(line, "") for each in unknown), (target, line, said.get(line))


def test_version_of_hip_in_target_does_not_change_matrix_instructions():
    assert matrix_mnemonics("gfx90a@7.2") == matrix_mnemonics("gfx90a") != {}


def test_gfx90a_style_names_have_same_encoding(tmp_path, cache):
    names = {name: row for name, row in matrix_mnemonics("gfx942").items() if name != row.instruction}
    assert len(names) == 29
    uses = [Use(row) for row in names.values()]
    texts = [[use.text for use in uses]]
    texts.append([f"{name} {use.text.partition(' ')[2]}" for name, use in zip(names, uses, strict=True)])
    codes = []
    for number, lines in enumerate(texts):
        source = tmp_path / f"{number}.s"
        source.write_text("".join(f"\t{line}\n" for line in lines))
        command = ["clang", "-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-c", source]
        assert zig.run([*command, "-o", source.with_suffix(".o")]).returncode == 0
        codes.append(ELFFile(source.with_suffix(".o").open("rb")).get_section_by_name(".text").data())
    assert codes[0] == codes[1]
    use = Use(names["v_mfma_f32_4x4x4bf16_1k"])
    bench = Bench(cache, "gfx942", [use])
    text = listing(bench.machine, [use]).replace(use.row.instruction, "v_mfma_f32_4x4x4bf16_1k")
    bench.code = code_object.parse(text, "matrices")
    registers, whole = registers_of(use, 1, "whole")
    assert not differences(use, registers, bench.run(0, whole), whole[64:], exactly(use))


NO_MODIFIERS = Modifiers()


@dataclass(frozen=True)
class Use:
    """An instruction with modifiers. A begins at v4, B at v16, C at v32, D at v64; v28 holds the indices.

    All except the indices may be in accumulation registers ("a").
    """

    row: MatrixInstruction
    modifiers: Modifiers = NO_MODIFIERS
    accumulate: str = "v"

    def operand(self, which: str, first: int, file: str = "v") -> str:
        count = self.row.count(which)
        return f"{file}{first}" if count == 1 else f"{file}[{first}:{first + count - 1}]"

    @property
    def text(self) -> str:
        last = "v28" if self.row.sparse else self.operand("d", 32, self.accumulate)
        into = self.operand("d", 64, self.accumulate)
        a, b = (self.operand(which, first, self.accumulate) for which, first in (("a", 4), ("b", 16)))
        text = f"{self.row.instruction} {into}, {a}, {b}, {last}"
        return f"{text} {self.modifiers.text}".strip()


def body(machine: Machine, use: Use) -> Iterator[str]:
    """Return code that loads registers 4 to 95 of each lane, executes with few active lanes, and stores 64 to 95."""
    load, pair, store = ("dword", "dwordx4", "dword") if machine.old else ("b32", "b128", "b32")
    yield from (f"s_load_{pair} s[4:7], s[0:1], 0x0", "v_mul_u32_u24 v1, 0x180, v0")
    count = use.row.count("d")
    wanted = [*range(4, 4 + use.row.count("a")), *range(16, 16 + use.row.count("b")), *range(32, 32 + count)]
    wanted += [28] * use.row.sparse + list(range(64, 64 + count))
    for number in wanted:
        yield f"global_load_{load} v{number}, v1, s[4:5] offset:{4 * number}"
    if use.accumulate == "a":
        for number in wanted:
            yield f"v_accvgpr_write_b32 a{number}, v{number}"
    execs = "exec_lo" if machine.lanes == 32 else "exec"
    yield f"s_mov_b{machine.lanes} {execs}, 5"
    yield use.text
    yield f"s_mov_b{machine.lanes} {execs}, -1"
    for number in range(64, 64 + count):
        if use.accumulate == "a":
            yield f"v_accvgpr_read_b32 v{number}, a{number}"
        yield f"global_store_{store} v1, v{number}, s[6:7] offset:{4 * number}"
    yield "s_endpgm"


def listing(machine: Machine, uses: Sequence[Use]) -> str:
    code, metadata = [_HEAD.format(target=machine.target)], []
    for n, use in enumerate(uses):
        code.append(f"k{n}:\n" + "".join(f"\t{line}\n" for line in body(machine, use)))
        code.append(_DESCRIPTOR.format(name=f"k{n}"))
        metadata.append(_METADATA.format(name=f"k{n}", lanes=machine.lanes))
    tail = f"---\namdhsa.target: amdgcn-amd-amdhsa--{machine.target}\namdhsa.kernels:\n{''.join(metadata)}...\n"
    return "".join(code) + f"\t.amdgpu_metadata\n{tail}\t.end_amdgpu_metadata\n"


def bits_of(rng: np.random.Generator, kind: str, count: int, how: str) -> Array:
    """Return ``count`` elements of a type as the bits of registers."""
    if kind in ("i8", "iu8", "iu4", "i32") or how == "bits":
        return rng.integers(0, 1 << 32, (count, 64), dtype=np.uint64).astype(np.uint32)
    if kind in ("fp8", "bf8"):
        if how == "whole":  # small integers with the same bits in OCP and FNUZ
            return rng.choice(np.array([0x38, 0xB8, 0x40, 0xC0, 0x00], np.uint8), (count, 64, 4)).view(np.uint32)[
                ..., 0
            ]
        numbers = rng.integers(1, 0x78, (count, 64, 4)) | rng.choice(
            [0, 0x80], (count, 64, 4)
        )  # finite in both formats
        return numbers.astype(np.uint8).view(np.uint32)[..., 0]
    size = {"f64": 2, "f32": 1, "xf32": 1}.get(kind, 0)
    shape = (count // 2, 64) if size == 2 else (count, 64) if size else (count, 64, 2)
    spread = {"f16": 20, "bf16": 60, "f64": 60}.get(kind, 40)
    if how == "whole":
        numbers = rng.integers(-8, 9, shape).astype(np.float64)
    else:
        numbers = rng.normal(size=shape) * 2.0 ** (rng.integers(-spread, spread // 4, shape) if how == "wide" else 0)
    if kind == "f64":
        return np.ascontiguousarray(np.moveaxis(numbers.view(np.uint32).reshape(count // 2, 64, 2), 2, 1)).reshape(
            count, 64
        )
    if kind == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)[..., 0]
    if kind == "f16":
        with np.errstate(over="ignore"):
            return numbers.astype(np.float16).view(np.uint32)[..., 0]
    return numbers.astype(np.float32).view(np.uint32)


def registers_of(use: Use, seed: int, how: str) -> tuple[Registers, Array]:
    """Return operands, and the 96 registers of each lane that hold them."""
    row, rng = use.row, np.random.default_rng(seed)
    lanes = MACHINES[row.target].lanes
    found = {}
    for which in "abc":
        kind = row.d if which == "c" else getattr(row, which)
        found[which] = bits_of(rng, kind, row.count("d" if which == "c" else which), how)[:, :lanes]
        if row.replicated and which != "c":
            found[which][:, 16:] = found[which][:, :16]
    index = rng.integers(0, 1 << 32, (1, lanes), dtype=np.uint64).astype(np.uint32) if row.sparse else None
    whole = rng.integers(0, 1 << 32, (96, lanes), dtype=np.uint64).astype(np.uint32)
    for first, values in ((4, found["a"]), (16, found["b"]), (28, index), (32, found["c"])):
        if values is not None:
            whole[first : first + len(values)] = values
    if row.sparse:
        whole[64 : 64 + len(found["c"])] = found["c"]
    return Registers(**found, index=index), whole


class Bench:
    """Executes uses of instructions on one target."""

    def __init__(
        self, cache: Any, target: str, uses: Sequence[Use], *, traced: bool = True, shadow: bool = False
    ) -> None:
        self.machine, self.uses = MACHINES[target], list(uses)
        self.code = code_object.parse(listing(self.machine, self.uses), "matrix_instructions")
        self.device = AmdgpuDevice(cache=cache, capacity=1 << 24, traced=traced, shadow=shadow)
        self.device.prepare(self.code, workers=1)

    def run(self, number: int, whole: Array, **more: Any) -> Array:
        """Return registers 64 to 95 after a launch: (number, lane)."""
        device, name = self.device, f"k{number}"
        device.reset()
        given, out = device.allocate(whole.nbytes, "in"), device.allocate(whole.nbytes, "out")
        device.write(given, np.ascontiguousarray(whole.T))
        device.write(out, np.ascontiguousarray(whole.T))
        args = pack(self.code.kernels[name], [given, out, 0])
        device.launch(
            self.code,
            name,
            grid=(1, 1, 1),
            block=(self.machine.lanes, 1, 1),
            args=args,
            options=LaunchOptions(**more),
        )
        return device.read(out).view(np.uint32).reshape(self.machine.lanes, 96).T[64:]


def differences(use: Use, registers: Registers, got: Array, before: Array, check: Any, most: int = 256) -> list[str]:
    """Return the results that ``check(c, factors, word)`` rejects, and wrongly changed halves of registers.

    Checks every ninth result if there are more than ``most``.
    """
    row, wrong = use.row, []
    fnuz, bits = TARGETS[row.target].fnuz, TYPE_BITS[row.d]
    every = 1 if row.m * row.n * row.blocks <= most else 9
    for block, i, j, c, factors in elements(row, registers, use.modifiers, fnuz, every):
        number, at, lane = place_of_output(row, use.modifiers, i, j, block)
        word = words(got, number, at, lane, bits)
        if problem := check(c, factors, word):
            wrong.append(f"{use.text}: block {block} [{i}][{j}]: {problem}")
        if (
            row.replicated
            and bits == 16
            and words(got, number, 16 - at, lane, 16) != words(before, number, 16 - at, lane, 16)
        ):
            wrong.append(f"{use.text}: the unused half of register {number} changed")
    return wrong


def same_bits(row: MatrixInstruction, want: float, word: int) -> str:
    kinds = {"f64": np.float64, "f32": np.float32, "f16": np.float16}
    if row.d == "bf16":
        got = float(np.uint32(word << 16).view(np.float32))
    else:
        got = float(np.array([word], f"u{TYPE_BITS[row.d] // 8}").view(kinds[row.d])[0])
    if got == want or (np.isnan(got) and np.isnan(want)):
        return ""
    return f"{got!r} instead of {want!r}"


def exactly(use: Use) -> Any:
    if use.row.d == "i32":
        return lambda c, factors, word: (
            ""
            if (want := integer(c, factors, use.modifiers.clamp)) & 0xFFFFFFFF == word
            else f"{word:#x} instead of {want}"
        )
    return lambda c, factors, word: same_bits(use.row, nearest(use.row, c, factors), word)


def modified(row: MatrixInstruction) -> Iterator[Use]:
    """Yield uses of an instruction with a few values of each modifier."""
    choices = row.broadcast.split()
    if "a" in choices:
        most = row.blocks.bit_length() - 1
        for cbsz, abid in {(1, 1), (most, 0), (most, row.blocks - 1)}:
            yield Use(row, Modifiers(f"cbsz:{cbsz} abid:{abid}", cbsz=cbsz, abid=abid))
    if "b" in choices:
        yield from (Use(row, Modifiers(f"blgp:{n}", blgp=n)) for n in (range(1, 8) if row.m < 32 else (1, 3, 6)))
    if row.target == "gfx942" and row.d == "f64":
        yield from (Use(row, Modifiers(f"neg:[{n & 1},{n >> 1 & 1},{n >> 2}]", neg_lo=n)) for n in (1, 2, 4, 7))
    if row.target == "gfx942" and row.sparse:
        sets = 4 if TYPE_BITS[row.a] == 16 else 2
        yield from (Use(row, Modifiers(f"abid:{n}", abid=n)) for n in range(1, sets))
        yield Use(row, Modifiers("cbsz:1 abid:1", cbsz=1, abid=1))
    if row.target == "gfx1201" and row.sparse and (row.k, row.a) != (64, "iu4"):
        yield Use(row, Modifiers("index_key:1", abid=1))
    if row.a[:2] == "iu":
        for n in (1, 2, 3):
            yield Use(row, Modifiers(f"neg_lo:[{n & 1},{n >> 1},0]", neg_lo=n))
        yield Use(row, Modifiers("neg_lo:[1,1,0] clamp", neg_lo=3, clamp=True))
    elif row.target in ("gfx1100", "gfx1201") and TYPE_BITS[row.a] == 16:
        last = 0 if row.sparse else 1
        for low, high in ((1, 0), (0, 2), (4 * last | 3, 1), (0, 4 * last), (4 * last, 4 * last)):
            lists = (f"neg_{end}:[{n & 1},{n >> 1 & 1},{n >> 2}]" for end, n in (("lo", low), ("hi", high)) if n)
            if low or high:
                yield Use(row, Modifiers(" ".join(lists), neg_lo=low, neg_hi=high))
    if row.replicated and TYPE_BITS[row.d] == 16:
        yield Use(row, Modifiers("op_sel:[0,0,1]", high=1))


@pytest.mark.parametrize("share", [9, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("target", MATRIX_TARGETS)
def test_modifiers_and_accumulators_match_definition(target, share, cache, tmp_path):
    """Executes one of ``share`` uses, because each requires a compilation."""
    rows = matrix_instructions(target).values()
    uses = [use for row in rows for use in modified(row)]
    if target in ("gfx90a", "gfx942"):
        uses += [Use(row, accumulate="a") for row in rows]
    assert not refused(target, [use.text for use in uses], tmp_path)
    uses = uses[::share]
    bench, wrong = Bench(cache, target, uses), []
    for number, use in enumerate(uses):
        registers, whole = registers_of(use, number, "whole" if use.row.d != "i32" else "bits")
        wrong += differences(use, registers, bench.run(number, whole), whole[64:], exactly(use), most=64)[:2]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", MATRIX_TARGETS)
def test_matrix_instruction_on_random_bits_matches_definition(target, cache):
    """Covers NaN, infinities, subnormal numbers and overflowing sums; ignores the signs of NaN and zero."""
    uses = [
        Use(row)
        for row in matrix_instructions(target).values()
        if row.m * row.n * row.blocks <= 1024 and row.d != "i32"
    ]
    bench, wrong = Bench(cache, target, uses), []
    for number, use in enumerate(uses):
        registers, whole = registers_of(use, number, "bits")
        wrong += differences(use, registers, bench.run(number, whole), whole[64:], exactly(use))[:2]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("how", ["wide", "near"])
def test_hardware_sums_match_measured_sums(target, how, cache):
    uses = [
        Use(row)
        for row in matrix_instructions(target).values()
        if row.sums in ("chain", "pairs", "aligned", "split") and row.m < 32
    ]
    bench, wrong, moved = Bench(cache, target, uses), [], 0
    for number, use in enumerate(uses):
        registers, whole = registers_of(use, number + 100, how)
        fnuz = TARGETS[target].fnuz

        def check(c, factors, word, row=use.row, fnuz=fnuz):
            return same_bits(row, measured(row, c, factors, fnuz), word)

        got = bench.run(number, whole, results=ApproximateResults.GFX1100)
        moved += bool((got != bench.run(number, whole)).any())
        wrong += differences(use, registers, got, whole[64:], check)[:2]
    assert not wrong, "\n".join(wrong)
    assert moved, "what was measured and what is rounded once never differ"


@pytest.mark.parametrize("target", MATRIX_TARGETS)
def test_drawn_sums_are_within_interval(target, cache):
    rows = [row for row in matrix_instructions(target).values() if row.d != "i32" and row.m * row.n * row.blocks == 256]
    uses = [Use(row) for row in rows]
    bench, wrong = Bench(cache, target, uses), []
    for number, use in enumerate(uses):
        registers, whole = registers_of(use, number + 200, "near")
        found = [bench.run(number, whole, results=ApproximateResults.DOCUMENTED, draw=draw) for draw in range(1, 25)]
        # A single product has one order of addition, and rounding to 16 bits hides the order.
        if use.row.k > 1 and TYPE_BITS[use.row.d] > 16:
            assert len({got.tobytes() for got in found}) > 1, f"{use.text}: all draws are the same"
        kinds = {"f64": np.float64, "f32": np.float32, "f16": np.float16}
        for block, i, j, c, factors in elements(use.row, registers, use.modifiers, TARGETS[target].fnuz, 7):
            centre, room = distance(use.row, c, factors)
            at = place_of_output(use.row, use.modifiers, i, j, block)
            for got in found:
                word = words(got, *at, TYPE_BITS[use.row.d])
                kind = kinds.get(use.row.d)
                x = float(np.array([word], f"u{TYPE_BITS[use.row.d] // 8}").view(kind)[0]) if kind else float(
                    np.uint32(word << 16).view(np.float32))  # fmt: skip
                if not abs(x - centre) <= room:
                    wrong.append(f"{use.text} [{i}][{j}]: {x} is {abs(x - centre)} from {centre}, allowed are {room}")
    assert not wrong, "\n".join(wrong[:9])


def test_drawn_sums_repeat_for_same_launch(cache):
    use = Use(matrix_instructions("gfx1100")["v_wmma_f32_16x16x16_f16"])
    bench = Bench(cache, "gfx1100", [use])
    _, whole = registers_of(use, 1, "near")
    draws = [
        [bench.run(0, whole, results=ApproximateResults.DOCUMENTED, draw=draw).tobytes() for draw in range(16)]
        for _ in "12"
    ]
    assert draws[0] == draws[1]


def test_compiled_matrix_code_equals_threaded_code(cache):
    use = Use(matrix_instructions("gfx90a")["v_mfma_f32_16x16x16f16"])
    _, whole = registers_of(use, 1, "near")
    threaded, compiled = (Bench(cache, "gfx90a", [use], traced=traced).run(0, whole) for traced in (True, False))
    assert (threaded == compiled).all()


@pytest.mark.parametrize("name", ["v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x4f32"])
def test_shadow_runs_round_sums_up_and_down(name, cache):
    use = Use(matrix_instructions("gfx90a")[name])
    bench = Bench(cache, "gfx90a", [use], shadow=True)
    for how in ("near", "whole"):
        _, whole = registers_of(use, 1, how)
        runs = [
            bench.run(0, whole, results=ApproximateResults.DOCUMENTED, draw=shadow_seed(5, n)) for n in (0, ROUND_DOWN)
        ]
        up, down = (found[: use.row.count("d")].view(np.float32) for found in runs)
        assert (up >= down).all()
        assert (up > down).any() == (how == "near")


def test_gfx1100_reads_operands_from_both_halves(cache):
    """The upper half computes the odd rows of D from its own copy of A."""
    use = Use(matrix_instructions("gfx1100")["v_wmma_f32_16x16x16_f16"])
    bench = Bench(cache, "gfx1100", [use])
    _, whole = registers_of(use, 1, "whole")
    usual = bench.run(0, whole)
    whole[4:12, 16:] = 0
    got = bench.run(0, whole)
    assert (got[:8, :16] == usual[:8, :16]).all()
    c = whole[32:40, 16:].view(np.float32)
    assert (got[:8, 16:].view(np.float32) == c).all() and (usual[:8, 16:].view(np.float32) != c).any()


@pytest.mark.parametrize(
    ("target", "name", "modifiers", "said"),
    [
        ("gfx90a", "v_mfma_f32_32x32x8f16", "cbsz:1", "cbsz:1"),
        ("gfx90a", "v_mfma_f32_32x32x4f16", "cbsz:2 abid:1", "2 blocks"),
        ("gfx90a", "v_mfma_f64_16x16x4f64", "blgp:1", "blgp:1"),
        ("gfx942", "v_mfma_f32_16x16x32_fp8_fp8", "blgp:1", "blgp:1"),
    ],
)
def test_undocumented_modifier_is_unknown(target, name, modifiers, said, cache):
    """The assembler accepts these modifiers, but AMD's documents do not define them."""
    with pytest.raises(UnknownInstruction, match=said):
        Bench(cache, target, [Use(matrix_instructions(target)[name], Modifiers(modifiers))])


@pytest.mark.parametrize("constant", ["0", "1.0", "-4.0"])
def test_constant_c_applies_to_all_elements(constant, cache):
    row = matrix_instructions("gfx90a")["v_mfma_f32_16x16x16f16"]
    machine, use = MACHINES["gfx90a"], Use(row)
    text = listing(machine, [use]).replace(", v[32:35]\n", f", {constant}\n")
    bench = Bench(cache, "gfx90a", [use])
    bench.code = code_object.parse(text, "matrices")
    registers, whole = registers_of(use, 3, "whole")
    registers.c[:] = np.float32(constant).view(np.uint32)
    assert not differences(use, registers, bench.run(0, whole), whole[64:], exactly(use))


@pytest.mark.parametrize("target", MATRIX_TARGETS)
def test_products_match_definition(target, cache):
    uses = [Use(row) for row in matrix_instructions(target).values()]
    bench, wrong = Bench(cache, target, uses), []
    for number, use in enumerate(uses):
        for how in ("whole", "wide") if use.row.d != "i32" else ("bits",):
            registers, whole = registers_of(use, number, how)
            wrong += differences(use, registers, bench.run(number, whole), whole[64:], exactly(use))[:3]
    assert not wrong, "\n".join(wrong)


def test_every_kind_of_sum_is_described():
    assert {row.sums for target in MATRIX_TARGETS for row in matrix_instructions(target).values()} == SUMS.keys()


def test_documentation_lists_sums_of_every_instruction():
    page = (Path(__file__).parents[2] / "docs" / "matrix-cores.md").read_text()
    shown, known = {}, {}
    for target, sums, how, names in re.findall(r"^\| (gfx\w+) \| (\w+) \| (.+?) \| (`v_.*`) \|$", page, re.MULTILINE):
        shown |= {(target, name): sums for name in re.findall(r"`(\w+)`", names)}
        known.setdefault(sums, set()).add(how)
    assert shown == {(t, row.instruction): row.sums for t in MATRIX_TARGETS for row in matrix_instructions(t).values()}
    assert known.keys() == SUMS.keys() and all(len(each) == 1 for each in known.values())
    assert all(f"* *{sums}*: {meaning}" in page for sums, meaning in SUMS.items())
