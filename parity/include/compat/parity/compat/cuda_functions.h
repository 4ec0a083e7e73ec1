// cuda::ceil_div and related functions, cuda::maximum, cuda::minimum and cuda::proclaim_return_type.
#pragma once

#include <hip/hip_runtime.h>
#include <parity/compat/cuda_std.h>
#include <type_traits>
#include <utility>

namespace cuda {

#define PARITY_FUNCTION __host__ __device__ __forceinline__

template <class T, class U>
PARITY_FUNCTION constexpr std::common_type_t<T, U> ceil_div(T value, U by) {
    using Common = std::common_type_t<T, U>;
    return Common(value) / Common(by) + (Common(value) % Common(by) != 0);
}
template <class T, class U>
PARITY_FUNCTION constexpr std::common_type_t<T, U> round_up(T value, U to) {
    return ceil_div(value, to) * std::common_type_t<T, U>(to);
}
template <class T, class U>
PARITY_FUNCTION constexpr std::common_type_t<T, U> round_down(T value, U to) {
    using Common = std::common_type_t<T, U>;
    return Common(value) / Common(to) * Common(to);
}
template <class T>
PARITY_FUNCTION constexpr int ilog2(T value) {
    return 63 - __builtin_clzll(static_cast<unsigned long long>(value));
}
template <class T>
PARITY_FUNCTION constexpr bool is_power_of_two(T value) {
    return value > 0 && (value & (value - 1)) == 0;
}
template <class T>
PARITY_FUNCTION constexpr T prev_power_of_two(T value) {
    return T(1) << ilog2(value);
}
template <class T>
PARITY_FUNCTION constexpr T next_power_of_two(T value) {
    return value <= 1 ? T(1) : T(1) << (ilog2(value - 1) + 1);
}

template <class T = void>
struct maximum {
    PARITY_FUNCTION constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
template <>
struct maximum<void> {
    template <class T, class U>
    PARITY_FUNCTION constexpr std::common_type_t<T, U> operator()(const T& a, const U& b) const {
        return a < b ? b : a;
    }
};
template <class T = void>
struct minimum {
    PARITY_FUNCTION constexpr T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
template <>
struct minimum<void> {
    template <class T, class U>
    PARITY_FUNCTION constexpr std::common_type_t<T, U> operator()(const T& a, const U& b) const {
        return b < a ? b : a;
    }
};

// States the result type of a device lambda, which nvcc's host pass cannot deduce. Here it only forwards the call.
template <class Result, class Function>
PARITY_FUNCTION constexpr auto proclaim_return_type(Function function) {
    return [=](auto&&... given) -> Result { return function(std::forward<decltype(given)>(given)...); };
}

#undef PARITY_FUNCTION

}  // namespace cuda
