// c10/macros/Macros.h and the checks of c10/util/Exception.h.
#pragma once

#include <assert.h>
#include <hip/hip_runtime.h>

// torch/version.h
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 5
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION "2.5.0"

#define C10_HOST __host__
#define C10_DEVICE __device__
#define C10_HOST_DEVICE __host__ __device__
#define AT_HOST_DEVICE __host__ __device__
#define AT_HOST __host__
#define AT_DEVICE __device__
#define C10_HIP_HOST_DEVICE __host__ __device__
#define C10_API
#define C10_EXPORT
#define C10_IMPORT
#define C10_CUDA_API
#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define AT_API
#define AT_CUDA_API
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_NODISCARD [[nodiscard]]
#define C10_UNUSED [[maybe_unused]]
#define C10_UNUSED_DISPATCH_CUDA_WORKAROUND [[maybe_unused]]
#define C10_FALLTHROUGH [[fallthrough]]
#define C10_RESTRICT __restrict
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, __COUNTER__)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_COMPILE_TIME_MAX_GPUS 16
#define C10_CLANG_DIAGNOSTIC_PUSH()
#define C10_CLANG_DIAGNOSTIC_POP()
#define C10_CLANG_DIAGNOSTIC_IGNORE(flag)
#define C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED(flag)
#define C10_DIAGNOSTIC_POP()

// Wavefront width of the target GPU, as in PyTorch for ROCm.
#if defined(__GFX9__)
#define C10_WARP_SIZE 64
#else
#define C10_WARP_SIZE 32
#endif

#define CUDA_MAX_THREADS_PER_BLOCK 1024
#define CUDA_THREADS_PER_BLOCK_FALLBACK 256
#define C10_MAX_THREADS_PER_BLOCK(value) (((value) <= 1024) ? (value) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks) (((threads) * (blocks) <= 2048) ? (blocks) : (2048 / (threads)))
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads))
#define C10_LAUNCH_BOUNDS_2(threads, blocks) \
  __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads), C10_MIN_BLOCKS_PER_SM(threads, blocks))
#define C10_HIP_LAUNCH_BOUNDS_0 C10_LAUNCH_BOUNDS_0

// PyTorch for ROCm disables these by default; here they detect faults.
#define CUDA_KERNEL_ASSERT(condition) assert(condition)
#define CUDA_KERNEL_ASSERT_MSG(condition, message) assert((condition) && (message))
#define CUDA_KERNEL_ASSERT_PRINTF(condition, message, ...) assert(condition)
#define CUDA_KERNEL_ASSERT2(condition) assert(condition)
#define SYCL_KERNEL_ASSERT(condition) assert(condition)
#define HIP_KERNEL_ASSERT(condition) assert(condition)

namespace c10::parity_stub {
// Result of a failed host check. Host code is never executed.
template <class... Args> void refuse(const Args&...);
}  // namespace c10::parity_stub

#define PARITY_CHECK(condition)                           \
  do {                                                    \
    if (!(condition)) ::c10::parity_stub::refuse();       \
  } while (0)
#define TORCH_CHECK(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_WITH(kind, condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_INDEX(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_TYPE(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_VALUE(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_LINALG(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_ARG(condition, number, ...) PARITY_CHECK(condition)
#define TORCH_INTERNAL_ASSERT(condition, ...) PARITY_CHECK(condition)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) PARITY_CHECK(condition)
#define TORCH_CHECK_EQ(a, b) PARITY_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) PARITY_CHECK((a) != (b))
#define TORCH_CHECK_LE(a, b) PARITY_CHECK((a) <= (b))
#define TORCH_CHECK_LT(a, b) PARITY_CHECK((a) < (b))
#define TORCH_CHECK_GE(a, b) PARITY_CHECK((a) >= (b))
#define TORCH_CHECK_GT(a, b) PARITY_CHECK((a) > (b))
#define TORCH_CHECK_NOTNULL(value) (value)
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)
#define TORCH_WARN_DEPRECATION(...) ((void)0)
#define AT_WARN(...) ((void)0)
#define AT_ERROR(...) ::c10::parity_stub::refuse()
#define AT_ASSERT(condition, ...) PARITY_CHECK(condition)
#define AT_ASSERTM(condition, ...) PARITY_CHECK(condition)
#define AT_CHECK(condition, ...) PARITY_CHECK(condition)
#define THArgCheck(condition, ...) PARITY_CHECK(condition)
#define THAssert(condition) PARITY_CHECK(condition)
#define THAssertMsg(condition, ...) PARITY_CHECK(condition)
#define THError(...) ::c10::parity_stub::refuse()

#define C10_CUDA_CHECK(call) PARITY_CHECK((call) == hipSuccess)
#define C10_CUDA_CHECK_WARN(call) PARITY_CHECK((call) == hipSuccess)
#define C10_CUDA_ERROR_HANDLED(call) (call)
#define C10_CUDA_IGNORE_ERROR(call) ((void)(call))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(hipGetLastError())
#define C10_HIP_CHECK(call) C10_CUDA_CHECK(call)
#define C10_HIP_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(hipGetLastError())
#define TORCH_HIP_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(hipGetLastError())
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(hipGetLastError())
#define AT_CUDA_CHECK(call) C10_CUDA_CHECK(call)
#define AT_CUDA_DRIVER_CHECK(call) ((void)(call))
#define TORCH_CUDABLAS_CHECK(call) ((void)(call))
#define TORCH_CUDASPARSE_CHECK(call) ((void)(call))
#define TORCH_CUSOLVER_CHECK(call) ((void)(call))
#define THCudaCheck(call) C10_CUDA_CHECK(call)
#define THCublasCheck(call) ((void)(call))
#define TORCH_DSA_KERNEL_LAUNCH(kernel, blocks, threads, shared, stream, ...) \
  kernel<<<blocks, threads, shared, stream>>>(__VA_ARGS__)

#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                       \
  int64_t i##_in_grid = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;                  \
  for (index_type i = static_cast<index_type>(i##_in_grid); i##_in_grid < (n);                        \
       i##_in_grid += blockDim.x * gridDim.x, i = static_cast<index_type>(i##_in_grid))
#ifndef CUDA_KERNEL_LOOP
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#endif
