"""Classes of instructions by mnemonic, like AMD's performance counters (``SQ_INSTS_VALU``, ...)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from parity.emulator.amdgpu.isa import IGNORED

WAIT = "wait"
"""The class of waits, hints and cache control, which do not count as executed."""

#: The prefixes of the mnemonics of each class. The families are chapters of the RDNA3 and CDNA3 Instruction Set
#: Architecture; the classes are the hardware counters that rocprofiler lists. Lane exchanges through the hardware of
#: LDS (ds_bpermute, ds_swizzle) are in class lds. Compilers use buffers only for scratch memory, on targets without
#: scratch instructions.
_BEGINS = {
    "valu": "v_",
    "salu": "s_",
    "smem": "s_load_ s_store_ s_buffer_ s_atomic_ s_scratch_ s_dcache_ s_memtime s_memrealtime",
    "vmem load": "global_load_ flat_load_ image_",
    "vmem store": "global_store_ flat_store_ image_store",
    "vmem atomic": "global_atomic_ flat_atomic_ buffer_atomic_ image_atomic_",
    "lds": "ds_",
    "scratch": "scratch_ buffer_load_ buffer_store_",
    "branch": "s_branch s_cbranch_ s_call_ s_swappc_ s_setpc_ s_rfe_",
    "barrier": "s_barrier",
    "other": "s_endpgm s_sendmsg s_trap s_sethalt",
}

CLASSES = (*_BEGINS, WAIT)
"""All classes, in the order of reports."""


def classifier(begins: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function from mnemonics to classes.

    ``begins`` has the prefixes of each class. The longest prefix decides; without a match, the class is ``other``.
    """
    known = {begin: name for name, several in begins.items() for begin in several.split()}

    @functools.cache
    def classified(mnemonic: str) -> str:
        parts = (mnemonic[:length] for length in range(len(mnemonic), 0, -1))
        return next((known[part] for part in parts if part in known), "other")

    return classified


_class_of = classifier(_BEGINS)


def instruction_class(mnemonic: str) -> str:
    """Return the class of an AMD instruction.

    Matrix instructions are vector instructions. A dual-issue pair is one instruction.
    """
    return WAIT if mnemonic in IGNORED else _class_of(mnemonic)


def class_totals(counts: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """Add up the counts of each class, in the order of ``CLASSES``; omits classes with count 0."""
    found: dict[str, int] = {}
    for name, count in counts:
        found[name] = found.get(name, 0) + count
    return {name: found[name] for name in CLASSES if found.get(name)}
