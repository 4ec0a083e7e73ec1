"""Faults planted in kernels, to see which ones the cases catch. Each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.mutation.campaign import COUNT, LEVELS, SEARCH, Settings, mutate, shares
    from parity.mutation.mutant import Level, Mutant, MutantOutcome, MutantResult, Reason, UnmutatedResult
    from parity.mutation.operators import INSTRUCTIONS, SOURCE, Operator
    from parity.mutation.recall import FILE, Recall, committed, read_recall, recall_of
    from parity.mutation.trial import Subject

__all__ = [
    "COUNT",
    "FILE",
    "INSTRUCTIONS",
    "LEVELS",
    "SEARCH",
    "SOURCE",
    "Level",
    "Mutant",
    "MutantOutcome",
    "MutantResult",
    "Operator",
    "Reason",
    "Recall",
    "Settings",
    "Subject",
    "UnmutatedResult",
    "committed",
    "mutate",
    "read_recall",
    "recall_of",
    "shares",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "mutant": "Level Mutant MutantOutcome Reason MutantResult UnmutatedResult",
        "operators": "INSTRUCTIONS SOURCE Operator",
        "recall": "FILE Recall committed read_recall recall_of",
        "campaign": "COUNT LEVELS SEARCH Settings mutate shares",
        "trial": "Subject",
    },
)
