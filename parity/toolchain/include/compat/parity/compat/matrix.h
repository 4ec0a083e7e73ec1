// PTX's matrix instructions (mma.sync, ldmatrix, stmatrix, movmatrix) and copies to shared memory (cp.async), by the
// layouts of PTX ISA 8.7, 9.7.14: of 32 lanes, lane 4 g + t holds the words t of rows g and g + 8 of A, the word t of
// column g of B, and the columns 2 t and 2 t + 1 of those rows of C. AMD's matrix instructions spread theirs
// otherwise, so words travel by shuffles. Sums are in float, in the order of k; CUDA's documentation promises none.
#pragma once

#include <parity/compat/base.h>

#define PARITY_PTX __device__ __forceinline__

namespace ptx_type {

// A word has four bytes, two halves or one number of 32 bits.
struct f16 {
    static constexpr int in_word = 2;
    PARITY_PTX static float at(unsigned word, int i) {
        return float(__builtin_bit_cast(_Float16, static_cast<unsigned short>(word >> 16 * i)));
    }
};
struct bf16 {
    static constexpr int in_word = 2;
    PARITY_PTX static float at(unsigned word, int i) { return __builtin_bit_cast(float, word >> 16 * i << 16); }
};
// Of the fraction, 10 bits count.
struct tf32 {
    static constexpr int in_word = 1;
    PARITY_PTX static float at(unsigned word, int) { return __builtin_bit_cast(float, word & 0xffffe000u); }
};
struct s8 {
    static constexpr int in_word = 4;
    PARITY_PTX static int at(unsigned word, int i) { return static_cast<signed char>(word >> 8 * i); }
};
struct u8 {
    static constexpr int in_word = 4;
    PARITY_PTX static int at(unsigned word, int i) { return static_cast<int>(word >> 8 * i & 255); }
};
// A half has the exponent of E5M2. Of E4M3, seven bits at the place of a half's are 2 ** 8 too small.
struct e5m2 {
    static constexpr int in_word = 4;
    PARITY_PTX static float at(unsigned word, int i) { return f16::at((word >> 8 * i & 255) << 8, 0); }
};
struct e4m3 {
    static constexpr int in_word = 4;
    PARITY_PTX static float at(unsigned word, int i) {
        const unsigned byte = word >> 8 * i & 255, magnitude = byte & 127;
        if (magnitude == 127) return __builtin_nanf("");
        return f16::at((byte & 128) << 8 | magnitude << 7, 0) * 256.0f;
    }
};

}  // namespace ptx_type

// d += a b: 16 rows, 8 columns, 4 words of each row of A in two words of a lane.
template <class A, class B, class Sum, int Words>
PARITY_PTX void ptx_mma(Sum (&d)[4], const unsigned (&a)[2 * Words], const unsigned (&b)[Words]) {
    const int lane = __lane_id() & 31, row = lane / 4 * 4, column = lane % 4 * 8;
#pragma unroll
    for (int part = 0; part < Words; ++part) {
#pragma unroll
        for (int word = 0; word < 4; ++word) {
            const unsigned upper = __shfl(a[2 * part], row + word, 32);
            const unsigned lower = __shfl(a[2 * part + 1], row + word, 32);
            const unsigned left = __shfl(b[part], column + word, 32);
            const unsigned right = __shfl(b[part], column + 4 + word, 32);
#pragma unroll
            for (int i = 0; i < A::in_word; ++i) {
                d[0] += A::at(upper, i) * B::at(left, i);
                d[1] += A::at(upper, i) * B::at(right, i);
                d[2] += A::at(lower, i) * B::at(left, i);
                d[3] += A::at(lower, i) * B::at(right, i);
            }
        }
    }
}

// Sums in halves: computed in float, rounded once.
template <class A, class B, int Words>
PARITY_PTX void ptx_mma(unsigned (&d)[2], const unsigned (&a)[2 * Words], const unsigned (&b)[Words]) {
    typedef _Float16 __attribute__((ext_vector_type(2))) Pair;
    float sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = ptx_type::f16::at(d[i / 2], i % 2);
    ptx_mma<A, B>(sums, a, b);
    for (int i = 0; i < 2; ++i) {
        d[i] = __builtin_bit_cast(unsigned, Pair{_Float16(sums[2 * i]), _Float16(sums[2 * i + 1])});
    }
}

namespace parity_compat {

template <class T>
using Shared = __attribute__((address_space(3))) T;

template <class T>
PARITY_PTX Shared<T>* shared(unsigned address) {
    return reinterpret_cast<Shared<T>*>(address);
}
template <class T>
PARITY_PTX unsigned address(T* pointer) {
    return reinterpret_cast<unsigned>((Shared<T>*)pointer);
}

}  // namespace parity_compat

// Matrices of 8 rows of 16 bytes: lane 8 m + r has the address of row r of matrix m.
template <bool Transposed, int Matrices>
PARITY_PTX void ptx_ldmatrix(unsigned (&d)[Matrices], const unsigned* row) {
    using parity_compat::shared;
    const unsigned mine = parity_compat::address(row), lane = __lane_id() & 31;
#pragma unroll
    for (int matrix = 0; matrix < Matrices; ++matrix) {
        const int first = 8 * matrix + (Transposed ? lane % 4 * 2 : lane / 4);
        const unsigned from = __shfl(mine, first, 32);
        if constexpr (Transposed) {
            const unsigned next = __shfl(mine, first + 1, 32), place = lane / 4 * 2;
            d[matrix] = *shared<unsigned short>(from + place) | unsigned(*shared<unsigned short>(next + place)) << 16;
        } else {
            d[matrix] = *shared<unsigned>(from + lane % 4 * 4);
        }
    }
}
template <bool Transposed, int Matrices>
PARITY_PTX void ptx_stmatrix(const unsigned* row, const unsigned (&d)[Matrices]) {
    using parity_compat::shared;
    const unsigned mine = parity_compat::address(row), lane = __lane_id() & 31;
#pragma unroll
    for (int matrix = 0; matrix < Matrices; ++matrix) {
        const int first = 8 * matrix + (Transposed ? lane % 4 * 2 : lane / 4);
        const unsigned to = __shfl(mine, first, 32);
        if constexpr (Transposed) {
            const unsigned next = __shfl(mine, first + 1, 32), place = lane / 4 * 2;
            *shared<unsigned short>(to + place) = static_cast<unsigned short>(d[matrix]);
            *shared<unsigned short>(next + place) = static_cast<unsigned short>(d[matrix] >> 16);
        } else {
            *shared<unsigned>(to + lane % 4 * 4) = d[matrix];
        }
    }
}
// The transpose of a matrix of which lane 4 r + t has the word t of row r.
PARITY_PTX unsigned ptx_movmatrix(unsigned word) {
    const unsigned lane = __lane_id() & 31, from = lane % 4 * 8 + lane / 8, shift = lane / 4 % 2 * 16;
    const unsigned low = __shfl(word, from, 32) >> shift & 0xffff, high = __shfl(word, from + 4, 32) >> shift;
    return low | high << 16;
}

// The copy is there at once, so that there is nothing to wait for; what of `bytes` is beyond `given` is zero.
PARITY_PTX void ptx_cp_async(unsigned char* to, const unsigned char* from, unsigned bytes, unsigned given) {
    if (given >= bytes) {
        if (bytes == 16) {
            *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
        } else if (bytes == 8) {
            *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(from);
        } else {
            *reinterpret_cast<unsigned*>(to) = *reinterpret_cast<const unsigned*>(from);
        }
    } else {
        for (unsigned i = 0; i < bytes; ++i) to[i] = i < given ? from[i] : 0;
    }
}

#undef PARITY_PTX
