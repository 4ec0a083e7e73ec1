"""Repeats measurements until their median is known precisely enough, and times work on a GPU stream with events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

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


FLUSH_BYTES = 256 * 2**20
"""Minimum number of bytes written to flush the L2 cache. The GPU takes longer for them than the host for a launch."""
HOT_SECONDS = 2e-3
"""Approximate duration of a series of hot launches; the cost of starting the series is negligible."""
HOT_LAUNCHES = 400
"""Maximum number of launches in a series."""


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


class TimedStream(Protocol):
    """A GPU and one of its streams, with the operations that timing needs."""

    @property
    def l2_bytes(self) -> int:
        """Size of the L2 cache in bytes."""

    def allocate(self, nbytes: int) -> Any:
        """Allocate device memory, which is freed with the returned object."""

    def fill(self, memory: Any, value: int, nbytes: int) -> None:
        """Enqueue an operation that sets ``nbytes`` bytes to ``value``."""

    def synchronize(self) -> None:
        """Wait for all enqueued work. Raises the error of a kernel, at the latest here."""

    def event(self) -> Any:
        """Create an event that can be recorded on the stream."""

    def record(self, event: Any) -> None:
        """Enqueue an operation that stores the time in an event."""

    def seconds(self, begin: Any, end: Any) -> float:
        """Return the seconds between two recorded events."""

    def repeated(self, work: Callable[[], object], count: int) -> Callable[[], object]:
        """Return a function that enqueues ``work`` ``count`` times with little work for the host."""

    def notes(self) -> tuple[str, ...]:
        """Return unusual states of the GPU right now, such as lowered clocks."""


class Stopwatch:
    """Times the work that ``launch()`` enqueues. ``restore()`` enqueues untimed work that must precede each launch."""

    def __init__(self, stream: TimedStream) -> None:
        self._stream = stream
        self._scratch_bytes = max(2 * stream.l2_bytes, FLUSH_BYTES)
        self._scratch: Any = None
        self._events: list[tuple[Any, Any]] = []

    def time(
        self, launch: Callable[[], object], restore: Callable[[], object], *, hot: bool, seconds: float
    ) -> Timings:
        """Measure the cold and, with ``hot``, the hot timing of a launch, each for at most about ``seconds``."""
        hosts: list[float] = []

        def timed_launch() -> None:
            start = time.perf_counter()
            launch()
            hosts.append(time.perf_counter() - start)

        def flush() -> None:
            restore()
            self._flush()

        cold = measure(lambda n: self._sample(n, timed_launch, flush), seconds=seconds)
        notes = self._stream.notes()
        again = self._hot(launch, restore, cold, seconds) if hot else None
        return Timings(cold, again, median(hosts), notes)

    def _hot(self, launch: Callable[[], object], restore: Callable[[], object], cold: Timing, seconds: float) -> Timing:
        """Time a series of launches and return the timing per launch."""
        work, count = self.repeated(launch, cold.median)
        timing = measure(lambda n: self._sample(n, work, restore), seconds=seconds)
        per_launch = (timing.median / count, timing.low / count, timing.high / count)
        return Timing(*per_launch, timing.error, timing.repetitions)

    def repeated(self, launch: Callable[[], object], seconds: float) -> tuple[Callable[[], object], int]:
        """Return a function that enqueues a series of hot launches of about ``seconds`` each, and their number."""
        count = int(min(HOT_LAUNCHES, max(1, HOT_SECONDS / seconds)))
        return self._stream.repeated(launch, count), count

    def _sample(self, count: int, work: Callable[[], object], before: Callable[[], object]) -> Sequence[float]:
        """Time ``work`` ``count`` times. Enqueues all repetitions before it waits for the first."""
        stream = self._stream
        while len(self._events) < count:
            self._events.append((stream.event(), stream.event()))
        events = self._events[:count]
        for start, end in events:
            before()
            stream.record(start)
            work()
            stream.record(end)
        stream.synchronize()
        return [stream.seconds(start, end) for start, end in events]

    def _flush(self) -> None:
        if self._scratch is None:
            self._scratch = self._stream.allocate(self._scratch_bytes)
        self._stream.fill(self._scratch, 0, self._scratch_bytes)
