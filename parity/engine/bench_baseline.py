"""Stores benchmark measurements as a baseline, and compares later measurements with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from parity.engine.bench import Measurement
from parity.errors import UsageError
from parity.platform.files import read_content
from parity.platform.serialization import read_json

FORMAT, VERSION = "parity bench", 1

ADVICE = "write a baseline with parity bench --save FILE.json"

CONFIDENCE = 2.0
"""Width of the confidence interval of a ratio in standard errors (95 %)."""


class BenchVerdict(StrEnum):
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
class BenchChange:
    """A verdict with the ratio of the new value to the baseline's, and the relative uncertainty of the ratio (95 %)."""

    verdict: BenchVerdict
    ratio: float | None = None
    uncertainty: float = 0.0

    def __str__(self) -> str:
        if self.ratio is None:
            return str(self.verdict)
        uncertain = f" (±{100 * self.uncertainty:.1f})" if self.uncertainty else ""
        return f"{self.verdict} {100 * (self.ratio - 1):+.1f} %{uncertain}"


@dataclass(frozen=True)
class _BaselineFile:
    devices: dict[str, str]
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True)
class BenchBaseline:
    """Stored measurements by (target, case), and the name of each target's device."""

    devices: Mapping[str, str]
    measurements: Mapping[tuple[str, str], Measurement]

    def change(self, now: Measurement, device: str, threshold: float) -> BenchChange:
        """Return the change of a measurement since the baseline. ``device`` is the device that was measured now."""
        then = self.measurements.get((now.target, now.case))
        if now.problem:
            return BenchChange(BenchVerdict.UNMEASURED)
        if then is None or then.problem or then.evidence != now.evidence:
            return BenchChange(BenchVerdict.NEW)
        if self.devices.get(now.target) != device:
            return BenchChange(BenchVerdict.OTHER)
        return (compare_shares if now.timings else compare_counts)(now, then, threshold)


def compare_shares(now: Measurement, then: Measurement, threshold: float) -> BenchChange:
    """Compare shares: FASTER or SLOWER if they differ by more than ``threshold`` (0.05 is 5 %), else SAME.

    AMBIGUOUS if the 95 % interval of the ratio includes a threshold.
    """
    assert now.share and then.share
    ratio, uncertainty = now.share / then.share, CONFIDENCE * math.hypot(now.error, then.error)
    low, high = ratio * (1 - uncertainty), ratio * (1 + uncertainty)
    if high < 1 - threshold:
        verdict = BenchVerdict.SLOWER
    elif low > 1 + threshold:
        verdict = BenchVerdict.FASTER
    elif low >= 1 - threshold and high <= 1 + threshold:
        verdict = BenchVerdict.SAME
    else:
        verdict = BenchVerdict.AMBIGUOUS
    return BenchChange(verdict, ratio, uncertainty)


def compare_counts(now: Measurement, then: Measurement, threshold: float) -> BenchChange:
    """Compare instruction counts: FEWER or MORE if they differ by more than ``threshold``, else SAME."""
    ratio = sum(now.instructions.values()) / max(1, sum(then.instructions.values()))
    verdict = BenchVerdict.SAME
    if abs(ratio - 1) > threshold:
        verdict = BenchVerdict.FEWER if ratio < 1 else BenchVerdict.MORE
    return BenchChange(verdict, ratio)


def read_baseline(path: Path) -> BenchBaseline:
    """Read the measurements that ``parity bench --save FILE.json`` wrote.

    Raises:
        UsageError: The file is not readable, or has another format.
    """
    return parse_baseline(read_content(path), str(path))


def parse_baseline(text: bytes, path: str) -> BenchBaseline:
    """Parse measurements. ``path`` names the text in messages.

    Raises:
        UsageError: The text has another format.
    """
    head = read_json(text, dict[str, Any], path, ADVICE)
    if head.get("format") != FORMAT:
        raise UsageError(f"{path} does not contain measurements; {ADVICE}")
    if (version := head.get("version")) != VERSION:
        raise UsageError(f"{path} has version {version} of the format; this parity reads {VERSION}")
    stored = read_json(text, _BaselineFile, path, ADVICE)
    return BenchBaseline(stored.devices, {(m.target, m.case): m for m in stored.measurements})
