"""Plants faults in kernels, and measures how many of them the cases catch. Names are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.mutation.campaign import (
        COUNT,
        LEVELS,
        SEARCH,
        CampaignEvents,
        CampaignSettings,
        distribute_faults,
        mutate,
    )
    from parity.mutation.mutant import Level, Mutant, MutantOutcome, MutantResult, Reason, UnmutatedResult
    from parity.mutation.operators import INSTRUCTIONS, SOURCE, Operator
    from parity.mutation.recall import FILE, Recall, compute_recall, find_recall_file, read_recall
    from parity.mutation.trial import MutatedKernel

__all__ = [
    "COUNT", "FILE", "INSTRUCTIONS", "LEVELS", "SEARCH", "SOURCE", "CampaignEvents", "CampaignSettings", "Level",
    "Mutant", "MutantOutcome", "MutantResult", "MutatedKernel", "Operator", "Reason", "Recall", "UnmutatedResult",
    "compute_recall", "distribute_faults", "find_recall_file", "mutate", "read_recall",
]  # fmt: skip

__getattr__ = lazy_getattr(
    __name__,
    {
        "mutant": "Level Mutant MutantOutcome Reason MutantResult UnmutatedResult",
        "operators": "INSTRUCTIONS SOURCE Operator",
        "recall": "FILE Recall find_recall_file read_recall compute_recall",
        "campaign": "COUNT LEVELS SEARCH CampaignEvents CampaignSettings mutate distribute_faults",
        "trial": "MutatedKernel",
    },
)
