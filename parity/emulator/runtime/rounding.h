// The rounding mode of the host processor.
#pragma once
#include "lanes.h"

enum Direction { TO_NEAREST, DOWNWARD, UPWARD, TO_ZERO };
#ifdef __aarch64__
INLINE Direction rounding_direction() { // FPCR.RMode
  u64 mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  const u32 to = mode >> 22 & 3;
  return to == 1 ? UPWARD : to == 2 ? DOWNWARD : to == 3 ? TO_ZERO : TO_NEAREST;
}
INLINE void set_rounding(Direction to) {
  u64 mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  mode = (mode & ~(3ul << 22)) | (to == UPWARD ? 1ul : to == DOWNWARD ? 2ul : to == TO_ZERO ? 3ul : 0ul) << 22;
  asm volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#else
INLINE Direction rounding_direction() { // MXCSR.RC
  u32 mode;
  asm volatile("stmxcsr %0" : "=m"(mode));
  return (Direction)(mode >> 13 & 3);
}
INLINE void set_rounding(Direction to) {
  u32 mode;
  asm volatile("stmxcsr %0" : "=m"(mode));
  mode = (mode & ~0x6000u) | (u32)to << 13;
  asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
}
#endif
