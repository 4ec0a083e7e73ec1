"""Timing: repetitions until the median is known well enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Sampler", "Timing", "Timings", "measure", "summarize"]

Sampler = Callable[[int], Sequence[float]]
"""Makes that many repetitions and returns the seconds of each."""

ERROR = 0.005
"""Relative standard error of the median at which a measurement is good enough."""

WARM_SECONDS = 0.02
"""Repetitions before the first that counts: clocks rise, pages are mapped, caches settle."""

BATCH_SECONDS = 0.01
"""Repetitions are made in batches of about this long, so that a device has the next one before it ends the last."""

LEAST, MOST = 20, 10_000
"""Repetitions of a measurement; a slow one ends at its time limit with fewer, but never with less than two batches."""

LARGEST_BATCH = 100


@dataclass(frozen=True)
class Timing:
    """Seconds of one repetition: median, 5th and 95th percentile.

    ``error`` is the relative standard error of the median (1: nothing is known), ``repetitions`` how many there were.
    """

    median: float
    low: float
    high: float
    error: float
    repetitions: int


@dataclass(frozen=True)
class Timings:
    """The timings of one launch on a device: ``cold`` with nothing in its caches, ``hot`` launched again and again.

    ``host`` are the seconds that the host takes to enqueue it, which are in neither. ``notes`` say what was odd.
    """

    cold: Timing
    hot: Timing | None = None
    host: float = 0.0
    notes: tuple[str, ...] = ()


def summarize(samples: Sequence[float]) -> Timing:
    """The timing of these repetitions, in the order in which they were made.

    The standard error of the median is a quarter of the distance between the order statistics sqrt(n) ranks above and
    below it, two standard errors of a rank on either side, which assumes nothing of the distribution (David and
    Nagaraja, Order Statistics, 7.1): outliers do not enter, and two modes of about equal weight do. Half the
    difference between the medians of the first and the second half has the same size if repetitions are independent,
    and more if they drift: the larger of the two counts.
    """
    array = np.asarray(samples, np.float64)
    ordered, n = np.sort(array), len(array)
    median = float(np.median(array))
    reach = math.sqrt(n)
    below, above = max(0, math.floor((n - 1) / 2 - reach)), min(n - 1, math.ceil((n - 1) / 2 + reach))
    spread = float(ordered[above] - ordered[below]) / 4
    drift = float(abs(np.median(array[: n // 2]) - np.median(array[n // 2 :]))) / 2 if n > 1 else median
    error = min(1.0, max(spread, drift) / median) if median > 0 else 1.0
    low, high = (float(q) for q in np.quantile(array, (0.05, 0.95)))
    return Timing(median, low, high, error, n)


def measure(
    sample: Sampler,
    *,
    error: float = ERROR,
    seconds: float = 1.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Repeat until the relative standard error of the median is below ``error``, or for ``seconds``.

    ``sample(n)`` makes n repetitions; what they take on the ``clock`` (with all that is around them) counts towards
    the limit, what they return is summarized. The first repetitions warm up and do not count.
    """
    start = clock()
    sample(1)  # alone, because it may load code
    warm, begun = 0, clock()
    while warm == 0 or clock() - begun < min(WARM_SECONDS, seconds / 10):
        sample(1)
        warm += 1
    cost = (clock() - begun) / warm
    batch = int(min(LARGEST_BATCH, max(1, BATCH_SECONDS / cost if cost > 0 else LARGEST_BATCH)))
    samples = [*sample(batch), *sample(batch)]
    while True:
        timing = summarize(samples)
        enough = timing.repetitions >= LEAST and timing.error <= error
        if enough or timing.repetitions >= MOST or clock() - start >= seconds:
            return timing
        samples += sample(batch)
