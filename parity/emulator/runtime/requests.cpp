// What a kernel asks of the host through the buffer of its hidden argument, and clocks.
// The device's side is in ROCm's device libraries (ockl: hostcall_impl.cl, services.cl), the host's in ROCclr.
#include "wavefronts.h"

struct Header {
  u64 next, lanes;
  u32 service, ready;
};
struct Mailbox { // one packet is enough: a wavefront that asks is answered at once
  Header *headers;
  u64 (*payloads)[64][8];
  u64 doorbell, free, asked, mask;
};
constexpr u32 PRINT = 2, BEGINS = 1, STANDARD_ERROR = 1;
constexpr u64 KEPT = 1024; // records that only messages to standard error get: failed assertions
// Payloads are parts of messages. A message gets a number with its first part; bit 0 of it says to which stream it goes.
static void log(Context *c, u32 lane, u64 *payload) {
  Group *g = c->running;
  if (payload[0] & BEGINS) payload[0] = (payload[0] & 0xfe) | (c->messages += 2, c->messages | (payload[1] & STANDARD_ERROR)) << 8;
  u64 limit = payload[0] >> 8 & STANDARD_ERROR ? c->log_size : c->log_size - KEPT;
  if (c->logged >= limit) {
    c->lost++;
    return;
  }
  u64 *record = c->log + c->logged++ * RECORD;
  record[0] = pair(c->group[0], c->group[1]), record[1] = pair(c->group[2], g->current * LANES + lane);
  for (u32 i = 0; i < 8; i++) record[2 + i] = payload[i];
}
u32 interrupt(Context *c, u32 instruction) {
  u8 *at = c->data + (c->mailbox - c->base);
  Mailbox *box = (Mailbox *)at;
  if (!box->asked) return NONE;
  Header *header = (Header *)(c->data + ((u64)box->headers - c->base));
  u64(*payload)[8] = *(u64(*)[64][8])(c->data + ((u64)box->payloads - c->base));
  if (header->service != PRINT) {
    c->other = header->service;
    return report(c, REQUEST, 0, 0, first(header->lanes), instruction);
  }
  for (u64 m = header->lanes; m; m &= m - 1) log(c, __builtin_ctzl(m), payload[__builtin_ctzl(m)]);
  box->asked = 0, header->ready = 0, c->changes++;
  return NONE;
}
u64 ticks(Context *c, i64 left) { return (u64)(c->whole - c->reserve - left) + ++c->ticks; }
u32 trap(Context *c, Mask exec, u32 instruction) {
  return report(c, TRAP, exec, 0, c->running->current * LANES + first(exec), instruction);
}
