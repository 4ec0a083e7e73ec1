// mshadow, MXNet's tensors, for kernels and the code that launches them: shapes, tensors as pointers, launch constants
// and checks, switches over types. Written from its documented interface. Expressions over whole tensors, which run on
// the host, are not included.
#pragma once

#include <cstdint>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <parity/logging.h>
#include <type_traits>

#define MSHADOW_FORCE_INLINE inline __attribute__((always_inline))
#define MSHADOW_XINLINE __host__ __device__ inline __attribute__((always_inline))
#define MSHADOW_CINLINE inline
#define MSHADOW_CUDA_CALL(call) (void)(call)
#define MSHADOW_CUDA_POST_KERNEL_CHECK(kernel) (void)hipPeekAtLastError()
#define MSHADOW_DEFAULT_DTYPE = ::mshadow::default_real_t
#define MSHADOW_USE_CUDA 1

namespace mshadow {
typedef int32_t index_t;
typedef float default_real_t;
typedef float real_t;
struct cpu { static constexpr bool kDevCPU = true; static constexpr int kDevMask = 1; };
struct gpu { static constexpr bool kDevCPU = false; static constexpr int kDevMask = 2; };
enum TypeFlag { kFloat32, kFloat64, kFloat16, kUint8, kInt32, kInt8, kInt64 };
enum LayoutFlag { kNCHW, kNHWC, kCHWN, kNCDHW = 1 << 5, kNDHWC, kCDHWN };
namespace half {
// Computes as a float; half_ holds the bits.
struct half_t {
  uint16_t half_;
  half_t() = default;
  MSHADOW_XINLINE half_t(__half value) : half_(__half_as_ushort(value)) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
  MSHADOW_XINLINE half_t(T value) : half_(__half_as_ushort(__float2half(float(value)))) {}
  MSHADOW_XINLINE operator float() const { return __half2float(__ushort_as_half(half_)); }
  MSHADOW_XINLINE half_t& operator+=(float other) { return *this = float(*this) + other; }
  MSHADOW_XINLINE half_t& operator-=(float other) { return *this = float(*this) - other; }
  MSHADOW_XINLINE half_t& operator*=(float other) { return *this = float(*this) * other; }
  MSHADOW_XINLINE half_t& operator/=(float other) { return *this = float(*this) / other; }
};
}  // namespace half
template <typename T> struct DataType;
#define PARITY_FLAG(T, flag) template <> struct DataType<T> { static constexpr int kFlag = flag; };
PARITY_FLAG(float, kFloat32) PARITY_FLAG(double, kFloat64) PARITY_FLAG(half::half_t, kFloat16) PARITY_FLAG(uint8_t, kUint8)
PARITY_FLAG(int8_t, kInt8) PARITY_FLAG(int32_t, kInt32) PARITY_FLAG(int64_t, kInt64)
#undef PARITY_FLAG

template <int N> struct Shape {
  static constexpr int kDimension = N, kSubdim = N - 1;
  index_t shape_[N];
  MSHADOW_XINLINE index_t& operator[](int i) { return shape_[i]; }
  MSHADOW_XINLINE const index_t& operator[](int i) const { return shape_[i]; }
  MSHADOW_XINLINE bool operator==(const Shape& other) const {
    for (int i = 0; i < N; ++i) if (shape_[i] != other.shape_[i]) return false;
    return true;
  }
  MSHADOW_XINLINE bool operator!=(const Shape& other) const { return !(*this == other); }
  MSHADOW_XINLINE size_t ProdShape(int first, int end) const {
    size_t product = 1;
    for (int i = first; i < end; ++i) product *= shape_[i];
    return product;
  }
  MSHADOW_XINLINE size_t Size() const { return ProdShape(0, N); }
  MSHADOW_XINLINE Shape<(N > 1 ? N - 1 : 1)> SubShape() const {
    Shape<(N > 1 ? N - 1 : 1)> sub;
    for (int i = 1; i < N; ++i) sub[i - 1] = shape_[i];
    return sub;
  }
  MSHADOW_XINLINE Shape<1> FlatTo1D() const { return Shape<1>{{index_t(Size())}}; }
  MSHADOW_XINLINE Shape<2> FlatTo2D() const { return Shape<2>{{index_t(ProdShape(0, N - 1)), shape_[N - 1]}}; }
};
MSHADOW_XINLINE Shape<1> Shape1(index_t a) { return {{a}}; }
MSHADOW_XINLINE Shape<2> Shape2(index_t a, index_t b) { return {{a, b}}; }
MSHADOW_XINLINE Shape<3> Shape3(index_t a, index_t b, index_t c) { return {{a, b, c}}; }
MSHADOW_XINLINE Shape<4> Shape4(index_t a, index_t b, index_t c, index_t d) { return {{a, b, c, d}}; }
MSHADOW_XINLINE Shape<5> Shape5(index_t a, index_t b, index_t c, index_t d, index_t e) { return {{a, b, c, d, e}}; }

template <typename Device> struct Stream {
  hipStream_t stream_;
  static hipStream_t GetStream(Stream* stream) { return stream ? stream->stream_ : nullptr; }
  void Wait();
};

// Rows are stride_ elements apart; the other dimensions are contiguous.
template <typename Device, int N, typename DType = default_real_t> struct Tensor {
  static constexpr int kSubdim = N - 1;
  DType* dptr_ = nullptr;
  Shape<N> shape_{};
  index_t stride_ = 0;
  Stream<Device>* stream_ = nullptr;
  Tensor() = default;
  MSHADOW_XINLINE Tensor(DType* data, const Shape<N>& shape, Stream<Device>* stream = nullptr)
      : dptr_(data), shape_(shape), stride_(shape[N - 1]), stream_(stream) {}
  MSHADOW_XINLINE Tensor(DType* data, const Shape<N>& shape, index_t stride, Stream<Device>* stream)
      : dptr_(data), shape_(shape), stride_(stride), stream_(stream) {}
  MSHADOW_XINLINE index_t size(int i) const { return shape_[i]; }
  MSHADOW_XINLINE size_t MSize() const { return N == 1 ? shape_[0] : shape_.ProdShape(0, N - 1) * stride_; }
  MSHADOW_XINLINE bool CheckContiguous() const { return N == 1 || shape_[N - 1] == stride_; }
  MSHADOW_XINLINE Tensor<Device, 2, DType> FlatTo2D() const { return {dptr_, shape_.FlatTo2D(), stride_, stream_}; }
  MSHADOW_XINLINE decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1) return static_cast<DType&>(dptr_[i]);
    else return Tensor<Device, N - 1, DType>(dptr_ + shape_.ProdShape(1, N - 1) * stride_ * i, shape_.SubShape(), stride_, stream_);
  }
};

namespace cuda {
constexpr int kMemUnitBits = 5, kMemUnit = 32, kMemUnitMask = 31, kBaseThreadBits = 8, kBaseThreadNum = 256;
constexpr int kMaxThreadsPerBlock = 1024, kMaxGridNum = 65535, kMaxGridDim = 65535, kBaseGridNum = 1024;
inline void CheckLaunchParam(dim3, dim3, const char* = "") {}
}  // namespace cuda
namespace expr { }
namespace op {
struct identity { template <class T> MSHADOW_XINLINE static T Map(T a) { return a; } };
#define PARITY_OPERATION(name, op) struct name { template <class T> MSHADOW_XINLINE static T Map(T a, T b) { return a op b; } };
PARITY_OPERATION(plus, +) PARITY_OPERATION(minus, -) PARITY_OPERATION(mul, *) PARITY_OPERATION(div, /)
#undef PARITY_OPERATION
}  // namespace op
namespace red { } namespace sv { }
}  // namespace mshadow

#define PARITY_TYPE_CASE(flag, type, name, ...) \
  case mshadow::flag: { typedef type name; {__VA_ARGS__} } break;
#define PARITY_FLOAT_CASES(name, ...) \
  PARITY_TYPE_CASE(kFloat32, float, name, __VA_ARGS__) PARITY_TYPE_CASE(kFloat64, double, name, __VA_ARGS__)
#define PARITY_REAL_CASES(name, ...) \
  PARITY_FLOAT_CASES(name, __VA_ARGS__) PARITY_TYPE_CASE(kFloat16, mshadow::half::half_t, name, __VA_ARGS__)
#define PARITY_ALL_CASES(name, ...)                                                                             \
  PARITY_REAL_CASES(name, __VA_ARGS__) PARITY_TYPE_CASE(kUint8, uint8_t, name, __VA_ARGS__)                     \
  PARITY_TYPE_CASE(kInt8, int8_t, name, __VA_ARGS__) PARITY_TYPE_CASE(kInt32, int32_t, name, __VA_ARGS__)       \
  PARITY_TYPE_CASE(kInt64, int64_t, name, __VA_ARGS__)
#define MSHADOW_SGL_DBL_TYPE_SWITCH(type, name, ...) switch (type) { PARITY_FLOAT_CASES(name, __VA_ARGS__) }
#define MSHADOW_REAL_TYPE_SWITCH(type, name, ...) switch (type) { PARITY_REAL_CASES(name, __VA_ARGS__) }
#define MSHADOW_TYPE_SWITCH(type, name, ...) switch (type) { PARITY_ALL_CASES(name, __VA_ARGS__) }
#define MSHADOW_IDX_TYPE_SWITCH MSHADOW_TYPE_SWITCH
