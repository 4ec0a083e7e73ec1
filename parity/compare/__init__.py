"""Compares outputs with expected values: special values, error bounds, known divergences, patterns of errors."""

from parity.compare.arbitration import Comparison, Conclusion, SideResult, arbitrate
from parity.compare.comparison import accepts_zeros, check_unmodified, compare
from parity.compare.cuda_oracle import RoundingRuns, expected_from_cuda, same_values
from parity.compare.patterns import describe_pattern
from parity.compare.ulps import bit_patterns, format_value, ulp_distance
from parity.compare.verdict import Mismatch, Status, Verdict, general_class

__all__ = [
    "Comparison",
    "Conclusion",
    "Mismatch",
    "RoundingRuns",
    "SideResult",
    "Status",
    "Verdict",
    "accepts_zeros",
    "arbitrate",
    "bit_patterns",
    "check_unmodified",
    "compare",
    "describe_pattern",
    "expected_from_cuda",
    "format_value",
    "general_class",
    "same_values",
    "ulp_distance",
]
