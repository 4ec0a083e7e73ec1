// CUDA's surfaces. Surface objects use HIP's functions, which lack a boundary mode. Surface references, removed in CUDA
// 12, have no HIP counterpart: a kernel that reaches one fails with an assertion.
#pragma once

#include <parity/compat/base.h>

// A named enumeration, because an unnamed one makes names of the program ambiguous. The enumerators are CUDA's.
enum parity_surface_type {
    cudaSurfaceType1D = 0x01,
    cudaSurfaceType2D = 0x02,
    cudaSurfaceType3D = 0x03,
    cudaSurfaceTypeCubemap = 0x0C,
    cudaSurfaceType1DLayered = 0xF1,
    cudaSurfaceType2DLayered = 0xF2,
    cudaSurfaceTypeCubemapLayered = 0xFC,
};

template <class T = void, int dimensions = 1>
struct __attribute__((device_builtin_surface_type)) surface {};

#define PARITY_NO_SURFACE __assert_fail("surface references have no counterpart in HIP", __FILE__, __LINE__, __func__)

// `declared` and `given` are the coordinates of an element, as parameters and as arguments.
#define PARITY_SURFACE(name, declared, given)                                                                          \
    template <class T, class... Last>                                                                                  \
    __device__ void name##read(T* data, hipSurfaceObject_t from, declared, hipSurfaceBoundaryMode, Last...) {          \
        ::name##read(data, from, given);                                                                               \
    }                                                                                                                  \
    template <class T, class... Last>                                                                                  \
    __device__ void name##write(T data, hipSurfaceObject_t to, declared, hipSurfaceBoundaryMode, Last...) {            \
        ::name##write(data, to, given);                                                                                \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    __device__ T name##read(hipSurfaceObject_t from, declared, hipSurfaceBoundaryMode = hipBoundaryModeTrap) {         \
        T data;                                                                                                        \
        ::name##read(&data, from, given);                                                                              \
        return data;                                                                                                   \
    }                                                                                                                  \
    template <class T, class U, int d>                                                                                 \
    __device__ void name##read(T*, surface<U, d>, declared, hipSurfaceBoundaryMode = hipBoundaryModeTrap) {            \
        PARITY_NO_SURFACE;                                                                                             \
    }                                                                                                                  \
    template <class T, class U, int d>                                                                                 \
    __device__ void name##write(T, surface<U, d>, declared, hipSurfaceBoundaryMode = hipBoundaryModeTrap) {            \
        PARITY_NO_SURFACE;                                                                                             \
    }                                                                                                                  \
    template <class T, class U, int d>                                                                                 \
    __device__ T name##read(surface<U, d>, declared, hipSurfaceBoundaryMode = hipBoundaryModeTrap) {                   \
        PARITY_NO_SURFACE;                                                                                             \
        return T();                                                                                                    \
    }
#define PARITY_COMMA ,
PARITY_SURFACE(surf1D, int x, x)
PARITY_SURFACE(surf2D, int x PARITY_COMMA int y, x PARITY_COMMA y)
PARITY_SURFACE(surf3D, int x PARITY_COMMA int y PARITY_COMMA int z, x PARITY_COMMA y PARITY_COMMA z)
PARITY_SURFACE(surf1DLayered, int x PARITY_COMMA int layer, x PARITY_COMMA layer)
PARITY_SURFACE(surf2DLayered, int x PARITY_COMMA int y PARITY_COMMA int layer, x PARITY_COMMA y PARITY_COMMA layer)
PARITY_SURFACE(surfCubemap, int x PARITY_COMMA int y PARITY_COMMA int face, x PARITY_COMMA y PARITY_COMMA face)
#undef PARITY_COMMA
#undef PARITY_SURFACE
