// Finds data races: records who last wrote and read each byte, and compares every access with these records.
#include "wavefronts.h"

// --- cells ---
static __attribute__((noinline)) void split(Cell &cell, Cell *parts, u32 n) {
  cell.parted = 0;
  for (u32 i = 0; i < n; i++) parts[i] = cell;
}
// Calls `f` for the cells of the bytes from `at` to `end` until it returns true; returns whether it did. Uses cells that are
// as large as possible: a cell whose last access to a part was in round `stale` or before counts as a whole again.
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
        if (!apart) split(cell, parts, N);
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

// --- conflicts ---
// Two accesses conflict if different wavefronts make them, one of them writes, and nothing orders them. Barriers order the
// accesses of a workgroup. An atomic that returns a value (a flag, a ticket) orders the later accesses of its wavefront,
// and from the next barrier on the accesses of its workgroup.
// AMD's atomic stores are the same instructions as other stores, so a store and an atomic load do not conflict there.
// In LDS, an access conflicts only with accesses since the last barrier; earlier records are kept for atomics.
struct Tracer { // of one instruction of the running wavefront
  Group *const g;
  Wave &w;
  Cell *const *const cells;
  const Context *const c;
  const u64 bytes, scratch, variables, lds;
  const u32 earlier, mine, begin, waves, round, stale_in_lds;
  const bool atomic;
  const Access now;
  Tracer(Context *c, u32 instruction, bool atomic = false)
      : g(c->running), w(g->wave[g->current]), cells(c->trace), c(c), bytes(c->trace_bytes), scratch(c->scratch),
        variables(c->variables), lds(c->lds), earlier(g->earlier), mine(w.ordinal), begin(g->wave[0].ordinal), waves(g->waves),
        round(g->round), stale_in_lds(c->compares | g->atomics ? earlier : round - 1), atomic(atomic | (instruction & COHERENT) != 0),
        now{mine, (u16)w.epoch, number(instruction & ~COHERENT, this->atomic)} {}
  static u16 number(u32 instruction, bool atomic) { return (instruction < ATOMIC ? instruction : ATOMIC - 1) | (atomic ? ATOMIC : 0); }
  __attribute__((always_inline)) bool conflicts(Access before, bool in_lds) const {
    if (before.who <= earlier | before.who == mine) return false;
    if (atomic && before.instruction & ATOMIC || w.synchronised) return false;
    return before.who - begin < waves ? before.epoch == now.epoch : !in_lds;
  }
  template <bool WRITES> __attribute__((always_inline)) void record(Cell &cell) const {
    if (WRITES) cell.write = now;
    else {
      if (cell.read[0].who != mine) cell.read[1] = cell.read[0];
      cell.read[0] = now;
    }
  }
  __attribute__((always_inline)) u64 place(u64 at, u64 n) const { return traced_place(c, at, n); }
  // Records an access to a cell unless it may conflict; returns whether it was recorded.
  template <bool WRITES> __attribute__((always_inline)) bool recorded(Cell &cell, bool in_lds) const {
    if (conflicts(cell.write, in_lds) || (!WRITES && atomic && cell.write.instruction & ATOMIC)) return false;
    if (WRITES && (conflicts(cell.read[0], in_lds) || conflicts(cell.read[1], in_lds))) return false;
    record<WRITES>(cell);
    return true;
  }
  // Fast path for a word of a cell that has parts already, for example if each lane has its own row.
  template <bool WRITES> __attribute__((always_inline)) bool word_recorded(u64 at) const {
    const bool in_lds = at >= lds;
    const u64 from = place(at, 4);
    if (from % 4 || (at < variables && (from + 4 > bytes | at + 4 > scratch))) return false;
    const u32 stale = in_lds ? stale_in_lds : earlier;
    Cell &whole = cells[0][from / CELLS[0]], &cell = cells[1][from / CELLS[1]];
    if (whole.parted <= stale | cell.parted > stale) return false;
    if (whole.parted != round) whole.parted = round;
    cell.parted = 0;
    return recorded<WRITES>(cell, in_lds);
  }
  // Fast path for consecutive bytes that nobody else accessed in a conflicting way, which most accesses are.
  template <bool WRITES> __attribute__((always_inline)) bool block_recorded(u64 at, u64 n) const {
    const bool in_lds = at >= lds;
    const u64 from = place(at, n);
    if (at < variables && (from + n > bytes | at + n > scratch)) return false;
    return !any_cell<0>(cells, from, from + n, round, in_lds ? stale_in_lds : earlier,
                        [&](Cell &cell, u64) __attribute__((always_inline)) { return !recorded<WRITES>(cell, in_lds); });
  }
};

// --- one lane: reports the conflict ---
// A compare-and-swap writes only the bytes that it changes (`changed` has their bits), and verifies all bytes that it reads.
// A store of what memory holds already (`kept`) is in no race with loads: they give the same value before and after it.
static u32 trace_one(Context *c, u64 at, u32 bytes, u32 lane, u32 instruction, bool writes, bool atomic, bool same,
                     bool kept = false, bool compares = false, u64 changed = 0) {
  const Tracer t(c, instruction, atomic);
  Group *g = c->running;
  Wave &w = t.w;
  instruction &= ~COHERENT;
  const bool in_lds = at >= c->lds, any_store = !c->who[0]; // PTX names its atomic stores
  if (at - c->lds < c->lds_zeros) return w.synchronised = 1, 0; // the barriers of cooperative groups
  g->atomics |= in_lds & atomic & writes;
  const u64 from = t.place(at, bytes);
  if (at < c->variables && from + bytes > c->trace_bytes) return 0;
  auto one = [&](Cell &cell, u64 place) {
    if (compares) {
      for (Access &r : cell.read)
        if (r.who == t.mine) g->feeds[r.instruction & ~ATOMIC] = 1, r.who = 0;
      if (!(changed >> 8 * (place - from) & 0xff)) return false;
    }
    // An atomic load of another wavefront's atomic store (a flag) orders what follows after what preceded the store.
    if (t.atomic && !writes && (any_store | cell.write.instruction & ATOMIC) && cell.write.who > t.earlier && cell.write.who != t.mine)
      w.synchronised = 1;
    const Access *other = nullptr;
    if (t.conflicts(cell.write, in_lds) && !(same && writes)) other = &cell.write;
    if (writes && !kept)
      for (const Access &r : cell.read)
        if (t.conflicts(r, in_lds) && !(any_store && r.instruction & ATOMIC)) other = &r;
    if (other && !(in_lds && c->lds_races)) {
      c->other = other->instruction & ~ATOMIC;
      const bool reads = !writes || other != &cell.write;
      if (reads && c->race_mask && !in_lds && other->who - t.begin < t.waves) c->raced |= !writes;
      else if (!reads || !c->compares) return fault(c, RACE, at, bytes, lane, instruction) != 0;
      else if (defer_load_fault(c, RACE, at, bytes, lane, instruction, writes ? c->other : instruction)) return true;
    }
    if (writes) t.record<true>(cell);
    else t.record<false>(cell);
    return false;
  };
  for (u32 k = 0, n = compares ? 1 : bytes; k < bytes; k += n)
    if (any_cell<0>(t.cells, from + k, from + k + n, t.round, in_lds ? t.stale_in_lds : t.earlier, one)) return 1;
  return 0;
}
u32 trace_scalar_load(Context *c, u64 at, u32 bytes, u32 instruction) {
  return trace_one(c, at, bytes, NO_LANE, instruction, false, false, false);
}
u32 trace_atomic(Context *c, u64 at, u32 bytes, u64 changed, u32 lane, u32 instruction, bool compares) {
  Wave &w = c->running->wave[c->running->current];
  w.busy = 1;
  if (changed && c->running->unwritten.bytes) write_after_deferred(c, (Mask)1 << lane, all(at), bytes, instruction);
  if (w.missed >> lane & 1) return fault(c, DIVERGENT_BARRIER, 0, 0, lane, w.instruction), 1;
  if (trace_one(c, at, bytes, lane, instruction, true, true, false, false, compares, changed)) return 1;
  if (at < c->lds) w.synchronised = 1;
  return 0;
}

// --- all lanes of an instruction ---
constexpr u64 ARGUMENTS = 2048; // bytes from the beginning of the kernarg segment that do not count as work
INLINE V<u64> of_lane_before(V<u64> x) { // the value of the preceding lane; lane 0 keeps its own
#if LANES == 64
  return __builtin_shufflevector(x, x, 0, EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), 56, 57, 58, 59, 60, 61, 62);
#else
  return __builtin_shufflevector(x, x, 0, EIGHT(0), EIGHT(8), EIGHT(16), 24, 25, 26, 27, 28, 29, 30);
#endif
}
template <bool WRITES> static inline u32 trace(Context *c, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same, Mask settled = 0) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  // Reading the arguments or the launch size (a vector load in code of older compilers) does not count as work.
  if (exec && at[first(exec)] - c->kernarg >= ARGUMENTS) w.busy = 1;
  if (exec & w.missed) return fault(c, DIVERGENT_BARRIER, 0, 0, first(exec & w.missed), w.instruction);
  if (!lanes) return 0;
  if (WRITES && g->unwritten.bytes) write_after_deferred(c, exec, at.vector(), bytes, instruction);
#if LANES == 32
  if (c->who[0] && (!w.unseen || (!WRITES && instruction & COHERENT)) && (WRITES ? stores_of_warp(c, exec, at, bytes, instruction, same)
                           : loads_of_warp(c, exec, lanes, at, bytes, instruction)))
    return 1;
#endif
  // No other wavefront can access the LDS of a single wavefront, and no compare-and-swap needs to know of its loads.
  if (g->waves == 1 && !c->compares && !(mask(bools(at.vector() < c->lds)) & lanes)) return 0;
  const Tracer tracer(c, instruction);
  const V<u64> step = at.vector() - of_lane_before(at.vector());
  const Mask consecutive = mask(bools(step == 0) | bools(step == bytes)) & lanes & lanes << 1;
  for (Mask m = lanes, done; m; m &= ~done) {
    const u32 i = first(m), last = i + __builtin_ctzl(~(u64)(consecutive >> i >> 1));
    done = ~(~(Mask)1 << last); // up to the last lane that accesses the same place as its predecessor, or the next one
    if (const u64 n = at[last] - at[i] + bytes; (n == 4 && tracer.word_recorded<WRITES>(at[i])) || tracer.block_recorded<WRITES>(at[i], n)) continue;
    done = m & -m;
    if (u64 place = at[i] - c->scratch; in_scratch(c, at[i])) {
      u64 all_lanes = g->waves * LANES, mine = g->current * LANES + i;
      // On a GPU, no lane can reach the scratch memory of another lane: the index is far out of bounds.
      if (place < all_lanes * c->scratch_stride && place / c->scratch_stride != mine)
        return fault(c, WRITES ? WRITE_OUTSIDE : READ_OUTSIDE, at[i], bytes, i, instruction);
      if (WRITES) g->scratched = 1;
      continue;
    }
    if (trace_one(c, at[i], bytes, i, instruction, WRITES, false, (same | settled) >> i & 1, same >> i & 1)) return 1;
  }
  return 0;
}
u32 trace_loads(Context *c, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction) {
  return trace<false>(c, exec, lanes, at, bytes, instruction, 0);
}
u32 trace_stores(Context *c, Mask exec, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same, Mask settled) {
  return trace<true>(c, exec, exec, at, bytes, instruction, same, settled);
}
