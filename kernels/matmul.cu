// Matrix products on matrix cores, out = alpha * a * b + beta * out + bias for each matrix of a batch, and attention
// (see attention.cuh).
//
// `info` contains the dims of out (batch, rows, columns), then the strides of out, a and b. A block of threads computes
// a 32 x 32 tile of one matrix of out. Rows of a and columns of b pass through shared memory, with 0 beyond the edges.
// So do the sums, because the mapping of elements to lanes depends on the matrix core.
#include "attention.cuh"
#include "fragments.cuh"

constexpr u32 TILE = 32, THREADS = 128;

template <class T, class D>
__device__ __forceinline__ D converted(T x) {
    return D(x);
}
template <>
__device__ __forceinline__ f16 converted<f8_e4m3, f16>(f8_e4m3 x) {
    return __float2half(f32(x));
}

/** Computes one tile; `at` contains its matrix, first row and first column. */
template <class T, class D>
__device__ __forceinline__ void multiply(const size_t depth, const size_t* info, const T* a, const T* b, const D* bias,
                                         D* out, const D alpha, const D beta) {
    using Stored = typename Core<T>::Stored;
    constexpr u32 STEP = Core<T>::STEP, CORES = TILE * TILE / 256 * WAVE / THREADS;
    // Aligned for reads of vectors and fragments.
    __shared__ __align__(32) unsigned char left[TILE * STEP * sizeof(Stored)], right[TILE * STEP * sizeof(Stored)];
    __shared__ __align__(32) D sums[TILE][TILE];
    const auto rows = reinterpret_cast<Stored*>(left), columns = reinterpret_cast<Stored*>(right);
    const size_t *dims = info, *to = info + 3, *of_a = info + 6, *of_b = info + 9;
    const size_t first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    a += blockIdx.z * of_a[0];
    b += blockIdx.z * of_b[0];
    out += blockIdx.z * to[0];

    Core<T> core[CORES];
    for (u32 c = 0; c < CORES; ++c) core[c].zero();
    for (size_t first = 0; first < depth; first += STEP) {
        for (u32 n = threadIdx.x; n < TILE * STEP; n += THREADS) {
            const size_t place = n / STEP, k = first + n % STEP, row = first_row + place, column = first_column + place;
            const bool in_a = row < dims[1] && k < depth, in_b = column < dims[2] && k < depth;
            rows[n] = in_a ? converted<T, Stored>(a[row * of_a[1] + k * of_a[2]]) : Stored(0);
            columns[n] = in_b ? converted<T, Stored>(b[k * of_b[1] + column * of_b[2]]) : Stored(0);
        }
        __syncthreads();
        for (u32 c = 0; c < CORES; ++c) {
            const u32 tile = threadIdx.x / WAVE * CORES + c;
            core[c].add(rows + tile / 2 * 16 * STEP, columns + tile % 2 * 16 * STEP);
        }
        __syncthreads();
    }
    for (u32 c = 0; c < CORES; ++c) {
        const u32 tile = threadIdx.x / WAVE * CORES + c;
        core[c].store(&sums[tile / 2 * 16][tile % 2 * 16], TILE);
    }
    __syncthreads();
    for (u32 n = threadIdx.x; n < TILE * TILE; n += THREADS) {
        const size_t row = first_row + n / TILE, column = first_column + n % TILE;
        if (row >= dims[1] || column >= dims[2]) continue;
        D& place = out[row * to[1] + column * to[2]];
        D value = alpha * sums[n / TILE][n % TILE];
        if (beta != 0) value += beta * place;  // with beta = 0, out may be uninitialized
        if (bias) value += bias[column];
        place = value;
    }
}

#define MATMUL(T, D)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        matmul_##T##_##D(const size_t depth, const size_t* info, const T* a, const T* b, const D* bias, D* out,          \
                   const D alpha, const D beta) {                                                                  \
        multiply(depth, info, a, b, bias, out, alpha, beta);                                                       \
    }

MATMUL(f16, f32)
MATMUL(bf16, f32)
MATMUL(f8_e4m3, f32)
MATMUL(i8, i32)
MATMUL(f64, f64)

#define ATTENTION(T, WIDTH)                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        attention_##T##_##WIDTH(const size_t keys, const size_t group, const size_t* info, const T* q, const T* k, \
                                const T* v, T* out, const f32 scale, const u32 causal) {                           \
        attend<T, WIDTH, THREADS>(keys, group, info, q, k, v, out, scale, causal);                                 \
    }

ATTENTION(f16, 64)
ATTENTION(f16, 128)
ATTENTION(bf16, 64)
ATTENTION(bf16, 128)
