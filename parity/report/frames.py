"""Cases, matrices, measurements and footprints as tables of pandas, which is imported when one is asked for.

Pivots and files are pandas' own: ``frame.to_csv``, ``to_parquet`` and ``to_excel``, the latter two where their engines
are installed. Text has no types, and "nan" is a class of failures; what reads such a file back as it was is
``pandas.read_csv(file, dtype=CASE_TYPES, keep_default_na=False, na_values=[""])``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from parity.emulator import CLASSES
from parity.engine import CaseRecord, Column
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

__all__ = [
    "BENCH_TYPES",
    "CASE_TYPES",
    "CATEGORIES",
    "MATRIX_TYPES",
    "STATIC_TYPES",
    "bench_frame",
    "case_frame",
    "matrix_frame",
    "static_frame",
]

CATEGORIES = ("op", "module", "kernel", "dtypes", "runner", "target", "evidence", "verdict", "failure")
"""Columns of few values."""

CASE_TYPES = {
    **dict.fromkeys(CATEGORIES, "category"),
    **dict.fromkeys(("budget", "ulp"), "float64"),
    **dict.fromkeys(("wrong", "elements"), "int64"),
    "instructions": "Int64",
    **dict.fromkeys(COUNTS, "Int64"),
    **dict.fromkeys(("divergences", "known", "title", "case"), "string"),
}
"""The columns of the table of cases, and what pandas keeps them as."""

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
    """One row per case, in the order in which they were run.

    ======================  ==================================================================================
    op, module, kernel      what was called
    dtypes                  those of the kernel, separated by commas: ``f32`` or ``u8,f16``
    runner, target          where it ran, and ``evidence``: emulated, device, recorded or library
    verdict                 pass, fail, ...; ``failure`` is its class (``value``, ``out-of-bounds read``), else NA
    budget                  the largest share of the allowed error that an element used; 1.0 is the limit
    ulp                     the largest distance from the reference, in units in the last place
    wrong, elements         how many elements are wrong, of how many
    instructions            machine instructions that the emulator executed; NA elsewhere
    blocks, blocks_reached  basic blocks of the kernel's machine code, and those that the case reached; NA where nothing
                            notes them; so are ``directions`` of conditional branches and ``directions_reached``
    divergences             ids of known differences between CUDA and AMD that were met, separated by blanks; else NA
    known                   the location of the known issue that a failure is, else NA
    title, case             the name of a named case, else NA; the text that ``parity run`` takes
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
    """One row per kernel and column of a matrix, kernel by kernel.

    ======================  ==================================================================================
    module, op, dtypes,     the kernel, as in ``case_frame``; so are ``runner``, ``target`` and ``evidence``
    kernel
    state                   pass, FAIL, known, MISSING KERNEL, ...
    run, passed, failed     cases; ``known`` are those that failed in a known way
    budget                  the largest share of the allowed error that a passing case used; 1.0 is the limit
    failures                the classes of failures with their numbers: ``value x3``, separated by commas; else NA
    instructions            machine instructions of all cases that the emulator executed
    blocks, blocks_reached  basic blocks of the kernel's machine code, and those that its cases reached; NA where
                            nothing notes them; so are ``directions`` of branches and ``directions_reached``
    divergences             ids of known differences between CUDA and AMD that were met, separated by blanks; else NA
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
    """One row per measurement, in the order in which they were made; ``changes`` belong to them, where there are any.

    What was stored with ``parity bench --save FILE.json`` is ``read_baseline(FILE).measurements.values()``.

    ========================  ================================================================================
    module, op, dtypes,       the kernel, as in ``case_frame``; so are ``runner``, ``target`` and ``evidence``
    kernel
    title, case               the name of the case, else NA; the text that ``parity run`` takes
    bytes, operations         what the case moves and computes at least
    elements                  of its largest tensor
    cold_median, _low, _high  seconds of a launch with nothing in the caches; 5th and 95th percentile
    cold_error                relative standard error of the median; ``cold_repetitions``: how many there were
    hot_median, ...           the same with warm caches; NA if that was not measured
    host                      seconds that the host takes to launch it
    copy_rate                 bytes per second (read and written) of the copies before and after it, ``drift``: their
                              relative difference
    operation_rate            operations per second that the device can do in this type
    share                     the time that these rates allow, by the cold median
    bound                     which of the two is longer: copy or FLOPs
    instructions              that wavefronts issued in one launch, where they were counted; they have no class_counts
    valu, salu, ...           of these, those of each class, as in ``static_frame``
    change                    FASTER, SAME, SLOWER, ...: since the baseline, NA without one; ``change_ratio`` is of the
                              shares, or numbers, now by then, ``change_uncertainty`` its relative uncertainty (95 %)
    notes, problem            what was odd, separated by semicolons; why nothing was measured; else NA
    ========================  ================================================================================

    Raises:
        MissingTool: pandas is not installed.
        ValueError: there are changes, and not one for each measurement.
    """
    found = list(measurements)
    paired: Sequence[BenchChange | None] = changes or [None] * len(found)
    rows = [
        {
            **_named(each, each, each.dtypes),
            "title": each.title or None,
            "case": each.case,
            "bytes": each.bytes,
            "operations": each.operations,
            "elements": each.elements,
            **_times("cold", each.timings.cold if each.timings else None),
            **_times("hot", each.timings.hot if each.timings else None),
            "host": each.timings.host if each.timings else None,
            "copy_rate": each.copy if each.timings else None,
            "operation_rate": each.rate if each.timings else None,
            "drift": each.drift if each.timings else None,
            "share": each.share,
            "bound": each.bound if each.timings else None,
            "instructions": sum(each.instructions.values()) if each.instructions else None,
            **_classes(each.instructions or None),
            "change": str(change.verdict) if change else None,
            "change_ratio": change.ratio if change else None,
            "change_uncertainty": change.uncertainty if change and change.ratio is not None else None,
            "notes": "; ".join(each.notes) or None,
            "problem": each.problem or None,
        }
        for each, change in zip(found, paired, strict=True)
    ]
    return _frame(rows, BENCH_TYPES)


def static_frame(footprints: Iterable[Footprint]) -> pandas.DataFrame:
    """One row per kernel and target.

    ======================  ==================================================================================
    module, kernel, target  what was compiled, and for what
    vgprs                   vector registers of a lane; of a CUDA target all registers of a thread
    sgprs                   scalar registers of a wavefront; NA for CUDA targets
    spills                  registers that did not fit
    scratch_bytes           scratch memory of a lane; ``lds_bytes``: static LDS of a workgroup
    threads                 the most that a workgroup may have
    occupancy               share of the wavefronts or warps that can be resident which workgroups of so many
                            threads fill; NA if it is not known
    code_bytes              with the functions that the kernel calls; NA if they are not known
    valu, salu, smem,       instructions as they stand in the code, by class: vector and scalar arithmetic, scalar
    vmem_load, vmem_store,  memory, vector memory, LDS, scratch memory, branches, barriers, others, and waits and
    vmem_atomic, lds,       hints; NA where there is nothing to disassemble with
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
    """The kernel, and where it ran."""
    names = {"module": kernel.module, "op": kernel.op, "dtypes": ",".join(dtypes), "kernel": kernel.kernel}
    return {**names, "runner": column.runner, "target": column.target, "evidence": str(column.evidence)}


def _code(reached: Reached | None) -> dict[str, int | None]:
    return {name: getattr(reached, name, None) for name in COUNTS}


def _times(kind: str, timing: Timing | None) -> dict[str, float | None]:
    return {f"{kind}_{name}": getattr(timing, name) if timing else None for name in TIMES}


def _classes(instructions: Mapping[str, int] | None) -> dict[str, int | None]:
    """The instructions of each class; None where they are not known."""
    return {
        column: instructions.get(name, 0) if instructions is not None else None for name, column in INSTRUCTIONS.items()
    }


def _frame(rows: Sequence[Mapping[str, object]], types: Mapping[str, str]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise MissingTool("pandas", "this Python", "python -m pip install pandas") from error
    return pandas.DataFrame(rows, columns=[*types]).astype(types)
