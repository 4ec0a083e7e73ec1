// hipCUB's warp and block primitives, implemented directly from their documentation. Device-wide primitives are only
// declared, for the host code that calls them. An installed ROCm provides the real implementation.
#pragma once

#include <hip/hip_runtime.h>
#include <parity/wrapped.h>

#include <iterator>
#include <limits>
#include <type_traits>

#define HIPCUB_DEVICE __device__
#define HIPCUB_HOST_DEVICE __host__ __device__
#if defined(__GFX9__)
#define HIPCUB_DEVICE_WARP_THREADS 64
#else
#define HIPCUB_DEVICE_WARP_THREADS 32
#endif
#define HIPCUB_WARP_THREADS HIPCUB_DEVICE_WARP_THREADS
#define CUB_PTX_WARP_THREADS HIPCUB_DEVICE_WARP_THREADS
#define CUB_VERSION 200200

PARITY_WRAPPED_BEGIN
namespace hipcub {

#define PARITY_OPERATOR(name, expression)                                                        \
  struct name {                                                                                  \
    template <typename T>                                                                        \
    __host__ __device__ T operator()(const T& a, const T& b) const { return expression; }        \
  };
PARITY_OPERATOR(Sum, a + b) PARITY_OPERATOR(Difference, a - b) PARITY_OPERATOR(Max, b > a ? b : a) PARITY_OPERATOR(Min, b < a ? b : a)
#undef PARITY_OPERATOR
struct Equality { template <typename T> __host__ __device__ bool operator()(const T& a, const T& b) const { return a == b; } };
struct Inequality { template <typename T> __host__ __device__ bool operator()(const T& a, const T& b) const { return a != b; } };
template <typename Key_, typename Value_> struct KeyValuePair {
  using Key = Key_; using Value = Value_;
  Key key;
  Value value;
  __host__ __device__ bool operator!=(const KeyValuePair& b) const { return key != b.key || value != b.value; }
};
// Of equal values, selects the one with the smaller key.
struct ArgMax {
  template <typename P>
  __host__ __device__ P operator()(const P& a, const P& b) const { return b.value > a.value || (a.value == b.value && b.key < a.key) ? b : a; }
};
struct ArgMin {
  template <typename P>
  __host__ __device__ P operator()(const P& a, const P& b) const { return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a; }
};
template <typename T>
struct NumericTraits { static __host__ __device__ T Max() { return std::numeric_limits<T>::max(); } static __host__ __device__ T Lowest() { return std::numeric_limits<T>::lowest(); } };
template <typename T> using Traits = NumericTraits<T>;
struct NullType {};
// Uninitialized storage for a value, for example in shared memory.
template <typename T> struct Uninitialized {
  alignas(T) unsigned char storage[sizeof(T)];
  __host__ __device__ T& Alias() { return reinterpret_cast<T&>(*this); }
};
// The widest words that divide a type evenly.
template <typename T> struct UnitWord {
  template <typename W> static constexpr bool FITS = sizeof(T) % sizeof(W) == 0 && alignof(T) % alignof(W) == 0;
  using ShuffleWord = std::conditional_t<FITS<int>, unsigned, std::conditional_t<FITS<short>, unsigned short, unsigned char>>;
  using VolatileWord = std::conditional_t<FITS<long long>, unsigned long long, ShuffleWord>;
  using DeviceWord = std::conditional_t<FITS<longlong2>, ulonglong2, VolatileWord>;
  using TextureWord = std::conditional_t<FITS<int4>, uint4, std::conditional_t<FITS<int2>, uint2, ShuffleWord>>;
};
template <int N> struct Int2Type { enum { VALUE = N }; };
template <int N> struct Log2 { enum { VALUE = N <= 1 ? 0 : 1 + Log2<(N + 1) / 2>::VALUE }; };
template <> struct Log2<1> { enum { VALUE = 0 }; };
template <typename T> __host__ __device__ void Swap(T& a, T& b) { T c = a; a = b; b = c; }
__device__ inline int LaneId() { return __lane_id(); }
// 32-bit masks, as in CUB. In the upper half of a wavefront of 64 lanes, they cover all lanes of the lower half or
// none.
__device__ inline unsigned int LaneMaskLt() { return __lanemask_lt(); }
__device__ inline unsigned int LaneMaskLe() { return __lanemask_lt() | 1ull << __lane_id(); }
__device__ inline unsigned int LaneMaskGt() { return ~LaneMaskLe(); }
__device__ inline unsigned int LaneMaskGe() { return ~LaneMaskLt(); }
__device__ inline int RowMajorTid(int x, int y, int) { return (threadIdx.z * y + threadIdx.y) * x + threadIdx.x; }

namespace parity_stub {
template <typename T, typename Shuffle> __device__ T by_words(const T& value, Shuffle shuffle) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned int bits[words] = {};
  __builtin_memcpy(bits, &value, sizeof(T));
  for (int i = 0; i < words; ++i) bits[i] = shuffle(bits[i]);
  T result;
  __builtin_memcpy(&result, bits, sizeof(T));
  return result;
}
template <int LOGICAL_WARP_THREADS, typename T> __device__ T down(const T& value, int lanes) {
  return by_words(value, [=](unsigned int word) { return static_cast<unsigned int>(__shfl_down(static_cast<int>(word), lanes, LOGICAL_WARP_THREADS)); });
}
template <int LOGICAL_WARP_THREADS, typename T> __device__ T up(const T& value, int lanes) {
  return by_words(value, [=](unsigned int word) { return static_cast<unsigned int>(__shfl_up(static_cast<int>(word), lanes, LOGICAL_WARP_THREADS)); });
}
template <int LOGICAL_WARP_THREADS, typename T> __device__ T at(const T& value, int lane) {
  return by_words(value, [=](unsigned int word) { return static_cast<unsigned int>(__shfl(static_cast<int>(word), lane, LOGICAL_WARP_THREADS)); });
}
// Shared memory of a block primitive: the caller's, or else one variable per type of primitive.
template <class Primitive, class Storage> class InBlock {
 public:
  struct TempStorage : Storage {};
  __device__ InBlock() : storage_(own()) {}
  __device__ explicit InBlock(TempStorage& storage) : storage_(storage) {}

 protected:
  TempStorage& storage_;

 private:
  static __device__ TempStorage& own() { __shared__ TempStorage storage; return storage; }
};
// Base of primitives that do not need shared memory.
struct WithoutStorage {
  struct TempStorage {};
  __device__ WithoutStorage() {}
  __device__ explicit WithoutStorage(TempStorage&) {}
};
// Array whose elements are not constructed.
template <typename T, int N> struct Values {
  alignas(T) unsigned char bytes[sizeof(T) * N];
  __device__ T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};
// Combines a thread's items in order, before the threads are combined.
template <typename T, int ITEMS_PER_THREAD, typename Op> __device__ T reduced(const T (&items)[ITEMS_PER_THREAD], Op op) {
  T total = items[0];
  for (int i = 1; i < ITEMS_PER_THREAD; ++i) total = op(total, items[i]);
  return total;
}
}  // namespace parity_stub

template <int LOGICAL_WARP_THREADS, typename T> __device__ T ShuffleDown(T value, int lanes, int last, unsigned int) {
  const T other = parity_stub::down<LOGICAL_WARP_THREADS>(value, lanes);
  return (__lane_id() % LOGICAL_WARP_THREADS) + lanes <= last ? other : value;
}
template <int LOGICAL_WARP_THREADS, typename T> __device__ T ShuffleUp(T value, int lanes, int first, unsigned int) {
  const T other = parity_stub::up<LOGICAL_WARP_THREADS>(value, lanes);
  return static_cast<int>(__lane_id() % LOGICAL_WARP_THREADS) - lanes >= first ? other : value;
}
template <int LOGICAL_WARP_THREADS, typename T>
__device__ T ShuffleIndex(T value, int lane, unsigned int) { return parity_stub::at<LOGICAL_WARP_THREADS>(value, lane); }

template <typename T, int LOGICAL_WARP_THREADS = HIPCUB_DEVICE_WARP_THREADS, int = 1>
class WarpReduce : public parity_stub::WithoutStorage {
 public:
  using WithoutStorage::WithoutStorage;
  template <typename Op> __device__ T Reduce(T value, Op op, int valid = LOGICAL_WARP_THREADS) { return segmented(value, valid, op); }
  __device__ T Sum(T value, int valid = LOGICAL_WARP_THREADS) { return Reduce(value, hipcub::Sum(), valid); }
  // A segment ends before the next head, or with the next tail.
  template <typename Flag, typename Op>
  __device__ T HeadSegmentedReduce(T value, Flag head, Op op) { return segmented(value, ended(head, 1), op); }
  template <typename Flag, typename Op>
  __device__ T TailSegmentedReduce(T value, Flag tail, Op op) { return segmented(value, ended(tail, 0), op); }
  template <typename Flag> __device__ T HeadSegmentedSum(T value, Flag head) { return HeadSegmentedReduce(value, head, hipcub::Sum()); }
  template <typename Flag> __device__ T TailSegmentedSum(T value, Flag tail) { return TailSegmentedReduce(value, tail, hipcub::Sum()); }

 private:
  // Finds the end of a lane's segment: the first flag at least `distance` lanes further, or the end of the warp.
  template <typename Flag> static __device__ int ended(Flag flag, int distance) {
    const unsigned long long flags = __ballot(static_cast<bool>(flag)) >> (__lane_id() / LOGICAL_WARP_THREADS * LOGICAL_WARP_THREADS);
    int lane = __lane_id() % LOGICAL_WARP_THREADS + 1;
    while (lane < LOGICAL_WARP_THREADS && !(flags >> (lane - 1 + distance) & 1)) ++lane;
    return lane;
  }
  template <typename Op> static __device__ T segmented(T value, int end, Op op) {
    const int lane = __lane_id() % LOGICAL_WARP_THREADS;
    for (int lanes = 1; lanes < LOGICAL_WARP_THREADS; lanes *= 2) {
      const T other = parity_stub::down<LOGICAL_WARP_THREADS>(value, lanes);
      if (lane + lanes < end) value = op(value, other);
    }
    return value;
  }
};

template <typename T, int LOGICAL_WARP_THREADS = HIPCUB_DEVICE_WARP_THREADS, int = 1> class WarpScan : public parity_stub::WithoutStorage {
 public:
  using WithoutStorage::WithoutStorage;
  template <typename Op> __device__ void InclusiveScan(T value, T& result, Op op) {
    const int lane = __lane_id() % LOGICAL_WARP_THREADS;
    for (int lanes = 1; lanes < LOGICAL_WARP_THREADS; lanes *= 2) {
      const T other = parity_stub::up<LOGICAL_WARP_THREADS>(value, lanes);
      if (lane >= lanes) value = op(other, value);
    }
    result = value;
  }
  template <typename Op> __device__ void InclusiveScan(T value, T& result, Op op, T& total) {
    InclusiveScan(value, result, op);
    total = parity_stub::at<LOGICAL_WARP_THREADS>(result, LOGICAL_WARP_THREADS - 1);
  }
  template <typename Op, typename... Total> __device__ void ExclusiveScan(T value, T& result, T initial, Op op, Total&... total) {
    T inclusive;
    InclusiveScan(value, inclusive, op, total...);
    const T before = parity_stub::up<LOGICAL_WARP_THREADS>(inclusive, 1);
    result = __lane_id() % LOGICAL_WARP_THREADS == 0 ? initial : op(initial, before);
  }
  __device__ void InclusiveSum(T value, T& result) { InclusiveScan(value, result, hipcub::Sum()); }
  __device__ void InclusiveSum(T value, T& result, T& total) { InclusiveScan(value, result, hipcub::Sum(), total); }
  __device__ void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(), hipcub::Sum()); }
  __device__ void ExclusiveSum(T value, T& result, T& total) { ExclusiveScan(value, result, T(), hipcub::Sum(), total); }
  // Without an initial value, the exclusive result of lane 0 is undefined.
  template <typename Op> __device__ void ExclusiveScan(T value, T& result, Op op) {
    InclusiveScan(value, result, op);
    result = parity_stub::up<LOGICAL_WARP_THREADS>(result, 1);
  }
  // The initial value contributes to both results, as in the scans with one result.
  template <typename Op> __device__ void Scan(T value, T& inclusive, T& exclusive, T initial, Op op) {
    ExclusiveScan(value, exclusive, initial, op);
    inclusive = op(exclusive, value);
  }
  template <typename Op> __device__ void Scan(T value, T& inclusive, T& exclusive, Op op) {
    InclusiveScan(value, inclusive, op);
    exclusive = parity_stub::up<LOGICAL_WARP_THREADS>(inclusive, 1);
  }
  __device__ T Broadcast(T value, unsigned int lane) { return parity_stub::at<LOGICAL_WARP_THREADS>(value, lane); }
};

// Indices of the first of count sorted values that is not below a value, and of the first that is above it.
namespace parity_stub {
template <typename Offset, typename Below> __device__ Offset bound(Offset count, Below below) {
  Offset first = 0;
  while (count > 0) {
    const Offset half = count / 2;
    if (below(first + half)) first += half + 1, count -= half + 1;
    else count = half;
  }
  return first;
}
}  // namespace parity_stub
template <typename Iterator, typename Offset, typename T>
__device__ Offset LowerBound(Iterator values, Offset count, T value) { return parity_stub::bound(count, [&](Offset i) { return values[i] < value; }); }
template <typename Iterator, typename Offset, typename T>
__device__ Offset UpperBound(Iterator values, Offset count, T value) { return parity_stub::bound(count, [&](Offset i) { return !(value < values[i]); }); }

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING, BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };

template <typename T, int X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int ARCH = 1>
class BlockReduce : public parity_stub::InBlock<BlockReduce<T, X, ALGORITHM, Y, Z, ARCH>, parity_stub::Values<T, X * Y * Z>> {
 public:
  using parity_stub::InBlock<BlockReduce, parity_stub::Values<T, X * Y * Z>>::InBlock;
  template <typename Op> __device__ T Reduce(T value, Op op, int valid = X * Y * Z) {
    const int thread = RowMajorTid(X, Y, Z);
    this->storage_[thread] = value;
    __syncthreads();
    for (int stride = 1; stride < X * Y * Z; stride *= 2) {
      if (thread % (2 * stride) == 0 && thread + stride < valid) this->storage_[thread] = op(this->storage_[thread], this->storage_[thread + stride]);
      __syncthreads();
    }
    return this->storage_[thread];
  }
  template <int ITEMS_PER_THREAD, typename Op>
  __device__ T Reduce(T (&items)[ITEMS_PER_THREAD], Op op) { return Reduce(parity_stub::reduced(items, op), op); }
  __device__ T Sum(T value, int valid = X * Y * Z) { return Reduce(value, hipcub::Sum(), valid); }
  template <int ITEMS_PER_THREAD> __device__ T Sum(T (&items)[ITEMS_PER_THREAD]) { return Reduce(items, hipcub::Sum()); }
};

template <typename T, int X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int ARCH = 1>
class BlockScan : public parity_stub::InBlock<BlockScan<T, X, ALGORITHM, Y, Z, ARCH>, parity_stub::Values<T, X * Y * Z>> {
 public:
  using parity_stub::InBlock<BlockScan, parity_stub::Values<T, X * Y * Z>>::InBlock;

  template <typename Op> __device__ void InclusiveScan(T value, T& result, Op op) { result = scanned(value, op); }
  template <typename Op>
  __device__ void InclusiveScan(T value, T& result, Op op, T& total) { result = scanned(value, op); total = this->storage_[X * Y * Z - 1]; }
  template <typename Op>
  __device__ void ExclusiveScan(T value, T& result, T initial, Op op) { scanned(value, op); result = before(initial, op); }
  template <typename Op>
  __device__ void ExclusiveScan(T value, T& result, T initial, Op op, T& total) { ExclusiveScan(value, result, initial, op); total = this->storage_[X * Y * Z - 1]; }
  // Thread 0's wavefront passes the block's total to the callback, which returns the prefix of the block.
  template <typename Op, typename Prefix>
  __device__ void InclusiveScan(T value, T& result, Op op, Prefix& prefix) { const T mine = scanned(value, op); result = op(prefixed(prefix), mine); }
  template <typename Op, typename Prefix, typename = std::enable_if_t<!std::is_convertible_v<Prefix, T>>>
  __device__ void ExclusiveScan(T value, T& result, Op op, Prefix& prefix) { scanned(value, op); const T first = prefixed(prefix); result = before(first, op); }
  __device__ void InclusiveSum(T value, T& result) { InclusiveScan(value, result, hipcub::Sum()); }
  __device__ void InclusiveSum(T value, T& result, T& total) { InclusiveScan(value, result, hipcub::Sum(), total); }
  __device__ void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(), hipcub::Sum()); }
  __device__ void ExclusiveSum(T value, T& result, T& total) { ExclusiveScan(value, result, T(), hipcub::Sum(), total); }

  template <typename Prefix, typename = std::enable_if_t<!std::is_convertible_v<Prefix, T>>>
  __device__ void InclusiveSum(T value, T& result, Prefix& prefix) { InclusiveScan(value, result, hipcub::Sum(), prefix); }
  template <typename Prefix, typename = std::enable_if_t<!std::is_convertible_v<Prefix, T>>>
  __device__ void ExclusiveSum(T value, T& result, Prefix& prefix) { ExclusiveScan(value, result, hipcub::Sum(), prefix); }

  template <int ITEMS_PER_THREAD, typename Op, class... More>
  __device__ void InclusiveScan(T (&items)[ITEMS_PER_THREAD], T (&results)[ITEMS_PER_THREAD], Op op, More&&... more) { items_Inclusive(items, results, op, more...); }
  template <int ITEMS_PER_THREAD, class... More>
  __device__ void InclusiveSum(T (&items)[ITEMS_PER_THREAD], T (&results)[ITEMS_PER_THREAD], More&&... more) { items_Inclusive(items, results, hipcub::Sum(), more...); }
  template <int ITEMS_PER_THREAD, typename Op, class... More>
  __device__ void ExclusiveScan(T (&items)[ITEMS_PER_THREAD], T (&results)[ITEMS_PER_THREAD], T initial, Op op, More&&... more) { items_Exclusive(items, results, op, initial, more...); }
  template <int ITEMS_PER_THREAD, class... More>
  __device__ void ExclusiveSum(T (&items)[ITEMS_PER_THREAD], T (&results)[ITEMS_PER_THREAD], More&&... more) { items_Exclusive(items, results, hipcub::Sum(), T(), more...); }

 private:
  template <typename Op> __device__ T scanned(T value, Op op) {
    const int thread = RowMajorTid(X, Y, Z);
    this->storage_[thread] = value;
    __syncthreads();
    for (int stride = 1; stride < X * Y * Z; stride *= 2) {
      const T other = this->storage_[thread >= stride ? thread - stride : thread];
      __syncthreads();
      if (thread >= stride) this->storage_[thread] = value = op(other, value);
      __syncthreads();
    }
    return value;
  }
  template <typename Op> __device__ T before(T initial, Op op) {
    const int thread = RowMajorTid(X, Y, Z);
    return thread == 0 ? initial : op(initial, this->storage_[thread - 1]);
  }
  template <typename Prefix> __device__ T prefixed(Prefix& prefix) {
    __shared__ unsigned char first[sizeof(T)];
    const T total = this->storage_[X * Y * Z - 1];
    if (RowMajorTid(X, Y, Z) < HIPCUB_DEVICE_WARP_THREADS) {
      const T given = prefix(total);
      if (RowMajorTid(X, Y, Z) == 0) __builtin_memcpy(first, &given, sizeof(T));
    }
    __syncthreads();
    T result;
    __builtin_memcpy(&result, first, sizeof(T));
    return result;
  }
  template <int ITEMS_PER_THREAD, typename Op, class... More>
  __device__ void items_Inclusive(T (&items)[ITEMS_PER_THREAD], T (&results)[ITEMS_PER_THREAD], Op op, More&... more) {
    T local[ITEMS_PER_THREAD];
    local[0] = items[0];
    for (int i = 1; i < ITEMS_PER_THREAD; ++i) local[i] = op(local[i - 1], items[i]);
    scanned(local[ITEMS_PER_THREAD - 1], op);
    const int thread = RowMajorTid(X, Y, Z);
    const T earlier = thread ? this->storage_[thread - 1] : T();
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) results[i] = thread ? op(earlier, local[i]) : local[i];
    after(results, op, more...);
  }
  template <int ITEMS_PER_THREAD, typename Op, class... More>
  __device__ void items_Exclusive(T (&items)[ITEMS_PER_THREAD], T (&results)[ITEMS_PER_THREAD], Op op, T initial, More&... more) {
    scanned(parity_stub::reduced(items, op), op);
    T running = before(initial, op);
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
      const T item = items[i];
      results[i] = running;
      running = op(running, item);
    }
    after(results, op, more...);
  }
  template <int ITEMS_PER_THREAD, typename Op> __device__ void after(T (&)[ITEMS_PER_THREAD], Op) {}
  template <int ITEMS_PER_THREAD, typename Op, typename More> __device__ void after(T (&results)[ITEMS_PER_THREAD], Op op, More& more) {
    if constexpr (std::is_same_v<std::remove_const_t<More>, T>) {
      more = this->storage_[X * Y * Z - 1];
    } else {
      const T first = prefixed(more);
      for (int i = 0; i < ITEMS_PER_THREAD; ++i) results[i] = op(first, results[i]);
    }
  }
};

// Direct access without shared memory. Striped items are a block width apart, warp-striped items a wavefront width.
namespace parity_places {
struct Blocked { static __device__ int at(int thread, int i, int items) { return thread * items + i; } };
template <int BLOCK_DIM_X> struct Striped { static __device__ int at(int thread, int i, int) { return i * BLOCK_DIM_X + thread; } };
struct WarpStriped {
  static __device__ int at(int thread, int i, int items) {
    return thread / warpSize * warpSize * items + i * warpSize + thread % warpSize;
  }
};
template <class Place, typename Iterator, typename T, int ITEMS_PER_THREAD>
__device__ void load(int thread, Iterator from, T (&items)[ITEMS_PER_THREAD], int valid = std::numeric_limits<int>::max()) {
  for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (Place::at(thread, i, ITEMS_PER_THREAD) < valid) items[i] = from[Place::at(thread, i, ITEMS_PER_THREAD)];
}
template <class Place, typename Iterator, typename T, int ITEMS_PER_THREAD, typename Default>
__device__ void load(int thread, Iterator from, T (&items)[ITEMS_PER_THREAD], int valid, Default otherwise) {
  for (int i = 0; i < ITEMS_PER_THREAD; ++i) items[i] = static_cast<T>(otherwise);
  load<Place>(thread, from, items, valid);
}
template <class Place, typename Iterator, typename T, int ITEMS_PER_THREAD>
__device__ void store(int thread, Iterator to, T (&items)[ITEMS_PER_THREAD], int valid = std::numeric_limits<int>::max()) {
  for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (Place::at(thread, i, ITEMS_PER_THREAD) < valid) to[Place::at(thread, i, ITEMS_PER_THREAD)] = items[i];
}
}  // namespace parity_places

template <typename T, int ITEMS_PER_THREAD, typename Iterator, typename... Valid>
__device__ void LoadDirectBlocked(int thread, Iterator from, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::load<parity_places::Blocked>(thread, from, items, valid...); }
template <typename T, int ITEMS_PER_THREAD>
__device__ void LoadDirectBlockedVectorized(int thread, const T* from, T (&items)[ITEMS_PER_THREAD]) { LoadDirectBlocked(thread, from, items); }
template <int BLOCK_DIM_X, typename T, int ITEMS_PER_THREAD, typename Iterator, typename... Valid>
__device__ void LoadDirectStriped(int thread, Iterator from, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::load<parity_places::Striped<BLOCK_DIM_X>>(thread, from, items, valid...); }
template <typename T, int ITEMS_PER_THREAD, typename Iterator, typename... Valid>
__device__ void LoadDirectWarpStriped(int thread, Iterator from, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::load<parity_places::WarpStriped>(thread, from, items, valid...); }
template <typename T, int ITEMS_PER_THREAD, typename Iterator, typename... Valid>
__device__ void StoreDirectBlocked(int thread, Iterator to, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::store<parity_places::Blocked>(thread, to, items, valid...); }
template <typename T, int ITEMS_PER_THREAD>
__device__ void StoreDirectBlockedVectorized(int thread, T* to, T (&items)[ITEMS_PER_THREAD]) { StoreDirectBlocked(thread, to, items); }
template <int BLOCK_DIM_X, typename T, int ITEMS_PER_THREAD, typename Iterator, typename... Valid>
__device__ void StoreDirectStriped(int thread, Iterator to, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::store<parity_places::Striped<BLOCK_DIM_X>>(thread, to, items, valid...); }
template <typename T, int ITEMS_PER_THREAD, typename Iterator, typename... Valid>
__device__ void StoreDirectWarpStriped(int thread, Iterator to, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::store<parity_places::WarpStriped>(thread, to, items, valid...); }

// A thread's items are contiguous (blocked), except in the striped algorithms.
template <typename T, int X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 1>
class BlockLoad : public parity_stub::WithoutStorage {
  using Place = std::conditional_t<ALGORITHM == BLOCK_LOAD_STRIPED, parity_places::Striped<X * Y * Z>, parity_places::Blocked>;

 public:
  using WithoutStorage::WithoutStorage;
  template <typename Iterator, typename... Valid>
  __device__ void Load(Iterator from, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::load<Place>(RowMajorTid(X, Y, Z), from, items, valid...); }
};
template <typename T, int X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 1>
class BlockStore : public parity_stub::WithoutStorage {
  using Place = std::conditional_t<ALGORITHM == BLOCK_STORE_STRIPED, parity_places::Striped<X * Y * Z>, parity_places::Blocked>;

 public:
  using WithoutStorage::WithoutStorage;
  template <typename Iterator, typename... Valid>
  __device__ void Store(Iterator to, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::store<Place>(RowMajorTid(X, Y, Z), to, items, valid...); }
};

// Writes items to shared memory in one arrangement and reads them in another. Ranks are positions of single items.
template <typename T, int X, int ITEMS_PER_THREAD, bool TIME_SLICED = false, int Y = 1, int Z = 1, int ARCH = 1>
class BlockExchange : public parity_stub::InBlock<BlockExchange<T, X, ITEMS_PER_THREAD, TIME_SLICED, Y, Z, ARCH>, parity_stub::Values<T, X * Y * Z * ITEMS_PER_THREAD>> {
  using Blocked = parity_places::Blocked;
  using Striped = parity_places::Striped<X * Y * Z>;
  using WarpStriped = parity_places::WarpStriped;
  template <typename U> using Items = U (&)[ITEMS_PER_THREAD];

 public:
  using parity_stub::InBlock<BlockExchange, parity_stub::Values<T, X * Y * Z * ITEMS_PER_THREAD>>::InBlock;

#define PARITY_EXCHANGE(name, From, To)                                                                          \
  template <typename Result>                                                                                     \
  __device__ void name(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD]) { put<From>(items); take<To>(results); } \
  __device__ void name(Items<T> items) { name(items, items); }
  PARITY_EXCHANGE(BlockedToStriped, Blocked, Striped)
  PARITY_EXCHANGE(StripedToBlocked, Striped, Blocked)
  PARITY_EXCHANGE(BlockedToWarpStriped, Blocked, WarpStriped)
  PARITY_EXCHANGE(WarpStripedToBlocked, WarpStriped, Blocked)
#undef PARITY_EXCHANGE
#define PARITY_SCATTER(name, To, is_kept)                                                                        \
  template <typename Result, typename Rank>                                                                      \
  __device__ void name(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD], Rank (&ranks)[ITEMS_PER_THREAD]) { \
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (is_kept) this->storage_[ranks[i]] = items[i];                        \
    take<To>(results);                                                                                           \
  }                                                                                                              \
  template <typename Rank>                                                                                       \
  __device__ void name(Items<T> items, Rank (&ranks)[ITEMS_PER_THREAD]) { name(items, items, ranks); }
  PARITY_SCATTER(ScatterToBlocked, Blocked, true)
  PARITY_SCATTER(ScatterToStriped, Striped, true)
  PARITY_SCATTER(ScatterToStripedGuarded, Striped, ranks[i] >= 0)
#undef PARITY_SCATTER
  template <typename Result, typename Rank, typename Flag>
  __device__ void ScatterToStripedFlagged(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD], Rank (&ranks)[ITEMS_PER_THREAD], Flag (&flags)[ITEMS_PER_THREAD]) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (flags[i]) this->storage_[ranks[i]] = items[i];
    take<Striped>(results);
  }

 private:
  template <class Place> __device__ void put(const T (&items)[ITEMS_PER_THREAD]) {
    const int thread = RowMajorTid(X, Y, Z);
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) this->storage_[Place::at(thread, i, ITEMS_PER_THREAD)] = items[i];
  }
  template <class Place, typename Result> __device__ void take(Result (&results)[ITEMS_PER_THREAD]) {
    const int thread = RowMajorTid(X, Y, Z);
    __syncthreads();
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) results[i] = this->storage_[Place::at(thread, i, ITEMS_PER_THREAD)];
  }
};

// Sorts by counting the keys that precede each key. The sort is stable and works for all types.
namespace parity_sorted {
// Maps keys to unsigned integers in the same order. A sort may use only some of the bits.
template <typename Key> __device__ unsigned long long bits_of(const Key& key) {
  using Word = std::conditional_t<sizeof(Key) == 8, unsigned long long, std::conditional_t<sizeof(Key) == 4, unsigned int, std::conditional_t<sizeof(Key) == 2, unsigned short, unsigned char>>>;
  Word word;
  __builtin_memcpy(&word, &key, sizeof(Key));
  constexpr Word top = Word(1) << (sizeof(Key) * 8 - 1);
  if constexpr (std::is_integral_v<Key>) return std::is_signed_v<Key> ? Word(word ^ top) : word;
  else return word & top ? Word(~word) : Word(word ^ top);
}
struct ByBits {
  int begin, end;
  bool descending;
  template <typename Key>
  __device__ bool operator()(const Key& a, const Key& b) const { return descending ? bits(b) < bits(a) : bits(a) < bits(b); }
  template <typename Key> __device__ unsigned long long bits(const Key& key) const {
    // -0 and 0 are equal keys.
    const unsigned long long all = bits_of(std::is_floating_point_v<Key> && key == Key() ? Key() : key) >> begin;
    return end - begin < 64 ? all & ((1ull << (end - begin)) - 1) : all;
  }
};
// Keys and values of a block in shared memory, and functions that sort them.
template <typename Key, typename Value, int X, int Y, int Z, int ITEMS_PER_THREAD> struct Room {
  static constexpr int ALL = X * Y * Z * ITEMS_PER_THREAD;
  parity_stub::Values<Key, ALL> all_keys;
  parity_stub::Values<Value, ALL> all_values;
  template <class Place, typename Less> __device__ void sort(Key (&keys)[ITEMS_PER_THREAD], Value (&values)[ITEMS_PER_THREAD], Less less) {
    const int thread = RowMajorTid(X, Y, Z);
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) all_keys[thread * ITEMS_PER_THREAD + i] = keys[i];
    __syncthreads();
    int places[ITEMS_PER_THREAD];
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
      const int mine = thread * ITEMS_PER_THREAD + i;
      places[i] = 0;
      for (int j = 0; j < ALL; ++j) places[i] += less(all_keys[j], keys[i]) || (j < mine && !less(keys[i], all_keys[j]));
    }
    __syncthreads();
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
      all_keys[places[i]] = keys[i];
      all_values[places[i]] = values[i];
    }
    __syncthreads();
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
      keys[i] = all_keys[Place::at(thread, i, ITEMS_PER_THREAD)];
      values[i] = all_values[Place::at(thread, i, ITEMS_PER_THREAD)];
    }
  }
};
}  // namespace parity_sorted

template <typename Key, int X, int ITEMS_PER_THREAD, typename Value = NullType, int RADIX_BITS = 4, bool MEMOIZE = true, BlockScanAlgorithm SCAN = BLOCK_SCAN_WARP_SCANS,
          int CONFIG = 0, int Y = 1, int Z = 1, int ARCH = 1>
class BlockRadixSort : public parity_stub::InBlock<BlockRadixSort<Key, X, ITEMS_PER_THREAD, Value, RADIX_BITS, MEMOIZE, SCAN, CONFIG, Y, Z, ARCH>, parity_sorted::Room<Key, Value, X, Y, Z, ITEMS_PER_THREAD>> {
  static constexpr int BITS = sizeof(Key) * 8;

 public:
  using parity_stub::InBlock<BlockRadixSort, parity_sorted::Room<Key, Value, X, Y, Z, ITEMS_PER_THREAD>>::InBlock;
#define PARITY_SORT(name, Place, is_descending)                                                                  \
  __device__ void name(Key (&keys)[ITEMS_PER_THREAD], int begin = 0, int end = BITS) { Value none[ITEMS_PER_THREAD]; name(keys, none, begin, end); } \
  __device__ void name(Key (&keys)[ITEMS_PER_THREAD], Value (&values)[ITEMS_PER_THREAD], int begin = 0, int end = BITS) { \
    this->storage_.template sort<Place>(keys, values, parity_sorted::ByBits{begin, end, is_descending});                  \
  }
  PARITY_SORT(Sort, parity_places::Blocked, false)
  PARITY_SORT(SortDescending, parity_places::Blocked, true)
  PARITY_SORT(SortBlockedToStriped, parity_places::Striped<X * Y * Z>, false)
  PARITY_SORT(SortDescendingBlockedToStriped, parity_places::Striped<X * Y * Z>, true)
#undef PARITY_SORT
};

template <typename Key, int X, int ITEMS_PER_THREAD, typename Value = NullType, int Y = 1, int Z = 1>
class BlockMergeSort : public parity_stub::InBlock<BlockMergeSort<Key, X, ITEMS_PER_THREAD, Value, Y, Z>, parity_sorted::Room<Key, Value, X, Y, Z, ITEMS_PER_THREAD>> {
 public:
  using parity_stub::InBlock<BlockMergeSort, parity_sorted::Room<Key, Value, X, Y, Z, ITEMS_PER_THREAD>>::InBlock;
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Less less) { Value none[ITEMS_PER_THREAD]; Sort(keys, none, less); }
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Value (&values)[ITEMS_PER_THREAD], Less less) { this->storage_.template sort<parity_places::Blocked>(keys, values, less); }
  // Items beyond the valid ones take the key `last`, which sorts after all others.
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Less less, int valid, Key last) { Value none[ITEMS_PER_THREAD]; Sort(keys, none, less, valid, last); }
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Value (&values)[ITEMS_PER_THREAD], Less less, int valid, Key last) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (static_cast<int>(RowMajorTid(X, Y, Z)) * ITEMS_PER_THREAD + i >= valid) keys[i] = last;
    Sort(keys, values, less);
  }
  template <typename... Given> __device__ void StableSort(Given&&... given) { Sort(given...); }
};

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };
// Each thread counts separate bins.
template <typename T, int X, int ITEMS_PER_THREAD, int BINS, BlockHistogramAlgorithm ALGORITHM = BLOCK_HISTO_SORT, int Y = 1, int Z = 1, int ARCH = 1>
class BlockHistogram : public parity_stub::InBlock<BlockHistogram<T, X, ITEMS_PER_THREAD, BINS, ALGORITHM, Y, Z, ARCH>, parity_stub::Values<T, X * Y * Z * ITEMS_PER_THREAD>> {
 public:
  using parity_stub::InBlock<BlockHistogram, parity_stub::Values<T, X * Y * Z * ITEMS_PER_THREAD>>::InBlock;
  template <typename Count>
  __device__ void InitHistogram(Count (&histogram)[BINS]) { for (int bin = RowMajorTid(X, Y, Z); bin < BINS; bin += X * Y * Z) histogram[bin] = 0; }
  template <typename Count>
  __device__ void Histogram(T (&items)[ITEMS_PER_THREAD], Count (&histogram)[BINS]) { InitHistogram(histogram); Composite(items, histogram); }
  template <typename Count> __device__ void Composite(T (&items)[ITEMS_PER_THREAD], Count (&histogram)[BINS]) {
    const int thread = RowMajorTid(X, Y, Z);
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) this->storage_[thread * ITEMS_PER_THREAD + i] = items[i];
    __syncthreads();
    for (int bin = thread; bin < BINS; bin += X * Y * Z)
      for (int j = 0; j < X * Y * Z * ITEMS_PER_THREAD; ++j) histogram[bin] += static_cast<int>(this->storage_[j]) == bin;
  }
};

namespace parity_neighbours {
// The operator may take the position of the second item as an additional argument.
template <typename Op, typename T> __device__ auto applied(Op& op, const T& a, const T& b, int place) {
  if constexpr (std::is_invocable_v<Op&, const T&, const T&, int>) return op(a, b, place);
  else return op(a, b);
}
// The first and last item of each thread of a block.
template <typename T, int X, int Y, int Z> struct Ends {
  static constexpr int ALL = X * Y * Z;
  alignas(alignof(T)) unsigned char first_[sizeof(T) * ALL];
  alignas(alignof(T)) unsigned char last_[sizeof(T) * ALL];
  __device__ void put(const T& first, const T& last) {
    reinterpret_cast<T*>(first_)[RowMajorTid(X, Y, Z)] = first;
    reinterpret_cast<T*>(last_)[RowMajorTid(X, Y, Z)] = last;
    __syncthreads();
  }
  __device__ const T& first(int thread) const { return reinterpret_cast<const T*>(first_)[thread]; }
  __device__ const T& last(int thread) const { return reinterpret_cast<const T*>(last_)[thread]; }
};
}  // namespace parity_neighbours

template <typename T, int X, int Y = 1, int Z = 1, int ARCH = 1>
class BlockDiscontinuity : public parity_stub::InBlock<BlockDiscontinuity<T, X, Y, Z, ARCH>, parity_neighbours::Ends<T, X, Y, Z>> {
  static constexpr int ALL = X * Y * Z;

 public:
  using parity_stub::InBlock<BlockDiscontinuity, parity_neighbours::Ends<T, X, Y, Z>>::InBlock;
  template <int N, typename Flag, typename Op>
  __device__ void FlagHeads(Flag (&heads)[N], T (&items)[N], Op op) { put(items); head_flags(heads, items, op, nullptr); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagHeads(Flag (&heads)[N], T (&items)[N], Op op, T before) { put(items); head_flags(heads, items, op, &before); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagTails(Flag (&tails)[N], T (&items)[N], Op op) { put(items); tail_flags(tails, items, op, nullptr); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagTails(Flag (&tails)[N], T (&items)[N], Op op, T after) { put(items); tail_flags(tails, items, op, &after); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagHeadsAndTails(Flag (&heads)[N], Flag (&tails)[N], T (&items)[N], Op op) { both(heads, nullptr, tails, nullptr, items, op); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagHeadsAndTails(Flag (&heads)[N], Flag (&tails)[N], T after, T (&items)[N], Op op) { both(heads, nullptr, tails, &after, items, op); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagHeadsAndTails(Flag (&heads)[N], T before, Flag (&tails)[N], T (&items)[N], Op op) { both(heads, &before, tails, nullptr, items, op); }
  template <int N, typename Flag, typename Op>
  __device__ void FlagHeadsAndTails(Flag (&heads)[N], T before, Flag (&tails)[N], T after, T (&items)[N], Op op) { both(heads, &before, tails, &after, items, op); }

 private:
  template <int N> __device__ void put(T (&items)[N]) { this->storage_.put(items[0], items[N - 1]); }
  template <int N, typename Flag, typename Op>
  __device__ void both(Flag (&heads)[N], const T* before, Flag (&tails)[N], const T* after, T (&items)[N], Op op) {
    put(items);
    head_flags(heads, items, op, before);
    tail_flags(tails, items, op, after);
  }
  // Without a predecessor, the first item of the block is a head. Without a successor, the last item is a tail.
  template <int N, typename Flag, typename Op> __device__ void head_flags(Flag (&heads)[N], T (&items)[N], Op& op, const T* before) {
    const int thread = RowMajorTid(X, Y, Z);
    for (int i = 0; i < N; ++i) {
      if (i == 0 && thread == 0 && !before) { heads[0] = 1; continue; }
      const T& other = i ? items[i - 1] : thread ? this->storage_.last(thread - 1) : *before;
      heads[i] = parity_neighbours::applied(op, other, items[i], thread * N + i);
    }
  }
  template <int N, typename Flag, typename Op> __device__ void tail_flags(Flag (&tails)[N], T (&items)[N], Op& op, const T* after) {
    const int thread = RowMajorTid(X, Y, Z);
    for (int i = 0; i < N; ++i) {
      if (i == N - 1 && thread == ALL - 1 && !after) { tails[i] = 1; continue; }
      const T& other = i < N - 1 ? items[i + 1] : thread < ALL - 1 ? this->storage_.first(thread + 1) : *after;
      tails[i] = parity_neighbours::applied(op, items[i], other, thread * N + i + 1);
    }
  }
};

// Items without a neighbour stay unchanged.
template <typename T, int X, int Y = 1, int Z = 1, int ARCH = 1>
class BlockAdjacentDifference : public parity_stub::InBlock<BlockAdjacentDifference<T, X, Y, Z, ARCH>, parity_neighbours::Ends<T, X, Y, Z>> {
  static constexpr int ALL = X * Y * Z;

 public:
  using parity_stub::InBlock<BlockAdjacentDifference, parity_neighbours::Ends<T, X, Y, Z>>::InBlock;
  template <int N, typename Result, typename Op>
  __device__ void SubtractLeft(T (&items)[N], Result (&results)[N], Op op) { left(items, results, op, N * ALL, nullptr); }
  template <int N, typename Result, typename Op>
  __device__ void SubtractLeft(T (&items)[N], Result (&results)[N], Op op, T before) { left(items, results, op, N * ALL, &before); }
  template <int N, typename Result, typename Op>
  __device__ void SubtractLeftPartialTile(T (&items)[N], Result (&results)[N], Op op, int valid) { left(items, results, op, valid, nullptr); }
  template <int N, typename Result, typename Op>
  __device__ void SubtractLeftPartialTile(T (&items)[N], Result (&results)[N], Op op, int valid, T before) { left(items, results, op, valid, &before); }
  template <int N, typename Result, typename Op>
  __device__ void SubtractRight(T (&items)[N], Result (&results)[N], Op op) { right(items, results, op, N * ALL, nullptr); }
  template <int N, typename Result, typename Op>
  __device__ void SubtractRight(T (&items)[N], Result (&results)[N], Op op, T after) { right(items, results, op, N * ALL, &after); }
  template <int N, typename Result, typename Op>
  __device__ void SubtractRightPartialTile(T (&items)[N], Result (&results)[N], Op op, int valid) { right(items, results, op, valid, nullptr); }

 private:
  template <int N, typename Result, typename Op>
  __device__ void left(T (&items)[N], Result (&results)[N], Op& op, int valid, const T* before) {
    const int thread = RowMajorTid(X, Y, Z);
    this->storage_.put(items[0], items[N - 1]);
    for (int i = N - 1; i >= 0; --i) {
      const bool is_first = i == 0 && thread == 0;
      const T* other = i ? &items[i - 1] : is_first ? before : &this->storage_.last(thread - 1);
      results[i] = other && thread * N + i < valid ? op(items[i], *other) : items[i];
    }
  }
  template <int N, typename Result, typename Op>
  __device__ void right(T (&items)[N], Result (&results)[N], Op& op, int valid, const T* after) {
    const int thread = RowMajorTid(X, Y, Z);
    this->storage_.put(items[0], items[N - 1]);
    for (int i = 0; i < N; ++i) {
      const bool is_last = i == N - 1 && thread == ALL - 1;
      const T* other = i < N - 1 ? &items[i + 1] : is_last ? after : &this->storage_.first(thread + 1);
      const bool has = after ? thread * N + i < valid : thread * N + i < valid - 1;
      results[i] = other && has ? op(items[i], *other) : items[i];
    }
  }
};

// A thread that receives no item keeps its value.
template <typename T, int X, int Y = 1, int Z = 1, int ARCH = 1>
class BlockShuffle : public parity_stub::InBlock<BlockShuffle<T, X, Y, Z, ARCH>, parity_neighbours::Ends<T, X, Y, Z>> {
  static constexpr int ALL = X * Y * Z;

 public:
  using parity_stub::InBlock<BlockShuffle, parity_neighbours::Ends<T, X, Y, Z>>::InBlock;
  __device__ void Offset(T item, T& result, int distance = 1) {
    const int from = static_cast<int>(RowMajorTid(X, Y, Z)) + distance;
    this->storage_.put(item, item);
    if (from >= 0 && from < ALL) result = this->storage_.first(from);
  }
  __device__ void Rotate(T item, T& result, unsigned int distance = 1) {
    this->storage_.put(item, item);
    result = this->storage_.first((RowMajorTid(X, Y, Z) + distance) % ALL);
  }
  template <int N> __device__ void Up(T (&items)[N], T (&results)[N]) {
    const int thread = RowMajorTid(X, Y, Z);
    this->storage_.put(items[0], items[N - 1]);
    for (int i = N - 1; i > 0; --i) results[i] = items[i - 1];
    if (thread > 0) results[0] = this->storage_.last(thread - 1);
  }
  template <int N> __device__ void Up(T (&items)[N], T (&results)[N], T& last) { Up(items, results); last = this->storage_.last(ALL - 1); }
  template <int N> __device__ void Down(T (&items)[N], T (&results)[N]) {
    const int thread = RowMajorTid(X, Y, Z);
    this->storage_.put(items[0], items[N - 1]);
    for (int i = 0; i < N - 1; ++i) results[i] = items[i + 1];
    if (thread < ALL - 1) results[N - 1] = this->storage_.first(thread + 1);
  }
  template <int N> __device__ void Down(T (&items)[N], T (&results)[N], T& first) { Down(items, results); first = this->storage_.first(0); }
};

// Warp primitives without shared memory.
enum WarpLoadAlgorithm { WARP_LOAD_DIRECT, WARP_LOAD_STRIPED, WARP_LOAD_VECTORIZE, WARP_LOAD_TRANSPOSE };
enum WarpStoreAlgorithm { WARP_STORE_DIRECT, WARP_STORE_STRIPED, WARP_STORE_VECTORIZE, WARP_STORE_TRANSPOSE };
template <typename T, int ITEMS_PER_THREAD, WarpLoadAlgorithm ALGORITHM = WARP_LOAD_DIRECT, int LOGICAL_WARP_THREADS = HIPCUB_DEVICE_WARP_THREADS, int = 1>
class WarpLoad : public parity_stub::WithoutStorage {
  using Place = std::conditional_t<ALGORITHM == WARP_LOAD_STRIPED, parity_places::Striped<LOGICAL_WARP_THREADS>, parity_places::Blocked>;

 public:
  using WithoutStorage::WithoutStorage;
  template <typename Iterator, typename... Valid>
  __device__ void Load(Iterator from, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::load<Place>(__lane_id() % LOGICAL_WARP_THREADS, from, items, valid...); }
};
template <typename T, int ITEMS_PER_THREAD, WarpStoreAlgorithm ALGORITHM = WARP_STORE_DIRECT, int LOGICAL_WARP_THREADS = HIPCUB_DEVICE_WARP_THREADS, int = 1>
class WarpStore : public parity_stub::WithoutStorage {
  using Place = std::conditional_t<ALGORITHM == WARP_STORE_STRIPED, parity_places::Striped<LOGICAL_WARP_THREADS>, parity_places::Blocked>;

 public:
  using WithoutStorage::WithoutStorage;
  template <typename Iterator, typename... Valid>
  __device__ void Store(Iterator to, T (&items)[ITEMS_PER_THREAD], Valid... valid) { parity_places::store<Place>(__lane_id() % LOGICAL_WARP_THREADS, to, items, valid...); }
};
namespace parity_warps {
// Collects the items whose ranks fall into this lane's places.
template <int LOGICAL_WARP_THREADS, class Place, typename T, typename Result, typename Rank, int N>
__device__ void scattered(const T (&items)[N], Result (&results)[N], const Rank (&ranks)[N]) {
  Result taken[N] = {};
  for (int lane = 0; lane < LOGICAL_WARP_THREADS; ++lane) {
    for (int j = 0; j < N; ++j) {
      const T item = parity_stub::at<LOGICAL_WARP_THREADS>(items[j], lane);
      const int rank = parity_stub::at<LOGICAL_WARP_THREADS>(static_cast<int>(ranks[j]), lane);
      for (int i = 0; i < N; ++i) if (Place::at(__lane_id() % LOGICAL_WARP_THREADS, i, N) == rank) taken[i] = item;
    }
  }
  for (int i = 0; i < N; ++i) results[i] = taken[i];
}
template <class Place, int N>
__device__ void places(int lane, int (&ranks)[N]) { for (int i = 0; i < N; ++i) ranks[i] = Place::at(lane, i, N); }
}  // namespace parity_warps
enum WarpExchangeAlgorithm { WARP_EXCHANGE_SMEM, WARP_EXCHANGE_SHUFFLE };
template <typename T, int ITEMS_PER_THREAD, int LOGICAL_WARP_THREADS = HIPCUB_DEVICE_WARP_THREADS, int = 1, WarpExchangeAlgorithm = WARP_EXCHANGE_SMEM>
class WarpExchange : public parity_stub::WithoutStorage {
  using Blocked = parity_places::Blocked;
  using Striped = parity_places::Striped<LOGICAL_WARP_THREADS>;

 public:
  using WithoutStorage::WithoutStorage;
  template <typename Result>
  __device__ void BlockedToStriped(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD]) { move<Blocked, Striped>(items, results); }
  template <typename Result>
  __device__ void StripedToBlocked(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD]) { move<Striped, Blocked>(items, results); }
  template <typename Rank>
  __device__ void ScatterToStriped(T (&items)[ITEMS_PER_THREAD], Rank (&ranks)[ITEMS_PER_THREAD]) { parity_warps::scattered<LOGICAL_WARP_THREADS, Striped>(items, items, ranks); }
  template <typename Result, typename Rank>
  __device__ void ScatterToStriped(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD], Rank (&ranks)[ITEMS_PER_THREAD]) { parity_warps::scattered<LOGICAL_WARP_THREADS, Striped>(items, results, ranks); }

 private:
  template <class From, class To, typename Result>
  __device__ void move(const T (&items)[ITEMS_PER_THREAD], Result (&results)[ITEMS_PER_THREAD]) {
    int ranks[ITEMS_PER_THREAD];
    parity_warps::places<From>(__lane_id() % LOGICAL_WARP_THREADS, ranks);
    parity_warps::scattered<LOGICAL_WARP_THREADS, To>(items, results, ranks);
  }
};
template <typename Key, int ITEMS_PER_THREAD, int LOGICAL_WARP_THREADS = HIPCUB_DEVICE_WARP_THREADS, typename Value = NullType, int = 1>
class WarpMergeSort : public parity_stub::WithoutStorage {
 public:
  using WithoutStorage::WithoutStorage;
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Less less) { Value none[ITEMS_PER_THREAD]; Sort(keys, none, less); }
  template <typename Less> __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Value (&values)[ITEMS_PER_THREAD], Less less) {
    const int mine = __lane_id() % LOGICAL_WARP_THREADS;
    int ranks[ITEMS_PER_THREAD] = {};
    for (int lane = 0; lane < LOGICAL_WARP_THREADS; ++lane) {
      for (int j = 0; j < ITEMS_PER_THREAD; ++j) {
        const Key other = parity_stub::at<LOGICAL_WARP_THREADS>(keys[j], lane);
        for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
          const bool is_earlier = lane < mine || (lane == mine && j < i);
          ranks[i] += less(other, keys[i]) || (is_earlier && !less(keys[i], other));
        }
      }
    }
    parity_warps::scattered<LOGICAL_WARP_THREADS, parity_places::Blocked>(keys, keys, ranks);
    if constexpr (!std::is_same_v<Value, NullType>) parity_warps::scattered<LOGICAL_WARP_THREADS, parity_places::Blocked>(values, values, ranks);
  }
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Less less, int valid, Key last) { Value none[ITEMS_PER_THREAD]; Sort(keys, none, less, valid, last); }
  template <typename Less>
  __device__ void Sort(Key (&keys)[ITEMS_PER_THREAD], Value (&values)[ITEMS_PER_THREAD], Less less, int valid, Key last) {
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) if (static_cast<int>(__lane_id() % LOGICAL_WARP_THREADS) * ITEMS_PER_THREAD + i >= valid) keys[i] = last;
    Sort(keys, values, less);
  }
  template <typename... Given> __device__ void StableSort(Given&&... given) { Sort(given...); }
};

template <int N, typename T, typename Op> __device__ T ThreadReduce(T (&items)[N], Op op) { return parity_stub::reduced(items, op); }
template <int N, typename T, typename Op> __device__ T ThreadReduce(T (&items)[N], Op op, T total) {
  for (int i = 0; i < N; ++i) total = op(total, items[i]);
  return total;
}
namespace internal { using hipcub::ThreadReduce; }

enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
// Cache hints do not change values.
template <CacheLoadModifier, typename Iterator> __device__ auto ThreadLoad(Iterator from) { return *from; }
template <CacheStoreModifier, typename Iterator, typename T> __device__ void ThreadStore(Iterator to, T value) { *to = value; }
template <CacheLoadModifier, typename T, typename Offset = ptrdiff_t> struct CacheModifiedInputIterator {
  using value_type = T; using difference_type = Offset; using reference = T; using pointer = const T*; using iterator_category = std::random_access_iterator_tag;
  const T* pointer_;
  __host__ __device__ CacheModifiedInputIterator(const T* pointer) : pointer_(pointer) {}
  __host__ __device__ T operator[](Offset i) const { return pointer_[i]; }
  __host__ __device__ T operator*() const { return *pointer_; }
};
template <typename T, typename Offset = ptrdiff_t> struct CountingInputIterator {
  using value_type = T; using difference_type = Offset; using reference = T; using pointer = const T*; using iterator_category = std::random_access_iterator_tag;
  T value;
  __host__ __device__ CountingInputIterator(T value) : value(value) {}
  __host__ __device__ T operator[](Offset i) const { return value + i; }
  __host__ __device__ T operator*() const { return value; }
  __host__ __device__ CountingInputIterator operator+(Offset i) const { return CountingInputIterator(value + i); }
};
template <typename T, typename Op, typename Iterator, typename Offset = ptrdiff_t> struct TransformInputIterator {
  using value_type = T; using difference_type = Offset; using reference = T; using pointer = const T*; using iterator_category = std::random_access_iterator_tag;
  Iterator from;
  Op op;
  __host__ __device__ TransformInputIterator(Iterator from, Op op) : from(from), op(op) {}
  __host__ __device__ T operator[](Offset i) const { return op(from[i]); }
  __host__ __device__ T operator*() const { return op(*from); }
  __host__ __device__ TransformInputIterator operator+(Offset i) const { return TransformInputIterator(from + i, op); }
};
template <class...> struct ConstantInputIterator { template <class... A> ConstantInputIterator(A&&...) {} };
template <class...> struct ArgIndexInputIterator { template <class... A> ArgIndexInputIterator(A&&...) {} };
struct DiscardOutputIterator { template <class... A> DiscardOutputIterator(A&&...) {} };

template <typename T>
struct DoubleBuffer { T* d_buffers[2]; int selector; DoubleBuffer(); DoubleBuffer(T*, T*); T* Current(); T* Alternate(); };
struct CachingDeviceAllocator { template <class... A> CachingDeviceAllocator(A&&...); template <class... A> hipError_t DeviceAllocate(A&&...); template <class... A> hipError_t DeviceFree(A&&...); hipError_t FreeAllCached(); };
#define PARITY_STATIC(name) template <class... A> static hipError_t name(A&&...) { __builtin_unreachable(); }
struct DeviceReduce { PARITY_STATIC(Reduce) PARITY_STATIC(Sum) PARITY_STATIC(Min) PARITY_STATIC(Max) PARITY_STATIC(ArgMin) PARITY_STATIC(ArgMax) PARITY_STATIC(ReduceByKey) PARITY_STATIC(TransformReduce) };
struct DeviceSegmentedReduce : DeviceReduce {};
struct DeviceScan { PARITY_STATIC(InclusiveSum) PARITY_STATIC(ExclusiveSum) PARITY_STATIC(InclusiveScan) PARITY_STATIC(ExclusiveScan) PARITY_STATIC(ExclusiveSumByKey) PARITY_STATIC(InclusiveSumByKey) PARITY_STATIC(InclusiveScanByKey) PARITY_STATIC(ExclusiveScanByKey) };
struct DeviceRadixSort { PARITY_STATIC(SortKeys) PARITY_STATIC(SortKeysDescending) PARITY_STATIC(SortPairs) PARITY_STATIC(SortPairsDescending) };
struct DeviceSegmentedRadixSort : DeviceRadixSort {};
struct DeviceSegmentedSort : DeviceRadixSort { PARITY_STATIC(StableSortPairs) PARITY_STATIC(StableSortKeys) };
struct DeviceMergeSort : DeviceSegmentedSort {};
struct DeviceSelect { PARITY_STATIC(Flagged) PARITY_STATIC(If) PARITY_STATIC(Unique) PARITY_STATIC(UniqueByKey) };
struct DevicePartition : DeviceSelect {};
struct DeviceRunLengthEncode { PARITY_STATIC(Encode) PARITY_STATIC(NonTrivialRuns) };
struct DeviceHistogram { PARITY_STATIC(HistogramEven) PARITY_STATIC(HistogramRange) PARITY_STATIC(MultiHistogramEven) };
struct DeviceMemcpy { PARITY_STATIC(Batched) };
struct DeviceCopy { PARITY_STATIC(Batched) };
struct DeviceAdjacentDifference { PARITY_STATIC(SubtractLeftCopy) PARITY_STATIC(SubtractRightCopy) PARITY_STATIC(SubtractLeft) };
hipError_t SmVersion(int&, int = 0);
hipError_t PtxVersion(int&);
struct DeviceFor { PARITY_STATIC(Bulk) PARITY_STATIC(ForEach) };
#undef PARITY_STATIC
}  // namespace hipcub

namespace cub = hipcub;
PARITY_WRAPPED_END
