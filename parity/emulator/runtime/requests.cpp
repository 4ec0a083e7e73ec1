// Requests of a kernel to the host, through the buffer that a hidden argument points to; and clocks.
// The device's part is in ROCm's device libraries (ockl: hostcall_impl.cl, services.cl), the host's in ROCclr.
#include "requests.h"

struct Header {
  u64 next, lanes;
  u32 service, ready;
};
struct Mailbox { // one packet is enough, because each request is answered at once
  Header *headers;
  u64 (*payloads)[64][8];
  u64 doorbell, free, asked, mask;
};
constexpr u32 PRINT = 2; // the service
// A payload is a part of a message. The first part gets a new message number, which the device uses for the other parts.
static void log(Context *c, u32 lane, u64 *payload) {
  if (payload[0] & BEGINS) payload[0] = (payload[0] & 0xfe) | next_message(c, payload[1] & STANDARD_ERROR) << 8;
  if (u64 *record = next_record(c, lane, payload[0] >> 8 & STANDARD_ERROR))
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
u64 ticks(Context *c, i64 left) { return ((u64)(c->whole - c->reserve - left) + ++c->ticks) * c->clock_rate; }
