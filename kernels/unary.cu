// <op>_<type>: functions of one operand; two of them take a parameter of the same type.
#include "elementwise.cuh"
#include "functions.cuh"

// Converts operands of type S to T, computes the expression in T, and converts the result to S.
#define UNARY(name, S, compute, expression)                                                                  \
    STREAMING name##_##S(const size_t numel, const size_t num_dims, const size_t* info, const S* inp, S* out) { \
        using T = compute;                                                                                   \
        map_in_place(numel, num_dims, info, inp, out, [](T x) -> T { return expression; });                  \
    }

#define UNARY_PARAM(name, S, compute, expression)                                                       \
    STREAMING name##_##S(const size_t numel, const size_t num_dims, const size_t* info, const S parameter, \
                      const S* inp, S* out) {                                                           \
        using T = compute;                                                                              \
        const T param = parameter;                                                                      \
        map_in_place(numel, num_dims, info, inp, out, [=](T x) -> T { return expression; });            \
    }

#define COPY(T) UNARY(ucopy, T, T, x)

#define FLOATS(KIND, name, expression) \
    KIND(name, f16, f16, expression)   \
    KIND(name, bf16, bf16, expression) \
    KIND(name, f32, f32, expression)   \
    KIND(name, f64, f64, expression)   \
    KIND(name, fp8_e4m3, f32, expression)

/** The tanh approximation of gelu. In half types every step rounds: x^3 overflows f16 from |x| = 40.3 on. */
template <class T>
__device__ __forceinline__ T gelu(T x) {
    const T k = constant<T>(0.7978845608028654);  // sqrt(2 / pi)
    const T t = k * (x + constant<T>(0.044715) * (x * x * x));
    return constant<T>(0.5) * x * (constant<T>(1) + math::tanh(t));
}

/** Does not use expm1: the original kernels compute exp minus 1, which has a larger relative error near 0. */
template <class T>
__device__ __forceinline__ T elu(T x, T alpha) {
    return x > constant<T>(0) ? x : alpha * (math::exp(x) - constant<T>(1));
}

/** Returns -1, 0 or 1; NaN returns 0. */
template <class T>
__device__ __forceinline__ T sign(T x) {
    const T zero = constant<T>(0);
    return x > zero ? constant<T>(1) : x < zero ? constant<T>(-1) : zero;
}

COPY(u8)
COPY(u32)
COPY(i64)
COPY(f16)
COPY(bf16)
COPY(f32)
COPY(f64)
COPY(f8_e4m3)
FLOATS(UNARY, uneg, -x)
FLOATS(UNARY, uabs, math::abs(x))
FLOATS(UNARY, usign, sign(x))
FLOATS(UNARY, uceil, math::ceil(x))
FLOATS(UNARY, ufloor, math::floor(x))
FLOATS(UNARY, uround, math::round(x))
FLOATS(UNARY, urecip, math::divide(constant<T>(1), x))
FLOATS(UNARY, usqr, x * x)
FLOATS(UNARY, usqrt, math::sqrt(x))
FLOATS(UNARY, uexp, math::exp(x))
FLOATS(UNARY, ulog, math::log(x))
FLOATS(UNARY, usin, math::sin(x))
FLOATS(UNARY, ucos, math::cos(x))
FLOATS(UNARY, utanh, math::tanh(x))
FLOATS(UNARY, uerf, math::erf(x))
FLOATS(UNARY, unormcdf, math::normcdf(x))
FLOATS(UNARY, urelu, math::maximum(x, constant<T>(0)))
FLOATS(UNARY, ugelu, gelu(x))
FLOATS(UNARY, ugelu_erf, x * math::normcdf(x))
FLOATS(UNARY, usilu, math::divide(x, constant<T>(1) + math::exp(-x)))
FLOATS(UNARY, usigmoid, math::divide(constant<T>(1), constant<T>(1) + math::exp(-x)))
FLOATS(UNARY_PARAM, uelu, elu(x, param))
FLOATS(UNARY_PARAM, upowf, math::pow(x, param))
