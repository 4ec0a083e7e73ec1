// Helpers of CUDA's samples for host code: helper_cuda.h, helper_functions.h and related headers.
#pragma once

#include <assert.h>
#include <float.h>
#include <hip/hip_runtime.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <parity/everything.h>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef STRNCASECMP
#define STRNCASECMP strncasecmp
#define STRCASECMP strcasecmp
#define STRCPY(to, size, from) strcpy(to, from)
#define SPRINTF(...) sprintf(__VA_ARGS__)
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#define FOPEN_FAIL(result) (result == NULL)
#define SSCANF sscanf
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

#define checkCudaErrors(call) ((void)(call))
#define getLastCudaError(message) ((void)(message), (void)hipGetLastError())
#define printLastCudaError(message) getLastCudaError(message)
#define cutilSafeCall(call) ((void)(call))
#define cutilCheckMsg(message) ((void)(message))
#define cutilCheckError(call) ((void)(call))
#define CUDA_SAFE_CALL(call) ((void)(call))
#define CUT_CHECK_ERROR(message) ((void)(message))
#define CUT_DEVICE_INIT(argc, argv) ((void)(argc))
#define CUT_SAFE_CALL(call) ((void)(call))
#define CUT_EXIT(argc, argv) exit(0)

const char* _cudaGetErrorEnum(hipError_t);
int _ConvertSMVer2Cores(int, int);
const char* _ConvertSMVer2ArchName(int, int);
int gpuDeviceInit(int);
int gpuGetMaxGflopsDeviceId();
int findCudaDevice(int, const char**);
int findIntegratedGPU();
bool checkCudaCapabilities(int, int);
template <typename T> T __cudaGetErrorEnum(T);

class StopWatchInterface {
 public:
  virtual ~StopWatchInterface() {}
  virtual void start(), stop(), reset();
  virtual float getTime(), getAverageTime();
};
bool sdkCreateTimer(StopWatchInterface**);
bool sdkDeleteTimer(StopWatchInterface**);
bool sdkStartTimer(StopWatchInterface**);
bool sdkStopTimer(StopWatchInterface**);
bool sdkResetTimer(StopWatchInterface**);
float sdkGetAverageTimerValue(StopWatchInterface**);
float sdkGetTimerValue(StopWatchInterface**);

bool checkCmdLineFlag(int, const char**, const char*);
int getCmdLineArgumentInt(int, const char**, const char*);
float getCmdLineArgumentFloat(int, const char**, const char*);
bool getCmdLineArgumentString(int, const char**, const char*, char**);
template <typename T> bool getCmdLineArgumentValue(int, const char**, const char*, T*);
char* sdkFindFilePath(const char*, const char*);
int stringRemoveDelimiter(char, const char*);
int getFileExtension(char*, char**);
#define PARITY_ANY(name) \
  template <class... Arguments> bool name(Arguments&&...);
PARITY_ANY(sdkLoadPGM) PARITY_ANY(sdkSavePGM) PARITY_ANY(sdkLoadPPM4) PARITY_ANY(sdkLoadPPM4ub) PARITY_ANY(sdkSavePPM4ub)
PARITY_ANY(sdkReadFile) PARITY_ANY(sdkReadFileBlocks) PARITY_ANY(sdkWriteFile) PARITY_ANY(sdkCompareBin2BinUint)
PARITY_ANY(sdkCompareBin2BinFloat) PARITY_ANY(sdkCompareL2fe) PARITY_ANY(sdkComparePGM) PARITY_ANY(sdkComparePPM)
PARITY_ANY(compareData) PARITY_ANY(compareDataAsFloat) PARITY_ANY(compareDataAsFloatThreshold) PARITY_ANY(sdkDumpBin)
PARITY_ANY(sdkDumpBin2) PARITY_ANY(__loadPPM) PARITY_ANY(__savePPM)
#undef PARITY_ANY
