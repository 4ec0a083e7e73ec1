// cast_<from>_<to>: conversions between element types, as convert.cuh defines them.
#include "convert.cuh"
#include "elementwise.cuh"

#define CAST(S, D)                                                                                               \
    STREAMING cast_##S##_##D(const size_t numel, const size_t num_dims, const size_t* info, const S* inp, D* out) { \
        map(numel, num_dims, info, inp, out, [](S x) -> D { return to_##D(x); });                                \
    }
#define CAST_TO_FLOATS(S) CAST(S, f16) CAST(S, bf16) CAST(S, f32) CAST(S, f64)
#define CAST_TO_INTEGERS(S) CAST(S, u8) CAST(S, u32) CAST(S, i64)

CAST_TO_INTEGERS(u8) CAST_TO_FLOATS(u8)
CAST_TO_INTEGERS(u32) CAST_TO_FLOATS(u32)
CAST_TO_INTEGERS(i64) CAST(i64, f32) CAST(i64, f64)
CAST(f16, u8) CAST(f16, u32) CAST_TO_FLOATS(f16)
CAST(bf16, u8) CAST(bf16, u32) CAST_TO_FLOATS(bf16)
CAST_TO_INTEGERS(f32) CAST_TO_FLOATS(f32)
CAST_TO_INTEGERS(f64) CAST_TO_FLOATS(f64)
CAST(f8_e4m3, u8) CAST(f8_e4m3, i32) CAST(f8_e4m3, f8_e4m3) CAST_TO_FLOATS(f8_e4m3)
CAST(u8, f8_e4m3) CAST(i32, f8_e4m3)
CAST(f16, f8_e4m3) CAST(bf16, f8_e4m3) CAST(f32, f8_e4m3) CAST(f64, f8_e4m3)
