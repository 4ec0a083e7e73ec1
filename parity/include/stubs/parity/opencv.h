// OpenCV types that kernels use: integers (opencv2/core/hal/interface.h) and images.
#pragma once

typedef unsigned char uchar;
typedef signed char schar;
typedef unsigned short ushort;
typedef unsigned int uint;

#include <hip/hip_runtime.h>

#include <cstddef>

namespace cv {
namespace cuda {
// opencv2/core/cuda_types.hpp: pointers to images, whose rows are `step` bytes apart.
template <typename T> struct DevPtr {
  typedef T elem_type;
  typedef int index_type;
  enum { elem_size = sizeof(elem_type) };
  T* data;
  __host__ __device__ DevPtr() : data(nullptr) {}
  __host__ __device__ DevPtr(T* given) : data(given) {}
  __host__ __device__ size_t elemSize() const { return elem_size; }
  __host__ __device__ operator T*() { return data; }
  __host__ __device__ operator const T*() const { return data; }
};
template <typename T> struct PtrStep : DevPtr<T> {
  size_t step;
  __host__ __device__ PtrStep() : step(0) {}
  __host__ __device__ PtrStep(T* given, size_t bytes) : DevPtr<T>(given), step(bytes) {}
  __host__ __device__ T* ptr(int y = 0) { return (T*)((char*)this->data + y * step); }
  __host__ __device__ const T* ptr(int y = 0) const { return (const T*)((const char*)this->data + y * step); }
  __host__ __device__ T& operator()(int y, int x) { return ptr(y)[x]; }
  __host__ __device__ const T& operator()(int y, int x) const { return ptr(y)[x]; }
};
template <typename T> struct PtrStepSz : PtrStep<T> {
  int cols, rows;
  __host__ __device__ PtrStepSz() : cols(0), rows(0) {}
  __host__ __device__ PtrStepSz(int height, int width, T* given, size_t bytes)
      : PtrStep<T>(given, bytes), cols(width), rows(height) {}
  template <typename U> explicit PtrStepSz(const PtrStepSz<U>& of) : PtrStep<T>((T*)of.data, of.step), cols(of.cols), rows(of.rows) {}
};
typedef PtrStepSz<unsigned char> PtrStepSzb; typedef PtrStepSz<unsigned short> PtrStepSzus;
typedef PtrStepSz<float> PtrStepSzf; typedef PtrStepSz<int> PtrStepSzi;
typedef PtrStep<unsigned char> PtrStepb; typedef PtrStep<unsigned short> PtrStepus;
typedef PtrStep<float> PtrStepf; typedef PtrStep<int> PtrStepi;
}  // namespace cuda
}  // namespace cv
