// Finds races between threads of one warp, which CUDA does not order (PTX ISA, memory consistency model).
//
// A barrier of the warp or of the block orders the accesses before it and the accesses after it. The time between two
// barriers is a phase. For each word, entries record which threads of a warp wrote and read it in the phase whose number
// they contain; entries of earlier phases are ignored. A barrier of some threads, and an atomic whose result is used (a
// lock, a ticket), begin a new phase for all threads. That may hide a race, but never reports accesses that are in order.
#include "wavefronts.h"
#if LANES == 32

// An entry describes a unit, which is a word or a byte: the phase, then the code of the reader, then the code of the writer.
// After an access to a part of a word, the entries of its bytes count instead.
constexpr u32 CODE = 6, CODES = 63, PHASE = 2 * CODE;
// Thread n has the code n + 1. SEVERAL: several threads read, or wrote the same value. MIXED: one instruction wrote several
// values, or atomics wrote.
enum { NOBODY, SEVERAL = LANES + 1, MIXED, APART = CODES };
constexpr u32 WORDS = 0, BYTES = 1, PARTED = APART << CODE | APART;

static void forget(Context *c) {
  const u64 before = c->trace_before, low = before < c->used ? 0 : before - c->used, high = before + c->used;
  auto clear = [&](u64 from, u64 bytes) {
    memset(c->who[WORDS] + from / 4, 0, bytes);
    memset(c->who[BYTES] + from, 0, 4 * bytes);
  };
  for (u64 at = 0; at < c->trace_bytes; at += TRACED) clear(at + low, (high < TRACED ? high : TRACED) - low);
  clear(c->trace_bytes, c->size - (c->variables - c->base));
}
// A launch checks the first phases of the first warp, one of 8 of the first phases of other warps, and one of 64 later
// phases: warps mostly execute the same code, again and again (multiplicative hashing spreads the samples; Knuth, 6.4).
// A sampled phase is checked until the log is full. In the first phases of the first of several warps, the log limits only
// the loads before the first store.
constexpr u32 SEEN = 12;
void next_phase(Context *c, Wave &w) {
  const u32 warp = &w - c->running->wave, before = c->running->begun[warp]++;
  w.sampled = warp || before >= SEEN;
  w.unseen = before >= SEEN ? before * 0x9e3779b9u >> 26 != 0 : warp && (before + warp) % 8;
  w.writes = 0;
  if (c->phases + 1 >= 1u << (32 - PHASE)) {
    forget(c);
    c->phases = 0;
    for (u32 i = 0; i < c->running->waves; i++) c->running->wave[i].phase = ++c->phases;
  }
  w.phase = ++c->phases, w.logged = 0;
}
void ordered(Context *c) { next_phase(c, c->running->wave[c->running->current]); }

namespace {
struct Accesses { // of one instruction
  Context *const c;
  const u32 now;    // the phase of the warp, shifted to its place in an entry
  const u16 number; // of the instruction; ATOMIC is set for an atomic
  const bool atomic;
  Accesses(Context *c, u32 instruction, bool atomic)
      : c(c), now(c->running->wave[c->running->current].phase << PHASE), number((u16)((instruction & (ATOMIC - 1)) | (atomic ? ATOMIC : 0))), atomic(atomic) {}
  u64 place(u64 at) const { return traced_place(c, at, 0); }
  bool kept(u64 at, u64 n) const { return at >= c->variables || (at + n <= c->scratch && traced_place(c, at, n) + n <= c->trace_bytes); }
  // The codes of a unit in this phase; 0 if nothing has accessed it.
  u32 known(u32 kind, u64 unit) const {
    const u32 e = c->who[kind][unit];
    return (e ^ now) >> PHASE ? 0 : e & ((1u << PHASE) - 1);
  }
  void split(u64 word) const { // copies the entry of a word to its bytes
    const u32 codes = known(WORDS, word);
    if (codes == PARTED) return;
    for (u64 k = 4 * word; codes && k < 4 * word + 4; k++)
      c->who[BYTES][k] = now | codes, c->wrote[BYTES][k] = c->wrote[WORDS][word], c->loaded[BYTES][k] = c->loaded[WORDS][word];
    c->who[WORDS][word] = now | PARTED;
  }
  // The instruction that an access of one unit conflicts with (its number, with ATOMIC); ~0u if there is no conflict.
  template <bool WRITES, bool NOTES = true> u32 other(u32 kind, u64 unit, u32 thread, bool same, bool &reads) const {
    const u32 codes = known(kind, unit), me = thread + 1;
    u32 writer = codes & CODES, reader = codes >> CODE;
    const u32 wrote = c->wrote[kind][unit], loaded = c->loaded[kind][unit];
    u32 found = ~0u, mine = me;
    if (writer != NOBODY && writer != me) {
      const bool both = atomic && wrote & ATOMIC;
      if (WRITES && both) mine = MIXED;
      else if (WRITES && same) mine = writer == MIXED ? MIXED : SEVERAL;
      else if (WRITES && wrote == number) mine = MIXED; // one of the values remains (CUDA C++ Programming Guide)
      else if (!both && (WRITES || writer != SEVERAL)) found = wrote, reads = !WRITES;
    }
    if (WRITES && reader != NOBODY && reader != me && !(atomic && loaded & ATOMIC)) found = loaded, reads = true;
    if (!NOTES) return found;
    if (WRITES) writer = mine, c->wrote[kind][unit] = number;
    else reader = reader == NOBODY || reader == me ? me : SEVERAL, c->loaded[kind][unit] = number;
    c->who[kind][unit] = now | reader << CODE | writer;
    return found;
  }
  // The same for the bytes from a place on; `thread` is LANES for several threads.
  template <bool WRITES, bool NOTES = true> u32 others(u64 from, u32 bytes, u32 thread, bool same, bool &reads) const {
    u32 found = ~0u;
    for (u64 at = from, next; found == ~0u && at < from + bytes; at = next) {
      const u64 word = at / 4;
      const bool whole = at % 4 == 0 && at + 4 <= from + bytes;
      next = at + (whole ? 4 : 1);
      if (whole && known(WORDS, word) != PARTED) found = other<WRITES, NOTES>(WORDS, word, thread, same, reads);
      else {
        split(word);
        for (u64 k = at; found == ~0u && k < next; k++) found = other<WRITES, NOTES>(BYTES, k, thread, same, reads);
      }
    }
    return found;
  }
  // Updates the entries for the accesses of these threads; returns false if an access may conflict.
  template <bool WRITES> bool follows(V<u32> &entries, V<u32> thread, Mask on) const {
    const V<u32> me = thread + 1;
    const V<u32> codes = sel(bools((entries ^ now) >> PHASE == 0), entries & ((1u << PHASE) - 1), all(0u)), writer = codes & CODES, reader = codes >> CODE;
    const B own = bools(reader == 0) | bools(reader == me);
    const B fine = bools(writer == 0) | bools(writer == me) | bools(writer == (WRITES ? 0u : (u32)SEVERAL));
    if (on & ~mask(WRITES ? B(fine & own) : fine)) return false;
    const V<u32> to = WRITES ? (codes & CODES << CODE) | me : sel(own, me, all((u32)SEVERAL)) << CODE | writer;
    entries = sel(unmask(on), to | now, entries);
    return true;
  }
  // Threads that access consecutive places, N units each.
  template <bool WRITES, u32 KIND, u32 N> bool follow(u64 unit, Mask exec) const {
    u32 *const who = c->who[KIND] + unit;
    u16 *const what = (WRITES ? c->wrote : c->loaded)[KIND] + unit;
    V<u32> entries[N];
    Mask on[N];
    for (u32 j = 0; j < N; j++) {
      const V<u32> thread = (j * LANES + IOTA) / N;
      on[j] = N == 1 ? exec : mask(bools((all((u32)exec) >> thread & 1) != 0));
      entries[j] = peek<V<u32>>((u8 *)(who + j * LANES));
      if (!follows<WRITES>(entries[j], thread, on[j])) return false;
    }
    for (u32 j = 0; j < N; j++) {
      poke((u8 *)(who + j * LANES), entries[j]);
      u8 *const there = (u8 *)(what + j * LANES);
      poke(there, on[j] == ALL ? all(number) : sel(unmask(on[j]), all(number), peek<V<u16>>(there)));
    }
    return true;
  }
  // Threads that access N separate words each, anywhere.
  template <bool WRITES, u32 N> bool apart(const Lanes<u64> &at, Mask exec) const {
    u32 *const who = c->who[WORDS];
    u16 *const what = (WRITES ? c->wrote : c->loaded)[WORDS];
    const u64 one = at[first(exec)];
    Lanes<u32> word(to<u32>(at.vector() - (one - place(one))) >> 2), entries[N];
    word = Lanes<u32>(sel(unmask(exec), word.vector(), all(word[first(exec)])));
    Mask changed = WRITES ? exec : 0; // most reads repeat an earlier read
    for (u32 j = 0; j < N; j++) {
      for (u32 i = 0; i < LANES; i++) entries[j][i] = who[word[i] + j];
      const V<u32> was = entries[j].vector();
      V<u32> to = was;
      if (!follows<WRITES>(to, IOTA, exec)) return false;
      entries[j] = Lanes<u32>(to);
      changed |= mask(bools(to != was));
    }
    for (Mask m = exec & changed; m; m &= m - 1) {
      const u32 i = first(m);
      for (u32 j = 0; j < N; j++) who[word[i] + j] = entries[j][i], what[word[i] + j] = number;
    }
    return true;
  }
  template <bool WRITES> bool apart(const Lanes<u64> &at, u32 bytes, Mask exec) const {
    const u32 end = last(exec);
    if (mask(bools(at.vector() % 4 != 0)) & exec || !in_order(to<u32>(at.vector()), exec, bytes)) return false;
    const u64 low = at[first(exec)] < at[end] ? at[first(exec)] : at[end], high = at[first(exec)] + at[end] - low;
    if (!kept(low, high - low + bytes) || (low < c->variables && high >= c->variables)) return false;
    switch (bytes) {
    case 4: return apart<WRITES, 1>(at, exec);
    case 8: return apart<WRITES, 2>(at, exec);
    case 16: return apart<WRITES, 4>(at, exec);
    default: return false;
    }
  }
  // Switches words to entries of their bytes; returns false if an access to a whole word is known in this phase.
  bool parted(u64 word, u32 n) const {
    for (u32 i = 0; i < n; i++)
      if (const u32 codes = known(WORDS, word + i); codes && codes != PARTED) return false;
    for (u32 i = 0; i < n; i++) c->who[WORDS][word + i] = now | PARTED;
    return true;
  }
  template <bool WRITES> bool follow(u64 from, u32 bytes, Mask exec) const {
    if (from % (bytes < 4 ? 4 : bytes)) return false;
    switch (bytes) {
    case 1: return parted(from / 4, LANES / 4) && follow<WRITES, BYTES, 1>(from, exec);
    case 2: return parted(from / 4, LANES / 2) && follow<WRITES, BYTES, 2>(from, exec);
    case 4: return follow<WRITES, WORDS, 1>(from / 4, exec);
    case 8: return follow<WRITES, WORDS, 2>(from / 4, exec);
    default: return follow<WRITES, WORDS, 4>(from / 4, exec);
    }
  }
  bool fails(u32 found, bool reads, u64 at, u32 bytes, u32 thread, u32 instruction, bool writes) const {
    if (at >= c->lds && c->lds_races) return false;
    c->other = found & (ATOMIC - 1);
    if (reads && c->compares) return defer_load_fault(c, WARP_RACE, at, bytes, thread, instruction, writes ? c->other : instruction);
    return report(c, WARP_RACE, at, bytes, thread, instruction);
  }
};
}

// Of the threads `exec`, only `lanes` count: the first thread if all load from the same place.
template <bool WRITES> static u32 check(Context *c, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same) {
  const Accesses a(c, instruction, (instruction & COHERENT) != 0);
  instruction &= ~COHERENT;
  const u32 i = first(lanes);
  const u64 begin = at[i] - i * bytes;
  bool reads = false;
  if (!WRITES && lanes == (Mask)1 << i && last(exec) != i && at[last(exec)] == at[i]) {
    if (!a.kept(at[i], bytes)) return 0;
    if (const u32 found = a.others<false>(a.place(at[i]), bytes, SEVERAL - 1, false, reads); found != ~0u) {
      const u32 writer = a.known(WORDS, a.place(at[i]) / 4) & CODES;
      const u32 thread = first(writer && writer < SEVERAL ? exec & ~((Mask)1 << (writer - 1)) : exec);
      if (a.fails(found, reads, at[i], bytes, thread, instruction, false)) return 1;
    }
  } else if (!(a.kept(begin, bytes * LANES) && begin >= c->base && !(mask(bools(at.vector() - to<u64>(IOTA * bytes) != begin)) & lanes) &&
               a.follow<WRITES>(a.place(begin), bytes, lanes)) && !a.apart<WRITES>(at, bytes, lanes))
    for (Mask m = lanes; m; m &= m - 1) {
      const u32 k = first(m);
      if (!a.kept(at[k], bytes)) continue;
      const u32 found = a.others<WRITES>(a.place(at[k]), bytes, k, same >> k & 1, reads);
      if (found != ~0u && a.fails(found, reads, at[k], bytes, k, instruction, WRITES)) return 1;
    }
  return 0;
}

// Most phases consist of few instructions that access distinct places, or places that belong to one thread. A log of these
// instructions shows that quickly. If two of them may conflict, or if the log is full, all are checked unit by unit.
static u32 check_logged(Context *c) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  const u32 n = w.logged;
  w.whole = w.phase, w.logged = 0;
  for (u32 k = 0; k < n; k++) {
    const Logged &e = g->log[g->current][k];
    const Lanes<u64> at(to<u64>(e.place) + e.from);
    if (e.writes ? check<true>(c, e.exec, e.lanes, at, e.bytes, e.instruction, e.same) : check<false>(c, e.exec, e.lanes, at, e.bytes, e.instruction, 0)) return 1;
  }
  return 0;
}
// Whether the range of memory that a thread accesses in two instructions is disjoint from the ranges of other threads.
static bool own(V<u32> place, Mask on, u32 bytes, const Logged &e) {
  const B here = unmask(on), there = unmask(e.exec), both = here & there;
  const V<u32> end = place + bytes, end_there = e.place + e.bytes;
  const V<u32> low = sel(both, sel(bools(place < e.place), place, e.place), sel(there, e.place, place));
  const V<u32> high = sel(both, sel(bools(end > end_there), end, end_there), sel(there, end_there, end));
  return in_order(low, on | e.exec, __builtin_reduce_max(sel(here | there, high - low, all(0u))));
}
template <bool WRITES> static u32 accessed(Context *c, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same) {
  Group *g = c->running;
  Wave &w = g->wave[g->current];
  if (w.logged == LOGGED) {
    w.unseen |= w.sampled;
    if (w.sampled || (!WRITES && !w.writes && g->waves > 1)) return 0;
  }
  w.writes |= WRITES;
  const u64 one = at[first(lanes)];
  if (in_scratch(c, one)) // each thread has its own
    return mask(bools(at.vector() - c->scratch >= c->variables - c->scratch)) & lanes ? check<WRITES>(c, exec, lanes, at, bytes, instruction, same) : 0;
  const u64 before = c->trace_before, around = ((one - c->base + before) >> 32 << 32) + c->base - before; // where the traced part begins
  const u64 from = one < c->variables ? around : c->variables;
  const u64 size = one >= c->variables ? c->size - (from - c->base) : TRACED < c->scratch - from ? TRACED : c->scratch - from;
  const V<u64> offset = at.vector() - from;
  const V<u32> place = lo32(offset), places = sel(unmask(lanes), place, all((u32)(one - from)));
  const u32 low = __builtin_reduce_min(places), high = __builtin_reduce_max(places) + bytes;
  const bool logs = w.whole != w.phase && w.logged < LOGGED && !(instruction & COHERENT) && !(mask(bools(hi32(offset) != 0)) & lanes) && high <= size;
  if (logs) {
    bool known = false, apart = true;
    for (u32 k = 0; apart && !known && k < w.logged; k++) {
      const Logged &e = g->log[g->current][k];
      if (e.from != from || high <= e.low || e.high <= low) continue;
      known = e.writes == WRITES && e.exec == exec && e.lanes == lanes && e.bytes == bytes && !(mask(bools(place != e.place)) & exec);
      if (WRITES | e.writes) apart = own(place, exec, bytes, e);
    }
    if (apart) {
      if (!known) g->log[g->current][w.logged++] = {place, from, exec, lanes, same, low, high, instruction, bytes, WRITES};
      return 0;
    }
  }
  return (w.whole != w.phase && check_logged(c)) || check<WRITES>(c, exec, lanes, at, bytes, instruction, same);
}
u32 loads_of_warp(Context *c, Mask exec, Mask lanes, const Lanes<u64> &at, u32 bytes, u32 instruction) {
  if (!c->running->wave[c->running->current].unseen && accessed<false>(c, exec, lanes, at, bytes, instruction, 0)) return 1;
  if (instruction & COHERENT) ordered(c); // the value may come from a thread that released it
  return 0;
}
u32 stores_of_warp(Context *c, Mask exec, const Lanes<u64> &at, u32 bytes, u32 instruction, Mask same) {
  return accessed<true>(c, exec, exec, at, bytes, instruction, same);
}
u32 atomics_of_warp(Context *c, Mask exec, In<u64> where, u32 bytes, u32 instruction, bool compares) {
  Wave &w = c->running->wave[c->running->current];
  if (!c->who[0] || w.unseen) return 0;
  if (w.whole != w.phase && check_logged(c)) return 1;
  const Accesses a(c, instruction, true);
  const Lanes<u64> at(where);
  // Checks all threads before it records any: each must be compared with the accesses before this instruction.
  for (u32 notes = 0; notes < 2; notes++)
    for (Mask m = exec; m; m &= m - 1) {
      const u32 k = first(m);
      if (at[k] - c->base > c->size - bytes || !a.kept(at[k], bytes)) continue;
      bool reads = false;
      const u64 from = a.place(at[k]);
      const u32 found = notes ? a.others<true>(from, bytes, k, false, reads) : a.others<true, false>(from, bytes, k, false, reads);
      // A compare-and-swap verifies the load before it.
      if (!notes && found != ~0u && !(reads && compares) && a.fails(found, reads, at[k], bytes, k, instruction, true)) return 1;
    }
  return 0;
}
#endif
