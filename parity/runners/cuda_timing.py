"""Timing on an NVIDIA GPU: events around what a stream does, with the caches flushed or not."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from parity.runners.timing import Timing, Timings, measure

__all__ = ["Stopwatch", "throttling"]

FLUSH_BYTES = 256 * 2**20
"""At least this much is written to flush the L2 cache: it takes the GPU longer than the next launch takes the host."""

HOT_SECONDS = 2e-3
"""About how long a graph of launches runs, beside which it is nothing how long it takes to launch."""

HOT_LAUNCHES = 400
"""The most launches of a graph."""

# Why clocks are lower than they could be: nvmlClocksEventReasons of NVML, except "idle" and the user's own settings.
REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


class Stopwatch:
    """Times what ``launch()`` enqueues on a stream; ``restore()`` enqueues what has to happen before each, untimed."""

    def __init__(self, cupy: Any, stream: Any) -> None:
        self._cupy, self._stream = cupy, stream
        device = cupy.cuda.Device()
        self._bus = cupy.cuda.runtime.deviceGetPCIBusId(device.id)
        self._scratch_bytes = max(2 * int(device.attributes["L2CacheSize"]), FLUSH_BYTES)
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
        reasons = throttling(self._bus)
        again = self._hot(launch, restore, cold, seconds) if hot else None
        notes = (f"clocks lowered: {', '.join(reasons)}",) if reasons else ()
        return Timings(cold, again, median(hosts), notes)

    def _hot(self, launch: Callable[[], object], restore: Callable[[], object], cold: Timing, seconds: float) -> Timing:
        """Of one launch of many that follow each other in a graph, which leaves the host out."""
        graph, count = self.graph(launch, cold.median)
        timing = measure(lambda n: self._sample(n, lambda: graph.launch(self._stream), restore), seconds=seconds)
        per_launch = (timing.median / count, timing.low / count, timing.high / count)
        return Timing(*per_launch, timing.error, timing.repetitions)

    def graph(self, launch: Callable[[], object], seconds: float) -> tuple[Any, int]:
        """A graph of as many launches of so many seconds as the hot timing is made of, and their number."""
        count = int(min(HOT_LAUNCHES, max(1, HOT_SECONDS / seconds)))
        self._stream.begin_capture()
        for _ in range(count):
            launch()
        return self._stream.end_capture(), count

    def _sample(self, count: int, work: Callable[[], object], before: Callable[[], object]) -> Sequence[float]:
        """Seconds of the work, ``count`` times; all of it is enqueued before the first is awaited."""
        while len(self._events) < count:
            self._events.append((self._cupy.cuda.Event(), self._cupy.cuda.Event()))
        events = self._events[:count]
        for start, end in events:
            before()
            start.record(self._stream)
            work()
            end.record(self._stream)
        self._stream.synchronize()
        return [self._cupy.cuda.get_elapsed_time(start, end) * 1e-3 for start, end in events]

    def _flush(self) -> None:
        if self._scratch is None:
            self._scratch = self._cupy.cuda.alloc(self._scratch_bytes)
        self._scratch.memset_async(0, self._scratch_bytes, self._stream)


def throttling(bus: str) -> list[str]:
    """Why the clocks of the GPU at a PCI bus id are lower than they could be; nothing where NVML does not say."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return []
        handle, reasons = ctypes.c_void_p(), ctypes.c_ulonglong()
        failed = nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle))
        if failed or nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(reasons)):
            return []
    except (OSError, AttributeError):  # no driver, or one without these functions
        return []
    return [text for bit, text in REASONS.items() if reasons.value & bit]
