// ATen/cuda, c10/cuda and THC: streams, guards and devices on the host, atomic operations and shuffles on the device.
#pragma once

#include "tensor.h"

// Library handles that host code passes around.
#include "../libraries.h"

namespace c10::cuda {
class CUDAStream {
 public:
  CUDAStream(hipStream_t);
  operator hipStream_t() const; hipStream_t stream() const; Device device() const; DeviceIndex device_index() const;
  void synchronize() const; bool query() const; int priority() const; int64_t id() const;
  bool operator==(const CUDAStream&) const; bool operator!=(const CUDAStream&) const;
};
CUDAStream getCurrentCUDAStream(DeviceIndex = -1);
CUDAStream getDefaultCUDAStream(DeviceIndex = -1);
CUDAStream getStreamFromPool(bool = false, DeviceIndex = -1);
CUDAStream getStreamFromExternal(hipStream_t, DeviceIndex);
void setCurrentCUDAStream(CUDAStream);
struct CUDAGuard { explicit CUDAGuard(Device); explicit CUDAGuard(DeviceIndex); void set_index(DeviceIndex); void set_device(Device); };
struct OptionalCUDAGuard { template <class... Args> OptionalCUDAGuard(Args&&...); void set_index(DeviceIndex); void set_device(Device); };
struct CUDAStreamGuard { CUDAStreamGuard(CUDAStream); };
struct CUDAMultiStreamGuard { CUDAMultiStreamGuard(ArrayRef<CUDAStream>); };
DeviceIndex current_device(); DeviceIndex MaybeSetDevice(DeviceIndex); DeviceIndex ExchangeDevice(DeviceIndex); void SetDevice(DeviceIndex); void GetDevice(DeviceIndex*); DeviceIndex device_count(); void set_device(DeviceIndex); void device_synchronize();
const char* get_cuda_check_suffix(); bool is_available();
namespace CUDACachingAllocator { Allocator* get(); void* raw_alloc(size_t); void raw_delete(void*); void emptyCache(); template <class... Args> void recordStream(Args&&...); }
}  // namespace c10::cuda

namespace at {
struct PhiloxCudaState { PhiloxCudaState() = default; PhiloxCudaState(uint64_t, uint64_t); union Payload { uint64_t val; int64_t* ptr; }; Payload seed_; Payload offset_; uint32_t offset_intragraph_ = 0; bool captured_ = false; };
std::optional<Device> device_of(const Tensor&);
std::optional<Device> device_of(const std::optional<Tensor>&);
std::optional<Device> device_of(ArrayRef<Tensor>);
struct CUDAGeneratorImpl { PhiloxCudaState philox_cuda_state(uint64_t); std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t); std::mutex mutex_; };
template <typename T> T* get_generator_or_default(const std::optional<Generator>&, const Generator&);
template <typename T> T* check_generator(std::optional<Generator>);

namespace cuda {
using namespace c10::cuda;
struct CUDAEvent { CUDAEvent(unsigned = 0); void record(); void record(const CUDAStream&); void block(const CUDAStream&); void synchronize(); bool query(); float elapsed_time(const CUDAEvent&); };
hipDeviceProp_t* getCurrentDeviceProperties();
hipDeviceProp_t* getDeviceProperties(int64_t);
hipblasHandle_t getCurrentCUDABlasHandle();
hipblasHandle_t getCurrentHIPBlasHandle();
Allocator* getCUDADeviceAllocator();
int warp_size();
bool is_available();
template <typename T> constexpr C10_HOST_DEVICE T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
template <class... Args> bool getApplyGrid(Args&&...);
dim3 getApplyBlock();
namespace detail {
template <class... Args> bool canUse32BitIndexMath(Args&&...);
template <typename T, typename IndexType> TensorInfo<T, IndexType> getTensorInfo(const Tensor&);
const Generator& getDefaultCUDAGenerator(DeviceIndex = -1);
constexpr int CUDA_NUM_THREADS = 1024;
int GET_BLOCKS(int64_t, int64_t = CUDA_NUM_THREADS);
}  // namespace detail
namespace philox {
inline C10_HOST_DEVICE std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState state) {
  if (state.captured_) return {static_cast<uint64_t>(*state.seed_.ptr), static_cast<uint64_t>(*state.offset_.ptr + state.offset_intragraph_)};
  return {state.seed_.val, state.offset_.val};
}
}  // namespace philox
namespace blas { template <typename T, class... Args> void gemm(Args&&...); }
}  // namespace cuda

namespace hip { using namespace cuda; using HIPStream = CUDAStream; CUDAStream getCurrentHIPStream(DeviceIndex = -1); CUDAStream getCurrentHIPStreamMasqueradingAsCUDA(DeviceIndex = -1); using HIPGuard = CUDAGuard; using HIPGuardMasqueradingAsCUDA = CUDAGuard; using OptionalHIPGuardMasqueradingAsCUDA = OptionalCUDAGuard; }

namespace native {
using at::cuda::ATenCeilDiv;
using namespace at::parity_stub::functions;
template <class... Args> Tensor empty_cuda(Args&&...);
}
}  // namespace at
namespace c10::hip { using namespace c10::cuda; using HIPStream = CUDAStream; CUDAStream getCurrentHIPStream(DeviceIndex = -1); using HIPGuard = CUDAGuard; using OptionalHIPGuard = OptionalCUDAGuard; namespace HIPCachingAllocator = CUDACachingAllocator; }

struct THCState;
hipStream_t THCState_getCurrentStream(THCState*);
// Removed in PyTorch 1.11. The pack gives precedence to a source's replacements of the same name.
template <typename T, typename... Last> constexpr C10_HOST_DEVICE T THCCeilDiv(T a, T b, Last...) { return (a + b - 1) / b; }
template <typename T, typename... Last> constexpr C10_HOST_DEVICE T THCRoundUp(T a, T b, Last...) { return (a + b - 1) / b * b; }
extern THCState* state;

// The pack gives precedence to a source's overloads.
#define PARITY_SHUFFLE(T, NAME, Place)                                                                           \
  template <typename... Last>                                                                                    \
  inline C10_DEVICE T NAME(T value, Place place, int width = warpSize, Last...) {                                \
    return T(static_cast<unsigned short>(NAME(static_cast<int>(value.x), place, width)), T::from_bits());        \
  }
PARITY_SHUFFLE(c10::Half, __shfl_down, unsigned) PARITY_SHUFFLE(c10::Half, __shfl_xor, int)
PARITY_SHUFFLE(c10::BFloat16, __shfl_down, unsigned) PARITY_SHUFFLE(c10::BFloat16, __shfl_xor, int)
#undef PARITY_SHUFFLE
// Exchanges a complex number as two parts.
#define PARITY_SHUFFLE(NAME, function, Place)                                                                           \
  template <typename T>                                                                                                 \
  inline C10_DEVICE T NAME(T value, Place place, int width = warpSize, unsigned = ~0u) { return function(value, place, width); } \
  template <typename T>                                                                                                 \
  inline C10_DEVICE c10::complex<T> NAME(c10::complex<T> value, Place place, int width = warpSize, unsigned = ~0u) {    \
    return c10::complex<T>(NAME(value.real_, place, width), NAME(value.imag_, place, width));                           \
  }
PARITY_SHUFFLE(WARP_SHFL, __shfl, int) PARITY_SHUFFLE(WARP_SHFL_UP, __shfl_up, unsigned)
PARITY_SHUFFLE(WARP_SHFL_DOWN, __shfl_down, unsigned) PARITY_SHUFFLE(WARP_SHFL_XOR, __shfl_xor, int)
#undef PARITY_SHUFFLE
inline C10_DEVICE unsigned long long WARP_BALLOT(int predicate) { return __ballot(predicate); }
inline C10_DEVICE int WARP_ANY(int predicate) { return __any(predicate); }
inline C10_DEVICE void WARP_SYNC(unsigned = 0xffffffff) {}

// Computes offsets into several tensors from one linear index.
template <int NARGS, typename index_t = uint32_t, bool signed_strides = false> struct OffsetCalculator {
  using offset_type = at::detail::Array<index_t, NARGS < 1 ? 1 : NARGS>;
  OffsetCalculator(int, const int64_t*, const int64_t* const*, const int64_t* = nullptr);
  C10_HOST_DEVICE offset_type get(index_t linear_idx) const {
    offset_type offsets;
    for (int arg = 0; arg < NARGS; ++arg) offsets[arg] = 0;
    for (int dim = 0; dim < dims; ++dim) {
      const auto divmod = sizes_[dim].divmod(linear_idx);
      linear_idx = divmod.div;
      for (int arg = 0; arg < NARGS; ++arg) offsets[arg] += divmod.mod * strides_[dim][arg];
    }
    return offsets;
  }
  int dims;
  at::cuda::detail::IntDivider<index_t> sizes_[25];
  index_t strides_[25][NARGS < 1 ? 1 : NARGS];
};

// ATen/SparseTensorUtils.h
namespace at::sparse {
using SparseTensor = Tensor;
template <class... Args> Tensor flatten_indices(Args&&...); template <class... Args> SparseTensor new_with_dims_and_tensor_sparse(Args&&...); template <class... Args> void alias_into_sparse(Args&&...); Tensor coo_to_csr(const int64_t*, int64_t, int64_t);
}  // namespace at::sparse

// ATen/native/cuda/block_reduce.cuh: the first lane of each wavefront writes to LDS, and the first wavefront reads it.
namespace at::native::cuda_utils {
constexpr int kCUDABlockReduceNumThreads = 512;
constexpr int kCUDABlockReduceMaxThreads = C10_WARP_SIZE * C10_WARP_SIZE;

struct Block1D {
  static C10_DEVICE int Tid() { return threadIdx.x; }
  static C10_DEVICE int Warps() { return blockDim.x / C10_WARP_SIZE; }
};
struct Block2D {
  static C10_DEVICE int Tid() { return threadIdx.x + threadIdx.y * blockDim.x; }
  static C10_DEVICE int Warps() { return blockDim.x * blockDim.y / C10_WARP_SIZE; }
};

template <typename T, class ReduceOp> inline C10_DEVICE T WarpReduce(T value, const ReduceOp& op) {
  for (int distance = C10_WARP_SIZE / 2; distance > 0; distance /= 2) {
    value = op.combine(value, op.warp_shfl_down(value, distance));
  }
  return value;
}
template <typename T, class ReduceOp, class B = Block1D>
inline C10_DEVICE T BlockReduce(T value, const ReduceOp& op, const T& identity, T* shared) {
  const int lane = B::Tid() % C10_WARP_SIZE, wave = B::Tid() / C10_WARP_SIZE;
  value = WarpReduce(value, op);
  __syncthreads();
  if (lane == 0) shared[wave] = value;
  __syncthreads();
  value = B::Tid() < B::Warps() ? shared[lane] : identity;
  return wave == 0 ? WarpReduce(value, op) : value;
}

template <typename T> struct Sum {
  C10_DEVICE T combine(T a, T b) const { return a + b; }
  C10_DEVICE T warp_shfl_down(T value, int distance) const { return WARP_SHFL_DOWN(value, distance); }
};
template <typename T> struct Max {
  C10_DEVICE T combine(T a, T b) const { return a != a || a > b ? a : b; }
  C10_DEVICE T warp_shfl_down(T value, int distance) const { return WARP_SHFL_DOWN(value, distance); }
};
template <typename T> inline C10_DEVICE T WarpReduceSum(T value) { return WarpReduce(value, Sum<T>()); }
template <typename T> inline C10_DEVICE T WarpReduceMax(T value) { return WarpReduce(value, Max<T>()); }
template <typename T, typename B = Block1D>
inline C10_DEVICE T BlockReduceSum(T value, T* shared) { return BlockReduce<T, Sum<T>, B>(value, Sum<T>(), T(0), shared); }
template <typename T, typename B = Block1D>
inline C10_DEVICE T BlockReduceMax(T value, T* shared) { return BlockReduce<T, Max<T>, B>(value, Max<T>(), T(0), shared); }
}  // namespace at::native::cuda_utils

// ATen/native/cuda/MemoryAccess.cuh.
namespace at::native::memory {
template <typename T, int size> struct alignas(sizeof(T) * size) aligned_vector { T val[size]; };
template <int size, typename T> inline C10_DEVICE aligned_vector<T, size> load_vector(const T* base, uint32_t offset) {
  return reinterpret_cast<const aligned_vector<T, size>*>(base)[offset];
}
template <typename T> int can_vectorize_up_to(const char*);
}  // namespace at::native::memory
