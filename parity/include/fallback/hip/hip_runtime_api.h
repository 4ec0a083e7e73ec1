// Declarations of HIP's host API, so that host functions next to a kernel compile. Nothing is linked or called, because
// only device code is generated. Host functions show clang which templates to instantiate.
#pragma once

#include <hip/host_defines.h>
#include <stddef.h>

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef int hipDevice_t;

enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNotInitialized = 3,
    hipErrorInvalidConfiguration = 9,
    hipErrorInvalidDevice = 101,
    hipErrorNotReady = 600,
    hipErrorLaunchFailure = 719,
    hipErrorUnknown = 999,
};
enum hipMemcpyKind {
    hipMemcpyHostToHost,
    hipMemcpyHostToDevice,
    hipMemcpyDeviceToHost,
    hipMemcpyDeviceToDevice,
    hipMemcpyDefault,
};
enum hipFuncAttribute {
    hipFuncAttributeMaxDynamicSharedMemorySize = 8,
    hipFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum hipDeviceAttribute_t {
    hipDeviceAttributeMaxSharedMemoryPerBlock,
    hipDeviceAttributeMaxThreadsPerBlock,
    hipDeviceAttributeMultiprocessorCount,
    hipDeviceAttributeWarpSize,
};
struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor;
    int multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor;
};

#define hipStreamDefault 0
#define hipStreamNonBlocking 1
#define hipEventDefault 0
#define hipEventDisableTiming 2

extern "C" {
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char* hipGetErrorName(hipError_t);
const char* hipGetErrorString(hipError_t);
hipError_t hipDeviceSynchronize();
hipError_t hipGetDevice(int*);
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceCount(int*);
hipError_t hipGetDeviceProperties(hipDeviceProp_t*, int);
hipError_t hipDeviceGetAttribute(int*, hipDeviceAttribute_t, int);
hipError_t hipFree(void*);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipHostFree(void*);
hipError_t hipMemcpy(void*, const void*, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void*, const void*, size_t, hipMemcpyKind, hipStream_t = nullptr);
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemsetAsync(void*, int, size_t, hipStream_t = nullptr);
hipError_t hipStreamCreate(hipStream_t*);
hipError_t hipStreamCreateWithFlags(hipStream_t*, unsigned);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned = 0);
hipError_t hipEventCreate(hipEvent_t*);
hipError_t hipEventCreateWithFlags(hipEvent_t*, unsigned);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = nullptr);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float*, hipEvent_t, hipEvent_t);
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t = 0, hipStream_t = nullptr);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, hipStream_t*);
}

// Templates, because programs pass typed pointers.
template <class T>
hipError_t hipMalloc(T** memory, size_t bytes);
template <class T>
hipError_t hipMallocAsync(T** memory, size_t bytes, hipStream_t stream);
template <class T>
hipError_t hipMallocManaged(T** memory, size_t bytes, unsigned flags = 1);
template <class T>
hipError_t hipHostMalloc(T** memory, size_t bytes, unsigned flags = 0);
template <class F>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F kernel, int threads, size_t shared);
template <class F>
hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, F kernel, size_t shared = 0, int limit = 0);
template <class F>
hipError_t hipFuncSetAttribute(F* kernel, hipFuncAttribute what, int value);
