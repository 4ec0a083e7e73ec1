"""The choices that an emulated launch leaves open: orders, undefined values and approximate results."""

from __future__ import annotations

from dataclasses import dataclass

from parity.emulator.amdgpu.approximate import ApproximateResults

__all__ = ["REGISTER_FILL", "LaunchOptions"]

REGISTER_FILL = 0xBAADF00D
"""The 32 bits of every register before the first write to it."""


@dataclass(frozen=True)
class LaunchOptions:
    """Options of one emulated launch.

    ``seed`` permutes the order of workgroups and, between barriers, of their wavefronts (0: natural order).
    ``register_fill`` is the content of registers that nothing has written. The register with the number
    ``inverted_register`` in ``Device.registers`` holds its complement instead. ``results`` selects the results of
    approximate instructions, and ``draw`` chooses among them where ``results`` allows more than one.
    """

    seed: int = 0
    register_fill: int = REGISTER_FILL
    inverted_register: int | None = None
    results: ApproximateResults = ApproximateResults.NEAREST
    draw: int = 0
