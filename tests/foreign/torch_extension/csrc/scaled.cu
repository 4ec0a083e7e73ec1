// An extension of PyTorch: a kernel template that only the dispatch in host code instantiates.
#include <ATen/AccumulateType.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include "checks.h"

namespace ext {

template <typename scalar_t>
__global__ void C10_LAUNCH_BOUNDS_1(256)
    scaled(const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x, const scalar_t* __restrict__ w,
           scalar_t* __restrict__ out) {
    using wide_t = at::acc_type<scalar_t, true>;
    const int row = blockIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= x.size(1)) return;
    const wide_t value = static_cast<wide_t>(x[row][column]) * static_cast<wide_t>(w[column]);
    out[row * x.size(1) + column] = static_cast<scalar_t>(value);
}

template <typename scalar_t>
__global__ void rounded(const float* __restrict__ x, scalar_t* __restrict__ out, int64_t n) {
    CUDA_KERNEL_LOOP(i, n) { out[i] = static_cast<scalar_t>(x[i]); }
}

}  // namespace ext

torch::Tensor scaled(torch::Tensor x, torch::Tensor w) {
    CHECK_INPUT(x);
    CHECK_INPUT(w);
    TORCH_CHECK(x.dim() == 2, "x must be a matrix, not of ", x.dim(), " dimensions");
    const at::cuda::OptionalCUDAGuard guard(device_of(x));
    auto out = torch::empty_like(x);
    const auto rows = x.size(0), columns = x.size(1);
    const dim3 blocks((columns + 255) / 256, rows);
    auto stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "scaled", ([&] {
        ext::scaled<scalar_t><<<blocks, 256, 0, stream>>>(
            x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), w.data_ptr<scalar_t>(), out.data_ptr<scalar_t>());
    }));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    profile(out).no_such_member();
    return out;
}

torch::Tensor rounded(const torch::Tensor& x, const torch::Tensor& like) {
    auto out = torch::empty(x.sizes(), like.options());
    const int64_t n = x.numel();
    AT_DISPATCH_REDUCED_FLOATING_TYPES(like.scalar_type(), "rounded", [&] {
        ext::rounded<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<scalar_t>(), n);
    });
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scaled", &scaled, "x times w, by columns"); }
