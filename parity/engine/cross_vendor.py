"""Compares CUDA with AMD in one case: chooses the pairs of columns, and stores who is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from parity.compare.arbitration import Comparison, SideResult, arbitrate
from parity.compare.ulps import format_value
from parity.compare.verdict import Status
from parity.compilers.targets import VERSION_MARK, gpu_of
from parity.engine.case_records import Column, CrossVendorComparison
from parity.reference.expected import Expected


def compare_vendors(
    results: Mapping[Column, SideResult], expected: Callable[[], Expected] | None = None
) -> dict[Column, CrossVendorComparison]:
    """Compare every AMD column with a CUDA column and, if CUDA fails, CUDA with an AMD column.

    Ignores columns that did not run the kernel. Uses the first CUDA column with a result, and the first AMD column that
    passes (or else the first). ``expected`` is called only if two outputs are compared.
    """
    judged = {
        column: result
        for column, result in results.items()
        if result.verdict.judged or result.verdict.status is Status.BASELINE
    }
    theirs = [column for column in judged if column.side == "cuda"]
    cuda = min(theirs, key=lambda column: judged[column].verdict.status is not Status.BASELINE, default=None)
    ported = [column for column in judged if column.side == "amd"]
    if cuda is None or not ported:
        return {}
    pairs = dict.fromkeys(ported, cuda)
    if judged[cuda].verdict.failed:
        pairs[cuda] = min(ported, key=lambda column: not judged[column].verdict.passed)
    found = {}
    for mine, other in pairs.items():
        amd = mine if mine.side == "amd" else other
        if comparison := _compared(judged[cuda], judged[amd], expected):
            found[mine] = _stored_comparison(judged[mine], other, judged[other], comparison)
    return found


def compare_versions(
    results: Mapping[Column, SideResult], expected: Callable[[], Expected] | None = None
) -> dict[Column, CrossVendorComparison]:
    """Compare every column with the column of the same runner and GPU with the oldest version of HIP.

    In the comparison, the older version takes the place of CUDA. ``expected`` is as in ``compare_vendors``.
    """
    found, oldest = {}, dict[tuple[str, str], Column]()
    for column, result in results.items():
        if VERSION_MARK not in column.target or not result.verdict.judged:
            continue
        other = oldest.setdefault((column.runner, gpu_of(column.target)), column)
        if other is not column and (comparison := _compared(results[other], result, expected)):
            found[column] = _stored_comparison(result, other, results[other], comparison)
    return found


def _compared(cuda: SideResult, amd: SideResult, expected: Callable[[], Expected] | None) -> Comparison | None:
    has_outputs = cuda.output is not None and amd.output is not None
    return arbitrate(cuda, amd, expected() if expected and has_outputs else None)


def _stored_comparison(
    mine: SideResult, column: Column, other: SideResult, comparison: Comparison
) -> CrossVendorComparison:
    first, output = mine.verdict.first, other.output
    value = ""
    if first is not None and output is not None and len(first.coordinates) == output.ndim:
        value = format_value(output[first.coordinates])
    budget = math.inf if other.verdict.failed else other.verdict.budget
    return CrossVendorComparison(**vars(comparison), column=column.known_as, value=value, budget=budget)
