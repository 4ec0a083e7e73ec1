// where_<condition>_<type>: out = condition != 0 ? on_true : on_false.
#include "elementwise.cuh"

template <class C, class T>
__device__ __forceinline__ void choose(size_t numel, size_t num_dims, const size_t* info, const C* condition,
                                       const T* on_true, const T* on_false, T* out) {
    const Workers workers;
    if (workers.idle()) return;
    const Layouts<3> at(num_dims, info);
    const auto chosen = [](C condition, T on_true, T on_false) { return condition != 0 ? on_true : on_false; };
    const auto element = [&](size_t i) {
        const Offsets<3> offsets = at(i);
        return condition[offsets.of[0]] != 0 ? on_true[offsets.of[1]] : on_false[offsets.of[2]];
    };
    walk(numel, workers, at.contiguous, out, element, chosen, condition, on_true, on_false);
}

#define WHERE(C, T)                                                                                           \
    STREAMING where_##C##_##T(const size_t numel, const size_t num_dims, const size_t* info, const C* condition, \
                           const T* on_true, const T* on_false, T* out) {                                     \
        choose(numel, num_dims, info, condition, on_true, on_false, out);                                     \
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
