// <op>_<type>: arithmetic on two operands of one type, and comparisons that return 0 or 1.
#include "elementwise.cuh"
#include "functions.cuh"

#define BINARY(name, T, D, expression)                                                                           \
    STREAMING name##_##T(const size_t numel, const size_t num_dims, const size_t* info, const T* lhs, const T* rhs, \
                      D* out) {                                                                                  \
        zip(numel, num_dims, info, lhs, rhs, out, [](T x, T y) -> D { return expression; });                     \
    }

#define FLOATS(name, expression)         \
    BINARY(name, f16, f16, expression)   \
    BINARY(name, bf16, bf16, expression) \
    BINARY(name, f32, f32, expression)   \
    BINARY(name, f64, f64, expression)   \
    BINARY(name, f8_e4m3, f8_e4m3, expression)

#define INTEGERS(name, expression)     \
    BINARY(name, u8, u8, expression)   \
    BINARY(name, u32, u32, expression) \
    BINARY(name, i64, i64, expression)

#define COMPARISON(name, expression)      \
    BINARY(name, f16, u8, expression)     \
    BINARY(name, bf16, u8, expression)    \
    BINARY(name, f32, u8, expression)     \
    BINARY(name, f64, u8, expression)     \
    BINARY(name, f8_e4m3, u8, expression) \
    BINARY(name, u8, u8, expression)      \
    BINARY(name, u32, u8, expression)     \
    BINARY(name, i64, u8, expression)

FLOATS(badd, x + y)
FLOATS(bsub, x - y)
FLOATS(bmul, x * y)
FLOATS(bdiv, math::divide(x, y))
FLOATS(bmaximum, math::maximum(x, y))
FLOATS(bminimum, math::minimum(x, y))

INTEGERS(badd, wrapping::add(x, y))
INTEGERS(bsub, wrapping::sub(x, y))
INTEGERS(bmul, wrapping::mul(x, y))
INTEGERS(bdiv, wrapping::div(x, y))
INTEGERS(bmaximum, wrapping::maximum(x, y))
INTEGERS(bminimum, wrapping::minimum(x, y))

COMPARISON(eq, x == y)
COMPARISON(ne, x != y)
COMPARISON(lt, x < y)
// HIP 6 defines <= and >= of __half as negations, which are true for NaN.
COMPARISON(le, x < y || x == y)
COMPARISON(gt, x > y)
COMPARISON(ge, x > y || x == y)
