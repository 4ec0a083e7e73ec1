"""The number of repetitions and the result of measurements, with samplers of known distribution."""

from __future__ import annotations

import numpy as np
import pytest

from parity.runners.timing import ERROR, LEAST, MOST, measure, summarize


class Device:
    """A sampler with a clock: ``draw(i)`` is the duration of repetition i, ``around`` its overhead."""

    def __init__(self, draw, around=0.0):
        self.draw, self.around, self.now, self.count = draw, around, 0.0, 0

    def __call__(self, n):
        seconds = [float(self.draw(self.count + i)) for i in range(n)]
        self.count += n
        self.now += sum(seconds) + n * self.around
        return seconds

    def measure(self, **more):
        return measure(self, clock=lambda: self.now, **more)


def noisy(scale, seed=0):
    random = np.random.default_rng(seed)
    return lambda i: 1e-4 * (1 + scale * random.standard_normal())


def test_steady_device_needs_few_repetitions():
    device = Device(lambda i: 1e-4)
    timing = device.measure()
    assert (timing.median, timing.low, timing.high, timing.error) == (1e-4, 1e-4, 1e-4, 0.0)
    assert LEAST <= timing.repetitions <= 300
    assert device.now < 0.1


def test_noisy_device_is_measured_to_required_error():
    timing = Device(noisy(0.05)).measure()
    assert timing.error <= ERROR
    assert timing.median == pytest.approx(1e-4, rel=4 * ERROR)
    assert timing.low < 0.95e-4 < 1.05e-4 < timing.high


def test_more_noise_needs_more_repetitions():
    counts = [Device(noisy(scale)).measure().repetitions for scale in (0.01, 0.3)]
    assert counts[1] > 2 * counts[0]


@pytest.mark.parametrize("seed", range(5))
def test_error_matches_scatter_of_medians(seed):
    """The stated error must match the scatter of the medians of many samples."""
    random = np.random.default_rng(seed)
    timings = [summarize(1 + 0.1 * random.standard_normal(200)) for _ in range(200)]
    scatter = np.std([timing.median for timing in timings])
    assert 0.7 < np.median([timing.error for timing in timings]) / scatter < 2


def test_outliers_do_not_affect_median_or_error():
    timing = Device(lambda i: 1e-2 if i % 17 == 0 else 1e-4).measure()
    assert (timing.median, timing.error) == (1e-4, 0.0)


def test_two_modes_of_equal_weight_have_large_error():
    random = np.random.default_rng(1)
    timing = Device(lambda i: 1e-4 if random.random() < 0.5 else 2e-4).measure(seconds=0.3)
    assert timing.error > 0.1
    assert (timing.low, timing.high) == (1e-4, 2e-4)


def test_drifting_device_reaches_limit_with_large_error():
    device = Device(lambda i: 1e-4 * (1 + i / 2000))
    timing = device.measure(seconds=0.5)
    assert timing.error > 10 * ERROR
    assert 0.5 <= device.now < 0.7


def test_warm_up_repetitions_do_not_count():
    timing = Device(lambda i: 5e-3 if i < 3 else 1e-4).measure()
    assert timing.high == 1e-4


def test_slow_kernel_keeps_time_limit():
    device = Device(lambda i: 0.3 + 0.01 * (i % 3))
    timing = device.measure(seconds=1.0)
    assert timing.repetitions == 2
    assert device.now <= 1.6


def test_overhead_counts_towards_limit_only():
    device = Device(noisy(0.5), around=1e-3)
    timing = device.measure(seconds=0.5)
    assert device.now < 0.8
    assert timing.median == pytest.approx(1e-4, rel=0.3)


def test_unsettled_device_ends_at_maximum_repetitions():
    assert Device(lambda i: 1e-5 * (1 + i % 2)).measure(seconds=1e9).repetitions >= MOST


def test_zero_durations_have_error_one():
    assert summarize([0.0] * 30).error == 1
