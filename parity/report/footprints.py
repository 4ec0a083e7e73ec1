"""Renders footprints, the static properties of kernels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from parity.emulator.amdgpu.classes import CLASSES
from parity.errors import first_names, pluralize
from parity.footprint.measure import Footprint
from parity.footprint.remarks import Remark
from parity.report import tables

LEGEND = (
    "regs: vector registers of a lane (CUDA: registers of a thread); occ: share of the possible resident wavefronts or "
    "warps\nthat workgroups of the largest size reach; bytes: size of the code, including called functions"
)
LEGEND_FULL = f"{LEGEND}; sregs: scalar registers;\nvalu and the following columns: static instruction counts by class"
NAMES = 6

Rows = Mapping[tuple[str, str], Mapping[str, Footprint]]


COLUMNS = {"regs": "vgprs", "occ": "occupancy", "bytes": "code_bytes"}
"""Columns that are always shown, with the names of their fields."""

IF_ANY = {"spills": "spills", "scratch B": "scratch_bytes", "LDS B": "lds_bytes"}
"""Columns that are shown if a value is not 0."""

FULL = {"regs": "vgprs", "sregs": "sgprs", **IF_ANY, "threads": "threads", "occ": "occupancy", "bytes": "code_bytes"}
"""The columns with one line per target. The instructions by class follow."""


def _value(one: Footprint, field: str) -> str:
    value = getattr(one, field)
    return "" if value is None else f"{100 * value:.0f} %" if field == "occupancy" else str(value)


def terminal(found: Sequence[Footprint], *, full: bool = False) -> Text:
    """Return aligned text with one line per kernel and the targets in columns.

    With ``full``, return one line per kernel and target, with the instructions by class.
    """
    if full:
        left, below, (heads, lines) = 2, "", _full(found)
    else:
        left, below, (pairs, lines) = 1, "\n", _across(found)
        firsts = [i == 0 or pairs[i - 1][0] != target for i, (target, _) in enumerate(pairs)]
        heads = [f"{target if first else ''}\n{name}" for first, (target, name) in zip(firsts, pairs, strict=True)]
    parts = []
    for module, group in itertools.groupby(lines, key=lambda line: line[0]):
        rows = [[f"  {first}", *rest] for _, (first, *rest) in group]
        parts.append(tables.coloured([module + below, *heads], rows, right=range(left, len(rows[0]))))
    return Text("\n\n").join([*parts, Text(f"{LEGEND_FULL if full else LEGEND}\n", "dim")])


def remark_lines(found: Sequence[Remark]) -> list[str]:
    """Return one line per remark, with its first few kernels."""
    return [
        f"{each.what} ({each.where}): {pluralize(len(each.kernels), 'kernel')}: {first_names(each.kernels, NAMES)}"
        for each in found
    ]


def markdown(found: Sequence[Footprint], remarks: Sequence[Remark], notes: Sequence[str] = ()) -> str:
    """Return a list of the remarks, and a GitHub table with one line per kernel and the targets in columns."""
    pairs, lines = _across(found)
    heads = ["module", "kernel", *(" ".join(pair) for pair in pairs)]
    rows = [[module, f"`{name}`", *cells] for module, (name, *cells) in lines]
    table = tables.markdown(heads, rows, right=range(2, len(heads)))
    items = [f"* {line}" for line in remark_lines(remarks)] or ["* nothing stands out"]
    return "\n\n".join([f"{len(_rows(found))} kernels", "\n".join(items), table, LEGEND, *notes]) + "\n"


def as_csv(found: Sequence[Footprint]) -> str:
    """Return CSV with one line per kernel and target and the instructions by class; unknown values are empty."""
    names = [name for name in Footprint.__dataclass_fields__ if name != "mix"]
    rows = []
    for one in found:
        counts = ["" if one.mix is None else one.mix.get(name, 0) for name in CLASSES]
        values = {**vars(one), "occupancy": "" if one.occupancy is None else f"{one.occupancy:.4g}"}
        rows.append([*(values[name] for name in names), *counts])
    return tables.comma_separated([*names, *(name.replace(" ", "_") for name in CLASSES)], rows)


def as_dict(found: Sequence[Footprint], remarks: Sequence[Remark], notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return plain data for JSON."""
    return {"kernels": list(map(asdict, found)), "findings": list(map(asdict, remarks)), "notes": list(notes)}


def _rows(found: Sequence[Footprint]) -> Rows:
    """Group footprints by module and kernel, then by target."""
    rows: dict[tuple[str, str], dict[str, Footprint]] = {}
    for one in found:
        rows.setdefault((one.module, one.kernel), {})[one.target] = one
    return rows


def _across(found: Sequence[Footprint]) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """Return (target, name) of each column, and (module, cells) of each line."""
    fields: dict[tuple[str, str], str] = {}
    for target in dict.fromkeys(one.target for one in found):
        own = [one for one in found if one.target == target]
        used = {name: field for name, field in IF_ANY.items() if any(_value(one, field) != "0" for one in own)}
        fields |= {(target, name): field for name, field in {**COLUMNS, **used}.items()}
    lines = []
    for (module, kernel), sides in _rows(found).items():
        cells = (_value(sides[target], field) if target in sides else "" for (target, _), field in fields.items())
        lines.append((module, [kernel, *("" if cell == "0" else cell for cell in cells)]))
    return [*fields], lines


def _full(found: Sequence[Footprint]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the heads, and (module, cells) for each kernel and target; only the first line names the kernel."""
    lines = []
    for (module, kernel), sides in _rows(found).items():
        for i, one in enumerate(sides.values()):
            cells = [_value(one, field) for field in FULL.values()]
            cells += ["" if one.mix is None else str(one.mix.get(name, 0)) for name in CLASSES]
            lines.append((module, [kernel if i == 0 else "", one.target, *cells]))
    return ["target", *FULL, *CLASSES], lines
