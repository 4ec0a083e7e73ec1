// where_<condition>_<type>: out = condition != 0 ? on_true : on_false.
#include "elementwise.cuh"

#define WHERE(C, T)                                                                                           \
    KERNEL where_##C##_##T(const size_t numel, const size_t num_dims, const size_t* info, const C* condition, \
                           const T* on_true, const T* on_false, T* out) {                                     \
        const Layouts<3> at(num_dims, info);                                                                  \
        for_each_index(numel, [=](size_t i) {                                                                 \
            const Offsets<3> offsets = at(i);                                                                 \
            const bool chosen = condition[offsets.of[0]] != 0;                                                \
            out[i] = chosen ? on_true[offsets.of[1]] : on_false[offsets.of[2]];                               \
        });                                                                                                   \
    }
#define WHERE_ALL(C) WHERE(C, u8) WHERE(C, u32) WHERE(C, i64) WHERE(C, f16) WHERE(C, bf16) WHERE(C, f32) WHERE(C, f64)

WHERE_ALL(u8)
WHERE_ALL(u32)
WHERE_ALL(i64)
WHERE(u8, fp8_e4m3)
WHERE(u32, fp8_e4m3)
WHERE(i16, fp8_e4m3)
WHERE(i32, fp8_e4m3)
WHERE(i64, fp8_e4m3)
