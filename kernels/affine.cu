// affine_<type>: out = x * mul + add.
#include "elementwise.cuh"
#include "functions.cuh"

#define AFFINE(T, expression)                                                                              \
    STREAMING affine_##T(const size_t numel, const size_t num_dims, const size_t* info, const T* inp, T* out, \
                      const T mul, const T add) {                                                          \
        map_in_place(numel, num_dims, info, inp, out, [=](T x) -> T { return expression; });               \
    }
#define AFFINE_FLOAT(T) AFFINE(T, x * mul + add)
#define AFFINE_INTEGER(T) AFFINE(T, wrapping::add(wrapping::mul(x, mul), add))

AFFINE_FLOAT(f16)
AFFINE_FLOAT(bf16)
AFFINE_FLOAT(f32)
AFFINE_FLOAT(f64)
AFFINE_FLOAT(f8_e4m3)
AFFINE_INTEGER(u8)
AFFINE_INTEGER(u32)
AFFINE_INTEGER(i16)
AFFINE_INTEGER(i32)
AFFINE_INTEGER(i64)
