"""Repeats measurements until their median is known precisely enough."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Sampler = Callable[[int], Sequence[float]]
"""Runs the given number of repetitions and returns the seconds of each."""

ERROR = 0.005
"""Relative standard error of the median at which a measurement ends."""

WARM_SECONDS = 0.02
"""Duration of the warm-up, during which clocks rise, pages are mapped and caches fill."""

BATCH_SECONDS = 0.01
"""Approximate duration of a batch. A device always has the next repetition of a batch in its queue."""

LEAST, MOST = 20, 10_000
"""Minimum and maximum number of repetitions. The time limit can end a measurement earlier, after two batches."""

LARGEST_BATCH = 100


@dataclass(frozen=True)
class Timing:
    """Seconds of one repetition: median, 5th percentile (``low``) and 95th percentile (``high``).

    ``error`` is the relative standard error of the median, at most 1. ``repetitions`` is their number.
    """

    median: float
    low: float
    high: float
    error: float
    repetitions: int


@dataclass(frozen=True)
class Timings:
    """The timings of one launch on a device: ``cold`` with flushed caches, ``hot`` in a series of launches.

    ``host`` is the time in seconds that the host takes to enqueue a launch, which is part of neither timing. ``notes``
    describe unusual states of the device.
    """

    cold: Timing
    hot: Timing | None = None
    host: float = 0.0
    notes: tuple[str, ...] = ()


def summarize(samples: Sequence[float]) -> Timing:
    """Summarize the seconds of repetitions, given in chronological order.

    The standard error of the median is estimated in two ways, and the larger estimate counts:

    * A quarter of the distance between the order statistics sqrt(n) ranks above and below the median. That is two
      standard errors of a rank on either side. It holds for any distribution (David and Nagaraja, Order Statistics,
      7.1); outliers do not affect it, but two modes of similar weight do.
    * Half the difference between the medians of the first and the second half. It has the same size if repetitions are
      independent, and is larger if they drift.
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
    """Repeat until the relative standard error of the median is at most ``error``, or for about ``seconds``.

    ``sample(n)`` runs n repetitions and returns their seconds, which are summarized. The limit counts time on the
    ``clock``, including the overhead of ``sample``. The first repetitions warm up and do not count.
    """
    start = clock()
    sample(1)  # separate, because it may load code
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
