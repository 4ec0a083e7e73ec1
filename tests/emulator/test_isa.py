"""Every instruction of the emulator's tables against the pseudo-code of AMD's instruction set manuals."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
from isa_checks import AMENDED, OWN, checks_of, spelled
from isa_harness import MACHINES, Machine, Work, accepted, execute, lanes_of, manual_names
from isa_routing import dpp_checks, lane_checks, sdwa_checks

from parity.emulator.isa import semantics, table_entries

#: Entries that no check reaches, and why.
NOT_COVERED = {
    **dict.fromkeys(("v_mad_f32", "v_mac_f32", "v_madak_f32", "v_madmk_f32"), "no target of ours has it"),
    **dict.fromkeys(("v_lshl_add_u64", "v_mov_b64"), "gfx942 only"),
}


def _entries() -> list[str]:
    """The rows of the tables, and each compare that a manual has and the patterns know."""
    compares = [n for n in manual_names() if re.match(r"(v_cmpx?|s_cmpk?)_", n) and semantics(n)]
    return sorted({*table_entries(), *compares} - NOT_COVERED.keys())


def _family(entry: str) -> str:
    known = semantics(entry)
    assert known
    if known.scalar:
        return "scalar"
    if known.packed or "mix" in known.sources:
        return "packed"
    if entry.startswith("v_cmp"):
        return f"{entry[:6].rstrip('_')}-{known.sources[0]}"
    return f"vector-{known.results[0].removesuffix('hi')}"


FAMILIES: dict[str, list[str]] = defaultdict(list)
for _entry in _entries():
    FAMILIES[_family(_entry)].append(_entry)


def _work(machine: Machine, entries: list[str], folder) -> Iterator[Work]:
    """The checks of entries, together if their operands are of the same types."""
    together: dict[tuple[str, ...], list] = defaultdict(list)
    for entry, name in spelled(machine, entries, folder).items():
        known = semantics(entry)
        kinds = [k if k != "mask" else "u64" for k in known.sources]
        old = known.results[0].removesuffix("hi")
        kinds += ["u32"] * (3 - len(kinds)) + [old if re.match(r"[fiu]\d", old) else "u32"]
        together[tuple(kinds)] += checks_of(machine, entry, name)
    for kinds, checks in together.items():
        count = 40 if semantics(checks[0].entry).scalar else 0
        yield accepted(machine, checks, folder), lanes_of(machine, kinds, seed=7, count=count)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_instructions_do_what_the_manual_says(machine, family, cache, tmp_path):
    differences = list(execute(machine, cache, list(_work(machine, FAMILIES[family], tmp_path))))
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("checks", [dpp_checks, sdwa_checks, lane_checks])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_operands_of_other_lanes_and_parts_of_registers(machine, checks, cache, tmp_path):
    found = accepted(machine, list(checks(machine)), tmp_path)
    if checks is sdwa_checks and machine.half_registers:
        assert not found, "RDNA 3 has no SDWA"
        return
    assert found
    kinds = ["f16", "f16", "f16", "f16"] if checks is sdwa_checks else ["f32", "u32", "u32", "u32"]
    work = [(found, lanes_of(machine, kinds, seed=11))]
    differences = list(execute(machine, cache, work))
    assert not differences, "\n".join(differences)


def test_every_entry_is_checked_or_excused(tmp_path, capsys):
    found = (
        {entry: [m.target for m in MACHINES.values() if entry in names[m.target]] for entry in _entries()}
        if (names := {m.target: spelled(m, _entries(), tmp_path) for m in MACHINES.values()})
        else {}
    )
    with capsys.disabled():
        counts = ", ".join(f"{len(names[t])} on {t}" for t in MACHINES)
        print(
            f"\ninstructions checked against the manuals: {sum(map(bool, found.values()))} of {len(found) + len(NOT_COVERED)} ({counts})"
        )
        print(f"  by the description instead of the pseudo-code: {', '.join(OWN)}")
        for pattern, _, _, why in AMENDED:
            print(f"  text mended: {pattern}: {why}")
        for entry, why in NOT_COVERED.items():
            print(f"  not checked: {entry}: {why}")
    assert not [entry for entry, targets in found.items() if not targets]
