"""Reports what a newer version of HIP changes: kernels that no longer compile, values, registers and spills."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from parity.compare.arbitration import Conclusion
from parity.compilers.targets import VERSION_MARK
from parity.engine.case_records import CaseRecord, Column
from parity.errors import pluralize
from parity.model.code_object import CodeObject
from parity.report import tables

HEADS = ("GPU", "HIP", "kernel", "compiles", "values", "VGPRs", "SGPRs", "spills")
_RESOURCES = ("vgprs", "sgprs", "spills")
_WORDS = {
    Conclusion.AMD: "wrong",
    Conclusion.CUDA: "no longer wrong",
    Conclusion.BOTH: "wrong in both",
    Conclusion.REFERENCE: "wrong in both",
}
"""What a conclusion means for an upgrade: the older version takes the place of CUDA, the newer one of AMD."""
_WITHIN = "other bits, within bounds"
_SAME, _LOST, _GAINED, _NEITHER = "", "no longer compiles", "compiles now", "compiles with neither"
_NOT_COMPARED = "not compared"
_ORDER = (_NOT_COMPARED, _SAME, _WITHIN, "no longer wrong", "wrong in both", "wrong")
"""From the best to the worst; without a reference or CUDA's results, no case is compared."""


@dataclass(frozen=True)
class KernelUpgrade:
    """A kernel for a GPU with two versions of HIP.

    ``values`` is the worst of its cases in words, and ``resources`` has registers and spills with both versions.
    """

    gpu: str
    versions: tuple[str, str]
    kernel: str
    compiles: str = _SAME
    values: str = _NOT_COMPARED
    ulps: float = 0.0
    resources: Mapping[str, tuple[int, int]] | None = None

    @property
    def changed(self) -> bool:
        """True if something differs."""
        same = self.compiles in (_SAME, _NEITHER) and self.values in (_SAME, _NOT_COMPARED)
        return not same or any(before != after for before, after in (self.resources or {}).values())

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        apart = f", {self.ulps:.0f} ULP" if self.values == _WITHIN and 0 < self.ulps < math.inf else ""
        values = "" if self.compiles else f"{self.values}{apart}"
        numbers = self.resources.values() if self.resources else ()
        texts = [str(after) if before == after else f"{before} -> {after}" for before, after in numbers]
        texts = texts or [""] * len(_RESOURCES)
        return [self.gpu, " -> ".join(self.versions), self.kernel, self.compiles, values, *texts]


def upgrades(
    columns: Iterable[Column],
    records: Iterable[CaseRecord],
    uncompiled: Iterable[CaseRecord],
    code: Mapping[tuple[str, Column], CodeObject],
) -> list[KernelUpgrade]:
    """Return each kernel for each GPU with several versions of HIP, the oldest compared with each newer one."""
    refused = {(each.kernel, each.target) for each in uncompiled if each.without_code}
    found: dict[tuple[str, str], KernelUpgrade] = {}
    every = list(records)
    for older, newer in _pairs(columns):
        gpu, _, version = newer.target.partition(VERSION_MARK)
        versions = older.target.partition(VERSION_MARK)[2], version
        for each in (*every, *uncompiled):
            if (each.runner, each.target) not in ((newer.runner, newer.target), (older.runner, older.target)):
                continue
            key = each.kernel, newer.target
            if key not in found:
                row = KernelUpgrade(gpu, versions, each.kernel, _compiles(each.kernel, older, newer, refused))
                found[key] = replace(row, resources=_resources(each, older, newer, code))
            if newer.ran(each):
                found[key] = _with_case(found[key], each)
    return list(found.values())


def markdown(found: Iterable[KernelUpgrade]) -> str:
    """Return the changed kernels as a GitHub table, after one line with the totals for each pair of versions."""
    every = list(found)
    rows = [each.cells for each in every if each.changed]
    return "\n\n".join((*totals(every), *([tables.markdown(HEADS, rows)] if rows else []))) + "\n"


def totals(found: Iterable[KernelUpgrade]) -> Iterator[str]:
    """Yield one line for each GPU and pair of versions."""
    groups: dict[tuple[str, tuple[str, str]], list[KernelUpgrade]] = {}
    for each in found:
        groups.setdefault((each.gpu, each.versions), []).append(each)
    for (gpu, (before, after)), rows in groups.items():
        counts = Counter(word for each in rows for word in _changes(each))
        parts = [f"{count} {word}" for word, count in counts.items()]
        changes = ", ".join(parts) or "nothing changes"
        yield f"{gpu}, HIP {before} to {after}: {pluralize(len(rows), 'kernel')}, {changes}"


def _changes(each: KernelUpgrade) -> Iterator[str]:
    yield from filter(None, (each.compiles, each.values if each.compiles == _SAME else ""))
    for name, (before, after) in (each.resources or {}).items():
        if before != after:
            yield f"{'more' if after > before else 'fewer'} {name if name == 'spills' else name.upper()[:-1] + 's'}"


def _pairs(columns: Iterable[Column]) -> Iterator[tuple[Column, Column]]:
    oldest: dict[tuple[str, str], Column] = {}
    for column in columns:
        gpu, mark, _ = column.target.partition(VERSION_MARK)
        if mark and oldest.setdefault((column.runner, gpu), column) is not column:
            yield oldest[column.runner, gpu], column


def _compiles(kernel: str, older: Column, newer: Column, refused: Iterable[tuple[str, str]]) -> str:
    before, after = ((kernel, each.target) in refused for each in (older, newer))
    return (_NEITHER if before else _SAME) if before == after else _LOST if after else _GAINED


def _resources(
    record: CaseRecord, older: Column, newer: Column, code: Mapping[tuple[str, Column], CodeObject]
) -> Mapping[str, tuple[int, int]] | None:
    """Return registers and spills with both versions; None if one has no code for the kernel."""
    kernels = []
    for column in (older, newer):
        each = code.get((record.module, column))
        kernels.append(each.kernels.get(each.symbol(record.kernel)) if each else None)
    before, after = kernels
    if before is None or after is None:
        return None
    return {name: (getattr(before, name), getattr(after, name)) for name in _RESOURCES}


def _with_case(row: KernelUpgrade, record: CaseRecord) -> KernelUpgrade:
    found = record.upgrade
    if found is None:
        return row
    word = _WORDS.get(found.conclusion, _WITHIN if found.elements else _SAME)
    return replace(row, values=max(row.values, word, key=_ORDER.index), ulps=max(row.ulps, found.ulps))
