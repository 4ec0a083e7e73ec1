"""Statistics of launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity.emulator.instruction import Instruction


@dataclass(frozen=True)
class LaunchStats:
    """The statistics of a launch.

    Attributes:
        instructions: how many instructions all wavefronts executed, without waits and hints.
        crossing: the first instruction that exchanged values between lanes 0-31 and 32-63 of a wavefront.
        undefined: the first instruction that used an undefined value: the value of a register that nothing has written
            or, in PTX, of a thread that does not take part in an exchange.
        classes: the instructions by class (``class_of``), on a device that counts.
    """

    instructions: int
    crossing: Instruction | None = None
    undefined: Instruction | None = None
    classes: Mapping[str, int] | None = None


def merge_stats(stats: Sequence[LaunchStats]) -> LaunchStats:
    """Return the statistics of several launches as one."""
    classes: Counter[str] = Counter()
    for each in stats:
        classes.update(each.classes or {})
    crossing = next((each.crossing for each in stats if each.crossing), None)
    undefined = next((each.undefined for each in stats if each.undefined), None)
    return LaunchStats(sum(each.instructions for each in stats), crossing, undefined, classes or None)
