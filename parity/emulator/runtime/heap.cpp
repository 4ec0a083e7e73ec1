// The heap of a device. Each thread has its own arenas, so that an address does not depend on the order in which threads
// run, or on the number of lanes. `DeviceMemory.take_heap` places the arenas of a launch.
#include "wavefronts.h"

struct Block { u64 bytes, mark; }; // in front of each allocation
struct Used { u64 near, far; };    // the used bytes of a thread's arenas, at the begin of the near one
constexpr u64 ALIGNED = 16;

static u8 *host(Context *c, u64 at) { return c->data + (at - c->base); }
static u64 next(Context *c, u64 &used, u64 arena, u64 size, u64 bytes) {
  const u64 needed = sizeof(Block) + (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  if (needed > size - used) return 0;
  const u64 at = arena + used + sizeof(Block);
  used += needed;
  *(Block *)host(c, at - sizeof(Block)) = {bytes, ALLOCATED};
  __builtin_memset(c->shadow + (at - c->base), WRITABLE, bytes);
  return at;
}
V<u64> allocate(Context *c, Mask exec, In<u64> bytes) {
  V<u64> found = all((u64)0);
  const u64 block = ((u64)c->group[2] * c->heap_grid[1] + c->group[1]) * c->heap_grid[0] + c->group[0];
  for (Mask m = exec; m; m &= m - 1) {
    const u32 lane = first(m);
    const u64 thread = block * c->heap_threads + c->running->current * LANES + lane;
    const u64 near = c->heap + thread * NEAR_ARENA, size = ((V<u64>)bytes)[lane];
    if (!c->heap || !size || size > c->heap_end - c->heap_begin) continue;
    Used *used = (Used *)host(c, near);
    if (!used->near) used->near = sizeof(Used);
    found[lane] = next(c, used->near, near, NEAR_ARENA, size);
    if (!found[lane]) found[lane] = next(c, used->far, c->heap_far + thread * c->heap_far_bytes, c->heap_far_bytes, size);
  }
  c->changes++;
  return found;
}
u32 release(Context *c, Mask exec, In<u64> given, u32 instruction) {
  const V<u64> from = given;
  for (Mask m = exec; m; m &= m - 1) {
    const u32 lane = first(m);
    const u64 at = from[lane];
    if (!at) continue;
    if (at < c->heap_begin + sizeof(Block) || at >= c->heap_end || at % ALIGNED) return report(c, NOT_ALLOCATED, at, 0, lane, instruction);
    Block *freed = (Block *)host(c, at - sizeof(Block));
    if (freed->mark != ALLOCATED) return report(c, NOT_ALLOCATED, at, 0, lane, instruction);
    __builtin_memset(c->shadow + (at - c->base), 0, freed->bytes);
    freed->mark = RELEASED;
  }
  c->changes++;
  return 0;
}
