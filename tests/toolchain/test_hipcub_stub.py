"""parity's small hipCUB: what blocks load and store is where CUB's documentation says."""

import numpy as np
import pytest
from execution import program

SOURCE = """#include <cub/cub.cuh>
struct alignas(8) Pair { long x; __device__ Pair() : x(0) {} };
static_assert(sizeof(cub::UnitWord<Pair>::DeviceWord) == 8 && sizeof(cub::UnitWord<float4>::DeviceWord) == 16, "");
static_assert(sizeof(cub::UnitWord<char[6]>::ShuffleWord) == 1 && sizeof(cub::UnitWord<short>::DeviceWord) == 2, "");
extern "C" __global__ void kept(const int* x, int* y) {
  __shared__ cub::Uninitialized<Pair> room;
  if (threadIdx.x == 0) room.Alias().x = x[0] + 1;
  __syncthreads();
  y[threadIdx.x] = room.Alias().x;
}
#define MOVE(name, load, store)                                                        \\
    extern "C" __global__ void name(const int*, const int* x, int* y) {                \\
        int items[3];                                                                  \\
        cub::load(threadIdx.x, x, items);                                              \\
        for (int i = 0; i < 3; ++i) items[i] = items[i] * 1000 + threadIdx.x * 10 + i; \\
        cub::store(threadIdx.x, y, items);                                             \\
    }
MOVE(blocked, LoadDirectBlocked, StoreDirectBlocked)
MOVE(vectors, LoadDirectBlockedVectorized, StoreDirectBlockedVectorized)
MOVE(striped, LoadDirectStriped<64>, StoreDirectStriped<64>)
MOVE(by_warp, LoadDirectWarpStriped, StoreDirectWarpStriped)
extern "C" __global__ void guarded(const int*, const int* x, int* y) {
    int items[3];
    cub::LoadDirectStriped<64>(threadIdx.x, x, items, 100, -1);
    cub::StoreDirectBlocked(threadIdx.x, y, items, 150);
}
extern "C" __global__ void masks(const int*, const int*, unsigned* y) {
    unsigned found[] = {cub::LaneMaskLt(), cub::LaneMaskLe(), cub::LaneMaskGt(), cub::LaneMaskGe()};
    for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = found[i];
}
extern "C" __global__ void segments(const int* flags, const int* x, int* y) {
    typedef cub::WarpReduce<int, 32> Reduce;
    __shared__ typename Reduce::TempStorage storage[2];
    const int t = threadIdx.x;
    y[t] = Reduce(storage[t / 32]).HeadSegmentedSum(x[t], flags[t]);
    y[t + 64] = Reduce(storage[t / 32]).TailSegmentedSum(x[t], flags[t]);
    y[t + 128] = Reduce(storage[t / 32]).HeadSegmentedReduce(x[t], flags[t], cub::Max());
}
extern "C" __global__ void scans(const int*, const int* x, int* y) {
    typedef cub::WarpScan<int, 32> Scan;
    __shared__ typename Scan::TempStorage storage[2];
    const int t = threadIdx.x;
    Scan(storage[t / 32]).Scan(x[t], y[t], y[t + 64], 7, cub::Sum());
    int one, other;
    Scan(storage[t / 32]).Scan(x[t], one, other, cub::Max());
    y[t + 128] = one;
    Scan(storage[t / 32]).ExclusiveScan(x[t], other, cub::Max());
    y[t + 192] = t % 32 ? other : -1;
}
extern "C" __global__ void bounds(const int* wanted, const int* sorted, int* y) {
    y[threadIdx.x] = cub::LowerBound(sorted, 64, wanted[threadIdx.x]);
    y[threadIdx.x + 64] = cub::UpperBound<const int*, int, int>(sorted, 64, wanted[threadIdx.x]);
}
"""
THREAD, ITEM = np.meshgrid(np.arange(64), np.arange(3), indexing="ij")
THREADS = np.zeros(64, np.int32)
PLACES = {
    "blocked": THREAD * 3 + ITEM,
    "vectors": THREAD * 3 + ITEM,
    "striped": ITEM * 64 + THREAD,
    "by_warp": THREAD // 32 * 96 + ITEM * 32 + THREAD % 32,
}


@pytest.fixture(scope="module")
def moved(tmp_path_factory, cache):
    return program(tmp_path_factory.mktemp("hipcub"), SOURCE, "gfx1100", cache)


@pytest.mark.parametrize("kernel", PLACES)
def test_each_thread_moves_its_items(moved, kernel):
    x = np.arange(192, dtype=np.int32)
    places = PLACES[kernel]
    wanted = np.zeros(192, np.int32)
    wanted[places] = x[places] * 1000 + THREAD * 10 + ITEM
    assert (moved.run(kernel, np.zeros(192, np.int32), THREADS, x, block=64) == wanted).all()


def test_what_is_beyond_the_valid_items_is_not_touched(moved):
    x = np.arange(192, dtype=np.int32)
    items = np.where(PLACES["striped"] < 100, PLACES["striped"], -1)
    wanted = np.full(192, 7, np.int32)
    wanted[:150] = items.reshape(-1)[:150]
    assert (moved.run("guarded", np.full(192, 7, np.int32), THREADS, x, block=64) == wanted).all()


def test_masks_of_the_lanes_around_one(moved):
    below = (1 << np.arange(64, dtype=np.uint64) % 32) - 1
    own = below * 2 + 1
    wanted = np.stack([below, own, ~own, ~below], axis=1).astype(np.uint32)
    assert (moved.run("masks", np.zeros((64, 4), np.uint32), THREADS, THREADS, block=64) == wanted).all()


def test_segments_of_a_warp(moved):
    x = np.arange(64, dtype=np.int32) * 37 % 64
    flags = (np.arange(64) * 5 % 13 < 3).astype(np.int32)
    wanted = np.zeros((3, 64), np.int32)
    for t in range(64):
        end = t // 32 * 32 + 32
        head = next((i for i in range(t + 1, end) if flags[i]), end)
        tail = next((i + 1 for i in range(t, end) if flags[i]), end)
        wanted[:, t] = x[t:head].sum(), x[t:tail].sum(), x[t:head].max()
    assert (moved.run("segments", np.zeros((3, 64), np.int32), flags, x, block=64) == wanted).all()


def test_scans_of_a_warp(moved):
    x = np.arange(64, dtype=np.int32) * 37 % 64
    warps = x.reshape(2, 32)
    sums, most = np.cumsum(warps, axis=1), np.maximum.accumulate(warps, axis=1)
    before = np.concatenate([np.full((2, 1), -1), most[:, :-1]], axis=1)
    wanted = np.stack([sums + 7, sums + 7 - warps, most, before]).reshape(4, 64)
    assert (moved.run("scans", np.zeros((4, 64), np.int32), THREADS, x, block=64) == wanted).all()


def test_bounds_in_sorted_values(moved):
    values = np.sort(np.arange(64, dtype=np.int32) * 7 % 23)
    asked = (np.arange(64, dtype=np.int32) * 5 % 31) - 3
    wanted = np.stack([np.searchsorted(values, asked, "left"), np.searchsorted(values, asked, "right")])
    assert (moved.run("bounds", np.zeros((2, 64), np.int32), asked, values, block=64) == wanted).all()


def test_a_value_in_shared_memory_that_no_constructor_runs_for(moved):
    assert (moved.run("kept", np.zeros(64, np.int32), THREADS + 4, block=64) == THREADS[0] + 5).all()
