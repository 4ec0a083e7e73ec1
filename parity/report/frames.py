"""Converts cases, matrices, measurements and footprints to pandas tables. Imports pandas on first use.

Use the methods of pandas for pivots and files: ``frame.to_csv``, ``to_parquet`` and ``to_excel``. CSV files have no
types, and "nan" is a failure class. To read a CSV file back unchanged, use
``pandas.read_csv(file, dtype=CASE_TYPES, keep_default_na=False, na_values=[""])``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from parity.emulator.amdgpu.classes import CLASSES
from parity.engine.case_records import CaseRecord, Column
from parity.errors import MissingTool
from parity.model.case import split
from parity.model.coverage import COUNTS, Reached
from parity.report.matrix import class_counts
from parity.report.model import KernelRow, Matrix

if TYPE_CHECKING:
    import pandas

    from parity.engine.bench import Measurement
    from parity.engine.bench_baseline import BenchChange
    from parity.footprint.measure import Footprint
    from parity.runners.timing import Timing

CATEGORIES = ("op", "module", "kernel", "dtypes", "runner", "target", "evidence", "verdict", "failure")
"""Columns with few different values."""

CASE_TYPES = {
    **dict.fromkeys(CATEGORIES, "category"),
    **dict.fromkeys(("budget", "ulp"), "float64"),
    **dict.fromkeys(("wrong", "elements"), "int64"),
    "instructions": "Int64",
    **dict.fromkeys(COUNTS, "Int64"),
    **dict.fromkeys(("divergences", "known", "title", "case"), "string"),
}
"""The columns of the table of cases, with their pandas types."""

MATRIX_TYPES = {
    **dict.fromkeys(("module", "op", "dtypes", "kernel", "runner", "target", "evidence", "state"), "category"),
    **dict.fromkeys(("run", "passed", "failed", "known"), "int64"),
    "budget": "float64",
    "failures": "string",
    "instructions": "int64",
    **dict.fromkeys(COUNTS, "Int64"),
    "divergences": "string",
}
"""The columns of the table of a matrix."""

INSTRUCTIONS = {name: name.replace(" ", "_") for name in CLASSES}
"""The column of each class of instructions."""

TIMES = ("median", "low", "high", "error", "repetitions")

BENCH_TYPES = {
    **dict.fromkeys(("module", "op", "dtypes", "kernel"), "category"),
    **dict.fromkeys(("title", "case"), "string"),
    **dict.fromkeys(("runner", "target", "evidence"), "category"),
    **dict.fromkeys(("bytes", "operations", "elements"), "int64"),
    **{f"{kind}_{name}": "Int64" if name == "repetitions" else "float64" for kind in ("cold", "hot") for name in TIMES},
    **dict.fromkeys(("host", "copy_rate", "operation_rate", "drift", "share"), "float64"),
    "bound": "category",
    "instructions": "Int64",
    **dict.fromkeys(INSTRUCTIONS.values(), "Int64"),
    "change": "category",
    **dict.fromkeys(("change_ratio", "change_uncertainty"), "float64"),
    **dict.fromkeys(("notes", "problem"), "string"),
}
"""The columns of the table of measurements."""

STATIC_TYPES = {
    **dict.fromkeys(("module", "kernel", "target"), "category"),
    "vgprs": "int64",
    "sgprs": "Int64",
    **dict.fromkeys(("spills", "scratch_bytes", "lds_bytes", "threads"), "int64"),
    "occupancy": "float64",
    "code_bytes": "Int64",
    **dict.fromkeys(INSTRUCTIONS.values(), "Int64"),
}
"""The columns of the table of footprints."""


def case_frame(records: Iterable[CaseRecord]) -> pandas.DataFrame:
    """Return one row per case, in the order of execution.

    ======================  ==================================================================================
    op, module, kernel      the called kernel
    dtypes                  dtypes of the kernel, separated by commas: ``f32`` or ``u8,f16``
    runner, target          where the case ran, and ``evidence``: emulated, hardware, recorded or library
    verdict                 pass, fail, ...; ``failure`` is the class (``value``, ``out-of-bounds read``), else NA
    budget                  the largest share of the error bound that an element used; 1.0 is the limit
    ulp                     the largest distance from the reference, in units in the last place
    wrong, elements         number of wrong elements, and of all elements
    instructions            machine instructions that the emulator executed; NA elsewhere
    blocks, blocks_reached  basic blocks of the kernel's machine code, in total and reached by the case; NA where the
                            runner does not record them; ``directions`` and ``directions_reached`` are the same for
                            the directions of conditional branches
    divergences             ids of the known CUDA/AMD divergences that the case met, separated by blanks; else NA
    known                   the location of the known issue, if the failure is one, else NA
    title, case             the name of a named case, else NA; the text that selects the case in ``parity run``
    ======================  ==================================================================================

    Raises:
        MissingTool: pandas is not installed.
    """
    rows = [
        {
            **_named(each, each.where, split(each.case)[1]),
            "verdict": str(each.verdict.status),
            "failure": each.verdict.kind or None,
            "budget": each.verdict.budget,
            "ulp": each.verdict.ulps,
            "wrong": each.verdict.wrong,
            "elements": each.verdict.total,
            "instructions": each.instructions,
            **_code(each.reached),
            "divergences": " ".join(each.verdict.divergences) or None,
            "known": each.known or None,
            "title": each.title or None,
            "case": each.case,
        }
        for each in records
    ]
    return _frame(rows, CASE_TYPES)


def matrix_frame(matrix: Matrix) -> pandas.DataFrame:
    """Return one row per kernel and column of a matrix, kernel by kernel.

    ======================  ==================================================================================
    module, op, dtypes,     the kernel, as in ``case_frame``, like ``runner``, ``target`` and ``evidence``
    kernel
    state                   pass, FAIL, known, MISSING KERNEL, ...
    run, passed, failed     numbers of cases; ``known`` counts failures that are known issues
    budget                  the largest share of the error bound that a passing case used; 1.0 is the limit
    failures                failure classes with their counts: ``value x3``, separated by commas; else NA
    instructions            machine instructions of all cases that the emulator executed
    blocks, blocks_reached  coverage by all cases, as in ``case_frame``, like ``directions`` and
                            ``directions_reached``
    divergences             ids of the known CUDA/AMD divergences that cases met, separated by blanks; else NA
    ======================  ==================================================================================

    Raises:
        MissingTool: pandas is not installed.
    """
    rows = [
        {
            **_named(row, column, row.dtypes),
            "state": str(cell.state),
            "run": cell.run,
            "passed": cell.passed,
            "failed": cell.failed,
            "known": sum(cell.known.values()),
            "budget": cell.worst,
            "failures": ", ".join(class_counts(cell.failures)) or None,
            "instructions": cell.instructions,
            **_code(cell.reached),
            "divergences": " ".join(cell.divergences) or None,
        }
        for row in matrix.rows
        for column, cell in zip(matrix.columns, row.cells, strict=True)
    ]
    return _frame(rows, MATRIX_TYPES)


def bench_frame(measurements: Iterable[Measurement], changes: Sequence[BenchChange] = ()) -> pandas.DataFrame:
    """Return one row per measurement, in their order. ``changes`` is empty or has one item per measurement.

    To get the measurements of ``parity bench --save FILE.json``, use ``read_baseline(FILE).measurements.values()``.

    ========================  ================================================================================
    module, op, dtypes,       the kernel, as in ``case_frame``, like ``runner``, ``target`` and ``evidence``
    kernel
    title, case               the name of the case, else NA; the text that selects the case in ``parity run``
    bytes, operations         the least that the case must move and compute
    elements                  number of elements of the largest tensor
    cold_median, _low, _high  seconds of a launch with cold caches: median, 5th and 95th percentile
    cold_error                relative standard error of the median; ``cold_repetitions`` is the number of launches
    hot_median, ...           the same with warm caches; NA if not measured
    host                      seconds that the host needs for a launch
    copy_rate                 bytes per second (read and written) of copies before and after the launches; ``drift`` is
                              their relative difference
    operation_rate            operations per second that the device can perform in this type
    share                     the time that these rates allow, divided by the cold median
    bound                     the limiting rate: copy or FLOPs
    instructions              instructions that wavefronts issued in one launch, if counted; such rows have no times
    valu, salu, ...           instructions of each class, as in ``static_frame``
    change                    FASTER, SAME, SLOWER, ... since the baseline, else NA; ``change_ratio`` is the new share
                              (or instruction count) divided by the old one, and ``change_uncertainty`` its relative
                              uncertainty (95 %)
    notes, problem            remarks, separated by semicolons; the reason why nothing was measured; else NA
    ========================  ================================================================================

    Raises:
        MissingTool: pandas is not installed.
        ValueError: the number of changes differs from the number of measurements.
    """
    found = list(measurements)
    paired: Sequence[BenchChange | None] = changes or [None] * len(found)
    return _frame([_bench_row(*pair) for pair in zip(found, paired, strict=True)], BENCH_TYPES)


def static_frame(footprints: Iterable[Footprint]) -> pandas.DataFrame:
    """Return one row per kernel and target.

    ======================  ==================================================================================
    module, kernel, target  the compiled kernel and its target
    vgprs                   vector registers of a lane; for CUDA targets, all registers of a thread
    sgprs                   scalar registers of a wavefront; NA for CUDA targets
    spills                  spilled registers
    scratch_bytes           scratch memory of a lane; ``lds_bytes`` is the static LDS of a workgroup
    threads                 the largest number of threads of a workgroup
    occupancy               share of the resident wavefronts or warps that workgroups of this size reach; NA if
                            unknown
    code_bytes              size of the code, including functions that the kernel calls; NA if unknown
    valu, salu, smem,       static instruction counts by class: vector and scalar arithmetic, scalar memory, vector
    vmem_load, vmem_store,  memory, LDS, scratch memory, branches, barriers, others, and waits and hints; NA without
    vmem_atomic, lds,       a disassembler
    scratch, branch,
    barrier, other, wait
    ======================  ==================================================================================

    Raises:
        MissingTool: pandas is not installed.
    """
    plain = [name for name in STATIC_TYPES if name not in INSTRUCTIONS.values()]
    rows = [{**{name: getattr(each, name) for name in plain}, **_classes(each.mix)} for each in footprints]
    return _frame(rows, STATIC_TYPES)


def _named(
    kernel: CaseRecord | KernelRow | Measurement, column: Column | Measurement, dtypes: Iterable[str]
) -> dict[str, str]:
    """The columns for the kernel and for where it ran."""
    names = {"module": kernel.module, "op": kernel.op, "dtypes": ",".join(dtypes), "kernel": kernel.kernel}
    return {**names, "runner": column.runner, "target": column.target, "evidence": str(column.evidence)}


def _bench_row(each: Measurement, change: BenchChange | None) -> dict[str, object]:
    """The known columns of a measurement."""
    row: dict[str, object] = {**_named(each, each, each.dtypes), "title": each.title or None, "case": each.case}
    row |= {name: getattr(each, name) for name in ("bytes", "operations", "elements", "share")}
    if timings := each.timings:
        row |= {"host": timings.host, "copy_rate": each.copy, "operation_rate": each.rate, "drift": each.drift}
        row |= {"bound": each.bound, **_times("cold", timings.cold), **_times("hot", timings.hot)}
    if each.instructions:
        row |= {"instructions": sum(each.instructions.values()), **_classes(each.instructions)}
    if change:
        row |= {"change": str(change.verdict), "change_ratio": change.ratio}
        row["change_uncertainty"] = None if change.ratio is None else change.uncertainty
    return {**row, "notes": "; ".join(each.notes) or None, "problem": each.problem or None}


def _code(reached: Reached | None) -> dict[str, int]:
    return {name: getattr(reached, name) for name in COUNTS} if reached else {}


def _times(kind: str, timing: Timing | None) -> dict[str, float]:
    return {f"{kind}_{name}": getattr(timing, name) for name in TIMES} if timing else {}


def _classes(instructions: Mapping[str, int] | None) -> dict[str, int]:
    """The instruction counts by class; empty if unknown."""
    return {} if instructions is None else {column: instructions.get(name, 0) for name, column in INSTRUCTIONS.items()}


def _frame(rows: Sequence[Mapping[str, object]], types: Mapping[str, str]) -> pandas.DataFrame:
    """Return the rows as a table. Columns that a row lacks are NA."""
    try:
        import pandas
    except ImportError as error:
        raise MissingTool("pandas", "this Python", "python -m pip install pandas") from error
    return pandas.DataFrame(rows, columns=[*types]).astype(types)
