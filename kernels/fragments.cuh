// Products of 16 x 16 tiles on matrix cores: tensor cores through nvcuda::wmma, MFMA on CDNA, and WMMA on RDNA 3 and 4.
//
// A wavefront holds three matrices: 16 rows of a, 16 columns of b, and their sums. Shared memory stores STEP elements
// of k for each row or column, one after the other. If a GPU lacks a matrix core for a type, lanes multiply and add.
#pragma once

#include "dtypes.cuh"

#ifndef __HIPCC__
#include <mma.h>
#endif

using i8 = int8_t;

#if defined(__GFX9__)
constexpr u32 WAVE = 64;
#else
constexpr u32 WAVE = 32;
#endif

__device__ __forceinline__ u32 lane() { return threadIdx.x % WAVE; }

/** Used without a matrix core: each lane computes one column, and every (WAVE / 16)th row. */
template <class T, class D>
struct Lanes {
    using Stored = T;
    using Sum = D;
    static constexpr u32 STEP = 16, COUNT = 256 / WAVE;
    D sum[COUNT];

    __device__ __forceinline__ void zero() {
        for (u32 e = 0; e < COUNT; ++e) sum[e] = 0;
    }
    __device__ __forceinline__ static u32 row(u32 e) { return e * (WAVE / 16) + lane() / 16; }
    __device__ __forceinline__ void add(const T* a, const T* b) {
        for (u32 e = 0; e < COUNT; ++e)
            for (u32 k = 0; k < STEP; ++k) sum[e] += D(a[row(e) * STEP + k]) * D(b[lane() % 16 * STEP + k]);
    }
    __device__ __forceinline__ void load(const D* from, u32 ld) {
        for (u32 e = 0; e < COUNT; ++e) sum[e] = from[row(e) * ld + lane() % 16];
    }
    __device__ __forceinline__ void store(D* to, u32 ld) const {
        for (u32 e = 0; e < COUNT; ++e) to[row(e) * ld + lane() % 16] = sum[e];
    }
};

/** The matrix core for elements of type T: `zero` or `load` the sums, `add` a step of k, `store` the sums. */
template <class T>
struct Core;

#ifndef __HIPCC__

/** Tensor cores: N fragments of M x M, side by side or stacked, form a tile of 16 x 16. */
template <class T, class D, u32 M, u32 DEPTH>
struct Wmma {
    using Stored = T;
    using Sum = D;
    static constexpr u32 STEP = DEPTH, N = 16 / M;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, M, M, DEPTH, D> sum[N][N];

    __device__ __forceinline__ void zero() {
        for (u32 i = 0; i < N; ++i)
            for (u32 j = 0; j < N; ++j) nvcuda::wmma::fill_fragment(sum[i][j], D(0));
    }
    __device__ __forceinline__ void add(const T* a, const T* b) {
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, M, M, DEPTH, T, nvcuda::wmma::row_major> left;
        nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, M, M, DEPTH, T, nvcuda::wmma::col_major> right;
        for (u32 i = 0; i < N; ++i) {
            nvcuda::wmma::load_matrix_sync(left, a + i * M * STEP, STEP);
            for (u32 j = 0; j < N; ++j) {
                nvcuda::wmma::load_matrix_sync(right, b + j * M * STEP, STEP);
                nvcuda::wmma::mma_sync(sum[i][j], left, right, sum[i][j]);
            }
        }
    }
    __device__ __forceinline__ void load(const D* from, u32 ld) {
        for (u32 i = 0; i < N; ++i)
            for (u32 j = 0; j < N; ++j)
                nvcuda::wmma::load_matrix_sync(sum[i][j], from + i * M * ld + j * M, ld, nvcuda::wmma::mem_row_major);
    }
    __device__ __forceinline__ void store(D* to, u32 ld) const {
        for (u32 i = 0; i < N; ++i)
            for (u32 j = 0; j < N; ++j)
                nvcuda::wmma::store_matrix_sync(to + i * M * ld + j * M, sum[i][j], ld, nvcuda::wmma::mem_row_major);
    }
};
template <>
struct Core<f16> : Wmma<f16, f32, 16, 16> {};
template <>
struct Core<bf16> : Wmma<bf16, f32, 16, 16> {};
template <>
struct Core<i8> : Wmma<i8, i32, 16, 16> {};
template <>
struct Core<f64> : Wmma<f64, f64, 8, 4> {};

#else

/** N elements in a vector register, in the form that the instructions take. */
template <class T, u32 N>
using Packed = T __attribute__((ext_vector_type(N)));

/**
 * A matrix instruction. Each lane holds part of a row of a and of a column of b. The next 16 lanes hold the following
 * part, or a copy if one lane holds all DEPTH elements. `row` returns the row of the e-th sum of a lane.
 */
template <class T, class D, class Instruction>
struct Matrix {
    using Stored = T;
    using Sum = D;
    static constexpr u32 STEP = Instruction::DEPTH, COUNT = 256 / WAVE;
    static constexpr u32 EACH = sizeof(typename Instruction::Operand) / sizeof(T);
    Packed<D, COUNT> sum;

    __device__ __forceinline__ void zero() { sum = {}; }
    __device__ __forceinline__ static typename Instruction::Operand operand(const T* from) {
        typename Instruction::Operand found;
        __builtin_memcpy(&found, from + lane() % 16 * STEP + lane() / 16 * EACH % STEP, sizeof found);
        return found;
    }
    __device__ __forceinline__ void add(const T* a, const T* b) {
        sum = Instruction::multiply(operand(a), operand(b), sum);
    }
    __device__ __forceinline__ void load(const D* from, u32 ld) {
        for (u32 e = 0; e < COUNT; ++e) sum[e] = from[Instruction::row(e, lane() / 16) * ld + lane() % 16];
    }
    __device__ __forceinline__ void store(D* to, u32 ld) const {
        for (u32 e = 0; e < COUNT; ++e) to[Instruction::row(e, lane() / 16) * ld + lane() % 16] = sum[e];
    }
};

#define INSTRUCTION(name, type, bits, depth, e_and_group, call)                                        \
    struct name {                                                                                      \
        using Operand = bits;                                                                          \
        static constexpr u32 DEPTH = depth;                                                            \
        __device__ __forceinline__ static u32 row(u32 e, u32 group) { return e_and_group; }            \
        template <class S>                                                                             \
        __device__ __forceinline__ static S multiply(const Operand& a, const Operand& b, const S& c) { \
            return call;                                                                               \
        }                                                                                              \
    };                                                                                                 \
    template <>                                                                                        \
    struct Core<type>

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
using Halves = Packed<_Float16, 4>;
using Shorts = Packed<short, 4>;
INSTRUCTION(MfmaF16, f16, Halves, 16, 4 * group + e, __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))
    : Matrix<f16, f32, MfmaF16> {};
INSTRUCTION(MfmaBf16, bf16, Shorts, 16, 4 * group + e, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
    : Matrix<bf16, f32, MfmaBf16> {};
INSTRUCTION(MfmaF64, f64, double, 4, 4 * e + group, __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0))
    : Matrix<f64, f64, MfmaF64> {};
#if defined(__gfx90a__)
INSTRUCTION(MfmaI8, i8, int, 16, 4 * group + e, __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, 0, 0, 0))
    : Matrix<i8, i32, MfmaI8> {};
#else
INSTRUCTION(MfmaI8, i8, long, 32, 4 * group + e, __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0))
    : Matrix<i8, i32, MfmaI8> {};
#endif
#if defined(__gfx942__)
/** The f8 of gfx942, e4m3 FNUZ: the same bits mean half of the OCP value, and the only NaN replaces -0. */
struct f8_fnuz {
    uint8_t bits;

    f8_fnuz() = default;
    /** Converts to half of x, exactly. */
    __device__ __forceinline__ explicit f8_fnuz(f8_e4m3 x)
        : bits(x.bits == 0x80 ? 0 : (x.bits & 0x7f) == 0x7f ? 0x80 : x.bits) {}
};
INSTRUCTION(MfmaF8, f8_e4m3, long, 32, 4 * group + e, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
    : Matrix<f8_fnuz, f32, MfmaF8> {
    __device__ __forceinline__ void store(f32* to, u32 ld) const {
        Matrix whole = *this;
        whole.sum *= 4.0f;  // both factors were halved
        whole.store(to, ld);
    }
};
#elif defined(__gfx950__)
INSTRUCTION(MfmaF8, f8_e4m3, long, 32, 4 * group + e, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
    : Matrix<f8_e4m3, f32, MfmaF8> {};
#endif
#elif defined(__GFX11__)
using Halves = Packed<_Float16, 16>;
using Shorts = Packed<short, 16>;
using Bytes = Packed<int, 4>;
INSTRUCTION(WmmaF16, f16, Halves, 16, 2 * e + group, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c))
    : Matrix<f16, f32, WmmaF16> {};
INSTRUCTION(WmmaBf16, bf16, Shorts, 16, 2 * e + group, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c))
    : Matrix<bf16, f32, WmmaBf16> {};
INSTRUCTION(WmmaI8, i8, Bytes, 16, 2 * e + group,
            __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, c, false))
    : Matrix<i8, i32, WmmaI8> {};
#elif defined(__GFX12__)
using Halves = Packed<_Float16, 8>;
using Shorts = Packed<short, 8>;
using Bytes = Packed<int, 2>;
INSTRUCTION(WmmaF16, f16, Halves, 16, 8 * group + e, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c))
    : Matrix<f16, f32, WmmaF16> {};
INSTRUCTION(WmmaBf16, bf16, Shorts, 16, 8 * group + e, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c))
    : Matrix<bf16, f32, WmmaBf16> {};
INSTRUCTION(WmmaI8, i8, Bytes, 16, 8 * group + e,
            __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, c, false))
    : Matrix<i8, i32, WmmaI8> {};
INSTRUCTION(WmmaF8, f8_e4m3, Bytes, 16, 8 * group + e,
            __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c))
    : Matrix<f8_e4m3, f32, WmmaF8> {};
#else
template <>
struct Core<f16> : Lanes<f16, f32> {};
template <>
struct Core<bf16> : Lanes<bf16, f32> {};
template <>
struct Core<i8> : Lanes<i8, i32> {};
#endif
#if !defined(__GFX9__)
template <>
struct Core<f64> : Lanes<f64, f64> {};
#endif

#endif

#if !defined(__GFX12__) && !defined(__gfx942__) && !defined(__gfx950__)
// f16 can represent every f8. For sm_90, CUDA also implements the f8 mma of a warp with products of f16.
template <>
struct Core<f8_e4m3> : Core<f16> {};
#endif
