"""Generate checks of loads, stores and atomics, which access eight bytes of memory per lane."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from isa_evaluator import run
from isa_harness import Check, Lane, Machine, manual_names, names_of
from isa_syntax import parse
from isa_texts import is_nan, same_floats, text_of
from isa_values import Memory, Value, integer

from parity.compilers.targets import TARGETS

__all__ = ["accesses_of", "memory_checks"]

_ACCESS = re.compile(r"(global|ds)_(load|store|atomic)_((?:2addr_)?(?:stride64_)?)(\w+)$")
_LDS_ATOMIC = re.compile(r"ds_(\w+?)_rtn_([fiub]\d+)$")
#: Accesses that are not checked here, with the reason.
EXCUSED = {
    "b96": "wider than the memory of a lane; the harness itself loads 128 bits",
    "b128": "wider than the memory of a lane; the harness itself loads 128 bits",
}


def accesses_of() -> list[str]:
    """Return the accesses to global memory and LDS that both a manual and the emulator's tables have."""
    found = []
    for name in sorted(manual_names()):
        if match := _ACCESS.match(name):
            skipped = re.search(
                r"addtid|b96|b128|csub|lds|block|tr_b|monitor|gs_reg|sub_clamp|cond_sub|ordered", match[4]
            )
            if not skipped:
                found.append(name)
        elif _LDS_ATOMIC.match(name) and not re.search(
            r"wrap|mskor|condxchg|storexchg|gs_reg|bvh|sub_clamp|cond_sub", name
        ):
            found.append(name)
    return found


def memory_checks(machine: Machine) -> Iterator[Check]:
    """Yield candidates for each access, with each name that the manuals have for it."""
    for entry in accesses_of():
        if machine.text(entry):
            for name in machine.spellings(entry):
                yield _check(machine, entry, name)


def _check(machine: Machine, entry: str, name: str) -> Check:
    lds, old = entry.startswith("ds_"), machine.old
    element = entry.rpartition("_")[2]
    bits = 64 if element.endswith("64") else 32
    pair = "2addr" in entry
    loads, stores = "_load_" in entry, "_store_" in entry
    wide_result = bits == 64 or (pair and loads)
    before, data, text = _operands(entry, lds, bits, pair, loads, stores)
    target = "" if stores else "{dd}" if wide_result else "{d}"
    given = " offset0:0 offset1:" + str(int("stride64" not in entry)) if pair else ""
    operands = ", ".join(x for x in (target, "v14" if lds else "v3", *data, *(() if lds else ("s[6:7]",))) if x)
    returns = {12: " th:TH_ATOMIC_RETURN"}.get(
        machine.generation, " sc0" if machine.target in ("gfx942", "gfx950") else " glc"
    )
    flags = "" if lds or loads or stores else returns
    place = given if lds else " offset:{at}"
    initial = "v[10:11]" if stores else "v[4:5]"
    put, get = ("ds_write_b64", "ds_read_b64") if old else ("ds_store_b64", "ds_load_b64")
    store = "global_store_dwordx2" if old else "global_store_b64"
    if lds:
        before = ("v_lshlrev_b32 v14, 4, v0", f"{put} v14, {initial}", *before)
        after: tuple[str, ...] = (f"{get} v[12:13], v14", f"{store} v3, v[12:13], s[6:7] offset:{{at}}")
    else:
        before, after = (f"{store} v3, {initial}, s[6:7] offset:{{at}}", *before), ()
    program = parse(text_of(machine, entry))
    packed = "_pk_" in entry
    floats = element if re.fullmatch(r"f\d+", element) and not packed else ""

    def want(lane: Lane) -> tuple[int | None, int | None]:
        a, b, c, d = lane.vector
        memory = Memory((d if stores else a).to_bytes(8, "little"))
        if re.search(r"min|max", entry) and floats and (is_nan(floats, a) or is_nan(floats, b)):
            return None, None  # the compiler expects a number to win against NaN; the text does not state it
        names = names_of(machine, lane, (), d)
        # The manuals keep the other half of the register. GPUs that correct errors of registers clear it (LLVM,
        # GCNSubtarget: d16PreservesUnusedBits).
        kept = d >> 32 << 32 if "d16" in entry and TARGETS[machine.target].generation == 9 else d
        names |= {"MEM": memory, "ADDR": integer(0, "U", 64), "SADDR": integer(0, "U", 64), "OFFSET": integer(0, "U"),
                  **dict.fromkeys(("vgpr_a", "v_addr", "s_saddr", "offset"), integer(0, "U", 64)),
                  "OFFSET0": integer(0, "U"), "OFFSET1": integer(int("stride64" not in entry), "U"),
                  "RETURN_DATA": Value("B", 64, kept), "VDATA": Value("B", 64, text(a, b, c) if stores else kept),
                  "DATA": Value("B", 128, text(a, b, c)), "DATA2": Value("B", 64, c)}  # fmt: skip
        run(program, names, machine.library)
        result = names["VDATA" if not lds and (loads or stores) else "RETURN_DATA"]
        value = d if stores else d >> result.width << result.width | result.bits
        return value, memory.read(0, 64)

    same = int.__eq__
    if floats:
        same = same_floats([(0, floats)])
    elif packed:
        same = same_floats([(0, "f16"), (16, "f16")])
    return Check(entry, f"{name} {operands}{place}{flags}", want, same, before, after, memory=True)


def _operands(
    entry: str, lds: bool, bits: int, pair: bool, loads: bool, stores: bool
) -> tuple[tuple[str, ...], tuple[str, ...], Callable[[int, int, int], int]]:
    """Return code that prepares operands, the printed data operands, and the bits of the first operand."""
    low = (1 << bits) - 1

    def register(i: int) -> str:
        return f"v[{4 + 2 * i}:{5 + 2 * i}]" if bits == 64 else f"v{4 + 2 * i}"

    if loads:
        return (), (), lambda a, b, c: 0
    if "cmpswap" in entry and not lds:
        if bits == 64:
            return (), ("v[6:9]",), lambda a, b, c: b | c << 64
        moves = ("v_mov_b32 v12, v6", "v_mov_b32 v13, v8")
        return moves, ("v[12:13]",), lambda a, b, c: b & low | (c & low) << 32
    if "cmp" in entry or (pair and stores):
        return (), (register(1), register(2)), lambda a, b, c: b
    if stores:
        return (), (register(0),), lambda a, b, c: a
    return (), (register(1),), lambda a, b, c: b
