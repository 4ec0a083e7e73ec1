// Headers of Torch 7's TH, on which its CUDA library is built: token-pasting macros and types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <parity/library_type.h>
#include <parity/library_names.h>

#ifndef TH_CONCAT_2
#define TH_CONCAT_STRING_2(a, b) PARITY_TH_STRING_2(a, b)
#define PARITY_TH_STRING_2(a, b) #a #b
#define TH_CONCAT_2(a, b) PARITY_TH_2(a, b)
#define PARITY_TH_2(a, b) a##b
#define TH_CONCAT_3(a, b, c) PARITY_TH_3(a, b, c)
#define PARITY_TH_3(a, b, c) a##b##c
#define TH_CONCAT_4(a, b, c, d) PARITY_TH_4(a, b, c, d)
#define PARITY_TH_4(a, b, c, d) a##b##c##d
#endif
#define TH_EXTERNC extern "C"
#define TH_API TH_EXTERNC
#define TH_INLINE inline
#define TH_NO_RETURN
#define TH_UNUSED
#define TH_INDEX_BASE 1
#define TH_DESC_BUFF_LEN 64
#define TH_TENSOR_REFCOUNTED 1
#define TH_STORAGE_REFCOUNTED 1
#define TH_STORAGE_RESIZABLE 2
#define TH_STORAGE_FREEMEM 4
#define TH_STORAGE_VIEW 8
#define THArgCheck(...) ((void)0)
#define THAssert(...) ((void)0)
#define THAssertMsg(...) ((void)0)
#define THError(...) ((void)0)
#define THMin(a, b) ((a) < (b) ? (a) : (b))
#define THMax(a, b) ((a) > (b) ? (a) : (b))

struct THAllocator {
  void* (*malloc)(void*, ptrdiff_t);
  void* (*realloc)(void*, void*, ptrdiff_t);
  void (*free)(void*, void*);
};
struct THDescBuff { char str[TH_DESC_BUFF_LEN]; };
struct THGenerator;
#define PARITY_TH_TYPES(name, T)                                                     \
  struct TH##name##Storage { T* data; ptrdiff_t size; int refcount; char flag; };    \
  struct TH##name##Tensor {                                                          \
    long *size, *stride;                                                             \
    int nDimension;                                                                  \
    TH##name##Storage* storage;                                                      \
    ptrdiff_t storageOffset;                                                         \
    int refcount;                                                                    \
    char flag;                                                                       \
  };
PARITY_TH_TYPES(Byte, unsigned char) PARITY_TH_TYPES(Char, char) PARITY_TH_TYPES(Short, short) PARITY_TH_TYPES(Int, int)
PARITY_TH_TYPES(Long, long) PARITY_TH_TYPES(Float, float) PARITY_TH_TYPES(Double, double) PARITY_TH_TYPES(Half, unsigned short)
#undef PARITY_TH_TYPES
