"""Run single instructions in the emulator and compare the results with AMD's pseudo-code.

A ``Check`` is an instruction as printed, with its operands and modifiers. ``run`` writes a listing with a kernel of
many checks. The kernel loads operands that differ between lanes, executes the instructions under several EXEC masks,
and stores the destinations of all lanes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from isa_values import FORMATS, Value, integer

from parity.compilers import zig
from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.isa_names import RENAMED, canonical
from parity.emulator.amdgpu.kernarg import pack
from parity.model import code_object
from parity.platform.cache import Cache

MASKS = (0x5A3C_96F1_2F1E_A5C3, ~0, 0xE7FF_7B9F_C1BD_F7EE)
ONES = (1 << 64) - 1


@dataclass(frozen=True)
class Machine:
    """A target, the place of its pseudo-code, and the syntax of its assembly.

    RDNA 2 and CDNA 2 have no pseudo-code, so the text that RDNA 3 or CDNA 3 has for the same name is used. One of
    ``share`` variants of an instruction is checked; one target checks all. Instructions with the same name on the
    target that this one is ``like`` are not checked again.
    """

    target: str
    families: tuple[str, ...]
    half_registers: bool = False
    share: int = 1
    like: str = ""

    @property
    def lanes(self) -> int:
        return TARGETS[self.target].wavefront

    @property
    def generation(self) -> int:
        return TARGETS[self.target].generation

    def text(self, entry: str) -> str | None:
        """Return the pseudo-code of an instruction of the emulator's tables."""
        return next((found[entry][0] for f in self.families if entry in (found := _library(f))), None)

    def spellings(self, entry: str) -> list[str]:
        """Return the names of an instruction in the manuals; the assembler decides which one is right."""
        names = {name: None for f in _FAMILIES for name in _library(f).get(entry, ("", ()))[1]}
        return [*names] + [old for old in _OLD_NAMES.get(entry, ()) if old not in names]

    @functools.cached_property
    def library(self) -> Mapping[str, str]:
        """Return the texts by the names that pseudo-code uses."""
        return {name: text for f in reversed(self.families) for text, names in _library(f).values() for name in names}

    def mask(self, number: int) -> str:
        return f"s{number}" if self.lanes == 32 else f"s[{number}:{number + 1}]"

    @property
    def old(self) -> bool:
        """True if memory instructions have the names from before gfx11, which count dwords."""
        return self.generation < 11


@functools.cache
def _library(family: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Map each instruction's name in the emulator's tables to its text and names."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for code, text in import_module(f"tinygrad.runtime.autogen.amd.{family}.str_pcode").PCODE.items():
        name = re.sub(r"_e(?:32|64)$", "", code.name.lower())
        _, names = found.get(canonical(name), ("", ()))
        found[canonical(name)] = text, names if name in names else (*names, name)
    return found


def manual_names() -> set[str]:
    """Return every instruction with text in a manual, by its name in the emulator's tables."""
    return {name for family in _FAMILIES for name in _library(family)}


_OLD_NAMES: dict[str, list[str]] = {}
for _old, _new in RENAMED.items():
    _OLD_NAMES.setdefault(_new, []).append(_old)

_FAMILIES = ("rdna3", "rdna4", "cdna")
MACHINES = {
    m.target: m
    for m in (
        Machine("gfx1100", ("rdna3",), True),
        Machine("gfx1030", ("rdna3", "cdna"), share=6),
        Machine("gfx90a", ("cdna", "rdna3"), share=6),
        Machine("gfx942", ("cdna", "rdna3"), share=6, like="gfx90a"),
        Machine("gfx950", ("cdna", "rdna3"), share=6, like="gfx942"),
        Machine("gfx1201", ("rdna4", "rdna3"), share=2, like="gfx1100"),
    )
}


@dataclass(frozen=True)
class Lane:
    """The operands of one lane: 64 bits of a, b, c and of the old destination, the same in SGPRs, and the masks."""

    index: int
    vector: tuple[int, ...]
    scalar: tuple[int, ...]
    exec: int
    vcc: int
    scc: int
    wave: list[Lane] = field(default_factory=list, repr=False, compare=False)

    @property
    def active(self) -> bool:
        return bool(self.exec >> self.index & 1)


@dataclass(frozen=True)
class Source:
    """An operand as printed, and its bits for a lane."""

    text: str
    bits: Callable[[Lane], int]
    kind: str

    def signed(self, magnitude: bool, negative: bool, half: int = -1) -> Source:
        """Return the operand with ``|x|`` and ``-x``; ``half`` selects 16 bits of a mixed operand."""
        top = 15 + 16 * half if half >= 0 else width(self.kind) - 1

        def bits(lane: Lane) -> int:
            x = self.bits(lane)
            x = x & ~(1 << top) if magnitude else x
            return x ^ 1 << top if negative else x

        text = f"|{self.text}|" if magnitude else self.text
        return Source(f"-{text}" if negative else text, bits, self.kind)


def width(kind: str) -> int:
    return 32 if kind in ("mix", "lane0", "k16", "uk16") else int(re.findall(r"\d+", kind)[0])


@dataclass(frozen=True)
class Check:
    """An instruction to execute; ``{d}`` and ``{m}`` in ``text`` are its vector and its mask destination.

    ``want`` returns the 64 bits of the destination and the bit of the mask (``None``: not compared) for an active lane,
    or for all lanes if it writes ``everywhere``. For a ``scalar`` instruction, the mask of the first lane is the
    result. A ``memory`` check compares the 8 bytes at ``v3 + s[6:7]``, offset ``{at}``, instead.
    """

    entry: str
    text: str
    want: Callable[[Lane], tuple[int | None, int | None]]
    same: Callable[[int, int], bool] = field(default=int.__eq__)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    mask: bool = False
    scalar: bool = False
    everywhere: bool = False
    memory: bool = False


# --- operands of a kernel --------------------------------------------------------------------------------------------


def lanes_of(machine: Machine, kinds: Sequence[str], seed: int, count: int = 0) -> list[list[Lane]]:
    """Return the lanes of each workgroup; ``kinds`` are the types of a, b, c and the old destination.

    ``count`` is the number of workgroups for scalar instructions, which read no vectors.
    """
    rng = np.random.default_rng(seed)
    groups = []
    for g in range(count or 64 // machine.lanes + 1):
        scalar = tuple(_draw(rng, k) for k in kinds)
        scalar = (scalar[0], scalar[0], *scalar[2:]) if g % 8 == 7 else scalar
        vcc, scc = int(rng.integers(0, 1 << 64, dtype=np.uint64)), g & 1
        ones = (1 << machine.lanes) - 1
        group = []
        for i in range(machine.lanes):
            vector = [0 if count else _draw(rng, k) for k in kinds]
            if rng.random() < 0.15:
                vector[1] = vector[0]
            if rng.random() < 0.1:
                vector[2] = vector[rng.integers(2)]
            if not count and kinds[0][0] == "f" and kinds[0] == kinds[1] == kinds[2] and i % 16 == 5:
                vector[:3] = _hard_triple(kinds[0])
            group.append(Lane(i, tuple(vector), scalar, MASKS[g % len(MASKS)] & ones, vcc, scc, group))
        groups.append(group)
    return groups


def _hard_triple(kind: str) -> list[int]:
    """Return a product halfway between two numbers and a tiny addend: only a single rounding gives the right result."""
    fraction, bias = FORMATS["F", width(kind)]
    one, top = bias << fraction, 1 << width(kind) - 1
    triple = (one + 1, one | 1 << fraction - 1, top | 1)
    return [sum(x << at for at in range(0, 64, width(kind))) for x in triple]


@functools.cache
def _edges(kind: str) -> tuple[int, ...]:
    bits = width(kind)
    top = 1 << bits - 1
    if kind[0] != "f":
        counts = [7, 15, 16, 17, 23, 24, 31, 32, 33, 63, 64, 65]
        return tuple(x & 2 * top - 1 for x in (0, 1, 2, -1, -2, top, top - 1, top + 1, 0x00FF00FF00FF00FF, *counts))
    fraction, bias = FORMATS["F", bits]
    inf, one = (2 * bias + 1) << fraction, bias << fraction
    half = 1 << fraction - 1
    plain = [0, 1, half, (1 << fraction) - 1, 1 << fraction, one, one - 1, one + 1, one + half, one - (1 << fraction),
             one - (1 << fraction) - 1, (2 << fraction) + one, inf - 1, inf, inf | half, inf | 1,
             inf | half | 5]  # fmt: skip
    return tuple(x | s for x in plain for s in (0, top))


def _draw(rng: np.random.Generator, kind: str) -> int:
    """Draw 64 bits: edges of the type, random bits, or moderate floats; 16-bit types fill every half."""
    if kind == "mix":
        kind = ("f32", "f16")[rng.integers(2)]
    bits = 32 if kind in ("mask", "lane0", "k16", "uk16") else width(kind)
    word = 0
    for at in range(0, 64, bits):
        how, any_bits = rng.random(), int(rng.integers(0, 1 << 64, dtype=np.uint64)) & (1 << bits) - 1
        if how < 0.45 and bits >= 16 and kind[0] in "fiu":
            x = int(rng.choice(np.array(_edges(kind), np.uint64)))
        elif how < 0.85 and kind[0] == "f":
            fraction, bias = FORMATS["F", bits]
            spread = {16: 12, 32: 40, 64: 80}[bits]
            exponent = bias + int(rng.integers(-spread, spread))
            x = any_bits & (1 << bits - 1 | (1 << fraction) - 1) | exponent << fraction
        elif how < 0.7 and kind[0] in "iu":
            x = any_bits >> int(rng.integers(0, bits))
        else:
            x = any_bits
        word |= x << at
    return word


# --- the pseudo-code of a lane ---------------------------------------------------------------------------------------


def names_of(machine: Machine, lane: Lane, operands: Sequence[int], old: int, across: bool = False) -> dict[str, Any]:
    """Return the variables of a program.

    With ``across``, it sees the registers of all lanes: VGPR 0, 1 and 2 are a, b and c, 3 is the old destination.
    """
    names: dict[str, Any] = {f"S{i}": Value("B", 64, x) for i, x in enumerate(operands)}
    names |= {
        "D0": Value("B", 64, old),
        "VCC": Value("U", 64, lane.vcc),
        "EXEC": Value("U", 64, lane.exec),
        "EXEC_LO": Value("U", 32, lane.exec & 0xFFFFFFFF),
        "SCC": Value("U", 1, lane.scc),
        "laneId": integer(lane.index, "U"),
        "IEEE": integer(1, "U", 1),
        "OPSEL": integer(0, "U", 4),
        "VGPR": _registers(lane) if across else [],
        "SRC0": integer(0, "U"),
        "VDST": integer(3, "U"),
        "WAVE32": integer(machine.lanes == 32, "U", 1),
        "WAVE64": integer(machine.lanes == 64, "U", 1),
    }
    return names


def _registers(lane: Lane) -> list[list[Value]]:
    return [[Value("B", 32, x & 0xFFFFFFFF) for x in each.vector] for each in lane.wave]


# --- listings --------------------------------------------------------------------------------------------------------

_HEAD = '\t.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n\t.text\n'
_DESCRIPTOR = """\t.section\t.rodata,"a",@progbits
\t.amdhsa_kernel {name}
\t\t.amdhsa_group_segment_fixed_size 1024
\t\t.amdhsa_user_sgpr_count 14
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_system_sgpr_workgroup_id_x 1
\t\t.amdhsa_system_vgpr_workitem_id 0
\t.end_amdhsa_kernel
\t.text
.Lfunc_end_{name}:
"""
_METADATA = """  - .name: {name}
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer}}
      - {{.offset: 16, .size: 8, .value_kind: global_buffer}}
    .kernarg_segment_size: 24
    .sgpr_count: 104
    .vgpr_count: 256
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: {lanes}
"""
#: Registers: s[16:17] EXEC, s[18:19] VCC, s[20:25] the scalar a b c, s[26:27] and s[30:31] old, s28 SCC;
#: v[4:9] a b c, v[10:11] old.
_EXEC, _VCC, _SCC, _OLD = 16, 18, 28, 26
_FIRST_MASK, _FIRST_VECTOR, MASKS_PER_KERNEL, CHECKS_PER_KERNEL = 32, 16, 34, 100


def _prologue(machine: Machine, stride: int) -> Iterator[str]:
    kinds = ("dwordx2", "dwordx4", "dwordx16") if machine.old else ("b64", "b128", "b512")
    pair, four, sixteen = (f"load_{kind}" for kind in kinds)
    add = "v_add_u32" if machine.generation == 9 else "v_add_nc_u32"
    if machine.generation >= 12:
        yield "s_mov_b32 s14, ttmp9"
    yield from (
        f"s_{four} s[4:7], s[0:1], 0x0",
        f"s_{pair} s[8:9], s[0:1], 0x10",
        "s_lshl_b32 s10, s14, 6",
        f"s_{sixteen} s[16:31], s[8:9], s10",
        f"s_lshl_b32 s11, s14, {machine.lanes.bit_length() - 1}",
        f"{add} v1, s11, v0",
        "v_lshlrev_b32 v2, 5, v1",
        f"global_{four} v[4:7], v2, s[4:5]",
        f"global_{four} v[8:11], v2, s[4:5] offset:16",
        f"v_mul_u32_u24 v3, {stride:#x}, v1",
    )


def _move_mask(machine: Machine, target: str, source: str) -> str:
    return f"s_mov_b{machine.lanes} {target}, {source}"


def _places(machine: Machine, vector: int = 20, mask: int = 32, at: int = 0) -> dict[str, str | int]:
    """Return the replacements for the names in braces in the text of a check."""
    execs, vccs = ("exec_lo", "vcc_lo") if machine.lanes == 32 else ("exec", "vcc")
    return {
        "d": f"v{vector}", "d1": f"v{vector + 1}", "dd": f"v[{vector}:{vector + 1}]", "at": at,
        "m": machine.mask(mask), "n": mask, "n1": mask + 1,
        "exec": execs, "vcc": vccs, "old_exec": machine.mask(_EXEC), "old_vcc": machine.mask(_VCC),
    }  # fmt: skip


def _body(machine: Machine, checks: Sequence[Check]) -> Iterator[str]:
    """Return the body of a kernel. Its output has 16 bytes per check and lane: the destination and the mask."""
    execs = _places(machine)["exec"]
    store = "global_store_dwordx2" if machine.old else "global_store_b64"
    yield from _prologue(machine, 16 * len(checks))
    vectors = {i: f"{_FIRST_VECTOR + 2 * i}" for i in range(len(checks))}
    masks: dict[int, int] = {}
    for i, check in enumerate(checks):
        if check.mask:
            masks[i] = _FIRST_MASK + 2 * len(masks)
        if not check.scalar:
            yield f"v_mov_b32 v{vectors[i]}, v10"
            yield f"v_mov_b32 v{int(vectors[i]) + 1}, v11"
    yield _move_mask(machine, execs, machine.mask(_EXEC))
    for i, check in enumerate(checks):
        d = int(vectors[i])
        text = (*check.before, check.text, *check.after)
        for line in text:
            yield line.format(**_places(machine, d, masks.get(i, 0), 16 * i + 8))
    yield _move_mask(machine, execs, "-1")
    for i, check in enumerate(checks):
        if not check.scalar:
            yield f"{store} v3, v[{vectors[i]}:{int(vectors[i]) + 1}], s[6:7] offset:{16 * i}"
        if check.mask:
            yield f"v_mov_b32 v12, s{masks[i]}"
            yield f"v_mov_b32 v13, s{masks[i] + 1}" if machine.lanes == 64 or check.scalar else "v_mov_b32 v13, 0"
            yield f"{store} v3, v[12:13], s[6:7] offset:{16 * i + 8}"
    yield "s_endpgm"


def kernels_of(checks: Sequence[Check]) -> list[list[Check]]:
    """Split checks into portions that fit the registers of a kernel."""
    portions: list[list[Check]] = [[]]
    for check in checks:
        full = sum(c.mask for c in portions[-1]) == MASKS_PER_KERNEL or len(portions[-1]) == CHECKS_PER_KERNEL
        if full:
            portions.append([])
        portions[-1].append(check)
    return portions


def listing_of(machine: Machine, portions: Sequence[Sequence[Check]]) -> str:
    code, metadata = [_HEAD.format(target=machine.target)], []
    for i, checks in enumerate(portions):
        code.append(f"k{i}:\n" + "".join(f"\t{line}\n" for line in _body(machine, checks)))
        code.append(_DESCRIPTOR.format(name=f"k{i}"))
        metadata.append(_METADATA.format(name=f"k{i}", lanes=machine.lanes))
    tail = f"---\namdhsa.target: amdgcn-amd-amdhsa--{machine.target}\namdhsa.kernels:\n{''.join(metadata)}...\n"
    return "".join(code) + f"\t.amdgpu_metadata\n{tail}\t.end_amdgpu_metadata\n"


def _records(groups: Sequence[Sequence[Lane]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    lanes = [lane.vector for group in groups for lane in group]
    waves = []
    for group in groups:
        lane = group[0]
        waves.append([lane.exec, lane.vcc, *lane.scalar, lane.scc, lane.scalar[3]])
    return np.array(lanes, np.uint64), np.array(waves, np.uint64)


Work = tuple[Sequence[Check], Sequence[Sequence[Lane]]]


def execute(machine: Machine, cache: Cache, work: Sequence[Work]) -> Iterator[str]:
    """Run checks with their lanes; yield a line for each wrong result."""
    portioned = [(portion, groups) for checks, groups in work for portion in kernels_of(checks)]
    portions = [portion for portion, _ in portioned]
    code = code_object.parse(listing_of(machine, portions), "checks")
    # One target runs compiled code, the others threaded code: an instruction has one text for both.
    device = AmdgpuDevice(cache=cache, capacity=1 << 24, traced=bool(machine.like or machine.share > 1))
    device.prepare(code, workers=1)
    for i, (portion, groups) in enumerate(portioned):
        lanes, waves = _records(groups)
        device.reset()
        inputs, out = device.allocate(lanes.nbytes, "in"), device.allocate(len(lanes) * 16 * len(portion), "out")
        scalars = device.allocate(waves.nbytes, "scalars")
        device.write(inputs, lanes)
        device.write(scalars, waves)
        args = pack(code.kernels[f"k{i}"], [inputs, out, scalars])
        device.launch(code, f"k{i}", grid=(len(groups), 1, 1), block=(machine.lanes, 1, 1), args=args)
        got = device.read(out).view(np.uint64).reshape(len(groups), machine.lanes, len(portion), 2)
        for k, check in enumerate(portion):
            yield from _differences(check, groups, got[:, :, k])


def _differences(check: Check, groups: Sequence[Sequence[Lane]], got: np.ndarray[Any, Any]) -> Iterator[str]:
    wrong, first = 0, ""
    for g, group in enumerate(groups):
        for lane in group if not check.scalar else group[:1]:
            asked = lane.active or check.scalar or check.everywhere
            value, mask = check.want(lane) if asked else (lane.vector[3], 0 if check.mask else None)
            x, m = int(got[g, lane.index, 0]), int(got[g, lane.index, 1])
            whole = check.scalar or check.memory
            bit = m if whole else m >> lane.index & 1
            if not check.scalar and value is not None and not check.same(x, value):
                wrong, first = wrong + 1, first or f"{_show(lane)}: {x:#x} instead of {value:#x}"
            if mask is not None and not (check.same(bit, mask) if whole else bit == mask):
                wrong, first = wrong + 1, first or f"{_show(lane)}: mask {bit:#x} instead of {mask:#x}"
    if wrong:
        yield f"{check.text}: {wrong} differ, first {first}"


def _show(lane: Lane) -> str:
    vector = " ".join(f"{n}={x:#x}" for n, x in zip("abcd", lane.vector, strict=True))
    state = f"{'on' if lane.active else 'off'} {vector} scalar {lane.scalar[0]:#x} vcc {lane.vcc >> lane.index & 1}"
    return f"lane {lane.index} {state}"


def accepted(machine: Machine, checks: Sequence[Check], folder: Path) -> list[Check]:
    """Return the checks that the assembler of the target accepts."""
    lines = ["\t" + check.text.format(**_places(machine)) for check in checks]
    source = folder / f"{machine.target}.s"
    source.write_text("\n".join(lines) + "\n")
    target = ["--target=amdgcn-amd-amdhsa", f"-mcpu={machine.target}"]
    arguments = ["clang", "-x", "assembler", *target, "-c", source, "-o", folder / "x.o"]
    refused = {int(n) for n in re.findall(r"\.s:(\d+):\d+: error:", zig.run(arguments).stderr)}
    return [check for i, check in enumerate(checks, 1) if i not in refused]
