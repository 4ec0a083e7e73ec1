// Accesses to memory: fast paths for whole vectors, and slow paths that find the first lane with a fault.
#include "requests.h"

// The compiler may turn loops into calls of these two functions.
typedef u8 Words __attribute__((ext_vector_type(32), aligned(1)));
typedef u8 Word __attribute__((ext_vector_type(8), aligned(1)));
RUNTIME void *memset(void *to, int value, u64 n) {
  volatile u8 *p = (volatile u8 *)to;
  for (; n >= sizeof(Words); n -= sizeof(Words), p += sizeof(Words)) *(volatile Words *)p = Words((u8)value);
  for (; n >= sizeof(Word); n -= sizeof(Word), p += sizeof(Word)) *(volatile Word *)p = Word((u8)value);
  while (n--) *p++ = value;
  return to;
}
RUNTIME void *memcpy(void *__restrict to, const void *__restrict from, u64 n) {
  volatile u8 *p = (volatile u8 *)to;
  const u8 *q = (const u8 *)from;
  for (; n >= sizeof(Words); n -= sizeof(Words), p += sizeof(Words), q += sizeof(Words)) *(volatile Words *)p = *(const Words *)q;
  while (n--) *p++ = *q++;
  return to;
}
bool same(const u8 *a, const u8 *b, u64 n) {
  for (; n >= 8; n -= 8, a += 8, b += 8)
    if (peek<u64>(a) != peek<u64>(b)) return false;
  for (; n; n--)
    if (*a++ != *b++) return false;
  return true;
}

template <u32 N> static inline void copy(u8 *to, const u8 *from) { __builtin_memcpy_inline(to, from, N); }
alignas(16) static const u8 WRITTEN[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}; // the state of written bytes
static inline void copy_some(u8 *to, const u8 *from, u32 n) {
  switch (n) {
  case 1: return copy<1>(to, from);
  case 2: return copy<2>(to, from);
  case 4: return copy<4>(to, from);
  case 8: return copy<8>(to, from);
  case 12: return copy<12>(to, from);
  default: return copy<16>(to, from);
  }
}

// --- the state of bytes ---
static void open_page(Context *c, const Sparse &s, u64 page) {
  const u64 offset = s.at - c->base + page * PAGE, left = s.bytes - page * PAGE, bytes = left < PAGE ? left : PAGE;
  if (c->shadow[offset] || c->openings == PAGES) return;
  for (u64 done = 0, from = s.tile ? page * PAGE % s.tile_bytes : 0; s.tile && done < bytes; from = 0) {
    const u64 rest = s.tile_bytes - from, n = rest < bytes - done ? rest : bytes - done;
    memcpy(c->data + offset + done, s.tile + from, n);
    done += n;
  }
  memset(c->shadow + offset, s.state, bytes);
  if (s.state & WRITABLE) c->opened[c->openings++] = page;
}
static void open_pages(Context *c, u64 at, u32 bytes, u32 state) {
  for (const Sparse &s : c->sparse)
    if (u64 from = at - s.at; from < s.bytes && s.bytes - from >= bytes && (s.tile || state == WRITABLE))
      for (u64 page = from / PAGE; page <= (from + bytes - 1) / PAGE; page++) open_page(c, s, page);
}
// The fault of an access that needs `state` in all bytes; NONE if it may proceed.
static u32 refused(Context *c, u64 at, u32 bytes, u32 state) {
  u32 outside = state == READABLE ? READ_OUTSIDE : WRITE_OUTSIDE;
  u64 offset = at - c->base;
  if (offset >= c->size || c->size - offset < bytes) return outside;
  if (c->sparse[0].bytes) open_pages(c, at, bytes, state);
  if (!c->checked) return NONE;
  const u8 *s = c->shadow + offset;
  u32 every = 3, any = 0;
  for (u32 i = 0; i < bytes; i++) every &= s[i], any |= !s[i];
  if (every & state) return NONE;
  return state == READABLE && !any ? READ_UNWRITTEN : outside;
}

constexpr u64 EACH_BYTE = 0x0101010101010101ul;
template <class T, int STATE> INLINE bool may_access(Context *c, u64 at) { // fast path of refused()
  const u64 offset = at - c->base;
  if (offset > c->size - sizeof(T)) return false;
  return !c->checked || (peek<T>(c->shadow + offset) & (T)(EACH_BYTE * STATE)) == (T)(EACH_BYTE * STATE);
}

// The same for up to 16 bytes.
template <int STATE> static inline bool may_access_some(Context *c, u64 at, u32 bytes) {
  const u64 offset = at - c->base;
  if (offset > c->size - bytes) return false;
  u64 state[2] = {EACH_BYTE * STATE, EACH_BYTE * STATE};
  if (c->checked) copy_some((u8 *)state, c->shadow + offset, bytes);
  return (state[0] & state[1] & EACH_BYTE * STATE) == EACH_BYTE * STATE;
}
// Whether a kernel may write any of up to 64 readable bytes. Other bytes need no trace.
static inline bool varies(Context *c, u64 at, u32 bytes) {
  const u8 *s = c->shadow + (at - c->base);
  u32 any = c->compares;
  for (u32 i = 0; i < bytes; i++) any |= s[i] & WRITABLE;
  return any;
}

void mark_written(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes) {
  c->running->scratched = 1;
  for (Mask m = c->checked ? exec : 0; m; m &= m - 1) {
    u32 i = first(m);
    u64 offset = base + pair(lo[i], hi[i]) - c->base;
    for (u32 k = 0; k < bytes && offset <= c->size - bytes; k++)
      if (c->shadow[offset + k] == WRITABLE) c->shadow[offset + k] |= READABLE;
  }
}

// Whether this is an aligned word with some readable bytes, in a kernel that has a compare-and-swap.
static bool partial(Context *c, u64 at, u32 bytes) {
  if (!c->compares || bytes != 4 || at & 3 || at - c->base > c->size - 4) return false;
  const u8 *s = c->shadow + (at - c->base);
  return (s[0] | s[1] | s[2] | s[3]) & READABLE;
}
static u32 read_fault(Context *c, u32 why, u64 at, u32 bytes, u32 lane, u32 instruction) {
  return partial(c, at, bytes) ? defer_load_fault(c, why, at, bytes, lane, instruction, instruction)
                               : fault(c, why, at, bytes, lane, instruction);
}

// Returns the fault of a load. If the load is part of a race that is not a fault, changes the first `bytes` of each word.
static u32 with_race(Context *c, u32 fault, void *out, u32 size, u32 bytes = 4) {
  for (u32 i = 0; c->raced && i < size; i++)
    if (i % 4 < bytes) ((u8 *)out)[i] ^= c->race_mask;
  c->raced = 0;
  return fault;
}

// --- addresses of lanes ---
// The active lanes whose addresses do not continue the row that the first active lane begins.
static inline Mask out_of_order(const Lanes<u64> &at, Mask exec, u32 bytes) {
  const u32 i = first(exec);
  return mask(bools(at.vector() - to<u64>(IOTA * bytes) != at[i] - i * bytes)) & exec;
}
// The lanes that count for a load: one if all load from the same place outside of their scratch memory.
static inline Mask distinct(Context *c, Mask exec, const Lanes<u64> &at) {
  const u64 one = at[first(exec)];
  if (in_scratch(c, one) || at[last(exec)] != one) return exec;
  return mask(bools(at.vector() != one)) & exec ? exec : exec & -exec;
}

// If a word lies partly outside of a buffer, a compare-and-swap may change the bytes inside.
static u32 refused_atomic(Context *c, u64 at, u32 bytes, u64 changed, bool compares) {
  u32 why = refused(c, at, bytes, READABLE);
  if (!why) why = refused(c, at, bytes, WRITABLE);
  if (!why || !compares || !partial(c, at, bytes)) return why;
  const u8 *s = c->shadow + (at - c->base);
  for (u32 i = 0; i < bytes; i++)
    if (changed >> 8 * i & 0xff && s[i] != (READABLE | WRITABLE)) return s[i] == WRITABLE ? READ_UNWRITTEN : WRITE_OUTSIDE;
  return NONE;
}
u32 atomic_done(Context *c, u64 at, u32 bytes, u64 changed, u32 lane, u32 instruction, bool compares) {
  u32 why = refused_atomic(c, at, bytes, changed, compares);
  if (why && fault(c, why, at, bytes, lane, instruction)) return 1;
  c->changes += changed != 0;
  if (compares) // matches by address, because without a trace nothing else is known about the loads
    for (u32 i = 0; i < c->running->suspects; i++)
      if (SuspectLoad &s = c->running->suspect[i]; s.at == at && s.kind != RACE && s.kind != WARP_RACE) c->running->feeds[s.load] = 1;
  return c->trace[0] && at - c->mailbox >= MAILBOX && trace_atomic(c, at, bytes, changed, lane, instruction, compares);
}
// Whether threads of a warp may write to the same place. Each thread then sees what the thread before it wrote.
static inline bool may_overlap(Context *c, const Lanes<u64> &at, Mask exec, u32 bytes) {
#if LANES == 32
  return c->who[0] && exec && !c->running->wave[c->running->current].unseen && !in_order(lo32(at.vector()), exec, bytes);
#else
  return false;
#endif
}
// Whether all active lanes, at any addresses, may access N elements of T. Inactive lanes get the offset of an active one.
template <class T, int STATE, u32 N = 1>
INLINE bool lanes_at(Context *c, Mask exec, V<u64> &offset, Mask *vary = nullptr, bool *written = nullptr) {
  offset = sel(unmask(exec), offset, all(exec ? Lanes<u64>(offset)[first(exec)] : 0));
  if (mask(bools(offset > c->size - N * sizeof(T)))) return false;
  if (!c->checked) return true;
  const Lanes<u64> each(offset);
  T every = (T)~0ul, any = 0;
  for (u32 i = 0; i < LANES; i++)
    for (u32 k = 0; k < N; k++) {
      const T state = peek<T>(c->shadow + each[i] + k * sizeof(T));
      every &= state, any |= state;
    }
  if (vary) *vary = c->compares | (any & (T)(EACH_BYTE * WRITABLE)) != 0 ? exec : 0;
  if (written) *written = every == (T)(EACH_BYTE * (READABLE | WRITABLE));
  return (every & (T)(EACH_BYTE * STATE)) == (T)(EACH_BYTE * STATE);
}
// Gathers two words per lane as the halves of a 64-bit number, and four by transposing 4 x 4 words.
static inline void gather_two(const u8 *data, const Lanes<u64> &offset, V<u32> *out) {
  Lanes<u64> x;
  for (u32 i = 0; i < LANES; i++) x[i] = peek<u64>(data + offset[i]);
  out[0] = lo32(x.vector()), out[1] = hi32(x.vector());
}
static inline void gather_four(const u8 *data, const Lanes<u64> &offset, u32 *out) {
  typedef u32 Four __attribute__((ext_vector_type(4)));
  for (u32 i = 0; i < LANES; i += 4) {
    const Four a = peek<Four>(data + offset[i]), b = peek<Four>(data + offset[i + 1]);
    const Four c = peek<Four>(data + offset[i + 2]), d = peek<Four>(data + offset[i + 3]);
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), behind_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), behind_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    u8 *const to = (u8 *)(out + i);
    poke(to, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
    poke(to + 4 * LANES, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
    poke(to + 8 * LANES, __builtin_shufflevector(behind_ab, behind_cd, 0, 1, 4, 5));
    poke(to + 12 * LANES, __builtin_shufflevector(behind_ab, behind_cd, 2, 3, 6, 7));
  }
}
static u32 gather_untraced(Context *c, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction, V<u32> *out, Mask *vary = nullptr) {
  u32 n = bytes < 4 ? 1 : bytes / 4;
  u32 *flat = (u32 *)out;
  if (__builtin_popcountl(lanes) > LANES / 2) {
    V<u64> offset = at.vector() - c->base;
    if (bytes == 8 && lanes_at<u64, READABLE>(c, lanes, offset, vary)) return gather_two(c->data, offset, out), 0;
    if (bytes == 16 && lanes_at<u64, READABLE, 2>(c, lanes, offset, vary)) return gather_four(c->data, offset, flat), 0;
    if (vary) *vary = 0;
  }
  for (Mask m = lanes; m; m &= m - 1) {
    u32 i = first(m), w[4] = {};
    if (!may_access_some<READABLE>(c, at[i], bytes))
      if (u32 why = refused(c, at[i], bytes, READABLE))
        if (read_fault(c, why, at[i], bytes, i, instruction)) return 1;
    if (vary && varies(c, at[i], bytes)) *vary |= m & -m;
    copy_some((u8 *)w, c->data + (at[i] - c->base), bytes);
    for (u32 k = 0; k < n; k++) flat[k * LANES + i] = w[k];
  }
  return 0;
}
u32 gather_at(Context *c, Mask exec, In<u64> where, u32 bytes, u32 instruction, V<u32> *out) {
  const Lanes<u64> at(where);
  const Mask lanes = c->trace[0] ? distinct(c, exec, at) : exec;
  Mask vary = 0;
  if (gather_untraced(c, lanes, at, bytes, instruction, out, &vary)) return 1;
  if (lanes != exec)
    for (u32 k = 0; k < (bytes + 3) / 4; k++) out[k] = all(((u32 *)(out + k))[first(exec)]);
  return c->trace[0] && with_race(c, trace_loads(c, exec, vary, at, bytes, instruction), out, (bytes + 3) / 4 * sizeof *out, bytes);
}
// The lanes that store in LDS where memory holds what one of them stores. `same` are the lanes whose values memory holds.
// Lanes may store different values at one place, as Triton's do after sums in different orders, and any may be the last.
// If one of them is there already, for example because another wavefront executed the same instruction, the order of the
// wavefronts does not matter either.
static Mask settled_lanes(Context *c, const Lanes<u64> &at, Mask exec, Mask same) {
  Mask settled = 0;
  for (Mask m = same == exec ? 0 : same; m; m &= m - 1) {
    const u32 i = first(m);
    if (at[i] < c->lds) continue;
    const Mask here = mask(bools(at.vector() == all(at[i]))) & exec;
    settled |= here, m &= ~here | (m & -m);
  }
  return settled;
}
u32 scatter_at(Context *c, Mask exec, In<u64> where, u32 bytes, u32 instruction, const V<u32> *in) {
  const Lanes<u64> at(where);
  u32 n = bytes < 4 ? 1 : bytes / 4;
  const u32 *flat = (const u32 *)in;
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m);
    if (!may_access_some<WRITABLE>(c, at[i], bytes))
      if (u32 why = refused(c, at[i], bytes, WRITABLE)) return fault(c, why, at[i], bytes, i, instruction);
  }
  auto held = [&](u32 i) { // whether memory holds what a lane stores
    u32 w[4] = {};
    for (u32 k = 0; k < n; k++) w[k] = flat[k * LANES + i];
    return same(c->data + (at[i] - c->base), (u8 *)w, bytes);
  };
  Mask kept = 0, before = 0;
  for (Mask m = c->trace[0] ? exec : 0; m; m &= m - 1) before |= held(first(m)) ? m & -m : 0;
  const Mask settled = settled_lanes(c, at, exec, before);
  for (Mask m = may_overlap(c, at, exec, bytes) ? exec : 0; m; m &= m - 1) {
    const u32 i = first(m);
    u32 w[4] = {};
    for (u32 k = 0; k < n; k++) w[k] = flat[k * LANES + i];
    if (held(i)) kept |= m & -m;
    else copy_some(c->data + (at[i] - c->base), (u8 *)w, bytes), c->changes++;
  }
  if (c->trace[0] && trace_stores(c, exec, at, bytes, instruction, kept, settled | before)) return 1;
  for (Mask m = exec; m; m &= m - 1) {
    u32 i = first(m), w[4] = {};
    for (u32 k = 0; k < n; k++) w[k] = flat[k * LANES + i];
    c->changes += !same(c->data + (at[i] - c->base), (u8 *)w, bytes);
    copy_some(c->data + (at[i] - c->base), (u8 *)w, bytes);
    copy_some(c->shadow + (at[i] - c->base), WRITTEN, bytes);
  }
  return 0;
}
template <int BYTES> using Block = u64 __attribute__((ext_vector_type(BYTES / 8)));
template <int BYTES> INLINE bool none_set(Block<BYTES> x) {
  typedef bool M __attribute__((ext_vector_type(BYTES / 8)));
  M any = __builtin_convertvector(x != 0, M);
  if constexpr (BYTES == 512) return __builtin_bit_cast(u64, any) == 0;
  else if constexpr (BYTES == 256) return __builtin_bit_cast(u32, any) == 0;
  else if constexpr (BYTES == 128) return __builtin_bit_cast(u16, any) == 0;
  else if constexpr (BYTES == 64) return __builtin_bit_cast(u8, any) == 0;
  else return __builtin_reduce_or(x) == 0;
}
template <int WORDS> static inline u32 load_words(Context *c, u64 at, u32 instruction, u32 *out) {
  u64 offset = at - c->base;
  u32 every = offset <= c->size - 4 * WORDS ? ~0u : 0;
  if (c->checked && every)
    for (int k = 0; k < WORDS; k++) every &= peek<u32>(c->shadow + offset + 4 * k);
  if ((every & 0x02020202u) != 0x02020202u)
    if (u32 why = refused(c, at, 4 * WORDS, READABLE))
      if (read_fault(c, why, at, 4 * WORDS, NO_LANE, instruction)) return 1;
  if (c->trace[0] && varies(c, at, 4 * WORDS) && trace_scalar_load(c, at, 4 * WORDS, instruction)) return 1;
  copy<4 * WORDS>((u8 *)out, c->data + offset);
  return with_race(c, NONE, out, 4 * WORDS);
}
u32 scalar_load_checked(Context *c, u64 at, u32 words, u32 instruction, u32 *out) {
  switch (words) {
  case 1: return load_words<1>(c, at, instruction, out);
  case 2: return load_words<2>(c, at, instruction, out);
  case 3: return load_words<3>(c, at, instruction, out);
  case 4: return load_words<4>(c, at, instruction, out);
  case 8: return load_words<8>(c, at, instruction, out);
  default: return load_words<16>(c, at, instruction, out);
  }
}
u32 scalar_load_part(Context *c, u64 at, u32 bytes, u32 instruction, u32 *out) {
  if (u32 why = refused(c, at, bytes, READABLE); why && fault(c, why, at, bytes, NO_LANE, instruction)) return 1;
  if (c->trace[0] && varies(c, at, bytes) && trace_scalar_load(c, at, bytes, instruction)) return 1;
  *out = 0;
  copy_some((u8 *)out, c->data + (at - c->base), bytes);
  return with_race(c, NONE, out, bytes);
}

// Whether all lanes are active and access consecutive addresses in the wanted state: one vector access is enough.
template <class T, int STATE> INLINE bool block_at(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u64 &offset) {
  constexpr int N = sizeof(T) * LANES;
  offset = base + pair(lo[0], hi[0]) - c->base;
  if (exec != ALL | offset > c->size - N | lo[0] > 0u - N) return false;
  if (mask(bools(((lo - lo[0]) ^ (IOTA * (u32)sizeof(T)) | (hi ^ hi[0])) == 0)) != ALL) return false;
  if (!c->checked) return true;
  return none_set<N>((peek<Block<N>>(c->shadow + offset) & EACH_BYTE * STATE) ^ EACH_BYTE * STATE);
}
// Whether the active lanes access consecutive addresses in the wanted state. `offset` becomes the offset of lane 0, even if
// it is inactive, and the memory of all lanes is inside of the arena.
template <class T, int STATE> static inline bool block_of(Context *c, Mask exec, const Lanes<u64> &at, u64 &offset, Mask &vary) {
  const u32 i = first(exec);
  offset = at[i] - i * sizeof(T) - c->base;
  if (offset > c->size - sizeof(T) * LANES || out_of_order(at, exec, sizeof(T))) return false;
  const V<T> state = peek<V<T>>(c->shadow + offset);
  vary = c->compares ? exec : mask(bools((state & (T)(EACH_BYTE * WRITABLE)) != (T)0)) & exec;
  return !(mask(bools((state & (T)(EACH_BYTE * STATE)) != (T)(EACH_BYTE * STATE))) & exec);
}
template <class T> static u32 load_traced(Context *c, Mask exec, In<u64> where, u32 instruction, V<T> *out) {
  const Lanes<u64> at(where);
  Mask vary = 0;
  if (const u64 one = where[0]; exec == ALL && where[LANES - 1] == one && may_access<T, READABLE>(c, one)) {
    if (const Mask lanes = distinct(c, exec, at); lanes != exec) { // the same place
      *out = all(peek<T>(c->data + (one - c->base)));
      return with_race(c, trace_loads(c, exec, varies(c, one, sizeof(T)) ? lanes : 0, at, sizeof(T), instruction), out, sizeof *out);
    }
  }
  if (u64 begin; block_of<T, READABLE>(c, exec, at, begin, vary)) {
    *out = peek<V<T>>(c->data + begin);
    return with_race(c, trace_loads(c, exec, vary, at, sizeof(T), instruction), out, sizeof *out);
  }
  const Mask lanes = distinct(c, exec, at);
  Lanes<T> x;
  V<u64> offset = where - c->base;
  if (__builtin_popcountl(lanes) > LANES / 2 && lanes_at<T, READABLE>(c, lanes, offset, &vary)) {
    const Lanes<u64> each(offset);
    for (u32 i = 0; i < LANES; i++) x[i] = peek<T>(c->data + each[i]);
  } else {
    vary = 0;
    for (Mask m = lanes; m; m &= m - 1) {
      u32 i = first(m);
      if (!may_access<T, READABLE>(c, at[i]))
        if (u32 why = refused(c, at[i], sizeof(T), READABLE))
          if (read_fault(c, why, at[i], sizeof(T), i, instruction)) return 1;
      if (varies(c, at[i], sizeof(T))) vary |= m & -m;
      x[i] = peek<T>(c->data + (at[i] - c->base));
    }
  }
  *out = lanes == exec ? x.vector() : all(x[first(exec)]);
  return with_race(c, trace_loads(c, exec, vary, at, sizeof(T), instruction), out, sizeof *out);
}
u32 load_shared(Context *c, Mask exec, u64 at, u32 bytes, u32 instruction, u64 *out) {
  const Mask one = exec & -exec;
  if (at & (bytes - 1) && misaligned_lane(c, one, all(at), bytes - 1, instruction)) return 1;
  if (!may_access_some<READABLE>(c, at, bytes))
    if (u32 why = refused(c, at, bytes, READABLE))
      if (read_fault(c, why, at, bytes, first(exec), instruction)) return 1;
  *out = 0;
  copy_some((u8 *)out, c->data + (at - c->base), bytes);
  return c->trace[0] && with_race(c, trace_loads(c, exec, varies(c, at, bytes) ? one : 0, all(at), bytes, instruction), out, bytes);
}
template <class T>
static inline u32 load(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, V<T> *out) {
  if (c->trace[0]) return load_traced<T>(c, exec, base + join(lo, hi), instruction, out);
  u64 offset;
  if (block_at<T, READABLE>(c, exec, base, lo, hi, offset)) {
    *out = peek<V<T>>(c->data + offset);
    return 0;
  }
  V<u64> each = base - c->base + join(lo, hi);
  if (!lanes_at<T, READABLE>(c, exec, each)) {
    V<u32> words[2];
    if (gather_untraced(c, exec, Lanes<u64>(base + join(lo, hi)), sizeof(T), instruction, words)) return 1;
  }
  const Lanes<u64> at(each);
  for (int i = 0; i < LANES; i++) ((T *)out)[i] = peek<T>(c->data + at[i]);
  return 0;
}
template <class T> static u32 store_traced(Context *c, Mask exec, In<u64> where, u32 instruction, In<T> x) {
  const Lanes<u64> at(where);
  Mask vary;
  if (u64 begin; block_of<T, WRITABLE>(c, exec, at, begin, vary)) {
    u8 *const to = c->data + begin, *const state = c->shadow + begin;
    const V<T> before = peek<V<T>>(to);
    const Mask same = mask(bools(before == x)) & exec;
    if (trace_stores(c, exec, at, sizeof(T), instruction, same)) return 1;
    c->changes += same != exec;
    poke(to, sel(unmask(exec), x, before)), poke(state, sel(unmask(exec), all<T>((T)(3 * EACH_BYTE)), peek<V<T>>(state)));
    return 0;
  }
  const Lanes<T> value(x);
  Lanes<T> before;
  V<u64> offset = where - c->base;
  bool written = false; // all bytes are already marked as written
  const bool many = __builtin_popcountl(exec) > LANES / 2 && lanes_at<T, WRITABLE>(c, exec, offset, nullptr, &written);
  const Lanes<u64> each(offset);
  if (many) {
    for (u32 i = 0; i < LANES; i++) before[i] = peek<T>(c->data + each[i]);
  } else
    for (Mask m = exec; m; m &= m - 1) {
      const u32 i = first(m);
      if (!may_access<T, WRITABLE>(c, at[i]))
        if (u32 why = refused(c, at[i], sizeof(T), WRITABLE)) return fault(c, why, at[i], sizeof(T), i, instruction);
      before[i] = peek<T>(c->data + each[i]);
    }
  Mask same = mask(bools(before.vector() == x)) & exec; // lanes that store the value that memory already holds: their order does not matter
  c->changes += same != exec;
  const Mask settled = settled_lanes(c, at, exec, same);
  if (may_overlap(c, at, exec, sizeof(T))) {
    same = 0;
    for (Mask m = exec; m; m &= m - 1) {
      const u32 i = first(m);
      u8 *const to = c->data + each[i];
      if (peek<T>(to) == value[i]) same |= m & -m;
      poke(to, value[i]);
    }
  }
  if (trace_stores(c, exec, at, sizeof(T), instruction, same, settled)) return 1;
  auto put = [&](u32 i) {
    poke(c->data + each[i], value[i]);
    if (!written) poke(c->shadow + each[i], (T)(3 * EACH_BYTE));
  };
  if (exec == ALL)
    for (u32 i = 0; i < LANES; i++) put(i);
  else
    for (Mask m = exec; m; m &= m - 1) put(first(m));
  return 0;
}
template <class T>
static inline u32 store(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T> x) {
  constexpr int N = sizeof(T) * LANES;
  u64 offset;
  if (c->trace[0]) return store_traced<T>(c, exec, base + join(lo, hi), instruction, x);
  if (block_at<T, WRITABLE>(c, exec, base, lo, hi, offset)) {
    poke(c->data + offset, x);
    if (c->checked) poke(c->shadow + offset, Block<N>(3 * EACH_BYTE));
    return 0;
  }
  V<u64> each = base - c->base + join(lo, hi);
  if (lanes_at<T, WRITABLE>(c, exec, each)) {
    const Lanes<u64> at(each);
    const Lanes<T> value(x);
    for (Mask m = exec; m; m &= m - 1) {
      u32 i = first(m);
      poke(c->data + at[i], value[i]);
      if (c->checked) poke(c->shadow + at[i], (T)(3 * EACH_BYTE));
    }
    return 0;
  }
  V<u32> words[2];
  if constexpr (sizeof(T) == 8) words[0] = lo32(x), words[1] = hi32(x);
  else words[0] = to<u32>(x);
  return scatter_at(c, exec, base + join(lo, hi), sizeof(T), instruction, words);
}
#undef ACCESS
#define ACCESS(T) \
  u32 load_##T(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, V<T> *out) { \
    return load<T>(c, exec, base, lo, hi, instruction, out); \
  } \
  u32 store_##T(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 instruction, In<T> x) { \
    return store<T>(c, exec, base, lo, hi, instruction, x); \
  } \
  u32 load_at_##T(Context *c, Mask exec, In<u64> at, u32 instruction, V<T> *out) { return load_traced<T>(c, exec, at, instruction, out); } \
  u32 store_at_##T(Context *c, Mask exec, In<u64> at, u32 instruction, In<T> x) { return store_traced<T>(c, exec, at, instruction, x); }
ACCESS(u8) ACCESS(u16) ACCESS(u32) ACCESS(u64)
