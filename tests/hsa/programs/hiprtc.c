/* A C program, without hipcc: hiprtc compiles the kernel, and streams order copies and launches. */
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1000
#define EXPECT(condition) \
    do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); return 1; } } while (0)

static const char *SOURCE =
    "extern \"C\" __global__ void axpy(float a, const float *x, float *y, int n) {"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;"
    "    if (i < n) y[i] = a * x[i] + y[i];"
    "}";

int main(void) {
    hiprtcProgram program;
    EXPECT(hiprtcCreateProgram(&program, SOURCE, "axpy.hip", 0, NULL, NULL) == HIPRTC_SUCCESS);
    EXPECT(hiprtcCompileProgram(program, 0, NULL) == HIPRTC_SUCCESS);
    size_t size;
    EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
    char *code = malloc(size);
    EXPECT(hiprtcGetCode(program, code) == HIPRTC_SUCCESS);
    EXPECT(hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS);

    hipModule_t module;
    hipFunction_t axpy;
    hipStream_t stream;
    EXPECT(hipModuleLoadData(&module, code) == hipSuccess);
    EXPECT(hipModuleGetFunction(&axpy, module, "axpy") == hipSuccess);
    EXPECT(hipStreamCreate(&stream) == hipSuccess);
    free(code);

    static float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = i, y[i] = 0.5f;
    float a = 2;
    int n = N;
    void *on_gpu[2];
    for (int k = 0; k < 2; k++) EXPECT(hipMalloc(&on_gpu[k], sizeof x) == hipSuccess);
    EXPECT(hipMemcpyAsync(on_gpu[0], x, sizeof x, hipMemcpyHostToDevice, stream) == hipSuccess);
    EXPECT(hipMemcpyAsync(on_gpu[1], y, sizeof y, hipMemcpyHostToDevice, stream) == hipSuccess);
    void *arguments[] = {&a, &on_gpu[0], &on_gpu[1], &n};
    EXPECT(hipModuleLaunchKernel(axpy, 4, 1, 1, 256, 1, 1, 0, stream, arguments, NULL) == hipSuccess);
    EXPECT(hipMemcpyAsync(y, on_gpu[1], sizeof y, hipMemcpyDeviceToHost, stream) == hipSuccess);
    EXPECT(hipStreamSynchronize(stream) == hipSuccess);
    for (int i = 0; i < N; i++) EXPECT(y[i] == 2 * i + 0.5f);
    for (int k = 0; k < 2; k++) EXPECT(hipFree(on_gpu[k]) == hipSuccess);
    EXPECT(hipModuleUnload(module) == hipSuccess);
    puts("done");
    return 0;
}
