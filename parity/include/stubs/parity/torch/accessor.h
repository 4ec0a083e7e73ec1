// ATen/core/TensorAccessor.h: tensor views that kernels take by value, with PyTorch's memory layout.
#pragma once

#include "scalar_type.h"

namespace at {

template <typename T> struct DefaultPtrTraits { typedef T* PtrType; };
template <typename T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };

// Indexing the last dimension returns an element; other dimensions return an accessor of the remaining ones.
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t> class TensorAccessor {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  C10_HOST_DEVICE TensorAccessor(PtrType data, const index_t* sizes, const index_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE index_t stride(index_t i) const { return strides_[i]; }
  C10_HOST_DEVICE index_t size(index_t i) const { return sizes_[i]; }
  C10_HOST_DEVICE PtrType data() { return data_; }
  C10_HOST_DEVICE const PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1) return static_cast<T&>(data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 protected:
  PtrType data_;
  const index_t* sizes_;
  const index_t* strides_;
};

// An accessor that contains its sizes and strides, so that kernels can take it by value.
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
class GenericPackedTensorAccessor {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;

  template <typename source_index_t>
  C10_HOST GenericPackedTensorAccessor(PtrType data, const source_index_t* sizes, const source_index_t* strides) : data_(data) {
    for (size_t i = 0; i < N; ++i) sizes_[i] = sizes[i], strides_[i] = strides[i];
  }
  C10_HOST_DEVICE index_t stride(index_t i) const { return strides_[i]; }
  C10_HOST_DEVICE index_t size(index_t i) const { return sizes_[i]; }
  C10_HOST_DEVICE PtrType data() { return data_; }
  C10_HOST_DEVICE const PtrType data() const { return data_; }
  C10_DEVICE decltype(auto) operator[](index_t i) { return TensorAccessor<T, N, PtrTraits, index_t>(data_, sizes_, strides_)[i]; }
  C10_DEVICE decltype(auto) operator[](index_t i) const {
    if constexpr (N == 1) return static_cast<const T&>(data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 protected:
  PtrType data_;
  index_t sizes_[N];
  index_t strides_[N];
};

template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits, typename index_t = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, PtrTraits, index_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, PtrTraits, int64_t>;

namespace cuda::detail {
constexpr int MAX_TENSORINFO_DIMS = 25;

template <typename T, typename IndexType> struct TensorInfo {
  C10_HOST_DEVICE TensorInfo() {}
  TensorInfo(T* data, int dims, IndexType* sizes, IndexType* strides);
  void reduceDim(int dim);
  int collapseDims(const int excluded = -1);
  C10_HOST_DEVICE bool isContiguous() const { return dims == 1 && strides[0] == 1; }

  T* data;
  IndexType sizes[MAX_TENSORINFO_DIMS];
  IndexType strides[MAX_TENSORINFO_DIMS];
  int dims;
};

// Offset of an element of a tensor with Dims dimensions; -1 means info.dims.
template <typename T, typename IndexType, int Dims> struct IndexToOffset {
  static C10_HOST_DEVICE IndexType get(IndexType index, const TensorInfo<T, IndexType>& info) {
    IndexType offset = 0;
    for (int i = (Dims < 0 ? info.dims : Dims) - 1; i > 0; --i) {
      offset += index % info.sizes[i] * info.strides[i];
      index /= info.sizes[i];
    }
    return offset + index * info.strides[0];
  }
};

template <typename Value> struct DivMod {
  Value div, mod;
  C10_HOST_DEVICE DivMod(Value div, Value mod) : div(div), mod(mod) {}
};

template <typename Value> struct IntDivider {
  IntDivider() = default;
  IntDivider(Value divisor) : divisor(divisor) {}
  C10_HOST_DEVICE Value div(Value n) const { return n / divisor; }
  C10_HOST_DEVICE Value mod(Value n) const { return n % divisor; }
  C10_HOST_DEVICE DivMod<Value> divmod(Value n) const { return DivMod<Value>(n / divisor, n % divisor); }
  Value divisor;
};
}  // namespace cuda::detail
}  // namespace at
