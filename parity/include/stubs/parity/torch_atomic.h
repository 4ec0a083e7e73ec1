// ATen/cuda/Atomic.cuh, THC/THCAtomics.cuh and ATen/native/cuda/KernelUtils.cuh.
#pragma once

#include "torch.h"

// Atomic operations without hardware support replace the enclosing word in a compare-and-swap loop.
namespace at::parity_stub {
template <typename T, typename Combine> inline C10_DEVICE T replace_in_word(T* address, Combine combine) {
  static_assert(sizeof(T) < 4);
  const size_t byte = reinterpret_cast<size_t>(address) & 3, shift = 8 * byte;
  unsigned int* word = reinterpret_cast<unsigned int*>(reinterpret_cast<char*>(address) - byte);
  const unsigned int mask = (sizeof(T) == 1 ? 0xFFu : 0xFFFFu) << shift;
  using Bits = std::conditional_t<sizeof(T) == 1, unsigned char, unsigned short>;
  unsigned int seen = *word, expected;
  T old;
  do {
    expected = seen;
    old = __builtin_bit_cast(T, static_cast<Bits>(expected >> shift));
    const unsigned int bits = __builtin_bit_cast(Bits, static_cast<T>(combine(old)));
    seen = atomicCAS(word, expected, (expected & ~mask) | (bits << shift));
  } while (seen != expected);
  return old;
}
}  // namespace at::parity_stub

#define PARITY_ATOMIC_ADD(Result, T, expression)                                                                     \
  inline C10_DEVICE Result atomicAdd(T* address, T value) {                                                          \
    return static_cast<Result>(at::parity_stub::replace_in_word(address, [=](T old) { return static_cast<T>(expression); })); \
  }
PARITY_ATOMIC_ADD(c10::Half, c10::Half, old + value) PARITY_ATOMIC_ADD(c10::BFloat16, c10::BFloat16, old + value)
PARITY_ATOMIC_ADD(void, uint8_t, old + value) PARITY_ATOMIC_ADD(void, int8_t, old + value)
PARITY_ATOMIC_ADD(void, int16_t, old + value) PARITY_ATOMIC_ADD(void, bool, old || value)
#undef PARITY_ATOMIC_ADD
inline C10_DEVICE void atomicAdd(int64_t* address, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}
template <typename T> inline C10_DEVICE void atomicAdd(c10::complex<T>* address, c10::complex<T> value) {
  atomicAdd(&address->real_, value.real_);
  atomicAdd(&address->imag_, value.imag_);
}

// PyTorch has an overload for each type, so the address alone selects it and the value is converted.
namespace at::parity_stub {
template <typename T> using Converted = std::common_type_t<T>;
}
template <typename T> inline C10_DEVICE auto gpuAtomicAdd(T* address, at::parity_stub::Converted<T> value) {
  return atomicAdd(address, value);
}
template <typename T> inline C10_DEVICE void gpuAtomicAddNoReturn(T* address, at::parity_stub::Converted<T> value) {
  atomicAdd(address, value);
}
#define PARITY_ATOMIC(Name, expression)                                                        \
  template <typename T>                                                                        \
  inline C10_DEVICE T gpuAtomic##Name(T* address, at::parity_stub::Converted<T> value) {       \
    if constexpr (sizeof(T) < 4) {                                                             \
      return at::parity_stub::replace_in_word(address, [=](T old) -> T { return expression; }); \
    } else {                                                                                   \
      using Bits = std::conditional_t<sizeof(T) == 4, unsigned int, unsigned long long>;       \
      Bits* word = reinterpret_cast<Bits*>(address);                                           \
      Bits seen = *word, expected;                                                             \
      T old;                                                                                   \
      do {                                                                                     \
        expected = seen;                                                                       \
        old = __builtin_bit_cast(T, expected);                                                 \
        seen = atomicCAS(word, expected, __builtin_bit_cast(Bits, static_cast<T>(expression))); \
      } while (seen != expected);                                                              \
      return old;                                                                              \
    }                                                                                          \
  }
PARITY_ATOMIC(Mul, old * value)
PARITY_ATOMIC(Max, value != value || value > old ? value : old)
PARITY_ATOMIC(Min, value != value || value < old ? value : old)
#undef PARITY_ATOMIC

namespace at::native {
template <typename T, typename index_t>
inline C10_DEVICE void fastAtomicAdd(T* tensor, index_t index, const index_t numel, T value, bool = true) {
  gpuAtomicAdd(tensor + index, value);
}
template <typename T> inline C10_DEVICE T WARP_SHFL_impl(T value, int lane, int width) { return __shfl(value, lane, width); }
}  // namespace at::native

