// Vector types without operators, as in CUDA, for classes that derive from them. Operators inherited from HIP's types
// are ambiguous with the class's operators or take precedence over its conversions.
#pragma once

#include <hip/hip_runtime.h>

#define PARITY_HD __host__ __device__ __forceinline__
#define PARITY_PLAIN(name, T)                                                                                   \
    struct __attribute__((aligned(2 * sizeof(T)))) name##2 {                                                    \
        T x, y;                                                                                                 \
        name##2() = default;                                                                                    \
        constexpr PARITY_HD name##2(T x, T y) : x(x), y(y) {}                                                   \
        PARITY_HD name##2(const ::name##2& v) : x(v.x), y(v.y) {}                                               \
        PARITY_HD operator ::name##2() const { return ::name##2(x, y); }                                        \
    };                                                                                                          \
    struct name##3 {                                                                                            \
        T x, y, z;                                                                                              \
        name##3() = default;                                                                                    \
        constexpr PARITY_HD name##3(T x, T y, T z) : x(x), y(y), z(z) {}                                        \
        PARITY_HD name##3(const ::name##3& v) : x(v.x), y(v.y), z(v.z) {}                                       \
        PARITY_HD operator ::name##3() const { return ::name##3(x, y, z); }                                     \
    };                                                                                                          \
    struct __attribute__((aligned(sizeof(T) < 8 ? 4 * sizeof(T) : 16))) name##4 {                               \
        T x, y, z, w;                                                                                           \
        name##4() = default;                                                                                    \
        constexpr PARITY_HD name##4(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}                             \
        PARITY_HD name##4(const ::name##4& v) : x(v.x), y(v.y), z(v.z), w(v.w) {}                               \
        PARITY_HD operator ::name##4() const { return ::name##4(x, y, z, w); }                                  \
    };

namespace parity_compat::plain {
PARITY_PLAIN(char, signed char)
PARITY_PLAIN(uchar, unsigned char)
PARITY_PLAIN(short, short)
PARITY_PLAIN(ushort, unsigned short)
PARITY_PLAIN(int, int)
PARITY_PLAIN(uint, unsigned)
PARITY_PLAIN(long, long)
PARITY_PLAIN(ulong, unsigned long)
PARITY_PLAIN(longlong, long long)
PARITY_PLAIN(ulonglong, unsigned long long)
PARITY_PLAIN(float, float)
PARITY_PLAIN(double, double)
}  // namespace parity_compat::plain
#undef PARITY_PLAIN
#undef PARITY_HD
