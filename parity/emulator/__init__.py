"""Executes AMDGPU assembly listings on the CPU. What a name needs is imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.emulator.amdgpu.approximate import ApproximateResults
    from parity.emulator.amdgpu.classes import CLASSES, class_of
    from parity.emulator.amdgpu.device import Device, LaunchStats, pack, together
    from parity.emulator.amdgpu.launch_options import REGISTER_FILL, LaunchOptions
    from parity.emulator.faults import (
        BadCall,
        DataRace,
        DivergentBarrier,
        FailedAssertion,
        InstructionBudgetExceeded,
        KernelFault,
        LdsExceeded,
        MemoryFault,
        MisalignedAccess,
        NoProgress,
        Refused,
        Thread,
        Trapped,
        UnknownInstruction,
        WarpMask,
        WarpRace,
        place,
    )
    from parity.emulator.memory import Allocation
    from parity.emulator.shadow import MORE, MOVED, NARROWED, UNFLUSHED, shadow_seed

__all__ = [
    "CLASSES",
    "MORE",
    "MOVED",
    "NARROWED",
    "REGISTER_FILL",
    "UNFLUSHED",
    "Allocation",
    "ApproximateResults",
    "BadCall",
    "DataRace",
    "Device",
    "DivergentBarrier",
    "FailedAssertion",
    "InstructionBudgetExceeded",
    "KernelFault",
    "LaunchOptions",
    "LaunchStats",
    "LdsExceeded",
    "MemoryFault",
    "MisalignedAccess",
    "NoProgress",
    "Refused",
    "Thread",
    "Trapped",
    "UnknownInstruction",
    "WarpMask",
    "WarpRace",
    "class_of",
    "pack",
    "place",
    "shadow_seed",
    "together",
]

__getattr__ = lazy_getattr(
    __name__,
    {
        "parity.emulator.amdgpu.approximate": "ApproximateResults",
        "parity.emulator.amdgpu.classes": "CLASSES class_of",
        "parity.emulator.amdgpu.device": "Device LaunchStats pack together",
        "parity.emulator.amdgpu.launch_options": "REGISTER_FILL LaunchOptions",
        "faults": "BadCall DataRace DivergentBarrier FailedAssertion InstructionBudgetExceeded KernelFault LdsExceeded "
        "MemoryFault MisalignedAccess NoProgress Refused Thread Trapped UnknownInstruction WarpMask WarpRace place",
        "memory": "Allocation",
        "shadow": "MORE MOVED NARROWED UNFLUSHED shadow_seed",
    },
)
