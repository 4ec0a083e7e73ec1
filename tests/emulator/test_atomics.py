"""Compare-and-swap loops and locks on every target: correct code passes, and faults are reported."""

from pathlib import Path

import numpy as np
import pytest
from test_workgroups import Workgroups

from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import DataRace, MemoryFault, NoProgress

HERE = Path(__file__).parent
X = np.random.default_rng(0).integers(0, 9, 256)


@pytest.fixture(scope="module")
def built(translated):
    return translated("atomics")


@pytest.fixture(params=TARGETS)
def run(request, built, cache):
    return Workgroups(AmdgpuDevice(cache=cache, traced=True), built[request.param])


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2, 3))]


@pytest.mark.parametrize("seed", SEEDS[:3])
def test_compare_and_swap_loop_is_not_race(run, seed):
    def result(kernel, x, y, *more):
        return run(kernel, 256, x, y, *more, block=128, grid=2, seed=seed)[1].tolist()

    x = X.astype(np.float64)
    assert result("sum_by_hand", x, np.zeros(1)) == [X.sum()]
    assert result("sum_of_hip", x, np.zeros(1)) == [X.sum()]
    assert result("largest", np.arange(256, dtype=np.float32), np.zeros(1, np.float32)) == [255]


@pytest.mark.thorough
@pytest.mark.parametrize("count", [1, 2, 3])
def test_half_word_loop_is_correct(run, count):
    """The word around the half begins in the buffer, ends after it, and contains another half."""
    half = X.astype(np.float16)
    y = run("sums_of_halves", 256, half, np.zeros(count, np.float16), count, block=128, grid=2)[1]
    assert y.tolist() == [X[i::count].sum() for i in range(count)]


def test_half_word_loop_next_to_unwritten_bytes_is_not_fault(run):
    x, y = run.device.allocate(2, "x"), run.device.allocate(4, "y")

    def launched(at, defined):
        run.device.write(x, np.ones(1, np.float16))
        run.device.write(y, np.zeros(2, np.float16), defined=np.repeat(defined, 2))
        args = pack(run.code.kernels["half_at"], [1, x, y, at])
        run.device.launch(run.code, "half_at", grid=(1, 1, 1), block=(1, 1, 1), args=args)
        return run.device.read(y).view(np.float16).tolist(), run.device.written(y)[::2].tolist()

    assert launched(0, [True, False]) == ([1, 0], [True, False])
    assert launched(1, [False, True]) == ([0, 1], [False, True])
    for at, defined in ((0, [False, True]), (0, [False, False])):
        with pytest.raises(MemoryFault, match="never-written read of 4 bytes in kernel 'half_at'"):
            launched(at, defined)


def test_half_word_loop_next_to_store_is_not_race(run):
    y = run("half_beside_a_store", 128, X[:128].astype(np.float16), np.zeros(2, np.float16), block=128)[1]
    assert y.tolist() == [X[:64].sum(), X[64]]


@pytest.mark.parametrize(("at", "kind"), [(3, "out-of-bounds write"), (4, "out-of-bounds read")])
def test_half_word_loop_out_of_bounds_is_fault(run, at, kind):
    with pytest.raises(MemoryFault, match=kind):
        run("half_at", 1, np.ones(1, np.float16), np.zeros(3, np.float16), at, block=1)


def test_partial_word_load_without_swap_is_fault(run):
    x, y = np.arange(11, dtype=np.uint16), np.zeros(2, np.uint32)
    assert run("word_beyond", 1, x, y, 16, block=1)[1][1] == 8 | 9 << 16
    with pytest.raises(MemoryFault, match=r"out-of-bounds read of 4 bytes in kernel 'word_beyond' at atomics\.cu:"):
        run("word_beyond", 1, x, y, 20, block=1)


@pytest.mark.parametrize(("kernel", "dtype"), [("sum_and_store", np.float64), ("sum_and_read", np.int32)])
@pytest.mark.parametrize("seed", SEEDS)
def test_race_next_to_compare_and_swap_is_reported(run, kernel, dtype, seed):
    with pytest.raises(DataRace, match="byte 0 of buffer 'arg2'"):
        run(kernel, 128, X[:128].astype(dtype), np.zeros(2, dtype), block=128, seed=seed)


def test_lock_in_one_wavefront_makes_no_progress(run):
    zero = np.zeros(1, np.int32)
    assert run("lock_of_wavefronts", 1, zero, zero, block=256)[1].tolist() == [4]
    assert run("waits_for_a_flag", 1, zero, np.zeros(2, np.int32), block=256)[1].tolist() == [4, 4]
    with pytest.raises(NoProgress) as caught:
        run("lock_of_lanes", 1, zero, zero, block=64)
    stuck = caught.value
    line = 1 + (HERE / "kernels/atomics.cu").read_text().split("\n").index(
        "KERNEL lock_of_lanes(int n, int* lock, int* y) {"
    )
    assert stuck.source == f"atomics.cu:{line + 1}"
    assert stuck.others + 1 == run.lanes - (run.lanes == 64)
    assert "no progress in kernel 'lock_of_lanes'" in str(stuck)
    with pytest.raises(NoProgress, match="'waits_for_nothing'"):
        run("waits_for_nothing", 1, zero, zero, block=256)
