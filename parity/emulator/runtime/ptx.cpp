// Divergence of the threads of a warp, exchanges between them, and calls to the host.
#include "lanes.h"
#if LANES == 32 // a warp
#include "ptx.h"
#include "requests.h"

// --- divergence: parked threads continue when the running threads reach a branch or an end ---
void park(State *t, Mask lanes, u64 at) {
  Parked *group = PARKED_AT;
  u32 k = t->scalar[GROUPS];
  while (k && group[k - 1].at < at) k--;
  if (k && group[k - 1].at == at) group[k - 1].lanes |= lanes;
  else {
    for (u32 i = t->scalar[GROUPS]++; i > k; i--) group[i] = group[i - 1];
    group[k] = {(u32)at, lanes};
  }
  t->scalar[PARKED] |= lanes;
}
void park_each(State *t, Mask lanes, In<u32> at) {
  const Lanes<u32> each(at);
  for (Mask m = lanes; m; m &= m - 1) park(t, m & -m, each[first(m)]);
}
static Mask taken_out(State *t, u32 k, Mask lanes) { // of group k
  Parked *group = PARKED_AT;
  lanes &= group[k].lanes;
  t->scalar[PARKED] &= ~lanes;
  if (group[k].lanes &= ~lanes) return lanes;
  for (const u32 last = --t->scalar[GROUPS]; k < last; k++) group[k] = group[k + 1];
  return lanes;
}
// The threads at the earliest operation run first, so that both sides of a branch meet after it. A GPU guarantees only that
// each thread makes progress eventually, so other threads sometimes get a turn. In some launches this happens often: in the
// first warp of a block and in a sample of the other warps, which mostly execute the same code.
static u32 opportunities(const Context *c) { // other threads run at one of these
  const u32 warp = c->running->current;
  if (c->shuffled_lanes) return 1;
  return c->seed & 2 && (!warp || (warp + (c->seed >> 2)) % 8 == 0) ? 4 : 256;
}
static bool turn_of_others(Context *c) {
  const u32 n = c->random ? xorshift32(c->random) : ++c->turns;
  return (n & (opportunities(c) - 1)) == 0;
}
static const Operation *chosen(State *t, Mask ready, bool others) {
  Context *c = t->c;
  Mask wanted = ready;
  if (others) {
    const u32 n = c->random ? xorshift32(c->random) : c->turns / opportunities(c);
    for (u32 skip = n % __builtin_popcount(ready); skip; skip--) wanted &= wanted - 1;
    wanted &= -wanted;
  }
  u32 k = t->scalar[GROUPS] - 1;
  while (!(PARKED_AT[k].lanes & wanted)) k--;
  const Operation *to = t->code + PARKED_AT[k].at;
  t->exec = taken_out(t, k, ready);
  return to;
}
const Operation *resumed(State *t) {
  const Mask ready = t->scalar[PARKED] & ~t->scalar[BLOCKED];
  return ready ? chosen(t, ready, turn_of_others(t->c)) : nullptr;
}
static inline const Operation *together(State *t, const Operation *to, bool others) {
  const u64 at = to - t->code;
  const u32 last = t->scalar[GROUPS] - 1, earliest = PARKED_AT[last].at;
  if (others | at > earliest) {
    park(t, t->exec, at);
    return chosen(t, t->scalar[PARKED] & ~t->scalar[BLOCKED], others);
  }
  if (at == earliest) t->exec |= taken_out(t, last, ~t->scalar[BLOCKED]);
  return to;
}
u32 together(State *t, const Operation *to) { GO_ON(together(t, to, turn_of_others(t->c))); }
u32 apart(State *t, const Operation *o) { // the threads in vcc go to operation scc
  const Mask taken = t->vcc;
  const u32 groups = t->scalar[GROUPS];
  const bool others = turn_of_others(t->c);
  if (!others && t->scc > NEXT && (!groups || PARKED_AT[groups - 1].at > NEXT)) { // the threads that stay are the earliest
    park(t, taken, t->scc), t->exec &= ~taken;
    GO_ON(o + 1);
  }
  park(t, t->exec & ~taken, NEXT), t->exec = taken;
  GO_ON(together(t, t->code + t->scc, others));
}
// Threads that repeat a state may wait for parked threads, which will get a turn.
u32 exhausted_warp(State *t, i64 &left, u32 instruction) {
  Context *c = t->c;
  if (!(t->scalar[PARKED] & ~t->scalar[BLOCKED])) return exhausted(t, left, instruction);
  c->reserve += left, left = 0;
  if (c->reserve < 0) return report(c, TIMEOUT, 0, 0, NO_LANE, instruction);
  left = c->reserve < SLICE ? c->reserve : SLICE, c->reserve -= left, c->watched = nullptr;
  return 0;
}
// No thread can run: some wait at a barrier that other threads do not reach, or for threads that a mask names.
u32 stranded(State *t, u32 instruction) {
  Context *c = t->c;
  const Mask parked = t->scalar[PARKED], at_barrier = t->scalar[AT_BARRIER] & parked;
  if (c->fault) return 1;
  if (at_barrier) return fault(c, DIVERGENT_BARRIER, 0, 0, first(parked & ~at_barrier ? parked & ~at_barrier : parked), instruction), 1;
  return report(c, ABSENT, parked, 0, c->running->current * LANES + first(parked), instruction);
}
static void absorb(State *t, u64 here) {
  for (u32 k = t->scalar[GROUPS]; k--;)
    if (PARKED_AT[k].at == here) {
      const Mask waiting = taken_out(t, k, ALL);
      t->exec |= waiting, t->scalar[BLOCKED] &= ~waiting, t->scalar[AT_BARRIER] &= ~waiting;
      return;
    }
}
// Threads wait until all threads that their mask names, except exited ones, are at this operation with the same mask.
Mask gathered(State *t, u64 here, In<u32> members, u32 instruction) {
  absorb(t, here);
  const Mask alive = t->exec | t->scalar[PARKED];
  const Lanes<u32> named(members);
  Mask ready = 0;
  for (Mask left = t->exec; left;) {
    const u32 i = first(left), m = named[i];
    Mask same = 0;
    for (Mask k = left; k; k &= k - 1)
      if (named[first(k)] == m) same |= k & -k;
    left &= ~same;
    if (same & ~m) {
      report(t->c, UNNAMED, m, 0, t->c->running->current * LANES + first(same & ~m), instruction);
      return 0;
    }
    if (!(m & alive & ~same)) ready |= same;
  }
  const Mask waits = t->exec & ~ready;
  if (waits) park(t, waits, here), t->scalar[BLOCKED] |= waits;
  return t->exec = ready;
}
bool all_here(State *t, u64 here) {
  absorb(t, here);
  if (!t->scalar[PARKED]) return true;
  park(t, t->exec, here), t->scalar[BLOCKED] |= t->exec, t->scalar[AT_BARRIER] |= t->exec;
  return false;
}

// --- exchanges ---
V<u32> shuffled(State *t, Mask on, In<u32> x, In<u32> from, In<u32> members, u32 instruction) {
  // The value from a thread that does not take part is undefined.
  const Mask takes = holds((all<u32>(on) >> from & 1) != 0) & holds(taken_from(members, from) == members);
  uses(t->c, on & ~takes, instruction);
  return sel(on, sel(takes, taken_from(x, from), all(t->c->register_fill ^ 0x5a5a5a5a)), V<u32>(x));
}
V<u32> voted(Mask on, Mask p, In<u32> members) { return all<u32>(p & on) & members; }
V<u32> matched(Mask on, In<u64> x, In<u32> members) {
  const Lanes<u64> value(x);
  const Lanes<u32> named(members);
  Lanes<u32> out(all(0u));
  for (Mask m = on; m; m &= m - 1)
    for (Mask k = on; k; k &= k - 1)
      if (named[first(m)] >> first(k) & 1 && value[first(m)] == value[first(k)]) out[first(m)] |= k & -k;
  return out.vector();
}
V<u32> reduced(Mask on, In<u32> x, In<u32> members, u32 op) {
  const Lanes<u32> value(x), named(members);
  Lanes<u32> out(all(0u));
  for (Mask m = on; m; m &= m - 1) {
    const u32 i = first(m);
    u32 r = value[i];
    for (Mask k = on & named[i] & ~(m & -m); k; k &= k - 1) {
      const u32 y = value[first(k)];
      switch (op) {
      case R_ADD: r += y; break;
      case R_MIN_U: r = y < r ? y : r; break;
      case R_MAX_U: r = y > r ? y : r; break;
      case R_MIN_S: r = (i32)y < (i32)r ? y : r; break;
      case R_MAX_S: r = (i32)y > (i32)r ? y : r; break;
      case R_AND: r &= y; break;
      case R_OR: r |= y; break;
      default: r ^= y;
      }
    }
    out[i] = r;
  }
  return out.vector();
}
u32 barrier_votes(State *t, Mask p) {
  Context *c = t->c;
  const u32 epoch = c->running->wave[c->running->current].epoch;
  u32 *slot = c->votes[epoch & 1];
  const u32 tag = epoch * 2 + 1;
  if (slot[0] != tag || slot[2] != c->running->wave[0].ordinal) slot[0] = tag, slot[1] = 0, slot[2] = c->running->wave[0].ordinal;
  slot[1] += __builtin_popcount(p & t->exec);
  return 0;
}
u32 barrier_count(State *t) {
  Context *c = t->c;
  return c->votes[(c->running->wave[c->running->current].epoch - 1) & 1][1];
}

// --- calls to the host: printf and failed assertions, as records of the log (requests.h) ---
constexpr u32 WORDS = 7; // of a message, in each record
struct Text { // the words of a message
  u64 word[512];
  u32 n;
};
static void put(Text &x, u64 word) {
  if (x.n < 512) x.word[x.n++] = word;
}
static u8 byte_at(Context *c, u64 at) { return at - c->base < c->size ? c->data[at - c->base] : 0; }
static void put_string(Context *c, Text &x, u64 at) {
  for (bool more = true; more;) {
    u64 word = 0;
    for (u32 k = 0; k < 8; k++) {
      const u8 letter = more ? byte_at(c, at++) : 0;
      if (!letter) more = false;
      word |= (u64)letter << 8 * k;
    }
    put(x, word);
    if (x.n == 512) break;
  }
}
static void put_literal(Text &x, const char *s) {
  for (bool more = true; more;) {
    u64 word = 0;
    for (u32 k = 0; k < 8; k++) {
      const u8 letter = more ? *s++ : 0;
      if (!letter) more = false;
      word |= (u64)letter << 8 * k;
    }
    put(x, word);
  }
}
static void log(Context *c, u32 lane, const Text &x, bool error) {
  const u64 number = next_message(c, error);
  for (u32 i = 0; i < x.n; i += WORDS) {
    const u32 n = x.n - i < WORDS ? x.n - i : WORDS;
    u64 *record = next_record(c, lane, error);
    if (!record) return;
    record[2] = number << 8 | n << 5 | (i + n == x.n ? ENDS : 0) | (i ? 0 : BEGINS);
    for (u32 k = 0; k < n; k++) record[3 + k] = x.word[i + k];
  }
}
u32 print(State *t, Mask on, In<u64> formats, In<u64> arguments, u32 instruction) {
  Context *c = t->c;
  const Lanes<u64> format(formats), given(arguments);
  for (Mask m = on; m; m &= m - 1) {
    const u32 lane = first(m);
    Text x;
    x.n = 0;
    put(x, 0);
    put_string(c, x, format[lane]);
    u64 at = given[lane];
    auto take = [&](u32 bytes) {
      at = (at + bytes - 1) & ~(u64)(bytes - 1);
      u64 word = 0;
      for (u32 k = 0; k < bytes; k++) word |= (u64)byte_at(c, at + k) << 8 * k;
      at += bytes;
      return word;
    };
    for (u64 f = format[lane]; u8 letter = byte_at(c, f++);) {
      if (letter != '%') continue;
      u32 bytes = 4;
      for (;; f++) {
        letter = byte_at(c, f);
        if (letter == '*') put(x, take(4));
        else if (letter == 'l' || letter == 'j' || letter == 'z' || letter == 't' || letter == 'L') bytes = 8;
        else if (!(letter == 'h' || letter == '-' || letter == '+' || letter == ' ' || letter == '#' || letter == '.' || (letter >= '0' && letter <= '9'))) break;
      }
      if (!letter) break;
      f++;
      if (letter == '%') continue;
      if (letter == 's') put_string(c, x, take(8));
      else if (letter == 'p' || letter == 'e' || letter == 'E' || letter == 'f' || letter == 'F' || letter == 'g' || letter == 'G' || letter == 'a' || letter == 'A') put(x, take(8));
      else put(x, take(bytes));
    }
    log(c, lane, x, false);
  }
  return 0;
}
u32 failed_assertion(State *t, Mask on, In<u64> messages, In<u64> files, In<u32> lines, In<u64> functions, u32 instruction) {
  Context *c = t->c;
  const Lanes<u64> message(messages), file(files), function(functions);
  const Lanes<u32> line(lines);
  for (Mask m = on; m; m &= m - 1) {
    const u32 lane = first(m);
    Text x;
    x.n = 0;
    put(x, 1);
    put_literal(x, "%s:%u: %s: Device-side assertion `%s' failed.\n");
    put_string(c, x, file[lane]), put(x, line[lane]), put_string(c, x, function[lane]), put_string(c, x, message[lane]);
    log(c, lane, x, true);
  }
  return trap(c, on, instruction);
}
#endif
