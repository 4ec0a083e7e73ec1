// CUDA's SIMD video functions, which process two halves or four bytes of a word.
#pragma once

#include <parity/compat/base.h>

namespace parity_compat {

// result[k] = operation(a[k], b[k]) for lanes of type Lane.
template <class Lane, class Operation>
__device__ __forceinline__ unsigned lanes(unsigned a, unsigned b, Operation operation) {
    unsigned result = 0;
    for (unsigned at = 0; at < 32; at += 8 * sizeof(Lane)) {
        const unsigned lane = unsigned(operation(int(Lane(a >> at)), int(Lane(b >> at))));
        result |= (lane & (sizeof(Lane) == 2 ? 0xffffu : 0xffu)) << at;
    }
    return result;
}

template <class Lane, class Operation>
__device__ __forceinline__ unsigned sum_of_lanes(unsigned a, unsigned b, Operation operation) {
    unsigned result = 0;
    for (unsigned at = 0; at < 32; at += 8 * sizeof(Lane)) {
        result += unsigned(operation(int(Lane(a >> at)), int(Lane(b >> at))));
    }
    return result;
}

__device__ __forceinline__ constexpr int least(int a, int b) { return b < a ? b : a; }
__device__ __forceinline__ constexpr int most(int a, int b) { return b > a ? b : a; }
template <class Lane>
__device__ __forceinline__ constexpr int saturated(int x) {
    constexpr int top = Lane(-1) > Lane(0) ? int(Lane(-1)) : (1 << (8 * sizeof(Lane) - 1)) - 1;
    constexpr int bottom = Lane(-1) > Lane(0) ? 0 : -top - 1;
    return most(bottom, least(top, x));
}

}  // namespace parity_compat

#define PARITY_COMPAT_LANES(name, Lane, expression)                                                     \
    PARITY_COMPAT unsigned name(unsigned a, unsigned b) {                                               \
        using namespace parity_compat;                                                                  \
        return lanes<Lane>(a, b, [](int x, int y) { return int(expression); });                         \
    }
#define PARITY_COMPAT_LANES_OF_ONE(name, Lane, expression)                                              \
    PARITY_COMPAT unsigned name(unsigned a) {                                                           \
        using namespace parity_compat;                                                                  \
        return lanes<Lane>(a, 0, [](int x, int) { return int(expression); });                           \
    }
#define PARITY_COMPAT_SUM(name, Lane)                                                                   \
    PARITY_COMPAT unsigned name(unsigned a, unsigned b) {                                               \
        return parity_compat::sum_of_lanes<Lane>(a, b, [](int x, int y) { return x < y ? y - x : x - y; }); \
    }
// __vcmp sets all bits of a lane, __vset sets it to 1.
#define PARITY_COMPAT_COMPARE(name, n, Lane, operator)                        \
    PARITY_COMPAT_LANES(__vcmp##name##n, Lane, x operator y ? -1 : 0)         \
    PARITY_COMPAT_LANES(__vset##name##n, Lane, x operator y)
#define PARITY_COMPAT_VIDEO(n, Signed, Unsigned)                                                         \
    PARITY_COMPAT_LANES(__vadd##n, Unsigned, x + y)                                                      \
    PARITY_COMPAT_LANES(__vaddss##n, Signed, saturated<Signed>(x + y))                                   \
    PARITY_COMPAT_LANES(__vaddus##n, Unsigned, saturated<Unsigned>(x + y))                               \
    PARITY_COMPAT_LANES(__vsub##n, Unsigned, x - y)                                                      \
    PARITY_COMPAT_LANES(__vsubss##n, Signed, saturated<Signed>(x - y))                                   \
    PARITY_COMPAT_LANES(__vsubus##n, Unsigned, saturated<Unsigned>(x - y))                               \
    PARITY_COMPAT_LANES(__vavgs##n, Signed, (x + y + (x + y >= 0)) >> 1) /* ties go away from zero */    \
    PARITY_COMPAT_LANES(__vavgu##n, Unsigned, (x + y + 1) >> 1)                                          \
    PARITY_COMPAT_LANES(__vhaddu##n, Unsigned, (x + y) >> 1)                                             \
    PARITY_COMPAT_LANES(__vabsdiffs##n, Signed, x < y ? y - x : x - y)                                   \
    PARITY_COMPAT_LANES(__vabsdiffu##n, Unsigned, x < y ? y - x : x - y)                                 \
    PARITY_COMPAT_LANES(__vmaxs##n, Signed, most(x, y))                                                  \
    PARITY_COMPAT_LANES(__vmaxu##n, Unsigned, most(x, y))                                                \
    PARITY_COMPAT_LANES(__vmins##n, Signed, least(x, y))                                                 \
    PARITY_COMPAT_LANES(__vminu##n, Unsigned, least(x, y))                                               \
    PARITY_COMPAT_LANES_OF_ONE(__vabs##n, Signed, x < 0 ? -x : x)                                        \
    PARITY_COMPAT_LANES_OF_ONE(__vabsss##n, Signed, saturated<Signed>(x < 0 ? -x : x))                   \
    PARITY_COMPAT_LANES_OF_ONE(__vneg##n, Signed, -x)                                                    \
    PARITY_COMPAT_LANES_OF_ONE(__vnegss##n, Signed, saturated<Signed>(-x))                               \
    PARITY_COMPAT_SUM(__vsads##n, Signed)                                                                \
    PARITY_COMPAT_SUM(__vsadu##n, Unsigned)                                                              \
    PARITY_COMPAT_COMPARE(eq, n, Unsigned, ==)                                                           \
    PARITY_COMPAT_COMPARE(ne, n, Unsigned, !=)                                                           \
    PARITY_COMPAT_COMPARE(ges, n, Signed, >=)                                                            \
    PARITY_COMPAT_COMPARE(geu, n, Unsigned, >=)                                                          \
    PARITY_COMPAT_COMPARE(gts, n, Signed, >)                                                             \
    PARITY_COMPAT_COMPARE(gtu, n, Unsigned, >)                                                           \
    PARITY_COMPAT_COMPARE(les, n, Signed, <=)                                                            \
    PARITY_COMPAT_COMPARE(leu, n, Unsigned, <=)                                                          \
    PARITY_COMPAT_COMPARE(lts, n, Signed, <)                                                             \
    PARITY_COMPAT_COMPARE(ltu, n, Unsigned, <)
PARITY_COMPAT_VIDEO(2, short, unsigned short)
PARITY_COMPAT_VIDEO(4, signed char, unsigned char)
#undef PARITY_COMPAT_VIDEO
#undef PARITY_COMPAT_COMPARE
#undef PARITY_COMPAT_SUM
#undef PARITY_COMPAT_LANES_OF_ONE

// Functions for compute capability 9.0: minimum and maximum of two or three values, or of a sum and a third value;
// clamped at 0 (relu), or with flags for the operand selected. Sums wrap.
PARITY_COMPAT_LANES(__vimax_s16x2_relu, short, most(most(x, y), 0))
PARITY_COMPAT_LANES(__vimin_s16x2_relu, short, most(least(x, y), 0))
#undef PARITY_COMPAT_LANES

#define PARITY_COMPAT_OF_WORDS(T, suffix)                                                                       \
    PARITY_COMPAT T __vimax3_##suffix(T a, T b, T c) { return a > b ? (a > c ? a : c) : (b > c ? b : c); }      \
    PARITY_COMPAT T __vimin3_##suffix(T a, T b, T c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }      \
    PARITY_COMPAT T __viaddmax_##suffix(T a, T b, T c) {                                                        \
        const T sum = T(unsigned(a) + unsigned(b));                                                             \
        return sum > c ? sum : c;                                                                               \
    }                                                                                                           \
    PARITY_COMPAT T __viaddmin_##suffix(T a, T b, T c) {                                                        \
        const T sum = T(unsigned(a) + unsigned(b));                                                             \
        return sum < c ? sum : c;                                                                               \
    }                                                                                                           \
    PARITY_COMPAT T __vibmax_##suffix(T a, T b, bool* first) { return (*first = a >= b) ? a : b; }              \
    PARITY_COMPAT T __vibmin_##suffix(T a, T b, bool* first) { return (*first = a <= b) ? a : b; }
PARITY_COMPAT_OF_WORDS(int, s32)
PARITY_COMPAT_OF_WORDS(unsigned, u32)
#undef PARITY_COMPAT_OF_WORDS

PARITY_COMPAT int __vimax_s32_relu(int a, int b) { return parity_compat::most(parity_compat::most(a, b), 0); }
PARITY_COMPAT int __vimin_s32_relu(int a, int b) { return parity_compat::most(parity_compat::least(a, b), 0); }
PARITY_COMPAT int __vimax3_s32_relu(int a, int b, int c) { return parity_compat::most(__vimax3_s32(a, b, c), 0); }
PARITY_COMPAT int __vimin3_s32_relu(int a, int b, int c) { return parity_compat::most(__vimin3_s32(a, b, c), 0); }
PARITY_COMPAT int __viaddmax_s32_relu(int a, int b, int c) { return parity_compat::most(__viaddmax_s32(a, b, c), 0); }
PARITY_COMPAT int __viaddmin_s32_relu(int a, int b, int c) { return parity_compat::most(__viaddmin_s32(a, b, c), 0); }

#define PARITY_COMPAT_OF_HALVES(kind, s)                                                                         \
    PARITY_COMPAT unsigned __vimax3_##kind(unsigned a, unsigned b, unsigned c) {                                 \
        return __vmax##s##2(__vmax##s##2(a, b), c);                                                              \
    }                                                                                                            \
    PARITY_COMPAT unsigned __vimin3_##kind(unsigned a, unsigned b, unsigned c) {                                 \
        return __vmin##s##2(__vmin##s##2(a, b), c);                                                              \
    }                                                                                                            \
    PARITY_COMPAT unsigned __viaddmax_##kind(unsigned a, unsigned b, unsigned c) {                               \
        return __vmax##s##2(__vadd2(a, b), c);                                                                   \
    }                                                                                                            \
    PARITY_COMPAT unsigned __viaddmin_##kind(unsigned a, unsigned b, unsigned c) {                               \
        return __vmin##s##2(__vadd2(a, b), c);                                                                   \
    }                                                                                                            \
    PARITY_COMPAT unsigned __vibmax_##kind(unsigned a, unsigned b, bool* high, bool* low) {                      \
        const unsigned first = __vcmpge##s##2(a, b);                                                             \
        *high = first >> 16, *low = first & 1;                                                                   \
        return __vmax##s##2(a, b);                                                                               \
    }                                                                                                            \
    PARITY_COMPAT unsigned __vibmin_##kind(unsigned a, unsigned b, bool* high, bool* low) {                      \
        const unsigned first = __vcmple##s##2(a, b);                                                             \
        *high = first >> 16, *low = first & 1;                                                                   \
        return __vmin##s##2(a, b);                                                                               \
    }
PARITY_COMPAT_OF_HALVES(s16x2, s)
PARITY_COMPAT_OF_HALVES(u16x2, u)
#undef PARITY_COMPAT_OF_HALVES

#define PARITY_COMPAT_RELU(name) \
    PARITY_COMPAT unsigned name##_relu(unsigned a, unsigned b, unsigned c) { return __vmaxs2(name(a, b, c), 0); }
PARITY_COMPAT_RELU(__vimax3_s16x2)
PARITY_COMPAT_RELU(__vimin3_s16x2)
PARITY_COMPAT_RELU(__viaddmax_s16x2)
PARITY_COMPAT_RELU(__viaddmin_s16x2)
#undef PARITY_COMPAT_RELU
