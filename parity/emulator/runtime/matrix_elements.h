// The elements of the matrices that a wavefront holds: their place in its registers, and their values.
#pragma once
#include "matrix.h"

constexpr u32 MOST = 64 * 32; // elements of a matrix, in all blocks
constexpr u32 TERMS = 128 + 1; // terms of a sum: products and C
struct Place { u32 lane, element; };

// --- layouts: AMD's ISA documents, "matrix" chapters; AMD's Matrix Instruction Calculator ---
static u32 bits_of(Type t) {
  switch (t) {
  case TYPE_F64: return 64;
  case TYPE_F16: case TYPE_BF16: return 16;
  case TYPE_FP8: case TYPE_BF8: case TYPE_I8: case TYPE_IU8: return 8;
  case TYPE_FP6: case TYPE_BF6: return 6;
  case TYPE_IU4: case TYPE_FP4: return 4;
  default: return 32;
  }
}
// The place of element k (below `depth`) in row i of A or column i of B, each of which has `size` rows or columns.
// `run`: consecutive elements along k in one lane of RDNA 4 (CDNA puts as many as fit into a lane); for the LINEAR layout
// of a warp, whether the matrix is B; the same of scaled products. `half`: on RDNA 3, each half of the wavefront has its own copy.
static Place input(const Product &p, u32 size, u32 depth, u32 block, u32 i, u32 k, u32 run, u32 half) {
  if (p.layout == RDNA3) return {16 * half + i, k};
  if (p.layout == LINEAR) return run ? Place{(k * size + i) % 32, (k * size + i) / 32} : Place{(i * depth + k) % 32, (i * depth + k) / 32};
  if (p.layout == RDNA4) return {16 * (k / run % 2) + i, k / (2 * run) * run + k % run};
  if (p.layout == MMA) { // PTX ISA, "Matrix Fragments for mma": a register holds 8 rows, each in 4 lanes
    const u32 bits = bits_of(p.a), width = bits < 32 ? 32 / bits : 1, part = k / (4 * width);
    return {i % 8 * 4 + k % (4 * width) / width, (part * (size / 8) + i / 8) * width + k % width};
  }
  if (p.scaled) return {k / run % (LANES / size) * size + i, k / run / (LANES / size) * run + k % run};
  const u32 each = depth * size * p.blocks / LANES;
  return {k / each * size * p.blocks + block * size + i, k % each};
}
static Place output(const Product &p, u32 block, u32 i, u32 j) {
  if (p.layout == RDNA3) return {16 * (i % 2) + j, i / 2};
  if (p.layout == LINEAR) return {(i * p.n + j) % 32, (i * p.n + j) / 32};
  if (p.layout == MMA) return {i % 8 * 4 + j / 2, i / 8 * 2 + j % 2};
  if (p.layout == RDNA4) return {16 * (i / 8) + j, i % 8};
  // `height` consecutive rows are in consecutive registers; the following rows are in other lanes.
  const u32 height = p.d == TYPE_F64 ? 1 : 4, columns = LANES / p.n, area = p.m * p.n;
  const u32 blocks = area / height < LANES ? LANES * height / area : 1; // in the lanes of one register
  const u32 lane = (block % blocks) * p.n + i / height % columns * blocks * p.n + j;
  return {lane, block * (area / LANES) + i / (height * columns) * height + i % height};
}
static u32 lane_of_b(u32 lane, u32 pattern) { // blgp
  switch (pattern) {
  case 0: return lane;
  case 1: return lane % 32;
  case 2: return lane % 32 + 32;
  case 3: return (lane + 16) % 64;
  default: return lane % 16 + 16 * (pattern - 4);
  }
}

// --- elements ---
static u32 lane_of(const V<u32> *r, u32 number, u32 lane) { return ((const u32 *)r)[number * LANES + lane]; }
static u32 word(const V<u32> *r, Place at, u32 bits) {
  const u32 n = at.element * bits, low = lane_of(r, n / 32, at.lane) >> (n % 32);
  const u32 high = n % 32 + bits > 32 ? lane_of(r, n / 32 + 1, at.lane) << (32 - n % 32) : 0; // six bits in two registers
  return (low | high) & (bits == 32 ? ~0u : (1u << bits) - 1);
}
static f64 power(i32 exponent) { return scalar<f64>((u64)(exponent + 1023) << 52); }
// Formats of the OCP's microscaling specification without infinity and NaN.
static f64 small(u32 x, u32 exponents, u32 fraction) {
  const i32 e = x >> fraction & ((1 << exponents) - 1), bias = (1 << (exponents - 1)) - 1;
  const f64 part = (f64)(x & ((1 << fraction) - 1)) * power(-(i32)fraction);
  const f64 size = e ? (1 + part) * power(e - bias) : part * power(1 - bias);
  return x >> (exponents + fraction) & 1 ? -size : size;
}
static f64 scale_of(const V<u32> *r, u32 lane, u32 byte) { // E8M0: an exponent, or NaN
  const u32 e = lane_of(r, 0, lane) >> (8 * byte) & 255;
  return e == 255 ? __builtin_nan("") : power((i32)e - 127);
}
static f64 number(const Product &p, const V<u32> *r, Type t, Place at) {
  if (t == TYPE_F64) return scalar<f64>(pair(lane_of(r, 2 * at.element, at.lane), lane_of(r, 2 * at.element + 1, at.lane)));
  const u32 x = word(r, at, bits_of(t));
  switch (t) {
  case TYPE_F16: return (f64)scalar<f16>((u16)x);
  case TYPE_BF16: return (f64)scalar<f32>(x << 16);
  case TYPE_XF32: return (f64)scalar<f32>(x & 0xffffe000u); // cut, not rounded (Xie et al., arXiv 2511.10909)
  case TYPE_FP8: return (f64)(p.fnuz ? of_fp8<true>(all(x)) : of_fp8<false>(all(x)))[0];
  case TYPE_BF8: return (f64)(p.fnuz ? of_bf8<true>(all(x)) : of_bf8<false>(all(x)))[0];
  case TYPE_FP6: return small(x, 2, 3);
  case TYPE_BF6: return small(x, 3, 2);
  case TYPE_FP4: return small(x, 2, 1);
  default: return (f64)scalar<f32>(x);
  }
}
static i32 integer(const V<u32> *r, Type t, Place at, bool is_signed) {
  const u32 bits = bits_of(t), x = word(r, at, bits);
  return is_signed && bits < 32 ? (i32)(x << (32 - bits)) >> (32 - bits) : (i32)x;
}
// The k of an element of a sparse A, which stores two of every four elements: two bits of the index give the place.
static u32 dense(const Product &p, const V<u32> *index, Place at, u32 k) {
  const u32 bits = p.layout == CDNA ? 128 / bits_of(p.a) : 16;
  const u32 first = p.layout == CDNA && p.cbsz ? 0 : p.abid * bits;
  return k / 2 * 4 + (lane_of(index, 0, at.lane) >> (first + 2 * at.element) & 3);
}
// The least exponent of a normal number; tensor cores convert f8 to f16.
static i32 least(const Product &p, Type t) {
  return t == TYPE_FP8 && p.layout == MMA ? -14 : t == TYPE_F16 ? -14 : t == TYPE_FP8 ? (p.fnuz ? -7 : -6) : t == TYPE_BF8 ? (p.fnuz ? -15 : -14) : -126;
}
static f64 negated(f64 x, bool yes) { return yes ? -x : x; }
