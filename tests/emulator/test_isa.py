"""Compare each instruction of the emulator's tables with the pseudo-code of AMD's instruction set manuals."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from isa_checks import checks_of, spelled
from isa_harness import MACHINES, Check, Machine, Work, accepted, execute, lanes_of, manual_names
from isa_memory_instructions import EXCUSED, memory_checks
from isa_routing import dpp_checks, dual_checks, lane_checks, sdwa_checks
from isa_texts import AMENDED, OWN

from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.cross_lane import CROSS_LANE
from parity.emulator.amdgpu.indexed import INDEXED
from parity.emulator.amdgpu.isa import semantics, table_entries
from parity.emulator.amdgpu.memory_instructions import ATOMICS, LOADS, STORES

#: Entries without a check, with the reason.
NOT_COVERED = {
    **dict.fromkeys(("v_mad_f32", "v_mac_f32", "v_madak_f32", "v_madmk_f32"), "the data have no text for them"),
    **{f"global_{verb}_{k}": why for verb in ("load", "store") for k, why in EXCUSED.items()},
    "ds_swizzle_b32": "its text is prose; kernels of test_workgroups.py use it",
    **dict.fromkeys(
        ("v_permlane16_b32", "v_permlanex16_b32", "v_swap_b32"), "kernels of test_workgroups.py use it on every lane"
    ),
    **dict.fromkeys(
        (f"v_cvt_{kinds}" for f8 in ("fp8", "bf8") for kinds in (f"f32_{f8}", f"pk_f32_{f8}", f"pk_{f8}_f32")),
        "its text says fp8_to_f32 and f32_to_fp8 only; test_device_code.py compares with ml_dtypes",
    ),
    **dict.fromkeys(INDEXED, "kernels of test_workgroups.py use it on arrays in registers"),
    "v_dot2_bf16_bf16": "its text does not state the rounding; test_modes.py uses it",
    **dict.fromkeys(
        (
            "v_permlane16_swap_b32",
            "v_permlane32_swap_b32",
            "v_bitop3_b16",
            "v_bitop3_b32",
            "v_cvt_pk_f16_f32",
            "v_cvt_pk_bf16_f32",
            *(f"v_cvt_scalef32_pk_{f8}_{kind}" for f8 in ("fp8", "bf8") for kind in ("f32", "f16", "bf16")),
        ),
        "test_cdna4.py uses it",
    ),
    "v_permlane64_b32": "does nothing on wavefronts of 32, and the targets of 64 lack it",
}


def _entries() -> list[str]:
    """Return the rows of the tables, and the compare instructions that both a manual and the patterns have."""
    compares = [
        n for n in manual_names() if (known := semantics(n)) and (known.uniform or re.match(r"[vs]_cmp[xk]?_", n))
    ]
    return sorted({*table_entries(), *compares} - NOT_COVERED.keys())


def _family(entry: str) -> str:
    known = semantics(entry)
    assert known
    if known.scalar or known.uniform:
        return "scalar"
    if known.packed or "mix" in known.sources:
        return "packed"
    if entry.startswith("v_cmp"):
        return f"{entry[:6].rstrip('_')}-{known.sources[0]}"
    return f"vector-{known.results[0].removesuffix('hi')}"


FAMILIES: dict[str, list[str]] = defaultdict(list)
for _entry in _entries():
    FAMILIES[_family(_entry)].append(_entry)


def _work(machine: Machine, entries: list[str], folder: Path) -> Iterator[Work]:
    """Yield the checks of entries, grouped by the types of their operands."""
    together: dict[tuple[str, ...], list[Check]] = defaultdict(list)
    names = spelled(machine, entries, folder)
    elsewhere = spelled(MACHINES[machine.like], entries, folder) if machine.like else {}
    for entry, name in names.items():
        if elsewhere.get(entry) == name:
            continue
        known = semantics(entry)
        kinds = [k if k != "mask" else "u64" for k in known.sources]
        old = known.results[0].removesuffix("hi")
        kinds += ["u32"] * (3 - len(kinds)) + [old if re.match(r"[fiu]\d", old) else "u32"]
        together[tuple(kinds)] += checks_of(machine, entry, name)
    for kinds, checks in together.items():
        count = 24 if checks[0].entry.startswith("s_") else 0
        yield accepted(machine, checks, folder), lanes_of(machine, kinds, seed=7, count=count)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_instruction_matches_pseudo_code_of_manual(machine, family, cache, tmp_path):
    differences = list(execute(machine, cache, list(_work(machine, FAMILIES[family], tmp_path))))
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("checks", [dpp_checks, sdwa_checks, dual_checks, lane_checks, memory_checks])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_other_forms_match_pseudo_code_of_manual(machine, checks, cache, tmp_path):
    found = accepted(machine, list(checks(machine)), tmp_path)
    missing = {sdwa_checks: machine.generation > 10, dual_checks: machine.generation < 11}.get(checks, False)
    assert bool(found) != missing
    if missing:
        return
    kinds = ["f16", "f16", "f16", "f16"] if checks is sdwa_checks else ["f32", "u32", "u32", "u32"]
    work = [(found, lanes_of(machine, kinds, seed=11))]
    if checks is memory_checks:
        by_type = {t: [c for c in found if c.entry.endswith(t)] for t in ("f16", "f32", "f64", "i32", "i64")}
        rest = [c for c in found if not c.entry.endswith(tuple(by_type))]
        work = [(each, lanes_of(machine, [t] * 4, seed=13)) for t, each in (*by_type.items(), ("u32", rest)) if each]
    differences = list(execute(machine, cache, work))
    assert not differences, "\n".join(differences)


def test_every_target_has_checks():
    assert MACHINES.keys() == TARGETS.keys()


def test_table_entries_without_check_have_reason(tmp_path, capsys):
    """Prints the checked entries. An unchecked row needs a reason above."""
    reached: dict[str, set[str]] = {}
    for machine in MACHINES.values():
        reached[machine.target] = set(spelled(machine, _entries(), tmp_path))
        for checks in (memory_checks, lane_checks):
            reached[machine.target] |= {c.entry for c in accepted(machine, list(checks(machine)), tmp_path)}
    wanted = {*_entries(), *table_entries(),
              *(f"global_load_{k}" for k in LOADS), *(f"global_store_{k}" for k in STORES),
              *CROSS_LANE, *INDEXED}  # fmt: skip
    covered = set().union(*reached.values())
    operations = {
        m[1] for e in covered if (m := re.match(r"(?:global_atomic|ds)_(\w+?)(?:_rtn)?_(?:[fiub]\d+|bf16)$", e))
    }
    missing = (wanted - covered) | {f"atomic {name}" for name in ATOMICS.keys() - operations}
    with capsys.disabled():
        print(f"\n{len(covered)} instructions are checked against the manuals:")
        print(", ".join(f"{len(found)} on {target}" for target, found in reached.items()))
        print(f"By their description instead of their pseudo-code: {', '.join(OWN)}.")
        print(*(f"Mended text of {pattern}: {why}." for pattern, _, _, why in AMENDED), sep="\n")
        print(*(f"Not checked: {entry}: {why}." for entry, why in sorted(NOT_COVERED.items())), sep="\n")
    assert missing == NOT_COVERED.keys()
