// Include guards of headers that nvcc includes before every source. A source that declares CUDA's types itself where a
// guard is undefined would otherwise redeclare HIP's types.
#pragma once

#define __BUILTIN_TYPES_H__
#define __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_H__
#define __DEVICE_TYPES_H__
#define __DRIVER_TYPES_H__
#define __HOST_DEFINES_H__
#define __VECTOR_FUNCTIONS_H__
#define __VECTOR_TYPES_H__
