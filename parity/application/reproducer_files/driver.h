/* Declarations of what the programs call in the drivers: only a driver and a C compiler are needed, no CUDA toolkit, no ROCm.
   CUDA driver API and HIP module API, with the names and types of their libraries. */
#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice, hipError_t;
typedef unsigned long long CUdeviceptr;
typedef void *CUcontext, *CUmodule, *CUfunction, *hipDeviceptr_t, *hipModule_t, *hipFunction_t;

#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuModuleGetGlobal cuModuleGetGlobal_v2
#define CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES 8

CUresult cuInit(unsigned flags);
CUresult cuDeviceGet(CUdevice *device, int number);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize(void);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuModuleLoad(CUmodule *module, const char *file);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetGlobal(CUdeviceptr *memory, size_t *size, CUmodule module, const char *name);
CUresult cuMemAlloc(CUdeviceptr *memory, size_t size);
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size);
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra);

hipError_t hipInit(unsigned flags);
hipError_t hipSetDevice(int number);
hipError_t hipDeviceSynchronize(void);
const char *hipGetErrorString(hipError_t error);
hipError_t hipModuleLoad(hipModule_t *module, const char *file);
hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *memory, size_t *size, hipModule_t module, const char *name);
hipError_t hipMalloc(hipDeviceptr_t *memory, size_t size);
hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t size);
hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t size);
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                 unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                                 void **arguments, void **extra);
