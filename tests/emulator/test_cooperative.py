"""Workgroups that wait for each other in cooperative launches, and workgroups that use results of others."""

import numpy as np
import pytest

from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.faults import DataRace, NoProgress, UnsupportedFeature
from tests.emulator.test_workgroups import Workgroups

GROUPS, BLOCK = 5, 96
X = np.arange(GROUPS * BLOCK, dtype=np.int32) % 101


@pytest.fixture(scope="module")
def built(translated):
    return translated("grids")


@pytest.fixture(params=["gfx1100", "gfx90a", "gfx1201"])
def run(request, built, cache):
    return Workgroups(AmdgpuDevice(cache=cache, traced=True, instruction_budget=50_000_000), built[request.param])


def exchanged(run, waits=1, **options):
    zeros = np.zeros_like(X), np.zeros_like(X), np.zeros(1, np.uint32)
    return run("exchanged", X, *zeros, waits, block=BLOCK, grid=GROUPS, **options)[2]


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_workgroups_wait_for_each_other_and_keep_lds_and_scratch(run, seed):
    kept = X.reshape(GROUPS, BLOCK)[:, ::-1].ravel()
    expected = 2 * np.roll(X, -BLOCK) + kept + X * (X & 7)
    assert exchanged(run, cooperative=True, seed=seed).tolist() == expected.tolist()


def test_read_of_other_workgroup_without_waiting_is_race(run):
    with pytest.raises(DataRace, match="buffer 'arg1'"):
        exchanged(run, waits=0, cooperative=True)


def test_waiting_in_launch_that_is_not_cooperative_is_no_progress(run):
    with pytest.raises(NoProgress):
        exchanged(run)


def test_workgroup_that_ends_early_leaves_others_without_progress(run):
    with pytest.raises(NoProgress):
        run("missing", np.zeros(1, np.uint32), block=BLOCK, grid=GROUPS, cooperative=True)


def test_sleeping_for_a_while_is_progress(run):
    assert run("delayed", np.zeros(GROUPS, np.int32), block=1, grid=GROUPS, cooperative=True)[0].all()


def test_unchecked_code_waits(built, cache):
    run = Workgroups(AmdgpuDevice(cache=cache, checked=False), built["gfx90a"])
    assert exchanged(run, cooperative=True).any()


@pytest.mark.parametrize("seed", [0, 5])
def test_ticket_orders_accesses_of_all_wavefronts_after_next_barrier(run, seed):
    zeros = np.zeros_like(X), np.zeros_like(X), np.zeros(1, np.uint32)
    out = run("last_reverses", X, *zeros, block=BLOCK, grid=GROUPS, seed=seed)[2]
    assert out.tolist() == X[::-1].tolist()


def test_atomic_load_of_stored_number_is_not_race(run):
    zeros = np.zeros(GROUPS, np.int32)
    out = run("published", zeros, zeros, 1, block=1, grid=GROUPS)[1]
    assert out.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(DataRace):
        run("published", zeros, zeros, 0, block=1, grid=GROUPS)


def hardware(built, cache, phases, **options):
    run = Workgroups(AmdgpuDevice(cache=cache, traced=True), built["gfx90a"])
    zeros = np.zeros_like(X), np.zeros_like(X)
    return run("hardware_barrier", X, *zeros, phases, block=BLOCK, grid=GROUPS, **options)[2]


def test_hardware_barrier_orders_accesses_of_all_workgroups(built, cache):
    expected = X
    for _ in range(2):
        expected = expected + np.roll(expected, -BLOCK)
    assert hardware(built, cache, 2, cooperative=True, seed=3).tolist() == expected.tolist()


def test_race_after_hardware_barrier_is_found(built, cache):
    with pytest.raises(DataRace, match="buffer 'arg1'"):
        hardware(built, cache, 3, cooperative=True)


def test_hardware_barrier_in_launch_that_is_not_cooperative_is_refused(built, cache):
    with pytest.raises(UnsupportedFeature, match="this_grid"):
        hardware(built, cache, 1)


def test_launch_after_cooperative_launch_is_not_cooperative(run):
    exchanged(run, cooperative=True)
    with pytest.raises(NoProgress):
        exchanged(run)
