"""Faults planted in kernels, to see which ones the cases catch."""

from parity.mutation.journal import MutantJournal
from parity.mutation.mutant import Level, Mutant, Outcome, Reason, Tried, Usual
from parity.mutation.operators import INSTRUCTIONS, SOURCE, Operator
from parity.mutation.recall import FILE, Recall, committed, read_recall, recall_of
from parity.mutation.run import COUNT, LEVELS, SEARCH, Settings, mutate, shares
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
    "MutantJournal",
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
