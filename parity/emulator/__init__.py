"""Executes compiled GPU code on the CPU, with checks of every memory access. Names are imported on first use.

* ``amdgpu`` translates AMD listings and ``ptx`` translates PTX to C++; ``language`` is their common interface.
* ``programs`` and ``jit`` compile and cache kernels, as compiled or as threaded code (``threaded_code``).
* ``device`` is the emulated GPU, with its ``memory``, ``variables`` and ``trace``; ``fault_report`` decodes ``faults``.
* ``runtime`` is the C++ that kernels call: ``workgroups.cpp`` (launches, barriers), ``memory.cpp`` (accesses),
  ``tracing.cpp`` and ``warps.cpp`` (races), ``faults.cpp``, ``requests.cpp`` (printf), ``matrix.cpp``,
  ``functions.cpp`` (long functions), ``threaded.cpp`` and ``ptx.cpp``. ``runtime_headers`` reads its
  constants and structs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.platform.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from parity.emulator.amdgpu.classes import CLASSES, instruction_class
    from parity.emulator.amdgpu.device import AmdgpuDevice
    from parity.emulator.amdgpu.kernarg import pack
    from parity.emulator.amdgpu.shadow import (
        BF16_SHADOW_RUNS,
        EXTRA_SHADOW_RUNS,
        SHADOW_RUNS,
        UNFLUSHED_SHADOW_RUNS,
        shadow_seed,
    )
    from parity.emulator.approximate import ApproximateResults
    from parity.emulator.device import Device
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
        Thread,
        Trapped,
        UnknownInstruction,
        UnsupportedFeature,
        WarpMask,
        WarpRace,
        source_location,
    )
    from parity.emulator.launch_options import REGISTER_FILL, LaunchOptions
    from parity.emulator.memory import Allocation
    from parity.emulator.stats import LaunchStats, merge_stats

__all__ = [
    "BF16_SHADOW_RUNS", "CLASSES", "EXTRA_SHADOW_RUNS", "REGISTER_FILL", "SHADOW_RUNS", "UNFLUSHED_SHADOW_RUNS",
    "Allocation", "AmdgpuDevice", "ApproximateResults", "BadCall", "DataRace", "Device", "DivergentBarrier",
    "FailedAssertion", "InstructionBudgetExceeded", "KernelFault", "LaunchOptions", "LaunchStats", "LdsExceeded",
    "MemoryFault", "MisalignedAccess", "NoProgress", "Thread", "Trapped", "UnknownInstruction",
    "UnsupportedFeature", "WarpMask", "WarpRace", "instruction_class", "merge_stats", "pack", "shadow_seed",
    "source_location",
]  # fmt: skip

__getattr__ = lazy_getattr(
    __name__,
    {
        "parity.emulator.amdgpu.classes": "CLASSES instruction_class",
        "parity.emulator.amdgpu.device": "AmdgpuDevice",
        "parity.emulator.amdgpu.kernarg": "pack",
        "parity.emulator.amdgpu.shadow": "BF16_SHADOW_RUNS EXTRA_SHADOW_RUNS SHADOW_RUNS UNFLUSHED_SHADOW_RUNS "
        "shadow_seed",
        "approximate": "ApproximateResults",
        "device": "Device",
        "faults": "BadCall DataRace DivergentBarrier FailedAssertion InstructionBudgetExceeded KernelFault LdsExceeded "
        "MemoryFault MisalignedAccess NoProgress Thread Trapped UnknownInstruction UnsupportedFeature WarpMask "
        "WarpRace source_location",
        "launch_options": "REGISTER_FILL LaunchOptions",
        "memory": "Allocation",
        "stats": "LaunchStats merge_stats",
    },
)
