"""Executes AMDGPU assembly listings on the CPU."""

from parity.emulator.classes import CLASSES, class_of
from parity.emulator.device import Device, LaunchStats, pack, together
from parity.emulator.faults import (
    BadCall,
    DataRace,
    DivergentBarrier,
    InstructionBudgetExceeded,
    MemoryFault,
    UnknownInstruction,
    place,
)
from parity.emulator.memory import Allocation

__all__ = [
    "CLASSES",
    "Allocation",
    "BadCall",
    "DataRace",
    "Device",
    "DivergentBarrier",
    "InstructionBudgetExceeded",
    "LaunchStats",
    "MemoryFault",
    "UnknownInstruction",
    "class_of",
    "pack",
    "place",
    "together",
]
