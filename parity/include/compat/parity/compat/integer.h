// Dot products of bytes and halves, and searches for the first and the n-th set bit.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// c + a[0] * b[0] + ..., modulo 2^32.
template <class A, class B>
__device__ __forceinline__ unsigned dot_of_bytes(unsigned a, unsigned b, unsigned c) {
    for (int at = 0; at < 32; at += 8) c += unsigned(int(A(a >> at)) * int(B(b >> at)));
    return c;
}

template <class A, class B>
__device__ __forceinline__ unsigned dot_of_halves(unsigned a, unsigned b, unsigned c) {
    return c + unsigned(int(A(a)) * int(B(b))) + unsigned(int(A(a >> 16)) * int(B(b >> 8)));
}

}  // namespace parity_compat

PARITY_COMPAT int __dp4a(int a, int b, int c) {
    return int(parity_compat::dot_of_bytes<signed char, signed char>(unsigned(a), unsigned(b), unsigned(c)));
}
PARITY_COMPAT unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    return parity_compat::dot_of_bytes<unsigned char, unsigned char>(a, b, c);
}
PARITY_COMPAT int __dp4a(char4 a, char4 b, int c) {
    return __dp4a(parity_compat::bits<int>(a), parity_compat::bits<int>(b), c);
}
PARITY_COMPAT unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
    return __dp4a(parity_compat::bits<unsigned>(a), parity_compat::bits<unsigned>(b), c);
}

// Dot product of the halves of a with the low or the high two bytes of b.
#define PARITY_COMPAT_DP2A(name, shift)                                                                            \
    PARITY_COMPAT int name(int a, int b, int c) {                                                                  \
        return int(parity_compat::dot_of_halves<short, signed char>(unsigned(a), unsigned(b) >> shift, unsigned(c))); \
    }                                                                                                              \
    PARITY_COMPAT unsigned name(unsigned a, unsigned b, unsigned c) {                                              \
        return parity_compat::dot_of_halves<unsigned short, unsigned char>(a, b >> shift, c);                      \
    }                                                                                                              \
    PARITY_COMPAT int name(short2 a, char4 b, int c) {                                                             \
        return name(parity_compat::bits<int>(a), parity_compat::bits<int>(b), c);                                  \
    }                                                                                                              \
    PARITY_COMPAT unsigned name(ushort2 a, uchar4 b, unsigned c) {                                                 \
        return name(parity_compat::bits<unsigned>(a), parity_compat::bits<unsigned>(b), c);                        \
    }
PARITY_COMPAT_DP2A(__dp2a_lo, 0)
PARITY_COMPAT_DP2A(__dp2a_hi, 16)
#undef PARITY_COMPAT_DP2A

// Position of the n-th set bit from base: upwards if n > 0, downwards if n < 0, base itself if n = 0.
PARITY_COMPAT unsigned __fns(unsigned mask, unsigned base, int n) {
    if (n == 0) return mask >> base & 1 ? base : ~0u;
    const int step = n > 0 ? 1 : -1;
    for (int at = int(base), left = n * step; at >= 0 && at < 32; at += step) {
        if (mask >> at & 1 && --left == 0) return unsigned(at);
    }
    return ~0u;
}

PARITY_COMPAT int __ffsll(long x) { return __builtin_ffsll(x); }
PARITY_COMPAT int __ffsll(unsigned long x) { return __builtin_ffsll(static_cast<long long>(x)); }
PARITY_COMPAT int __ffsll(int x) { return __builtin_ffsll(x); }
PARITY_COMPAT int __ffsll(unsigned int x) { return __builtin_ffsll(x); }
PARITY_COMPAT int __ffs(long x) { return __builtin_ffs(static_cast<int>(x)); }
PARITY_COMPAT int __ffs(unsigned long x) { return __builtin_ffs(static_cast<int>(x)); }
PARITY_COMPAT int __ffs(long long x) { return __builtin_ffs(static_cast<int>(x)); }
PARITY_COMPAT int __ffs(unsigned long long x) { return __builtin_ffs(static_cast<int>(x)); }
