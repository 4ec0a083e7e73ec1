"""Measurements stored as a baseline, and the changes of later measurements against them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from parity.engine.bench import Measurement
from parity.errors import UsageError
from parity.platform.files import content_of
from parity.platform.serialization import read_json

__all__ = [
    "FORMAT",
    "VERSION",
    "Baseline",
    "Change",
    "Changed",
    "compare_counts",
    "compare_shares",
    "parse_baseline",
    "read_baseline",
]

FORMAT, VERSION = "parity bench", 1

ADVICE = "write a baseline with parity bench --save FILE.json"

CONFIDENCE = 2.0
"""Standard errors on either side within which the true ratio is taken to lie (95 %)."""


class Changed(StrEnum):
    """The change of a kernel's share of the device's limit, or of its number of instructions."""

    FASTER = "FASTER"
    SAME = "SAME"
    SLOWER = "SLOWER"
    AMBIGUOUS = "AMBIGUOUS"
    FEWER = "fewer instructions"
    MORE = "more instructions"
    NEW = "not in the baseline"
    OTHER = "another device"
    UNMEASURED = "not measured"


@dataclass(frozen=True)
class Change:
    """A verdict, with the ratio of share or number to that of the baseline, and its relative uncertainty (95 %)."""

    verdict: Changed
    ratio: float | None = None
    uncertainty: float = 0.0

    def __str__(self) -> str:
        if self.ratio is None:
            return str(self.verdict)
        uncertain = f" (±{100 * self.uncertainty:.1f})" if self.uncertainty else ""
        return f"{self.verdict} {100 * (self.ratio - 1):+.1f} %{uncertain}"


@dataclass(frozen=True)
class _Kind:
    """The format and version that a file states."""

    format: Any = None
    version: Any = None


@dataclass(frozen=True)
class _Stored:
    """The fields that are read from a file of measurements."""

    devices: dict[str, str]
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class Baseline:
    """Stored measurements and the devices they are of, by target."""

    devices: Mapping[str, str]
    measurements: Mapping[tuple[str, str], Measurement]

    def change(self, now: Measurement, device: str, threshold: float) -> Change:
        """The change of a measurement since the baseline; ``device`` is the device on which it was made."""
        then = self.measurements.get((now.target, now.case))
        if now.problem:
            return Change(Changed.UNMEASURED)
        if then is None or then.problem or then.evidence != now.evidence:
            return Change(Changed.NEW)
        if self.devices.get(now.target) != device:
            return Change(Changed.OTHER)
        return (compare_shares if now.timings else compare_counts)(now, then, threshold)


def compare_shares(now: Measurement, then: Measurement, threshold: float) -> Change:
    """The change of a share: FASTER or SLOWER if it differs by more than ``threshold`` (0.05: 5 %), else SAME.

    AMBIGUOUS if the interval in which the ratio lies (95 %) holds values on both sides of a limit.
    """
    assert now.share and then.share
    ratio, uncertainty = now.share / then.share, CONFIDENCE * math.hypot(now.error, then.error)
    low, high = ratio * (1 - uncertainty), ratio * (1 + uncertainty)
    if high < 1 - threshold:
        verdict = Changed.SLOWER
    elif low > 1 + threshold:
        verdict = Changed.FASTER
    elif low >= 1 - threshold and high <= 1 + threshold:
        verdict = Changed.SAME
    else:
        verdict = Changed.AMBIGUOUS
    return Change(verdict, ratio, uncertainty)


def compare_counts(now: Measurement, then: Measurement, threshold: float) -> Change:
    """The change of the number of instructions: FEWER or MORE if it differs by more than ``threshold``, else SAME."""
    ratio = sum(now.instructions.values()) / max(1, sum(then.instructions.values()))
    verdict = Changed.SAME
    if abs(ratio - 1) > threshold:
        verdict = Changed.FEWER if ratio < 1 else Changed.MORE
    return Change(verdict, ratio)


def read_baseline(path: Path) -> Baseline:
    """The measurements that ``parity bench --save FILE.json`` wrote.

    Raises:
        UsageError: the file cannot be read or is something else.
    """
    return parse_baseline(content_of(path), str(path))


def parse_baseline(text: bytes, path: str) -> Baseline:
    """The measurements in a text; ``path`` is where it is from.

    Raises:
        UsageError: the text is something else.
    """
    kind = read_json(text, _Kind, path, ADVICE)
    if kind.format != FORMAT:
        raise UsageError(f"{path} holds no measurements; {ADVICE}")
    if kind.version != VERSION:
        raise UsageError(f"{path} has version {kind.version} of the format; this parity reads {VERSION}")
    stored = read_json(text, _Stored, path, ADVICE)
    return Baseline(stored.devices, {(m.target, m.case): m for m in stored.measurements})
