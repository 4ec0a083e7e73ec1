// A program as vendors ship samples: helpers, a command line, timers, vectors with operators of its own.
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <omp.h>
#include <cxxopts.hpp>

#include <cstdio>
#include <vector>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
__device__ double atomicAdd(double* address, double value) { return 0; }
#endif

inline __host__ __device__ float4 operator*(float4 a, float4 b) {
    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
inline __host__ __device__ float4 operator+(float4 a, float4 b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <typename T, int ITEMS>
__global__ void __launch_bounds__(128, 1) blend(const T* a, const T* b, const T* c, T* out, int n) {
    extern __shared__ unsigned char scratch[];
    T* mine = reinterpret_cast<T*>(scratch);
    for (int item = 0; item < ITEMS; ++item) {
        const int i = (blockIdx.x * ITEMS + item) * blockDim.x + threadIdx.x;
        if (i >= n) return;
        mine[threadIdx.x] = a[i] * b[i];
        out[i] = mine[threadIdx.x] + c[i];
    }
}

struct Options {
    int n;
    const char* name;
};

int main(int argc, char** argv) {
    Options options = {.n = 1 << 20, .name = "blend"};
    cxxopts::Options parser(argv[0], "adds and multiplies");
    parser.add_options()("n", "how many", cxxopts::value<int>()->default_value("1024"));
    const auto parsed = parser.parse(argc, argv);
    options.n = parsed["n"].as<int>();
    if (checkCmdLineFlag(argc, (const char**)argv, "help")) goto done;
    {
        findCudaDevice(argc, (const char**)argv);
        StopWatchInterface* timer = nullptr;
        sdkCreateTimer(&timer);
        std::vector<float4> host(options.n);
        srand(2006);
#pragma omp parallel for num_threads(omp_get_max_threads())
        for (int i = 0; i < options.n; ++i) host[i].x = rand() / (float)RAND_MAX;
        float4* device = nullptr;
        checkCudaErrors(cudaMalloc(&device, options.n * sizeof(float4)));
        const int blocks = min(65535, (int)ceil(options.n / 512.0));
        blend<float4, 4><<<blocks, 128, 128 * sizeof(float4)>>>(device, device, device, device, options.n);
        getLastCudaError("blend failed");
        printf("%f ms\n", sdkGetTimerValue(&timer));
    }
done:
    return EXIT_SUCCESS;
}
