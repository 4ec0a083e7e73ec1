// A program of HIP's module API in plain C: program CODE_OBJECT
#include <stddef.h>
#include <stdio.h>

int hipGetDeviceCount(int *);
int hipDeviceGetName(char *, int, int);
int hipModuleLoad(void **, const char *);
int hipModuleGetFunction(void **, void *, const char *);
int hipModuleGetGlobal(void **, size_t *, void *, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                          void **);
int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMemcpy(void *, const void *, size_t, int);
int hipDeviceSynchronize(void);
int hipGetLastError(void);
const char *hipGetErrorName(int);

#define CHECK(call)                                                              \
    do {                                                                         \
        int error = call;                                                        \
        if (error) return printf("%s: %s\n", #call, hipGetErrorName(error)), 1;  \
    } while (0)

int main(int count, char **arguments) {
    int devices;
    char name[64];
    unsigned char in[4] = {1, 2, 3, 200};
    unsigned out[4];
    void *module, *function, *x, *y;
    CHECK(hipGetDeviceCount(&devices));
    CHECK(hipDeviceGetName(name, sizeof name, devices - 1));
    printf("%d GPUs, the last is %s\n", devices, name);
    CHECK(hipModuleLoad(&module, arguments[1]));
    CHECK(hipModuleGetFunction(&function, module, "twice"));
    CHECK(hipMalloc(&x, sizeof in));
    CHECK(hipMalloc(&y, sizeof out));
    CHECK(hipMemcpy(x, in, sizeof in, 4));
    unsigned factor = 2;
    void *variable;
    size_t bytes;
    CHECK(hipModuleGetGlobal(&variable, &bytes, module, "factor"));
    CHECK(hipModuleGetGlobal(NULL, NULL, module, "factor"));
    if (bytes != sizeof factor) return 1;
    CHECK(hipMemcpy(variable, &factor, bytes, 4));
    void *list[] = {&x, &y};
    CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, list, NULL));
    CHECK(hipMemcpy(out, y, sizeof out, 4));
    printf("%u %u %u %u\n", out[0], out[1], out[2], out[3]);
    struct { void *x, *y; } packed = {x, (char *)y + 4};
    size_t size = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, (void *)3};
    CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, NULL, NULL, extra));
    printf("%s, ", hipGetErrorName(hipDeviceSynchronize()));
    printf("%s, ", hipGetErrorName(hipGetLastError()));
    printf("%s\n", hipGetErrorName(hipFree(x)));
    return 0;
}
