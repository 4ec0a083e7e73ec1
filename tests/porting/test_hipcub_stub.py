"""The hipCUB stub: block and warp primitives behave as CUB documents."""

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
#define EXCHANGE(name)                                                    \\
    extern "C" __global__ void name(const int*, const int* x, int* y) {   \\
        typedef cub::BlockExchange<int, 64, 3> Exchange;                  \\
        __shared__ typename Exchange::TempStorage room;                   \\
        int items[3];                                                     \\
        for (int i = 0; i < 3; ++i) items[i] = x[threadIdx.x * 3 + i];    \\
        Exchange(room).name(items, items);                                \\
        for (int i = 0; i < 3; ++i) y[threadIdx.x * 3 + i] = items[i];    \\
    }
EXCHANGE(BlockedToStriped)
EXCHANGE(StripedToBlocked)
EXCHANGE(BlockedToWarpStriped)
EXCHANGE(WarpStripedToBlocked)
extern "C" __global__ void scattered(const int* ranks, const int* x, int* y) {
    __shared__ typename cub::BlockExchange<int, 64, 3>::TempStorage room;
    int items[3], places[3], guarded[3];
    for (int i = 0; i < 3; ++i) {
        items[i] = x[threadIdx.x * 3 + i];
        places[i] = ranks[threadIdx.x * 3 + i];
        guarded[i] = places[i] % 2 ? places[i] : -1;
    }
    cub::BlockExchange<int, 64, 3>(room).ScatterToBlocked(items, places);
    for (int i = 0; i < 3; ++i) y[threadIdx.x * 3 + i] = items[i];
    __syncthreads();
    cub::BlockExchange<int, 64, 3>(room).ScatterToStripedGuarded(items, guarded);
    for (int i = 0; i < 3; ++i) y[192 + i * 64 + threadIdx.x] = items[i];
}
struct Above { __device__ bool operator()(float a, float b) const { return a > b; } };
extern "C" __global__ void sorted(const int*, const float* x, float* y) {
    typedef cub::BlockRadixSort<float, 64, 3, int> Radix;
    typedef cub::BlockRadixSort<unsigned, 64, 3> Digits;
    typedef cub::BlockMergeSort<float, 64, 3> Merge;
    __shared__ union { Radix::TempStorage radix; Digits::TempStorage digits; Merge::TempStorage merge; } room;
    float keys[3], merged[3], own[3];
    int values[3];
    unsigned digits[3];
    for (int i = 0; i < 3; ++i) {
        values[i] = threadIdx.x * 3 + i;
        merged[i] = own[i] = keys[i] = x[values[i]];
        digits[i] = 1000 + 37 * values[i];
    }
    Radix(room.radix).SortBlockedToStriped(keys, values);
    __syncthreads();
    Digits(room.digits).SortDescending(digits, 4, 8);
    __syncthreads();
    Merge(room.merge).Sort(merged, Above());
    cub::WarpMergeSort<float, 3, 32> warps(*(cub::WarpMergeSort<float, 3, 32>::TempStorage*)&room);
    warps.Sort(own, Above());
    for (int i = 0; i < 3; ++i) {
        y[i * 64 + threadIdx.x] = keys[i];
        y[192 + i * 64 + threadIdx.x] = values[i];
        y[384 + threadIdx.x * 3 + i] = digits[i];
        y[576 + threadIdx.x * 3 + i] = merged[i];
        y[768 + threadIdx.x * 3 + i] = own[i];
    }
}
struct Differs { __device__ bool operator()(int a, int b) const { return a != b; } };
struct DiffersAt { __device__ bool operator()(int a, int b, int place) const { return a != b && place % 5; } };
struct Minus { __device__ int operator()(int a, int b) const { return a - b; } };
extern "C" __global__ void neighbours(const int*, const int* x, int* y) {
    __shared__ cub::BlockDiscontinuity<int, 64>::TempStorage flags;
    __shared__ cub::BlockAdjacentDifference<int, 64>::TempStorage differences;
    __shared__ cub::BlockShuffle<int, 64>::TempStorage shuffle;
    int items[3], found[7][3];
    for (int i = 0; i < 3; ++i) items[i] = found[5][i] = found[6][i] = x[threadIdx.x * 3 + i];
    cub::BlockDiscontinuity<int, 64>(flags).FlagHeadsAndTails(found[0], found[1], items, Differs());
    __syncthreads();
    cub::BlockDiscontinuity<int, 64>(flags).FlagHeads(found[2], items, DiffersAt(), x[0]);
    cub::BlockAdjacentDifference<int, 64>(differences).SubtractLeft(items, found[3], Minus());
    __syncthreads();
    cub::BlockAdjacentDifference<int, 64>(differences).SubtractRightPartialTile(items, found[4], Minus(), 100);
    cub::BlockShuffle<int, 64>(shuffle).Up(items, found[5]);
    __syncthreads();
    cub::BlockShuffle<int, 64>(shuffle).Offset(items[0], found[6][0], -2);
    __syncthreads();
    cub::BlockShuffle<int, 64>(shuffle).Rotate(items[0], found[6][1], 63);
    for (int k = 0; k < 7; ++k)
        for (int i = 0; i < 3; ++i) y[k * 192 + threadIdx.x * 3 + i] = found[k][i];
}
extern "C" __global__ void counted(const int*, const unsigned char* x, int* y) {
    typedef cub::BlockHistogram<unsigned char, 64, 3, 16> Histogram;
    __shared__ typename Histogram::TempStorage room;
    __shared__ int bins[16];
    unsigned char items[3];
    for (int i = 0; i < 3; ++i) items[i] = x[threadIdx.x * 3 + i];
    Histogram(room).InitHistogram(bins);
    __syncthreads();
    Histogram(room).Composite(items, bins);
    __syncthreads();
    if (threadIdx.x < 16) y[threadIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void of_warps(const int*, const int* x, int* y) {
    __shared__ int room;
    typedef cub::WarpLoad<int, 3, cub::WARP_LOAD_STRIPED, 32> Load;
    typedef cub::WarpExchange<int, 3, 32> Exchange;
    typedef cub::WarpStore<int, 3, cub::WARP_STORE_DIRECT, 32> Store;
    int items[3];
    Load(*(Load::TempStorage*)&room).Load(x + threadIdx.x / 32 * 96, items);
    Exchange(*(Exchange::TempStorage*)&room).StripedToBlocked(items, items);
    items[0] += cub::ThreadReduce(items, cub::Sum());
    Store(*(Store::TempStorage*)&room).Store(y + threadIdx.x / 32 * 96, items);
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARITY_TOOLCHAIN", "wheels")  # an installed ROCm has the real hipCUB
        return program(tmp_path_factory.mktemp("hipcub"), SOURCE, "gfx1100", cache)


@pytest.mark.parametrize("kernel", PLACES)
def test_load_and_store_use_documented_arrangement(moved, kernel):
    x = np.arange(192, dtype=np.int32)
    places = PLACES[kernel]
    wanted = np.zeros(192, np.int32)
    wanted[places] = x[places] * 1000 + THREAD * 10 + ITEM
    assert (moved.run(kernel, np.zeros(192, np.int32), THREADS, x, block=64) == wanted).all()


def test_guarded_load_and_store_leave_invalid_items_unchanged(moved):
    x = np.arange(192, dtype=np.int32)
    items = np.where(PLACES["striped"] < 100, PLACES["striped"], -1)
    wanted = np.full(192, 7, np.int32)
    wanted[:150] = items.reshape(-1)[:150]
    assert (moved.run("guarded", np.full(192, 7, np.int32), THREADS, x, block=64) == wanted).all()


def test_lane_masks_cover_lanes_before_and_after(moved):
    below = (1 << np.arange(64, dtype=np.uint64) % 32) - 1
    own = below * 2 + 1
    wanted = np.stack([below, own, ~own, ~below], axis=1).astype(np.uint32)
    assert (moved.run("masks", np.zeros((64, 4), np.uint32), THREADS, THREADS, block=64) == wanted).all()


def test_segmented_warp_reduce_stops_at_flags(moved):
    x = np.arange(64, dtype=np.int32) * 37 % 64
    flags = (np.arange(64) * 5 % 13 < 3).astype(np.int32)
    wanted = np.zeros((3, 64), np.int32)
    for t in range(64):
        end = t // 32 * 32 + 32
        head = next((i for i in range(t + 1, end) if flags[i]), end)
        tail = next((i + 1 for i in range(t, end) if flags[i]), end)
        wanted[:, t] = x[t:head].sum(), x[t:tail].sum(), x[t:head].max()
    assert (moved.run("segments", np.zeros((3, 64), np.int32), flags, x, block=64) == wanted).all()


def test_warp_scans_match_numpy(moved):
    x = np.arange(64, dtype=np.int32) * 37 % 64
    warps = x.reshape(2, 32)
    sums, most = np.cumsum(warps, axis=1), np.maximum.accumulate(warps, axis=1)
    before = np.concatenate([np.full((2, 1), -1), most[:, :-1]], axis=1)
    wanted = np.stack([sums + 7, sums + 7 - warps, most, before]).reshape(4, 64)
    assert (moved.run("scans", np.zeros((4, 64), np.int32), THREADS, x, block=64) == wanted).all()


def test_lower_and_upper_bound_match_searchsorted(moved):
    values = np.sort(np.arange(64, dtype=np.int32) * 7 % 23)
    asked = (np.arange(64, dtype=np.int32) * 5 % 31) - 3
    wanted = np.stack([np.searchsorted(values, asked, "left"), np.searchsorted(values, asked, "right")])
    assert (moved.run("bounds", np.zeros((2, 64), np.int32), asked, values, block=64) == wanted).all()


def test_uninitialized_storage_holds_assigned_value(moved):
    assert (moved.run("kept", np.zeros(64, np.int32), THREADS + 4, block=64) == THREADS[0] + 5).all()


ARRANGED = {
    "BlockedToStriped": ("blocked", "striped"),
    "StripedToBlocked": ("striped", "blocked"),
    "BlockedToWarpStriped": ("blocked", "by_warp"),
    "WarpStripedToBlocked": ("by_warp", "blocked"),
}


@pytest.mark.parametrize("name", ARRANGED)
def test_block_exchange_converts_arrangement(moved, name):
    x = np.arange(192, dtype=np.int32) * 7
    before, after = (PLACES[each] for each in ARRANGED[name])
    room = np.zeros(192, np.int32)
    room[before] = x.reshape(64, 3)
    assert (moved.run(name, np.zeros((64, 3), np.int32), THREADS, x, block=64) == room[after]).all()


def test_block_exchange_scatter_moves_items_to_ranks(moved):
    x, ranks = np.arange(192, dtype=np.int32) * 7, (np.arange(192, dtype=np.int32) * 37 + 5) % 192
    room = np.zeros(192, np.int32)
    room[ranks] = x
    wanted = np.stack([room, room])
    odd = ranks % 2 == 1
    wanted[1, ranks[odd]] = room[odd]  # the second scatter starts from the items in rank order
    assert (moved.run("scattered", np.zeros((2, 192), np.int32), ranks, x, block=64) == wanted).all()


def test_radix_and_merge_sort_match_numpy(moved):
    x = ((np.arange(192) * 37 % 64) - 31).astype(np.float32)
    order = np.argsort(x, kind="stable")
    digits = 1000 + 37 * np.arange(192)
    by_digit = digits[np.argsort(-(digits >> 4 & 15), kind="stable")]
    warps = -np.sort(-x.reshape(2, 96), axis=1).reshape(-1)
    wanted = np.stack([x[order], order, by_digit, -np.sort(-x), warps]).astype(np.float32)
    assert (moved.run("sorted", np.zeros((5, 192), np.float32), THREADS, x, block=64) == wanted).all()


def test_block_functions_of_adjacent_items_match_numpy(moved):
    x = (np.arange(192, dtype=np.int32) // 3 * 5 // 4) ** 2 % 97
    heads = np.concatenate([[1], x[1:] != x[:-1]])
    tails = np.concatenate([x[1:] != x[:-1], [1]])
    at = np.concatenate([[0], (x[1:] != x[:-1]) & (np.arange(1, 192) % 5 > 0)])
    left = np.concatenate([x[:1], x[1:] - x[:-1]])
    right = np.concatenate([x[:99] - x[1:100], x[99:]])
    moved_up = np.concatenate([x[:1], x[:-1]])
    single = x.reshape(64, 3).copy()
    first = x[::3]
    single[2:, 0] = first[:-2]
    single[:, 1] = np.roll(first, 1)
    wanted = np.stack([heads, tails, at, left, right, moved_up, single.reshape(-1)])
    assert (moved.run("neighbours", np.zeros((7, 192), np.int32), THREADS, x, block=64) == wanted).all()


def test_block_histogram_counts_every_item(moved):
    x = (np.arange(192) ** 2 % 16).astype(np.uint8)
    assert (moved.run("counted", np.zeros(16, np.int32), THREADS, x, block=64) == np.bincount(x, minlength=16)).all()


def test_warp_load_exchange_and_store_keep_item_order(moved):
    x = np.arange(192, dtype=np.int32) * 5
    wanted = x.reshape(64, 3).copy()
    wanted[:, 0] += wanted.sum(axis=1)
    assert (moved.run("of_warps", np.zeros((64, 3), np.int32), THREADS, x, block=64) == wanted).all()
