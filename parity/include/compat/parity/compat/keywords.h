// Attributes and calling conventions that CUDA's headers define and HIP's do not. They do not affect results.
#pragma once

#ifndef __grid_constant__
#define __grid_constant__
#endif
#ifndef __device_builtin__
#define __device_builtin__
#endif
#ifndef __device_builtin_texture_type__
#define __device_builtin_texture_type__
#endif
#ifndef __device_builtin_surface_type__
#define __device_builtin_surface_type__
#endif
#ifndef __cudart_builtin__
#define __cudart_builtin__
#endif
#ifndef __nv_pure__
#define __nv_pure__
#endif
#ifndef __builtin_align__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#endif
#ifndef CUDAAPI
#define CUDAAPI
#endif
#ifndef CUDARTAPI
#define CUDARTAPI
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif
#ifndef CUDA_CB
#define CUDA_CB
#endif
