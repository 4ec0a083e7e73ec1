"""Converts cases, matrices, measurements and footprints to pandas tables. Imports pandas on first use.

Use the methods of pandas for pivots and files: ``frame.to_csv``, ``to_parquet`` and ``to_excel``. CSV files have no
types, and "nan" is a failure class. To read a CSV file back unchanged, use
``pandas.read_csv(file, dtype=CASE_TYPES, keep_default_na=False, na_values=[""])``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from parity.emulator.amdgpu.classes import CLASSES
from parity.engine.case_records import CaseRecord
from parity.errors import MissingTool
from parity.model.case import split
from parity.platform.files import read_table
from parity.report.matrix import class_counts
from parity.report.model import Matrix

if TYPE_CHECKING:
    import pandas

    from parity.engine.bench import Measurement
    from parity.engine.bench_baseline import BenchChange
    from parity.footprint.measure import Footprint

_ROWS = read_table(Path(__file__).with_suffix(".csv"))
CASE_TYPES, MATRIX_TYPES, BENCH_TYPES, STATIC_TYPES = (
    {row["column"]: row["type"] for row in _ROWS if row["table"] == table}
    for table in ("cases", "matrix", "bench", "static")
)
"""The columns of each table, with their pandas types."""


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
    rows = (SimpleNamespace(record=each, dtypes=",".join(split(each.case)[1])) for each in records)
    return _frame("cases", CASE_TYPES, rows)


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
    rows = (
        SimpleNamespace(
            row=row, column=column, cell=cell, dtypes=",".join(row.dtypes), known=sum(cell.known.values()),
            failures=", ".join(class_counts(cell.failures)),
        )
        for row in matrix.rows
        for column, cell in zip(matrix.columns, row.cells, strict=True)
    )  # fmt: skip
    return _frame("matrix", MATRIX_TYPES, rows)


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
    return _frame("bench", BENCH_TYPES, [_bench_row(*pair) for pair in zip(found, paired, strict=True)])


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
    rows = (SimpleNamespace(footprint=each, mix=_classes(each.mix)) for each in footprints)
    return _frame("static", STATIC_TYPES, rows)


def _bench_row(each: Measurement, change: BenchChange | None) -> SimpleNamespace:
    counts = each.instructions or None
    return SimpleNamespace(
        measurement=each, dtypes=",".join(each.dtypes), timed=each if each.timings else None, change=change,
        compared=change if change and change.ratio is not None else None, notes="; ".join(each.notes),
        instructions=sum(counts.values()) if counts else None, mix=_classes(counts),
    )  # fmt: skip


def _classes(instructions: Mapping[str, int] | None) -> SimpleNamespace | None:
    """The instruction counts by column; None if unknown."""
    if instructions is None:
        return None
    return SimpleNamespace(**{name.replace(" ", "_"): instructions.get(name, 0) for name in CLASSES})


def _frame(table: str, types: Mapping[str, str], rows: Iterable[SimpleNamespace]) -> pandas.DataFrame:
    """Return a table. ``frames.csv`` states which attribute of a row is the value of a column."""
    try:
        import pandas
    except ImportError as error:
        raise MissingTool("pandas", "this Python", "python -m pip install pandas") from error
    found = list(rows)
    getters = {row["column"]: attrgetter(row["value"]) for row in _ROWS if row["table"] == table}
    return pandas.DataFrame({name: [_value(row, get) for row in found] for name, get in getters.items()}).astype(types)


def _value(row: SimpleNamespace, get: Callable[[SimpleNamespace], Any]) -> Any:
    """The value of a column: None for an empty text, and where a part of the row is None."""
    try:
        value = get(row)
    except AttributeError:
        return None
    text = " ".join(value) if isinstance(value, tuple) else value
    return (str(text) or None) if isinstance(text, str) else text
