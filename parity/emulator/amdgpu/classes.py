"""Classes of instructions by mnemonic: those of AMD's performance counters (``SQ_INSTS_VALU``, ...)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from parity.emulator.amdgpu.isa import IGNORED

__all__ = ["CLASSES", "WAIT", "class_of", "classifier", "totals"]

WAIT = "wait"
"""The class of waits, hints and cache control, which compute nothing and are not counted as executed."""

#: How the mnemonics of a class begin. The families are the chapters of the RDNA3 and CDNA3 Instruction Set
#: Architecture, the classes those of the hardware counters that rocprofiler lists.
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

CLASSES = (*_BEGINS, WAIT)
"""All classes, in the order in which they are shown."""


def classifier(begins: Mapping[str, str]) -> Callable[[str], str]:
    """A function from mnemonics to classes. ``begins`` has, for each class, how the mnemonics of it begin; of several
    begins that fit the longest decides, and ``other`` is what none fits.
    """
    known = {begin: name for name, several in begins.items() for begin in several.split()}

    @functools.cache
    def classified(mnemonic: str) -> str:
        parts = (mnemonic[:length] for length in range(len(mnemonic), 0, -1))
        return next((known[part] for part in parts if part in known), "other")

    return classified


_class_of = classifier(_BEGINS)


def class_of(mnemonic: str) -> str:
    """The class of an AMD instruction.

    Matrix instructions are vector instructions, and both halves of a dual-issue pair are one instruction.
    """
    return WAIT if mnemonic in IGNORED else _class_of(mnemonic)


def totals(counts: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """The sum of each class that occurs, in the order of ``CLASSES``."""
    found: dict[str, int] = {}
    for name, count in counts:
        found[name] = found.get(name, 0) + count
    return {name: found[name] for name in CLASSES if found.get(name)}
