// TensorFlow, for any of its headers: number types, grid loops, atomic operations and ldg for kernels of custom
// operations, and the code that launches them. Written from TensorFlow's documented interface. Tensors and host kernels
// are declared where launches need them.
#pragma once

#include <cstdint>
#include <functional>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <parity/compat/atomics_half.h>
#include <parity/eigen.h>
#include <string>
#include <type_traits>
#include <vector>

namespace Eigen {
using half = __half;
using bfloat16 = __hip_bfloat16;
struct ThreadPoolDevice {};
struct GpuDevice {
  hipStream_t stream() const;
  int getNumGpuMultiProcessors() const;
  int maxGpuThreadsPerBlock() const;
  int maxGpuThreadsPerMultiProcessor() const;
};
}  // namespace Eigen

namespace tsl {}
namespace tensorflow {
using namespace tsl;
using int8 = int8_t; using int16 = int16_t; using int32 = int32_t; using int64 = int64_t;
using uint8 = uint8_t; using uint16 = uint16_t; using uint32 = uint32_t; using uint64 = uint64_t;
using bfloat16 = Eigen::bfloat16;
using std::string;
using gpuStream_t = hipStream_t; using gpuError_t = hipError_t; using cudaStream_t = hipStream_t;

template <typename T> struct FlatMap {
  T* data() const; int64 size() const; int64 dimension(int) const;
  template <class... Indices> T& operator()(Indices...) const;
};
template <typename T, int dims = 1, typename Index = int64> struct TTypes {
  using Flat = FlatMap<T>; using ConstFlat = FlatMap<const T>; using UnalignedFlat = FlatMap<T>; using UnalignedConstFlat = FlatMap<const T>;
  using Tensor = FlatMap<T>; using ConstTensor = FlatMap<const T>; using Matrix = FlatMap<T>; using ConstMatrix = FlatMap<const T>;
  using Vec = FlatMap<T>; using ConstVec = FlatMap<const T>; using Scalar = FlatMap<T>; using ConstScalar = FlatMap<const T>;
};
struct TensorShape { TensorShape(); TensorShape(std::initializer_list<int64>); int dims() const; int64 dim_size(int) const; int64 num_elements() const; void AddDim(int64); };
class Tensor {
 public:
  template <typename T> FlatMap<T> flat() const; template <typename T> FlatMap<T> scalar() const; template <typename T> FlatMap<T> vec() const;
  template <typename T> FlatMap<T> matrix() const; template <typename T, int dims> FlatMap<T> tensor() const;
  int64 NumElements() const; int dims() const; int64 dim_size(int) const; const TensorShape& shape() const;
};
enum DataType { DT_INVALID, DT_FLOAT, DT_DOUBLE, DT_INT32, DT_UINT8, DT_INT16, DT_INT8, DT_STRING, DT_COMPLEX64, DT_INT64, DT_BOOL, DT_BFLOAT16 = 14, DT_COMPLEX128 = 18, DT_HALF };
template <typename T> struct DataTypeToEnum { static const DataType value; static DataType v(); };
enum TensorFormat { FORMAT_NHWC, FORMAT_NCHW, FORMAT_NCHW_VECT_C, FORMAT_NHWC_VECT_W, FORMAT_HWNC, FORMAT_HWCN };
enum Padding { VALID = 1, SAME = 2, EXPLICIT = 3 };
bool FormatFromString(const string&, TensorFormat*); string ToString(TensorFormat);
template <class Shape> int64 GetTensorDim(const Shape&, TensorFormat, char); int GetTensorDimIndex(TensorFormat, char, int = 4);
struct Status { Status(); static Status OK(); bool ok() const; };
Status OkStatus();
namespace errors {
#define PARITY_ERROR(name) template <class... Args> Status name(Args&&...);
PARITY_ERROR(InvalidArgument) PARITY_ERROR(Internal) PARITY_ERROR(Unimplemented) PARITY_ERROR(FailedPrecondition) PARITY_ERROR(OutOfRange) PARITY_ERROR(ResourceExhausted)
#undef PARITY_ERROR
}  // namespace errors
struct OpKernelContext {
  const Tensor& input(int); int num_inputs() const; int num_outputs() const; const Eigen::GpuDevice& eigen_gpu_device() const;
  template <class Device> const Device& eigen_device() const;
  template <class... Args> Status allocate_output(Args&&...); template <class... Args> Status allocate_temp(Args&&...);
};
struct OpKernelConstruction { template <class... Args> Status GetAttr(Args&&...); };
struct OpKernel { explicit OpKernel(OpKernelConstruction*); virtual void Compute(OpKernelContext*); };
struct AsyncOpKernel : OpKernel { using OpKernel::OpKernel; using DoneCallback = std::function<void()>; virtual void ComputeAsync(OpKernelContext*, DoneCallback); };
const gpuStream_t& GetGpuStream(OpKernelContext*);

// Launches with as many blocks as the elements need.
struct GpuLaunchConfig { int virtual_thread_count = -1; int thread_per_block = -1; int block_count = -1; };
struct Gpu2DLaunchConfig { dim3 virtual_thread_count; dim3 thread_per_block; dim3 block_count; };
using Gpu3DLaunchConfig = Gpu2DLaunchConfig; using CudaLaunchConfig = GpuLaunchConfig; using Cuda2DLaunchConfig = Gpu2DLaunchConfig; using Cuda3DLaunchConfig = Gpu2DLaunchConfig;
#define PARITY_CONFIG(Config, name) template <class... Args> Config name(Args&&...);
PARITY_CONFIG(GpuLaunchConfig, GetGpuLaunchConfig) PARITY_CONFIG(GpuLaunchConfig, GetGpuLaunchConfigFixedBlockSize)
PARITY_CONFIG(GpuLaunchConfig, GetCudaLaunchConfig) PARITY_CONFIG(Gpu2DLaunchConfig, GetCuda2DLaunchConfig)
PARITY_CONFIG(Gpu2DLaunchConfig, GetGpu2DLaunchConfig) PARITY_CONFIG(Gpu2DLaunchConfig, GetGpu3DLaunchConfig)
#undef PARITY_CONFIG
#define PARITY_LAUNCH(name)                                                                                                      \
  template <typename... Parameters, typename... Args>                                                                            \
  Status name(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, size_t bytes, hipStream_t stream, Args... args) {        \
    kernel<<<blocks, threads, bytes, stream>>>(args...);                                                                         \
    return Status();                                                                                                             \
  }
PARITY_LAUNCH(GpuLaunchKernel) PARITY_LAUNCH(CudaLaunchKernel)
#undef PARITY_LAUNCH

// Grid-stride loops over all elements.
namespace parity_stub {
template <typename T> struct Strided {
  struct Iterator {
    T at, step;
    __device__ T operator*() const { return at; }
    __device__ Iterator& operator++() { at += step; return *this; }
    __device__ bool operator!=(const Iterator& end) const { return at < end.at; }
  };
  T first, step, count;
  __device__ Iterator begin() const { return {first, step}; }
  __device__ Iterator end() const { return {count, step}; }
};
}  // namespace parity_stub
#define PARITY_RANGE(name, axis)                                                                       \
  template <typename T>                                                                                \
  __device__ inline parity_stub::Strided<T> name(T count) {                                            \
    return {T(blockIdx.axis * blockDim.axis + threadIdx.axis), T(gridDim.axis * blockDim.axis), count}; \
  }
PARITY_RANGE(GpuGridRangeX, x) PARITY_RANGE(GpuGridRangeY, y) PARITY_RANGE(GpuGridRangeZ, z)
PARITY_RANGE(CudaGridRangeX, x) PARITY_RANGE(CudaGridRangeY, y) PARITY_RANGE(CudaGridRangeZ, z)
#undef PARITY_RANGE
#define GPU_1D_KERNEL_LOOP(i, n) for (int i : ::tensorflow::GpuGridRangeX<int>(n))
#define CUDA_1D_KERNEL_LOOP(i, n) GPU_1D_KERNEL_LOOP(i, n)
#define GPU_AXIS_KERNEL_LOOP(i, n, axis) for (int i : ::tensorflow::GpuGridRange##axis<int>(n))
#define CUDA_AXIS_KERNEL_LOOP(i, n, axis) GPU_AXIS_KERNEL_LOOP(i, n, axis)

template <typename T> __host__ __device__ inline T ldg(const T* address) { return *address; }
template <typename T> __host__ __device__ inline T GpuLdg(const T* address) { return *address; }
template <typename T, typename U>
__host__ __device__ inline bool FastBoundsCheck(T index, U limit) { return static_cast<uint64>(index) < static_cast<uint64>(limit); }
template <typename T> __global__ void SetZero(const int count, T* out) { GPU_1D_KERNEL_LOOP(i, count) out[i] = T(0); }
template <typename T> __global__ void SetToValue(const int count, T* out, T value) { GPU_1D_KERNEL_LOOP(i, count) out[i] = value; }

// Atomic operations. Those without hardware support use a compare-and-swap loop.
#define PARITY_ATOMIC(name, expression)                                                              \
  template <typename T, typename U>                                                                  \
  __device__ inline T Gpu##name(T* address, U given) {                                               \
    T seen = *address, value = T(given), next;                                                       \
    do next = T(expression);                                                                         \
    while (!__hip_atomic_compare_exchange_strong(address, &seen, next, __ATOMIC_RELAXED,            \
                                                 __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));       \
    return seen;                                                                                     \
  }                                                                                                  \
  template <typename T, typename U>                                                                  \
  __device__ inline T Cuda##name(T* address, U given) { return Gpu##name(address, given); }
PARITY_ATOMIC(AtomicSub, seen - value)
PARITY_ATOMIC(AtomicMul, seen * value)
PARITY_ATOMIC(AtomicDiv, seen / value)
PARITY_ATOMIC(AtomicMax, seen < value ? value : seen)
PARITY_ATOMIC(AtomicMin, value < seen ? value : seen)
#undef PARITY_ATOMIC
template <typename T, typename U> __device__ inline T GpuAtomicAdd(T* address, U value) {
  if constexpr (std::is_integral_v<T>) return __hip_atomic_fetch_add(address, T(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  else return atomicAdd(address, T(value));
}
template <typename T, typename U> __device__ inline T CudaAtomicAdd(T* address, U value) { return GpuAtomicAdd(address, value); }

// Arrays passed to kernels: inside the structure if short, else behind a pointer.
#define PARITY_DEVICE_ARRAY(name)                                                                     \
  template <typename T, int MAX = 8>                                                                  \
  struct name##DeviceArrayStruct {                                                                    \
    int32 size;                                                                                       \
    T inline_values[MAX];                                                                             \
    T* out_of_line_values = nullptr;                                                                  \
  };                                                                                                  \
  template <typename T, int MAX>                                                                      \
  __device__ inline T* Get##name##DeviceArrayOnDevice(name##DeviceArrayStruct<T, MAX>* data) {        \
    return data->size <= MAX ? data->inline_values : data->out_of_line_values;                        \
  }                                                                                                   \
  template <typename T, int MAX = 8>                                                                  \
  struct name##DeviceArrayOnHost {                                                                    \
    name##DeviceArrayOnHost(OpKernelContext*, int32);                                                 \
    Status Init();                                                                                    \
    Status Finalize();                                                                                \
    void Set(int64_t, T);                                                                             \
    const name##DeviceArrayStruct<T, MAX>& data() const;                                              \
  };
PARITY_DEVICE_ARRAY(Gpu) PARITY_DEVICE_ARRAY(Cuda)
#undef PARITY_DEVICE_ARRAY
}  // namespace tensorflow

#define TF_CHECK_OK(status) ((void)(status))
#define TF_RETURN_IF_ERROR(...) do { if (const auto status = (__VA_ARGS__); !status.ok()) return status; } while (0)
#define OP_REQUIRES(context, condition, ...) do { if (!(condition)) return; } while (0)
#define OP_REQUIRES_OK(context, ...) do { if (!(__VA_ARGS__).ok()) return; } while (0)
#define TF_CALL_float(m) m(float)
#define TF_CALL_double(m) m(double)
#define TF_CALL_half(m) m(Eigen::half)
#define TF_CALL_bfloat16(m) m(::tensorflow::bfloat16)
#define TF_CALL_int8(m) m(::tensorflow::int8)
#define TF_CALL_int16(m) m(::tensorflow::int16)
#define TF_CALL_int32(m) m(::tensorflow::int32)
#define TF_CALL_int64(m) m(::tensorflow::int64)
#define TF_CALL_uint8(m) m(::tensorflow::uint8)
#define TF_CALL_uint16(m) m(::tensorflow::uint16)
#define TF_CALL_uint32(m) m(::tensorflow::uint32)
#define TF_CALL_uint64(m) m(::tensorflow::uint64)
#define TF_CALL_bool(m) m(bool)
#define TF_CALL_GPU_NUMBER_TYPES_NO_HALF(m) TF_CALL_float(m) TF_CALL_double(m)
#define TF_CALL_GPU_NUMBER_TYPES(m) TF_CALL_half(m) TF_CALL_GPU_NUMBER_TYPES_NO_HALF(m)
#define TF_CALL_FLOAT_TYPES(m) TF_CALL_half(m) TF_CALL_bfloat16(m) TF_CALL_float(m) TF_CALL_double(m)
