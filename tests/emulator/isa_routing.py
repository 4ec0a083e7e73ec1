"""Generate checks of DPP, SDWA, dual issue and lane exchanges.

The pseudo-code does not cover DPP and SDWA. Their effect on operands is implemented here from the manuals' chapters
"Data Parallel Processing" (RDNA3, RDNA2, CDNA3) and "Sub-Dword Addressing" (RDNA2, Vega).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from isa_checks import Maker, width_or_zero
from isa_evaluator import run
from isa_harness import Check, Lane, Machine, Source, names_of
from isa_operands import register
from isa_syntax import parse
from isa_texts import is_nan, same_floats, text_of
from isa_values import integer

from parity.emulator.amdgpu.isa import semantics

__all__ = ["dpp_checks", "dual_checks", "lane_checks", "sdwa_checks"]


# --- DPP -------------------------------------------------------------------------------------------------------------


def _within_row(i: int, at: int) -> int | None:
    return at if at // 16 == i // 16 and at >= 0 else None


def _within_wave(at: int, lanes: int) -> int | None:
    return at if 0 <= at < lanes else None


#: Control and the lane that lane ``i`` of ``n`` reads, if there is one.
DPP: dict[str, Callable[[int, int], int | None]] = {
    "quad_perm:[3,1,0,2]": lambda i, n: i & ~3 | (3, 1, 0, 2)[i & 3],
    "quad_perm:[1,1,2,0]": lambda i, n: i & ~3 | (1, 1, 2, 0)[i & 3],
    "row_shl:1": lambda i, n: _within_row(i, i + 1),
    "row_shl:7": lambda i, n: _within_row(i, i + 7),
    "row_shr:1": lambda i, n: _within_row(i, i - 1),
    "row_shr:15": lambda i, n: _within_row(i, i - 15),
    "row_ror:3": lambda i, n: i & ~15 | i - 3 & 15,
    "row_mirror": lambda i, n: i ^ 15,
    "row_half_mirror": lambda i, n: i ^ 7,
    "row_share:5": lambda i, n: i & ~15 | 5,
    "row_newbcast:6": lambda i, n: i & ~15 | 6,
    "row_xmask:9": lambda i, n: i ^ 9,
    "row_bcast:15": lambda i, n: (i & ~15) - 1 if i >= 16 else None,
    "row_bcast:31": lambda i, n: 31 if i >= 32 else None,
    "wave_shl:1": lambda i, n: _within_wave(i + 1, n),
    "wave_shr:1": lambda i, n: _within_wave(i - 1, n),
    "wave_rol:1": lambda i, n: (i + 1) % n,
    "wave_ror:1": lambda i, n: (i - 1) % n,
    "dpp8:[7,0,6,1,5,2,4,3]": lambda i, n: i & ~7 | (7, 0, 6, 1, 5, 2, 4, 3)[i & 7],
}
_DPP_OPTIONS = ("", "row_mask:0xf bank_mask:0xf bound_ctrl:1", "row_mask:0x1 bank_mask:0xf",
                "row_mask:0xf bank_mask:0x9",
                "row_mask:0xf bank_mask:0xf fi:1", "row_mask:0xf bank_mask:0xf bound_ctrl:1 fi:1", "fi:1")  # fmt: skip
_DPP_ENTRIES = ("v_mov_b32", "v_add_f32", "v_add_nc_u32", "v_max_i32", "v_cndmask_b32", "v_cmp_lt_f32")


def dpp_checks(machine: Machine) -> Iterator[Check]:
    """Yield candidates: each control with a few options on a move, and some options on other instructions."""
    for entry in _DPP_ENTRIES:
        for name in machine.spellings(entry):
            for k, control in enumerate(DPP):
                for j, options in enumerate(_DPP_OPTIONS):
                    if entry == "v_mov_b32" or (k + j) % 11 == len(entry) % 11:
                        yield _dpp(machine, entry, name, control, options)


def _dpp(machine: Machine, entry: str, name: str, control: str, options: str) -> Check:
    known = semantics(entry)
    assert known
    given = dict(option.split(":") for option in options.split())
    rows, banks = int(given.get("row_mask", "0xf"), 0), int(given.get("bank_mask", "0xf"), 0)
    fetches, eight = "fi" in given, control.startswith("dpp8")
    route = DPP[control]

    def source(lane: Lane) -> Lane | None:
        at = route(lane.index, machine.lanes)
        found = None if at is None else lane.wave[at]
        return found if found and (found.active or fetches) else None

    plain = [register(machine, i, kind) for i, kind in enumerate(known.sources)]
    if known.sources[-1] == "mask":
        plain[-1] = Source("{vcc}", lambda lane: lane.vcc >> lane.index & 1, "mask")
    first = plain[0]
    routed = replace(first, bits=lambda lane: first.bits(found) if (found := source(lane)) else 0)
    inner = Maker(machine, entry, f"{name}_dpp", known)([routed, *plain[1:]])
    mask = known.results[0] == "mask"

    def want(lane: Lane) -> tuple[int | None, int | None]:
        on = rows >> lane.index // 16 & 1 and banks >> lane.index % 16 // 4 & 1
        if on and (source(lane) or eight or "bound_ctrl" in given):
            return inner.want(lane)
        return lane.vector[3], 0 if mask else None

    before = (f"s_mov_b{machine.lanes} {{vcc}}, {{old_vcc}}",)
    text = inner.text.replace("{m}", "{vcc}") if mask and machine.old else inner.text
    after = (_copy_vcc(machine),) if mask and machine.old else ()
    return replace(inner, text=f"{text} {control} {options}".strip(), want=want, before=before, after=after)


def _copy_vcc(machine: Machine) -> str:
    return f"s_mov_b{machine.lanes} {{m}}, {{vcc}}"


# --- SDWA ------------------------------------------------------------------------------------------------------------

_PARTS = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16),
          "WORD_1": (16, 16),
          "DWORD": (0, 32)}  # fmt: skip
_SDWA_ENTRIES = ("v_mov_b32", "v_and_b32", "v_add_nc_u32", "v_lshlrev_b32", "v_max_i32", "v_add_f16", "v_add_f32",
                 "v_cvt_f32_u32", "v_cvt_f32_f16", "v_cmp_eq_u32", "v_cmp_lt_f16", "v_lshrrev_b16")  # fmt: skip


def sdwa_checks(machine: Machine) -> Iterator[Check]:
    """Yield candidates: parts of sources, with or without sign extension, and parts of results with each rule for the
    rest.
    """
    for entry in _SDWA_ENTRIES:
        for name in machine.spellings(entry):
            known = semantics(entry)
            assert known
            narrow = any(k == "f16" for k in known.sources)
            parts = ["WORD_0", "WORD_1"] if narrow else ["DWORD"] if entry == "v_add_f32" else list(_PARTS)
            for k, part in enumerate(parts):
                other = parts[(3 * k + 1) % len(parts)]
                yield _sdwa(machine, entry, name, (part, other), "DWORD", "UNUSED_PAD", k % 2 == 1)
                yield _sdwa(machine, entry, name, (other, part), "DWORD", "UNUSED_PAD", k % 2 == 0)
            for part in _PARTS:
                for unused in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
                    yield _sdwa(machine, entry, name, (parts[0], parts[-1]), part, unused, False)


def _sdwa(machine: Machine, entry: str, name: str, parts: Sequence[str], into: str, unused: str, extend: bool) -> Check:
    known = semantics(entry)
    assert known
    compares = known.results[0] == "mask"
    sources = [
        _part(register(replace(machine, half_registers=False), i, "u32"), kind, part, extend)
        for i, (kind, part) in enumerate(zip(known.sources, parts, strict=False))
    ]
    inner = Maker(machine, entry, f"{name}_sdwa", known)(sources)
    bits, floats = width_or_zero(known.results[0]), known.results[0][0] == "f"
    shift, size = _PARTS[into]

    def want(lane: Lane) -> tuple[int | None, int | None]:
        word, mask = inner.want(lane)
        if compares or word is None:
            return word, mask
        if floats and into != "DWORD" and is_nan(known.results[0], word):
            return None, None  # which NaN is not specified
        word = word & (1 << min(bits, size)) - 1
        rest = {"UNUSED_PAD": 0, "UNUSED_PRESERVE": lane.vector[3] & 0xFFFFFFFF & ~((1 << size) - 1 << shift)}
        if unused == "UNUSED_SEXT" and word >> size - 1:
            rest["UNUSED_SEXT"] = 0xFFFFFFFF << shift + size & 0xFFFFFFFF
        return lane.vector[3] >> 32 << 32 | word << shift | rest.get(unused, 0), None

    selects = [f"src{i}_sel:{part}" for i, (part, _) in enumerate(zip(parts, known.sources, strict=False))]
    if not compares:
        selects = [f"dst_sel:{into}", f"dst_unused:{unused}", *selects]
    same = inner.same if into == "DWORD" else int.__eq__
    return replace(inner, text=f"{inner.text} {' '.join(selects)}", want=want, same=same)


def _part(whole: Source, kind: str, part: str, extend: bool) -> Source:
    shift, size = _PARTS[part]
    extend = extend and kind[0] in "iu"

    def bits(lane: Lane) -> int:
        x = whole.bits(lane) >> shift & (1 << size) - 1
        x |= 0xFFFFFFFF << size & 0xFFFFFFFF if extend and x >> size - 1 else 0
        return x & 0xFFFF if kind.endswith("16") else x

    return Source(f"sext({whole.text})" if extend else whole.text, bits, kind)


# --- dual issue ------------------------------------------------------------------------------------------------------

_DUAL = ("v_add_f32", "v_sub_f32", "v_subrev_f32", "v_mul_f32", "v_mul_dx9_zero_f32", "v_max_f32", "v_min_f32",
         "v_fmac_f32", "v_cndmask_b32", "v_mov_b32", "v_add_nc_u32", "v_lshlrev_b32", "v_and_b32")  # fmt: skip


def dual_checks(machine: Machine) -> Iterator[Check]:
    """Yield candidates: each operation in each half of a pair, and a pair whose halves read each other's
    destinations.
    """
    for i, first in enumerate(_DUAL):
        for second in (_DUAL[(i + 3) % len(_DUAL)], _DUAL[(i + 7) % len(_DUAL)]):
            yield _dual(machine, first, second)

    def swapped(lane: Lane) -> tuple[int, None]:
        old = lane.vector[3]
        return old >> 32 | (old & 0xFFFFFFFF) << 32, None

    yield Check("v_mov_b32", "v_dual_mov_b32 {d}, {d1} :: v_dual_mov_b32 {d1}, {d}", swapped)


def _dual(machine: Machine, first: str, second: str) -> Check:
    halves = [_half(machine, entry, i) for i, entry in enumerate((first, second))]

    def want(lane: Lane) -> tuple[int, None]:
        words = []
        for i, half in enumerate(halves):
            own = replace(lane, vector=(*lane.vector[:3], lane.vector[3] >> 32 * i & 0xFFFFFFFF))
            words.append((half.want(own)[0] or 0) & 0xFFFFFFFF)
        return words[0] | words[1] << 32, None

    floats = [(32 * i, "f32") for i, entry in enumerate((first, second)) if entry.endswith("f32")]
    before = (f"s_mov_b{machine.lanes} {{vcc}}, {{old_vcc}}",)
    return Check(first, " :: ".join(half.text for half in halves), want, same_floats(floats), before)


def _half(machine: Machine, entry: str, which: int) -> Check:
    """Apply an operation to the lower or upper words of a and b."""
    known = semantics(entry)
    assert known
    sources = [
        Source(f"v{4 + 2 * i + which}", lambda lane, i=i: lane.vector[i] >> 32 * which & 0xFFFFFFFF, kind)
        for i, kind in enumerate(known.sources)
        if kind != "mask"
    ]
    if "mask" in known.sources:
        sources.append(Source("", lambda lane: lane.vcc >> lane.index & 1, "mask"))  # not printed
    check = Maker(machine, entry, entry.replace("v_", "v_dual_"), known)(sources)
    return replace(check, text=check.text.replace("{d}", ("{d}", "{d1}")[which]).rstrip(", "))


# --- exchanges between lanes -----------------------------------------------------------------------------------------


def lane_checks(machine: Machine) -> Iterator[Check]:
    """Yield instructions whose text reads the registers of all lanes."""
    yield from (_scalar_read(machine, f"s{{n}}, v4, {lane}") for lane in ("s22", "5", "31"))
    for value, lane in (("s20", "s22"), ("s20", "3"), ("7", "s22")):
        yield _written(machine, value, lane)
    for name in ("ds_bpermute_b32", "ds_permute_b32"):
        for offset in (0, 4, 12):
            yield _exchange(machine, name, offset)


def _registers(machine: Machine, lane: Lane, entry: str, **more: object) -> dict[str, object]:
    names = names_of(machine, lane, (), 0, across=True)
    names |= more
    run(parse(text_of(machine, entry)), names, machine.library)
    return names


def _scalar(lane: Lane, operand: str) -> int:
    return lane.scalar[(int(operand[1:]) - 20) // 2] & 0xFFFFFFFF if operand[0] == "s" else int(operand)


def _scalar_read(machine: Machine, operands: str) -> Check:
    at = operands.split(", ")[-1]

    def want(lane: Lane) -> tuple[None, int]:
        names = _registers(machine, lane, "v_readlane_b32", S1=integer(_scalar(lane, at), "U"))
        return None, names["D0"].bits  # type: ignore[attr-defined]

    text, zero = f"v_readlane_b32 {operands}", "s_mov_b32 s{n1}, 0"
    return Check("v_readlane_b32", text, want, before=(zero,), mask=True, scalar=True)


def _written(machine: Machine, value: str, at: str) -> Check:
    @functools.cache
    def after(first: Lane) -> list[int]:
        given = {"S0": integer(_scalar(first, value), "U"), "S1": integer(_scalar(first, at), "U")}
        names = _registers(machine, first, "v_writelane_b32", **given)
        return [registers[3].bits for registers in names["VGPR"]]  # type: ignore[attr-defined]

    def want(lane: Lane) -> tuple[int, None]:
        return lane.vector[3] >> 32 << 32 | after(lane.wave[0])[lane.index], None

    return Check("v_writelane_b32", f"v_writelane_b32 {{d}}, {value}, {at}", want, everywhere=True)


def _exchange(machine: Machine, entry: str, offset: int) -> Check:
    @functools.cache
    def after(first: Lane) -> list[int]:
        given = {"ADDR": integer(0, "U"), "DATA0": integer(1, "U"), "OFFSET": integer(offset, "U", 16)}
        names = _registers(machine, first, entry, **given)
        return [registers[3].bits for registers in names["VGPR"]]  # type: ignore[attr-defined]

    def want(lane: Lane) -> tuple[int, None]:
        return lane.vector[3] >> 32 << 32 | after(lane.wave[0])[lane.index], None

    text = f"{entry} {{d}}, v4, v6" + (f" offset:{offset}" if offset else "")
    return Check(entry, text, want)
