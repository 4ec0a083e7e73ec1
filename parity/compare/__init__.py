"""Comparison of outputs with expected values: special values, error budgets, known divergences, patterns."""

from parity.compare.arbitration import Comparison, Conclusion, SideResult, who_is_wrong
from parity.compare.comparison import accepts_zeros, compare, unchanged
from parity.compare.cuda_oracle import Moved, expected_of, same
from parity.compare.patterns import describe
from parity.compare.ulps import bit_patterns, show, ulp_distance
from parity.compare.verdict import Mismatch, Status, Verdict, general

__all__ = [
    "Comparison",
    "Conclusion",
    "Mismatch",
    "Moved",
    "SideResult",
    "Status",
    "Verdict",
    "accepts_zeros",
    "bit_patterns",
    "compare",
    "describe",
    "expected_of",
    "general",
    "same",
    "show",
    "ulp_distance",
    "unchanged",
    "who_is_wrong",
]
