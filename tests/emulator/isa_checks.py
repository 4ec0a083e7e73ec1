"""Generate the checks of each entry of the emulator's tables: without modifiers, and with each possible modifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import gmpy2
from isa_evaluator import run
from isa_harness import Check, Lane, Machine, Source, accepted, names_of, width
from isa_operands import INLINE, inline, literal, register, sgpr
from isa_syntax import parse
from isa_texts import (
    APPROXIMATE,
    FLUSHED,
    HALVES,
    MOVES,
    OWN,
    SIGNLESS,
    UNORDERED_ZEROS,
    float_value,
    flush,
    same_floats,
    text_of,
)
from isa_values import Value, compute, integer, rounded

from parity.emulator.amdgpu.isa import KEEPS_HIGH, Semantics, semantics
from parity.emulator.amdgpu.operands import with_output_modifiers
from parity.emulator.instruction import Unknown

# --- vector instructions ---------------------------------------------------------------------------------------------


def vector_checks(machine: Machine, entry: str, name: str, known: Semantics) -> Iterator[Check]:
    """Yield candidates; the assembler decides which of them exist."""
    if known.packed:
        yield from _packed(machine, entry, name, known)
        return
    if entry in _OWN_CHECKS:
        yield from _OWN_CHECKS[entry]
        return
    if known.results == ("lane0",):
        yield from _first_lane(machine, entry, name)
        return
    kinds = known.sources
    plain = [register(machine, i, k) for i, k in enumerate(kinds)]
    make = Maker(machine, entry, name, known)
    if entry.startswith(("v_fmaak", "v_fmamk")):
        at = 2 if entry.startswith("v_fmaak") else 1
        yield make([*plain[:at], literal(kinds[at]), *plain[at + 1 :]])
        return
    yield make(plain)
    if any(k[0] in "fm" and k != "mask" for k in kinds):
        for signs in (((1, 0), (0, 1), (1, 1)), ((0, 1), (1, 0), (0, 0))):
            yield make([_sign(s, *sign) for s, sign in zip(plain, signs, strict=False)])
            if known.results[0] == "exec":
                return
    if "_iu" in entry:
        yield make(plain, neg=(1, 0, 0))
        yield make(plain, neg=(0, 1, 0))
        yield make(plain, neg=(1, 1, 0))
    turn = crc32(f"{machine.target} {entry}".encode())
    for i, kind in enumerate(kinds):
        if kind != "mask":
            constants = (sgpr(i, kind), literal(kind), *(inline(t, kind) for t in INLINE[kind[0]]))
            source = constants[(turn + 2 * i) % len(constants)]
            yield make([*plain[:i], source, *plain[i + 1 :]])
    if any(width_or_zero(k) == 16 for k in (*kinds, *known.results)) and "mix" not in kinds:
        wide = width_or_zero(known.results[0]) != 16
        for halves, high in (((1, 1, 1), 1), ((0, 1, 0), 1), ((1, 0, 1), 0), ((0, 0, 0), 1)):
            if not (wide and high) and not (high and "OPSEL" in (machine.text(entry) or "")):
                chosen = [register(machine, i, k, halves[i]) for i, k in enumerate(kinds)]
                yield make(chosen, halves=halves, high=high)
    if "mix" in kinds:
        for select, high in (
            ((0, 0, 0), (1, 1, 1)),
            ((1, 0, 1), (1, 1, 1)),
            ((0, 1, 0), (1, 1, 0)),
            ((1, 1, 1), (0, 1, 1)),
        ):
            for signs in (((0, 0), (0, 0), (0, 0)), ((1, 0), (0, 1), (1, 1))):
                yield make(plain, mix=(select, high), signs=signs)
    # Integers saturate; the emulator rejects instructions without a saturating form by name.
    if (known.results[0][0] == "f" and len(known.results) == 1) or _has_saturated_form(known):
        yield make(plain, clamp=True)
    if known.results[0][0] == "f" and "mask" not in known.results:
        yield make(plain, omod=("mul:2", "mul:4", "div:2")[turn % 3])


def _has_saturated_form(known: Semantics) -> bool:
    try:
        return (
            bool(with_output_modifiers(known.expressions[0], known.results[0], "clamp", "")) and len(known.results) == 1
        )
    except Unknown:
        return False


def _sign(source: Source, magnitude: int, negative: int) -> Source:
    return (
        source.signed(bool(magnitude), bool(negative)) if source.kind[0] in "fm" and source.kind != "mask" else source
    )


class Maker:
    """Creates the check of an instruction from its operands and modifiers."""

    def __init__(self, machine: Machine, entry: str, name: str, known: Semantics) -> None:
        self.machine, self.entry, self.name, self.known = machine, entry, name, known
        self.program = parse(text_of(machine, entry)) if entry not in OWN else []
        ulps = 1 if APPROXIMATE.match(entry) else 0
        result = known.results[0]
        floats = result[0] == "f" and not MOVES.match(entry)
        at = 16 if result == "f16hi" else 0
        self.kind = result.removesuffix("hi")
        zeros = bool(SIGNLESS.match(entry) or (machine.generation == 9 and UNORDERED_ZEROS.match(entry)))
        self.same = same_floats([(at, self.kind)], ulps, zeros) if floats else int.__eq__
        if entry in HALVES:
            self.same = same_floats([(0, "f16"), (16, "f16")])
        self.same_high = same_floats([(16, self.kind)], ulps, zeros) if floats else int.__eq__

    def __call__(
        self,
        sources: Sequence[Source],
        *,
        halves: Sequence[int] = (),
        high: int = 0,
        mix: tuple[Sequence[int], Sequence[int]] | None = None,
        signs: Sequence[tuple[int, int]] = (),
        clamp: bool = False,
        omod: str = "",
        neg: Sequence[int] = (),
    ) -> Check:
        machine, known, entry = self.machine, self.known, self.entry
        result = known.results[0]
        mask = bool({"mask", "exec"} & set(known.results))
        if mix:
            choice = [s if h else -1 for s, h in zip(*mix, strict=True)]
            sources = [s.signed(bool(m), bool(n), c) for s, (m, n), c in zip(sources, signs, choice, strict=True)]
        destination = "{dd}" if result.endswith("64") else "{d}"
        if width_or_zero(result) == 16 and machine.half_registers and result != "f16hi" and "mix" not in known.sources:
            destination += (".l", ".h")[high]
        targets = {"mask": "{m}", "exec": "{m}" if machine.generation == 9 else "", "lane0": "{m}"}
        outputs = [targets.get(r, destination if i == 0 else "") for i, r in enumerate(known.results)]
        modifiers = []
        if halves and not machine.half_registers:
            selects = [h if width_or_zero(k) == 16 else 0 for h, k in zip(halves, known.sources, strict=False)]
            modifiers.append(f"op_sel:[{','.join(map(str, (*selects, high)))}]")
        if mix:
            modifiers += [f"op_sel:[{','.join(map(str, mix[0]))}]", f"op_sel_hi:[{','.join(map(str, mix[1]))}]"]
        if neg:
            modifiers.append(f"neg_lo:[{','.join(map(str, neg))}]")
        modifiers += ["clamp"] * clamp + [omod] * bool(omod)
        shown = ", ".join(x for x in (*outputs, *(s.text for s in sources)) if x)
        text = " ".join((self.name, shown, *modifiers))
        signed = any(s.text.startswith(("-", "|")) for s in sources)
        before: tuple[str, ...] = ()
        after: tuple[str, ...] = ()
        if entry.startswith("v_div_fmas"):
            before = (f"s_mov_b{machine.lanes} {{vcc}}, {{old_vcc}}",)
        if "exec" in known.results:
            read, restore = f"s_mov_b{machine.lanes} {{m}}, {{exec}}", f"s_mov_b{machine.lanes} {{exec}}, {{old_exec}}"
            both = machine.generation == 9  # generation 9 also writes an SGPR
            after = (restore,) if both and signed else (read, restore)

        def want(lane: Lane) -> tuple[int | None, int | None]:
            return self.want(lane, sources, high, mix, clamp, omod, neg)

        return Check(entry, text, want, self.same_high if high else self.same, before, after, mask)

    def want(
        self, lane: Lane, sources: Sequence[Source], high: int, mix: Any, clamp: bool, omod: str, neg: Sequence[int]
    ) -> tuple[int | None, int | None]:
        entry, known = self.entry, self.known
        operands = [s.bits(lane) for s in sources if s.kind != "mask"]
        old = lane.vector[3]
        if FLUSHED.match(entry):
            operands = [flush(self.kind, x) for x in operands]
        names = names_of(self.machine, lane, operands, old >> 16 * high)
        for s in sources:
            if s.kind == "mask":
                names["VCC"] = Value("U", 64, s.bits(lane) << lane.index)
        names["NEG"] = integer(sum(n << i for i, n in enumerate(neg)), "U", 3)
        if mix:
            names["S"] = [Value("B", 32, x) for x in operands]
            for name, bits in zip(("OPSEL", "OPSEL_HI"), mix, strict=True):
                names[name] = integer(sum(b << i for i, b in enumerate(bits)), "U", 3)
        elif "mix" in known.sources:
            names |= {"S": [Value("B", 32, x) for x in operands], "OPSEL": integer(0), "OPSEL_HI": integer(0)}
        if entry.startswith(("v_fmaak", "v_fmamk")):
            at = 2 if entry.startswith("v_fmaak") else 1
            names["SIMM32"] = names[f"S{at}"]
            names["S1"] = names["S2"] if at == 1 else names["S1"]
        if entry.startswith("v_div_scale"):
            names["D0"] = Value("B", 64, old >> width(self.kind) << width(self.kind) | operands[0])
        integers = self.kind[0] in "iu"
        if entry in OWN:
            result = OWN[entry](self.kind, operands)
            ones = (1 << width(self.kind)) - 1
            names["D0"] = Value("B", 64, names["D0"].bits & ~ones | result)
        else:
            run(self.program, names, self.machine.library, exact=clamp and integers)
        mask = None
        if entry.startswith("v_div_scale"):
            mask = names["VCC"].bits & 1
        elif "exec" in known.results:
            return old, names["EXEC"].bits >> lane.index & 1
        elif known.results == ("mask",):
            return old, names["D0"].bits >> lane.index & 1
        elif "mask" in known.results:
            mask = names["D1"].bits & 1 if "D1" in names else names["VCC"].bits >> lane.index & 1
        bits = names["D0"].bits
        if self.kind[0] == "f":
            at = 16 if known.results[0] == "f16hi" else 0
            ones = (1 << width(self.kind)) - 1
            value = bits >> at & ones
            if FLUSHED.match(entry):
                value = flush(self.kind, value)
            value = output_modifiers(self.kind, value, clamp, omod)
            bits = bits & ~(ones << at) | value << at
        if clears_high(self.machine, entry, known.results[0]) and not high:
            bits = bits & ~0xFFFF0000
        if high:
            bits = old & ~0xFFFF0000 | (bits & 0xFFFF) << 16
        return bits, mask


def clears_high(machine: Machine, entry: str, result: str) -> bool:
    """True if generation 9 clears the upper half of a 16-bit result, which the pseudo-code does not state."""
    return machine.generation == 9 and result in ("f16", "i16", "u16") and entry not in KEEPS_HIGH


def width_or_zero(kind: str) -> int:
    return 0 if kind in ("mask", "exec", "lane0") else width(kind)


def output_modifiers(kind: str, bits: int, clamp: bool, omod: str) -> int:
    value = float_value(kind, bits)
    if omod:
        factor = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}[omod]
        value = compute(gmpy2.mul, value, rounded(factor, "F", width(kind)))
    if clamp:
        n = value.number
        if not n > 0:  # a NaN becomes 0: DX10_CLAMP
            return 0
        return rounded(1, "F", width(kind)).bits if n > 1 else value.bits
    return value.bits


def _moved(lane: Lane) -> tuple[int, None]:
    return lane.vector[3] >> 32 << 32 | lane.vector[0] & 0xFFFFFFFF, None


def _moves(entry: str, text: str, before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, list[Check]]:
    return entry, [Check(entry, f"{entry} {text}", _moved, before=before, after=after)]


#: Moves to and from the second register file. The manuals have no pseudo-code for them.
_OWN_CHECKS = dict(
    (
        _moves("v_accvgpr_read_b32", "{d}, a4", ("v_accvgpr_write_b32 a4, v4",), ()),
        _moves("v_accvgpr_write_b32", "a6, v4", (), ("v_accvgpr_read_b32 {d}, a6",)),
        _moves("v_accvgpr_mov_b32", "a9, a8", ("v_accvgpr_write_b32 a8, v4",), ("v_accvgpr_read_b32 {d}, a9",)),
    )
)


def _first_lane(machine: Machine, entry: str, name: str) -> Iterator[Check]:
    program = parse(text_of(machine, entry))

    def want(lane: Lane, exec: int | None = None) -> tuple[None, int]:
        lane = lane if exec is None else replace(lane, exec=exec)
        names = names_of(machine, lane, (), 0, across=True)
        run(program, names, machine.library)
        return None, names["D0"].bits

    zero, text = "s_mov_b32 s{n1}, 0", f"{name} s{{n}}, v4"
    move = f"s_mov_b{machine.lanes} {{exec}},"
    yield Check(entry, text, want, before=(zero,), mask=True, scalar=True)
    nobody = {"before": (zero, f"{move} 0"), "after": (f"{move} {{old_exec}}",)}
    yield Check(entry, text, lambda lane: want(lane, 0), mask=True, scalar=True, **nobody)


def _packed(machine: Machine, entry: str, name: str, known: Semantics) -> Iterator[Check]:
    """Check both halves of a register or both registers of a pair. A move takes the upper half from its second
    source.
    """
    program = parse(text_of(machine, entry))
    kind, moves = known.results[0], entry == "v_pk_mov_b32"
    count, bits = 2 if moves else len(known.sources), width(kind)
    floats, ones = kind[0] == "f", (1 << bits) - 1
    zeros = machine.generation == 9 and bool(UNORDERED_ZEROS.match(entry))
    same = same_floats([(0, kind), (bits, kind)], zeros=zeros) if floats else int.__eq__
    destination = "{d}" if bits == 16 else "{dd}"

    def operand(i: int, text: str) -> Callable[[Lane], int]:
        if text[0] == "v":
            return lambda lane: lane.vector[i] & (1 << 2 * bits) - 1
        if text[0] == "s":
            return lambda lane: lane.scalar[i] & (1 << 2 * bits) - 1
        word = rounded(float(text), "F", 16).bits if "." in text else int(text, 0) & 0xFFFFFFFF
        return lambda lane: word

    def make(texts: Sequence[str], low: int, high: int, neg_low: int, neg_high: int, clamp: bool = False) -> Check:
        lists = {"op_sel": (low, 0), "op_sel_hi": (high, 7), "neg_lo": (neg_low, 0), "neg_hi": (neg_high, 0)}
        shown = [f"{n}:[{','.join(str(x >> i & 1) for i in range(count))}]" for n, (x, usual) in lists.items()
                 if x & (1 << count) - 1 != usual & (1 << count) - 1]  # fmt: skip
        reads = [operand(i, t) for i, t in enumerate(texts)]

        def want(lane: Lane) -> tuple[int | None, int | None]:
            operands = []
            for i, read in enumerate(reads):
                word = read(lane)
                lo, hi = word >> bits * (low >> i & 1) & ones, word >> bits * (high >> i & 1) & ones
                top = bits - 1
                chosen = lo ^ (neg_low >> i & 1) << top | (hi ^ (neg_high >> i & 1) << top) << bits
                operands.append(word if moves else chosen)
            names = names_of(machine, lane, operands, lane.vector[3])
            names["OPSEL"] = integer(low, "U", 3)
            run(program, names, machine.library, exact=clamp and not floats)
            word = names["D0"].bits
            if clamp and floats:
                halves = [output_modifiers(kind, word >> at & ones, True, "") for at in (0, bits)]
                word = word >> 2 * bits << 2 * bits | halves[0] | halves[1] << bits
            return word, None

        text = f"{name} {', '.join((destination, *texts))} {' '.join((*shown, *['clamp'] * clamp))}".strip()
        return Check(entry, text, want, same)

    pair = (lambda file, i: f"{file}[{i}:{i + 1}]") if bits == 32 else (lambda file, i: f"{file}{i}")
    plain = [pair("v", 4 + 2 * i) for i in range(count)]
    yield make(plain, 0, 7, 0, 0)
    yield make(plain, 5, 7 if moves else 2, 0, 0)
    yield make(plain, 2, 7 if moves else 5, 0, 0)
    if floats:
        yield make(plain, 0, 7, 5, 2)
        yield make(plain, 3, 6, 2, 7)
    turn = crc32(entry.encode())
    constants = ("1.0" if floats else "-1", "5", "0x3c00bc01") if bits == 16 else ()
    for i in range(count):
        for k, text in enumerate((pair("s", 20 + 2 * i), *constants)):
            if (i + k + turn) % 2:
                yield make([*plain[:i], text, *plain[i + 1 :]], 0, 7 if moves else (7, 0)[k % 3 == 0], 0, 0)
    if floats or _has_saturated_form(known):
        yield make(plain, 0, 7, 0, 0, clamp=True)


# --- scalar instructions ---------------------------------------------------------------------------------------------


def _low_halves_same(got: int, want: int) -> bool:
    """Compare only the lower half: the text does not define the upper half of an f16 in a scalar register."""
    return same_floats([(0, "f16")])(got & 0xFFFF, want & 0xFFFF)


def scalar_checks(machine: Machine, entry: str, name: str, known: Semantics) -> Iterator[Check]:
    """Check the result, and SCC in bit 0 of a second check."""
    kinds = [f"u{machine.lanes}" if k == "mask" else k for k in known.sources]
    text = text_of(machine, entry)
    program = parse(text.replace("u64", f"u{machine.lanes}") if entry.endswith("saveexec") else text)
    (result,) = known.results
    ulps = 1 if APPROXIMATE.match(entry) else 0
    bits = 64 if result.endswith("64") or (result == "exec" and machine.lanes == 64) else 32

    def operand(i: int, kind: str, how: str) -> Source:
        if kind in ("k16", "uk16"):
            value = {"plain": 0x7FFE, "other": 0x8003 if kind == "k16" else 0xFFF3}[how]
            shown = value - (1 << 16) if kind == "k16" and value >> 15 else value
            return Source(f"{shown:#x}", lambda lane: value, kind)
        if how == "plain":
            return sgpr(i, kind)
        return inline("-7" if kind[0] in "iu" and i == 0 else "35", kind) if how == "other" else literal(kind)

    constant = {"s_fmaak": 2, "s_fmamk": 1}.get(entry[:7])
    variants = [("plain", "plain"), ("other", "plain"), ("plain", "other"), ("literal", "plain"), ("plain", "literal")]
    if constant:
        variants = [tuple("literal" if i == constant else "plain" for i in range(3))]
    for hows in variants:
        if any(k in ("k16", "uk16") and h == "literal" for k, h in zip(kinds, hows, strict=False)):
            continue
        sources = [operand(i, k, h) for i, (k, h) in enumerate(zip(kinds, hows, strict=False))]
        target = [] if result == "scc" else ["s[26:27]" if bits == 64 else "s26"]
        if any(k in ("k16", "uk16") for k in kinds) and result == "scc":
            sources = [sgpr(0, kinds[0]), sources[1]]
        text = f"{name} {', '.join((*target, *(s.text for s in sources)))}"
        for what in ("scc", *(("result",) if result != "scc" else ()), *(("exec",) if result == "exec" else ())):

            def want(lane: Lane, sources: Any = sources, what: str = what) -> tuple[None, int]:
                operands = [s.bits(lane) for s in sources]
                names = names_of(machine, lane, operands, lane.scalar[3])
                names["D0"] = Value("B", bits, lane.scalar[3] & (1 << bits) - 1)
                for s, x in zip(sources, operands, strict=True):
                    if s.kind in ("k16", "uk16"):
                        names["SIMM16"] = integer(x, "U", 16)
                if constant:
                    names["SIMM32"] = names[f"S{constant}"]
                    names["S1"] = names["S2"] if constant == 1 else names["S1"]
                if FLUSHED.match(entry):
                    names["S0"] = Value("B", 64, flush("f32", operands[0]))
                run(program, names, machine.library)
                if described := OWN.get(f"v_{entry[2:]}"):
                    names["D0"] = Value("B", 32, described(result, operands))
                if FLUSHED.match(entry):
                    names["D0"] = Value("B", 32, flush("f32", names["D0"].bits))
                if what == "scc":
                    return None, names["SCC"].bits
                if what == "exec":
                    return None, names["EXEC"].bits & (1 << machine.lanes) - 1
                return None, lane.scalar[3] >> bits << bits | names["D0"].bits

            wide = machine.lanes == 64
            read = {
                "scc": ("s_cselect_b32 s{n}, 1, 0", "s_mov_b32 s{n1}, 0"),
                "result": ("s_mov_b64 s[{n}:{n1}], s[26:27]",),
                "exec": ("s_mov_b64 s[{n}:{n1}], exec",) if wide else ("s_mov_b32 s{n}, exec_lo", "s_mov_b32 s{n1}, 0"),
            }[what]
            before = ("s_mov_b64 s[26:27], s[30:31]", "s_cmp_lg_u32 s28, 0")
            after = (*read, f"s_mov_b{machine.lanes} {{exec}}, {{old_exec}}") if result == "exec" else read
            same = int.__eq__
            if result[0] == "f" and what == "result":
                same = _low_halves_same if result == "f16" else same_floats([(0, result)], ulps)
            yield Check(entry, text, want, same, before, after, mask=True, scalar=True)


# --- all of them -----------------------------------------------------------------------------------------------------


def checks_of(machine: Machine, entry: str, name: str) -> Iterator[Check]:
    known = semantics(entry)
    assert known
    if entry.endswith("class_f16") and machine.half_registers:  # the classes are in 16 bits, then
        known = replace(known, sources=("f16", "u16"))
    checks = (scalar_checks if known.scalar or known.uniform else vector_checks)(machine, entry, name, known)
    return (c for i, c in enumerate(checks) if i == 0 or (i + crc32(entry.encode())) % machine.share == 0)


def spelled(machine: Machine, entries: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the name of each entry on a target; omits entries that the target lacks."""
    tried = [
        (name, replace(next(checks_of(machine, entry, name)), entry=entry))
        for entry in entries
        if machine.text(entry) or entry in _OWN_CHECKS
        for name in machine.spellings(entry) or [entry]
        if "saveexec" not in entry or name.endswith(f"_b{machine.lanes}")
    ]
    taken = {id(check) for check in accepted(machine, [check for _, check in tried], folder)}
    found: dict[str, str] = {}
    for name, check in tried:
        if id(check) in taken:
            found.setdefault(check.entry, name)
    return found
