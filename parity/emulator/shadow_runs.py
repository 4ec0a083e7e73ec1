"""The numbers of shadow runs (``runtime/shadow.h``), in which operations round up or down instead of to nearest."""

from __future__ import annotations

from parity.emulator.runtime_headers import constants

_SHADOW = constants("shadow.h")
EACH_LANE: int = _SHADOW["EACH_LANE"]
ROUND_DOWN: int = _SHADOW["ROUND_DOWN"]
_APART: int = _SHADOW["NO_CONTRACTION"]
_PATTERN: int = _SHADOW["PATTERN"]
_RANDOM: int = _SHADOW["RANDOM"]
_NARROW: int = _SHADOW["NARROW_PRODUCTS"]
_RUNS: int = _SHADOW["RUN_NUMBERS"]

SHADOW_RUNS = (
    *(0, ROUND_DOWN, _APART, _APART | ROUND_DOWN),
    *(n * _PATTERN | more for n in range(1, 7) for more in (0, _APART | ROUND_DOWN)),
    *(_RANDOM, _RANDOM | _APART),
    *(_RANDOM | EACH_LANE | n % 2 * _APART | _RUNS * (n // 2) for n in range(6)),
)
"""The numbers of the runs whose differences show which roundings affect a result (``enum ShadowRun``)."""

EXTRA_SHADOW_RUNS = tuple(_RANDOM | n % 2 * _APART | _RUNS * (1 + n // 2) for n in range(16))
"""Further runs, for a launch whose outputs are the same in all ``SHADOW_RUNS``."""

BF16_SHADOW_RUNS = (_APART | _NARROW, _APART | _NARROW | ROUND_DOWN)
"""Runs with the roundings of a compiler that does not contract, for kernels that compute with bf16 in f32."""

UNFLUSHED_SHADOW_RUNS = tuple(_SHADOW["KEEP_SUBNORMALS"] | number for number in SHADOW_RUNS)
"""Runs with a matrix core and exponentials that keep subnormal numbers, like CUDA's (divergences D13, D25).

They round like the runs of ``SHADOW_RUNS`` at the same place.
"""


def shadow_seed(seed: int, number: int) -> int:
    """Return the seed (32 bits) of a shadow run, from the seed of the launch and the number of the run."""
    return (seed * _RUNS + number) & 0xFFFFFFFF
