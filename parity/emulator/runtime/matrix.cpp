// D = A * B + C on the matrices of a wavefront: where their elements are, and how products are added up.
#include "matrix.h"
#include "approximate.h"

constexpr u32 MOST = 64 * 32;  // elements of a matrix, all blocks together
constexpr u32 TERMS = 64 + 1;  // of a sum: products and C
struct Place { u32 lane, element; };

// --- layouts: AMD's ISA documents, "matrix" chapters; AMD's Matrix Instruction Calculator ---
static u32 bits_of(Type t) {
  switch (t) {
  case TYPE_F64: return 64;
  case TYPE_F16: case TYPE_BF16: return 16;
  case TYPE_FP8: case TYPE_BF8: case TYPE_I8: case TYPE_IU8: return 8;
  case TYPE_IU4: return 4;
  default: return 32;
  }
}
// Element k, of `depth`, in row i of A or in column i of B, which have `size` of them. `run` elements of k in a row are in
// one lane on RDNA 4; CDNA has as many as fit. Of the matrices of a warp `run` says whether it is B. On RDNA 3 each half of the wavefront has its own copy.
static Place input(const Product &p, u32 size, u32 depth, u32 block, u32 i, u32 k, u32 run, u32 half) {
  if (p.layout == RDNA3) return {16 * half + i, k};
  if (p.layout == LINEAR) return run ? Place{(k * size + i) % 32, (k * size + i) / 32} : Place{(i * depth + k) % 32, (i * depth + k) / 32};
  if (p.layout == RDNA4) return {16 * (k / run % 2) + i, k / (2 * run) * run + k % run};
  if (p.layout == MMA) { // PTX ISA, "Matrix Fragments for mma": a register has 8 rows, and of each as much as 4 lanes hold
    const u32 bits = bits_of(p.a), width = bits < 32 ? 32 / bits : 1, part = k / (4 * width);
    return {i % 8 * 4 + k % (4 * width) / width, (part * (size / 8) + i / 8) * width + k % width};
  }
  const u32 each = depth * size * p.blocks / LANES;
  return {k / each * size * p.blocks + block * size + i, k % each};
}
static Place output(const Product &p, u32 block, u32 i, u32 j) {
  if (p.layout == RDNA3) return {16 * (i % 2) + j, i / 2};
  if (p.layout == LINEAR) return {(i * p.n + j) % 32, (i * p.n + j) / 32};
  if (p.layout == MMA) return {i % 8 * 4 + j / 2, i / 8 * 2 + j % 2};
  if (p.layout == RDNA4) return {16 * (i / 8) + j, i % 8};
  // As many rows as `height` lie in registers, the next ones beside them in further lanes.
  const u32 height = p.d == TYPE_F64 ? 1 : 4, beside = LANES / p.n, area = p.m * p.n;
  const u32 blocks = area / height < LANES ? LANES * height / area : 1; // in the lanes of one register
  const u32 lane = (block % blocks) * p.n + i / height % beside * blocks * p.n + j;
  return {lane, block * (area / LANES) + i / (height * beside) * height + i % height};
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
// Indexed by a variable a vector is slow, an array is not.
static u32 lane_of(const V<u32> *r, u32 number, u32 lane) { return ((const u32 *)r)[number * LANES + lane]; }
static u32 word(const V<u32> *r, Place at, u32 bits) {
  const u32 n = at.element * bits;
  return lane_of(r, n / 32, at.lane) >> (n % 32) & (bits == 32 ? ~0u : (1u << bits) - 1);
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
  default: return (f64)scalar<f32>(x);
  }
}
static i32 integer(const V<u32> *r, Type t, Place at, bool is_signed) {
  const u32 bits = bits_of(t), x = word(r, at, bits);
  return is_signed && bits < 32 ? (i32)(x << (32 - bits)) >> (32 - bits) : (i32)x;
}
// A sparse product has two elements for every four of B: their places are two bits each.
static u32 dense(const Product &p, const V<u32> *index, Place at, u32 k) {
  const u32 bits = p.layout == CDNA ? 128 / bits_of(p.a) : 16;
  const u32 first = p.layout == CDNA && p.cbsz ? 0 : p.abid * bits;
  return k / 2 * 4 + (lane_of(index, 0, at.lane) >> (first + 2 * at.element) & 3);
}
static i32 least(const Product &p, Type t) { // exponent of a normal number; f8 goes through f16 on tensor cores
  return t == TYPE_FP8 && p.layout == MMA ? -14 : t == TYPE_F16 ? -14 : t == TYPE_FP8 ? (p.fnuz ? -7 : -6) : t == TYPE_BF8 ? (p.fnuz ? -15 : -14) : -126;
}
static f64 negated(f64 x, bool yes) { return yes ? -x : x; }

// --- sums ---
enum Direction { NEAREST_, DOWN_, UP_, ZERO_ };
constexpr u32 KEPT = 64; // shadow.py
static Direction direction() { // a shadow run has set it: see shadow.py
#ifdef __aarch64__
  u64 mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  const u32 to = mode >> 22 & 3;
  return to == 1 ? UP_ : to == 2 ? DOWN_ : to == 3 ? ZERO_ : NEAREST_;
#else
  u32 mode;
  asm volatile("stmxcsr %0" : "=m"(mode));
  return (Direction)(mode >> 13 & 3);
#endif
}
static void set_direction(Direction to) {
#ifdef __aarch64__
  u64 mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  mode = (mode & ~(3ul << 22)) | (to == UP_ ? 1ul : to == DOWN_ ? 2ul : to == ZERO_ ? 3ul : 0ul) << 22;
  asm volatile("msr fpcr, %0" : : "r"(mode) : "memory");
#else
  u32 mode;
  asm volatile("stmxcsr %0" : "=m"(mode));
  mode = (mode & ~0x6000u) | (u32)to << 13;
  asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
#endif
}
static f64 size_of(f64 x) { return scalar<f64>(scalar<u64>(x) & ~(1ul << 63)); }
static bool finite(f64 x) { return x - x == 0; }
// What two numbers add up to, and what that lacks (Knuth, TAOCP 2, 4.2.2).
static f64 two_sum(f64 a, f64 b, f64 &rest) {
  const f64 s = a + b, t = s - a;
  rest = (a - (s - t)) + (b - t);
  return s;
}
// The exact sum, rounded to odd: whatever it is rounded to afterwards is as if it had been rounded once. Partial sums
// that do not overlap: Shewchuk, "Adaptive precision floating-point arithmetic", 1997.
static f64 exact_sum(const f64 *x, u32 n) {
  f64 part[TERMS + 1], plain = 0, lost = 0;
  u32 count = 0;
  for (u32 i = 0; i < n; i++) {
    f64 rest;
    plain = two_sum(plain, x[i], rest);
    lost += size_of(rest);
  }
  if (lost == 0 || !finite(plain)) return plain;
  for (u32 i = 0; i < n; i++) {
    f64 sum = x[i];
    u32 kept = 0;
    for (u32 q = 0; q < count; q++) {
      f64 rest;
      sum = two_sum(sum, part[q], rest);
      if (rest != 0) part[kept++] = rest;
    }
    part[kept++] = sum, count = kept;
  }
  f64 top = part[--count], rest = 0;
  while (count && rest == 0) top = two_sum(top, part[--count], rest);
  if (rest == 0) return top;
  const u64 u = scalar<u64>(top) - ((rest < 0) != (top < 0));
  return scalar<f64>(u | 1);
}
static f32 rounded(f64 x, Direction to) {
  const f32 near = (f32)x;
  const f64 back = (f64)near;
  if (back == x || x != x || !finite(x)) return near;
  const bool away = to == UP_ ? x > 0 : to == DOWN_ ? x < 0 : false, cut = to != NEAREST_ && !away;
  const u32 u = scalar<u32>(near);
  if (away && size_of(back) < size_of(x)) return scalar<f32>(u + 1);
  if (cut && size_of(back) > size_of(x)) return scalar<f32>(u - 1);
  return near;
}
static f64 to_odd_f32(f64 x) { // so that a rounding to fewer bits is one rounding
  const f32 cut = rounded(x, ZERO_);
  return (f64)cut == x || x != x ? (f64)cut : (f64)scalar<f32>(scalar<u32>(cut) | 1);
}
static f64 flushed(f64 x, bool flush) { return flush && size_of(x) < 0x1p-126 ? x * 0 : x; }

// How a draw adds up. Every one of them is an order of addition and a way of rounding that hardware might have.
// A shadow run is none: there every term rounds.
enum Way { MODEL, ONCE, ONCE_CUT, WHOLE, FORWARD, BACKWARD, FORWARD_CUT, PAIRED, SHADOW };
static Way way_of(const Product &p) {
  if (drawing.results == GFX1100 || p.layout >= LINEAR) return MODEL; // as measured
  if (drawing.results == NEAREST || p.sums == SUM_EXACT) return ONCE;
  return (Way)((drawing.seed * 0x9e3779b1u >> 29) % 8);
}

struct Sum {
  const Product &p;
  Way way;
  Direction to;

  // C and the products of a group, each exact, in f64.
  f64 once(f64 c, const f64 *product, u32 n) const {
    f64 terms[TERMS];
    terms[0] = c;
    for (u32 k = 0; k < n; k++) terms[k + 1] = product[k];
    return exact_sum(terms, n + 1);
  }
  // Each term rounds as the largest sum that any order may come to on the way does.
  f64 shadow(f64 c, const f64 *product, u32 n) const {
    f64 size = size_of(c), terms[TERMS];
    for (u32 k = 0; k < n; k++) size += size_of(product[k]);
    if (!finite(size)) return once(c, product, n);
    const i32 unit = max(exponent_of(size, -126) - 23, -149);
    for (u32 k = 0; k <= n; k++) {
      const f64 x = k ? product[k - 1] : c;
      terms[k] = to == UP_ ? -multiple(-x, unit, true) : multiple(x, unit, true);
    }
    return exact_sum(terms, n + 1);
  }
  f64 paired(const f64 *product, u32 n) const { // every operation rounds
    const f64 x = n == 1 ? product[0] : paired(product, n / 2) + paired(product + n / 2, n - n / 2);
    return flushed((f64)rounded(x, to), p.flush);
  }
  // The exponent of a number of a type; subnormal numbers have the least one. A product has that of its factors together,
  // so its significand is below 4.
  static i32 exponent_of(f64 x, i32 least) {
    return x == 0 ? -126 : max((i32)(scalar<u64>(x) >> 52 & 2047) - 1023, least);
  }
  static f64 multiple(f64 x, i32 unit, bool down) { // cut to a multiple of 2^unit
    const f64 step = scalar<f64>((u64)(unit + 1023) << 52), n = x / step;
    if (size_of(n) >= 0x1p52) return x;
    const f64 whole = (f64)(i64)n;
    return (down && whole > n ? whole - 1 : whole) * step;
  }
  static f64 aligned(const f64 *product, const i32 *exponent, u32 n, u32 step, i32 &top) {
    top = exponent[0];
    for (u32 k = 0; k < n; k += step) top = max(top, exponent[k]);
    f64 sum = 0;
    for (u32 k = 0; k < n; k += step) sum += multiple(product[k], top - 24, false);
    return sum;
  }
  // What CDNA 3 was measured to do: products aligned to the largest and cut to 24 bits below its exponent, the sum to 31
  // bits, C to 24, toward minus infinity; then one rounding (Xie et al., arXiv 2511.10909).
  f64 measured(f64 c, const f64 *product, const i32 *exponent, u32 n) const {
    f64 plain = c;
    bool above = false, below = false;
    for (u32 k = 0; k < n; k++) {
      plain += product[k];
      above |= product[k] >= 0x1p128, below |= product[k] <= -0x1p128;
    }
    if (!finite(plain)) return plain;
    if (above || below) return above && below ? __builtin_nan("") : above ? __builtin_inf() : -__builtin_inf();
    i32 top, other;
    f64 sum;
    if (p.sums == SUM_SPLIT) {
      const f64 even_ = aligned(product, exponent, n, 2, top), odd = aligned(product + 1, exponent + 1, n - 1, 2, other);
      top = max(top, other);
      sum = multiple(even_, top - 24, true) + multiple(odd, top - 24, true);
    } else {
      sum = aligned(product, exponent, n, 1, top);
    }
    const i32 of_c = exponent_of(c, -126), most = max(top, of_c);
    sum = multiple(sum, most - 31, true);
    const f64 rest = p.sums == SUM_SPLIT && of_c < most - 25 ? 0 : multiple(c, most - 24, true);
    return sum + rest;
  }
  // A row of A times a column of B, and C; the result is rounded to f32 unless D is narrower.
  f64 total(f64 c, const f64 *product, const i32 *exponent) const {
    const u32 depth = p.sparse ? p.k / 2 : p.k;
    const bool narrow = bits_of(p.d) == 16;
    f64 sum = p.flush && size_of(c) < 0x1p-126 ? 0 : c;
    if (way == MODEL || way == ONCE || way == ONCE_CUT || way == PAIRED) {
      for (u32 k = 0; k < depth; k += p.group) {
        f64 x;
        if (way == PAIRED || (way == MODEL && p.sums == SUM_PAIRS)) x = sum + paired(product + k, p.group);
        else if (way == MODEL && (p.sums == SUM_ALIGNED || p.sums == SUM_SPLIT)) x = measured(sum, product + k, exponent + k, p.group);
        else x = once(sum, product + k, p.group);
        if (narrow && k + p.group == depth) return x;
        sum = flushed((f64)rounded(x, way == ONCE_CUT ? ZERO_ : to), p.flush);
      }
      return sum;
    }
    if (way == WHOLE || way == SHADOW) {
      const f64 x = way == WHOLE ? once(sum, product, depth) : shadow(sum, product, depth);
      return narrow ? x : flushed((f64)rounded(x, to), p.flush);
    }
    for (u32 k = 0; k < depth; k++) {
      const f64 x = once(sum, product + (way == BACKWARD ? depth - 1 - k : k), 1);
      sum = flushed((f64)rounded(x, way == FORWARD_CUT ? ZERO_ : to), p.flush);
    }
    return sum;
  }
};
static u32 narrowed(const Product &p, f64 x, Type t, Direction to) { // to the bits of D
  if (x != x) return p.layout >= LINEAR ? (t == TYPE_F32 ? 0x7fffffff : 0x7fff) : t == TYPE_F32 ? 0x7fc00000 : t == TYPE_F16 ? 0x7e00 : 0x7fc0;
  const f64 odd = to_odd_f32(x);
  if (t == TYPE_F32) return scalar<u32>(rounded(x, to));
  if (t == TYPE_F16) return scalar<u16>((f16)(f32)odd);
  const u32 u = scalar<u32>((f32)odd);
  return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

// --- products ---
// Rows of A and columns of B, block by block, and of a sparse A the k of each element.
template <class T, class Get> static void gather(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *index,
                                                 T *left, T *right, u32 *where, u32 half, Get get) {
  const u32 depth = p.sparse ? p.k / 2 : p.k;
  const bool linear = p.layout == LINEAR; // where this says that it is B's
  const u32 run = linear ? 0 : bits_of(p.a) == 16 ? 4 : depth / 2, run_b = linear ? 1 : bits_of(p.b) == 16 ? (p.sparse ? 8 : 4) : p.k / 2;
  for (u32 block = 0; block < p.blocks; block++) {
    // Blocks that get another one's A: 2^cbsz of them that of number abid among them.
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
static f64 summand(const Product &p, f64 c) { // neg_hi of C is its magnitude
  if (p.d == TYPE_F64) return negated(c, p.neg_lo >> 2 & 1);
  return negated(p.neg_hi >> 2 & 1 ? size_of(c) : c, p.neg_lo >> 2 & 1);
}
// On RDNA 3 the upper half of the wavefront has the odd rows of D, and computes them from its own copies of A and B.
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
// The place in the register of a D of 16 bits: RDNA 3 uses one half of each, as op_sel says.
static Place halved(const Product &p, Place at) {
  return p.layout == RDNA3 && bits_of(p.d) == 16 ? Place{at.lane, 2 * at.element + p.op_sel} : at;
}

// Fragments of wmma have the elements by rows, number n in lane n % 32 (ptx/matrix.py), so that a register is unpacked as
// a whole; eight results of a row are computed at once.
template <class T> using Beside = T __attribute__((ext_vector_type(8)));
template <class T> static void multiply_rows(const Product &p, const T *left, const T *right, T *sums) {
  for (u32 i = 0; i < p.m; i++)
    for (u32 j = 0; j < p.n; j += 8) {
      Beside<T> &to = *(Beside<T> *)(sums + i * p.n + j), sum = to;
      for (u32 k = 0; k < p.k; k++) {
        const Beside<T> x = left[i * p.k + k], y = *(const Beside<T> *)(right + k * p.n + j);
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
  const bool back = way == BACKWARD || way == FORWARD_CUT; // the other order
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

// Tensor cores of Hopper: C and all products are aligned to the largest, cut 25 bits below its exponent, and so is the sum
// to f32. Eight results of a row are computed at once. Of one product of f8 nvcc makes two of f16 for sm_90: of the
// first two of every four k, then of the others.
typedef i64 Exponents __attribute__((ext_vector_type(8)));
typedef f32 Cut __attribute__((ext_vector_type(8)));
typedef u32 CutBits __attribute__((ext_vector_type(8)));
typedef f16 Narrow __attribute__((ext_vector_type(8)));
static Exponents exponents_of(Beside<f64> x, i64 least) {
  const Exponents e = (__builtin_bit_cast(Exponents, x) >> 52 & 2047) - 1023;
  return x == 0 ? (Exponents)-126 : __builtin_elementwise_max(e, (Exponents)least);
}
static Cut cut(Beside<f64> x, bool to_odd) { // toward zero, or to odd, so that a rounding to fewer bits is one rounding
  const Cut near = __builtin_convertvector(x, Cut);
  const Beside<f64> back = __builtin_convertvector(near, Beside<f64>);
  const auto beyond = __builtin_convertvector(__builtin_elementwise_abs(back) > __builtin_elementwise_abs(x), CutBits);
  const auto inexact = __builtin_convertvector(back != x, CutBits);
  const CutBits u = __builtin_bit_cast(CutBits, near) + beyond; // a comparison that holds is -1
  return __builtin_bit_cast(Cut, to_odd ? u | (inexact & 1) : u);
}
static void multiply_tensor(const Product &p, const f64 *left, const f64 *right, const V<u32> *c, V<u32> *d) {
  const bool narrow = p.d == TYPE_F16;
  const u32 parts = p.k / p.group;
  Beside<f64> column[MOST / 8];
  Exponents of_column[MOST / 8];
  for (u32 j = 0; j < p.n; j++)
    for (u32 k = 0; k < p.k; k++) column[j / 8 * p.k + k][j % 8] = right[j * p.k + k];
  for (u32 n = 0; n < p.n / 8 * p.k; n++) of_column[n] = exponents_of(column[n], least(p, p.b));
  for (u32 i = 0; i < p.m; i++) {
    i64 of_row[TERMS];
    for (u32 k = 0; k < p.k; k++) of_row[k] = Sum::exponent_of(left[i * p.k + k], least(p, p.a));
    for (u32 j = 0; j < p.n; j += 8) {
      Beside<f64> sum, product[TERMS];
      for (u32 q = 0; q < 8; q++) sum[q] = number(p, c, p.d, output(p, 0, i, j + q));
      for (u32 part = 0; part < parts; part++) {
        Beside<f64> plain = sum;
        Exponents top = exponents_of(sum, narrow ? -14 : -126);
        u32 n = 0;
        for (u32 k = 0; k < p.k; k++) {
          if (k / 2 % parts != part) continue;
          const u32 at = j / 8 * p.k + k;
          plain += product[n++] = left[i * p.k + k] * column[at];
          top = __builtin_elementwise_max(top, of_row[k] + of_column[at]);
        }
        const Beside<f64> units = __builtin_bit_cast(Beside<f64>, 25 - top + 1023 << 52), unit = __builtin_bit_cast(Beside<f64>, top - 25 + 1023 << 52);
        Beside<f64> whole = 0.0 + __builtin_elementwise_trunc(sum * units); // never -0
        for (u32 k = 0; k < n; k++) whole += __builtin_elementwise_trunc(product[k] * units);
        whole *= unit;
        if (!narrow) whole = __builtin_elementwise_abs(whole) >= 0x1p128 ? whole * __builtin_inf() : __builtin_convertvector(cut(whole, false), Beside<f64>);
        sum = plain - plain == 0 ? whole : plain;
        if (narrow && part + 1 < parts) sum = __builtin_convertvector(__builtin_convertvector(cut(sum, true), Narrow), Beside<f64>);
      }
      for (u32 q = 0; q < 8; q++) put(d, output(p, 0, i, j + q), bits_of(p.d), narrowed(p, sum[q], p.d, NEAREST_));
    }
  }
}

static void multiply(const Product &given, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  if (given.layout == LINEAR && given.d == TYPE_F64) return multiply_rows_f64(given, a, b, c, d);
  const Direction to = direction();
  Product p = given;
  p.flush = p.flush && !(to != NEAREST_ && drawing.seed & KEPT);
  f64 left[2][MOST], right[2][MOST];
  u32 where[MOST];
  const u32 depth = p.sparse ? p.k / 2 : p.k;
  const f64 smallest = p.a == TYPE_F16 ? 0x1p-14 : 0x1p-126;
  auto get = [&](const V<u32> *r, Type t, Place at, u32 operand) {
    const f64 x = negated(number(p, r, t, at), negates(p, operand, at.element));
    return p.flush && size_of(x) < smallest ? 0.0 : x;
  };
  for (u32 half = 0; half < (p.layout == RDNA3 ? 2 : 1); half++) gather(p, a, b, index, left[half], right[half], where, half, get);
  if (p.sums == SUM_CHAIN) {
    multiply_wide(p, left[0], right[0], c, d);
    return;
  }
  if (p.sums == SUM_TENSOR) {
    multiply_tensor(p, left[0], right[0], c, d);
    return;
  }
  if (to != NEAREST_) set_direction(NEAREST_);
  const Sum sums = {p, to == NEAREST_ ? way_of(p) : SHADOW, to};
  EACH_RESULT(p) {
    const Place at = halved(p, output(p, block, i, j));
    const f64 *row = left[half] + (block * p.m + i) * depth, *column = right[half] + (block * p.n + j) * p.k;
    f64 product[TERMS];
    i32 exponent[TERMS];
    for (u32 k = 0; k < depth; k++) {
      const f64 x = row[k], y = column[p.sparse ? where[i * depth + k] : k];
      product[k] = x * y;
      exponent[k] = Sum::exponent_of(x, least(p, p.a)) + Sum::exponent_of(y, least(p, p.b));
    }
    const f64 sum = sums.total(summand(p, number(p, c, p.d, at)), product, exponent);
    put(d, at, bits_of(p.d), narrowed(p, sum, p.d, to));
  }
  if (to != NEAREST_) set_direction(to);
}
void multiply_f32(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  multiply(p, a, b, c, index, d);
}
void multiply_f64(const Product &p, const V<u32> *a, const V<u32> *b, const V<u32> *c, const V<u32> *index, V<u32> *d) {
  multiply(p, a, b, c, index, d);
}
