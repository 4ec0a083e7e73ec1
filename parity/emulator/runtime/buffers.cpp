// Buffer accesses. Semantics: CDNA3 and RDNA3 Instruction Set Architecture, "Buffer addressing" and "Range checking". Where
// these leave a choice, the check does what gfx950, gfx11 and gfx12 do according to ROCm/rocm-systems, emulation/rocjitsu,
// isa/arch/amdgpu/shared/addr_calc_buffer.h, and gfx10 what Mesa states in src/amd/common/ac_descriptors.c.
#include "buffers.h"
#include "images.h"
#include "texels.h"

enum OutOfBounds { STRUCTURED_OFFSET, STRUCTURED, NO_CHECK, RAW }; // OOB_SELECT, from generation 10 on
// The lanes whose bytes from `begin` to `end` of a record are in range.
static B in_range(const u32 *words, V<u32> index, V<u64> begin, V<u64> end, u32 scalar_offset, const BufferForm &form) {
  const u64 records = words[2], stride = words[1] >> 16 & 0x3fff;
  const B known = bools(to<u64>(index) < records);
  if (form.generation == 9) return form.idxen && stride ? known : bools(end + scalar_offset <= records);
  // Generation 10 compares the first byte, and later ones the last byte.
  const V<u64> limited = form.generation == 10 ? begin + 1 : end;
  switch (words[3] >> 28 & 3) {
  case STRUCTURED_OFFSET: return known & bools(limited <= stride);
  case STRUCTURED: return known;
  case NO_CHECK: return unmask(records ? ALL : 0);
  default: return bools(limited + scalar_offset <= records);
  }
}
u32 buffer_access(Context *c, Mask exec, u32 wave, const u32 *words, In<u32> given, In<u32> offset, u32 scalar_offset,
                  const BufferForm &form, u32 instruction, BufferAccess *out) {
  const u64 base = (u64)((i64)(pair(words[0], words[1]) << 16) >> 16), stride = words[1] >> 16 & 0x3fff;
  const bool by_lane = words[3] & ADD_TID;
  for (u32 k = 0; k < 4; k++) out->live[k] = exec;
  if (words[1] & (form.generation < 11 ? 1u << 31 : SWIZZLES)) {
    if (!by_lane || base != c->scratch) return report(c, SWIZZLED, base, 0, NO_LANE, instruction);
    out->at = c->scratch + scalar_offset / LANES + to<u64>((wave * LANES + IOTA) * c->scratch_stride + offset);
    return 0;
  }
  const V<u32> index = form.idxen ? V<u32>(given) : by_lane ? V<u32>(IOTA) : all(0u);
  out->at = base + scalar_offset + to<u64>(index) * stride + to<u64>(offset);
  if (form.generation == 9 && by_lane && !form.idxen) return 0; // no check
  const V<u64> first = to<u64>(offset);
  for (u32 k = 0; k < form.count; k++)
    out->live[k] &= mask(in_range(words, index, first + k * form.bytes, first + (k + 1) * form.bytes, scalar_offset, form));
  return 0;
}

u32 buffer_load(Context *c, const BufferAccess &b, const BufferForm &form, u32 instruction, V<u32> *out) {
  if (form.count > 1 && b.live[form.count - 1] == b.live[0]) {
    if (gather_at(c, b.live[0], b.at, form.bytes * form.count, instruction, out)) return 1;
  } else
    for (u32 k = 0; k < form.count; k++) {
      const V<u64> at = b.at + k * form.bytes;
      if (form.bytes == 4 ? load_u32(c, b.live[k], 0, lo32(at), hi32(at), instruction, out + k)
                          : gather_at(c, b.live[k], at, form.bytes, instruction, out + k)) return 1;
    }
  for (u32 k = 0; k < form.count; k++) out[k] = sel(unmask(b.live[k]), out[k], all(0u));
  return 0;
}
u32 buffer_store(Context *c, const BufferAccess &b, const BufferForm &form, u32 instruction, const V<u32> *in) {
  if (form.count > 1 && b.live[form.count - 1] == b.live[0]) return scatter_at(c, b.live[0], b.at, form.bytes * form.count, instruction, in);
  for (u32 k = 0; k < form.count; k++) {
    const V<u64> at = b.at + k * form.bytes;
    if (form.bytes == 4 ? store_u32(c, b.live[k], 0, lo32(at), hi32(at), instruction, in[k])
                        : scatter_at(c, b.live[k], at, form.bytes, instruction, in + k)) return 1;
  }
  return 0;
}

static Texel texel_of(u32 word, u32 generation) {
  for (const TexelFormat &row : TEXEL_FORMATS) {
    const u32 unified = word >> 12 & (generation == 10 ? 127 : 63), first = generation == 10 ? row.in10 : row.later;
    if (generation == 9 && (word >> 15 & 15) != row.before10) continue;
    for (u32 k = 0; row.kinds[k]; k++)
      if (generation == 9 ? row.kinds[k] == NUM_FORMATS[word >> 12 & 7] : unified == first + k)
        return {row.channels, row.bits, row.kinds[k]};
  }
  return {};
}
u32 buffer_load_format(Context *c, Mask exec, u32 wave, const u32 *words, In<u32> index, In<u32> offset, u32 scalar_offset,
                       const BufferForm &form, u32 instruction, V<u32> *out) {
  if ((words[3] & IMAGE) == IMAGE) return image_load_linear(c, exec, words, index, instruction, form.count, out);
  const Texel of = texel_of(words[3], form.generation);
  if (!of.bits) return report(c, FORMAT, (u64)words[0], 0, NO_LANE, instruction);
  const BufferForm whole = {form.generation, form.idxen, of.channels * of.bits / 8, 1};
  BufferAccess b;
  V<u32> x[4];
  if (buffer_access(c, exec, wave, words, index, offset, scalar_offset, whole, instruction, &b)) return 1;
  if (gather_at(c, b.live[0], b.at, whole.bytes, instruction, x)) return 1;
  const V<u32> one = one_of(of);
  for (u32 k = 0; k < form.count; k++) {
    const u32 source = words[3] >> 3 * k & 7, number = source - TEXEL_X;
    const V<u32> value = source == TEXEL_ONE                              ? one
                         : source >= TEXEL_X && number < of.channels ? channel(of, x, number)
                         : source >= TEXEL_X && number == 3          ? one
                                                                     : all(0u);
    out[k] = sel(unmask(b.live[0]), value, all(0u));
  }
  return 0;
}
