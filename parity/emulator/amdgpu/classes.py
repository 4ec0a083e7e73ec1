"""Classes of instructions by mnemonic, like AMD's performance counters (``SQ_INSTS_VALU``, ...)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from parity.emulator.amdgpu.isa import IGNORED
from parity.platform.files import read_table

WAIT = "wait"
"""The class of waits, hints and cache control, which do not count as executed."""

# classes.csv has the prefixes of the mnemonics of each class. The families are chapters of the RDNA3 and CDNA3
# Instruction Set Architecture; the classes are the hardware counters that rocprofiler lists. Lane exchanges through the
# hardware of LDS (ds_bpermute, ds_swizzle) are in class lds. Compilers use buffers only for scratch memory, on targets
# without scratch instructions. NVIDIA's opcodes (CUDA Binary Utilities, "Instruction Set Reference") have AMD's
# classes, too: the uniform datapath is salu, loads of constants are smem, shared memory and shuffles are lds.
_ROWS = read_table(Path(__file__).with_suffix(".csv"))

CLASSES = tuple(row["class"] for row in _ROWS)
"""All classes, in the order of reports."""


def classifier(column: str) -> Callable[[str], str]:
    """Return a function from mnemonics to classes, by the prefixes in a column of the table.

    The longest prefix decides; without a match, the class is ``other``.
    """
    known = {begin: row["class"] for row in _ROWS for begin in row[column].split()}

    @functools.cache
    def classified(mnemonic: str) -> str:
        parts = (mnemonic[:length] for length in range(len(mnemonic), 0, -1))
        return next((known[part] for part in parts if part in known), "other")

    return classified


_class_of = classifier("mnemonics")


def instruction_class(mnemonic: str) -> str:
    """Return the class of an AMD instruction.

    Matrix instructions are vector instructions. A dual-issue pair is one instruction.
    """
    return WAIT if mnemonic in IGNORED else _class_of(mnemonic)


def class_totals(counts: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """Add up the counts of each class, in the order of ``CLASSES``; omits classes with count 0."""
    found: Counter[str] = Counter()
    for name, count in counts:
        found[name] += count
    return {name: found[name] for name in CLASSES if found[name]}
