"""Where device memory places allocations."""

import itertools

import pytest

from parity.emulator import memory
from parity.emulator.memory import DeviceMemory
from parity.errors import UsageError

SLOT = 1 << 32


def crossed(allocation):
    """The multiples of 4 GiB inside of an allocation."""
    first, last = allocation.address // SLOT, (allocation.address + allocation.size - 1) // SLOT
    return set(range(first + 1, last + 1))


@pytest.mark.parametrize("size", [257, 400, 4096, 1 << 20])
def test_spread_memory_places_each_allocation_across_another_multiple_of_4_gib(size):
    device = DeviceMemory()
    places = [device.allocate(size, str(number)) for number in range(16)]
    assert [len(crossed(each)) for each in places] == [1] * 16
    assert len(set.union(*map(crossed, places))) == 16
    assert not any(each.address % 256 for each in places)
    device.reset()
    assert device.allocate(size, "0") == places[0]


def test_position_of_the_multiple_varies_with_size_and_number():
    device = DeviceMemory()
    places = [device.allocate(1 << 16, str(number)) for number in range(16)]
    device.reset()
    places += [device.allocate((1 << 16) + 256 * number, str(number)) for number in range(1, 16)]
    assert len({each.address % SLOT for each in places}) > 20


def test_later_allocations_follow_with_a_red_zone():
    device = DeviceMemory()
    places = sorted((device.allocate(1000, str(number)) for number in range(40)), key=lambda each: each.address)
    assert places == device.allocations
    assert all(b.address - a.address - a.size >= 256 for a, b in itertools.pairwise(places))
    assert all((device.state[device.span(each)] == 1).all() for each in places)
    device.reset()
    assert not any(
        device.state[each.address - memory.BASE : each.address - memory.BASE + 1000].any() for each in places
    )


def test_memory_without_address_space_is_contiguous(monkeypatch):
    real = memory._map
    monkeypatch.setattr(memory, "_map", lambda size: real(size) if size <= 1 << 30 else real(1 << 62))
    device = DeviceMemory()
    a, b = (device.allocate(1000, name) for name in "ab")
    assert (device.size, b.address - a.address) == (1 << 30, 1280)


@pytest.mark.parametrize("spread", [True, False])
def test_capacity_limits_all_allocations_together(spread):
    device = DeviceMemory(1 << 20, spread=spread)
    for number in range(3):
        device.allocate(300_000, str(number))
    with pytest.raises(UsageError, match="of 1048576 bytes of emulated memory are left"):
        device.allocate(300_000, "fourth")
    with pytest.raises(UsageError, match="cannot reserve"):
        device.reserve(300_000)


def test_sparse_allocations_are_apart_and_limited():
    device = DeviceMemory()
    places = [device.allocate_sparse(memory.SPARSE, str(number)) for number in range(4)]
    assert all(b.address >= a.address + a.size for a, b in itertools.pairwise(places))
    with pytest.raises(UsageError, match="address space"):
        device.allocate_sparse(1, "fifth")
    device.reset()
    assert device.allocate_sparse(1, "first").address == places[0].address
