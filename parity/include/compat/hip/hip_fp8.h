// <hip/hip_fp8.h> with the 8-bit floats of the OCP specification ("OFP8", 2023). HIP has them since 6.3. Earlier
// versions only have the FNUZ formats of gfx94x, in which the same bits mean half the value. Rounding, saturation and
// NaN are as in CUDA.
#pragma once

#include <hip/hip_version.h>

#if HIP_VERSION_MAJOR > 6 || (HIP_VERSION_MAJOR == 6 && HIP_VERSION_MINOR >= 3)
#include_next <hip/hip_fp8.h>
#else

// Renames AMD's enumeration, which only has the FNUZ formats. The enumeration below has all four formats.
#define __hip_fp8_interpretation_t parity_fp8_fnuz_interpretation_t
#define __HIP_E4M3_FNUZ parity_fp8_e4m3_fnuz
#define __HIP_E5M2_FNUZ parity_fp8_e5m2_fnuz
#include_next <hip/hip_fp8.h>
#undef __hip_fp8_interpretation_t
#undef __HIP_E4M3_FNUZ
#undef __HIP_E5M2_FNUZ

#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>

// Both families of formats are available, as on devices without hardware support for either.
#define HIP_FP8_TYPE_OCP 1
#define HIP_FP8_TYPE_FNUZ 1

enum __hip_fp8_interpretation_t { __HIP_E4M3 = 0, __HIP_E5M2 = 1, __HIP_E4M3_FNUZ = 2, __HIP_E5M2_FNUZ = 3 };

#define PARITY_FP8 static __host__ __device__ __forceinline__

namespace parity_fp8 {

PARITY_FP8 constexpr bool is_fnuz(__hip_fp8_interpretation_t kind) { return kind >= __HIP_E4M3_FNUZ; }
PARITY_FP8 constexpr parity_fp8_fnuz_interpretation_t fnuz(__hip_fp8_interpretation_t kind) {
    return kind == __HIP_E4M3_FNUZ ? parity_fp8_e4m3_fnuz : parity_fp8_e5m2_fnuz;
}

//         bits       bias  largest        infinity
// E4M3    s eeee mmm    7  448   (0x7e)   none, NaN is 0x7f
// E5M2    s eeeee mm   15  57344 (0x7b)   0x7c
PARITY_FP8 __hip_fp8_storage_t encode(double x, __hip_saturation_t saturate, bool e4m3) {
    unsigned long long pattern;
    __builtin_memcpy(&pattern, &x, sizeof(pattern));
    const int fraction = e4m3 ? 3 : 2, least = e4m3 ? -6 : -14;  // fraction bits, subnormal exponent
    const unsigned sign = unsigned(pattern >> 63) << 7;
    const double magnitude = __builtin_fabs(x);
    if (magnitude != magnitude) {
        return __hip_fp8_storage_t(sign | (e4m3 ? 0x7f : 0x7e | (pattern >> 50 & 3)));
    }
    // A tie half a step above the largest value rounds down to it in E4M3, where the significand of that value is even.
    if (e4m3 ? magnitude > 464.0 : magnitude >= 61440.0) {
        const unsigned beyond = e4m3 ? 0x7f : 0x7c;
        return __hip_fp8_storage_t(sign | (saturate == __HIP_SATFINITE ? (e4m3 ? 0x7e : 0x7b) : beyond));
    }
    int exponent = int(pattern >> 52 & 0x7ff) - 1023;
    if (exponent < least) exponent = least;
    const unsigned long long scale_bits = (unsigned long long)(1023 + fraction - exponent) << 52;
    double scale;
    __builtin_memcpy(&scale, &scale_bits, sizeof(scale));
    const unsigned steps = unsigned(__builtin_rint(magnitude * scale));  // in units of the last place; ties to even
    return __hip_fp8_storage_t(sign | (steps + (unsigned(exponent - least) << fraction)));
}

// Replaces a NaN by CUDA's positive NaN first.
PARITY_FP8 __hip_fp8_storage_t encode_float(float x, __hip_saturation_t saturate, bool e4m3) {
    return x != x ? 0x7f : encode(double(x), saturate, e4m3);
}

PARITY_FP8 float decode(__hip_fp8_storage_t code, bool e4m3) {
    const int fraction = e4m3 ? 3 : 2, least = e4m3 ? -6 : -14;
    const unsigned magnitude = code & 0x7f, sign = unsigned(code & 0x80) << 24;
    unsigned pattern;
    if (e4m3 ? magnitude == 0x7f : magnitude > 0x7c) return __builtin_nanf("0x3fffff");
    if (!e4m3 && magnitude == 0x7c) {
        pattern = 0x7f800000;
    } else if (magnitude >> fraction == 0) {
        const float value = float(magnitude) * (e4m3 ? 0x1p-9f : 0x1p-16f);
        __builtin_memcpy(&pattern, &value, sizeof(pattern));
    } else {
        pattern = (magnitude << (23 - fraction)) + (unsigned(127 + least - 1) << 23);
    }
    pattern |= sign;
    float value;
    __builtin_memcpy(&value, &pattern, sizeof(value));
    return value;
}

PARITY_FP8 __half_raw half_of(__hip_fp8_storage_t code, bool e4m3) {
    const float value = decode(code, e4m3);
    __half_raw raw;
    raw.data = _Float16(value);
    if (value != value) raw.x = 0x7fff;
    return raw;
}

PARITY_FP8 float widened(__half_raw x) { return float(x.data); }
PARITY_FP8 float widened(__hip_bfloat16_raw x) {
    const unsigned pattern = unsigned(x.x) << 16;
    float value;
    __builtin_memcpy(&value, &pattern, sizeof(value));
    return value;
}

// Saturates; NaN becomes 0.
template <class Integer>
__host__ __device__ __forceinline__ Integer integer_of(float x) {
    constexpr bool is_signed = Integer(-1) < Integer(0);
    constexpr Integer top = is_signed ? Integer(((Integer(1) << (8 * sizeof(Integer) - 2)) - 1) * 2 + 1) : Integer(-1);
    if (x != x) return 0;
    if (double(x) >= double(top)) return top;
    if (double(x) <= (is_signed ? -double(top) - 1.0 : 0.0)) return is_signed ? Integer(-top - 1) : Integer(0);
    return Integer(x);
}

}  // namespace parity_fp8

#define PARITY_FP8_CONVERT(name, From, wide)                                                                        \
    PARITY_FP8 __hip_fp8_storage_t __hip_cvt_##name##_to_fp8(const From x, const __hip_saturation_t saturate,       \
                                                             const __hip_fp8_interpretation_t kind) {               \
        if (parity_fp8::is_fnuz(kind)) return __hip_cvt_##name##_to_fp8(x, saturate, parity_fp8::fnuz(kind));       \
        return wide(x, saturate, kind == __HIP_E4M3);                                                               \
    }
namespace parity_fp8 {
PARITY_FP8 __hip_fp8_storage_t encode_half(__half_raw x, __hip_saturation_t saturate, bool e4m3) {
    return encode_float(widened(x), saturate, e4m3);
}
PARITY_FP8 __hip_fp8_storage_t encode_bfloat16(__hip_bfloat16_raw x, __hip_saturation_t saturate, bool e4m3) {
    return encode_float(widened(x), saturate, e4m3);
}
}  // namespace parity_fp8
PARITY_FP8_CONVERT(double, double, parity_fp8::encode)
PARITY_FP8_CONVERT(float, float, parity_fp8::encode_float)
PARITY_FP8_CONVERT(halfraw, __half_raw, parity_fp8::encode_half)
PARITY_FP8_CONVERT(bfloat16raw, __hip_bfloat16_raw, parity_fp8::encode_bfloat16)
#undef PARITY_FP8_CONVERT

#define PARITY_FP8_CONVERT_TWO(name, From, one, One, x0, x1)                                                          \
    PARITY_FP8 __hip_fp8x2_storage_t __hip_cvt_##name##_to_fp8x2(const From x, const __hip_saturation_t saturate,     \
                                                                 const __hip_fp8_interpretation_t kind) {             \
        const unsigned low = __hip_cvt_##one##_to_fp8(One{x0}, saturate, kind);                                       \
        const unsigned high = __hip_cvt_##one##_to_fp8(One{x1}, saturate, kind);                                      \
        return __hip_fp8x2_storage_t(low | high << 8);                                                                \
    }
PARITY_FP8_CONVERT_TWO(double2, double2, double, double, x.x, x.y)
PARITY_FP8_CONVERT_TWO(float2, float2, float, float, x.x, x.y)
PARITY_FP8_CONVERT_TWO(halfraw2, __half2_raw, halfraw, __half_raw, x.data.x, x.data.y)
PARITY_FP8_CONVERT_TWO(bfloat16raw2, __hip_bfloat162_raw, bfloat16raw, __hip_bfloat16_raw, x.x, x.y)
#undef PARITY_FP8_CONVERT_TWO

PARITY_FP8 __half_raw __hip_cvt_fp8_to_halfraw(const __hip_fp8_storage_t x, const __hip_fp8_interpretation_t kind) {
    if (parity_fp8::is_fnuz(kind)) return __hip_cvt_fp8_to_halfraw(x, parity_fp8::fnuz(kind));
    return parity_fp8::half_of(x, kind == __HIP_E4M3);
}
PARITY_FP8 __half2_raw __hip_cvt_fp8x2_to_halfraw2(const __hip_fp8x2_storage_t x,
                                                   const __hip_fp8_interpretation_t kind) {
    if (parity_fp8::is_fnuz(kind)) return __hip_cvt_fp8x2_to_halfraw2(x, parity_fp8::fnuz(kind));
    __half2_raw two;
    two.x = __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t(x), kind);
    two.y = __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t(x >> 8), kind);
    return two;
}

#define PARITY_FP8_TYPES(name, kind, is_e4m3)                                                                         \
    struct __hip_fp8_##name {                                                                                         \
        __hip_fp8_storage_t __x;                                                                                      \
        static constexpr __hip_saturation_t __default_saturation = __HIP_SATFINITE;                                   \
        static constexpr __hip_fp8_interpretation_t __default_interpret = kind;                                       \
        __hip_fp8_##name() = default;                                                                                 \
        __host__ __device__ __hip_fp8_##name(float x) : __x(parity_fp8::encode_float(x, __HIP_SATFINITE, is_e4m3)) {} \
        __host__ __device__ __hip_fp8_##name(double x) : __x(parity_fp8::encode(x, __HIP_SATFINITE, is_e4m3)) {}      \
        __host__ __device__ __hip_fp8_##name(__half x)                                                                \
            : __x(parity_fp8::encode_half(static_cast<__half_raw>(x), __HIP_SATFINITE, is_e4m3)) {}                   \
        __host__ __device__ __hip_fp8_##name(__hip_bfloat16 x)                                                        \
            : __x(parity_fp8::encode_bfloat16(static_cast<__hip_bfloat16_raw>(x), __HIP_SATFINITE, is_e4m3)) {}       \
        PARITY_FP8_OF_INTEGER(name, short)                                                                            \
        PARITY_FP8_OF_INTEGER(name, unsigned short)                                                                   \
        PARITY_FP8_OF_INTEGER(name, int)                                                                              \
        PARITY_FP8_OF_INTEGER(name, unsigned)                                                                         \
        PARITY_FP8_OF_INTEGER(name, long)                                                                             \
        PARITY_FP8_OF_INTEGER(name, unsigned long)                                                                    \
        PARITY_FP8_OF_INTEGER(name, long long)                                                                        \
        PARITY_FP8_OF_INTEGER(name, unsigned long long)                                                               \
        __host__ __device__ operator float() const { return parity_fp8::decode(__x, is_e4m3); }                       \
        __host__ __device__ operator double() const { return parity_fp8::decode(__x, is_e4m3); }                      \
        __host__ __device__ operator __half() const { return __half(parity_fp8::half_of(__x, is_e4m3)); }             \
        __host__ __device__ operator __hip_bfloat16() const {                                                         \
            return __hip_bfloat16(parity_fp8::decode(__x, is_e4m3)); /* exact */                                      \
        }                                                                                                             \
        __host__ __device__ operator bool() const { return (__x & 0x7f) != 0; }                                       \
        PARITY_FP8_TO_INTEGER(char, is_e4m3)                                                                          \
        PARITY_FP8_TO_INTEGER(signed char, is_e4m3)                                                                   \
        PARITY_FP8_TO_INTEGER(unsigned char, is_e4m3)                                                                 \
        PARITY_FP8_TO_INTEGER(short, is_e4m3)                                                                         \
        PARITY_FP8_TO_INTEGER(unsigned short, is_e4m3)                                                                \
        PARITY_FP8_TO_INTEGER(int, is_e4m3)                                                                           \
        PARITY_FP8_TO_INTEGER(unsigned, is_e4m3)                                                                      \
        PARITY_FP8_TO_INTEGER(long, is_e4m3)                                                                          \
        PARITY_FP8_TO_INTEGER(unsigned long, is_e4m3)                                                                 \
        PARITY_FP8_TO_INTEGER(long long, is_e4m3)                                                                     \
        PARITY_FP8_TO_INTEGER(unsigned long long, is_e4m3)                                                            \
    };                                                                                                                \
    struct __hip_fp8x2_##name {                                                                                       \
        __hip_fp8x2_storage_t __x;                                                                                    \
        __hip_fp8x2_##name() = default;                                                                               \
        __host__ __device__ __hip_fp8x2_##name(float2 x)                                                              \
            : __x(__hip_cvt_float2_to_fp8x2(x, __HIP_SATFINITE, kind)) {}                                             \
        __host__ __device__ __hip_fp8x2_##name(double2 x)                                                             \
            : __x(__hip_cvt_double2_to_fp8x2(x, __HIP_SATFINITE, kind)) {}                                            \
        __host__ __device__ __hip_fp8x2_##name(__half2 x)                                                             \
            : __x(__hip_cvt_halfraw2_to_fp8x2(static_cast<__half2_raw>(x), __HIP_SATFINITE, kind)) {}                 \
        __host__ __device__ __hip_fp8x2_##name(__hip_bfloat162 x)                                                     \
            : __x(__hip_cvt_bfloat16raw2_to_fp8x2(static_cast<__hip_bfloat162_raw>(x), __HIP_SATFINITE, kind)) {}     \
        __host__ __device__ operator __half2() const { return __half2(__hip_cvt_fp8x2_to_halfraw2(__x, kind)); }      \
        __host__ __device__ operator float2() const {                                                                 \
            return float2(parity_fp8::decode(__hip_fp8_storage_t(__x), is_e4m3),                                      \
                          parity_fp8::decode(__hip_fp8_storage_t(__x >> 8), is_e4m3));                                \
        }                                                                                                             \
    };                                                                                                                \
    struct __hip_fp8x4_##name {                                                                                       \
        __hip_fp8x4_storage_t __x;                                                                                    \
        __hip_fp8x4_##name() = default;                                                                               \
        __host__ __device__ __hip_fp8x4_##name(float4 x) : __x(joined(float2(x.x, x.y), float2(x.z, x.w))) {}         \
        __host__ __device__ __hip_fp8x4_##name(double4 x) : __x(joined(double2(x.x, x.y), double2(x.z, x.w))) {}      \
        __host__ __device__ __hip_fp8x4_##name(__half2 low, __half2 high) : __x(joined(low, high)) {}                 \
        __host__ __device__ __hip_fp8x4_##name(__hip_bfloat162 low, __hip_bfloat162 high) : __x(joined(low, high)) {} \
        __host__ __device__ operator float4() const {                                                                 \
            return float4(parity_fp8::decode(__hip_fp8_storage_t(__x), is_e4m3),                                      \
                          parity_fp8::decode(__hip_fp8_storage_t(__x >> 8), is_e4m3),                                 \
                          parity_fp8::decode(__hip_fp8_storage_t(__x >> 16), is_e4m3),                                \
                          parity_fp8::decode(__hip_fp8_storage_t(__x >> 24), is_e4m3));                               \
        }                                                                                                             \
                                                                                                                      \
      private:                                                                                                        \
        template <class Two>                                                                                          \
        static __host__ __device__ unsigned joined(Two low, Two high) {                                               \
            return __hip_fp8x2_##name(low).__x | unsigned(__hip_fp8x2_##name(high).__x) << 16;                        \
        }                                                                                                             \
    };
#define PARITY_FP8_OF_INTEGER(name, Integer) \
    __host__ __device__ __hip_fp8_##name(Integer x) : __hip_fp8_##name(float(x)) {}
#define PARITY_FP8_TO_INTEGER(Integer, is_e4m3) \
    __host__ __device__ operator Integer() const { return parity_fp8::integer_of<Integer>(parity_fp8::decode(__x, is_e4m3)); }
PARITY_FP8_TYPES(e4m3, __HIP_E4M3, true)
PARITY_FP8_TYPES(e5m2, __HIP_E5M2, false)
#undef PARITY_FP8_TO_INTEGER
#undef PARITY_FP8_OF_INTEGER
#undef PARITY_FP8_TYPES
#undef PARITY_FP8

#endif
