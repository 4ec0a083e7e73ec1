"""Bisects a failure or difference: rebuilds a kernel with one compiler option changed at a time."""

from parity.bisect.changed_lines import LineChange, changed_lines
from parity.bisect.compiler_options import COMPILER_OPTIONS
from parity.bisect.rebuild import Rebuild
from parity.bisect.search import BisectResult, CaseState, Effect, bisect_options, case_state

__all__ = [
    "COMPILER_OPTIONS", "BisectResult", "CaseState", "Effect", "LineChange", "Rebuild", "bisect_options", "case_state",
    "changed_lines",
]  # fmt: skip
