// Times of AMD's HIP runtime in seconds, as one line of JSON. Arguments: launches of an empty kernel, size of an sgemm.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) \
    if (int status = int(call)) return fprintf(stderr, "%s: error %d\n", #call, status), 1

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__global__ void empty() {}

int main(int count, char **arguments) {
    int launches = atoi(arguments[1]), n = atoi(arguments[2]);
    double start = now();
    CHECK(hipInit(0));
    CHECK(hipSetDevice(0));
    printf("{\"initialization\": %.6f", now() - start);
    if (launches) {
        start = now();
        empty<<<1, 64>>>();
        CHECK(hipDeviceSynchronize());
        printf(", \"first launch\": %.6f", now() - start);
        start = now();
        for (int i = 0; i < launches; i++) empty<<<1, 64>>>();
        CHECK(hipDeviceSynchronize());
        printf(", \"launch\": %.6f", (now() - start) / launches);
        start = now();
        for (int i = 0; i < launches; i++) {
            empty<<<1, 64>>>();
            CHECK(hipDeviceSynchronize());
        }
        printf(", \"launch and synchronization\": %.6f", (now() - start) / launches);
    }
    if (n) {
        size_t bytes = size_t(n) * n * sizeof(float);
        std::vector<float> a(n * n), b(n * n), c(n * n);
        for (int i = 0; i < n * n; i++) a[i] = float(i % 7 - 3), b[i] = float(i % 5 - 2);
        float *memory[3], one = 1, zero = 0;
        for (auto &each : memory) CHECK(hipMalloc(&each, bytes));
        CHECK(hipMemcpy(memory[0], a.data(), bytes, hipMemcpyHostToDevice));
        CHECK(hipMemcpy(memory[1], b.data(), bytes, hipMemcpyHostToDevice));
        rocblas_handle handle;
        start = now();
        CHECK(rocblas_create_handle(&handle));
        printf(", \"rocblas_create_handle\": %.6f", now() - start);
        for (const char *title : {"first sgemm", "sgemm"}) {
            start = now();
            CHECK(rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, n, n, n, &one, memory[0], n,
                                memory[1], n, &zero, memory[2], n));
            CHECK(hipDeviceSynchronize());
            printf(", \"%s\": %.6f", title, now() - start);
        }
        CHECK(hipMemcpy(c.data(), memory[2], bytes, hipMemcpyDeviceToHost));
        for (int i = 0; i < n * n; i += 997) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += a[k * n + i % n] * b[i / n * n + k];
            if (sum != c[i]) return fprintf(stderr, "element %d is %g instead of %g\n", i, c[i], sum), 1;
        }
    }
    printf("}\n");
}
