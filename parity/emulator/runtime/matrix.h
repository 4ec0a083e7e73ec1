// Matrix instructions: D = A * B + C on matrices that a wavefront holds in its registers. See amdgpu/matrix.py.
#pragma once
#include "lanes.h"

enum Layout { CDNA, RDNA3, RDNA4, LINEAR, MMA }; // the last two: ptx/matrix.py
enum Sums { SUM_EXACT, SUM_CHAIN, SUM_PAIRS, SUM_ALIGNED, SUM_SPLIT, SUM_ONCE, SUM_TENSOR };
enum Type {
  TYPE_F64, TYPE_F32, TYPE_XF32, TYPE_F16, TYPE_BF16, TYPE_FP8, TYPE_BF8, TYPE_FP6, TYPE_BF6, TYPE_FP4, TYPE_I8, TYPE_IU8, TYPE_IU4, TYPE_I32
};
struct Product {
  Layout layout;
  Sums sums;
  u32 m, n, k, blocks, group;
  Type a, b, d;
  bool sparse;          // A stores two of every four elements of a row; an index register names them
  bool fnuz;            // 8-bit floats have the FNUZ formats
  bool flush;           // subnormal numbers count as zero
  u32 cbsz, abid, blgp; // groups of 2^cbsz blocks use the A of their block abid; sparse: abid selects the indices; blgp: lanes of B
  u32 neg_lo, neg_hi, op_sel;
  bool clamp;
  bool scaled;          // `index` has the scales of A and B: a power of two for 32 elements along k
  u32 scale_a, scale_b; // the bytes of the registers that hold them
};
// Operands are arrays of registers; `index` is for sparse and scaled products. `d` holds the old destination, which may remain in part.
#define MULTIPLY(name) \
  RUNTIME void name(const Product &, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d);
MULTIPLY(multiply_i32) MULTIPLY(multiply_f32) MULTIPLY(multiply_f64)
