"""Execute whole kernels lane by lane with the pseudo-code of AMD's manuals.

From the emulator, this interpreter takes only the parsed listing, the types of operands and the arguments of a launch.
Wavefronts have 32 lanes. Branches, addresses and exchanges between lanes, which the manuals describe in prose, are
implemented here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from isa_checks import Maker
from isa_evaluator import run
from isa_harness import Lane, Machine, Source, names_of, width
from isa_machine import APART, BUFFERS, IMAGE, KERNARG, REGISTERS, Astray, CannotRun, Memory, Program, Wave
from isa_operands import inline
from isa_syntax import parse
from isa_texts import text_of
from isa_values import Value, integer

from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.isa import Semantics, semantics
from parity.emulator.amdgpu.isa_names import canonical
from parity.emulator.amdgpu.kernarg import argument_segment, pack
from parity.emulator.instruction import Instruction
from parity.emulator.language import LaunchShape
from parity.model.code_object import CodeObject
from parity.model.launch import Buffer, Launch, Pointer, argument_bytes

__all__ = ["Astray", "CannotRun", "execute"]

_ACCESS = re.compile(r"(global|scratch|ds)_(load|store)_(2addr_)?(stride64_)?(d16_hi_|d16_)?([biu])(\d+)$")
_SYMBOL = re.compile(r"([\w.$]+)@(gotpc)?rel32@(lo|hi)([+-]\d+)?$")
_current: list[Wave] = []  # the running wavefront, for operands, which only see a lane


def execute(
    machine: Machine, code: CodeObject, launch: Launch, buffers: Mapping[str, Buffer], limit: int
) -> dict[str, bytes]:
    """Return the content of all buffers after a launch; ``limit`` is the number of instructions times lanes.

    Raises:
        CannotRun: an instruction, operand or modifier is unknown, or ``limit`` is exceeded.
        Astray: the kernel leaves its memory.
    """
    memory = Memory(
        {name: (BUFFERS + i * APART, each.data.tobytes()) for i, (name, each) in enumerate(buffers.items())}
    )
    image = data_image(code.listing)
    memory.add("image", IMAGE, image.placed(IMAGE))
    if launch.constants:
        raise CannotRun("constants that the host fills")

    def address(pointer: Pointer) -> int:
        if pointer.buffer is None:
            return 0
        return memory.start[pointer.buffer] + pointer.offset * buffers[pointer.buffer].dtype.itemsize

    left = [limit]
    for each in launch.sequence:
        kernel = code.kernels[each.kernel]
        args = pack(kernel, [a if isinstance(a, bytes) else argument_bytes(a, address) if not isinstance(a, Pointer)
                             else address(a) for a in each.args])  # fmt: skip
        shape = LaunchShape(each.grid, each.block, each.shared_bytes)
        memory.add("arguments", KERNARG, argument_segment(kernel, args, shape, 0))
        program = Program(machine, code, each.kernel, _prepared)
        for group in np.ndindex(*each.grid[::-1]):
            _group(program, memory, group[::-1], each, kernel.lds_bytes + each.shared_bytes, kernel.scratch_bytes, left)
    return {name: bytes(memory.content[memory.start[name]]) for name in buffers}


def _group(
    program: Program, memory: Memory, group: Any, launch: Launch, lds_bytes: int, scratch: int, left: list[int]
) -> None:
    """Run the wavefronts of a workgroup in turn, each up to its next barrier."""
    lanes, threads = program.machine.lanes, int(np.prod(launch.block))
    lds = bytearray(lds_bytes)
    waves = [
        Wave(program, memory, group, launch.block, first, lds, scratch, left) for first in range(0, threads, lanes)
    ]
    running = [wave.run() for wave in waves]
    while running:
        running = [wave for wave in running if next(wave, "end") != "end"]


def _constant(program: Program, text: str, kind: str) -> int | None:
    """Return the bits of a constant, a literal or half of an address; ``None`` for a register."""
    if match := _SYMBOL.match(text):
        address = program.symbol(f"{match[1]}@got") if match[2] else program.symbol(match[1]) + int(match[4] or 0)
        return address >> 32 if match[3] == "hi" else address & 0xFFFFFFFF
    bits = width(kind)
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
        value = int(text, 0)
        if "0x" in text and kind == "f64":
            return value << 32
        if "0x" in text and kind == "i64" and value >> 31 == 1:
            value -= 1 << 32
        return value & (1 << bits) - 1
    if re.fullmatch(r"-?\d*\.\d+(e-?\d+)?", text):
        return inline(text, kind).bits(None)  # type: ignore[arg-type]
    return None


def _source(program: Program, text: str, kind: str, half: int = 0) -> Source:
    """Return an operand of a vector instruction with its source modifiers."""
    negative = text.startswith("-") and not text[1:2].isdigit()
    text = text[1:] if negative else text
    magnitude = text.startswith("|")
    text = text.strip("|")
    bits = 32 if kind in ("mix", "lane0") else 0 if kind == "mask" else width(kind)
    if kind == "mask":
        return Source(text, lambda lane: _current[0].get(text, _current[0].lanes) >> lane.index & 1, kind)
    if (constant := _constant(program, text, "f32" if kind == "mix" else kind)) is not None:
        source = Source(text, lambda lane: constant, kind)
    elif match := REGISTERS.match(text) if text[0] == "v" and text[:3] != "vcc" else None:
        first, count = int(match[2] or match[3]), (bits + 31) // 32
        shift = 16 if match[5] == "h" or (half and bits == 16) else 0
        ones = (1 << bits) - 1
        source = Source(text, lambda lane: _current[0].vector(first, count, lane.index) >> shift & ones, kind)
    else:
        shift, ones = 16 if half and bits == 16 else 0, (1 << bits) - 1
        source = Source(text, lambda lane: _current[0].get(text, bits) >> shift & ones, kind)
    if kind == "mix":
        return source
    return source.signed(magnitude, negative) if magnitude or negative else source


def _prepared(program: Program, item: Instruction) -> Callable[[Wave], None]:
    """Return a function that executes an instruction."""
    return _pair(program, item) if item.paired else _step(program, item)


def _pair(program: Program, item: Instruction) -> Callable[[Wave], None]:
    """Prepare a dual-issue pair, whose halves both read before either writes."""
    assert item.paired
    writes = [_vector(program, half, known_of(half)) for half in (item, item.paired)]

    def step(wave: Wave) -> None:
        for put in [write(wave) for write in writes]:
            put()

    return step


def known_of(item: Instruction) -> Semantics:
    known = semantics(canonical(item.mnemonic))
    if known is None:
        raise CannotRun(f"instruction {item.mnemonic}")
    return known


def _step(program: Program, item: Instruction) -> Callable[[Wave], None]:
    name = canonical(item.mnemonic)
    if match := _ACCESS.match(name):
        return _access(program, item, match)
    if name.startswith("s_load_b"):
        return _scalar_load(program, item, int(name[8:]))
    if name in _OWN:
        return functools.partial(_OWN[name], program, item)
    known = known_of(item)
    if program.machine.text(name) is None:
        raise CannotRun(f"instruction {item.mnemonic}, of which the manual has no pseudo-code")
    if known.uniform:
        raise CannotRun(f"instruction {item.mnemonic}")
    if known.scalar:
        return _scalar(program, item, name, known)
    write = _vector(program, item, known)
    return lambda wave: write(wave)()


# --- ALU -------------------------------------------------------------------------------------------------------------


def _scalar(program: Program, item: Instruction, name: str, known: Semantics) -> Callable[[Wave], None]:
    machine, (result,) = program.machine, known.results
    operands = list(item.operands)
    target = "" if result == "scc" else operands.pop(0)
    kinds = [f"u{machine.lanes}" if k == "mask" else k for k in known.sources]
    text = text_of(machine, name)
    tree = parse(text.replace("u64", f"u{machine.lanes}") if name.endswith("saveexec") else text)
    bits = 64 if result.endswith("64") or (result == "exec" and machine.lanes == 64) else 32

    def read(wave: Wave, text: str, kind: str) -> int:
        if kind in ("k16", "uk16"):
            return int(text, 0) & 0xFFFF
        constant = _constant(program, text, kind)
        return wave.get(text, width(kind)) if constant is None else constant

    def step(wave: Wave) -> None:
        values = [read(wave, o, k) for o, k in zip(operands, kinds, strict=True)]
        names = names_of(machine, Lane(0, (0,) * 4, (0,) * 4, wave.exec, wave.vcc, wave.scc), values, 0)
        names["D0"] = Value("B", bits, wave.get(target, bits) if target else 0)
        for kind, value in zip(kinds, values, strict=True):
            if kind in ("k16", "uk16"):
                names["SIMM16"] = integer(value, "U", 16)
        run(tree, names, machine.library)
        if target:
            wave.put(target, bits, names["D0"].bits)
        if result == "exec":
            wave.exec = names["EXEC"].bits & (1 << wave.lanes) - 1
        wave.scc = names["SCC"].bits & 1

    return step


_LIST = re.compile(r"(op_sel|op_sel_hi|neg_lo|neg_hi):\[([\d,]+)\]$")


def _vector(program: Program, item: Instruction, known: Semantics) -> Callable[[Wave], Callable[[], None]]:
    """Return a function that computes all lanes and returns a function that writes the results."""
    machine, name = program.machine, canonical(item.mnemonic)
    operands, lists, clamp, omod = list(item.operands), {}, False, ""
    for modifier in item.modifiers:
        if match := _LIST.match(modifier):
            lists[match[1]] = [int(x) for x in match[2].split(",")]
        elif modifier == "clamp":
            clamp = True
        elif modifier in ("mul:2", "mul:4", "div:2"):
            omod = modifier
        else:
            raise CannotRun(f"modifier {modifier} of {item.mnemonic}")
    targets = []
    for result in known.results:
        implicit = result == "exec" and len(operands) == len(known.sources)
        targets.append("exec" if implicit else operands.pop(0))
    if len(operands) == len(known.sources) - 1 and known.sources[-1] == "mask":
        operands.append("vcc_lo")
    if known.packed:
        return _packed(program, item, known, operands, targets[0], lists, clamp)
    if known.results == ("lane0",):
        raise CannotRun(f"instruction {item.mnemonic}")
    mix = "mix" in known.sources
    halves = [0] * 4 if mix else [*lists.get("op_sel", ()), 0, 0, 0, 0][: len(operands) + 1]
    sources = [_source(program, o, k, h) for o, k, h in zip(operands, known.sources, halves, strict=False)]
    choice = None
    if mix:
        choice = [(lists.get(key) or [0] * 3) for key in ("op_sel", "op_sel_hi")]
        signs = [(o.lstrip("-").startswith("|"), o.startswith("-") and not o[1:2].isdigit()) for o in operands]
        which = [s if h else -1 for s, h in zip(*choice, strict=True)]
        sources = [s.signed(*sign, c) for s, sign, c in zip(sources, signs, which, strict=True)]
    make = _maker(machine, name, known)
    result = known.results[0]
    first = REGISTERS.match(targets[0]) if targets[0][0] == "v" and targets[0][:3] != "vcc" else None
    high = int(bool(first and first[5] == "h"))
    count = 2 if result.endswith("64") else 1
    masks = [t for t, r in zip(targets, known.results, strict=True) if r in ("mask", "exec")]
    neg = tuple(lists.get("neg_lo", ())) if "_iu" in name else ()
    seen: dict[tuple[Any, ...], tuple[int | None, int | None]] = {}

    def compute(wave: Wave) -> Callable[[], None]:
        _current[:] = [wave]
        mask, written = 0, []
        for i in wave.active():
            old = wave.vector(int(first[2] or first[3]), count, i) if first else 0
            lane = Lane(i, (0, 0, 0, old), (0,) * 4, wave.exec, wave.vcc, wave.scc)
            key = (*(s.bits(lane) for s in sources), old, wave.vcc >> i & 1, i if "mbcnt" in name else 0)
            if key not in seen:
                seen[key] = make.want(lane, sources, high, choice, clamp, omod, neg)
            value, bit = seen[key]
            mask |= (bit or 0) << i
            written.append((i, value))

        def put() -> None:
            if first:
                for i, value in written:
                    wave.put_vector(int(first[2] or first[3]), count, i, value or 0)
            for target in masks:
                wave.put(target, wave.lanes, mask)

        return put

    return compute


@functools.cache
def _maker(machine: Machine, name: str, known: Semantics) -> Maker:
    return Maker(machine, name, name, known)


def _packed(
    program: Program, item: Instruction, known: Semantics, operands: list[str], target: str, lists: Any, clamp: bool
) -> Callable[[Wave], Callable[[], None]]:
    """Compute both halves of a register; modifiers choose the halves of each source."""
    kind, count = known.results[0], len(operands)
    if width(kind) != 16 or clamp or any("op_sel" not in k and "neg" not in k for k in lists):
        raise CannotRun(f"instruction {item.text}")
    tree = parse(text_of(program.machine, canonical(item.mnemonic)))
    low, high, neg_low, neg_high = (
        lists.get(key, [usual] * count)
        for key, usual in (("op_sel", 0), ("op_sel_hi", 1), ("neg_lo", 0), ("neg_hi", 0))
    )
    sources = [_source(program, o, "u32") if o[0] in "vs" else _source(program, o, "f16") for o in operands]
    match = REGISTERS.match(target)
    assert match
    first = int(match[2])

    def compute(wave: Wave) -> Callable[[], None]:
        _current[:] = [wave]
        written = []
        for i in wave.active():
            lane = Lane(i, (0,) * 4, (0,) * 4, wave.exec, wave.vcc, wave.scc)
            values = []
            for k, source in enumerate(sources):
                word = source.bits(lane)
                lo, hi = word >> 16 * low[k] & 0xFFFF, word >> 16 * high[k] & 0xFFFF
                values.append((lo ^ neg_low[k] << 15) | (hi ^ neg_high[k] << 15) << 16)
            names = names_of(program.machine, lane, values, wave.v[first][i])
            run(tree, names, program.machine.library)
            written.append((i, names["D0"].bits & 0xFFFFFFFF))

        def put() -> None:
            for i, value in written:
                wave.v[first][i] = value

        return put

    return compute


# --- memory ----------------------------------------------------------------------------------------------------------


def _offsets(item: Instruction) -> dict[str, int]:
    return {key: int(value, 0) for key, _, value in (m.partition(":") for m in item.modifiers) if value}


def _scalar_load(program: Program, item: Instruction, bits: int) -> Callable[[Wave], None]:
    target, base, *rest = item.operands
    match = REGISTERS.match(target)
    offset = _offsets(item).get("offset", 0)

    def step(wave: Wave) -> None:
        at = wave.get(base, 64) + offset
        for each in rest:
            constant = _constant(program, each, "u32")
            at += (wave.get(each, 32) if constant is None else constant) if each != "null" else 0
        content = wave.memory.read(at & ~3, bits // 8)
        for i in range(bits // 32):
            word = content >> 32 * i & 0xFFFFFFFF
            if match and match[1] == "s":
                wave.s[int(match[2] or match[3]) + i] = word
            else:
                wave.put(target, 32, word)

    return step


def _access(program: Program, item: Instruction, match: re.Match[str]) -> Callable[[Wave], None]:
    space, verb, pair, stride, half, sign, bits = match.groups()
    size, loads, given = int(bits) // 8, verb == "load", _offsets(item)
    operands = list(item.operands)
    target = operands.pop(0) if loads else ""
    place = operands.pop(0)
    data = [operands.pop(0)] if not loads else []
    if pair and not loads:
        data.append(operands.pop(0))
    saddr = operands.pop(0) if space != "ds" else "off"
    scale = size * (64 if stride else 1)
    parts = [given.get(k, 0) * scale for k in ("offset0", "offset1")] if pair else [given.get("offset", 0)]

    def address(wave: Wave, lane: int) -> int:
        at = wave.get(saddr, 64 if space == "global" else 32) if saddr != "off" else 0
        if place != "off":
            register = REGISTERS.match(place)
            assert register
            at += wave.vector(int(register[2] or register[3]), 2 if register[3] and space == "global" else 1, lane)
        return at

    def memory(wave: Wave, lane: int, at: int, bits: int | None = None) -> int:
        """Read, or write ``bits``."""
        if space == "global":
            return wave.memory.read(at, size) if bits is None else wave.memory.write(at, size, bits) or 0
        content = wave.lds if space == "ds" else wave.scratch[lane]
        if at + size > len(content):
            raise Astray(f"an access of {size} bytes at {at} of {len(content)}")
        if bits is not None:
            content[at : at + size] = (bits & (1 << 8 * size) - 1).to_bytes(size, "little")
        return int.from_bytes(content[at : at + size], "little")

    def load(wave: Wave) -> None:
        register = REGISTERS.match(target)
        assert register
        first = int(register[2] or register[3])
        for lane in list(wave.active()):
            at = address(wave, lane)
            words = max(size // 4, 1)
            values = [memory(wave, lane, at + part) for part in parts]
            if sign == "i":
                values = [v - (1 << 8 * size) if v >> 8 * size - 1 else v for v in values]
            for k, value in enumerate(values):
                if half:
                    old, up = wave.v[first][lane], 16 if half == "d16_hi_" or register[5] == "h" else 0
                    if wave.lanes == 64:  # gfx90a and gfx942: the error correction of registers clears the other half
                        old = 0
                    wave.v[first][lane] = old & ~(0xFFFF << up) | (value & 0xFFFF) << up
                else:
                    wave.put_vector(first + k * words, words, lane, value & (1 << 32 * words) - 1)

    def store(wave: Wave) -> None:
        for lane in wave.active():
            at = address(wave, lane)
            for part, text in zip(parts, data, strict=True):
                register = REGISTERS.match(text)
                if not register or register[1] != "v":
                    raise CannotRun(f"operand {text} of {item.mnemonic}")
                value = wave.vector(int(register[2] or register[3]), max(size // 4, 1), lane)
                memory(wave, lane, at + part, value >> (16 if half == "d16_hi_" or register[5] == "h" else 0))

    return load if loads else store


# --- instructions that the manuals describe in prose ------------------------------------------------------------


def _getpc(program: Program, item: Instruction, wave: Wave) -> None:
    wave.put(item.operands[0], 64, 0)  # the parsed listing replaces distances to symbols by addresses


def _readfirstlane(program: Program, item: Instruction, wave: Wave) -> None:
    _current[:] = [wave]
    lane = next(wave.active(), 0)
    source = _source(program, item.operands[1], "u32")
    wave.put(item.operands[0], 32, source.bits(Lane(lane, (0,) * 4, (0,) * 4, 0, 0, 0)))


def _readlane(program: Program, item: Instruction, wave: Wave) -> None:
    chosen = _constant(program, item.operands[2], "u32")
    lane = (wave.get(item.operands[2], 32) if chosen is None else chosen) % wave.lanes
    wave.put(item.operands[0], 32, wave.v[int(item.operands[1][1:])][lane])


def _writelane(program: Program, item: Instruction, wave: Wave) -> None:
    value, lane = (wave.get(o, 32) if (c := _constant(program, o, "u32")) is None else c for o in item.operands[1:3])
    wave.v[int(item.operands[0][1:])][lane % wave.lanes] = value


def _bpermute(program: Program, item: Instruction, wave: Wave) -> None:
    """Exchange values between lanes; inactive lanes give 0."""
    target, at, data = (int(o[1:]) for o in item.operands)
    offset = _offsets(item).get("offset", 0)
    source = [x if wave.exec >> i & 1 else 0 for i, x in enumerate(wave.v[data])]
    found = {i: source[(wave.v[at][i] + offset >> 2) % wave.lanes] for i in wave.active()}
    for i, value in found.items():
        wave.v[target][i] = value


_OWN: dict[str, Callable[[Program, Instruction, Wave], None]] = {
    "s_getpc_b64": _getpc,
    "v_readfirstlane_b32": _readfirstlane,
    "v_readlane_b32": _readlane,
    "v_writelane_b32": _writelane,
    "ds_bpermute_b32": _bpermute,
}
