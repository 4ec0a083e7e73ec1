// Executes threaded code, and detects kernels that make no progress.
#include "threaded.h"
#include "wavefronts.h"

constexpr u32 VISITS = 1 << 12; // backward branches for which a wavefront is watched
struct Snapshot {               // the registers follow it
  Mask exec, vcc;
  u32 scc, instruction;
  u64 changes, ticks;
};
// A wavefront that reaches a branch again with the same registers and the same memory will do so for ever (Brent 1980: the
// snapshot is from the last visit whose number is a power of two).
static bool repeats(State *t, u32 instruction) {
  Context *c = t->c;
  const Program &p = *c->program;
  const u64 vectors = p.vectors * sizeof(V<u32>), scalars = SCALARS * sizeof(u32), shared = p.shared * sizeof(u64);
  u8 *at = c->snapshot;
  const Snapshot now = {t->exec, t->vcc, t->scc, instruction, c->changes, c->ticks};
  if (c->watched != t) c->watched = t, t->visits = 0;
  else if (same(at, (const u8 *)&now, sizeof now) && same(at + sizeof now, (const u8 *)t->scalar, scalars) &&
           same(at + sizeof now + scalars, (const u8 *)t->vector, vectors) &&
           same(at + sizeof now + scalars + vectors, (const u8 *)shared_of(p), shared))
    return true;
  if ((++t->visits & (t->visits - 1)) == 0) {
    memcpy(at, &now, sizeof now);
    memcpy(at + sizeof now, t->scalar, scalars);
    memcpy(at + sizeof now + scalars, t->vector, vectors);
    memcpy(at + sizeof now + scalars + vectors, shared_of(p), shared);
  }
  return false;
}
u32 exhausted(State *t, i64 &left, u32 instruction) {
  Context *c = t->c;
  c->reserve += left, left = 0;
  if (c->reserve < 0) return report(c, TIMEOUT, 0, 0, NO_LANE, instruction);
  if (repeats(t, instruction)) {
    c->budget = left, c->watched = nullptr;
    if (stuck(c, t->exec, instruction)) return 1;
    left = c->budget;
  } else if (t->visits > VISITS) {
    left = c->reserve < SLICE ? c->reserve : SLICE, c->reserve -= left, c->watched = nullptr;
  }
  return 0;
}
EXPORTED u32 threaded(Context *c, Mask exec, const V<u32> *ids, u32 wave) {
  const Program &p = *c->program;
  u32 scalar[SCALARS];
  V<u32> *vector = (V<u32> *)__builtin_alloca_with_align(p.vectors * sizeof(V<u32>), 8 * sizeof(V<u32>));
  for (u64 i = 0; i < p.count; i++) {
    const u32 at = p.registers[i], value = unwritten(c, i);
    if (at & VECTOR) vector[at & ~VECTOR] = all(value);
    else if (at & CONSTANT) p.constants[at & ~CONSTANT] = pair(value, value);
    else scalar[at] = value;
  }
  State t = {c, p.code, ids, vector, scalar, c->budget, exec, 0, 0, wave, 0, p.constants};
  return p.code->step(&t, p.code);
}
