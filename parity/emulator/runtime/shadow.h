// Steps of shadow runs: operations round up or down instead of to nearest. See emulator/amdgpu/shadow.py.
#pragma once
#include "approximate.h"
#include "rounding.h"
#include "threaded.h"

// The bits of a run's number. The seed of a launch is above RUN_NUMBERS; its draws differ.
enum ShadowRun {
  ROUND_DOWN = 1,      // all operations round down instead of up
  NO_CONTRACTION = 2,  // a multiply-add is two operations
  PATTERN = 4,         // times 1 to 6: the direction changes at every place, every second, fourth ... thirty-second place
  RANDOM = 28,         // the direction is random: by place, by how often it was reached, and by wavefront
  NARROW_PRODUCTS = 32, // products of two bf16 numbers are bf16 numbers
  KEEP_SUBNORMALS = 64, // matrix cores, and exp of f32, keep subnormal numbers
  EACH_LANE = 128,     // with RANDOM, lanes round in different directions
  RUN_NUMBERS = 256
};
INLINE u32 shadow_run() { return drawing.seed % RUN_NUMBERS; }
INLINE u64 shadow_hash(const State *t, const Operation *o) {
  u64 h = ((u64)(o - t->code) << 40 ^ (u64)t->wave << 32 ^ (u64)t->left ^ drawing.seed) * 0x9e3779b97f4a7c15ul;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ul;
}
INLINE bool shadow_up(const State *t, const Operation *o) {
  const u64 place = o - t->code, pattern = shadow_run() / PATTERN & 7;
  return ((pattern == RANDOM / PATTERN ? shadow_hash(t, o) >> 63 : pattern ? place >> (pattern - 1) : 1) ^ shadow_run()) & 1;
}
INLINE Mask shadow_ups(const State *t, const Operation *o) { // the lanes that round up
  const u64 h = shadow_hash(t, o);
  return shadow_run() & EACH_LANE ? (Mask)(h ^ h >> 31) : shadow_up(t, o) ? ALL : 0;
}
// The rounding of the second half of a packed operation: it is like an operation at the next place.
INLINE auto shadow_second(const State *t, const Operation *o, bool up) {
  return up ^ shadow_up(t, o) ^ shadow_up(t, o + 1) ? UPWARD : DOWNWARD;
}
template <class X> INLINE X shadow_product(X a, X b, bool) { return a * b; }
INLINE V<f32> shadow_product(V<f32> a, V<f32> b, bool up) {
  const V<f32> product = a * b;
  const V<u32> bits = as<u32>(product), cut = (up ? bits + 0xffffu : bits) & 0xffff0000u;
  const B narrow = bools(((as<u32>(a) | as<u32>(b)) & 0xffffu) == 0) & bools(product - product == 0.0f);
  return shadow_run() & NARROW_PRODUCTS ? sel(narrow, as<f32>(cut), product) : product;
}
template <class X> INLINE X shadow_fma(X a, X b, X c, bool up) {
  return shadow_run() & NO_CONTRACTION ? X(shadow_product(a, b, up) + c) : fma(a, b, c);
}
// A number beyond the largest one by an ULP or more overflows in every direction: it is not a matter of rounding.
template <class X> INLINE V<f16> shadow_half(X a) { return to<f16>(a); }
INLINE V<f16> shadow_half(V<f32> a) {
  const V<u16> infinity = to<u16>(as<u32>(a) >> 16) & (u16)0x8000 | (u16)0x7c00;
  return sel(bools(mag(a) >= 0x1p16f), as<f16>(infinity), to<f16>(a));
}
template <class X> INLINE V<f32> shadow_single(X a) { return to<f32>(a); }
INLINE V<f32> shadow_single(V<f64> a) {
  const V<u32> infinity = to<u32>(as<u64>(a) >> 32) & 0x80000000u | 0x7f800000u;
  return sel(bools(mag(a) >= 0x1p128), as<f32>(infinity), to<f32>(a));
}
// Most targets round to bf16 with integers: they add 0x7fff, and the last bit that remains, to the bits of an f32.
INLINE V<u32> shadow_add3(V<u32> a, V<u32> b, V<u32> c, Mask up) {
  const V<u32> number = max(a, b), away = number + 0xffffu;
  return sel(c == 0x7fffu, sel((number >> 31) != bit(unmask(up)), away, number), a + b + c);
}
INLINE V<u16> shadow_bf16(V<f32> x, bool up) {
  const V<u32> bits = as<u32>(x);
  const B number = bools((bits & 0x7fffffff) < 0x7f800000u);
  return sel(number, to<u16>((bits + sel((bits >> 31) != (u32)up, all(0xffffu), all(0u))) >> 16), to_bf16(x));
}
// A step whose operations round to nearest.
#define SHADOW_NEAREST_STEP(name, ...) STEP(name, set_rounding(TO_NEAREST); __VA_ARGS__)
// A step whose operations round in the direction of this place.
#define SHADOW_STEP(name, ...)                                                                                 \
  STEP(name, const bool shadow_is_up = shadow_up(t, o); set_rounding(shadow_is_up ? UPWARD : DOWNWARD); __VA_ARGS__)
// A step that concerns each lane alone: the lanes of each direction execute separately.
#define SHADOW_LANES_STEP(name, ...)                                                                           \
  STEP(name, const Mask shadow_all = exec, shadow_those = shadow_ups(t, o);                                    \
    for (u32 shadow_is_up = 0; shadow_is_up < 2; shadow_is_up++) {                                             \
      exec = shadow_all & (shadow_is_up ? shadow_those : ~shadow_those);                                       \
      if (!exec) continue;                                                                                     \
      set_rounding(shadow_is_up ? UPWARD : DOWNWARD);                                                          \
      __VA_ARGS__                                                                                              \
    }                                                                                                          \
    exec = shadow_all;)
