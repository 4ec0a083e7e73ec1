"""Random number generators: published test vectors, and jumps that agree with steps."""

import numpy as np
import pytest

from parity.reference import generators
from parity.reference.generators import mrg32k3a_uniform, philox, philox_uniform, sobol32, xorwow


def test_philox_matches_published_vectors():
    """Source: kat_vectors of Random123."""
    found = [f"{x:08x}" for x in philox(0, 0, 4).value]
    assert found == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


@pytest.mark.parametrize("offset", [1, 3, 4, 2**34 - 1])
def test_philox_offset_skips_numbers(offset):
    assert np.array_equal(philox(7, offset, 9).value[1:], philox(7, offset + 1, 8).value)


def test_philox_uniform_is_in_half_open_interval():
    bounds = philox_uniform(5, 0, 1000)
    assert (bounds.value > 0).all() and (bounds.value <= 1).all()
    assert np.array_equal(bounds.value, ((philox(5, 0, 1000).value + 1.0) / 2**32).astype(np.float32))


def test_mrg32k3a_recurrence_matches_powers_of_its_matrices():
    vector, modulus = [12345] * 3, generators._M1
    stepped = vector
    for _ in range(37):
        stepped = [*stepped[1:], (1403580 * stepped[1] - 810728 * stepped[0]) % modulus]
    assert generators._applied(generators._power(generators._A1, 37, modulus), vector, modulus) == stepped


def test_xorwow_jump_commutes_with_step():
    state = 0x123456789ABCDEF0123456789ABCDEF012345678
    there = generators._jumped(state, 5)
    assert generators._jumped(generators._xorwow_step(state), 5) == generators._xorwow_step(there)
    assert generators._jumped(generators._jumped(state, 2), 3) == there != state


@pytest.mark.parametrize("generator", [xorwow, mrg32k3a_uniform])
def test_generators_interleave_and_then_continue(generator):
    places = list(generators._places(131_070, 4))
    assert places == [(0, 131_070), (0, 131_071), (1, 0), (1, 1)]
    values = generator(12345, 131_070, 4).value
    assert np.array_equal(values[2:], generator(12345, 131_072, 2).value)
    assert not np.array_equal(values[2:], generator(12345, 0, 2).value)


def test_sobol_numbers_fill_the_interval_evenly():
    values = sobol32(0, 256).value
    assert sorted(values >> 24) == list(range(256))
    assert values[:4].tolist() == [0, 2**31, 3 * 2**30, 2**30]
