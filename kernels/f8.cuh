// The 8-bit float e4m3 of the OCP specification ("OFP8", 2023), implemented in software.
//
// NVIDIA's header does not have a counterpart that works on every AMD GPU: gfx94x computes in another format (FNUZ: the
// same bits mean half the value). This implementation returns the same bits everywhere.
//
//   bits                    value
//   s eeee mmm              +-2^(eeee - 7) * 1.mmm
//   s 0000 mmm              +-2^-6 * 0.mmm
//   s 1111 111              NaN; the format does not have infinities, and its largest value is 448
#pragma once

#include <stdint.h>

/**
 * A stored value. Operators and functions widen their operands to f32, compute there, and narrow the result once, as
 * CUDA does.
 */
struct f8_e4m3 {
    uint8_t bits;

    f8_e4m3() = default;

    /** Rounds to nearest, ties to even. Values beyond +-448, including infinities, saturate. NaN loses its sign. */
    __device__ __forceinline__ f8_e4m3(float x) {
        const uint32_t pattern = __float_as_uint(x), sign = pattern >> 24 & 0x80;
        uint32_t magnitude = pattern & 0x7fffffff;
        if (magnitude > INFINITE) {
            bits = NOT_A_NUMBER;
            return;
        }
        if (magnitude > LARGEST) magnitude = LARGEST;
        if (magnitude < SMALLEST_NORMAL) {
            // From 2^14 on, floats are 2^-9 apart, as subnormals are: the sum rounds, and its low bits count the steps.
            magnitude = __float_as_uint(__uint_as_float(magnitude) + 16384.0f) - __float_as_uint(16384.0f);
        } else {
            magnitude += 0x7ffff + (magnitude >> DROPPED & 1);  // carries if above half, or at half and odd
            magnitude = (magnitude - REBIAS) >> DROPPED;
        }
        bits = uint8_t(sign | magnitude);
    }

    /** Converts exactly. */
    __device__ __forceinline__ operator float() const {
        const uint32_t magnitude = bits & 0x7f, sign = uint32_t(bits & 0x80) << 24;
        uint32_t pattern = (magnitude << DROPPED) + REBIAS;
        if (magnitude < 8) pattern = __float_as_uint(float(magnitude) * 0x1p-9f);
        if (magnitude == NOT_A_NUMBER) pattern = 0x7fffffff;
        return __uint_as_float(sign | pattern);
    }

  private:
    static constexpr uint32_t NOT_A_NUMBER = 0x7f;
    // The significand of an f32 has 20 more bits, and its exponent has a bias that is larger by 120.
    static constexpr uint32_t DROPPED = 20, REBIAS = 120u << 23;
    static constexpr uint32_t INFINITE = 0x7f800000, LARGEST = 0x43e00000, SMALLEST_NORMAL = 0x3c800000;
};
