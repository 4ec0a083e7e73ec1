"""Faults planted in kernels, to see which ones the cases catch. Each name is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import later

if TYPE_CHECKING:
    from parity.mutation.campaign import COUNT, LEVELS, SEARCH, Settings, mutate, shares
    from parity.mutation.mutant import Level, Mutant, Outcome, Reason, Tried, Usual
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
    "Operator",
    "Outcome",
    "Reason",
    "Recall",
    "Settings",
    "Subject",
    "Tried",
    "Usual",
    "committed",
    "mutate",
    "read_recall",
    "recall_of",
    "shares",
]

__getattr__ = later(
    __name__,
    {
        "mutant": "Level Mutant Outcome Reason Tried Usual",
        "operators": "INSTRUCTIONS SOURCE Operator",
        "recall": "FILE Recall committed read_recall recall_of",
        "campaign": "COUNT LEVELS SEARCH Settings mutate shares",
        "trial": "Subject",
    },
)
