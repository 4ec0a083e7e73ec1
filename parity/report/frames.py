"""Cases and matrices as tables of pandas, which is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from parity.case import split
from parity.engine import CaseRecord
from parity.errors import MissingTool

if TYPE_CHECKING:
    import pandas

    from parity.report.matrix import Matrix

__all__ = ["case_frame", "matrix_frame"]

CATEGORIES = ("op", "module", "kernel", "dtypes", "runner", "target", "evidence", "verdict", "failure")
"""Columns of few values."""

CASE_TYPES = {
    **dict.fromkeys(CATEGORIES, "category"),
    **dict.fromkeys(("budget", "ulp"), "float64"),
    **dict.fromkeys(("wrong", "elements"), "int64"),
    "instructions": "Int64",
    **dict.fromkeys(("divergences", "known", "title", "case"), "string"),
}
"""The columns of the table of cases, and what pandas keeps them as."""


MATRIX_TYPES = {
    **dict.fromkeys(("module", "op", "dtypes", "kernel", "runner", "target", "evidence", "state"), "category"),
    **dict.fromkeys(("run", "passed", "failed", "known"), "int64"),
    "budget": "float64",
    "failures": "string",
    "instructions": "int64",
    "divergences": "string",
}
"""The columns of the table of a matrix."""


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
    divergences             ids of known differences between CUDA and AMD that were met, separated by blanks
    known                   the place of the known issue that a failure is, else NA
    title, case             the name of a named case, else NA; the text that ``parity run`` takes
    ======================  ==================================================================================

    Raises:
        MissingTool: pandas is not installed.
    """
    rows = [
        {
            "op": each.op,
            "module": each.module,
            "kernel": each.kernel,
            "dtypes": ",".join(split(each.case)[1]),
            "runner": each.runner,
            "target": each.target,
            "evidence": str(each.evidence),
            "verdict": str(each.verdict.status),
            "failure": each.verdict.kind or None,
            "budget": each.verdict.budget,
            "ulp": each.verdict.ulps,
            "wrong": each.verdict.wrong,
            "elements": each.verdict.total,
            "instructions": each.instructions,
            "divergences": " ".join(each.verdict.divergences),
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
    divergences             ids of known differences between CUDA and AMD that were met, separated by blanks
    ======================  ==================================================================================

    Raises:
        MissingTool: pandas is not installed.
    """
    rows = [
        {
            "module": row.module,
            "op": row.op,
            "dtypes": ",".join(row.dtypes),
            "kernel": row.kernel,
            "runner": column.runner,
            "target": column.target,
            "evidence": str(column.evidence),
            "state": str(cell.state),
            "run": cell.run,
            "passed": cell.passed,
            "failed": cell.failed,
            "known": sum(cell.known.values()),
            "budget": cell.worst,
            "failures": ", ".join(f"{kind} x{count}" for kind, count in cell.failures.items()) or None,
            "instructions": cell.instructions,
            "divergences": " ".join(cell.divergences),
        }
        for row in matrix.rows
        for column, cell in zip(matrix.columns, row.cells, strict=True)
    ]
    return _frame(rows, MATRIX_TYPES)


def _frame(rows: Sequence[Mapping[str, object]], types: Mapping[str, str]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise MissingTool("pandas", "this Python", "python -m pip install pandas") from error
    return pandas.DataFrame(rows, columns=[*types]).astype(types)
