// cuda::std maps to the host's C++ library, whose constexpr functions and types also work on the device. Names that are
// host-only there (atomics) are declared in cuda::std itself, where lookup finds them first. byte is also declared
// here, because it is a different type from std::byte.
#pragma once

#include <cstddef>

#include <hip/hip_runtime.h>

namespace cuda::std {
using namespace ::std;

enum class byte : unsigned char {};
#define PARITY_OF_BYTES constexpr __host__ __device__ __forceinline__
template <class T>
PARITY_OF_BYTES T to_integer(byte x) { return T(x); }
PARITY_OF_BYTES byte operator|(byte a, byte b) { return byte((unsigned char)a | (unsigned char)b); }
PARITY_OF_BYTES byte operator&(byte a, byte b) { return byte((unsigned char)a & (unsigned char)b); }
PARITY_OF_BYTES byte operator^(byte a, byte b) { return byte((unsigned char)a ^ (unsigned char)b); }
PARITY_OF_BYTES byte operator~(byte x) { return byte(~(unsigned char)x); }
template <class N>
PARITY_OF_BYTES byte operator<<(byte x, N n) { return byte((unsigned char)x << n); }
template <class N>
PARITY_OF_BYTES byte operator>>(byte x, N n) { return byte((unsigned char)x >> n); }
PARITY_OF_BYTES byte& operator|=(byte& a, byte b) { return a = a | b; }
PARITY_OF_BYTES byte& operator&=(byte& a, byte b) { return a = a & b; }
PARITY_OF_BYTES byte& operator^=(byte& a, byte b) { return a = a ^ b; }
#undef PARITY_OF_BYTES
}  // namespace cuda::std
