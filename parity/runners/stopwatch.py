"""Times work on a GPU stream with events, with cold or hot caches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Protocol

from parity.runners.timing import Timing, Timings, measure

FLUSH_BYTES = 256 * 2**20
"""Minimum number of bytes written to flush the L2 cache. The GPU takes longer for them than the host for a launch."""

HOT_SECONDS = 2e-3
"""Approximate duration of a series of hot launches; the cost of starting the series is negligible."""

HOT_LAUNCHES = 400
"""Maximum number of launches in a series."""


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
