"""Describes how CUDA's and AMD's results agree, for each kernel of the matrix and for the whole run."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from parity.compare.arbitration import Conclusion
from parity.engine.case_records import Column
from parity.report.model import Agreement, Cell, Matrix, combine_agreements

AGREEMENT = "vs CUDA"
FAR = 10_000
"""ULPs above this number are not meaningful: such results are near 0, where larger numbers cancel."""
_LEGEND = {
    r"\d ULP": "n ULP: within bounds, at most n ULP apart",
    "% of bounds": "n % of bounds: within bounds, apart by n % of both error bounds, near 0, where ULPs mean little",
    r"\d differ": "n differ: within bounds, but n elements differ",
    "sign of zero": "sign of zero: within bounds, only the sign of zero differs",
    r"\bD\d": "D..: documented difference, each side follows its vendor's rule",
}
_RAN = f"{AGREEMENT}, for cases that ran on both"
AGREEMENT_LEGEND = tuple(_LEGEND.values())
_WRONG = {
    Conclusion.AMD: "AMD wrong",
    Conclusion.CUDA: "CUDA wrong",
    Conclusion.REFERENCE: "reference?",
    Conclusion.BOTH: "both wrong",
    Conclusion.APART: "too far apart",
}


def is_compared(matrix: Matrix) -> bool:
    """Return True if a case ran on CUDA and on AMD."""
    return any(cell.agreement for cell in matrix.cells())


def describe_agreement(agreement: Agreement) -> str:
    """Return a few words: who is wrong and in how many cases, or how close the right results are."""
    counts = agreement.conclusions
    words = [f"{text} x{counts[conclusion]}" for conclusion, text in _WRONG.items() if counts.get(conclusion)]
    words += agreement.divergences
    if agreement.conclusions.get(Conclusion.RIGHT) or agreement.conclusions.get(Conclusion.CLOSE):
        words.append(_apart(agreement))
    return " ".join(words) or str(Conclusion.SAME)


def _apart(agreement: Agreement) -> str:
    if math.isinf(agreement.ulps):
        return "NaN or number"
    if not agreement.ulps and not agreement.elements:
        return "sign of zero"
    if agreement.ulps >= FAR and agreement.share:
        return f"{max(1, math.ceil(100 * agreement.share))} % of bounds"
    return f"{agreement.ulps:.0f} ULP" if 0 < agreement.ulps < FAR else f"{agreement.elements} differ"


def agreement_legend(matrix: Matrix) -> str:
    """Return the legend of the expressions that occur in this matrix; empty if there is nothing to explain."""
    shown = " ".join(agreement_text(matrix.columns, row.cells, brief=True) for row in matrix.rows)
    legend = "; ".join(text for pattern, text in _LEGEND.items() if re.search(pattern, shown))
    return f"{_RAN}: {legend}" if legend else ""


def agreement_text(columns: Sequence[Column], cells: Sequence[Cell], *, brief: bool = False) -> str:
    """Return the agreement of all AMD columns for one kernel, by target if the columns differ.

    With ``brief``, the largest differences represent all targets unless a side is wrong.
    """
    found = {column: cell.agreement for column, cell in zip(columns, cells, strict=True) if cell.agreement}
    texts = {column: describe_agreement(agreement) for column, agreement in found.items()}
    if len(set(texts.values())) <= 1:
        return next(iter(texts.values()), "")
    wrong = {column: text for column, text in texts.items() if any(found[column].conclusions.get(f) for f in _WRONG)}
    if brief and not wrong:
        return describe_agreement(combine_agreements(found.values()))
    return ", ".join(f"{column.target} {text}" for column, text in (wrong if brief else texts).items())
