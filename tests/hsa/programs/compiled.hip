// A kernel that hiprtc compiles, and the module API. A module that is loaded again has its initial values again. The last
// block of hipExtModuleLaunchKernel may have fewer threads.
#include <hip/hip_ext.h>
#include <hip/hiprtc.h>

#include "check.h"

int main() {
    const char* source = "__device__ int times = 0;"
        "extern \"C\" __global__ void fill(int* out, int value) {"
        "    if (threadIdx.x == 0) times++;"
        "    __syncthreads();"
        "    out[threadIdx.x] = value * times + threadIdx.x;"
        "}";
    hiprtcProgram program;
    EXPECT(hiprtcCreateProgram(&program, source, "fill.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
    EXPECT(hiprtcCompileProgram(program, 0, nullptr) == HIPRTC_SUCCESS);
    size_t size = 0;
    EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
    std::vector<char> code(size);
    EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
    hipModule_t module;
    hipFunction_t function;
    int *out, value = 40, found[64];
    CHECK(hipMalloc(&out, sizeof found));
    void* arguments[] = {&out, &value};
    for (int k = 0; k < 3; k++) {
        CHECK(hipModuleLoadData(&module, code.data()));
        CHECK(hipModuleGetFunction(&function, module, "fill"));
        CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++) EXPECT(found[i] == 40 + i);
        CHECK(hipMemset(out, 0xff, sizeof found));
        CHECK(hipExtModuleLaunchKernel(function, 40, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
        CHECK(hipMemcpy(found, out, sizeof found, hipMemcpyDeviceToHost));
        for (int i = 0; i < 64; i++) EXPECT(found[i] == (i < 40 ? 80 + i : -1));
        CHECK(hipModuleUnload(module));
    }
    puts("done");
}
