// THCDeviceTensor of Torch 7 and PyTorch before 1.5: a device pointer with sizes and strides.
#pragma once

#include <hip/hip_runtime.h>

#include <cassert>

template <typename T> struct DefaultPtrTraits { typedef T* PtrType; };
template <typename T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };

template <typename T, int Dim, typename IndexT, template <typename U> class PtrTraits> class THCDeviceTensor;

namespace parity_stub {
// A subtensor selected by leading indices. It uses the sizes and strides of the tensor.
template <typename Tensor, int LEFT, template <typename U> class PtrTraits> class THCSub {
  typedef typename Tensor::DataType T;
  typedef typename Tensor::IndexType I;
  Tensor& tensor_;
  T* data_;

 public:
  __host__ __device__ THCSub(Tensor& tensor, T* data) : tensor_(tensor), data_(data) {}
  __host__ __device__ decltype(auto) operator[](I index) const {
    T* const next = data_ + index * tensor_.getStride(Tensor::NumDim - LEFT);
    if constexpr (LEFT == 1) return static_cast<T&>(*next);
    else return THCSub<Tensor, LEFT - 1, PtrTraits>(tensor_, next);
  }
  __host__ __device__ T* operator&() const { return data_; }
  __host__ __device__ T* data() const { return data_; }
  __device__ T ldg() const { return *data_; }
};
}  // namespace parity_stub

template <typename T, int Dim, typename IndexT = int, template <typename U> class PtrTraits = DefaultPtrTraits> class THCDeviceTensor {
 public:
  enum { NumDim = Dim };
  typedef T DataType;
  typedef IndexT IndexType;
  typedef typename PtrTraits<T>::PtrType DataPtrType;
  typedef THCDeviceTensor<T, Dim, IndexT, PtrTraits> TensorType;

  __host__ __device__ THCDeviceTensor() : data_(nullptr) {}
  __host__ __device__ THCDeviceTensor(DataPtrType data, const IndexT (&sizes)[Dim]) : data_(data) {
    for (int i = Dim - 1; i >= 0; --i) {
      size_[i] = sizes[i];
      stride_[i] = i == Dim - 1 ? 1 : stride_[i + 1] * sizes[i + 1];
    }
  }
  __host__ __device__ THCDeviceTensor(DataPtrType data, const IndexT (&sizes)[Dim], const IndexT (&strides)[Dim])
      : data_(data) {
    for (int i = 0; i < Dim; ++i) size_[i] = sizes[i], stride_[i] = strides[i];
  }
  __host__ __device__ DataPtrType data() { return data_; }
  __host__ __device__ const T* data() const { return data_; }
  __host__ __device__ int getSize(int i) const { return size_[i]; }
  __host__ __device__ int getStride(int i) const { return stride_[i]; }
  __host__ __device__ const IndexT* sizes() const { return size_; }
  __host__ __device__ const IndexT* strides() const { return stride_; }
  __host__ __device__ ptrdiff_t numElements() const {
    ptrdiff_t count = 1;
    for (int i = 0; i < Dim; ++i) count *= size_[i];
    return count;
  }
  __host__ __device__ bool isContiguous() const {
    IndexT expected = 1;
    for (int i = Dim - 1; i >= 0; expected *= size_[i--]) if (size_[i] != 1 && stride_[i] != expected) return false;
    return true;
  }
  __host__ __device__ decltype(auto) operator[](IndexT index) {
    return parity_stub::THCSub<TensorType, Dim, PtrTraits>(*this, data_)[index];
  }
  __host__ __device__ decltype(auto) operator[](IndexT index) const {
    return const_cast<TensorType&>(*this)[index];
  }

 private:
  DataPtrType data_;
  IndexT stride_[Dim], size_[Dim];
};
