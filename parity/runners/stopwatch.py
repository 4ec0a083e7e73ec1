"""Timing on a GPU: events around what a stream does, with the caches flushed or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Protocol

from parity.runners.timing import Timing, Timings, measure

__all__ = ["Stopwatch", "TimedStream"]

FLUSH_BYTES = 256 * 2**20
"""At least this much is written to flush the L2 cache: it takes the GPU longer than the next launch takes the host."""

HOT_SECONDS = 2e-3
"""About how long launches are repeated, so that the time it takes to start them is negligible."""

HOT_LAUNCHES = 400
"""The most launches that are repeated in one go."""


class TimedStream(Protocol):
    """One GPU and one stream of work, as far as timing needs them."""

    @property
    def l2_bytes(self) -> int:
        """Size of the L2 cache."""

    def allocate(self, nbytes: int) -> Any:
        """Device memory, freed with the object that stands for it."""

    def fill(self, memory: Any, value: int, nbytes: int) -> None:
        """Enqueue setting every byte."""

    def synchronize(self) -> None:
        """Wait for all that was enqueued; an error of a kernel shows up here at last."""

    def event(self) -> Any:
        """A new event that can be recorded on the stream."""

    def record(self, event: Any) -> None:
        """Enqueue taking the time."""

    def seconds(self, begin: Any, end: Any) -> float:
        """The seconds between two recorded events."""

    def repeated(self, work: Callable[[], object], count: int) -> Callable[[], object]:
        """A function that enqueues the same work so many times, at little cost for the host."""

    def notes(self) -> tuple[str, ...]:
        """Unusual states of the GPU right now, such as lowered clocks."""


class Stopwatch:
    """Times what ``launch()`` enqueues on a stream; ``restore()`` enqueues what has to happen before each, untimed."""

    def __init__(self, timeline: TimedStream) -> None:
        self._timeline = timeline
        self._scratch_bytes = max(2 * timeline.l2_bytes, FLUSH_BYTES)
        self._scratch: Any = None
        self._events: list[tuple[Any, Any]] = []

    def time(
        self, launch: Callable[[], object], restore: Callable[[], object], *, hot: bool, seconds: float
    ) -> Timings:
        """The timings of a launch, each in about ``seconds`` at most."""
        hosts: list[float] = []

        def timed_launch() -> None:
            start = time.perf_counter()
            launch()
            hosts.append(time.perf_counter() - start)

        def flush() -> None:
            restore()
            self._flush()

        cold = measure(lambda n: self._sample(n, timed_launch, flush), seconds=seconds)
        notes = self._timeline.notes()
        again = self._hot(launch, restore, cold, seconds) if hot else None
        return Timings(cold, again, median(hosts), notes)

    def _hot(self, launch: Callable[[], object], restore: Callable[[], object], cold: Timing, seconds: float) -> Timing:
        """The timing of one launch of many that follow each other."""
        work, count = self.repeated(launch, cold.median)
        timing = measure(lambda n: self._sample(n, work, restore), seconds=seconds)
        per_launch = (timing.median / count, timing.low / count, timing.high / count)
        return Timing(*per_launch, timing.error, timing.repetitions)

    def repeated(self, launch: Callable[[], object], seconds: float) -> tuple[Callable[[], object], int]:
        """A function that enqueues the launches of the hot timing, and their number; one takes so many ``seconds``."""
        count = int(min(HOT_LAUNCHES, max(1, HOT_SECONDS / seconds)))
        return self._timeline.repeated(launch, count), count

    def _sample(self, count: int, work: Callable[[], object], before: Callable[[], object]) -> Sequence[float]:
        """Seconds of the work, ``count`` times; all of it is enqueued before the first is awaited."""
        timeline = self._timeline
        while len(self._events) < count:
            self._events.append((timeline.event(), timeline.event()))
        events = self._events[:count]
        for start, end in events:
            before()
            timeline.record(start)
            work()
            timeline.record(end)
        timeline.synchronize()
        return [timeline.seconds(start, end) for start, end in events]

    def _flush(self) -> None:
        if self._scratch is None:
            self._scratch = self._timeline.allocate(self._scratch_bytes)
        self._timeline.fill(self._scratch, 0, self._scratch_bytes)
