// Accesses to memory: the quick paths, the slow path that finds the first faulty lane, and tracing.
#include "wavefronts.h"

// The compiler may turn loops into calls of these two.
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
alignas(16) static const u8 WRITTEN[] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}; // readable, too
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

// --- one lane at a time; the first faulty lane is reported ---
u32 report(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  c->fault = kind, c->address = at, c->bytes = bytes, c->lane = lane, c->instruction = instruction & ~COHERENT;
  c->wave = c->running ? c->running->current : 0;
  return 1;
}
// Whether nothing wrote a place in LDS, or a wavefront that has not run yet will (a race), shows at the next barrier.
static bool postponed(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  if (kind != READ_UNWRITTEN || at < c->lds || !c->trace[0] || c->running->waves == 1) return false;
  if (!c->running->unwritten.bytes) c->running->unwritten = {at, bytes, lane, instruction};
  return true;
}
u32 settle(Context *c) {
  auto u = c->running->unwritten;
  c->running->unwritten.bytes = 0;
  return u.bytes ? report(c, READ_UNWRITTEN, u.at, u.bytes, u.lane, u.instruction) : NONE;
}
u32 fault(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  return postponed(c, kind, at, bytes, lane, instruction) ? 0 : report(c, kind, at, bytes, lane, instruction);
}
static u32 refused(Context *c, u64 at, u32 bytes, u32 state) { // NONE, or why these bytes cannot be accessed
  u32 outside = state == READABLE ? READ_OUTSIDE : WRITE_OUTSIDE;
  u64 offset = at - c->base;
  if (offset >= c->size || c->size - offset < bytes) return outside;
  if (!c->checked) return NONE;
  const u8 *s = c->shadow + offset;
  u32 every = 3, any = 0;
  for (u32 i = 0; i < bytes; i++) every &= s[i], any |= !s[i];
  if (every & state) return NONE;
  return state == READABLE && !any ? READ_UNWRITTEN : outside;
}

constexpr u64 EACH_BYTE = 0x0101010101010101ul;
template <class T, int STATE> INLINE bool may_access(Context *c, u64 at) { // what refused() says, quickly
  const u64 offset = at - c->base;
  if (offset > c->size - sizeof(T)) return false;
  return !c->checked || (peek<T>(c->shadow + offset) & (T)(EACH_BYTE * STATE)) == (T)(EACH_BYTE * STATE);
}

// The same of up to 16 bytes.
template <int STATE> static inline bool may_access_some(Context *c, u64 at, u32 bytes) {
  const u64 offset = at - c->base;
  if (offset > c->size - bytes) return false;
  u64 state[2] = {EACH_BYTE * STATE, EACH_BYTE * STATE};
  if (c->checked) copy_some((u8 *)state, c->shadow + offset, bytes);
  return (state[0] & state[1] & EACH_BYTE * STATE) == EACH_BYTE * STATE;
}
// Whether a kernel may write any of up to 64 bytes, of which all may be read. What it may not write needs no trace.
static inline bool varies(Context *c, u64 at, u32 bytes) {
  const u8 *s = c->shadow + (at - c->base);
  u32 any = c->compares;
  for (u32 i = 0; i < bytes; i++) any |= s[i] & WRITABLE;
  return any;
}

// --- addresses that are no multiples of what the source's type promises ---
u32 misaligned_at(Context *c, u64 at, u32 low, u32 instruction) {
  return c->checked ? report(c, MISALIGNED, at, low + 1, ~0u, instruction) : 0;
}
u32 misaligned_lane(Context *c, Mask exec, In<u64> where, u32 low, u32 instruction) {
  const Lanes<u64> at(where);
  for (Mask m = c->checked ? exec : 0; m; m &= m - 1) {
    u32 i = first(m);
    // The compiler lays out scratch memory, and lanes have theirs elsewhere than on a device.
    if (at[i] & low && at[i] - c->scratch >= c->variables - c->scratch) return report(c, MISALIGNED, at[i], low + 1, i, instruction);
  }
  return 0;
}
void granted(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u32 bytes) {
  c->running->scratched = 1;
  for (Mask m = c->checked ? exec : 0; m; m &= m - 1) {
    u32 i = first(m);
    u64 offset = base + pair(lo[i], hi[i]) - c->base;
    for (u32 k = 0; k < bytes && offset <= c->size - bytes; k++)
      if (c->shadow[offset + k] == WRITABLE) c->shadow[offset + k] |= READABLE;
  }
}

// --- compare-and-swap loops: the plain load at their beginning is verified by the compare-and-swap ---
// It may see another wavefront's write, and one of 16 bits takes the 32-bit word around it, which may reach beyond the
// buffer or into bytes that nothing wrote. So what is wrong with a load is told at the end, unless it fed a
// compare-and-swap by then: in this wavefront or, if the loop ended early here, in another one.
u32 doubtful(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction, u32 load) {
  Group *g = c->running;
  load &= ~COHERENT;
  load = load < INSTRUCTIONS ? load : INSTRUCTIONS - 1;
  for (u32 i = 0; i < g->doubts; i++)
    if (g->doubt[i].load == load && g->doubt[i].kind == kind) return 0;
  if (g->doubts == DOUBTS) return report(c, kind, at, bytes, lane, instruction);
  g->doubt[g->doubts++] = {at, kind, bytes, lane, load, instruction, c->other, {c->group[0], c->group[1], c->group[2]}};
  return 0;
}
u32 settle_doubts(Context *c) {
  Group *g = c->running;
  for (u32 i = 0; i < g->doubts; i++) {
    const Doubt &d = g->doubt[i];
    if (g->feeds[d.load]) continue;
    c->other = d.other;
    for (u32 k = 0; k < 3; k++) c->group[k] = d.group[k];
    report(c, d.kind, d.at, d.bytes, d.lane, d.instruction);
    return c->fault;
  }
  return NONE;
}
// An aligned word of which some bytes may be read, in a kernel that compares and swaps.
static bool partial(Context *c, u64 at, u32 bytes) {
  if (!c->compares || bytes != 4 || at & 3 || at - c->base > c->size - 4) return false;
  const u8 *s = c->shadow + (at - c->base);
  return (s[0] | s[1] | s[2] | s[3]) & READABLE;
}
static u32 read_fault(Context *c, u32 why, u64 at, u32 bytes, u32 lane, u32 instruction) {
  return partial(c, at, bytes) ? doubtful(c, why, at, bytes, lane, instruction, instruction)
                               : fault(c, why, at, bytes, lane, instruction);
}

// --- addresses of lanes ---
static inline Mask out_of_order(const Lanes<u64> &at, Mask exec, u32 bytes) { // those that do not follow as the first one would have it
  const u32 i = first(exec);
  return mask(bools(at.vector() - to<u64>(IOTA * bytes) != at[i] - i * bytes)) & exec;
}
// The lanes that count for a load: one for all if they are at one place, which is not theirs alone.
static inline Mask distinct(Context *c, Mask exec, const Lanes<u64> &at) {
  const u64 one = at[first(exec)];
  if (one - c->scratch < c->variables - c->scratch || at[last(exec)] != one) return exec;
  return mask(bools(at.vector() != one)) & exec ? exec : exec & -exec;
}

// --- tracing: which wavefront last wrote a byte, and which two last read it ---
static __attribute__((noinline)) void part(Cell &cell, Cell *parts, u32 n) {
  cell.parted = 0;
  for (u32 i = 0; i < n; i++) parts[i] = cell;
}
// Whether `f` is true of a cell of the bytes from `at` to `end`; those behind it are left out. Cells are as large as can
// be: what was accessed in parts up to round `stale` counts as a whole again.
template <u32 LEVEL, class F> INLINE bool any_cell(Cell *const *cells, u64 at, u64 end, u32 round, u32 stale, F f) {
  constexpr u32 SIZE = CELLS[LEVEL];
  for (u64 next; at < end; at = next) {
    Cell &cell = cells[LEVEL][at / SIZE];
    next = at / SIZE * SIZE + SIZE;
    if constexpr (SIZE > 1) {
      const bool apart = cell.parted > stale;
      if (apart | at % SIZE != 0 | next > end) {
        constexpr u32 N = SIZE / CELLS[LEVEL + 1];
        Cell *const parts = cells[LEVEL + 1] + at / SIZE * N;
        if (!apart) part(cell, parts, N);
        if (cell.parted != round) cell.parted = round;
        if (any_cell<LEVEL + 1>(cells, at, next < end ? next : end, round, stale, f)) return true;
        continue;
      }
      cell.parted = 0;
    }
    if (f(cell, at)) return true;
  }
  return false;
}
// Two accesses conflict if they are of different wavefronts, nothing orders them, and one writes. Barriers order those
// of a workgroup; an atomic that returns a value orders what follows it in the wavefront (a flag, a ticket).
// In LDS nothing conflicts with what was before the last barrier; it counts for what an atomic orders, or feeds.
struct Tracer { // of an instruction of the wavefront that runs
  Group *const g;
  Wave &w;
  Cell *const *const cells;
  const u64 base, bytes, scratch, variables, lds;
  const u32 earlier, mine, begin, waves, round, stale_in_lds;
  const bool atomic;
  const Access now;
  Tracer(Context *c, u32 instruction, bool atomic = false)
      : g(c->running), w(g->wave[g->current]), cells(c->trace), base(c->base), bytes(c->trace_bytes), scratch(c->scratch),
        variables(c->variables), lds(c->lds), earlier(g->earlier), mine(w.ordinal), begin(g->wave[0].ordinal), waves(g->waves),
        round(g->round), stale_in_lds(c->compares | g->atomics ? earlier : round - 1), atomic(atomic | (instruction & COHERENT) != 0),
        now{mine, (u16)w.epoch, number(instruction & ~COHERENT, this->atomic)} {}
  static u16 number(u32 instruction, bool atomic) { return (instruction < ATOMIC ? instruction : ATOMIC - 1) | (atomic ? ATOMIC : 0); }
  __attribute__((always_inline)) bool conflicts(Access before, bool in_lds) const {
    if (before.who <= earlier | before.who == mine) return false;
    if (atomic && before.instruction & ATOMIC || w.synchronised) return false;
    return before.who - begin < waves ? before.epoch == now.epoch : !in_lds;
  }
  template <bool WRITES> __attribute__((always_inline)) void note(Cell &cell) const {
    if (WRITES) cell.write = now;
    else {
      if (cell.read[0].who != mine) cell.read[1] = cell.read[0];
      cell.read[0] = now;
    }
  }
  __attribute__((always_inline)) u64 place(u64 at) const { return at < variables ? at - base : at - variables + bytes; }
  // Whether an access of a cell is one that nobody else's conflicts with, which is noted then.
  template <bool WRITES> __attribute__((always_inline)) bool fine(Cell &cell, bool in_lds) const {
    if (conflicts(cell.write, in_lds) || (!WRITES && atomic && cell.write.instruction & ATOMIC)) return false;
    if (WRITES && (conflicts(cell.read[0], in_lds) || conflicts(cell.read[1], in_lds))) return false;
    note<WRITES>(cell);
    return true;
  }
  // A word of a cell that has parts already, as where lanes have rows of their own. False if it is not, or may not be fine.
  template <bool WRITES> __attribute__((always_inline)) bool word(u64 at) const {
    const bool in_lds = at >= lds;
    const u64 from = place(at);
    if (from % 4 || (at < variables && (from + 4 > bytes | at + 4 > scratch))) return false;
    const u32 stale = in_lds ? stale_in_lds : earlier;
    Cell &whole = cells[0][from / CELLS[0]], &cell = cells[1][from / CELLS[1]];
    if (whole.parted <= stale | cell.parted > stale) return false;
    if (whole.parted != round) whole.parted = round;
    cell.parted = 0;
    return fine<WRITES>(cell, in_lds);
  }
  // What most accesses are: of bytes that nobody else accessed in a way that conflicts. False if one is not, or may not be.
  template <bool WRITES> __attribute__((always_inline)) bool block(u64 at, u64 n) const {
    const bool in_lds = at >= lds;
    const u64 from = place(at);
    if (at < variables && (from + n > bytes | at + n > scratch)) return false;
    return !any_cell<0>(cells, from, from + n, round, in_lds ? stale_in_lds : earlier,
                        [&](Cell &cell, u64) __attribute__((always_inline)) { return !fine<WRITES>(cell, in_lds); });
  }
};
// Of a compare-and-swap `changed` has the bits that it changes: bytes of them alone are written, and all were verified.
static u32 trace_one(Context *c, u64 at, u32 bytes, u32 lane, u32 instruction, bool writes, bool atomic, bool same,
                     bool compares = false, u64 changed = 0) {
  const Tracer t(c, instruction, atomic);
  Group *g = c->running;
  Wave &w = t.w;
  instruction &= ~COHERENT;
  const bool in_lds = at >= c->lds;
  g->atomics |= in_lds & atomic & writes;
  const u64 from = t.place(at);
  if (at < c->variables && from + bytes > c->trace_bytes) return 0;
  auto one = [&](Cell &cell, u64 place) {
    if (compares) {
      for (Access &r : cell.read)
        if (r.who == t.mine) g->feeds[r.instruction & ~ATOMIC] = 1, r.who = 0;
      if (!(changed >> 8 * (place - from) & 0xff)) return false;
    }
    // What follows an atomic load comes after what another wavefront did before its atomic (a flag).
    if (t.atomic && !writes && cell.write.instruction & ATOMIC && cell.write.who > t.earlier && cell.write.who != t.mine)
      w.synchronised = 1;
    const Access *other = nullptr;
    if (t.conflicts(cell.write, in_lds) && !(same && writes)) other = &cell.write;
    if (writes)
      for (const Access &r : cell.read)
        if (t.conflicts(r, in_lds)) other = &r;
    if (other) {
      c->other = other->instruction & ~ATOMIC;
      const bool reads = !writes || other != &cell.write;
      if (!reads || !c->compares) return fault(c, RACE, at, bytes, lane, instruction) != 0;
      if (doubtful(c, RACE, at, bytes, lane, instruction, writes ? c->other : instruction)) return true;
    }
    if (writes) t.note<true>(cell);
    else t.note<false>(cell);
    return false;
  };
  for (u32 k = 0, n = compares ? 1 : bytes; k < bytes; k += n)
    if (any_cell<0>(t.cells, from + k, from + k + n, t.round, in_lds ? t.stale_in_lds : t.earlier, one)) return 1;
  return 0;
}
constexpr u64 ARGUMENTS = 2048; // bytes for the kernarg segment
// Of the lanes that execute, `lanes` are those that count: one is enough for all that access the same place, and none is
// needed where no kernel may write.
template <bool WRITES> static u32 trace(Context *c, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  // To look at the arguments or the size of the launch (with a vector load, in older compilers) is no work yet.
  if (exec && at[first(exec)] - c->kernarg >= ARGUMENTS) w.busy = 1;
  if (exec & w.missed) return fault(c, DIVERGENT_BARRIER, 0, 0, first(exec & w.missed), w.instruction);
  if (!lanes) return 0;
#if LANES == 32
  if (c->who[0] && (!w.unseen || (!WRITES && instruction & COHERENT)) && (WRITES ? stores_of_warp(c, exec, at, bytes, instruction, same)
                           : loads_of_warp(c, exec, lanes, at, bytes, instruction)))
    return 1;
#endif
  // No other wavefront has the LDS of this one, and no compare-and-swap waits to hear of its load.
  if (g->waves == 1 && !c->compares && !(mask(bools(at.vector() < c->lds)) & lanes)) return 0;
  const Tracer tracer(c, instruction);
  const V<u64> step = at.vector() - of_lane_before(at.vector());
  const Mask go_on = mask(bools(step == 0) | bools(step == bytes)) & lanes & lanes << 1;
  for (Mask m = lanes, done; m; m &= ~done) {
    const u32 i = first(m), last = i + __builtin_ctzl(~(u64)(go_on >> i >> 1));
    done = ~(~(Mask)1 << last); // lanes that go on behind the one before, or are where it is
    if (const u64 n = at[last] - at[i] + bytes; (n == 4 && tracer.word<WRITES>(at[i])) || tracer.block<WRITES>(at[i], n)) continue;
    done = m & -m;
    if (u64 place = at[i] - c->scratch; place < c->variables - c->scratch) {
      u64 all_lanes = g->waves * LANES, mine = g->current * LANES + i;
      // What is a lane's is not in reach of another one on a GPU: this is an index that is far off.
      if (place < all_lanes * c->scratch_stride && place / c->scratch_stride != mine)
        return fault(c, WRITES ? WRITE_OUTSIDE : READ_OUTSIDE, at[i], bytes, i, instruction);
      if (WRITES) g->scratched = 1;
      continue;
    }
    if (trace_one(c, at[i], bytes, i, instruction, WRITES, false, same >> i & 1)) return 1;
  }
  return 0;
}
// Of a word that lies partly outside a compare-and-swap may change the part inside.
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
  if (compares) // without a trace this is all that is known of a load
    for (u32 i = 0; i < c->running->doubts; i++)
      if (Doubt &d = c->running->doubt[i]; d.at == at && d.kind != RACE && d.kind != WARP_RACE) c->running->feeds[d.load] = 1;
  if (c->trace[0] && at - c->mailbox >= MAILBOX) {
    Wave &w = c->running->wave[c->running->current];
    w.busy = 1;
    if (w.missed >> lane & 1) return fault(c, DIVERGENT_BARRIER, 0, 0, lane, w.instruction), 1;
    if (trace_one(c, at, bytes, lane, instruction, true, true, false, compares, changed)) return 1;
    if (at < c->lds) w.synchronised = 1;
  }
  return 0;
}
// Whether threads of a warp may write to one place: each finds then what the one before it wrote.
static inline bool meet(Context *c, const Lanes<u64> &at, Mask exec, u32 bytes) {
#if LANES == 32
  return c->who[0] && exec && !c->running->wave[c->running->current].unseen && !in_order(lo32(at.vector()), exec, bytes);
#else
  return false;
#endif
}
// Lanes at any addresses: whether all that are live may access as many bytes as N of T have. Offsets of the others become
// one of theirs.
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
// Words of lanes: two as halves of one number, four by turning four lanes into four words.
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
  return c->trace[0] && trace<false>(c, exec, vary, at, bytes, instruction, 0);
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
  Mask kept = 0;
  for (Mask m = meet(c, at, exec, bytes) ? exec : 0; m; m &= m - 1) {
    u32 i = first(m), w[4] = {};
    for (u32 k = 0; k < n; k++) w[k] = flat[k * LANES + i];
    if (same(c->data + (at[i] - c->base), (u8 *)w, bytes)) kept |= m & -m;
    else copy_some(c->data + (at[i] - c->base), (u8 *)w, bytes), c->changes++;
  }
  if (c->trace[0] && trace<true>(c, exec, exec, at, bytes, instruction, kept)) return 1;
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
      if (read_fault(c, why, at, 4 * WORDS, ~0u, instruction)) return 1;
  if (c->trace[0] && varies(c, at, 4 * WORDS) && trace_one(c, at, 4 * WORDS, ~0u, instruction, false, false, false)) return 1;
  copy<4 * WORDS>((u8 *)out, c->data + offset);
  return 0;
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
  if (u32 why = refused(c, at, bytes, READABLE)) return fault(c, why, at, bytes, ~0u, instruction);
  if (c->trace[0] && varies(c, at, bytes) && trace_one(c, at, bytes, ~0u, instruction, false, false, false)) return 1;
  *out = 0;
  copy_some((u8 *)out, c->data + (at - c->base), bytes);
  return 0;
}

// Lanes whose addresses follow each other, all inside the arena and all in the wanted state: one vector access.
template <class T, int STATE> INLINE bool block_at(Context *c, Mask exec, u64 base, In<u32> lo, In<u32> hi, u64 &offset) {
  constexpr int N = sizeof(T) * LANES;
  offset = base + pair(lo[0], hi[0]) - c->base;
  if (exec != ALL | offset > c->size - N | lo[0] > 0u - N) return false;
  if (mask(bools(((lo - lo[0]) ^ (IOTA * (u32)sizeof(T)) | (hi ^ hi[0])) == 0)) != ALL) return false;
  if (!c->checked) return true;
  return none_set<N>((peek<Block<N>>(c->shadow + offset) & EACH_BYTE * STATE) ^ EACH_BYTE * STATE);
}
// Lanes whose addresses follow each other, and whose bytes are in the wanted state. `offset` is that of lane 0, even if it
// does not execute: all that lanes would access is inside of the arena.
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
    if (const Mask lanes = distinct(c, exec, at); lanes != exec) { // all at one place
      *out = all(peek<T>(c->data + (one - c->base)));
      return trace<false>(c, exec, varies(c, one, sizeof(T)) ? lanes : 0, at, sizeof(T), instruction, 0);
    }
  }
  if (u64 begin; block_of<T, READABLE>(c, exec, at, begin, vary)) {
    *out = peek<V<T>>(c->data + begin);
    return trace<false>(c, exec, vary, at, sizeof(T), instruction, 0);
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
  return trace<false>(c, exec, vary, at, sizeof(T), instruction, 0);
}
u32 load_shared(Context *c, Mask exec, u64 at, u32 bytes, u32 instruction, u64 *out) {
  const Mask one = exec & -exec;
  if (at & (bytes - 1) && misaligned_lane(c, one, all(at), bytes - 1, instruction)) return 1;
  if (!may_access_some<READABLE>(c, at, bytes))
    if (u32 why = refused(c, at, bytes, READABLE))
      if (read_fault(c, why, at, bytes, first(exec), instruction)) return 1;
  *out = 0;
  copy_some((u8 *)out, c->data + (at - c->base), bytes);
  return c->trace[0] && trace<false>(c, exec, varies(c, at, bytes) ? one : 0, all(at), bytes, instruction, 0);
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
    if (trace<true>(c, exec, exec, at, sizeof(T), instruction, same)) return 1;
    c->changes += same != exec;
    poke(to, sel(unmask(exec), x, before)), poke(state, sel(unmask(exec), all<T>((T)(3 * EACH_BYTE)), peek<V<T>>(state)));
    return 0;
  }
  const Lanes<T> value(x);
  Lanes<T> before;
  V<u64> offset = where - c->base;
  bool written = false; // and readable: then that need not be said again
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
  Mask same = mask(bools(before.vector() == x)) & exec; // lanes that write what is there already: no matter who is first
  c->changes += same != exec;
  if (meet(c, at, exec, sizeof(T))) {
    same = 0;
    for (Mask m = exec; m; m &= m - 1) {
      const u32 i = first(m);
      u8 *const to = c->data + each[i];
      if (peek<T>(to) == value[i]) same |= m & -m;
      poke(to, value[i]);
    }
  }
  if (trace<true>(c, exec, exec, at, sizeof(T), instruction, same)) return 1;
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
