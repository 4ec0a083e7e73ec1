// CUB names removed in version 3 that kernels still use: function objects and internal helpers.
#pragma once

#include <cub/config.cuh>
#include <cub/version.cuh>

#if CUB_VERSION >= 300000
#include <cuda/std/limits>
#include <cuda/std/type_traits>

CUB_NAMESPACE_BEGIN

struct Equality {
  template <typename T, typename U>
  __host__ __device__ constexpr bool operator()(T&& t, U&& u) const { return t == u; }
};
struct Inequality {
  template <typename T, typename U>
  __host__ __device__ constexpr bool operator()(T&& t, U&& u) const { return t != u; }
};
struct Sum {
  template <typename T, typename U>
  __host__ __device__ constexpr auto operator()(T&& t, U&& u) const -> decltype(t + u) { return t + u; }
};
struct Difference {
  template <typename T, typename U>
  __host__ __device__ constexpr auto operator()(T&& t, U&& u) const -> decltype(t - u) { return t - u; }
};
struct Division {
  template <typename T, typename U>
  __host__ __device__ constexpr auto operator()(T&& t, U&& u) const -> decltype(t / u) { return t / u; }
};
template <typename T, typename U>
__host__ __device__ constexpr ::cuda::std::common_type_t<T, U> max(T&& t, U&& u) { return t < u ? u : t; }
template <typename T, typename U>
__host__ __device__ constexpr ::cuda::std::common_type_t<T, U> min(T&& t, U&& u) { return u < t ? u : t; }
struct Max {
  template <typename T, typename U>
  __host__ __device__ constexpr ::cuda::std::common_type_t<T, U> operator()(T&& t, U&& u) const { return t > u ? t : u; }
};
struct Min {
  template <typename T, typename U>
  __host__ __device__ constexpr ::cuda::std::common_type_t<T, U> operator()(T&& t, U&& u) const { return t < u ? t : u; }
};

template <typename T>
struct FpLimits {
  static __host__ __device__ T Max() { return ::cuda::std::numeric_limits<T>::max(); }
  static __host__ __device__ T Lowest() { return ::cuda::std::numeric_limits<T>::lowest(); }
};

template <typename T>
__host__ __device__ void Swap(T& a, T& b) {
  T held = a;
  a = b;
  b = held;
}

__device__ inline void CTA_SYNC() { __syncthreads(); }
__device__ inline int CTA_SYNC_OR(int predicate) { return __syncthreads_or(predicate); }
__device__ inline int CTA_SYNC_AND(int predicate) { return __syncthreads_and(predicate); }
__device__ inline void WARP_SYNC(unsigned mask) { __syncwarp(mask); }
__device__ inline int WARP_ANY(int predicate, unsigned mask) { return __any_sync(mask, predicate); }
__device__ inline int WARP_ALL(int predicate, unsigned mask) { return __all_sync(mask, predicate); }
__device__ inline int WARP_BALLOT(int predicate, unsigned mask) { return __ballot_sync(mask, predicate); }
__device__ inline unsigned LaneId() {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

CUB_NAMESPACE_END
#endif
