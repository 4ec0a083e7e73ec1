"""The choices of an emulated launch that a kernel's result must not depend on."""

from __future__ import annotations

from dataclasses import dataclass

from parity.emulator.approximate import ApproximateResults
from parity.emulator.runtime_headers import constants

REGISTER_FILL = 0xBAADF00D
"""The 32 bits of every register before the first write to it."""
REVERSED: int = constants("wavefronts.h")["REVERSED"]
"""The seed of the natural order of workgroups, with the last wavefront of each workgroup first."""

RACE_MASKS = (0xFF, 0x5A)
"""Values of ``LaunchOptions.race_mask``."""


@dataclass(frozen=True)
class LaunchOptions:
    """The options of a launch.

    Attributes:
        seed: permutes the order of workgroups and, between barriers, of wavefronts; 0 is the natural order.
        register_fill: the 32 bits of registers that nothing has written.
        inverted_register: the number, in ``Device.undefined_reads``, of a register that holds the complement.
        results: the results of approximate instructions.
        sampled: the number of workgroups to execute; 0 for all.
        draw: chooses among the allowed results of approximate instructions; 32 bits.
        clock_rate: ticks of a clock per instruction.
        undivided: what a division of an integer by zero gives in PTX; all bits are set on an H200. With another value,
            ``div.approx`` divides by numbers above 2^126 as well, which otherwise gives 0.
        instructions: the instruction budget; None for the budget of the device.
        in_order: execute workgroups in the order of their numbers, whatever the seed.
        shuffled_lanes: let atomics begin with the last lane instead of the first, and diverged threads take turns.
        cooperative: let all workgroups begin, so that they can wait for each other.
        memory_fill: the value of each byte of LDS and scratch memory that nothing has written, which kernels may then
            read; None: they may not. Workgroups after the first one may find what earlier ones left instead, except
            that LDS is always filled with 0.
        race_mask: changes each byte that a load returns if another wavefront of its workgroup may have written it to
            global memory. Such a race is then not a fault. 0: it is one.
        lds_races: whether data races in LDS are not faults.
    """

    seed: int = 0
    register_fill: int = REGISTER_FILL
    inverted_register: int | None = None
    results: ApproximateResults = ApproximateResults.NEAREST
    draw: int = 0
    sampled: int = 0
    clock_rate: int = 1
    undivided: int = (1 << 64) - 1
    instructions: int | None = None
    in_order: bool = False
    shuffled_lanes: bool = False
    cooperative: bool = False
    memory_fill: int | None = None
    race_mask: int = 0
    lds_races: bool = False
