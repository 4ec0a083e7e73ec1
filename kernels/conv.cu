// Convolutions, pooling and resampling. Inputs and weights are strided, outputs are contiguous; `info` describes them.
//
// In the arguments of pooling and upsample_nearest2d, "w" refers to rows (dims[2]) and "h" to columns (dims[3]),
// because the host passes its first axis as "w".
#include "convolution.cuh"
#include "pool.cuh"
#include "upsample.cuh"

#define CONVOLUTIONS(T)                                                                                               \
    KERNEL conv1d_##T(const size_t src_numel, const size_t l_out, const size_t stride, const size_t padding,          \
                      const size_t dilation, const size_t* info, const T* src, const T* weight, T* dst) {             \
        convolve(1, l_out, Window{1, 0, 1}, Window{stride, padding, dilation}, lines(info), lines(info + 6), src,     \
                 weight, dst);                                                                                        \
    }                                                                                                                 \
    KERNEL conv2d_##T(const size_t src_numel, const size_t w_out, const size_t h_out, const size_t stride,            \
                      const size_t padding, const size_t dilation, const size_t* info, const T* src, const T* weight, \
                      T* dst) {                                                                                       \
        const Window window = {stride, padding, dilation};                                                            \
        convolve(h_out, w_out, window, window, planes(info), planes(info + 8), src, weight, dst);                     \
    }                                                                                                                 \
    KERNEL conv_transpose1d_##T(const size_t src_numel, const size_t l_out, const size_t stride,                      \
                                const size_t padding, const size_t out_padding, const size_t dilation,                \
                                const size_t* info, const T* src, const T* weight, T* dst) {                          \
        convolve(1, l_out, Spread{1, 0, 1}, Spread{stride, padding, dilation}, lines(info),                           \
                 output_first(lines(info + 6)), src, weight, dst);                                                    \
    }                                                                                                                 \
    KERNEL conv_transpose2d_##T(const size_t src_numel, const size_t w_out, const size_t h_out, const size_t stride,  \
                                const size_t padding, const size_t out_padding, const size_t dilation,                \
                                const size_t* info, const T* src, const T* weight, T* dst) {                          \
        const Spread spread = {stride, padding, dilation};                                                            \
        convolve(h_out, w_out, spread, spread, planes(info), output_first(planes(info + 8)), src, weight, dst);       \
    }

#define COLUMNS(T)                                                                                                   \
    KERNEL im2col1d_##T(const size_t n_threads, const size_t l_out, const size_t l_k, const size_t stride,           \
                        const size_t padding, const size_t dilation, const size_t* info, const T* src, T* dst) {     \
        im2col1d(n_threads, l_out, l_k, {stride, padding, dilation}, lines(info), src, dst);                         \
    }                                                                                                                \
    KERNEL im2col_##T(const size_t dst_numel, const size_t h_out, const size_t w_out, const size_t h_k,              \
                      const size_t w_k, const size_t stride, const size_t padding, const size_t dilation,            \
                      const size_t* info, const T* src, T* dst) {                                                    \
        im2col(dst_numel, h_out, w_out, h_k, w_k, {stride, padding, dilation}, planes(info), src, dst);              \
    }                                                                                                                \
    KERNEL col2im1d_##T(const size_t dst_numel, const size_t l_out, const size_t l_in, const size_t c_out,           \
                        const size_t k_size, const size_t stride, const T* src, T* dst) {                            \
        col2im1d(dst_numel, l_out, l_in, c_out, k_size, stride, src, dst);                                           \
    }

#define POOLS(T)                                                                                                   \
    KERNEL avg_pool2d_##T(const size_t src_numel, const size_t w_k, const size_t h_k, const size_t w_stride,       \
                          const size_t h_stride, const size_t* info, const T* src, T* dst) {                       \
        avg_pool({w_k, w_stride}, {h_k, h_stride}, planes(info), src, dst);                                        \
    }                                                                                                              \
    KERNEL max_pool2d_##T(const size_t src_numel, const size_t w_k, const size_t h_k, const size_t w_stride,       \
                          const size_t h_stride, const size_t* info, const T* src, T* dst) {                       \
        max_pool({w_k, w_stride}, {h_k, h_stride}, planes(info), src, dst);                                        \
    }

// In upsample_bilinear2d, unlike in upsample_nearest2d, "h" refers to rows and "w" to columns.
#define UPSAMPLES(T)                                                                                                  \
    KERNEL upsample_nearest2d_##T(const size_t w_out, const size_t h_out, const double w_scale, const double h_scale, \
                                  const size_t* info, const T* src, T* dst) {                                         \
        upsample_nearest(w_out, h_out, w_scale, h_scale, planes(info), src, dst);                                     \
    }                                                                                                                 \
    KERNEL upsample_bilinear2d_##T(const size_t w_out, const size_t h_out, const bool align_corners,                  \
                                   const bool has_scale_h, const double scale_h, const bool has_scale_w,              \
                                   const double scale_w, const size_t* info, const T* src, T* dst) {                  \
        const Planes at = planes(info);                                                                               \
        upsample_bilinear({at.dims[2], h_out, align_corners, has_scale_h, scale_h},                                   \
                          {at.dims[3], w_out, align_corners, has_scale_w, scale_w}, at, src, dst);                    \
    }

#define CONV(T) CONVOLUTIONS(T) COLUMNS(T) POOLS(T) UPSAMPLES(T)

CONV(f16)
CONV(bf16)
CONV(f32)
CONV(f64)
CONV(u8)
CONV(u32)
