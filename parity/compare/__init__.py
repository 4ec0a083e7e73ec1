"""Comparison of outputs with expected values: special values, error budgets, known divergences, patterns."""

from parity.compare.comparison import compare, unchanged
from parity.compare.patterns import describe
from parity.compare.ulps import bit_patterns, show, ulp_distance
from parity.compare.verdict import Mismatch, Status, Verdict

__all__ = ["Mismatch", "Status", "Verdict", "bit_patterns", "compare", "describe", "show", "ulp_distance", "unchanged"]
