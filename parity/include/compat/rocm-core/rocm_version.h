// <rocm-core/rocm_version.h> for machines without ROCm. HIP has the same version number as its ROCm release.
#pragma once

#if __has_include_next(<rocm-core/rocm_version.h>)
#include_next <rocm-core/rocm_version.h>
#else

#include <hip/hip_version.h>

#define ROCM_VERSION_MAJOR HIP_VERSION_MAJOR
#define ROCM_VERSION_MINOR HIP_VERSION_MINOR
#define ROCM_VERSION_PATCH 0
#define ROCM_BUILD_INFO ""

#endif
