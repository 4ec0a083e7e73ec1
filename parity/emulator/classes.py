"""What kind of instruction a mnemonic names, in the classes of AMD's performance counters (``SQ_INSTS_VALU``, ...)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from parity.emulator.isa import IGNORED

__all__ = ["CLASSES", "WAIT", "class_of", "totals"]

WAIT = "wait"
"""The class of waits, hints and cache control, which compute nothing and are not counted as executed."""

#: How the mnemonics of a class begin; of several begins that fit the longest decides. The families are the chapters of
#: the RDNA3 and CDNA3 Instruction Set Architecture, the classes those of the hardware counters that rocprofiler lists.
#: A lane exchange through the hardware of LDS (ds_bpermute, ds_swizzle) is in its class. Buffers are what the compiler
#: addresses scratch memory through where a target has no instructions for it, and nothing else.
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
_CLASS = {begin: name for name, begins in _BEGINS.items() for begin in begins.split()}

CLASSES = (*_BEGINS, WAIT)
"""All classes, in the order in which they are shown."""


@functools.cache
def class_of(mnemonic: str) -> str:
    """The class of an instruction; ``other`` for what belongs to none.

    Matrix instructions are vector instructions, and both halves of a dual-issue pair are one instruction.
    """
    if mnemonic in IGNORED:
        return WAIT
    begins = (mnemonic[:length] for length in range(len(mnemonic), 0, -1))
    return next((_CLASS[begin] for begin in begins if begin in _CLASS), "other")


def totals(counts: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """The sum of each class that occurs, in the order of ``CLASSES``."""
    found: dict[str, int] = {}
    for name, count in counts:
        found[name] = found.get(name, 0) + count
    return {name: found[name] for name in CLASSES if found.get(name)}
