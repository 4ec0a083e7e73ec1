// A product of 16x16 matrices of half, with small integers, so that every sum is exact.
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void product(const float* in, float* out) {
  __shared__ __half a[256], b[256];
  __shared__ float c[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) { a[i] = __float2half(in[i]); b[i] = __float2half(in[256 + i]); }
  __syncthreads();
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> left;
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::col_major> right;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum;
  if (threadIdx.x < warpSize) {
    nvcuda::wmma::fill_fragment(sum, 1.0f);
    nvcuda::wmma::load_matrix_sync(left, a, 16);
    nvcuda::wmma::load_matrix_sync(right, b, 16);
    nvcuda::wmma::mma_sync(sum, left, right, sum);
    nvcuda::wmma::store_matrix_sync(c, sum, 16, nvcuda::wmma::mem_row_major);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) out[i] = c[i];
}
