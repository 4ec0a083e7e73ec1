// Textures and surfaces. Semantics: CUDA C++ Programming Guide, "Texture Fetching", and RDNA3 Instruction Set Architecture,
// "Image Instructions" and "Sampler Resource". Both vendors filter with weights of 8 fractional bits.
#include "images.h"
#include "wavefronts.h"

// --- channels of texels ---
V<u32> channel(Texel of, const V<u32> *x, u32 number) {
  const u32 bit = number * of.bits, unused = 32 - of.bits;
  const V<u32> bits = x[bit / 32] >> bit % 32 << unused;
  const V<u32> plain = bits >> unused;
  const V<i32> whole = as<i32>(bits) >> (i32)unused;
  const double most = (1ull << (of.bits - 1)) - 1;
  switch (of.kind) {
  case 'n': return as<u32>(to<f32>(to<f64>(plain) / (2 * most + 1)));
  case 'N': return as<u32>(to<f32>(sel(to<f64>(whole) < -most, all(-1.0), to<f64>(whole) / most)));
  case 's': return as<u32>(to<f32>(plain));
  case 'S': return as<u32>(to<f32>(whole));
  case 'i': return as<u32>(whole);
  case 'f': return of.bits == 16 ? as<u32>(to<f32>(as<f16>(to<u16>(plain)))) : plain;
  default: return plain;
  }
}
V<u32> one_of(Texel of) { return all(of.kind == 'u' || of.kind == 'i' ? 1u : __builtin_bit_cast(u32, 1.0f)); }
// The bits of a channel, from a component of a register: integers lose their upper bits.
static V<u32> encoded(Texel of, V<u32> x) {
  if (of.kind == 'f') return of.bits == 16 ? to<u32>(as<u16>(to<f16>(as<f32>(x)))) : x;
  return of.bits == 32 ? x : x & ((1u << of.bits) - 1);
}

// --- the words of an image ---
static Texel texel_of(const u32 *image) { return {image[3] >> 8 & 7, image[3] >> 11 & 63, (char)image[3]}; }
static u32 dims_of(const u32 *image) { return image[3] >> 17 & 3; }
static bool is_layered(const u32 *image) { return image[3] >> 19 & 1; }
static bool is_linear_memory(const u32 *image) { return image[3] >> 20 & 1; }
static u32 extent_of(const u32 *image, u32 dim) {
  if (is_linear_memory(image)) return image[2];
  return 1 + (dim == 0 ? image[2] & 0x3fff : dim == 1 ? image[2] >> 14 & 0x3fff : image[4]);
}
static u64 step_of(const u32 *image, u32 dim) { return dim == 0 ? texel_of(image).channels * texel_of(image).bits / 8 : image[5 + dim]; }
static u32 check(Context *c, const u32 *image, u32 instruction) {
  return (image[3] & IMAGE) == IMAGE ? 0 : report(c, NOT_TEXTURE, 0, 0, NO_LANE, instruction);
}

// --- texels at whole coordinates ---
struct Place {
  V<u64> at;
  B inside;
};
static Place first_place(const u32 *image) { return {all(pair(image[0], image[1])), unmask(ALL)}; }
static void move(Place &p, const u32 *image, u32 dim, V<i32> x) {
  const B inside = bools(as<u32>(x) < extent_of(image, dim));
  p.inside &= inside;
  p.at += to<u64>(sel(inside, as<u32>(x), all(0u))) * step_of(image, dim);
}
static Place place_of(const u32 *image, const V<u32> *at) {
  Place p = first_place(image);
  for (u32 k = 0; k < dims_of(image); k++) move(p, image, k, as<i32>(at[k]));
  if (is_layered(image)) move(p, image, 2, as<i32>(at[dims_of(image)]));
  return p;
}
// Loads the four components of texels; outside, they are 0.
static u32 load_texels(Context *c, Mask exec, const u32 *image, const Place &p, u32 instruction, V<u32> *out) {
  const Texel of = texel_of(image);
  const B live = unmask(exec) & p.inside;
  V<u32> x[4];
  if (gather_at(c, mask(live), p.at, step_of(image, 0), instruction, x)) return 1;
  for (u32 k = 0; k < 4; k++) out[k] = sel(live, k < of.channels ? channel(of, x, k) : k == 3 ? one_of(of) : all(0u), all(0u));
  return 0;
}
u32 image_load(Context *c, Mask exec, const u32 *image, const V<u32> *at, u32 instruction, V<u32> *out) {
  return check(c, image, instruction) || load_texels(c, exec, image, place_of(image, at), instruction, out);
}
// AMD's descriptors state the size of linear memory in bytes, and the instruction expects texels, so that texels beyond
// the end are loaded. On an NVIDIA GPU they are 0.
u32 image_load_linear(Context *c, Mask exec, const u32 *image, In<u32> x, u32 instruction, u32 count, V<u32> *out) {
  const V<u64> index = to<u64>(V<u32>(x));
  const u64 size = step_of(image, 0);
  V<u32> texel[4];
  if (load_texels(c, exec, image, {pair(image[0], image[1]) + index * size, bools(index < image[2] * size)}, instruction, texel)) return 1;
  for (u32 k = 0; k < count; k++) out[k] = texel[k];
  return 0;
}
u32 image_store(Context *c, Mask exec, const u32 *image, const V<u32> *at, u32 instruction, const V<u32> *in) {
  if (check(c, image, instruction)) return 1;
  const Texel of = texel_of(image);
  const Place p = place_of(image, at);
  V<u32> words[4] = {};
  for (u32 k = 0; k < of.channels; k++) words[k * of.bits / 32] |= encoded(of, in[k]) << k * of.bits % 32;
  return scatter_at(c, exec & mask(p.inside), p.at, step_of(image, 0), instruction, words);
}

// --- samples ---
enum Wrap { REPEATED, MIRRORED, CLAMPED }; // CLAMP_X to CLAMP_Z; other values give a border of zeros
static bool is_linear(const u32 *sampler) { return sampler[2] >> 20 & 1; }
// The whole coordinate within the image, as the sampler's address mode defines it.
static V<i32> wrapped(const u32 *sampler, u32 dim, V<i32> x, i32 extent) {
  const V<i32> period = x - to<i32>(floor(to<f64>(x) / extent)) * extent; // of a repeated image
  switch (sampler[0] >> 3 * dim & 7) {
  case REPEATED: return period;
  case MIRRORED: return sel(bools(((x - period) / extent & 1) != 0), extent - 1 - period, period);
  case CLAMPED: return min(max(x, all(0)), all(extent - 1));
  default: return x;
  }
}
enum Reach { NEAREST, FILTERED, GATHERED }; // a texel, or the texels around a place
constexpr i32 WHOLE = 256;             // weights are multiples of 1/256
constexpr f64 NORMALIZED = 0x1p21;     // normalized coordinates are multiples of its reciprocal
struct Taps {
  V<i32> first[3];  // the lower of the two texels of each dim, or the nearest one
  V<f64> upper[3];  // the weight of the upper texel, times WHOLE
};
// Rounds to a whole number, halves up. In shadow runs, it rounds up or down.
static V<f64> rounded(V<f64> x) {
  const V<f64> r = __builtin_elementwise_nearbyint(x);
  return sel(bools(x - r == 0.5), r + 1.0, r);
}
// Filtered coordinates have 8 fractional bits. AMD GPUs round all coordinates like this. For the nearest texel, the device
// library rounds them down before.
static Taps taps_of(const u32 *image, const u32 *sampler, Reach reach, bool rounds, const V<f32> *at) {
  Taps t;
  for (u32 k = 0; k < dims_of(image); k++) {
    const u32 mode = sampler[0] >> 3 * k & 7;
    V<f64> x = to<f64>(flushed(at[k]));
    if (!(sampler[0] & FORCE_UNNORMALIZED)) {
      if (mode == REPEATED) x -= floor(x), x = sel(bools(x < 1.0), x, sel(bools(x == x), all(1.0 - 1.0 / NORMALIZED), all(0.0)));
      if (mode == MIRRORED) x -= 2.0 * floor(x * 0.5);
      x = floor(x * NORMALIZED) * (extent_of(image, k) / NORMALIZED);
    }
    x = sel(bools(x == x), min(max(x, all(-0x1p22)), all(0x1p22)), all(0.0));
    if (rounds) x = rounded(x * WHOLE) / WHOLE;
    if (reach != NEAREST) x -= 0.5;
    if (reach == FILTERED && mode == CLAMPED) x = min(max(x, all(0.0)), all(extent_of(image, k) - 1.0));
    const V<f64> low = floor(x);
    t.first[k] = to<i32>(low), t.upper[k] = (x - low) * WHOLE;
  }
  return t;
}
// The weights of the texels, times WHOLE: they are divided along z, x and y, and each part is rounded, so that their sum is
// exact. No vendor documents this; an H200 computes these weights.
static void weights(const Taps &t, u32 dims, V<f64> *w) {
  for (u32 z = 0; z < (dims > 2 ? 2 : 1); z++) {
    const V<f64> of_z = dims < 3 ? all((f64)WHOLE) : z ? t.upper[2] : WHOLE - t.upper[2];
    const V<f64> of_x = rounded(of_z * t.upper[0] / WHOLE);
    V<f64> *const at = w + 4 * z;
    at[0] = of_z - of_x, at[1] = of_x;
    if (dims < 2) return;
    at[2] = -rounded(-at[0] * t.upper[1] / WHOLE), at[3] = rounded(at[1] * t.upper[1] / WHOLE);
    at[0] -= at[2], at[1] -= at[3];
  }
}
static void move_to_layer(Place &p, const u32 *image, const V<f32> *at) {
  if (!is_layered(image)) return;
  const V<f32> layer = even(at[dims_of(image)]), last = all((f32)image[4]);
  move(p, image, 2, to<i32>(sel(bools(layer > 0.0f), min(layer, last), all(0.0f))));
}
static Place tap(const u32 *image, const u32 *sampler, const Taps &t, const V<f32> *at, u32 number) {
  Place p = first_place(image);
  for (u32 k = 0; k < dims_of(image); k++)
    move(p, image, k, wrapped(sampler, k, t.first[k] + (i32)(number >> k & 1), (i32)extent_of(image, k)));
  move_to_layer(p, image, at);
  return p;
}
static u32 sample(Context *c, Mask exec, const u32 *image, const u32 *sampler, bool rounds, const V<f32> *at, u32 instruction, V<u32> *out) {
  if (check(c, image, instruction)) return 1;
  const bool linear = is_linear(sampler);
  const Taps t = taps_of(image, sampler, linear ? FILTERED : NEAREST, linear || rounds, at);
  if (!linear) return load_texels(c, exec, image, tap(image, sampler, t, at, 0), instruction, out);
  V<f64> weight[8], sum[4] = {};
  weights(t, dims_of(image), weight);
  // Integers that are numbers from 0 or -1 to 1 are filtered as numbers of 16 bits. The mean of halves is a half.
  const Texel of = texel_of(image);
  const f64 most = of.kind == 'n' ? 65535.0 : of.kind == 'N' ? 32767.0 : 0.0;
  for (u32 number = 0; number < 1u << dims_of(image); number++) {
    V<u32> x[4];
    const B used = unmask(exec) & bools(weight[number] != 0.0); // a texel without weight has no effect, even if it is infinite
    if (load_texels(c, mask(used), image, tap(image, sampler, t, at, number), instruction, x)) return 1;
    for (u32 k = 0; k < 4; k++) {
      const V<f64> value = to<f64>(as<f32>(x[k]));
      sum[k] += sel(used, weight[number] * (!most ? value : of.bits == 8 && of.kind == 'N' ? value * most : even(value * most)), all(0.0));
    }
  }
  for (u32 k = 0; k < 4; k++) {
    const V<f64> mean = sum[k] / WHOLE;
    const V<f32> result = to<f32>(most ? rounded(mean) / most : mean);
    out[k] = as<u32>(of.kind == 'f' && of.bits == 16 ? to<f32>(to<f16>(result)) : flushed(result));
  }
  return 0;
}
u32 image_sample(Context *c, Mask exec, const u32 *image, const u32 *sampler, const V<f32> *at, u32 instruction, V<u32> *out) {
  return sample(c, exec, image, sampler, true, at, instruction, out);
}
u32 image_gather(Context *c, Mask exec, const u32 *image, const u32 *sampler, u32 component, const V<f32> *at, u32 instruction, V<u32> *out) {
  if (check(c, image, instruction)) return 1;
  static const u32 ORDER[] = {2, 3, 1, 0}; // lower left, lower right, upper right, upper left; y points down
  const Taps t = taps_of(image, sampler, GATHERED, true, at);
  for (u32 k = 0; k < 4; k++) {
    V<u32> x[4];
    if (load_texels(c, exec, image, tap(image, sampler, t, at, ORDER[k]), instruction, x)) return 1;
    out[k] = x[component];
  }
  return 0;
}

// --- PTX: lanes with one texture object run together ---
// Calls `f` for the lanes of each object, with its words, and copies the `count` results that it leaves to `out`.
template <class F> static u32 each_object(Context *c, Mask on, V<u64> object, u32 instruction, u32 count, V<u32> *out, F f) {
  const Lanes<u64> objects(object);
  for (Mask left = on; left;) {
    const u64 own = objects[first(left)];
    const Mask same = left & mask(bools(object == own));
    u32 words[TEXTURE_WORDS];
    V<u32> x[4] = {};
    if (scalar_load_checked(c, own, TEXTURE_WORDS, instruction, words) || check(c, words, instruction) || f(same, words, x)) return 1;
    for (u32 k = 0; k < count; k++) out[k] = sel(unmask(same), x[k], out[k]);
    left &= ~same;
  }
  return 0;
}
u32 texture_sample(Context *c, Mask on, In<u64> object, const V<f32> *at, u32 instruction, V<u32> *out) {
  return each_object(c, on, object, instruction, 4, out, [&](Mask same, const u32 *words, V<u32> *x) {
    return sample(c, same, words, words + SAMPLER_AT, false, at, instruction, x);
  });
}
u32 texture_gather(Context *c, Mask on, In<u64> object, u32 component, const V<f32> *at, u32 instruction, V<u32> *out) {
  return each_object(c, on, object, instruction, 4, out, [&](Mask same, const u32 *words, V<u32> *x) {
    return image_gather(c, same, words, words + SAMPLER_AT, component, at, instruction, x);
  });
}
u32 texture_load(Context *c, Mask on, In<u64> object, const V<u32> *at, u32 instruction, V<u32> *out) {
  return each_object(c, on, object, instruction, 4, out, [&](Mask same, const u32 *words, V<u32> *x) {
    return image_load(c, same, words, at, instruction, x);
  });
}
u32 texture_extent(Context *c, Mask on, In<u64> object, u32 dim, u32 instruction, V<u32> *out) {
  return each_object(c, on, object, instruction, 1, out, [&](Mask, const u32 *words, V<u32> *x) {
    x[0] = all(extent_of(words, dim));
    return 0u;
  });
}
// The place of an access to a surface, of which the first coordinate counts bytes. An access outside may be a fault.
static u32 surface_place(Context *c, Mask same, const u32 *image, Outside outside, const V<u32> *at, u32 bytes, u32 kind,
                         u32 instruction, Place *p) {
  const u32 texel = step_of(image, 0), count = dims_of(image) + is_layered(image);
  V<u32> x[3] = {as<u32>(as<i32>(at[0]) / (i32)texel)};
  V<u64> raw = pair(image[0], image[1]) + to<u64>(to<i64>(as<i32>(at[0])));
  for (u32 k = 0; k < count; k++) {
    const u32 dim = k < dims_of(image) ? k : 2;
    if (k) x[k] = at[k], raw += to<u64>(to<i64>(as<i32>(at[k])) * (i64)step_of(image, dim));
    if (outside == CLAMP_OUTSIDE) x[k] = as<u32>(min(max(as<i32>(x[k]), all(0)), all((i32)extent_of(image, dim) - 1)));
  }
  *p = place_of(image, x);
  p->inside &= bools(as<i32>(at[0]) >= 0) | unmask(outside == CLAMP_OUTSIDE ? ALL : 0);
  if (outside != CLAMP_OUTSIDE) p->at += to<u64>(at[0] % texel);
  const Mask beyond = same & ~mask(p->inside);
  if (outside != TRAP_OUTSIDE || !beyond) return 0;
  const u32 lane = first(beyond);
  return report(c, kind, Lanes<u64>(raw)[lane], bytes, c->running->current * LANES + lane, instruction);
}
u32 surface_load(Context *c, Mask on, In<u64> object, Outside outside, const V<u32> *at, u32 bytes, u32 instruction, V<u32> *out) {
  return each_object(c, on, object, instruction, 4, out, [&](Mask same, const u32 *words, V<u32> *x) {
    Place p;
    if (surface_place(c, same, words, outside, at, bytes, READ_OUTSIDE, instruction, &p)) return 1u;
    if (gather_at(c, same & mask(p.inside), p.at, bytes, instruction, x)) return 1u;
    for (u32 k = 0; k < 4; k++) x[k] = sel(p.inside, x[k], all(0u));
    return 0u;
  });
}
u32 surface_store(Context *c, Mask on, In<u64> object, Outside outside, const V<u32> *at, u32 bytes, u32 instruction, const V<u32> *in) {
  return each_object(c, on, object, instruction, 0, nullptr, [&](Mask same, const u32 *words, V<u32> *) {
    Place p;
    if (surface_place(c, same, words, outside, at, bytes, WRITE_OUTSIDE, instruction, &p)) return 1u;
    return scatter_at(c, same & mask(p.inside), p.at, bytes, instruction, in);
  });
}
