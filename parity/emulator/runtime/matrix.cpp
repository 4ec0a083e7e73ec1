// D = A * B + C on the matrices that a wavefront holds in its registers.

#include "matrix_sums.h"

// --- products ---
// Reads rows of A and columns of B, block by block; for a sparse A, also the k of each element.
template <class T, class Get> static void gather(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *index,
                                                 T *left, T *right, u32 *where, u32 half, Get get) {
  const u32 depth = p.sparse ? p.k / 2 : p.k;
  const bool linear = p.layout == LINEAR; // `run` then says whether the matrix is B
  // Scaled products have 16 consecutive f8 or 32 narrower elements in a lane (AMD, "Matrix Core Programming on CDNA3 and CDNA4").
  const u32 wide_a = bits_of(p.a) == 8 ? 16 : 32, wide_b = bits_of(p.b) == 8 ? 16 : 32;
  const u32 run = linear ? 0 : p.scaled ? wide_a : bits_of(p.a) == 16 ? 4 : depth / 2, run_b = linear ? 1 : p.scaled ? wide_b : bits_of(p.b) == 16 ? (p.sparse ? 8 : 4) : p.k / 2;
  for (u32 block = 0; block < p.blocks; block++) {
    // cbsz, abid: each group of 2^cbsz blocks uses the A of its block number abid.
    const u32 from = p.sparse ? block : (block >> p.cbsz << p.cbsz) + p.abid;
    for (u32 i = 0; i < p.m; i++)
      for (u32 k = 0; k < depth; k++) {
        const Place at = input(p, p.m, depth, from, i, k, run, half);
        left[(block * p.m + i) * depth + k] = get(a, p.a, at, 0);
        if (p.sparse) where[i * depth + k] = dense(p, index, at, k);
      }
    for (u32 j = 0; j < p.n; j++)
      for (u32 k = 0; k < p.k; k++) {
        Place at = input(p, p.n, p.k, block, j, k, run_b, half);
        at.lane = p.layout == CDNA ? lane_of_b(at.lane, p.blgp) : at.lane;
        right[(block * p.n + j) * p.k + k] = get(b, p.b, at, 1);
      }
  }
}
static bool negates(const Product &p, u32 operand, u32 element) {
  return (p.d == TYPE_F64 || element % 2 == 0 ? p.neg_lo : p.neg_hi) >> operand & 1;
}
static f64 summand(const Product &p, f64 c) { // neg_hi takes the magnitude of C
  if (p.d == TYPE_F64) return negated(c, p.neg_lo >> 2 & 1);
  return negated(p.neg_hi >> 2 & 1 ? size_of(c) : c, p.neg_lo >> 2 & 1);
}
// On RDNA 3, the upper half of the wavefront computes the odd rows of D from its own copies of A and B.
#define EACH_RESULT(p)                           \
  for (u32 half = 0; half < (p.layout == RDNA3 ? 2 : 1); half++) \
    for (u32 block = 0; block < p.blocks; block++)               \
      for (u32 i = p.layout == RDNA3 ? half : 0; i < p.m; i += p.layout == RDNA3 ? 2 : 1) \
        for (u32 j = 0; j < p.n; j++)

static void put(V<u32> *d, Place at, u32 bits, u32 x) {
  const u32 n = at.element * bits;
  u32 &to = ((u32 *)d)[n / 32 * LANES + at.lane];
  to = bits == 16 ? (to & ~(0xffffu << (n % 32))) | x << (n % 32) : x;
}
// A 16-bit D of RDNA 3 uses the half of each register that op_sel selects.
static Place halved(const Product &p, Place at) {
  return p.layout == RDNA3 && bits_of(p.d) == 16 ? Place{at.lane, 2 * at.element + p.op_sel} : at;
}

// Fragments of wmma hold the elements by rows, number n in lane n % 32 (ptx/matrix.py), so each register is unpacked as a
// whole. Computes eight results of a row at once.
template <class T> using Eight = T __attribute__((ext_vector_type(8)));
template <class T> static void multiply_rows(const Product &p, const T *left, const T *right, T *sums) {
  for (u32 i = 0; i < p.m; i++)
    for (u32 j = 0; j < p.n; j += 8) {
      Eight<T> &to = *(Eight<T> *)(sums + i * p.n + j), sum = to;
      for (u32 k = 0; k < p.k; k++) {
        const Eight<T> x = left[i * p.k + k], y = *(const Eight<T> *)(right + k * p.n + j);
        if constexpr (sizeof(T) == 8) sum = __builtin_elementwise_fma(x, y, sum);
        else sum += x * y;
      }
      to = sum;
    }
}
static void multiply_rows_i32(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, V<u32> *d) {
  V<u32> left[MOST / LANES], right[MOST / LANES], sums[MOST / LANES];
  auto unpack = [&](const V<u32> *r, u32 bits, bool is_signed, u32 n, V<u32> *to) {
    for (u32 e = 0; e < n / LANES; e++) {
      const V<u32> x = r[e * bits / 32] << (32 - bits - e * bits % 32);
      to[e] = is_signed ? as<u32>(as<i32>(x) >> (i32)(32 - bits)) : x >> (32 - bits);
    }
  };
  unpack(a, bits_of(p.a), p.a == TYPE_I8 || p.neg_lo & 1, p.m * p.k, left);
  unpack(b, bits_of(p.b), p.b == TYPE_I8 || p.neg_lo & 2, p.k * p.n, right);
  const u32 registers = p.m * p.n / LANES;
  for (u32 e = 0; e < registers; e++) sums[e] = c[e];
  multiply_rows(p, (const u32 *)left, (const u32 *)right, (u32 *)sums);
  for (u32 e = 0; e < registers; e++) d[e] = sums[e];
}
static void multiply_rows_f64(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, V<u32> *d) {
  V<u64> left[MOST / LANES], right[MOST / LANES], sums[MOST / LANES];
  auto unpack = [&](const V<u32> *r, u32 n, V<u64> *to) {
    for (u32 e = 0; e < n / LANES; e++) to[e] = join(r[2 * e], r[2 * e + 1]);
  };
  unpack(a, p.m * p.k, left), unpack(b, p.k * p.n, right), unpack(c, p.m * p.n, sums);
  multiply_rows(p, (const f64 *)left, (const f64 *)right, (f64 *)sums);
  for (u32 e = 0; e < p.m * p.n / LANES; e++) {
    const V<u64> x = sel(bools(as<f64>(sums[e]) == as<f64>(sums[e])), sums[e], all(0x7ff8000000000000ul));
    d[2 * e] = lo32(x), d[2 * e + 1] = hi32(x);
  }
}

void multiply_i32(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  if (p.layout == LINEAR && !p.clamp) return multiply_rows_i32(p, a, b, c, d);
  i32 left[2][MOST], right[2][MOST];
  u32 where[MOST];
  const u32 depth = p.sparse ? p.k / 2 : p.k;
  auto get = [&](const V<u32> *r, Type t, Place at, u32 operand) {
    return integer(r, t, at, t == TYPE_I8 || p.neg_lo >> operand & 1);
  };
  for (u32 half = 0; half < (p.layout == RDNA3 ? 2 : 1); half++) gather(p, a, b, index, left[half], right[half], where, half, get);
  EACH_RESULT(p) {
    const Place at = output(p, block, i, j);
    const i32 *row = left[half] + (block * p.m + i) * depth, *column = right[half] + (block * p.n + j) * p.k;
    i64 sum = integer(c, p.d, at, true);
    for (u32 k = 0; k < depth; k++) sum += (i64)row[k] * column[p.sparse ? where[i * depth + k] : k];
    if (p.clamp) sum = max(min(sum, 0x7fffffffl), -0x80000000l);
    put(d, at, 32, (u32)sum);
  }
}

static void multiply_wide(const Product &p, const f64 *left, const f64 *right, const V<u32> *c, V<u32> *d) {
  const Way way = way_of(p);
  const bool back = way == BACKWARD || way == FORWARD_CUT; // draws that add in reverse order
  for (u32 block = 0; block < p.blocks; block++)
    for (u32 i = 0; i < p.m; i++)
      for (u32 j = 0; j < p.n; j++) {
        const Place at = output(p, block, i, j);
        const f64 *row = left + (block * p.m + i) * p.k, *column = right + (block * p.n + j) * p.k;
        f64 sum = summand(p, number(p, c, p.d, at));
        for (u32 n = 0; n < p.k; n++) {
          const u32 k = back ? p.k - 1 - n : n;
          if (p.d == TYPE_F64) sum = __builtin_fma(row[k], column[k], sum);
          else sum = (f64)__builtin_fmaf((f32)row[k], (f32)column[k], (f32)sum);
        }
        if (p.d == TYPE_F64) {
          const u64 bits = sum == sum ? scalar<u64>(sum) : 0x7ff8000000000000ul;
          put(d, {at.lane, 2 * at.element}, 32, (u32)bits), put(d, {at.lane, 2 * at.element + 1}, 32, bits >> 32);
        } else {
          put(d, at, 32, sum == sum ? scalar<u32>((f32)sum) : 0x7fc00000);
        }
      }
}

// Tensor cores of Hopper align C and all products to the largest and cut them 25 bits below its exponent; they cut the sum
// to f32. Computes eight results of a row at once. For sm_90, nvcc turns an f8 product into two f16 products: one of the
// first two of every four k, then one of the remaining two.
typedef i64 Exponents __attribute__((ext_vector_type(8)));
typedef f32 Cut __attribute__((ext_vector_type(8)));
typedef u32 CutBits __attribute__((ext_vector_type(8)));
typedef f16 Narrow __attribute__((ext_vector_type(8)));
static Exponents exponents_of(Eight<f64> x, i64 least) {
  const Exponents e = (__builtin_bit_cast(Exponents, x) >> 52 & 2047) - 1023;
  return x == 0 ? (Exponents)-126 : __builtin_elementwise_max(e, (Exponents)least);
}
static Cut cut(Eight<f64> x, bool to_odd) { // toward zero, or to odd, so that a second rounding to fewer bits gives the result of one rounding
  const Cut near = __builtin_convertvector(x, Cut);
  const Eight<f64> back = __builtin_convertvector(near, Eight<f64>);
  const auto beyond = __builtin_convertvector(__builtin_elementwise_abs(back) > __builtin_elementwise_abs(x), CutBits);
  const auto inexact = __builtin_convertvector(back != x, CutBits);
  const CutBits u = __builtin_bit_cast(CutBits, near) + beyond; // a true comparison is -1
  return __builtin_bit_cast(Cut, to_odd ? u | (inexact & 1) : u);
}
static void multiply_tensor(const Product &p, const f64 *left, const f64 *right, const V<u32> *c, V<u32> *d) {
  const bool narrow = p.d == TYPE_F16;
  const u32 parts = p.k / p.group;
  Eight<f64> column[MOST / 8];
  Exponents of_column[MOST / 8];
  for (u32 j = 0; j < p.n; j++)
    for (u32 k = 0; k < p.k; k++) column[j / 8 * p.k + k][j % 8] = right[j * p.k + k];
  for (u32 n = 0; n < p.n / 8 * p.k; n++) of_column[n] = exponents_of(column[n], least(p, p.b));
  for (u32 i = 0; i < p.m; i++) {
    i64 of_row[TERMS];
    for (u32 k = 0; k < p.k; k++) of_row[k] = Accumulator::exponent_of(left[i * p.k + k], least(p, p.a));
    for (u32 j = 0; j < p.n; j += 8) {
      Eight<f64> sum, product[TERMS];
      for (u32 q = 0; q < 8; q++) sum[q] = number(p, c, p.d, output(p, 0, i, j + q));
      for (u32 part = 0; part < parts; part++) {
        Eight<f64> plain = sum;
        Exponents top = exponents_of(sum, narrow ? -14 : -126);
        u32 n = 0;
        for (u32 k = 0; k < p.k; k++) {
          if (k / 2 % parts != part) continue;
          const u32 at = j / 8 * p.k + k;
          const Eight<f64> x = left[i * p.k + k] * column[at];
          plain += product[n++] = x;
          top = x == 0 ? top : __builtin_elementwise_max(top, of_row[k] + of_column[at]); // an H100 ignores products with 0
        }
        const Eight<f64> units = __builtin_bit_cast(Eight<f64>, 25 - top + 1023 << 52), unit = __builtin_bit_cast(Eight<f64>, top - 25 + 1023 << 52);
        Eight<f64> whole = 0.0 + __builtin_elementwise_trunc(sum * units); // never -0
        for (u32 k = 0; k < n; k++) whole += __builtin_elementwise_trunc(product[k] * units);
        whole *= unit;
        if (!narrow) whole = __builtin_elementwise_abs(whole) >= 0x1p128 ? whole * __builtin_inf() : __builtin_convertvector(cut(whole, false), Eight<f64>);
        sum = plain - plain == 0 ? whole : plain;
        if (narrow && part + 1 < parts) sum = __builtin_convertvector(__builtin_convertvector(cut(sum, true), Narrow), Eight<f64>);
      }
      for (u32 q = 0; q < 8; q++) put(d, output(p, 0, i, j + q), bits_of(p.d), narrowed(p, sum[q], p.d, TO_NEAREST));
    }
  }
}

static void multiply(const Product &given, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  if (given.layout == LINEAR && given.d == TYPE_F64) return multiply_rows_f64(given, a, b, c, d);
  const Direction to = rounding_direction();
  Product p = given;
  p.flush = p.flush && !(to != TO_NEAREST && drawing.seed & KEEP_SUBNORMALS);
  f64 left[2][MOST], right[2][MOST];
  u32 where[MOST];
  const u32 depth = p.sparse ? p.k / 2 : p.k;
  const f64 smallest = p.a == TYPE_F16 ? 0x1p-14 : 0x1p-126;
  auto get = [&](const V<u32> *r, Type t, Place at, u32 operand) {
    const f64 x = negated(number(p, r, t, at), negates(p, operand, at.element));
    return p.flush && size_of(x) < smallest ? 0.0 : x;
  };
  for (u32 half = 0; half < (p.layout == RDNA3 ? 2 : 1); half++) gather(p, a, b, index, left[half], right[half], where, half, get);
  for (u32 k = 0; p.scaled && k < p.k; k++) {
    for (u32 i = 0; i < p.m; i++) left[0][i * p.k + k] *= scale_of(index, k / 32 * p.m + i, p.scale_a);
    for (u32 j = 0; j < p.n; j++) right[0][j * p.k + k] *= scale_of(index + 1, k / 32 * p.n + j, p.scale_b);
  }
  if (p.sums == SUM_CHAIN) {
    multiply_wide(p, left[0], right[0], c, d);
    return;
  }
  if (p.sums == SUM_TENSOR && to == TO_NEAREST) {
    multiply_tensor(p, left[0], right[0], c, d);
    return;
  }
  if (to != TO_NEAREST) set_rounding(TO_NEAREST);
  const Accumulator sums = {p, to == TO_NEAREST ? way_of(p) : SHADOW, to};
  EACH_RESULT(p) {
    const Place at = halved(p, output(p, block, i, j));
    const f64 *row = left[half] + (block * p.m + i) * depth, *column = right[half] + (block * p.n + j) * p.k;
    f64 product[TERMS];
    i32 exponent[TERMS];
    for (u32 k = 0; k < depth; k++) {
      const f64 x = row[k], y = column[p.sparse ? where[i * depth + k] : k];
      product[k] = x * y;
      exponent[k] = product[k] == 0 ? -300 : Accumulator::exponent_of(x, least(p, p.a)) + Accumulator::exponent_of(y, least(p, p.b));
    }
    const f64 sum = sums.total(summand(p, number(p, c, p.d, at)), product, exponent);
    put(d, at, bits_of(p.d), narrowed(p, sum, p.d, to));
  }
  if (to != TO_NEAREST) set_rounding(to);
}
void multiply_f32(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  multiply(p, a, b, c, index, d);
}
void multiply_f64(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  multiply(p, a, b, c, index, d);
}
