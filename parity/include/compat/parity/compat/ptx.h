// PTX instructions that C++ cannot express: matrices of a warp, and the carry flag.
//
// A warp has 32 lanes, half of a wavefront of 64. Matrices are distributed as in PTX ISA 8.7, chapter 9.7.14: lane l of
// an 8x8 matrix of 16-bit elements holds the elements 2 * (l % 4) and 2 * (l % 4) + 1 of row l / 4.
#pragma once

#include <parity/compat/copies.h>

// The carry flag must survive between statements, so each thread of a block has a word for it.
PARITY_COMPAT unsigned& ptx_carry() {
    __shared__ unsigned carry[1024];
    return carry[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
}

namespace parity_compat {

__device__ __forceinline__ int lane_of_warp() { return __lane_id() & 31; }

// LDS address of a matrix row, taken from the lane that holds it.
__device__ __forceinline__ unsigned row_of(const void* mine, int matrix, int row) {
    return (unsigned)__shfl((int)__cvta_generic_to_shared(mine), 8 * matrix + row, 32);
}

template <class T>
__device__ __forceinline__ T& in_lds(unsigned offset) {
    return *(T*)(PARITY_COMPAT_LDS T*)offset;
}

}  // namespace parity_compat

PARITY_COMPAT unsigned ptx_load_matrix(const void* row, int matrix) {
    const int lane = parity_compat::lane_of_warp();
    return parity_compat::in_lds<unsigned>(parity_compat::row_of(row, matrix, lane / 4) + 4 * (lane % 4));
}
PARITY_COMPAT unsigned ptx_load_matrix_transposed(const void* row, int matrix) {
    const int lane = parity_compat::lane_of_warp();
    unsigned word = 0;
    for (int k = 0; k < 2; ++k) {
        const unsigned place = parity_compat::row_of(row, matrix, 2 * (lane % 4) + k) + 2 * (lane / 4);
        word |= (unsigned)parity_compat::in_lds<unsigned short>(place) << 16 * k;
    }
    return word;
}
PARITY_COMPAT void ptx_store_matrix(const void* row, int matrix, unsigned word) {
    const int lane = parity_compat::lane_of_warp();
    parity_compat::in_lds<unsigned>(parity_compat::row_of(row, matrix, lane / 4) + 4 * (lane % 4)) = word;
}
PARITY_COMPAT void ptx_store_matrix_transposed(const void* row, int matrix, unsigned word) {
    const int lane = parity_compat::lane_of_warp();
    for (int k = 0; k < 2; ++k) {
        const unsigned place = parity_compat::row_of(row, matrix, 2 * (lane % 4) + k) + 2 * (lane / 4);
        parity_compat::in_lds<unsigned short>(place) = (unsigned short)(word >> 16 * k);
    }
}
PARITY_COMPAT unsigned ptx_transpose_matrix(unsigned word) {
    const int lane = parity_compat::lane_of_warp();
    unsigned result = 0;
    for (int k = 0; k < 2; ++k) {
        const unsigned other = (unsigned)__shfl((int)word, 4 * (2 * (lane % 4) + k) + lane / 8, 32);
        result |= (other >> 16 * (lane / 4 % 2) & 0xffff) << 16 * k;
    }
    return result;
}

// tf32 (a float with 19 significant upper bits) and the 8-bit floats of the OCP.
struct ptx_tf32 {};
struct ptx_e4m3 {};
struct ptx_e5m2 {};

namespace parity_compat {

// c plus the products of the elements of two words. Products of halves are exact in single precision. PTX leaves the
// order of the additions open and requires at least single precision.
template <class Element, class Sum>
__device__ __forceinline__ Sum products(unsigned a, unsigned b, Sum c) {
    for (unsigned k = 0; k < 4 / sizeof(Element); ++k) {
        Element x, y;
        __builtin_memcpy(&x, (const char*)&a + k * sizeof(Element), sizeof(Element));
        __builtin_memcpy(&y, (const char*)&b + k * sizeof(Element), sizeof(Element));
        if constexpr (sizeof(Element) == 1) c = (Sum)((unsigned)c + (unsigned)((int)x * (int)y));
        else c = __builtin_fmaf((float)x, (float)y, c);
    }
    return c;
}
template <>
__device__ __forceinline__ float products<ptx_tf32, float>(unsigned a, unsigned b, float c) {
    return __builtin_fmaf(bits<float>(a & 0xffffe000), bits<float>(b & 0xffffe000), c);
}
// E5M2 is the upper byte of a half. E4M3 has the same sign bit; its other bits, read as a half, are 2 ** 8 too small.
__device__ __forceinline__ float value_of(ptx_e5m2, unsigned byte) {
    return (float)bits<_Float16>((unsigned short)(byte << 8));
}
__device__ __forceinline__ float value_of(ptx_e4m3, unsigned byte) {
    if ((byte & 127) == 127) return __builtin_nanf("");
    return (float)bits<_Float16>((unsigned short)((byte & 128) << 8 | (byte & 127) << 7)) * 256.0f;
}
template <class Element>
__device__ __forceinline__ float products_of_bytes(unsigned a, unsigned b, float c) {
    for (int k = 0; k < 32; k += 8) {
        c = __builtin_fmaf(value_of(Element(), a >> k & 255), value_of(Element(), b >> k & 255), c);
    }
    return c;
}
template <>
__device__ __forceinline__ float products<ptx_e4m3, float>(unsigned a, unsigned b, float c) {
    return products_of_bytes<ptx_e4m3>(a, b, c);
}
template <>
__device__ __forceinline__ float products<ptx_e5m2, float>(unsigned a, unsigned b, float c) {
    return products_of_bytes<ptx_e5m2>(a, b, c);
}

}  // namespace parity_compat

// c += a * b of a 16 x K, a K x 8 and a 16 x 8 matrix. In lane l, word 2 * h + r of a is in row l / 4 + 8 * r, and word
// h of b is in column l / 4. Both are in part l % 4 of the h-th half of K. Word 2 * r + j of c is in row l / 4 + 8 * r
// and column 2 * (l % 4) + j.
template <class Element, class Sum, int A, int B>
__device__ __forceinline__ void ptx_mma(Sum (&c)[4], const unsigned (&a)[A], const unsigned (&b)[B]) {
    const int lane = parity_compat::lane_of_warp();
    for (int half = 0; half < B; ++half) {
        for (int part = 0; part < 4; ++part) {
            unsigned left[2], right[2];
            for (int k = 0; k < 2; ++k) {
                left[k] = (unsigned)__shfl((int)a[2 * half + k], 4 * (lane / 4) + part, 32);
                right[k] = (unsigned)__shfl((int)b[half], 4 * (2 * (lane % 4) + k) + part, 32);
            }
            for (int k = 0; k < 4; ++k) c[k] = parity_compat::products<Element>(left[k / 2], right[k % 2], c[k]);
        }
    }
}
// Sums halves in single precision and rounds once.
template <class Element, int A, int B>
__device__ __forceinline__ void ptx_mma(unsigned (&c)[2], const unsigned (&a)[A], const unsigned (&b)[B]) {
    float sums[4];
    for (int k = 0; k < 4; ++k) {
        sums[k] = (float)parity_compat::bits<_Float16>((unsigned short)(c[k / 2] >> 16 * (k % 2)));
    }
    ptx_mma<Element>(sums, a, b);
    for (int k = 0; k < 2; ++k) {
        c[k] = parity_compat::bits<unsigned short>((_Float16)sums[2 * k]) |
               (unsigned)parity_compat::bits<unsigned short>((_Float16)sums[2 * k + 1]) << 16;
    }
}
// c += a * b of an 8 x 4, a 4 x 8 and an 8 x 8 matrix.
PARITY_COMPAT void ptx_mma(double (&c)[2], double a, double b) {
    const int lane = parity_compat::lane_of_warp();
    for (int part = 0; part < 4; ++part) {
        const double left = __shfl(a, 4 * (lane / 4) + part, 32);
        for (int k = 0; k < 2; ++k) {
            c[k] = __builtin_fma(left, __shfl(b, 4 * (2 * (lane % 4) + k) + part, 32), c[k]);
        }
    }
}
