// Tensors on the host. Kernels are only launched through this code, so everything is declared and nothing is defined.
// Members accept any arguments.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accessor.h"

namespace c10 {

template <typename T> class ArrayRef {
 public:
  constexpr ArrayRef(); constexpr ArrayRef(const T&); constexpr ArrayRef(const T*, size_t); constexpr ArrayRef(const T*, const T*);
  template <typename A> ArrayRef(const std::vector<T, A>&);
  template <size_t N> constexpr ArrayRef(const std::array<T, N>&);
  template <size_t N> constexpr ArrayRef(const T (&)[N]);
  constexpr ArrayRef(const std::initializer_list<T>&);
  const T* begin() const; const T* end() const; const T* data() const; size_t size() const; bool empty() const;
  const T& front() const; const T& back() const; const T& operator[](size_t) const; const T& at(size_t) const;
  ArrayRef slice(size_t, size_t) const; ArrayRef slice(size_t) const; bool equals(ArrayRef) const;
  std::vector<T> vec() const; operator std::vector<T>() const;
};
template <typename T> bool operator==(ArrayRef<T>, ArrayRef<T>);
template <typename T> bool operator!=(ArrayRef<T>, ArrayRef<T>);
template <class Stream, typename T> Stream& operator<<(Stream&, ArrayRef<T>);
using IntArrayRef = ArrayRef<int64_t>;
using IntList = ArrayRef<int64_t>;

template <typename T, unsigned N> struct SmallVector : std::vector<T> { using std::vector<T>::vector; };
using DimVector = SmallVector<int64_t, 5>;

template <typename T> using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
using nullopt_t = std::nullopt_t;
using string_view = std::string_view;
template <typename T> class OptionalArrayRef : public std::optional<ArrayRef<T>> { public: using std::optional<ArrayRef<T>>::optional; };
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
template <typename T> class intrusive_ptr {
 public:
  intrusive_ptr();
  template <class Other> intrusive_ptr(const Other&);
  operator bool() const;
  T* get() const;
  T* operator->() const;
  T& operator*() const;
};
struct intrusive_ptr_target {};
template <class... Args> std::string str(const Args&...);
template <typename T, typename... Args> T value_or_else(const std::optional<T>&, Args&&...);

struct SourceLocation { const char* function; const char* file; uint32_t line; };
class Error : public std::exception { public: Error(SourceLocation, std::string); Error(std::string, std::string = {}, const void* = nullptr); const char* what() const noexcept override; };
using IndexError = Error; using ValueError = Error; using TypeError = Error; using NotImplementedError = Error;

using DeviceIndex = int8_t;
enum class DeviceType : int8_t { CPU, CUDA, MKLDNN, OPENGL, OPENCL, IDEEP, HIP, FPGA, MAIA, XLA, Vulkan, Metal, XPU, MPS, Meta, COMPILE_TIME_MAX_DEVICE_TYPES };
std::string DeviceTypeName(DeviceType, bool lower_case = false);
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kHIP = DeviceType::HIP, kMeta = DeviceType::Meta;
struct Device {
  Device(DeviceType, DeviceIndex = -1);
  Device(const std::string&);
  bool is_cuda() const; bool is_cpu() const; bool has_index() const;
  DeviceIndex index() const; DeviceType type() const; std::string str() const;
  bool operator==(const Device&) const; bool operator!=(const Device&) const;
};
template <class Stream> Stream& operator<<(Stream&, const Device&);
enum class Layout : int8_t { Strided, Sparse, SparseCsr };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
enum class DispatchKey { CPU, CUDA, Autograd, AutogradCUDA, CompositeImplicitAutograd, Meta, Undefined };

class Scalar {
 public:
  Scalar();
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<T, double>>> Scalar(T);
  template <typename T> Scalar(complex<T>);
  template <typename T> T to() const;
  double toDouble() const; float toFloat() const; int toInt() const; int64_t toLong() const; bool toBool() const;
  bool isFloatingPoint() const; bool isIntegral(bool = false) const; ScalarType type() const;
};

struct SymInt { SymInt(int64_t = 0); operator int64_t() const; int64_t expect_int() const; };
using SymIntArrayRef = ArrayRef<SymInt>;

class TensorOptions;
struct TypeMeta {
  TypeMeta(); TypeMeta(ScalarType);
  ScalarType toScalarType() const; size_t itemsize() const; std::string_view name() const;
  operator ScalarType() const;
  template <typename T> static TypeMeta Make();
};
bool operator==(const TypeMeta&, const TypeMeta&); bool operator!=(const TypeMeta&, const TypeMeta&);
bool operator==(const TypeMeta&, ScalarType); bool operator!=(const TypeMeta&, ScalarType);
bool operator==(ScalarType, const TypeMeta&); bool operator!=(ScalarType, const TypeMeta&);
template <class Stream> Stream& operator<<(Stream&, const TypeMeta&);

class TensorOptions {
 public:
  TensorOptions();
  TensorOptions(ScalarType); TensorOptions(TypeMeta); TensorOptions(Device); TensorOptions(DeviceType);
  TensorOptions(Layout); TensorOptions(MemoryFormat);
  TensorOptions dtype(ScalarType) const; TensorOptions dtype(TypeMeta) const; TensorOptions dtype(std::optional<ScalarType>) const;
  template <typename T> TensorOptions dtype() const;
  template <class... Args> TensorOptions device(Args&&...) const;
  TensorOptions device_index(int) const; TensorOptions layout(Layout) const; TensorOptions requires_grad(bool = true) const;
  TensorOptions pinned_memory(bool = true) const; TensorOptions memory_format(MemoryFormat) const;
  TypeMeta dtype() const; Device device() const; Layout layout() const; bool requires_grad() const;
};
template <class Stream> Stream& operator<<(Stream&, const TensorOptions&);
template <class... Args> TensorOptions device(Args&&...);
TensorOptions dtype(ScalarType); TensorOptions dtype(TypeMeta);
template <typename T> TensorOptions dtype();
TensorOptions layout(Layout); TensorOptions requires_grad(bool = true); TensorOptions memory_format(MemoryFormat);

struct Storage { int64_t nbytes() const; const void* data() const; void* mutable_data() const; operator bool() const; template <typename T> T* data() const; };
struct DataPtr { void* get() const; operator bool() const; };
struct Allocator { DataPtr allocate(size_t); void* raw_allocate(size_t); void raw_deallocate(void*); };
struct InferenceMode { InferenceMode(bool = true); };
struct AutoGradMode { AutoGradMode(bool); };
struct NoGradGuard { NoGradGuard(); ~NoGradGuard(); };
template <typename T>
struct MaybeOwned { T* operator->() const; const T& operator*() const; static MaybeOwned borrowed(const T&); static MaybeOwned owned(T); };
int64_t multiply_integers(IntArrayRef);
template <class... Args> void irange(Args...);
}  // namespace c10

namespace caffe2 { using c10::TypeMeta; }

namespace at {

// Result of x.type().
class DeprecatedTypeProperties {
 public:
  ScalarType scalarType() const; bool is_cuda() const; bool is_sparse() const; Layout layout() const;
  c10::TypeMeta typeMeta() const; std::string toString() const; TensorOptions options(int16_t = -1) const;
  bool operator==(const DeprecatedTypeProperties&) const; bool operator!=(const DeprecatedTypeProperties&) const;
  DeprecatedTypeProperties toScalarType(ScalarType) const;
  operator TensorOptions() const;
};
template <class Stream> Stream& operator<<(Stream&, const DeprecatedTypeProperties&);
DeprecatedTypeProperties CPU(ScalarType); DeprecatedTypeProperties CUDA(ScalarType); DeprecatedTypeProperties HIP(ScalarType);

struct Generator { template <typename T> T* get() const; std::mutex& mutex(); bool defined() const; };

namespace indexing {
struct EllipsisIndexType { EllipsisIndexType() = default; };
constexpr EllipsisIndexType Ellipsis{};
struct Slice { Slice(std::optional<int64_t> = {}, std::optional<int64_t> = {}, std::optional<int64_t> = {}); };
constexpr std::nullopt_t None = std::nullopt;
struct TensorIndex;
}  // namespace indexing

class Tensor;
using TensorList = ArrayRef<Tensor>;
template <typename T> class List;
using Lists = std::initializer_list<int64_t>;

#define PARITY_FUNCTIONS(_)                                                                                            \
  _(abs) _(absolute) _(acos) _(add) _(add_) _(addmm) _(addmm_) _(addmm_out) _(addmv) _(all) _(amax) _(amin)    \
  _(any) _(arange) _(argmax) _(argmin) _(argsort) _(as_strided) _(as_strided_) _(asin) _(atan) _(atan2) _(baddbmm)     \
  _(bernoulli) _(bernoulli_) _(bincount) _(bitwise_and) _(bitwise_not) _(bitwise_or) _(bitwise_xor) _(bmm) _(bmm_out)  \
  _(bucketize) _(cat) _(cat_out) _(cdist) _(ceil) _(clamp) _(clamp_) _(clamp_max) _(clamp_min) _(clone) _(coalesce)    \
  _(concat) _(conj) _(constant_pad_nd) _(contiguous) _(copy) _(copy_) _(cos) _(cosh) _(cpu) _(cross) _(cuda) _(cumprod) \
  _(cumsum) _(cumsum_) _(detach) _(detach_) _(diag) _(diagonal) _(diff) _(div) _(div_) _(dot) _(einsum) _(embedding)   \
  _(empty) _(empty_like) _(empty_strided) _(eq) _(equal_) _(erf) _(exp) _(expand) _(expand_as) _(expm1) _(eye) \
  _(fill) _(fill_) _(flatten) _(flip) _(floor) _(floor_divide) _(fmod) _(from_blob) _(full) _(full_like) _(gather) _(ge) _(gelu) \
  _(greater) _(gt) _(hardtanh) _(hstack) _(imag) _(index) _(index_add) _(index_add_) _(index_copy_) _(index_fill_)      \
  _(index_put) _(index_put_) _(index_select) _(indices) _(inverse) _(isfinite) _(isinf) _(isnan) _(layer_norm) _(le)   \
  _(lerp) _(less) _(linear) _(linspace) _(log) _(log1p) _(log2) _(log_softmax) _(logical_and) _(logical_not)           \
  _(logical_or) _(logsumexp) _(lt) _(masked_fill) _(masked_fill_) _(masked_select) _(matmul) _(matmul_out) _(maximum)  \
  _(mean) _(minimum) _(mm) _(mm_out) _(mul) _(mul_) _(mv) _(narrow) _(ne) _(neg) _(neg_) _(new_empty) _(new_full)      \
  _(new_ones) _(new_tensor) _(new_zeros) _(nonzero) _(norm) _(normal_) _(numpy_T) _(one_hot) _(ones) _(ones_like)      \
  _(outer) _(permute) _(pin_memory) _(pow) _(pow_) _(prod) _(rand) _(rand_like) _(randint) _(randn) _(randn_like)      \
  _(randperm) _(range) _(ravel) _(real) _(reciprocal) _(record) _(relu) _(remainder) _(repeat) _(repeat_interleave)    \
  _(requires_grad_) _(reshape) _(reshape_as) _(resize_) _(resize_as_) _(roll) _(round) _(rsqrt) _(scalar_tensor)       \
  _(scatter) _(scatter_) _(scatter_add) _(scatter_add_) _(searchsorted) _(select) _(select_scatter) _(set_) _(sigmoid) \
  _(sign) _(silu) _(sin) _(sinh) _(slice) _(slice_scatter) _(softmax) _(softplus) _(sparse_coo_tensor) _(sqrt)         \
  _(square) _(squeeze) _(squeeze_) _(stack) _(std) _(sub) _(sub_) _(sum) _(sum_to_size) _(swapaxes) _(t) _(take) _(tan) _(tanh)       \
  _(tensordot) _(tile) _(to_dense) _(to_sparse) _(toType) _(true_divide) _(true_divide_) _(exp_) _(log_) _(sqrt_) _(floor_) _(round_) _(sigmoid_) _(tanh_) _(relu_) _(abs_) _(addcmul_) _(addcdiv_) _(uniform_) _(random_) _(index_reduce_) _(scatter_reduce_) _(logical_xor) _(bitwise_left_shift) _(bitwise_right_shift) _(trace) _(transpose) _(transpose_) _(tril) _(triu)          \
  _(trunc) _(type_as) _(unflatten) _(unfold) _(unsqueeze) _(unsqueeze_) _(values) _(var) _(view) _(view_as) _(vstack) _(where)       \
  _(zero_) _(zeros) _(zeros_like)
// Functions that make a tensor of numbers.
#define PARITY_FACTORIES(_) _(arange) _(empty) _(eye) _(linspace) _(ones) _(rand) _(randint) _(randn) _(randperm) _(range) _(scalar_tensor) _(zeros)
// Functions that return several tensors.
#define PARITY_FUNCTIONS_OF_SEVERAL(_)                                                                              \
  _(aminmax) _(cummax) _(cummin) _(kthvalue) _(median) _(mode) _(sort) _(std_mean) _(topk) _(var_mean)              \
  _(_unique2) _(unique_dim) _(unique_consecutive) _(native_layer_norm) _(native_batch_norm)

class Tensor {
 public:
  Tensor(); Tensor(const Tensor&); Tensor(Tensor&&); ~Tensor();
  template <typename T> explicit Tensor(intrusive_ptr<T>);
  Tensor& operator=(const Tensor&); Tensor& operator=(Tensor&&); Tensor& operator=(const Scalar&);

  int64_t size(int64_t) const; int64_t stride(int64_t) const; int64_t dim() const; int64_t ndimension() const;
  int64_t numel() const; IntArrayRef sizes() const; IntArrayRef strides() const; int64_t element_size() const;
  int64_t itemsize() const; size_t nbytes() const; int64_t storage_offset() const; int64_t get_device() const;
  int64_t use_count() const; int64_t sparse_dim() const; int64_t nnz() const; int64_t _nnz() const; int64_t sym_size(int64_t) const;
  int64_t sym_numel() const; IntArrayRef sym_sizes() const; int64_t output_nr() const;
  bool is_cuda() const; bool is_cpu() const; bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const;
  bool is_hip() const; bool is_meta() const; bool is_sparse() const; bool is_floating_point() const; bool is_complex() const; bool is_pinned() const;
  bool is_same(const Tensor&) const; bool is_same_size(const Tensor&) const; bool is_non_overlapping_and_dense() const; bool is_quantized() const;
  bool defined() const; bool has_storage() const; bool requires_grad() const; bool is_alias_of(const Tensor&) const; bool equal(const Tensor&) const;
  bool allclose(const Tensor&, double = 0, double = 0) const; bool is_variable() const; bool is_leaf() const; bool is_signed() const;
  ScalarType scalar_type() const; TypeMeta dtype() const; DeprecatedTypeProperties type() const; Device device() const;
  template <class First, class... Args> Tensor type(First&&, Args&&...) const;
  TensorOptions options() const; Layout layout() const; std::string toString() const; MemoryFormat suggest_memory_format() const;
  void backward() const; void reset(); void print() const; const Storage& storage() const; Tensor& mutable_grad() const;
  Tensor grad() const; Tensor data() const; Tensor variable_data() const; Tensor tensor_data() const; void* unsafeGetTensorImpl() const;
  template <typename T> T* data_ptr() const;
  template <typename T> T* data() const;
  template <typename T> const T* const_data_ptr() const;
  template <typename T> T* mutable_data_ptr() const;
  void* data_ptr() const; const void* const_data_ptr() const; void* mutable_data_ptr() const;
  template <typename T> T item() const;
  Scalar item() const;
  template <typename T, size_t N> TensorAccessor<T, N> accessor() const;
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed_accessor() const;
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const;
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const;
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const;

  Tensor operator[](int64_t) const; Tensor operator[](const Tensor&) const;
  Tensor operator-() const; Tensor operator~() const; Tensor operator!() const;
  Tensor& operator+=(const Tensor&); Tensor& operator-=(const Tensor&); Tensor& operator*=(const Tensor&);
  Tensor& operator/=(const Tensor&); Tensor& operator&=(const Tensor&); Tensor& operator|=(const Tensor&);
  Tensor& operator+=(Scalar); Tensor& operator-=(Scalar); Tensor& operator*=(Scalar); Tensor& operator/=(Scalar);

#define PARITY_MEMBER(name)                                       \
  template <class... Args>                                        \
  Tensor name(Args&&...) const;                                   \
  template <class... Args>                                        \
  Tensor name(Lists, Args&&...) const;                            \
  template <class First, class... Args>                           \
  Tensor name(First&&, Lists, Args&&...) const;
  PARITY_FUNCTIONS(PARITY_MEMBER)
  PARITY_MEMBER(to)
#undef PARITY_MEMBER
#define PARITY_MEMBER(name) \
  template <class... Args>  \
  std::tuple<Tensor, Tensor> name(Args&&...) const;
  PARITY_FUNCTIONS_OF_SEVERAL(PARITY_MEMBER)
#undef PARITY_MEMBER
  Tensor max() const; Tensor max(const Tensor&) const; std::tuple<Tensor, Tensor> max(int64_t, bool = false) const;
  Tensor min() const; Tensor min(const Tensor&) const; std::tuple<Tensor, Tensor> min(int64_t, bool = false) const;
  std::vector<Tensor> chunk(int64_t, int64_t = 0) const; std::vector<Tensor> split(int64_t, int64_t = 0) const;
  std::vector<Tensor> unbind(int64_t = 0) const;
  Tensor index(std::initializer_list<indexing::TensorIndex>) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex>, const Tensor&) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex>, const Scalar&) const;
};
using OptionalTensorRef = std::optional<Tensor>;
using Variable = Tensor;

struct indexing::TensorIndex {
  TensorIndex(std::nullopt_t); TensorIndex(EllipsisIndexType); TensorIndex(const char*); TensorIndex(int64_t);
  TensorIndex(int); TensorIndex(bool); TensorIndex(Slice); TensorIndex(Tensor);
};

#define PARITY_OPERATOR(op)                                 \
  Tensor operator op(const Tensor&, const Tensor&);         \
  Tensor operator op(const Tensor&, const Scalar&);         \
  Tensor operator op(const Scalar&, const Tensor&);
PARITY_OPERATOR(+) PARITY_OPERATOR(-) PARITY_OPERATOR(*) PARITY_OPERATOR(/) PARITY_OPERATOR(%)
PARITY_OPERATOR(<) PARITY_OPERATOR(>) PARITY_OPERATOR(<=) PARITY_OPERATOR(>=) PARITY_OPERATOR(==) PARITY_OPERATOR(!=)
PARITY_OPERATOR(&) PARITY_OPERATOR(|) PARITY_OPERATOR(^)
#undef PARITY_OPERATOR
template <class Stream> Stream& operator<<(Stream&, const Tensor&);

namespace parity_stub {
// In a separate namespace, so that argument-dependent lookup does not find the functions.
namespace functions {
// Of these functions, only factories take nothing but numbers: with `using namespace at`, floor(1.5f) means CUDA's function.
template <class... Args> constexpr bool are_numbers = (std::is_convertible_v<Args, double> && ...);
#define PARITY_FUNCTION(name)                                     \
  template <class... Args, std::enable_if_t<!are_numbers<Args...>, int> = 0> \
  Tensor name(Args&&...);                                         \
  template <class... Args>                                        \
  Tensor name(Lists, Args&&...);                                  \
  template <class First, class... Args>                           \
  Tensor name(First&&, Lists, Args&&...);                         \
  template <class... Args>                                        \
  Tensor name(Lists, Lists, Args&&...);                           \
  template <class... Args>                                        \
  Tensor name(std::initializer_list<Tensor>, Args&&...);
PARITY_FUNCTIONS(PARITY_FUNCTION)
#undef PARITY_FUNCTION
#define PARITY_FACTORY(name) \
  template <class... Args, std::enable_if_t<are_numbers<Args...>, int> = 0> Tensor name(Args...);
PARITY_FACTORIES(PARITY_FACTORY)
#undef PARITY_FACTORY
#define PARITY_FUNCTION(name) \
  template <class... Args>    \
  std::tuple<Tensor, Tensor> name(Args&&...);
PARITY_FUNCTIONS_OF_SEVERAL(PARITY_FUNCTION)
#undef PARITY_FUNCTION
int64_t numel(const Tensor&);
Tensor max(const Tensor&); Tensor max(const Tensor&, const Tensor&); std::tuple<Tensor, Tensor> max(const Tensor&, int64_t, bool = false);
Tensor min(const Tensor&); Tensor min(const Tensor&, const Tensor&); std::tuple<Tensor, Tensor> min(const Tensor&, int64_t, bool = false);
std::vector<Tensor> split(const Tensor&, int64_t, int64_t = 0); std::vector<Tensor> chunk(const Tensor&, int64_t, int64_t = 0);
std::vector<Tensor> unbind(const Tensor&, int64_t = 0); std::vector<Tensor> broadcast_tensors(TensorList);
std::vector<Tensor> meshgrid(TensorList); bool equal(const Tensor&, const Tensor&);
bool allclose(const Tensor&, const Tensor&, double = 0, double = 0, bool = false);
template <typename T> Tensor tensor(std::initializer_list<T>, const TensorOptions& = {});
template <typename T> Tensor tensor(const T&, const TensorOptions& = {});
}  // namespace functions
}  // namespace parity_stub
using namespace parity_stub::functions;

struct TensorArg { TensorArg(Tensor, const char*, int); const Tensor* operator->() const; const Tensor& operator*() const; Tensor tensor; const char* name; int pos; };
using CheckedFrom = const char*;
struct TensorGeometryArg { TensorGeometryArg(TensorArg); };
#define PARITY_CHECKING(name) \
  template <class... Args>    \
  void name(Args&&...);       \
  template <class First>      \
  void name(First&&, std::initializer_list<TensorArg>);
PARITY_CHECKING(checkAllSameGPU) PARITY_CHECKING(checkAllSameType) PARITY_CHECKING(checkSameGPU) PARITY_CHECKING(checkSameType)
PARITY_CHECKING(checkDim) PARITY_CHECKING(checkSize) PARITY_CHECKING(checkSameSize) PARITY_CHECKING(checkContiguous)
PARITY_CHECKING(checkAllContiguous) PARITY_CHECKING(checkScalarType) PARITY_CHECKING(checkScalarTypes) PARITY_CHECKING(checkBackend)
PARITY_CHECKING(checkAllDefined) PARITY_CHECKING(checkAllSameSize) PARITY_CHECKING(checkNumel) PARITY_CHECKING(checkDimRange)
#undef PARITY_CHECKING
template <class... Args> Tensor sum_to(Args&&...);

struct Context { void lazyInitDevice(DeviceType); void lazyInitCUDA(); template <class... Args> Allocator* getAllocator(Args&&...); void* getCurrentDeviceProperties(); bool deterministicAlgorithms(); void alertNotDeterministic(const char*); bool allowTF32CuBLAS(); };
Context& globalContext();
ScalarType typeMetaToScalarType(const TypeMeta&);
TypeMeta scalarTypeToTypeMeta(ScalarType);
template <typename T> constexpr C10_HOST_DEVICE T ceil_div(T a, T b) { return (a + b - 1) / b; }
template <typename T> constexpr C10_HOST_DEVICE T round_up(T a, T b) { return (a + b - 1) / b * b; }
struct DeviceGuard { DeviceGuard(Device); };
struct OptionalDeviceGuard { template <class... Args> OptionalDeviceGuard(Args&&...); };
using c10::NoGradGuard;
struct AutoDispatchBelowADInplaceOrView { AutoDispatchBelowADInplaceOrView(); };
struct AutoNonVariableTypeMode { AutoNonVariableTypeMode(bool = true); };
template <class... Args> void parallel_for(Args&&...);
namespace detail {
// A small array that kernels take by value.
template <typename T, int N> struct Array {
  T data[N];
  C10_HOST_DEVICE T& operator[](int i) { return data[i]; }
  C10_HOST_DEVICE const T& operator[](int i) const { return data[i]; }
  static constexpr C10_HOST_DEVICE int size() { return N; }
};
}  // namespace detail
}  // namespace at

namespace c10 {
using at::DeviceGuard;
using at::OptionalDeviceGuard;
template <typename T>
class List { public: List(); size_t size() const; T get(size_t) const; T operator[](size_t) const; void push_back(T) const; T* begin() const; T* end() const; };
template <typename K, typename V> class Dict : public std::unordered_map<K, V> {};
template <typename T, class... Args> intrusive_ptr<T> make_intrusive(Args&&...);
struct IValue { template <typename T> IValue(T); template <typename T> T to() const; at::Tensor toTensor() const; };
}  // namespace c10
