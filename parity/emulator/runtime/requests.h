// The log of what kernels print: ROCm's host calls (requests.cpp) and CUDA's printf and assert (ptx.cpp) write it.
#pragma once
#include "wavefronts.h"

constexpr u64 MAILBOX = 8192; // bytes of the buffer for requests to the host
constexpr u64 RECORD = 10;    // words of a record in the log: the block, the thread, and the payload of one lane
constexpr u64 RESERVED = 1024; // records that only messages to standard error may use: failed assertions
// Bits of the first word of a payload (ROCm device libraries, ockl: services.cl); `STANDARD_ERROR` is in the message's number.
enum Part { BEGINS = 1, ENDS = 2 };
constexpr u32 STANDARD_ERROR = 1;

// The next record of the log, with its block and thread filled in; null if the log is full.
INLINE u64 *next_record(Context *c, u32 lane, bool to_standard_error) {
  if (c->logged >= c->log_size - (to_standard_error ? 0 : RESERVED)) {
    c->lost++;
    return nullptr;
  }
  u64 *record = c->log + c->logged++ * RECORD;
  record[0] = pair(c->group[0], c->group[1]), record[1] = pair(c->group[2], c->running->current * LANES + lane);
  return record;
}
// The number of a new message: even for standard output, odd for standard error.
INLINE u64 next_message(Context *c, bool to_standard_error) { return (c->messages += 2) | to_standard_error; }
