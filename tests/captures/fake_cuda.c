// A libcuda and libcupti without a GPU: device memory is host memory, and a kernel is a function of the host.
// With -DPROGRAM, the program that uses it; its arguments select what it does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Kernel)(void **);
typedef struct { const char *name; Kernel run; int parameters; size_t sizes[4]; } Function;
int fake_launch(Function *function, unsigned grid, unsigned block, void **parameters);
void *fake_malloc(size_t size);

#ifndef PROGRAM
typedef void (*Callback)(void *, int, unsigned, const void *);
static Callback callback;
static struct { char *at; size_t size; } memory[64];
static int count;

void *fake_malloc(size_t size) {
    const char *injected = count ? NULL : getenv("CUDA_INJECTION64_PATH");
    if (injected) ((int (*)(void))dlsym(dlopen(injected, RTLD_NOW), "InitializeInjection"))();
    memory[count].size = size;
    return memory[count++].at = calloc(1, size);
}
int fake_launch(Function *function, unsigned grid, unsigned block, void **parameters) {
    struct { void *function; unsigned grid[3], block[3], shared; void *stream, **parameters, **extra; } call = {
        function, {grid, 1, 1}, {block, 1, 1}, 0, NULL, parameters, NULL};
    int result = 0;
    uint64_t correlation = 0;
    struct { int site; const char *api; const void *parameters; int *result; const char *symbol; void *context;
             unsigned id; uint64_t *correlation; unsigned number; } data = {
        0, "cuLaunchKernel", &call, &result, function->name, NULL, 0, &correlation, 0};
    if (callback) callback(NULL, 1, 307, &data);
    function->run(parameters);
    data.site = 1;
    if (callback) callback(NULL, 1, 307, &data);
    return result;
}
int cuptiSubscribe(void **subscriber, Callback function, void *data) { callback = function; return 0; }
int cuptiUnsubscribe(void *subscriber) { callback = NULL; return 0; }
int cuptiEnableCallback(unsigned enable, void *subscriber, int domain, unsigned id) { return 0; }
int cuFuncGetParamInfo(Function *f, size_t i, size_t *offset, size_t *size) {
    if (i >= (size_t)f->parameters) return 1;
    *offset = 0;
    for (size_t k = 0; k <= i; k++) {
        *offset = (*offset + f->sizes[k] - 1) / f->sizes[k] * f->sizes[k];
        if (k < i) *offset += f->sizes[k];
    }
    *size = f->sizes[i];
    return 0;
}
int cuKernelGetParamInfo(void *f, size_t i, size_t *offset, size_t *size) { return 1; }
int cuFuncGetModule(void **module, void *f) { *module = f; return 0; }
int cuKernelGetLibrary(void **library, void *f) { return 1; }
int cuKernelGetFunction(void **function, void *f) { return 1; }
int cuModuleGetGlobal_v2(uint64_t *at, size_t *size, void *module, const char *name) { return 500; }
int cuLibraryGetGlobal(uint64_t *at, size_t *size, void *library, const char *name) { return 500; }
int cuPointerGetAttribute(void *data, int attribute, uint64_t pointer) {
    for (int i = 0; i < count; i++)
        if (pointer - (uint64_t)memory[i].at < memory[i].size) {
            uint64_t value = attribute == 11 ? (uint64_t)memory[i].at : memory[i].size;
            memcpy(data, &value, 8);
            return 0;
        }
    return 1;
}
int cuMemcpyAsync(uint64_t to, uint64_t from, size_t size, void *stream) {
    memcpy((void *)to, (void *)from, size);
    return 0;
}
int cuCtxSynchronize(void) { return 0; }
int cuStreamSynchronize(void *stream) { return 0; }
int cuStreamCreate(void **stream, unsigned flags) { *stream = NULL; return 0; }
int cuStreamDestroy_v2(void *stream) { return 0; }
int cuThreadExchangeStreamCaptureMode(int *mode) { return 0; }
int cuCtxGetDevice(int *device) { *device = 0; return 0; }
int cuDeviceGetName(char *name, int size, int device) { snprintf(name, size, "Fake GPU"); return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = attribute == 75 ? 9 : 0; return 0; }
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
#else
static void scale(void **parameters) {
    float *x = *(float **)parameters[0], a = *(float *)parameters[1];
    for (int i = 0, n = *(int *)parameters[2]; i < n; i++) x[i] *= a;
}
int main(int argc, char **argv) {
    static Function function = {"_Z5scalePffi", scale, 3, {8, 4, 4}};
    const char *what = argc > 1 ? argv[1] : "";
    int far = !strcmp(what, "far"), large = far || !strcmp(what, "large");
    size_t size = large ? 1 << 20 : 400;
    float *x = fake_malloc(size), a = 2;
    for (size_t i = 0; i < size / 4; i++) x[i] = i;
    int n = far ? 10000 : 100;
    float *from = large && !far ? x + 1024 : x;
    void *parameters[] = {&from, &a, &n};
    for (int i = 0; i < 5; i++) fake_launch(&function, 1, 128, parameters);
    if (!strcmp(what, "shapes"))
        for (int i = 2; i < 9; i++) fake_launch(&function, i, 128, parameters);
    if (!strcmp(what, "crash")) raise(SIGKILL);
    return !strcmp(what, "status") ? 7 : 0;
}
#endif
