// Reports faults: at once, at the next barrier, or at the end of the launch.
#include "wavefronts.h"

static u32 set_fault(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  c->fault = kind, c->address = at, c->bytes = bytes, c->lane = lane, c->instruction = instruction & ~COHERENT;
  c->wave = c->running ? c->running->current : 0;
  c->writer = 0;
  return 1;
}
// A fault after a read of unwritten memory may follow from the arbitrary value. A race in LDS is the more exact report.
u32 report(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  if (c->running && c->running->unwritten.bytes && (kind != RACE || at < c->lds)) return report_deferred(c);
  return set_fault(c, kind, at, bytes, lane, instruction);
}

// --- reads of unwritten memory ---
// Another wavefront or lane may write the bytes later. The read waits for that until the next barrier, so that the report
// can name the writer. In LDS, a write of another wavefront is a race, as it is in the opposite order.
constexpr i64 INSTRUCTIONS_AFTER = 1 << 22; // the arbitrary value may have started an endless loop
static bool deferred(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  if (kind == RACE && at < c->lds && c->running->unwritten.bytes) return true;
  if (kind != READ_UNWRITTEN || !c->trace[0] || in_scratch(c, at)) return false;
  if (c->running->unwritten.bytes) return true;
  c->running->unwritten = {at, bytes, lane, instruction, c->running->current, 0, 0, 0};
  c->reserve = c->reserve < INSTRUCTIONS_AFTER ? c->reserve : INSTRUCTIONS_AFTER;
  return true;
}
u32 report_deferred(Context *c) {
  auto u = c->running->unwritten;
  if (!u.bytes) return NONE;
  c->running->unwritten.bytes = 0;
  set_fault(c, READ_UNWRITTEN, u.at, u.bytes, u.lane, u.instruction);
  c->wave = u.wave, c->writer = u.writer, c->writing_lane = u.writing_lane, c->writing_wave = u.writing_wave;
  return c->fault;
}
void write_after_deferred(Context *c, Mask exec, In<u64> where, u32 bytes, u32 instruction) {
  auto &u = c->running->unwritten;
  if (u.writer) return;
  const Lanes<u64> at(where);
  for (Mask m = exec; m; m &= m - 1) {
    const u32 i = first(m);
    if (at[i] >= u.at + u.bytes || u.at >= at[i] + bytes) continue;
    u.writer = 1 + (instruction & ~COHERENT), u.writing_lane = i, u.writing_wave = c->running->current;
    return;
  }
}
u32 fault(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction) {
  return deferred(c, kind, at, bytes, lane, instruction) ? 0 : report(c, kind, at, bytes, lane, instruction);
}

// --- loads that begin a compare-and-swap loop ---
// Such a plain load may see another wavefront's write. A 16-bit loop loads the 32-bit word around its operand, which may
// extend beyond the buffer or contain unwritten bytes. The compare-and-swap verifies what was loaded, in this wavefront or,
// if the loop ended early here, in another one. Faults of loads that feed no compare-and-swap are reported at the end.
u32 defer_load_fault(Context *c, u32 kind, u64 at, u32 bytes, u32 lane, u32 instruction, u32 load) {
  Group *g = c->running;
  load &= ~COHERENT;
  load = load < INSTRUCTIONS ? load : INSTRUCTIONS - 1;
  for (u32 i = 0; i < g->suspects; i++)
    if (g->suspect[i].load == load && g->suspect[i].kind == kind) return 0;
  if (g->suspects == SUSPECTS) return report(c, kind, at, bytes, lane, instruction);
  g->suspect[g->suspects++] = {at, kind, bytes, lane, load, instruction, c->other, {c->group[0], c->group[1], c->group[2]}};
  return 0;
}
u32 report_unverified_loads(Context *c) {
  Group *g = c->running;
  for (u32 i = 0; i < g->suspects; i++) {
    const SuspectLoad &s = g->suspect[i];
    if (g->feeds[s.load]) continue;
    c->other = s.other;
    for (u32 k = 0; k < 3; k++) c->group[k] = s.group[k];
    report(c, s.kind, s.at, s.bytes, s.lane, s.instruction);
    return c->fault;
  }
  return NONE;
}

// --- addresses that break the alignment of the source's type ---
u32 misaligned_at(Context *c, u64 at, u32 low, u32 instruction) {
  return c->checked ? report(c, MISALIGNED, at, low + 1, NO_LANE, instruction) : 0;
}
u32 misaligned_lane(Context *c, Mask exec, In<u64> where, u32 low, u32 instruction) {
  const Lanes<u64> at(where);
  for (Mask m = c->checked ? exec : 0; m; m &= m - 1) {
    u32 i = first(m);
    // The compiler lays out scratch memory, and a lane's part starts at another address than on a device.
    if (at[i] & low && !in_scratch(c, at[i])) return report(c, MISALIGNED, at[i], low + 1, i, instruction);
  }
  return 0;
}

// --- control flow ---
u32 bad_call(Context *c, u32 instruction) { return fault(c, BAD_CALL, 0, 0, NO_LANE, instruction); }
u32 trap(Context *c, Mask exec, u32 instruction) {
  return report(c, TRAP, exec, 0, c->running->current * LANES + first(exec), instruction);
}
