// fill_<type>, const_set_<type>: set a contiguous buffer, or every element of a strided view, to one value.
// copy2d_<type>: copies d1 rows of d2 elements between buffers with different row strides.
#include "elementwise.cuh"

#define FILL(T)                                                                                                  \
    STREAMING fill_##T(T* buf, T value, const size_t numel) {                                                  \
        const Workers workers;                                                                                   \
        const auto same = [=](auto...) { return value; };                                                        \
        if (!workers.idle()) walk(numel, workers, true, buf, same, same);                                        \
    }                                                                                                            \
    KERNEL const_set_##T(const size_t numel, const size_t num_dims, const size_t* info, const T value, T* out) { \
        const Layouts<1> at(num_dims, info);                                                                     \
        for_each_index(numel, [&](size_t i) { out[at(i).of[0]] = value; });                                      \
    }                                                                                                            \
    KERNEL copy2d_##T(const T* src, T* dst, u32 d1, u32 d2, u32 src_stride, u32 dst_stride) {                    \
        for_each_index(size_t(d1) * d2, [=](size_t i) {                                                          \
            const size_t row = quotient(i, d2), column = i - row * d2;                                           \
            dst[row * dst_stride + column] = src[row * src_stride + column];                                     \
        });                                                                                                      \
    }

FILL(u8)
FILL(u32)
FILL(i64)
FILL(f16)
FILL(bf16)
FILL(f32)
FILL(f64)
FILL(f8_e4m3)
